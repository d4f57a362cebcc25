/* q42_files_internal.h — what the readers of the files around volumes share; not for users.
 *
 * Threading: pure functions.
 */
#ifndef Q42_FILES_INTERNAL_H
#define Q42_FILES_INTERNAL_H
#include <quoin/q42_files.h>

#include "common/diag.h"

typedef uint32_t files_rule_no;
enum {
#define Q42F_RULE(name, id, section, sentence) Q42F_R_##name,
#include "files_rules.def"
#undef Q42F_RULE
    Q42F_N_RULES
};

#define files_refuse(diag, rule, place, ...) diag_refuse(diag, FMT_BAD_FILE, files_get_rule(rule), place, __VA_ARGS__)
const fmt_rule *files_get_rule(files_rule_no rule);

/* Who is told what. */
typedef struct files_reading {
    fmt_mode mode;
    fmt_note_fn *note;
    void *note_ctx;
    fmt_diag *diag;
} files_reading;

/* A finding that the default mode accepts: told as a note, FMT_OK. Strict: FMT_BAD_FILE, and the finding is the diagnosis. */
fmt_status files_settle(const files_reading *r, const fmt_diag *found);

/* Place of a finding that is about no number. */
static inline diag_place files_at(uint64_t offset) {
    const diag_place place = {offset, FMT_NO_INDEX, 0, 0};
    return place;
}

/* Whether `key` is the key of `text`: its hash, or, for did:q42 IRIs, the pointer form of the hash of what follows. */
bool files_is_key_of(uint64_t key, fmt_str text);

/* Variable-length integers of multiformats: seven bits a byte, least first, at most nine bytes, no padding. `size` is what may be read;
 * 0 when there is none. */
unsigned files_read_varint(const uint8_t *at, uint64_t size, uint64_t *out_value);
unsigned files_write_varint(uint64_t value, uint8_t *out); /* up to 10 bytes; answers how many */

#endif
