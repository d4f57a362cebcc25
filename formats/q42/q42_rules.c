/* q42_rules.c — the table of rules, and how a finding becomes a note or a refusal. */
#include "q42_internal.h"

static const fmt_rule rules[] = {
#define Q42_RULE(name, id, section, sentence) {id, section, sentence},
#include "rules.def"
#undef Q42_RULE
};

const fmt_rule *q42_get_rule(q42_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *q42_rules(uint32_t *out_count) {
    *out_count = Q42_N_RULES;
    return rules;
}

void q42_send_note(const q42_reader *reader, const fmt_diag *note) {
    if (reader->note != NULL) {
        reader->note(reader->note_ctx, note);
    }
}

fmt_status q42_settle(const q42_reader *reader, const fmt_diag *finding) {
    if (reader->mode != FMT_MODE_STRICT) {
        q42_send_note(reader, finding);
        return FMT_OK;
    }
    if (reader->diag != NULL) {
        *reader->diag = *finding;
    }
    return FMT_BAD_FILE;
}

uint64_t q42_first_nonzero(const uint8_t *data, uint64_t begin, uint64_t end) {
    uint64_t at = begin;
    while (end - at >= 8 && load_u64(data + at) == 0) {
        at += 8;
    }
    while (at < end && data[at] == 0) {
        at++;
    }
    return at;
}
