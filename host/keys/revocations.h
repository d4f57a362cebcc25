/* revocations.h — keys that count no more: a text file with one `ed25519:HEX TIME reason` a line, which only grows.
 *
 * Threading: immutable once read.
 * Memory:    owned by the list until it is freed; a zeroed one is empty.
 * Errors:    QN_BAD_INPUT with path, line and what is wrong.
 */
#ifndef HOST_KEYS_REVOCATIONS_H
#define HOST_KEYS_REVOCATIONS_H
#include <quoin/span.h>

#include "keys/key_text.h"

typedef struct revocation {
    public_key key;
    char *text; /* time and reason, as written */
} revocation;

typedef struct revocations {
    revocation *items;
    size_t n_items;
} revocations;

/* A file that is not there is an empty list. */
qn_status revocations_read(const char *path, revocations *out_list, error_context *err);
void revocations_free(revocations *list);

/* Null when the key counts. */
const revocation *revocations_find(const revocations *list, const uint8_t id[KEY_ID_BYTES]);

/* Adds a line, and makes the file when there is none; on disk when it returns. QN_NOTE_END when the key stands there already: nothing is
 * written. `reason` is one line without control characters, or null. */
qn_status revocations_add(const char *path, const public_key *key, uint64_t now_ms, const char *reason, error_context *err);

/* Gives each line of a text file that is not empty and does not begin with #: its key, and what follows (may be empty). Shared with
 * trusted_keys. */
typedef qn_status key_line_fn(void *ctx, const public_key *key, const char *rest, size_t rest_size, uint32_t line, error_context *err);
qn_status key_lines_read(const char *path, key_line_fn *take, void *ctx, error_context *err);
/* The same of a text in memory, which `path` names in messages. */
qn_status key_lines_parse(fmt_span text, const char *path, key_line_fn *take, void *ctx, error_context *err);

#endif
