/* q42_files_rules.c — the rule table of the files around volumes, notes, and variable-length integers. */
#include <string.h>

#include "common/fnv.h"
#include "q42_files_internal.h"

static const fmt_rule rules[] = {
#define Q42F_RULE(name, id, section, sentence) {id, section, sentence},
#include "files_rules.def"
#undef Q42F_RULE
};

const fmt_rule *files_get_rule(files_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *q42_files_rules(uint32_t *out_count) {
    *out_count = Q42F_N_RULES;
    return rules;
}

fmt_status files_settle(const files_reading *r, const fmt_diag *found) {
    if (r->mode == FMT_MODE_STRICT) {
        if (r->diag != NULL) {
            *r->diag = *found;
        }
        return FMT_BAD_FILE;
    }
    if (r->note != NULL) {
        r->note(r->note_ctx, found);
    }
    return FMT_OK;
}

bool files_is_key_of(uint64_t key, fmt_str text) {
    static const char did[] = "did:q42:";
    const uint64_t start = sizeof did - 1;
    if ((key & Q42_POINTER_BIT) != 0) {
        return text.size > start && memcmp(text.data, did, start) == 0 &&
               key == (fnv_q_hash(text.data + start, text.size - start) | Q42_POINTER_BIT);
    }
    return key == fnv_q_hash(text.data, text.size);
}

unsigned files_read_varint(const uint8_t *at, uint64_t size, uint64_t *out_value) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 9 && i < size; i++) {
        value |= (uint64_t)(at[i] & 0x7F) << (7 * i);
        if ((at[i] & 0x80) == 0) {
            if (i > 0 && at[i] == 0) { /* a shorter form exists */
                return 0;
            }
            *out_value = value;
            return i + 1;
        }
    }
    return 0;
}

unsigned files_write_varint(uint64_t value, uint8_t *out) {
    unsigned size = 0;
    while (value >= 0x80) {
        out[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[size++] = (uint8_t)value;
    return size;
}
