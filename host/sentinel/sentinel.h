/* sentinel.h — rules over a choice, asked before the token is appended: the judge of token_hooks.h.
 *
 *     row ──► two greatest, odd ones, entropy ─┐
 *     token ──► deny list                      ├─► strongest action of the rules that fire ──► ALLOW | RESAMPLE | ABORT
 *     token behind what was taken ──► repetition, phrases ─┘            │
 *                                                                       └──► one record to whoever watches
 *
 * Rules about the token are asked at each attempt. Rules about the row (non-finite, margin, entropy) are asked once a step, at the first
 * attempt, because a row does not change: with `resample` they take the first choice away, and the second stands as far as they go.
 * The same logits and settings give the same verdicts on every machine and with any number of threads.
 *
 * Whoever watches sees each attempt, and may ask for an end, which comes at the next choice; when that comes depends on when it was asked
 * for, and nothing else does.
 *
 * Cost a token: one pass over the row, a second one with exp for the entropy when its rule is on or somebody watches, and a few hundred
 * comparisons; of 49,152 logits the first takes about 13 microseconds and both 90 (bench_sentinel), below a hundredth of what
 * decoding a token of a model with such a vocabulary takes.
 *
 * Threading: one thread at a time per sentinel.
 * Memory:    all of it at creation; a verdict takes none. The tokenizer is borrowed.
 */
#ifndef HOST_SENTINEL_H
#define HOST_SENTINEL_H
#include "decode/generate.h"
#include "sentinel/sentinel_settings.h"
#include "sentinel/streams.h"
#include "text/tokenizer.h"

typedef struct sentinel sentinel;

/* What came of it. */
typedef struct sentinel_report {
    uint64_t n_fired[SENTINEL_RULES];
    uint64_t n_resampled, n_records, n_dropped;
    bool is_aborted;            /* this run was ended by a rule or an observer */
    bool is_by_observer;        /* `rule` is then of no meaning */
    bool is_exhausted;          /* no rule said abort: one choice after another was refused */
    sentinel_rule rule;         /* that ended it: the first of the strongest */
    uint32_t step, token;       /* where */
    uint32_t pid;               /* of the observer, as it said */
    char reason[20];            /* likewise; printable */
} sentinel_report;

/* Copies what it needs of the settings (null: no rules). QN_BAD_INPUT for an id that the vocabulary has not, and for a text that is no
 * single token. */
qn_status sentinel_create(const sentinel_settings *settings, const tokenizer *tok, sentinel **out, error_context *err);
/* Overwrites what it knows of the text, and frees. Null is legal. */
void sentinel_destroy(sentinel *s);

/* Streams are borrowed, or null. Before the first verdict. */
void sentinel_watch(sentinel *s, run_streams *streams);

/* Forgets the last answer. */
void sentinel_begin(sentinel *s);
/* The hook; lives as long as the sentinel. */
const token_judge *sentinel_judge(const sentinel *s);
/* The run is over, for this reason and behind n_taken tokens: posts END. */
void sentinel_end(sentinel *s, uint32_t n_taken, stop_reason reason);

const sentinel_report *sentinel_get_report(const sentinel *s);
/* "rule phrase at token 12", "an observer (process 123: low margin)", "…": one line. */
void sentinel_describe_abort(const sentinel_report *report, char *text, size_t room);

/* Overwrites what it knows of the text; returns the bytes. */
uint64_t sentinel_scrub(sentinel *s);

#endif
