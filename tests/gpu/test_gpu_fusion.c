/* test_gpu_fusion.c — which ops become one launch, and that two ops in one launch give the bits that they give alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <quoin/glue.h>

#include "lower_rig.h"
#include "op_data.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static float *make_floats(cf_random *random, uint64_t n) {
    float *values = malloc(n * sizeof *values);
    assert_non_null(values);
    op_fill(random, DATA_REAL, false, n, values);
    return values;
}

/* An output that no kernel has written yet. */
static float *make_output(uint64_t n) {
    float *values = malloc(n * sizeof *values);
    assert_non_null(values);
    memset(values, 0xff, n * sizeof *values);
    return values;
}

/* Rows of two ops' outputs, computed alone and together: the same bits. */
static void check_pair(lower_rig *r, uint32_t first, uint32_t second, uint32_t n_tokens, const uint32_t outputs[2]) {
    void *alone[2];
    for (uint32_t i = 0; i < 2; i++) {
        gpu_memory *y = &r->memory[outputs[i]];
        alone[i] = y->host;
        memset(y->host, 0xff, y->bytes);
    }
    lower_rig_run(r, first, n_tokens, 1);
    lower_rig_run(r, second, n_tokens, 1);
    for (uint32_t i = 0; i < 2; i++) {
        gpu_memory *y = &r->memory[outputs[i]];
        y->host = malloc(y->bytes);
        assert_non_null(y->host);
        memset(y->host, 0xff, y->bytes);
    }
    lower_rig_run_pair(r, first, second, n_tokens, 1);
    assert_int_equal(r->n_launches, 1);
    for (uint32_t i = 0; i < 2; i++) {
        gpu_memory *y = &r->memory[outputs[i]];
        assert_memory_equal(y->host, alone[i], y->bytes);
        free(y->host);
        y->host = alone[i];
    }
}

static void a_sum_and_its_norm_together_are_what_they_are_alone(void **state) {
    (void)state;
    static const struct {
        uint32_t n, group;
        int is_weight;
    } cases[] = {{1, 1, 0}, {576, 576, 0}, {60, 15, 1}, {1030, 515, 0}, {128, 128, 1}};
    enum { TOKENS = 3 };
    cf_random random = {.state = 31};
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        const uint32_t n = cases[i / 2].n, group = cases[i / 2].group;
        const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = group, .epsilon = 1e-5f};
        op_program *b = op_program_create();
        const uint32_t x = op_program_add_rows(b, "x", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
        const uint32_t z = cases[i / 2].is_weight ? op_program_add_weight(b, "z", QN_FORMAT_F32, n, 0)
                                                  : op_program_add_rows(b, "z", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
        const uint32_t w = op_program_add_weight(b, "w", QN_FORMAT_F32, group, 0);
        const uint32_t s = op_program_add_rows(b, "s", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
        const uint32_t y = op_program_add_rows(b, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
        op_program_add_op(b, QN_OP_ADD, 0, 2, (const uint32_t[]){x, z}, s, NULL, 0);
        op_program_add_op(b, QN_OP_RMS_NORM, 0, 2, (const uint32_t[]){s, w}, y, &attrs, sizeof attrs);
        float *xs = make_floats(&random, TOKENS * n), *zs = make_floats(&random, TOKENS * n), *ws = make_floats(&random, group);
        float *sums = make_output(TOKENS * n), *ys = make_output(TOKENS * n);
        lower_rig r;
        lower_rig_init(&r, op_program_finish(b));
        r.caps.flags = i % 2 == 1 ? GPU_CAP_ON_CPU : 0;
        lower_rig_set(&r, x, xs, TOKENS * n * 4);
        lower_rig_set(&r, z, zs, (cases[i / 2].is_weight ? 1 : TOKENS) * n * 4);
        lower_rig_set(&r, w, ws, group * 4);
        lower_rig_set(&r, s, sums, TOKENS * n * 4);
        lower_rig_set(&r, y, ys, TOKENS * n * 4);
        check_pair(&r, 0, 1, TOKENS, (const uint32_t[]){s, y});
        lower_rig_deinit(&r);
        op_program_destroy(b);
        void *all[] = {xs, zs, ws, sums, ys};
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            free(all[k]);
        }
    }
}

static void two_ropes_and_two_writes_together_are_what_they_are_alone(void **state) {
    (void)state;
    enum { TOKENS = 5, DIM = 20, Q = 3 * DIM, K = 2 * DIM, V = 2 * 13, CELLS = 9 };
    static int32_t positions[TOKENS] = {0, 1, 7, 300, 100000};
    static uint32_t sequences[TOKENS], cells[TOKENS] = {4, 0, 8, 3, 1}, span_at[2] = {0, 1};
    static const qn_span span = {.n_cells = CELLS};
    static const qn_format formats[] = {QN_FORMAT_F32, QN_FORMAT_F16, QN_FORMAT_BF16};
    cf_random random = {.state = 32};
    float *q = make_floats(&random, TOKENS * Q), *k = make_floats(&random, TOKENS * K), *v = make_floats(&random, TOKENS * V);
    float *yq = make_output(TOKENS * Q), *yk = make_output(TOKENS * K), *ks = make_output(CELLS * K), *vs = make_output(CELLS * V);
    for (uint32_t i = 0; i < 2 * COUNT_OF(formats); i++) {
        qn_rope_attrs attrs = {.size = sizeof attrs, .n_head = 3, .head_dim = DIM, .n_rot = i % 3 == 0 ? DIM : 12,
                               .pairing = i % 2 == 0 ? QN_ROPE_HALF : QN_ROPE_ADJACENT, .base = 10000, .freq_scale = 1, .attn_factor = 1};
        const qn_format format = formats[i % COUNT_OF(formats)];
        op_program *b = op_program_create();
        op_program_add_group(b, 0);
        const uint32_t qi = op_program_add_rows(b, "q", QN_ROLE_INPUT, QN_FORMAT_F32, Q, QN_DIM_TOKENS);
        const uint32_t ki = op_program_add_rows(b, "k", QN_ROLE_INPUT, QN_FORMAT_F32, K, QN_DIM_TOKENS);
        const uint32_t vi = op_program_add_rows(b, "v", QN_ROLE_INPUT, QN_FORMAT_F32, V, QN_DIM_TOKENS);
        const uint32_t yqi = op_program_add_rows(b, "yq", QN_ROLE_OUTPUT, QN_FORMAT_F32, Q, QN_DIM_TOKENS);
        const uint32_t yki = op_program_add_rows(b, "yk", QN_ROLE_OUTPUT, QN_FORMAT_F32, K, QN_DIM_TOKENS);
        const uint32_t ksi = op_program_add_state(b, "ks", format, K, 0), vsi = op_program_add_state(b, "vs", format, V, 0);
        op_program_add_op(b, QN_OP_ROPE, 0, 1, &qi, yqi, &attrs, sizeof attrs);
        attrs.n_head = 2;
        op_program_add_op(b, QN_OP_ROPE, 0, 1, &ki, yki, &attrs, sizeof attrs);
        op_program_add_op(b, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){yki, ksi}, OP_NO_OUTPUT, NULL, 0);
        op_program_add_op(b, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){vi, vsi}, OP_NO_OUTPUT, NULL, 0);
        lower_rig r;
        lower_rig_init(&r, op_program_finish(b));
        lower_rig_set(&r, qi, q, TOKENS * Q * 4);
        lower_rig_set(&r, ki, k, TOKENS * K * 4);
        lower_rig_set(&r, vi, v, TOKENS * V * 4);
        lower_rig_set(&r, yqi, yq, TOKENS * Q * 4);
        lower_rig_set(&r, yki, yk, TOKENS * K * 4);
        lower_rig_set(&r, ksi, ks, gpu_state_row_bytes(format, K) * CELLS);
        lower_rig_set(&r, vsi, vs, gpu_state_row_bytes(format, V) * CELLS);
        lower_rig_place(&r, TOKENS, positions, sequences, cells, 1, &span, 1, span_at);
        check_pair(&r, 0, 1, TOKENS, (const uint32_t[]){yqi, yki});
        check_pair(&r, 2, 3, TOKENS, (const uint32_t[]){ksi, vsi});
        lower_rig_deinit(&r);
        op_program_destroy(b);
    }
    void *all[] = {q, k, v, yq, yk, ks, vs};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        free(all[i]);
    }
}

