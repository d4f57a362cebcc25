/* gate_identity.c — two statements about who acts; they stand beside whatever is committed. */
#include <inttypes.h>
#include <string.h>

#include "govern/gate.h"
#include "govern/identity.h"

static uint64_t hash_of(const char *text) {
    return q42_hash(text, strlen(text));
}

void gate_identity(request *r, gate_result *out) {
    if (r->agent == NULL || r->agent[0] == 0) {
        gate_say(out, VERDICT_FAIL, CODE_IDENTITY, "no agent");
        return;
    }
    const uint64_t agent = hash_of(r->agent), context = hash_of(IDENTITY_CONTEXT);
    const char *principal = r->principal != NULL ? r->principal : IDENTITY_NOBODY;
    r->identity[0] = q42_quin_make(agent, hash_of(IDENTITY_TYPE), hash_of(IDENTITY_AGENT_CLASS), context, 0);
    r->identity[1] = q42_quin_make(agent, hash_of(IDENTITY_FOR_WHOM), hash_of(principal), context, 0);
    r->has_identity = true;
    gate_say(out, VERDICT_PASS, CODE_NONE, "%s on behalf of %s", r->agent, principal);
}
