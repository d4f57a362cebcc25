/* engine_options.h — bringing a model onto a backend, for every command that computes: run, chat, bench.
 *
 * Threading: one thread at a time.
 * Memory:    engine_close frees everything that engine_open made; the command context must outlive it.
 */
#ifndef HOST_ENGINE_OPTIONS_H
#define HOST_ENGINE_OPTIONS_H
#include "adapt/adapter_set.h"
#include "base/scrub.h"
#include "cli/command.h"
#include "decode/sampler.h"
#include "decode/session.h"
#include "model/model.h"

/* How far engine_open is. */
typedef uint32_t engine_stage;
enum {
    ENGINE_MAPPED = 0,    /* the model is open and checked */
    ENGINE_PREPARING = 1, /* a backend takes its weights; with auto perhaps more than once */
    ENGINE_READY = 2,
    ENGINE_FAILED = 3     /* with the words; everything is given back */
};
struct engine;
typedef void engine_stage_fn(void *ctx, engine_stage stage, const struct engine *e, const char *error);

typedef struct engine_options {
    uint32_t n_ctx;          /* 0 = the model's, at most 4096 */
    uint32_t chunk;          /* tokens of one prefill step; 0 = 512 */
    uint32_t max_outputs;    /* rows of logits of one step; 0 = 1 */
    const char *numeric;     /* "auto", "f32acc", "act8" */
    const char *kv;          /* "auto", "f16", "bf16", "f32", "q8" */
    const char *companion, *assume;
    bool strict, no_weight_check, keep_panels;
    const char *integrity;   /* "full", "lazy" */
    const char *layers_on;   /* "NAME[:DEVICE]=N", or null */
    option_list adapters;    /* "FILE[=SCALE]" */
    engine_stage_fn *on_stage; /* may be null */
    void *stage_ctx;
} engine_options;

/* The option table of these settings, filled with their defaults. */
#define ENGINE_OPTION_ROWS 12
void engine_options_init(engine_options *e, option rows[ENGINE_OPTION_ROWS]);

typedef struct engine {
    model *m;
    adapter_set adapters;
    plan *p;
    session *s;
    double load_seconds;    /* file to ready session */
    double open_seconds;    /* of it: mapping, reading and checking the model */
    double bind_seconds;    /* of it: plan, weights on the device, session */
    bool is_forgotten;      /* engine_forget has been here */
} engine;

/* Opens the model, chooses the backend, plans, prints memory and the line that says what runs where. The error is in
 * c->err. */
qn_status engine_open(command_context *c, const char *path, const engine_options *options, engine *out);
/* Overwrites what the session and the adapters hold, adds to the report how much that was, and warns when something could not be. The
 * engine is good for engine_close alone from then on. */
void engine_forget(engine *e, scrub_report *report);
/* Forgets first, where engine_forget was not called. */
void engine_close(engine *e);

/* "backend", "device", … of the chosen backend. */
json_t *engine_describe_json(const command_context *c, const engine *e);

/* Sampling options as option rows; sampler_settings collects them. */
#define SAMPLING_OPTION_ROWS 8
typedef struct sampling_options {
    double temperature, top_p, min_p, repeat_penalty;
    uint32_t top_k, repeat_last;
    uint64_t seed;
    bool has_seed;
    option_list biases;
} sampling_options;
void sampling_options_init(sampling_options *s, option rows[SAMPLING_OPTION_ROWS]);
qn_status sampling_collect(const sampling_options *s, uint32_t n_tokens, sampler_options *out, error_context *err);

#endif
