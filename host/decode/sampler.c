/* sampler.c — greedy and random choice. */
#include "decode/sampler.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"

#define DEFAULT_REPEAT_LAST 64u

sampler_options sampler_defaults(void) {
    return (sampler_options){
        .temperature = 0.0f, .top_p = 1.0f, .repeat_penalty = 1.0f, .repeat_last = DEFAULT_REPEAT_LAST};
}

/* SplitMix64: spreads a seed of few bits over the whole state. */
static uint64_t spread_seed(uint64_t *seed) {
    uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* xoroshiro128+, upper 53 bits: uniform in [0, 1). */
static double draw_uniform(sampler *s) {
    const uint64_t a = s->random[0];
    uint64_t b = s->random[1];
    const uint64_t sum = a + b;
    b ^= a;
    s->random[0] = (a << 24 | a >> 40) ^ b ^ b << 16;
    s->random[1] = b << 37 | b >> 27;
    return (double)(sum >> 11) * 0x1p-53;
}

static qn_status check_options(const sampler_options *o, uint32_t n_tokens, error_context *err) {
    const struct {
        const char *name;
        float value;
        bool is_good;
        const char *range;
    } checks[] = {{"--temp", o->temperature, o->temperature >= 0.0f && o->temperature <= 100.0f, "0 to 100"},
                  {"--top-p", o->top_p, o->top_p >= 0.0f && o->top_p <= 1.0f, "0 to 1"},
                  {"--min-p", o->min_p, o->min_p >= 0.0f && o->min_p < 1.0f, "0 to below 1"},
                  {"--repeat-penalty", o->repeat_penalty, o->repeat_penalty > 0.0f && o->repeat_penalty <= 100.0f,
                   "above 0, at most 100"}};
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        if (!checks[i].is_good) {
            return FAIL(err, QN_BAD_INPUT, "%s %g: the range is %s", checks[i].name, (double)checks[i].value,
                        checks[i].range);
        }
    }
    for (uint32_t i = 0; i < o->n_biases; i++) {
        if (o->biases[i].id >= n_tokens || isnan(o->biases[i].value)) {
            return FAIL(err, QN_BAD_INPUT, "--logit-bias %u:%g: the id must be below %u and the value a number",
                        o->biases[i].id, (double)o->biases[i].value, n_tokens);
        }
    }
    return QN_OK;
}

qn_status sampler_create(const sampler_options *options, uint32_t n_vocab, uint32_t n_tokens, sampler *out,
                         error_context *err) {
    QN_TRY(check_options(options, n_tokens, err), err, "checking the sampling options");
    memset(out, 0, sizeof *out);
    out->options = *options;
    out->n_vocab = n_vocab;
    out->n_tokens = n_tokens < n_vocab ? n_tokens : n_vocab;
    uint64_t seed = options->seed;
    out->random[0] = spread_seed(&seed);
    out->random[1] = spread_seed(&seed);
    out->candidates = calloc(n_vocab, sizeof *out->candidates);
    return out->candidates != NULL ? QN_OK
                                   : FAIL(err, QN_NO_HOST_MEM, "out of memory for sampling over %u tokens", n_vocab);
}

void sampler_destroy(sampler *s) {
    scrub_free(s->candidates, (size_t)s->n_vocab * sizeof *s->candidates);
    memset(s, 0, sizeof *s);
}

static void apply_biases(const sampler *s, float *logits) {
    for (uint32_t i = 0; i < s->options.n_biases; i++) {
        logits[s->options.biases[i].id] += s->options.biases[i].value;
    }
}

static bool occurs_before(const int32_t *recent, uint32_t at) {
    for (uint32_t i = 0; i < at; i++) {
        if (recent[i] == recent[at]) {
            return true;
        }
    }
    return false;
}

/* Each recent token once: positive logits are divided, negative ones multiplied. */
static void apply_penalty(const sampler *s, float *logits, const int32_t *recent, uint32_t n_recent) {
    const float penalty = s->options.repeat_penalty;
    const uint32_t last = s->options.repeat_last > 0 ? s->options.repeat_last : DEFAULT_REPEAT_LAST;
    if (penalty == 1.0f) {
        return;
    }
    const uint32_t n = n_recent < last ? n_recent : last;
    const int32_t *window = recent + (n_recent - n);
    for (uint32_t i = 0; i < n; i++) {
        if ((uint32_t)window[i] < s->n_tokens && !occurs_before(window, i)) {
            float *logit = &logits[window[i]];
            *logit = *logit > 0.0f ? *logit / penalty : *logit * penalty;
        }
    }
}

/* Index of the greatest finite logit, the lowest id on ties; n when there is none. */
static uint32_t find_greatest(const float *logits, uint32_t n) {
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++) {
        if (isfinite(logits[i]) && (best == n || logits[i] > logits[best])) {
            best = i;
        }
    }
    return best;
}

static int is_better(const sampler_candidate *a, const sampler_candidate *b) {
    return a->value > b->value || (a->value == b->value && a->id < b->id);
}

static int compare_candidates(const void *a, const void *b) {
    return is_better(a, b) ? -1 : 1; /* ids differ, so no two are equal */
}

