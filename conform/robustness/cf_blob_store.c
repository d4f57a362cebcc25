/* cf_blob_store.c — level 6: a store that is empty, full, or gives back something else than was put. */
#include <stdlib.h>
#include <string.h>

#include "robustness/robustness.h"

static const char *const mode_names[CF_BLOBS_MODES] = {"keeps", "never finds anything", "is full", "gives half", "gives other bits",
                                                       "gives what nobody put", "is absent"};

/* cf_open, with a store that behaves in this way from the first call on. */
static void open_with(cf_context *ctx, cf_backend *out, uint32_t mode, cf_host *from) {
    qn_error error;
    cf_backend usual;
    cf_open(ctx, &usual, 2);
    memset(out, 0, sizeof *out);
    out->verbs = usual.verbs;
    out->info = usual.info;
    cf_close(ctx, &usual);
    out->host = cf_host_open(2, ctx->features);
    CF_CHECK(ctx, out->host != NULL, "this machine has no memory for the test itself");
    cf_host_set_blobs(out->host, mode);
    if (from != NULL) {
        cf_host_take_blobs(out->host, from);
    }
    cf_clear(&error);
    cf_done(ctx, "start", out->verbs->start(cf_host_services(out->host), ctx->options[CF_AT_START], ctx->n_options[CF_AT_START],
                                            &out->plugin, &error), &error);
    cf_done(ctx, "open", out->verbs->open(out->plugin, out->info.id, ctx->options[CF_AT_OPEN], ctx->n_options[CF_AT_OPEN], &out->device,
                                          &error), &error);
}

/* From compile to a step; fills outputs. */
static void live(cf_context *ctx, robust_life *l, float **outputs) {
    specimen_choose(ctx, &l->on, &l->s);
    l->prog = specimen_sealed(ctx, &l->on, &l->s, QN_COMPILE_DETERMINISTIC);
    l->session = specimen_session(ctx, &l->on, l->prog);
    *outputs = robust_outputs(ctx, l);
    robust_step_done(ctx, l, l->session, 0, 4, *outputs);
    l->on.verbs->session_free(l->session);
    l->on.verbs->prog_free(l->prog);
    l->session = NULL;
    l->prog = NULL;
}

static void require_same(cf_context *ctx, const robust_life *l, const float *a, const float *b) {
    CF_CHECK(ctx, memcmp(a, b, 4 * robust_row(l) * sizeof(float)) == 0, "the outputs are others than with a store that keeps");
}

static void any_blob_store_is_survived(cf_context *ctx) {
    robust_life first = {0};
    float *want;
    open_with(ctx, &first.on, CF_BLOBS_KEEP, NULL);
    live(ctx, &first, &want);
    cf_note(ctx, "%llu blobs were put", (unsigned long long)cf_host_blobs(first.on.host));
    for (uint32_t mode = CF_BLOBS_KEEP; mode < CF_BLOBS_MODES; mode++) {
        robust_life again = {0};
        float *got;
        if (!cf_case(ctx, "a store that %s", mode_names[mode])) {
            continue;
        }
        /* What is there is what an earlier process left; the second life moves it on. */
        open_with(ctx, &again.on, mode, first.on.host);
        live(ctx, &again, &got);
        require_same(ctx, &again, got, want);
        cf_host_take_blobs(first.on.host, again.on.host);
        specimen_deinit(&again.s);
        cf_close(ctx, &again.on);
        free(got);
    }
    free(want);
    specimen_deinit(&first.s);
    cf_close(ctx, &first.on);
}

static const cf_test tests[] = {
    CF_LONG_TEST(any_blob_store_is_survived, "B1", CF_MUST_DECODE, 3),
};
const cf_suite cf_suite_blobs = CF_SUITE(6, "blobs", tests);
