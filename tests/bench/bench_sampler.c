/* bench_sampler.c — what choosing a token costs over a vocabulary of any size.
 *
 *     bench_sampler [WORDS [ROUNDS [KIND]]]     150000 words, 100 rounds, all kinds: greedy, top, any, logprobs
 *
 * Prints the least and the median time of a choice, in microseconds. On a machine that is not quiet, count instructions instead:
 *
 *     valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect=counted_choice bench_sampler 150000 1 top
 *
 * The logits are made up: sums of twelve uniform numbers, with a standard deviation of 3.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/spread.h"
#include "decode/sampler.h"

#define N_LOGPROBS 10u

static const struct {
    const char *name;
    float temperature, top_p;
    uint32_t top_k;
    bool with_logprobs;
} kinds[] = {{"greedy", 0.0f, 1.0f, 0, false}, {"top", 0.8f, 0.95f, 40, false}, {"any", 0.8f, 1.0f, 0, false}, {"logprobs", 0.0f, 1.0f, 0, true}};

static void fill_logits(float *logits, uint32_t n) {
    uint32_t state = 1;
    for (uint32_t i = 0; i < n; i++) {
        float sum = -6.0f;
        for (int k = 0; k < 12; k++) {
            state = state * 1664525u + 1013904223u;
            sum += (float)(state >> 8) * 0x1p-24f;
        }
        logits[i] = 3.0f * sum;
    }
}

__attribute__((noinline)) void counted_choice(sampler *s, const float *logits, bool with_logprobs);
void counted_choice(sampler *s, const float *logits, bool with_logprobs) {
    sampler_candidate top[N_LOGPROBS];
    uint32_t id;
    if (with_logprobs) {
        sampler_top(s, logits, N_LOGPROBS, top);
    } else {
        sampler_draw(s, logits, &id, NULL);
    }
}

static bool run_kind(size_t kind, const float *logits, uint32_t n, uint32_t rounds) {
    sampler_options options = sampler_defaults();
    spread times = {.n = 0};
    sampler s;
    options.temperature = kinds[kind].temperature;
    options.top_p = kinds[kind].top_p;
    options.top_k = kinds[kind].top_k;
    options.seed = 1;
    if (sampler_create(&options, n, n, &s, NULL) < 0) {
        return false;
    }
    for (uint32_t i = 0; i < rounds; i++) {
        const double begin = clock_seconds();
        counted_choice(&s, logits, kinds[kind].with_logprobs);
        spread_add(&times, 1e6 * (clock_seconds() - begin));
    }
    const double median = spread_median(&times);
    printf("%-10s %10.1f us, median %.1f\n", kinds[kind].name, times.n > 0 ? times.values[0] : 0.0, median);
    sampler_destroy(&s);
    return true;
}

int main(int argc, char **argv) {
    const uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 150000u;
    const uint32_t rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : SPREAD_MOST;
    float *logits = calloc(n > 0 ? n : 1, sizeof *logits);
    if (logits == NULL || n == 0) {
        fputs("usage: bench_sampler [WORDS [ROUNDS [KIND]]]\n", stderr);
        free(logits);
        return 2;
    }
    fill_logits(logits, n);
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        if ((argc < 4 || strcmp(argv[3], kinds[kind].name) == 0) && !run_kind(kind, logits, n, rounds)) {
            return 1;
        }
    }
    free(logits);
    return 0;
}
