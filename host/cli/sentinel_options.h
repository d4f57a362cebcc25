/* sentinel_options.h — --sentinel and --observe of a command that generates.
 *
 * Threading: one thread at a time.
 * Memory:    sentinel_run_close frees everything, whatever was opened.
 */
#ifndef HOST_SENTINEL_OPTIONS_H
#define HOST_SENTINEL_OPTIONS_H
#include <jansson.h>

#include "base/scrub.h"
#include "cli/options.h"
#include "sentinel/sentinel.h"
#include "sentinel/shared_streams.h"

typedef struct sentinel_options {
    const char *rules, *observe; /* null: not asked for */
} sentinel_options;

#define SENTINEL_OPTION_ROWS 2
void sentinel_options_init(sentinel_options *o, option rows[SENTINEL_OPTION_ROWS]);

typedef struct sentinel_run {
    sentinel *judge;             /* null: neither option was given */
    sentinel_settings settings;
    shared_streams shared;
    run_streams streams;
    bool is_watched;
} sentinel_run;

/* Before the model is opened: reads the rules, and makes the memory that observers see. */
qn_status sentinel_run_open(const sentinel_options *o, sentinel_run *run, error_context *err);
/* Makes the sentinel for this vocabulary, and is then in `hooks`. */
qn_status sentinel_run_begin(const sentinel_options *o, sentinel_run *run, const tokenizer *tok, token_hooks *hooks, error_context *err);
/* The generation is over: tells observers. */
void sentinel_run_end(sentinel_run *run, const generate_result *result);
/* Says on standard error which rules fired, and what ended the run. */
void sentinel_run_tell(const sentinel_run *run);
/* {fired, resampled, records, dropped, ended_by}; null when neither option was given. */
json_t *sentinel_run_json(const sentinel_run *run);
/* Overwrites what the rules know of the answer; adds to *report. */
void sentinel_run_scrub(sentinel_run *run, scrub_report *report);
void sentinel_run_close(sentinel_run *run);

#endif
