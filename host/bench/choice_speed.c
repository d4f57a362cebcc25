/* choice_speed.c — the sampler by the clock. */
#include "bench/choice_speed.h"

#include <stdbool.h>

#include "base/clock.h"
#include "bench/spread.h"
#include "decode/sampler.h"

#define N_LOGPROBS 10u

static qn_status choose_once(sampler *s, const float *logits, bool with_logprobs, error_context *err) {
    sampler_candidate top[N_LOGPROBS];
    uint32_t id;
    if (with_logprobs) {
        return sampler_top(s, logits, N_LOGPROBS, top) > 0 ? QN_OK : FAIL(err, QN_CORRUPT, "none of the logits is a finite number");
    }
    return sampler_draw(s, logits, &id, err);
}

static qn_status time_choices(const sampler_options *options, const float *logits, uint32_t n_vocab, uint32_t n_tokens, bool with_logprobs,
                              double *out_us, error_context *err) {
    sampler s;
    spread runs = {.n = 0};
    qn_status status = sampler_create(options, n_vocab, n_tokens, &s, err);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < SPREAD_MOST && status == QN_OK; i++) {
        const double begin = clock_seconds();
        status = choose_once(&s, logits, with_logprobs, err);
        spread_add(&runs, 1e6 * (clock_seconds() - begin));
    }
    sampler_destroy(&s);
    *out_us = spread_median(&runs);
    return status;
}

qn_status choice_speed_measure(const float *logits, uint32_t n_vocab, uint32_t n_tokens, choice_speed *out, error_context *err) {
    const sampler_options greedy = sampler_defaults();
    sampler_options any = greedy, top;
    any.temperature = 0.8f;
    any.seed = 1;
    top = any;
    top.top_k = 40;
    top.top_p = 0.95f;
    QN_TRY(time_choices(&greedy, logits, n_vocab, n_tokens, false, &out->greedy_us, err), err, "measuring greedy choices");
    QN_TRY(time_choices(&top, logits, n_vocab, n_tokens, false, &out->top_us, err), err, "measuring choices among the best");
    QN_TRY(time_choices(&any, logits, n_vocab, n_tokens, false, &out->any_us, err), err, "measuring choices among all");
    QN_TRY(time_choices(&greedy, logits, n_vocab, n_tokens, true, &out->logprobs_us, err), err, "measuring log-probabilities");
    return QN_OK;
}
