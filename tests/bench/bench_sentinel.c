/* bench_sentinel.c — what the sentinel costs a token, on one core.
 *
 *     bench_sentinel [N_LOGITS [ROUNDS]]     49152 logits, as SmolLM2 has, and 2000 rounds without arguments
 *
 * Prints the least time of a round, in microseconds, of a pass over a row without and with the entropy, and of a step of a thousand phrases
 * and of a repetition in a full window.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/decimal.h"
#include "sentinel/phrase_automaton.h"
#include "sentinel/repetition.h"
#include "sentinel/row_facts.h"

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint64_t seed = 1;

static uint32_t draw(uint32_t n) {
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(seed >> 40) % n;
}

static float sink;

static double measure_row(const float *row, uint32_t n, uint32_t rounds, bool with_entropy) {
    double least = 1e9;
    for (uint32_t i = 0; i < rounds; i++) {
        const double begin = seconds();
        const row_facts facts = row_facts_of(row, n, with_entropy);
        const double took = seconds() - begin;
        sink += facts.best + facts.entropy;
        least = took < least ? took : least;
    }
    return least * 1e6;
}

static double measure_rules(uint32_t rounds) {
    static char store[1000][12];
    static phrase_text phrases[1000];
    phrase_automaton a;
    repetition r;
    uint32_t where = 0, found = 0;
    double least = 1e9;
    for (uint32_t i = 0; i < 1000; i++) {
        for (uint32_t k = 0; k < sizeof store[i]; k++) {
            store[i][k] = (char)('a' + draw(26));
        }
        phrases[i] = (phrase_text){store[i], sizeof store[i]};
    }
    if (phrase_automaton_make(phrases, 1000, true, &a, NULL) < 0 || repetition_init(&r, 4, 3, 4096, NULL) < 0) {
        return 0.0;
    }
    for (uint32_t i = 0; i < 4096; i++) {
        repetition_add(&r, draw(1000));
    }
    for (uint32_t i = 0; i < rounds; i++) {
        const double begin = seconds();
        where = phrase_automaton_walk(&a, where, " token", 6, &found);
        sink += (float)found + (repetition_would_fire(&r, i % 1000) ? 1.0f : 0.0f);
        repetition_add(&r, i % 1000);
        const double took = seconds() - begin;
        least = took < least ? took : least;
    }
    repetition_free(&r);
    phrase_automaton_free(&a);
    return least * 1e6;
}

int main(int argc, char **argv) {
    uint64_t n = 49152, rounds = 2000;
    if ((argc > 1 && !decimal_read_whole(argv[1], 1u << 24, &n)) || (argc > 2 && !decimal_read_whole(argv[2], 1u << 24, &rounds)) || n == 0) {
        fprintf(stderr, "usage: bench_sentinel [N_LOGITS [ROUNDS]]\n");
        return 2;
    }
    float *row = malloc(n * sizeof *row);
    for (uint64_t i = 0; row != NULL && i < n; i++) {
        row[i] = (float)draw(1u << 20) / (1u << 16) - 8.0f;
    }
    if (row == NULL) {
        return 1;
    }
    printf("%llu logits: %.1f us, with entropy %.1f us; 1000 phrases and a window of 4096 tokens: %.1f us\n", (unsigned long long)n,
           measure_row(row, (uint32_t)n, (uint32_t)rounds, false), measure_row(row, (uint32_t)n, (uint32_t)rounds, true),
           measure_rules((uint32_t)rounds));
    free(row);
    return sink < 0.0f ? 1 : 0;
}
