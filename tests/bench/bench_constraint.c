/* bench_constraint.c — what a constraint costs for each token, on a real vocabulary.
 *
 *     bench_constraint VOCABULARY.gguf FILE.gbnf|FILE.json|FILE.ini [TOKENS]
 *
 * Texts are made by a walk over the masks, each allowed token with the same probability, begun anew when a text is complete. Printed are
 * the time to build everything, and of mask and accept together: the median, the 99th percentile, the greatest, and how many masks were
 * walked rather than known. Under callgrind the same walk is made; its instructions are those of TOKENS steps and the start.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "constrain/constraint.h"
#include "constrain/sieve.h"
#include "text_fixture.h"

/* Of this thread alone: other programs on the machine do not count. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

typedef struct walker {
    constraint *c;   /* one of the two */
    sieve *terms;
    float *logits;
    uint32_t n_tokens;
    uint64_t random;
} walker;

static uint32_t draw(walker *w, uint32_t n) {
    w->random = w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((w->random >> 33) % n);
}

/* One of the tokens that are left, by its number among them. */
static uint32_t choose(walker *w, uint32_t n_left) {
    uint32_t skip = draw(w, n_left);
    for (uint32_t id = 0; id < w->n_tokens; id++) {
        if (isfinite(w->logits[id]) && skip-- == 0) {
            return id;
        }
    }
    return 0;
}

static int compare(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

/* Seconds of one step; starts anew behind a complete text or a dead end. */
static double step(walker *w, error_context *err) {
    const token_constraint hook = w->c != NULL ? constraint_hook(w->c) : sieve_hook(w->terms);
    uint32_t n_left = 0;
    bool is_complete = false;
    memset(w->logits, 0, w->n_tokens * sizeof *w->logits);
    double begin = seconds(), spent;
    qn_status status = hook.mask(hook.ctx, w->logits, w->n_tokens, &n_left, err);
    spent = seconds() - begin;
    if (status == QN_OK && n_left > 0) {
        const uint32_t id = choose(w, n_left);
        begin = seconds();
        status = hook.accept(hook.ctx, id, &is_complete, err);
        spent += seconds() - begin;
    }
    if ((status < 0 || n_left == 0 || is_complete) && w->c != NULL) {
        constraint_reset(w->c, err);
    } else if (status < 0 || n_left == 0 || is_complete) {
        sieve_reset(w->terms);
    }
    return spent;
}

static void measure(walker *w, uint32_t n_steps, double *times, error_context *err) {
    for (uint32_t i = 0; i < n_steps; i++) {
        times[i] = step(w, err);
    }
    qsort(times, n_steps, sizeof *times, compare);
    printf("%u tokens; %u steps: median %.1f us, 99th percentile %.1f us, greatest %.1f us\n", w->n_tokens, n_steps, times[n_steps / 2] * 1e6,
           times[n_steps * 99 / 100] * 1e6, times[n_steps - 1] * 1e6);
    if (w->c != NULL) {
        const constraint_counts counts = constraint_count(w->c);
        printf("%u nodes, %llu walks, %llu masks known, %u states, %llu compactions\n", counts.n_trie_nodes, (unsigned long long)counts.n_walks,
               (unsigned long long)counts.n_masks_reused, counts.n_states, (unsigned long long)counts.n_compactions);
    }
}

static qn_status open_constraint(walker *w, const char *path, const tokenizer *tok, error_context *err) {
    const uint32_t stop = tokenizer_get_facts(tok)->eos;
    const constraint_target target = {.tok = tok, .stops = &stop, .n_stops = 1};
    sieve_spec spec;
    if (strstr(path, ".ini") == NULL) {
        const bool is_schema = strstr(path, ".json") != NULL;
        return (is_schema ? constraint_create_schema : constraint_create_grammar)(path, &target, &w->c, err);
    }
    QN_TRY(sieve_spec_read(path, &spec, err), err, "reading");
    const qn_status status = sieve_create(&spec, &target, &w->terms, err);
    sieve_spec_free(&spec);
    return status;
}

int main(int argc, char **argv) {
    error_context err = {0};
    text_fixture v;
    if (argc < 3) {
        fprintf(stderr, "bench_constraint VOCABULARY.gguf FILE.gbnf|FILE.json|FILE.ini [TOKENS]\n");
        return 2;
    }
    const uint32_t n_steps = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 2000;
    text_fixture_open(argv[1], &v);
    walker w = {.n_tokens = tokenizer_size(v.tok), .random = 1};
    const double begin = seconds();
    if (open_constraint(&w, argv[2], v.tok, &err) < 0) {
        fprintf(stderr, "%s\n", error_text(&err));
        return 1;
    }
    printf("built in %.1f ms; ", (seconds() - begin) * 1e3);
    w.logits = malloc(w.n_tokens * sizeof *w.logits);
    double *times = malloc(n_steps * sizeof *times);
    measure(&w, n_steps, times, &err);
    free(times);
    free(w.logits);
    constraint_destroy(w.c);
    sieve_destroy(w.terms);
    text_fixture_close(&v);
    return 0;
}
