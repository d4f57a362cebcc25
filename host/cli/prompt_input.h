/* prompt_input.h — where a prompt comes from and how it becomes token ids: text, file, standard input or ids; with or
 * without a chat template.
 *
 * Threading: one thread at a time.
 * Memory:    prompt_free frees what prompt_load and prompt_encode made.
 */
#ifndef HOST_PROMPT_INPUT_H
#define HOST_PROMPT_INPUT_H
#include "base/scrub.h"
#include "cli/options.h"
#include "model/model.h"
#include "text/stop_set.h"
#include "text/tokenizer.h"

typedef struct prompt_options {
    const char *text, *file, *tokens; /* exactly one */
    bool is_special;                  /* text may spell control tokens */
    bool no_bos;
    bool is_chat;                     /* wrap the text as one user turn of the model's chat template */
    const char *family, *system;      /* --template, --system: with is_chat */
} prompt_options;

#define PROMPT_OPTION_ROWS 8
void prompt_options_init(prompt_options *p, option rows[PROMPT_OPTION_ROWS]);

/* Exactly one source, and nothing that contradicts it. */
qn_status prompt_check_options(const prompt_options *p, error_context *err);

typedef struct prompt_input {
    char *text;          /* owned, of --prompt-file; otherwise null */
    size_t text_bytes;
    fmt_str preface;     /* borrowed; stands before the text, in the user's turn with --chat; never read as control tokens. May be empty */
    token_list ids;
    bool starts_text;    /* the answer begins a text of its own */
    stop_set stops;      /* that the chat template adds to the model's */
} prompt_input;

/* Reads the whole prompt, wherever it is, before any model is opened: what is missing is told at once. QN_BAD_INPUT with
 * the column for ids that are none; QN_CANCELLED when a signal came while reading; whatever opening a file gives.
 * prompt_free is right afterwards in any case. */
qn_status prompt_load(const prompt_options *p, prompt_input *out, error_context *err);

/* Turns the text into ids. QN_BAD_INPUT with byte position for text that is no UTF-8. */
qn_status prompt_encode(const prompt_options *p, const model *m, prompt_input *input, error_context *err);
void prompt_free(prompt_input *input);

/* Overwrites the words of --prompt, --prompt-tokens and --system, where they stand in the program's arguments. Afterwards they are "". */
void prompt_forget(prompt_options *p, scrub_report *report);

/* Reads FILE, or standard input for "-", to the end; a zero byte follows. Frees nothing on error. */
qn_status prompt_read_file(const char *path, char **out_text, size_t *out_size, error_context *err);

/* Ids "1,403,407". */
qn_status prompt_parse_tokens(const char *text, token_list *out, error_context *err);

#endif
