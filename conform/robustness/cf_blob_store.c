/* cf_blob_store.c — level 6: a store that is empty, full, or gives back something else than was put. */
#include <stdlib.h>
#include <string.h>

#include "core/cf_blobs.h"
#include "robustness/robustness.h"

static const char *const mode_names[CF_BLOBS_MODES] = {"keeps", "never finds anything", "is full", "gives half", "gives other bits",
                                                       "gives what nobody put", "is absent"};

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
    cf_open_with_blobs(ctx, &first.on, 2, CF_BLOBS_NONE);
    live(ctx, &first, &want);
    cf_note(ctx, "%llu blobs were put", (unsigned long long)cf_blobs_count());
    for (uint32_t mode = CF_BLOBS_KEEP; mode < CF_BLOBS_MODES; mode++) {
        robust_life again = {0};
        float *got;
        if (!cf_case(ctx, "a store that %s", mode_names[mode])) {
            continue;
        }
        cf_open_with_blobs(ctx, &again.on, 2, mode);
        live(ctx, &again, &got);
        require_same(ctx, &again, got, want);
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
