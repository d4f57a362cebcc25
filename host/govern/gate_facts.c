/* gate_facts.c — statements of granted scopes that the prompt is about are put before it, and nothing else is. */
#include "govern/gate.h"
#include "ground/retrieve.h"

static qn_status look_for_facts(request *r, error_context *err) {
    const retrieve_options options = {.prompt = r->prompt.data, .prompt_bytes = r->prompt.size, .n_facts = r->n_facts_wanted};
    return ground_facts(r->volumes, r->n_volumes, &options, &r->facts, NULL, err);
}

static qn_status gather(request *r, error_context *err) {
    QN_TRY(r->world.gather != NULL ? r->world.gather(r->world.ctx, r, err) : look_for_facts(r, err), err, "looking for facts");
    QN_TRY(fact_lines_write(r->volumes, r->n_volumes, &r->facts, &r->lines, err), err, "writing facts");
    return fact_lines_preface(&r->lines, r->lines.n, &r->preface, err);
}

void gate_facts(request *r, gate_result *out) {
    error_context err = {0};
    if (r->n_facts_wanted == 0 || r->n_scopes == 0) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "none were asked for");
    } else if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "at most %u statements of %u scopes would be looked for", r->n_facts_wanted, r->n_scopes);
    } else if (gather(r, &err) < 0) {
        gate_say_error(out, CODE_SCOPE_FILE, &err);
    } else {
        gate_say(out, VERDICT_PASS, CODE_NONE, "%u statements stand in the prompt", r->facts.n);
    }
}
