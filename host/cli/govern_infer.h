/* govern_infer.h — the model inside a governed run: opened, asked, listened to.
 *
 * Threading: the command line is one thread.
 * Memory:    govern_engine_close gives everything back.
 */
#ifndef HOST_GOVERN_INFER_H
#define HOST_GOVERN_INFER_H
#include "cli/govern_options.h"
#include "cli/govern_record.h"
#include "decode/generate.h"
#include "govern/gate.h"

typedef struct govern_engine {
    command_context *c;
    const govern_parts *parts;
    const char *model_path; /* null: none was given */
    prompt_input *input;
    engine e;               /* opened by govern_infer */
    sampler chooser;
    char sieve_path[POLICY_PATH_SIZE], rules_path[POLICY_PATH_SIZE];
    constrain_options constrain;
    run_constraint constraint;
    sentinel_options rules; /* of the sentinel */
    sentinel_run sentinel;
    govern_record record;
    generate_result result;
} govern_engine;

/* request_world.infer; ctx is a govern_engine. */
qn_status govern_infer(void *ctx, request *r, gate_code *out_code, error_context *err);
/* request_world.record; likewise. */
qn_status govern_add_record(void *ctx, request *r, wal *log, error_context *err);
void govern_engine_close(govern_engine *g);

#endif
