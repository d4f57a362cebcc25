/* sampler.c — greedy and random choice. */
#include "decode/sampler.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/scrub.h"
#include "decode/logit_scan.h"

#define DEFAULT_REPEAT_LAST 64u
/* How many of the best a draw among all tokens looks at first, and how many times as many when that is not enough. */
#define FIRST_LOOK 64u
#define LOOK_FURTHER 8u

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

static qn_status fail_without_logits(const sampler *s, error_context *err) {
    return FAIL(err, QN_CORRUPT, "none of the %u logits is a finite number; the weights or the backend are broken", s->n_tokens);
}

/* Turns the first n sorted logits into weights at the temperature: the best has 1. Returns their sum. */
static double weigh_candidates(sampler *s, uint32_t n) {
    sampler_candidate *c = s->candidates;
    const float greatest = c[0].value;
    double total = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        c[i].value = expf((c[i].value - greatest) / s->options.temperature);
        total += (double)c[i].value;
    }
    return total;
}

static bool cuts_any(const sampler *s) {
    return s->options.top_p < 1.0f || s->options.min_p > 0.0f;
}

/* How many of n sorted weights top-p and min-p leave, of `total` in all; n + 1 when the cut is not among them. */
static uint32_t cut_candidates(const sampler *s, uint32_t n, double total) {
    const sampler_candidate *c = s->candidates;
    const double enough = s->options.top_p < 1.0f ? (double)s->options.top_p * total : HUGE_VAL;
    double kept = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && (kept >= enough || c[i].value < s->options.min_p)) {
            return i; /* min-p compares with the best, whose weight is 1 */
        }
        kept += (double)c[i].value;
    }
    return kept >= enough ? n : n + 1;
}

static double sum_candidates(const sampler *s, uint32_t n) {
    double total = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        total += (double)s->candidates[i].value;
    }
    return total;
}

/* The candidate where the sum of weights passes `point`; n when it does not. */
static uint32_t find_point(const sampler *s, uint32_t n, double point) {
    double passed = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        passed += (double)s->candidates[i].value;
        if (point < passed) {
            return i;
        }
    }
    return n;
}

/* Draws among the first n candidates, all that there are. */
static uint32_t draw_candidate(sampler *s, uint32_t n) {
    const double total = weigh_candidates(s, n);
    const uint32_t cut = cut_candidates(s, n, total), n_kept = cut < n ? cut : n;
    const uint32_t at = find_point(s, n_kept, draw_uniform(s) * sum_candidates(s, n_kept));
    return s->candidates[at < n_kept ? at : n_kept - 1].id;
}

/* Draws among all finite logits, of which there is one at least. */
static uint32_t draw_any(sampler *s, const float *logits) {
    const float greatest = logit_scan_greatest(logits, s->n_tokens);
    const double all = logit_scan_sum(logits, s->n_tokens, greatest, s->options.temperature);
    const double uniform = draw_uniform(s);
    for (uint32_t k = FIRST_LOOK;; k *= LOOK_FURTHER) {
        k = k < s->n_tokens ? k : s->n_tokens;
        const uint32_t n = best_logits_collect(logits, s->n_tokens, k, s->candidates);
        weigh_candidates(s, n);
        const uint32_t cut = cut_candidates(s, n, all), n_kept = cut < n ? cut : n;
        const bool is_whole = cut <= n || n < k || k == s->n_tokens;
        if (!is_whole && cuts_any(s)) {
            continue; /* what the point is a part of is not known yet */
        }
        const uint32_t at = find_point(s, n_kept, uniform * (is_whole ? sum_candidates(s, n_kept) : all));
        if (at < n_kept || is_whole) {
            return s->candidates[at < n_kept ? at : n_kept - 1].id;
        }
    }
}

void sampler_adjust(const sampler *s, float *logits, const int32_t *recent, uint32_t n_recent) {
    apply_biases(s, logits);
    apply_penalty(s, logits, recent, n_recent);
}

qn_status sampler_draw(sampler *s, const float *logits, uint32_t *out_id, error_context *err) {
    const bool is_greedy = s->options.temperature == 0.0f || s->options.top_k == 1;
    if (is_greedy || s->options.top_k == 0) {
        const uint32_t best = logit_scan_find(logits, s->n_tokens);
        if (best == s->n_tokens) {
            return fail_without_logits(s, err);
        }
        *out_id = is_greedy ? best : draw_any(s, logits);
        return QN_OK;
    }
    const uint32_t k = s->options.top_k < s->n_tokens ? s->options.top_k : s->n_tokens;
    const uint32_t n = best_logits_collect(logits, s->n_tokens, k, s->candidates);
    if (n == 0) {
        return fail_without_logits(s, err);
    }
    *out_id = draw_candidate(s, n);
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
        return fail_without_logits(s, err);
    }
    for (uint32_t i = 0; i < n; i++) {
        s->candidates[i] = (sampler_candidate){values[i], ids[i]};
    }
    *out_id = sampler_needs(s) == 1 ? ids[0] : draw_candidate(s, n);
    return QN_OK;
}

uint32_t sampler_top(sampler *s, const float *logits, uint32_t k, sampler_candidate *out) {
    const uint32_t wanted = k == 0 ? 1 : k < s->n_tokens ? k : s->n_tokens;
    const uint32_t n = best_logits_collect(logits, s->n_tokens, wanted, s->candidates);
    if (n == 0) {
        return 0;
    }
    const float greatest = s->candidates[0].value;
    const double log_total = log(logit_scan_sum(logits, s->n_tokens, greatest, 1.0f));
    for (uint32_t i = 0; i < n; i++) {
        out[i] = (sampler_candidate){(float)((double)s->candidates[i].value - (double)greatest - log_total), s->candidates[i].id};
    }
    return n;
}
