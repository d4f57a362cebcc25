/* sampler.h — from a row of logits to one token id.
 *
 * Order: logit bias → repetition penalty → (temperature 0: the greatest, lowest id on ties) → top-k → temperature →
 * top-p → min-p → draw. The same seed and settings give the same ids whatever the number of threads, because nothing
 * here depends on them.
 *
 * A draw among all tokens looks at them best first, too, but only as far as the draw goes: first the best 64, then eight times as many,
 * and so on. What lies behind counts through its sum.
 *
 * Threading: one thread at a time per sampler.
 * Memory:    one array of candidates allocated at creation; sampling allocates nothing.
 */
#ifndef HOST_SAMPLER_H
#define HOST_SAMPLER_H
#include <stdint.h>

#include "base/error.h"
#include "decode/best_logits.h"

#define SAMPLER_MAX_BIASES 64

typedef struct sampler_options {
    float temperature;     /* >= 0; 0 = greedy */
    uint32_t top_k;        /* 0 = all */
    float top_p;           /* [0, 1]; 1 = off, 0 = only the most likely token */
    float min_p;           /* [0, 1); 0 = off */
    float repeat_penalty;  /* > 0; 1 = off */
    uint32_t repeat_last;  /* how many of the last tokens are penalised; 0 = 64 */
    uint64_t seed;
    uint32_t n_biases;
    struct {
        uint32_t id;
        float value;       /* added to the logit; -inf forbids the token */
    } biases[SAMPLER_MAX_BIASES];
} sampler_options;

typedef struct sampler {
    sampler_options options;
    uint64_t random[2];
    uint32_t n_vocab;       /* rows of logits */
    uint32_t n_tokens;      /* ids at or above it are padding rows and are never chosen */
    sampler_candidate *candidates; /* [n_vocab] */
} sampler;

/* Greedy settings: temperature 0 and everything else off. */
sampler_options sampler_defaults(void);

/* QN_BAD_INPUT names the option, the value and the range. */
qn_status sampler_create(const sampler_options *options, uint32_t n_vocab, uint32_t n_tokens, sampler *out,
                         error_context *err);
void sampler_destroy(sampler *s);

/* Chooses from logits[n_vocab] (changed in place by bias and penalty). `recent` are the last n_recent ids, for the
 * penalty. QN_CORRUPT when no logit is a finite number: an id is then never invented. */
qn_status sampler_choose(sampler *s, float *logits, const int32_t *recent, uint32_t n_recent, uint32_t *out_id,
                         error_context *err);

/* The two halves of sampler_choose: bias and penalty change the logits once; a draw leaves them as they are and may be repeated, each
 * time with the next random number. */
void sampler_adjust(const sampler *s, float *logits, const int32_t *recent, uint32_t n_recent);
qn_status sampler_draw(sampler *s, const float *logits, uint32_t *out_id, error_context *err);

/* How many of the greatest logits are enough to choose from: 0 when all are needed, because the user asks for all or changes some. */
uint32_t sampler_needs(const sampler *s);

/* Chooses as sampler_choose does, from the sampler_needs greatest finite logits, best first (of equal ones the lower id first). */
qn_status sampler_choose_top(sampler *s, const uint32_t *ids, const float *values, uint32_t n, uint32_t *out_id, error_context *err);

/* The k most likely ids with natural-log probabilities, best first, from untouched logits; returns how many were
 * written. */
uint32_t sampler_top(sampler *s, const float *logits, uint32_t k, sampler_candidate *out);

#endif
