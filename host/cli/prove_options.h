/* prove_options.h — what the commands that prove something share: keys, what this program computes with, and the record of a run.
 *
 *     options ─► prove_recording_begin      before the first token: log, keys, digests of model, program and kernels
 *             ─► prove_recording_take       each token; takes no memory
 *             ─► prove_recording_commit     the record is in the log and on disk; recording.name is its id
 *
 * Threading: one thread at a time.
 * Memory:    a recording owns what it opened until prove_recording_end.
 */
#ifndef HOST_PROVE_OPTIONS_H
#define HOST_PROVE_OPTIONS_H
#include "cli/constrain_options.h"
#include "cli/engine_options.h"
#include "cli/prompt_input.h"
#include "cli/sentinel_options.h"
#include "decode/generate.h"
#include "keys/mac_key.h"
#include "prove/prove_generation.h"
#include "prove/settings_text.h"

typedef struct prove_options {
    const char *log, *key, *passphrase_file, *mac_key, *agent, *principal;
    bool is_unsigned, stores_prompt;
} prove_options;

#define PROVE_OPTION_ROWS 8
void prove_options_init(prove_options *p, option rows[PROVE_OPTION_ROWS]);
/* QN_BAD_INPUT: --prove without --key and --unsigned, or one of the others without --prove. */
qn_status prove_options_check(const prove_options *p, error_context *err);

/* The private key in a file, its passphrase in another one (null: none). */
qn_status prove_open_key(const char *path, const char *passphrase_file, signing_key **out_key, error_context *err);

/* This program. */
qn_status prove_describe_program(prove_runtime *out, error_context *err);
/* ... and what it runs the engine's program with. QN_UNSUPPORTED for a model on two backends. */
qn_status prove_describe_engine(const command_context *c, const engine *e, prove_runtime *out, error_context *err);

/* Adds to settings that are collected what has a say besides the model: the files of a constraint and of rules, by their digests. */
qn_status prove_collect_rules(const constrain_options *constrain, const sentinel_options *sentinel, run_settings *out, error_context *err);

/* The settings of a run as a record keeps them. */
void prove_collect_settings(const engine *e, const engine_options *engine_settings, const prompt_options *prompt,
                            const sampler_options *sampling, bool has_context, uint32_t max_tokens, run_settings *out);

typedef struct prove_recording {
    bool is_on;
    const prove_options *options;
    wal *log;
    signing_key *key;
    mac_key mac;
    prove_runtime runtime;
    run_settings settings;
    bool is_source, has_adapter;
    uint8_t adapter[SHA256_BYTES];
    uint8_t model[SHA256_BYTES];
    uint32_t *ids; /* [room] */
    uint32_t n_ids, room;
    sha256_stream text;
    uint64_t started_ms;
    char name[PROVE_URN_SIZE]; /* urn:qualia:gen:sha256:…, once it is committed; "" before */
} prove_recording;

/* Does nothing when options->log is null. `settings` is copied. prove_recording_end is right whatever it answers. */
qn_status prove_recording_begin(prove_recording *r, const prove_options *options, command_context *c, const engine *e,
                                const run_settings *settings, error_context *err);
void prove_recording_take(prove_recording *r, const generate_event *event);
/* `cites` [n_cites]: ids of the facts that the answer names. */
qn_status prove_recording_commit(prove_recording *r, const prompt_input *prompt, const uint64_t *cites, uint32_t n_cites,
                                 const generate_result *result, error_context *err);
void prove_recording_end(prove_recording *r); /* a zeroed one is legal */

#endif
