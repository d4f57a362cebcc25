/* check_generation.h — what `quoin check` asks about the record of an answer: is it whole, is it about this model, was this its prompt, and
 * does the same come out again?
 *
 * Threading: one thread at a time.
 * Memory:    owned by the struct until check_generation_close.
 */
#ifndef HOST_CLI_CHECK_GENERATION_H
#define HOST_CLI_CHECK_GENERATION_H
#include "cli/prove_options.h"
#include "prove/prove_check.h"
#include "wal/wal_set.h"
#include "wal/wal_state.h"

typedef struct check_generation_options {
    const char *log, *record;               /* --log, --generation; both null: no record is asked for */
    const char *prompt, *context, *mac_key; /* files; may be null */
    bool replays;
    const trusted_keys *keys; /* may be null */
} check_generation_options;

enum { CHECK_RECORD = 0, CHECK_LOG, CHECK_MODEL, CHECK_PROMPT, CHECK_CONTEXT, CHECK_REPLAY, CHECK_N_ANSWERS };

typedef struct check_generation {
    bool is_asked;
    prove_reading reading;
    generation_record record;
    prove_answer answers[CHECK_N_ANSWERS];
    wal_set set;
    wal_state state;
} check_generation;

const char *check_generation_name(uint32_t answer); /* "record", "log", ... */

/* Finds the record. The error is in *err when there is none or it cannot be read. check_generation_close is right afterwards. */
qn_status check_generation_open(check_generation *g, const check_generation_options *options, error_context *err);
/* Answers everything but the model's digest. `engine` is null unless options->replays. */
qn_status check_generation_ask(check_generation *g, const check_generation_options *options, command_context *c, const char *model_path,
                               engine *e, const prove_runtime *running);
/* Is the record about the file with this digest? */
void check_generation_ask_model(check_generation *g, bool is_source, const uint8_t digest[SHA256_BYTES]);
/* Settings that bring the model up as the record says. False: the record cannot be replayed, and why stands in its answer. */
bool check_generation_engine(check_generation *g, run_settings *settings, engine_options *out);
void check_generation_close(check_generation *g); /* a zeroed one is legal */

#endif