/* Keeps the k best of the first n candidates in a heap whose root is the worst of them. */
static void sift_down(sampler_candidate *heap, uint32_t n, uint32_t at) {
    for (;;) {
        uint32_t worst = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++) {
            worst = is_better(&heap[worst], &heap[child]) ? child : worst;
        }
        if (worst == at) {
            return;
        }
        const sampler_candidate moved = heap[at];
        heap[at] = heap[worst];
        heap[worst] = moved;
        at = worst;
    }
}

/* The k best finite logits, sorted best first, in s->candidates; returns how many. */
static uint32_t collect_best(sampler *s, const float *logits, uint32_t k) {
    sampler_candidate *heap = s->candidates;
    uint32_t n = 0;
    k = k == 0 || k > s->n_tokens ? s->n_tokens : k;
    for (uint32_t id = 0; id < s->n_tokens; id++) {
        const sampler_candidate c = {logits[id], id};
        if (!isfinite(c.value)) {
            continue;
        }
        if (n < k) {
            heap[n++] = c;
            if (n == k) {
                for (uint32_t i = k / 2; i-- > 0;) {
                    sift_down(heap, k, i);
                }
            }
        } else if (is_better(&c, &heap[0])) {
            heap[0] = c;
            sift_down(heap, k, 0);
        }
    }
    qsort(heap, n, sizeof *heap, compare_candidates);
    return n;
}

/* Turns sorted logits into probabilities at the temperature, cuts by top-p and min-p; returns how many stay. */
static uint32_t cut_candidates(sampler *s, uint32_t n) {
    sampler_candidate *c = s->candidates;
    const float greatest = c[0].value;
    double total = 0.0, kept = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        c[i].value = expf((c[i].value - greatest) / s->options.temperature);
        total += (double)c[i].value;
    }
    uint32_t n_kept = 0;
    while (n_kept < n &&
           (n_kept == 0 || (kept < (double)s->options.top_p * total && c[n_kept].value >= s->options.min_p))) {
        kept += (double)c[n_kept++].value; /* min-p compares with the best, whose value is 1 here */
    }
    return n_kept;
}

static uint32_t draw_candidate(sampler *s, uint32_t n) {
    double total = 0.0, passed = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        total += (double)s->candidates[i].value;
    }
    const double point = draw_uniform(s) * total;
    for (uint32_t i = 0; i < n; i++) {
        passed += (double)s->candidates[i].value;
        if (point < passed) {
            return s->candidates[i].id;
        }
    }
    return s->candidates[n - 1].id;
}

void sampler_adjust(const sampler *s, float *logits, const int32_t *recent, uint32_t n_recent) {
    apply_biases(s, logits);
    apply_penalty(s, logits, recent, n_recent);
}

qn_status sampler_draw(sampler *s, const float *logits, uint32_t *out_id, error_context *err) {
    if (s->options.temperature == 0.0f || s->options.top_k == 1) {
        const uint32_t best = find_greatest(logits, s->n_tokens);
        if (best == s->n_tokens) {
            return FAIL(err, QN_CORRUPT,
                        "none of the %u logits is a finite number; the weights or the backend are broken", s->n_tokens);
        }
        *out_id = best;
        return QN_OK;
    }
    const uint32_t n = collect_best(s, logits, s->options.top_k);
    if (n == 0) {
        return FAIL(err, QN_CORRUPT, "none of the %u logits is a finite number; the weights or the backend are broken",
                    s->n_tokens);
    }
    *out_id = draw_candidate(s, cut_candidates(s, n));
    return QN_OK;
}

qn_status sampler_choose(sampler *s, float *logits, const int32_t *recent, uint32_t n_recent, uint32_t *out_id,
                         error_context *err) {
    sampler_adjust(s, logits, recent, n_recent);
    return sampler_draw(s, logits, out_id, err);
}

uint32_t sampler_needs(const sampler *s) {
    if (s->options.n_biases > 0 || s->options.repeat_penalty != 1.0f) {
        return 0;
    }
    return s->options.temperature == 0.0f ? 1 : s->options.top_k;
}

qn_status sampler_choose_top(sampler *s, const uint32_t *ids, const float *values, uint32_t n, uint32_t *out_id, error_context *err) {
    if (n == 0) {
        return FAIL(err, QN_CORRUPT, "none of the %u logits is a finite number; the weights or the backend are broken",
                    s->n_tokens);
    }
    for (uint32_t i = 0; i < n; i++) {
        s->candidates[i] = (sampler_candidate){values[i], ids[i]};
    }
    *out_id = sampler_needs(s) == 1 ? ids[0] : draw_candidate(s, cut_candidates(s, n));
    return QN_OK;
}

uint32_t sampler_top(sampler *s, const float *logits, uint32_t k, sampler_candidate *out) {
    double total = 0.0;
    const uint32_t n = collect_best(s, logits, k == 0 ? 1 : k);
    if (n == 0) {
        return 0;
    }
    const double greatest = (double)s->candidates[0].value;
    for (uint32_t id = 0; id < s->n_tokens; id++) {
        total += isfinite(logits[id]) ? exp((double)logits[id] - greatest) : 0.0;
    }
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (sampler_candidate){(float)((double)s->candidates[i].value - greatest - log(total)),
                                     s->candidates[i].id};
    }
    return n;
}
