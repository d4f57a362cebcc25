/* gate_intent.c — the rules about what a request says of itself, in their order. */
#include <inttypes.h>
#include <string.h>

#include "govern/gate.h"
#include "govern/policy_internal.h"

#define SANCTUARY_CONSTANT UINT64_C(0xDEADBABECAFE0042)
#define MOST_CLEARANCE 2u
#define GENERAL_FRAME "purpose:General"
#define INTEGER_TAG (UINT64_C(1) << 60)
#define INTEGER_MASK (INTEGER_TAG - 1)

/* ---------------------------------------------------------------- conduct */

typedef struct conduct {
    const char *intent;
    uint32_t weight;
    uint64_t bit; /* of the record's metadata */
} conduct;

static const conduct harmful[] = {{"llm:AdversarialOperation", 50, 0},
                                  {"llm:DishonestOperation", 50, 0},
                                  {"llm:DiscriminatoryOperation", 80, UINT64_C(1) << 33},
                                  {"llm:AntiHumanRightsOperation", 100, UINT64_C(1) << 32}};

/* Only what the request itself says: somebody who lies about the intent is found elsewhere. Two quins: the record, and its whole time, of
 * which the record has the lower half. */
static void record_conduct(request *r, const conduct *what) {
    const uint64_t agent = q42_hash(r->agent, strlen(r->agent)), principal = r->principal != NULL ? q42_hash(r->principal, strlen(r->principal)) : 0;
    static const char violation[] = "q42:conductViolation", time[] = "q42:conductTimeMs";
    r->records[r->n_records++] = q42_quin_make(agent, q42_hash(violation, sizeof violation - 1), INTEGER_TAG | what->weight, principal,
                                               (r->now_ms & UINT32_MAX) | what->bit);
    r->records[r->n_records++] =
        q42_quin_make(agent, q42_hash(time, sizeof time - 1), INTEGER_TAG | (r->now_ms & INTEGER_MASK), principal, r->now_ms & UINT32_MAX);
}

static const conduct *find_conduct(const char *intent) {
    for (size_t i = 0; i < sizeof harmful / sizeof harmful[0]; i++) {
        if (strcmp(harmful[i].intent, intent) == 0) {
            return &harmful[i];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- rules: true when they said no */

static bool refuse_network(request *r, gate_result *out) {
    if (r->needs_network) {
        gate_say(out, VERDICT_BLOCK, CODE_NETWORK, "the request needs the network, which no governed run has");
    }
    return r->needs_network;
}

static bool refuse_count(request *r, gate_result *out) {
    const bool is_over = r->n_scopes > REQUEST_MAX_SCOPES || r->n_namespaces > REQUEST_MAX_SCOPES;
    if (is_over) {
        gate_say(out, VERDICT_BLOCK, CODE_TOO_MANY_SCOPES, "%u scopes and %u namespaces; at most %u of each", r->n_scopes, r->n_namespaces,
                 REQUEST_MAX_SCOPES);
    }
    return is_over;
}

static bool refuse_constant(request *r, gate_result *out) {
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        if (policy_name_id(r->scopes[i].name) == SANCTUARY_CONSTANT) {
            gate_say(out, VERDICT_BLOCK, CODE_SANCTUARY, "scope %u is the Sanctuary itself", i + 1);
            return true;
        }
    }
    return false;
}

static bool refuse_conduct(request *r, gate_result *out) {
    const conduct *found = r->intent != NULL ? find_conduct(r->intent) : NULL;
    if (found != NULL) {
        record_conduct(r, found);
        gate_say(out, VERDICT_BLOCK, CODE_CONDUCT, "%s is recorded as conduct of weight %u", r->intent, found->weight);
    }
    return found != NULL;
}

static bool is_reading(const char *intent) {
    return strcmp(intent, "llm:ReadGraph") == 0 || strcmp(intent, "llm:Summarize") == 0 || strcmp(intent, "llm:Chat") == 0;
}

/* The general frame is for reading; whatever writes or leaves the machine needs a frame of its own. */
static bool refuse_frame(request *r, gate_result *out) {
    const char *frame = r->frame != NULL ? r->frame : GENERAL_FRAME;
    if (r->intent == NULL || strcmp(frame, r->intent) == 0) {
        return false;
    }
    const bool is_general = strcmp(frame, GENERAL_FRAME) == 0;
    if (is_general && is_reading(r->intent)) {
        return false;
    }
    gate_say(out, VERDICT_BLOCK, CODE_FRAME, is_general ? "frame %s is for llm:ReadGraph, llm:Summarize and llm:Chat; %s needs a frame of its own"
                                                       : "frame %s is not for %s", frame, r->intent);
    return true;
}

static bool refuse_clearance(request *r, gate_result *out) {
    const bool is_over = r->clearance > MOST_CLEARANCE;
    if (is_over) {
        gate_say(out, VERDICT_BLOCK, CODE_SANCTUARY, "clearance %u; at most %u", r->clearance, MOST_CLEARANCE);
    }
    return is_over;
}

static bool refuse_profile(request *r, gate_result *out) {
    const policy_profile *profile = r->profile != NULL ? policy_find_profile(r->rules, r->profile) : NULL;
    const bool is_unknown = r->profile != NULL && profile == NULL;
    const bool is_listed = profile == NULL || profile->allow.n_items == 0 || (r->intent != NULL && policy_words_have(&profile->allow, r->intent));
    if (is_unknown || !is_listed) {
        gate_say(out, VERDICT_BLOCK, CODE_PROFILE, is_unknown ? "the policy has no profile %s" : "profile %s does not allow %s", r->profile,
                 r->intent != NULL ? r->intent : "nothing");
    }
    return is_unknown || !is_listed;
}

static bool refuse_intent(request *r, gate_result *out) {
    const policy_words *allow = &r->rules->is.intent.allow;
    if (r->intent == NULL) {
        gate_say(out, VERDICT_BLOCK, CODE_INTENT, "the request has no intent: --intent IRI, or [request] intent in the policy");
        return true;
    }
    if (allow->n_items > 0 && !policy_words_have(allow, r->intent)) {
        gate_say(out, VERDICT_BLOCK, CODE_INTENT, "the policy does not allow %s", r->intent);
        return true;
    }
    return false;
}

static bool refuse_nobody(request *r, gate_result *out) {
    const bool is_nobody = r->principal == NULL && !r->rules->is.agent.anonymous;
    if (is_nobody) {
        gate_say(out, VERDICT_BLOCK, CODE_PRINCIPAL, "no principal: [agent] principal = DID, or anonymous = yes");
    }
    return is_nobody;
}

void gate_intent(request *r, gate_result *out) {
    static bool (*const rules[])(request *r, gate_result *out) = {refuse_network,   refuse_count,   refuse_constant, refuse_conduct, refuse_frame,
                                                                  refuse_clearance, refuse_profile, refuse_intent,   refuse_nobody};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i](r, out)) {
            return;
        }
    }
    gate_say(out, VERDICT_PASS, CODE_NONE, "%s for %s", r->intent, r->principal != NULL ? r->principal : "nobody in particular");
}
