/* gate_egress.c — what may leave: the highest tier in the prompt against the ceiling of where the answer goes. */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "govern/gate.h"

/* The highest of: the label of the request (unlabeled data has the policy's tier), and each fact's, which is at least its scope's. */
static uint32_t measure_tier(const request *r) {
    uint32_t tier = r->label != POLICY_NONE ? r->label : r->rules->is.egress.unlabeled;
    const uint32_t facts = fact_set_tier(&r->facts);
    tier = facts > tier ? facts : tier;
    /* In a dry run nothing was taken from the scopes yet. */
    for (uint32_t i = 0; r->is_dry && i < r->n_scopes && i < REQUEST_MAX_SCOPES; i++) {
        tier = r->scopes[i].tier > tier ? r->scopes[i].tier : tier;
    }
    return tier;
}

static bool has_word(fmt_str text, const char *word) {
    const size_t size = strlen(word);
    for (uint64_t i = 0; i + size <= text.size; i++) {
        if (strncasecmp(text.data + i, word, size) == 0) {
            return true;
        }
    }
    return false;
}

/* As an older program had it; it blocks innocent text and lets through what is spelled otherwise. */
static bool has_keywords(fmt_str prompt) {
    return (has_word(prompt, "classified") && (has_word(prompt, "[qpu:") || has_word(prompt, "quantum"))) ||
           (has_word(prompt, "sensitivitylabel") && has_word(prompt, "0x02"));
}

void gate_egress(request *r, gate_result *out) {
    const uint32_t ceilings[] = {r->rules->is.egress.local, r->rules->is.egress.lan, r->rules->is.egress.remote};
    const uint32_t ceiling = ceilings[r->world.where];
    r->tier = measure_tier(r);
    if (r->tier > ceiling) {
        gate_say(out, VERDICT_BLOCK, CODE_EGRESS, "tier %u, and %s may have %u", r->tier, destination_name(r->world.where), ceiling);
    } else if (r->rules->is.egress.keyword_compat && has_keywords(r->prompt)) {
        gate_say(out, VERDICT_BLOCK, CODE_KEYWORD, "keyword_compat: words of the prompt");
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "tier %u to %s, which may have %u", r->tier, destination_name(r->world.where), ceiling);
    }
}
