/* trusted_keys.h — whose key is whose: a text file with one `ed25519:HEX name` a line, and the list of keys that count no more.
 *
 * A name is a DID or any other word without blanks; its 60-bit hash is what logs call a signer. One name may have several keys, one
 * key has one name, so that nobody counts twice. Lines that are empty or begin with # say nothing.
 *
 * Threading: immutable once read.
 * Memory:    owned by the list until it is freed; a zeroed one is empty.
 * Errors:    QN_BAD_INPUT with path, line and what is wrong.
 */
#ifndef HOST_KEYS_TRUSTED_KEYS_H
#define HOST_KEYS_TRUSTED_KEYS_H
#include "keys/key_text.h"
#include "keys/revocations.h"

typedef struct trusted_key {
    public_key key;
    char *name;
    uint64_t signer; /* hash of the name */
} trusted_key;

typedef struct trusted_keys {
    trusted_key *items;
    size_t n_items;
    revocations revoked; /* empty unless it is read into it */
} trusted_keys;

qn_status trusted_keys_read(const char *path, trusted_keys *out_keys, error_context *err);
/* The same of a text in memory, which `path` names in messages. */
qn_status trusted_keys_parse(fmt_span text, const char *path, trusted_keys *out_keys, error_context *err);
void trusted_keys_free(trusted_keys *keys);

/* The key with this id, or null. It may be revoked. */
const trusted_key *trusted_keys_find(const trusted_keys *keys, const uint8_t id[KEY_ID_BYTES]);

#endif
