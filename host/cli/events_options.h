/* events_options.h — --events and --events-file of a run: one JSON object a line for each thing that happens to the model, and the model's
 * end, when everything that came of the prompt is overwritten.
 *
 *     {"time_ns": 0, "event": "begin", "unix_ms": …, "model": PATH}
 *     {"time_ns": …, "event": "state", "from": "discovered", "to": "mapped", "by": "load", "bytes": …, "sessions": 0}
 *     {"time_ns": …, "event": "prefill_begin", "tokens": …}   prefill_end, decode_begin; decode_end with tokens, stop_reason, seconds
 *     {"time_ns": …, "event": "state", …, "by": "scrubbed", "scrubbed": {"state": …, …, "total": …, "is_partial": false, "missing": ""}}
 *
 * Without --events nothing is written, and the states are kept and the memory is overwritten all the same.
 *
 * Threading: one thread at a time.
 * Memory:    run_events_close frees everything, whatever was opened.
 */
#ifndef HOST_EVENTS_OPTIONS_H
#define HOST_EVENTS_OPTIONS_H
#include <stdio.h>

#include <jansson.h>

#include "cli/engine_options.h"
#include "cli/options.h"
#include "cli/prompt_input.h"
#include "decode/generate.h"
#include "residency/residency.h"

typedef struct events_options {
    const char *format, *file; /* "none" or "json"; null: standard error */
} events_options;

#define EVENTS_OPTION_ROWS 2
void events_options_init(events_options *o, option rows[EVENTS_OPTION_ROWS]);
/* QN_BAD_INPUT for --events-file without --events json: a wrong use of the program. */
qn_status events_options_check(const events_options *o, error_context *err);

typedef struct run_events {
    FILE *out;               /* null: nothing is written */
    bool owns_out;
    uint64_t begin_ns;
    residency *model;
    model_identity identity;
    bool has_session;
    scrub_report early;      /* what was overwritten before the model was evicted */
    engine *e;               /* of the eviction */
    prompt_input *input;
} run_events;

/* Opens the file, and the account of states. */
qn_status run_events_open(const events_options *o, const char *model_path, run_events *events, error_context *err);

/* For engine_options.on_stage, with the run_events as ctx. */
void run_events_stage(void *ctx, engine_stage stage, const engine *e, const char *error);

/* Around generate_run. run_events_prefilled is for generate_options.on_prefilled. */
void run_events_begin(run_events *events, uint32_t n_prompt);
void run_events_prefilled(void *ctx, uint32_t n_prompt);
void run_events_end(run_events *events, const generate_result *result);

/* Overwrites session, prompt, text and ids, closes the engine, and tells how much it was. */
void run_events_evict(run_events *events, engine *e, prompt_input *input);
void run_events_close(run_events *events);

#endif
