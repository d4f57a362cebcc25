/* cf_weights_read.c — level 6: weights whose bytes mean anything at all, and weights that end where the memory ends. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "robustness/robustness.h"

/* `bytes` that end where the next page cannot be touched; *out_size is what munmap wants. */
static unsigned char *take_edge(cf_context *ctx, uint64_t bytes, void **out_base, size_t *out_size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (size_t)((bytes + page - 1) / page * page);
    unsigned char *base = mmap(NULL, body + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CF_CHECK(ctx, base != MAP_FAILED && mprotect(base + body, page, PROT_NONE) == 0, "no memory for the test itself");
    *out_base = base;
    *out_size = body + page;
    return base + body - bytes / 4 * 4 - (bytes % 4 != 0 ? 4 : 0); /* a weight is aligned to 4 */
}

typedef struct edges {
    void *bases[SPECIMEN_WEIGHTS];
    size_t sizes[SPECIMEN_WEIGHTS];
} edges;

static void bind_edges(cf_context *ctx, const robust_life *l, qn_prog *prog, edges *e, cf_random *noise) {
    qn_error error;
    for (uint32_t i = 0; i < l->s.n_weights; i++) {
        qn_weight weight = specimen_weight_of(&l->s, i, QN_WEIGHT_BORROW);
        unsigned char *data = take_edge(ctx, weight.bytes, &e->bases[i], &e->sizes[i]);
        for (uint64_t b = 0; b < weight.bytes; b++) {
            data[b] = noise != NULL ? (unsigned char)cf_random_next(noise) : ((const unsigned char *)weight.data)[b];
        }
        weight.data = data;
        (void)mprotect(e->bases[i], e->sizes[i] - (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
        cf_clear(&error);
        cf_done(ctx, "bind_weights", l->on.verbs->bind_weights(prog, &weight, sizeof weight, 1, &error), &error);
    }
    cf_clear(&error);
    cf_done(ctx, "seal", l->on.verbs->seal(prog, &error), &error);
}

static void step_on_edges(cf_context *ctx, robust_life *l, cf_random *noise) {
    edges e = {0};
    qn_prog *prog = specimen_compiled(ctx, &l->on, &l->s, 0);
    bind_edges(ctx, l, prog, &e, noise);
    qn_session *session = specimen_session(ctx, &l->on, prog);
    for (uint32_t i = 0; i < 4; i++) {
        robust_step_done(ctx, l, session, i * 4, i == 3 ? 1 : 4, NULL);
    }
    l->on.verbs->session_free(session);
    l->on.verbs->prog_free(prog);
    for (uint32_t i = 0; i < l->s.n_weights; i++) {
        munmap(e.bases[i], e.sizes[i]);
    }
}

static void weights_are_not_read_beyond_their_end(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    step_on_edges(ctx, &l, NULL);
    robust_end(ctx, &l);
}

static void weights_of_any_bytes_are_survived(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    for (uint32_t i = 0; i < 8; i++) {
        cf_random noise = cf_random_make(ctx, i);
        if (cf_case(ctx, "noise %u", i)) {
            step_on_edges(ctx, &l, &noise);
        }
    }
    robust_end(ctx, &l);
}

static const cf_test tests[] = {
    CF_TEST(weights_are_not_read_beyond_their_end, "W1", CF_MUST_DECODE),
    CF_TEST(weights_of_any_bytes_are_survived, "W1", CF_MUST_DECODE),
};
const cf_suite cf_suite_weights_read = CF_SUITE(6, "weights", tests);
