/* govern_options.h — options of a governed run, and the run itself.
 *
 * Threading: the command line is one thread.
 * Memory:    options point into argv.
 */
#ifndef HOST_GOVERN_OPTIONS_H
#define HOST_GOVERN_OPTIONS_H
#include "cli/constrain_options.h"
#include "cli/engine_options.h"
#include "cli/prompt_input.h"
#include "cli/sentinel_options.h"
#include "decode/token_hooks.h"

typedef struct govern_options {
    const char *policy;   /* null: the run is not governed */
    bool explain;
    const char *intent, *frame, *profile;
    option_list scopes;   /* IRI or IRI=VOLUME */
} govern_options;

#define GOVERN_OPTION_ROWS 6
void govern_options_init(govern_options *g, option rows[GOVERN_OPTION_ROWS]);

/* QN_BAD_INPUT when options are given that only --governed reads. */
qn_status govern_check_options(const govern_options *g, error_context *err);

/* What else a run was asked for. All borrowed. */
typedef struct govern_parts {
    const govern_options *options;
    const prompt_options *prompt;
    const engine_options *engine;
    const sampling_options *sampling;
    const constrain_options *constrain;
    const sentinel_options *sentinel;
    uint32_t budget;
    bool has_budget;
    bool has_deadline;
    double deadline;      /* seconds; the policy's limit holds as well */
    const option_list *graphs; /* --graph: volumes, each of which a scope of the policy names */
    bool has_n_facts;
    uint32_t n_facts;
    const draft_source *drafts; /* null: none */
} govern_parts;

/* Runs, prints, and returns the exit status: that of the outcome, or that of a policy that cannot be read. */
int govern_run(command_context *c, const govern_parts *parts);

#endif
