/* generate.h — the loop from a prompt to an answer: prefill, choose, append, stop, stream.
 *
 * What ends it, in the order of testing: cancel, deadline, the budget, whoever watches; then, once a token is chosen, a constraint that
 * leaves none, a judge that refuses it, a stop token (not printed), a constraint that is complete, the context. The reason is always
 * told. Text is handed out as soon as it is complete UTF-8.
 *
 * Threading: one thread at a time per session; `cancel` may be set from anywhere, a signal handler too.
 * Memory:    everything is allocated before the first token; the loop itself allocates nothing.
 */
#ifndef HOST_GENERATE_H
#define HOST_GENERATE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "decode/sampler.h"
#include "decode/session.h"
#include "decode/token_hooks.h"
#include "text/tokenizer.h"

#define GENERATE_MAX_STOPS 64
#define GENERATE_MAX_LOGPROBS 64

typedef uint32_t stop_reason;
enum {
    STOP_TOKEN = 0,    /* the model ended its answer */
    STOP_BUDGET = 1,   /* -n tokens were generated */
    STOP_CONTEXT = 2,  /* no position is left */
    STOP_DEADLINE = 3,
    STOP_CANCELLED = 4,
    STOP_ERROR = 5,
    STOP_COMPLETE = 6, /* the constraint has all it wants */
    STOP_DEAD_END = 7, /* the constraint allows no token that the model has */
    STOP_JUDGED = 8,   /* the judge refused what was chosen */
    STOP_WATCH = 9     /* whoever watches said so */
};
/* "stop", "length", "context", "deadline", "cancelled", "error", "complete", "dead-end", "judged", "watch". Static. */
const char *stop_reason_name(stop_reason reason);

typedef struct generate_event {
    uint32_t id;
    const char *text;       /* complete UTF-8 that this token made printable; not terminated */
    size_t text_bytes;      /* may be 0 */
    const sampler_candidate *top; /* [n_top] log-probabilities when asked for */
    uint32_t n_top;
} generate_event;

/* Called for each generated token that is no stop token, and once more with id TOKEN_NONE for what the detokenizer held
 * back. False ends the generation (the output is closed, say) with STOP_CANCELLED. */
typedef bool generate_fn(void *ctx, const generate_event *event);

typedef struct generate_options {
    uint32_t max_tokens;     /* budget; 0 = only read the prompt */
    uint64_t deadline_ms;    /* from the call on; 0 = none */
    uint64_t prefill_ms;     /* and of that for the prompt, looked at between its chunks; 0 = no limit of its own */
    uint64_t decode_ms;      /* and from the prompt's end on; 0 = no limit of its own */
    uint32_t n_stops;
    uint32_t stops[GENERATE_MAX_STOPS];
    uint32_t n_logprobs;     /* at most GENERATE_MAX_LOGPROBS */
    bool show_special;       /* control tokens in the text */
    bool at_start;           /* the text begins a line: SentencePiece-style drops the first space */
    token_hooks hooks;       /* all may be null */
    const volatile uint32_t *cancel; /* may be null */
    generate_fn *on_token;   /* may be null */
    void (*on_prefilled)(void *ctx, uint32_t n_prompt); /* the prompt is read and the first choice comes next; may be null */
    void *prefilled_ctx;
    void *ctx;
} generate_options;

typedef struct generate_result {
    stop_reason reason;
    uint32_t stop_token;     /* id that ended it, or TOKEN_NONE */
    uint32_t n_prompt, n_generated;
    uint32_t n_drafted, n_accepted; /* guessed tokens that were run, and those that were chosen */
    uint32_t n_resampled;    /* choices that the judge sent back */
    double prefill_seconds, decode_seconds;
    double sample_seconds;   /* part of decode_seconds */
} generate_result;

/* Appends the prompt and generates. On failure *out_result still tells how far it came; QN_CANCELLED and deadlines are
 * no failures but reasons. ids: [n], at least one. */
qn_status generate_run(session *s, sampler *chooser, const uint32_t *ids, uint32_t n, const generate_options *options,
                       generate_result *out_result, error_context *err);

#endif
