/* govern_options.c — the options' table. */
#include "cli/govern_options.h"

#include <string.h>

void govern_options_init(govern_options *g, option rows[GOVERN_OPTION_ROWS]) {
    memset(g, 0, sizeof *g);
    const option filled[GOVERN_OPTION_ROWS] = {
        {OPTION_STRING, "governed", 0, "POLICY", "run under this policy: gates before and behind the model, every run in a log", &g->policy, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "explain", 0, NULL, "with --governed: tell what each gate would ask, and compute nothing", &g->explain, 0, 0, NULL, NULL},
        {OPTION_STRING, "intent", 0, "IRI", "with --governed: what the run is for, such as llm:ReadGraph", &g->intent, 0, 0, NULL, NULL},
        {OPTION_STRING, "frame", 0, "IRI", "with --governed: the frame of the session (default: the policy's)", &g->frame, 0, 0, NULL, NULL},
        {OPTION_STRING, "profile", 0, "NAME", "with --governed: a profile of the policy", &g->profile, 0, 0, NULL, NULL},
        {OPTION_LIST, "scope", 0, "IRI[=VOLUME]", "with --governed: a graph to use, and the volume that serves it; repeatable", &g->scopes, 0, 0,
         NULL, NULL}};
    memcpy(rows, filled, sizeof filled);
}

qn_status govern_check_options(const govern_options *g, error_context *err) {
    const char *lonely = g->explain              ? "--explain"
                         : g->intent != NULL     ? "--intent"
                         : g->frame != NULL      ? "--frame"
                         : g->profile != NULL    ? "--profile"
                         : g->scopes.n_items > 0 ? "--scope"
                                                 : NULL;
    for (uint32_t i = 0; i < g->scopes.n_items; i++) {
        const char *text = g->scopes.items[i];
        if (text[0] == 0 || strrchr(text, '=') == text) {
            return FAIL(err, QN_BAD_INPUT, "--scope %s: must be IRI or IRI=VOLUME", text);
        }
    }
    return g->policy != NULL || lonely == NULL ? QN_OK : FAIL(err, QN_BAD_INPUT, "%s needs --governed POLICY", lonely);
}