/* Programs of ops in a line, a letter each. */
static void partners_are_near_and_alike_and_nobody_between_them_needs_the_first(void **state) {
    (void)state;
    static const struct {
        const char *ops;       /* r: ROPE of x; o: another ROPE; s: SCALE of x; u: SCALE of what the first op made */
        uint32_t flags, partner; /* of op 0 */
    } cases[] = {{"rr", 0, 1},    {"rsr", 0, 2},   {"rsssr", 0, 4}, {"rssssr", 0, 0}, {"rur", 0, 0},
                 {"ro", 0, 0},    {"ror", 0, 2},   {"sr", 0, 0},    {"rrr", 0, 1},    {"rr", QN_COMPILE_MATERIALIZE, 0}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        uint32_t partner[8], first = 0;
        const uint32_t n = (uint32_t)strlen(cases[c].ops);
        op_program *b = op_program_create();
        const uint32_t x = op_program_add_rows(b, "x", QN_ROLE_INPUT, QN_FORMAT_F32, 8, QN_DIM_TOKENS);
        for (uint32_t i = 0; i < n; i++) {
            const char op = cases[c].ops[i];
            const qn_rope_attrs rope = {.size = sizeof rope, .n_head = 1, .head_dim = 8, .n_rot = op == 'o' ? 4 : 8, .base = 10000,
                                        .freq_scale = 1, .attn_factor = 1};
            const qn_scale_attrs scale = {.size = sizeof scale, .factor = 2};
            const int is_scale = op == 's' || op == 'u';
            const uint32_t y = op_program_add_rows(b, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, 8, QN_DIM_TOKENS);
            op_program_add_op(b, is_scale ? QN_OP_SCALE : QN_OP_ROPE, 0, 1, op == 'u' ? &first : &x, y,
                              is_scale ? (const void *)&scale : &rope, is_scale ? sizeof scale : sizeof rope);
            first = i == 0 ? y : first;
        }
        gpu_fuse(op_program_finish(b), cases[c].flags, partner);
        if (partner[0] != cases[c].partner) {
            fail_msg("%s: the partner of op 0 is %u, should be %u", cases[c].ops, partner[0], cases[c].partner);
        }
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(partner[partner[i]], i);
        }
        op_program_destroy(b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sum_and_its_norm_together_are_what_they_are_alone),
        cmocka_unit_test(two_ropes_and_two_writes_together_are_what_they_are_alone),
        cmocka_unit_test(partners_are_near_and_alike_and_nobody_between_them_needs_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
