/* ntr_rules.c — the rule table. */
#include "ntr_internal.h"

static const fmt_rule rules[] = {
#define NTR_RULE(name, id, section, sentence) {id, section, sentence},
#include "rules.def"
#undef NTR_RULE
};

const fmt_rule *ntr_get_rule(ntr_rule_no rule) {
    return &rules[rule];
}

const fmt_rule *ntriples_rules(uint64_t *out_count) {
    *out_count = NTR_N_RULES;
    return rules;
}
