/* q42_wal_rules.c — the rule table of logs, and names of record types. */
#include "q42_wal_internal.h"

static const fmt_rule rules[QWAL_N_RULES] = {
#define QWAL_RULE(name, id, section, sentence) {id, section, sentence},
#include "wal_rules.def"
#undef QWAL_RULE
};

const fmt_rule *wal_get_rule(wal_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *qwal_rules(uint32_t *out_count) {
    *out_count = QWAL_N_RULES;
    return rules;
}

const char *qwal_type_name(qwal_type type) {
    static const char *const names[QWAL_N_TYPES] = {"UNKNOWN", "QUINS", "SIGNATURE",  "COMMIT", "SUSPEND",
                                                    "CONSENT", "ABORT", "CHECKPOINT", "AUDIT",  "TERM"};
    return names[type < QWAL_N_TYPES ? type : 0];
}
