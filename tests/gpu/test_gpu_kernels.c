/* test_gpu_kernels.c — every op, lowered and run in the emulator, keeps the bound of its sheet; also on devices with small bindings
 * and short grids. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "cells.h"
#include "emulator.h"
#include "lower_rig.h"
#include "op_data.h"
#include "test_stack.h"
#include "oracle.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static float *make_floats(cf_random *random, uint64_t n) {
    float *values = malloc(n * sizeof *values);
    assert_non_null(values);
    op_fill(random, DATA_REAL, false, n, values);
    return values;
}

static double *make_doubles(uint64_t n) {
    double *values = malloc(n * sizeof *values);
    assert_non_null(values);
    return values;
}

/* An output that no kernel has written yet. */
static float *make_output(uint64_t n) {
    float *values = malloc(n * sizeof *values);
    assert_non_null(values);
    memset(values, 0xff, n * sizeof *values);
    return values;
}

/* Kernels load whole words: the weight's bytes with room behind them. */
static void *with_whole_words(scratch *memory, const op_weight *weight) {
    void *bytes = scratch_take(test_context(), memory, weight->n_bytes + 4, 1);
    memcpy(bytes, weight->bytes, weight->n_bytes);
    return bytes;
}

static void compare(const char *label, const float *got, const double *want, const double *bound, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= bound[i])) {
            fail_msg("%s: element %llu is %.9g, should be %.9g within %.3g", label, (unsigned long long)i, (double)got[i], want[i], bound[i]);
        }
    }
}

/* --- MATMUL and EMBED ------------------------------------------------------------------------------------------------- */

typedef struct matmul_case {
    uint32_t n, k, t;
    int has_bias;
    uint64_t max_binding_bytes; /* 0: plenty */
    uint32_t max_grid;          /* 0: plenty */
    uint32_t flags;             /* of caps */
    uint32_t numeric;           /* 0: F32ACC */
    uint32_t subgroup;          /* that lowering expects; 0: 32 */
    uint32_t true_subgroup;     /* that the device has; 0: 32 */
} matmul_case;

static void check_matmul(qn_format format, const matmul_case *c) {
    cf_random random = {.state = ((uint64_t)format << 32) + c->k * 1000 + c->t};
    const uint64_t first = format == QN_FORMAT_TERNARY ? 3 : 0;
    op_program *builder = op_program_create();
    const uint32_t w = op_program_add_weight(builder, "w", format, c->k, c->n);
    const uint32_t x = op_program_add_rows(builder, "x", QN_ROLE_INPUT, QN_FORMAT_F32, c->k, QN_DIM_TOKENS);
    const uint32_t bias = op_program_add_weight(builder, "bias", QN_FORMAT_F32, c->n, 0);
    const uint32_t y = op_program_add_rows(builder, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, c->n, QN_DIM_TOKENS);
    op_program_add_op(builder, QN_OP_MATMUL, 0, c->has_bias ? 3 : 2, (const uint32_t[]){w, x, bias}, y, NULL, 0);
    scratch memory = {NULL};
    op_weight weight = op_weight_make(test_context(), &memory, &random, format, DATA_REAL, first, (uint64_t)c->n * c->k);
    float *xs = make_floats(&random, (uint64_t)c->t * c->k), *biases = make_floats(&random, c->n);
    float *ys = make_output((uint64_t)c->t * c->n);
    double *want = make_doubles((uint64_t)c->t * c->n), *bound = make_doubles((uint64_t)c->t * c->n);
    weight.bytes = with_whole_words(&memory, &weight);
    oracle_matmul(weight.values, xs, c->has_bias ? biases : NULL, c->t, c->n, c->k, c->numeric == QN_NUMERIC_ACT8, want, bound);
    lower_rig r;
    lower_rig_init(&r, op_program_finish(builder));
    r.caps.max_binding_bytes = c->max_binding_bytes != 0 ? c->max_binding_bytes : r.caps.max_binding_bytes;
    r.caps.flags = c->flags;
    r.caps.subgroup = c->subgroup != 0 ? c->subgroup : 32;
    r.subgroup = c->true_subgroup;
    r.numeric = c->numeric != 0 ? c->numeric : r.numeric;
    r.caps.max_grid[0] = c->max_grid != 0 ? c->max_grid : r.caps.max_grid[0];
    lower_rig_set(&r, w, weight.bytes, weight.n_bytes);
    r.first_element[w] = first;
    lower_rig_set(&r, x, xs, (uint64_t)c->t * c->k * sizeof *xs);
    lower_rig_set(&r, bias, biases, c->n * sizeof *biases);
    lower_rig_set(&r, y, ys, (uint64_t)c->t * c->n * sizeof *ys);
    lower_rig_run(&r, 0, c->t, 1);
    char label[80];
    snprintf(label, sizeof label, "matmul %s n %u k %u t %u", qn_format_name(format), c->n, c->k, c->t);
    compare(label, ys, want, bound, (uint64_t)c->t * c->n);
    if (c->max_binding_bytes != 0) {
        assert_true(r.n_launches > 1);
    }
    lower_rig_deinit(&r);
    op_program_destroy(builder);
    scratch_free(&memory);
    free(xs);
    free(biases);
    free(ys);
    free(want);
    free(bound);
}

static int is_any_length(qn_format format) {
    return qn_format_find(format)->block_elems == 1 || format == QN_FORMAT_TERNARY;
}

static void matmul_keeps_its_bound_in_every_format_and_by_every_kernel(void **state) {
    (void)state;
    static const uint32_t tokens[] = {1, 2, 3, 5, 8, 33, 40};
    static const uint32_t rows[] = {1, 5, 33, 64, 70};
    static const uint32_t any[] = {1, 7, 9, 63, 130};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        for (uint32_t i = 0; i < COUNT_OF(tokens); i++) {
            const uint32_t block = qn_format_find(op_weight_formats[f])->block_elems;
            const matmul_case c = {.n = rows[(i + f) % 5], .t = tokens[i], .has_bias = i % 2 == 0,
                                   .k = is_any_length(op_weight_formats[f]) ? any[(i + f) % 5] : block * (1 + (i + f) % 3)};
            const matmul_case on_cpu = {.n = c.n, .t = c.t, .has_bias = c.has_bias, .k = c.k, .flags = GPU_CAP_ON_CPU};
            check_matmul(op_weight_formats[f], &c);
            check_matmul(op_weight_formats[f], &on_cpu);
            const matmul_case by_subgroups = {.n = c.n, .t = 1 + i % 4, .has_bias = c.has_bias, .k = 256 * 8 * (1 + i % 3),
                                              .flags = GPU_CAP_SUBGROUPS};
            check_matmul(op_weight_formats[f], &by_subgroups);
        }
    }
}

/* Formats that can be multiplied as bytes, and one that cannot. */
static const qn_format byte_formats[] = {QN_FORMAT_Q4_0, QN_FORMAT_Q4_1, QN_FORMAT_Q5_0, QN_FORMAT_Q5_1, QN_FORMAT_Q8_0,
                                         QN_FORMAT_Q4_K, QN_FORMAT_Q5_K, QN_FORMAT_Q6_K, QN_FORMAT_Q4_K_SOA, QN_FORMAT_F16};

static void matmul_on_bytes_keeps_the_bound_of_its_class(void **state) {
    (void)state;
    static const uint32_t tokens[] = {1, 2, 5, 6, 33, 40}, rows[] = {1, 5, 33, 64, 70};
    for (uint32_t f = 0; f < COUNT_OF(byte_formats); f++) {
        for (uint32_t i = 0; i < COUNT_OF(tokens); i++) {
            const uint32_t block = byte_formats[f] == QN_FORMAT_F16 ? 32 : qn_format_find(byte_formats[f])->block_elems;
            const matmul_case c = {.n = rows[(i + f) % 5], .t = tokens[i], .has_bias = i % 2 == 0, .k = block * (1 + (i + f) % 3),
                                   .flags = GPU_CAP_INT_DOT, .numeric = QN_NUMERIC_ACT8};
            const matmul_case by_subgroups = {.n = c.n, .t = 1 + i % 4, .has_bias = c.has_bias, .k = 512 * (1 + i % 3),
                                              .flags = GPU_CAP_INT_DOT | GPU_CAP_SUBGROUPS, .numeric = QN_NUMERIC_ACT8};
            check_matmul(byte_formats[f], &c);
            check_matmul(byte_formats[f], &by_subgroups);
        }
        const matmul_case in_pieces = {.n = 601, .k = 256, .t = 2, .has_bias = 1, .max_binding_bytes = 20000, .flags = GPU_CAP_INT_DOT,
                                       .numeric = QN_NUMERIC_ACT8};
        check_matmul(byte_formats[f], &in_pieces);
    }
}

static void matmul_is_right_whatever_the_length_of_subgroups(void **state) {
    (void)state;
    static const uint32_t lengths[] = {4, 8, 16, 32, 64};
    for (uint32_t i = 0; i < COUNT_OF(lengths) * COUNT_OF(lengths); i++) {
        const matmul_case c = {.n = 37, .k = 1024, .t = 1 + i % 2, .has_bias = 1, .flags = GPU_CAP_SUBGROUPS,
                               .subgroup = lengths[i % COUNT_OF(lengths)], .true_subgroup = lengths[i / COUNT_OF(lengths)]};
        matmul_case on_bytes = c;
        on_bytes.flags |= GPU_CAP_INT_DOT;
        on_bytes.numeric = QN_NUMERIC_ACT8;
        check_matmul(QN_FORMAT_Q4_K, &c);
        check_matmul(QN_FORMAT_F16, &c);
        check_matmul(QN_FORMAT_Q4_0, &on_bytes);
    }
}

/* What quantize.kernel makes of blocks of every size of number, against its definition. */
static void bytes_of_activations_are_the_nearest_and_their_sums_are_theirs(void **state) {
    (void)state;
    enum { BLOCKS = 67 };
    static float x[BLOCKS * 32], y[BLOCKS * 10];
    cf_random random = {.state = 21};
    for (uint32_t b = 0; b < BLOCKS; b++) {
        for (uint32_t i = 0; i < 32; i++) {
            x[b * 32 + i] = b == 0 ? 0 : ldexpf(op_random_signed(&random), 4 * (int)b - 140);
        }
    }
    gpu_memory memories[] = {{sizeof x, x}, {sizeof y, y}};
    const uint32_t group = emu_group(emu_find("quantize"));
    const gpu_launch launch = {.kernel = emu_find("quantize"), .grid = {BLOCKS * 8 / group + 1, 1, 1}, .n_buffers = 2,
                               .buffers = {{&memories[0], 0, sizeof x}, {&memories[1], 0, sizeof y}}, .n_params = 1, .params = {BLOCKS}};
    lower_rig_run_launches(&launch, 1, 0);
    for (uint32_t b = 0; b < BLOCKS; b++) {
        const int8_t *q = (const int8_t *)y + 32 * b;
        const float scale = y[8 * BLOCKS + b];
        float most = 0;
        int sum = 0;
        for (uint32_t i = 0; i < 32; i++) {
            most = fmaxf(most, fabsf(x[b * 32 + i]));
        }
        assert_true(fabs(scale - most / 127.0) <= 0x1p-23 * most / 127 + 0x1p-149);
        for (uint32_t i = 0; i < 32; i++) {
            const double exact = most > 0 ? (double)x[b * 32 + i] * 127 / most : 0;
            assert_true(fabs(q[i] - exact) <= 0.5 + 1e-4);
            sum += q[i];
        }
        assert_true(y[9 * BLOCKS + b] == scale * (float)sum);
    }
}

static void matmul_of_a_weight_longer_than_a_binding_goes_in_pieces(void **state) {
    (void)state;
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const matmul_case few = {.n = 601, .k = 256, .t = 1, .has_bias = 1, .max_binding_bytes = 5000};
        const matmul_case many = {.n = 601, .k = 256, .t = 7, .max_binding_bytes = 20000};
        check_matmul(op_weight_formats[f], &few);
        check_matmul(op_weight_formats[f], &many);
    }
}

static void matmul_with_more_groups_than_the_grid_is_wide_is_folded(void **state) {
    (void)state;
    const matmul_case few = {.n = 301, .k = 64, .t = 2, .max_grid = 7}, many = {.n = 301, .k = 64, .t = 70, .max_grid = 5};
    check_matmul(QN_FORMAT_Q8_0, &few);
    check_matmul(QN_FORMAT_F16, &many);
}

static void embed_of_a_table_longer_than_a_binding_goes_in_pieces(void **state) {
    (void)state;
    enum { ROWS = 200, COLUMNS = 256, TOKENS = 9 };
    static uint32_t ids[TOKENS] = {0, 199, 7, 7, 100, 101, 50, 3, 198};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        cf_random random = {.state = f};
        op_program *builder = op_program_create();
        const uint32_t table = op_program_add_weight(builder, "w", op_weight_formats[f], COLUMNS, ROWS);
        const uint32_t in = op_program_add_rows(builder, "ids", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_TOKENS);
        const uint32_t y = op_program_add_rows(builder, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, COLUMNS, QN_DIM_TOKENS);
        op_program_add_op(builder, QN_OP_EMBED, 0, 2, (const uint32_t[]){table, in}, y, NULL, 0);
        scratch memory = {NULL};
        op_weight weight = op_weight_make(test_context(), &memory, &random, op_weight_formats[f], DATA_REAL, 0, ROWS * COLUMNS);
        weight.bytes = with_whole_words(&memory, &weight);
        float *ys = make_output(TOKENS * COLUMNS);
        lower_rig r;
        lower_rig_init(&r, op_program_finish(builder));
        r.caps.max_binding_bytes = 9300;
        lower_rig_set(&r, table, weight.bytes, weight.n_bytes);
        lower_rig_set(&r, in, ids, sizeof ids);
        lower_rig_set(&r, y, ys, TOKENS * COLUMNS * sizeof *ys);
        lower_rig_run(&r, 0, TOKENS, 1);
        assert_true(r.n_launches > 1);
        for (uint32_t t = 0; t < TOKENS; t++) {
            float row[COLUMNS]; /* its zeros have signs, those of the oracle have none */
            blk_decode(op_weight_formats[f], weight.bytes, (uint64_t)ids[t] * COLUMNS, COLUMNS, row);
            assert_memory_equal(ys + t * COLUMNS, row, sizeof row);
        }
        lower_rig_deinit(&r);
        op_program_destroy(builder);
        scratch_free(&memory);
        free(ys);
    }
}

/* --- Elementwise ------------------------------------------------------------------------------------------------------- */

/* One op of rows x, maybe with a second operand, to y. */
static void run_rows(uint32_t flags, uint32_t op, const void *attrs, uint32_t attrs_bytes, uint32_t n_inputs, float *a, float *b, uint32_t b_columns,
                     int b_is_weight, float *y, uint32_t n, uint32_t t) {
    op_program *builder = op_program_create();
    const uint32_t ai = op_program_add_rows(builder, "a", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    const uint32_t bi = b_is_weight ? op_program_add_weight(builder, "b", QN_FORMAT_F32, b_columns, 0)
                                    : op_program_add_rows(builder, "b", QN_ROLE_INPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    const uint32_t yi = op_program_add_rows(builder, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n, QN_DIM_TOKENS);
    op_program_add_op(builder, op, 0, n_inputs, (const uint32_t[]){ai, bi}, yi, attrs, attrs_bytes);
    lower_rig r;
    lower_rig_init(&r, op_program_finish(builder));
    r.caps.flags = flags;
    lower_rig_set(&r, ai, a, (uint64_t)t * n * 4);
    lower_rig_set(&r, bi, b, b_is_weight ? b_columns * 4 : (uint64_t)t * n * 4);
    lower_rig_set(&r, yi, y, (uint64_t)t * n * 4);
    lower_rig_run(&r, 0, t, 1);
    lower_rig_deinit(&r);
    op_program_destroy(builder);
}

#define N_WIDE 5000u

/* Values of every size from 2^-40 to 2^40, both signs. */
static void fill_wide(cf_random *random, float *values, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        values[i] = ldexpf(op_random_signed(random), (int)cf_random_below(random, 81) - 40);
    }
}

static void gated_and_softcap_keep_their_bounds_for_numbers_of_any_size(void **state) {
    (void)state;
    cf_random random = {.state = 5};
    static float x[N_WIDE], up[N_WIDE], y[N_WIDE];
    static double want[N_WIDE], bound[N_WIDE];
    for (uint32_t turn = 0; turn < 8; turn++) {
        fill_wide(&random, x, N_WIDE);
        for (uint32_t i = 0; turn % 2 == 1 && i < N_WIDE; i++) {
            x[i] = op_random_signed(&random) * 30;
        }
        op_fill(&random, DATA_REAL, false, N_WIDE, up);
        for (uint32_t kind = QN_GATED_SILU; kind <= QN_GATED_GELU_TANH; kind++) {
            const qn_gated_attrs attrs = {.size = sizeof attrs, .kind = kind};
            run_rows(0, QN_OP_GATED, &attrs, sizeof attrs, 2, x, up, 0, 0, y, 1000, 5);
            oracle_gated(x, up, N_WIDE, kind, want, bound);
            compare(kind == QN_GATED_SILU ? "silu" : "gelu", y, want, bound, N_WIDE);
        }
        const qn_softcap_attrs attrs = {.size = sizeof attrs, .cap = turn < 4 ? 30 : 0.7f};
        run_rows(0, QN_OP_SOFTCAP, &attrs, sizeof attrs, 1, x, x, 0, 0, y, 1000, 5);
        oracle_softcap(x, N_WIDE, attrs.cap, want, bound);
        compare("softcap", y, want, bound, N_WIDE);
    }
}

static void add_and_scale_are_exact(void **state) {
    (void)state;
    cf_random random = {.state = 6};
    static float x[N_WIDE], z[N_WIDE], y[N_WIDE];
    fill_wide(&random, x, N_WIDE);
    fill_wide(&random, z, N_WIDE);
    run_rows(0, QN_OP_ADD, NULL, 0, 2, x, z, 0, 0, y, 1000, 5);
    for (uint32_t i = 0; i < N_WIDE; i++) {
        assert_true(y[i] == x[i] + z[i]);
    }
    run_rows(0, QN_OP_ADD, NULL, 0, 2, x, z, 1000, 1, y, 1000, 5);
    for (uint32_t i = 0; i < N_WIDE; i++) {
        assert_true(y[i] == x[i] + z[i % 1000]);
    }
    const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = 0.3f};
    run_rows(0, QN_OP_SCALE, &attrs, sizeof attrs, 1, x, x, 0, 0, y, 1000, 5);
    for (uint32_t i = 0; i < N_WIDE; i++) {
        assert_true(y[i] == x[i] * 0.3f);
    }
}

static void rms_norm_keeps_its_bound_for_groups_of_any_length(void **state) {
    (void)state;
    static const uint32_t groups[] = {1, 2, 31, 64, 100, 128, 257, 2000, 5000};
    cf_random random = {.state = 7};
    static float x[N_WIDE], weight[N_WIDE], y[N_WIDE];
    static double want[N_WIDE], bound[N_WIDE];
    for (uint32_t i = 0; i < COUNT_OF(groups); i++) {
        const qn_rms_norm_attrs attrs = {.size = sizeof attrs, .group = groups[i], .epsilon = 1e-5f};
        const uint32_t t = groups[i] < 1000 ? 3 : 1, n = groups[i] < 1000 ? 2 * groups[i] : groups[i];
        op_fill(&random, DATA_REAL, false, (uint64_t)t * n, x);
        op_fill(&random, DATA_REAL, false, groups[i], weight);
        oracle_rms_norm(x, weight, t, n, &attrs, want, bound);
        run_rows(0, QN_OP_RMS_NORM, &attrs, sizeof attrs, 2, x, weight, groups[i], 1, y, n, t);
        compare("rms_norm", y, want, bound, (uint64_t)t * n);
        memset(y, 0xff, sizeof y);
        run_rows(GPU_CAP_ON_CPU, QN_OP_RMS_NORM, &attrs, sizeof attrs, 2, x, weight, groups[i], 1, y, n, t);
        compare("rms_norm on a processor", y, want, bound, (uint64_t)t * n);
    }
}

/* --- ROPE ---------------------------------------------------------------------------------------------------------------- */

static void rope_keeps_its_bound_at_near_and_far_positions(void **state) {
    (void)state;
    enum { TOKENS = 6, HEADS = 3, DIM = 48, N = HEADS * DIM };
    static int32_t positions[TOKENS] = {0, 1, 77, 4095, 131071, 1048575};
    cf_random random = {.state = 8};
    for (uint32_t turn = 0; turn < 8; turn++) {
        const int has_factors = turn % 4 == 3;
        const qn_rope_attrs attrs = {.size = sizeof attrs, .n_head = HEADS, .head_dim = DIM, .n_rot = turn % 3 == 0 ? 48 : turn % 3 == 1 ? 20 : 2,
                                     .pairing = turn % 2, .n_ctx_orig = 4096, .base = turn < 4 ? 10000 : 500000, .freq_scale = turn == 5 ? 0.25f : 1,
                                     .ext_factor = turn == 6 ? 1 : 0, .attn_factor = turn == 7 ? 1.2f : 1, .beta_fast = 32, .beta_slow = 1};
        float *x = make_floats(&random, TOKENS * N), *y = make_output(TOKENS * N), factors[DIM];
        double *want = make_doubles(TOKENS * N), *bound = make_doubles(TOKENS * N);
        for (uint32_t i = 0; i < DIM; i++) {
            factors[i] = 1.0f + (float)cf_random_below(&random, 40) / 10;
        }
        op_program *builder = op_program_create();
        const uint32_t xi = op_program_add_rows(builder, "x", QN_ROLE_INPUT, QN_FORMAT_F32, N, QN_DIM_TOKENS);
        const uint32_t fi = op_program_add_weight(builder, "factors", QN_FORMAT_F32, attrs.n_rot / 2, 0);
        const uint32_t yi = op_program_add_rows(builder, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, N, QN_DIM_TOKENS);
        op_program_add_op(builder, QN_OP_ROPE, 0, has_factors ? 2 : 1, (const uint32_t[]){xi, fi}, yi, &attrs, sizeof attrs);
        lower_rig r;
        lower_rig_init(&r, op_program_finish(builder));
        r.block.positions = (gpu_binding){.memory = &r.step_memory[0], .bytes = sizeof positions};
        r.step_memory[0] = (gpu_memory){.bytes = sizeof positions, .host = positions};
        r.factors = has_factors ? factors : NULL;
        lower_rig_set(&r, xi, x, TOKENS * N * 4);
        lower_rig_set(&r, fi, factors, sizeof factors);
        lower_rig_set(&r, yi, y, TOKENS * N * 4);
        lower_rig_run(&r, 0, TOKENS, 1);
        oracle_rope(x, has_factors ? factors : NULL, positions, TOKENS, &attrs, want, bound);
        compare("rope", y, want, bound, TOKENS * N);
        lower_rig_deinit(&r);
        op_program_destroy(builder);
        free(x);
        free(y);
        free(want);
        free(bound);
    }
}

/* --- STATE_WRITE and ATTENTION ------------------------------------------------------------------------------------------- */

typedef struct attention_case {
    uint32_t n_head, n_kv_head, head_dim, value_dim, window;
    float softcap;
    qn_format k_format, v_format;
    uint32_t n_positions, n_tokens, order, compute_units;
    uint32_t flags;        /* of caps */
} attention_case;

/* What a state of this format makes of a value. */
static float stored(qn_format format, float value) {
    return format == QN_FORMAT_F16    ? blk_f16_to_f32(blk_f32_to_f16(value))
           : format == QN_FORMAT_BF16 ? blk_bf16_to_f32(blk_f32_to_bf16(value))
                                      : value;
}

/* Writes rows (all positions, by STATE_WRITE) into a state whose other cells are NaN. */
static void write_state(lower_rig *r, uint32_t op, uint32_t x, uint32_t state, float *rows, uint32_t n, uint32_t columns) {
    lower_rig_set(r, x, rows, (uint64_t)n * columns * 4);
    memset(r->memory[state].host, 0xff, r->memory[state].bytes);
    lower_rig_run(r, op, n, 1);
}

static double rounding(qn_format format) {
    return format == QN_FORMAT_F16 ? 0x1p-11 : format == QN_FORMAT_BF16 ? 0x1p-8 : 0;
}

static void check_attention(const attention_case *c) {
    cf_random random = {.state = c->head_dim * 77 + c->n_positions};
    const uint32_t n_q = c->n_head * c->head_dim, n_k = c->n_kv_head * c->head_dim, n_v = c->n_kv_head * c->value_dim,
                   n_y = c->n_head * c->value_dim, n_cells = c->n_positions + 5, n = c->n_positions, first = n - c->n_tokens;
    const qn_attention_attrs attrs = {.size = sizeof attrs, .n_head = c->n_head, .n_kv_head = c->n_kv_head, .head_dim = c->head_dim,
                                      .value_dim = c->value_dim, .window = c->window, .scale = 1 / sqrtf((float)c->head_dim), .softcap = c->softcap};
    op_program *b = op_program_create();
    op_program_add_group(b, 0);
    const uint32_t q = op_program_add_rows(b, "q", QN_ROLE_INPUT, QN_FORMAT_F32, n_q, QN_DIM_TOKENS);
    const uint32_t k = op_program_add_rows(b, "k", QN_ROLE_INPUT, QN_FORMAT_F32, n_k, QN_DIM_TOKENS);
    const uint32_t v = op_program_add_rows(b, "v", QN_ROLE_INPUT, QN_FORMAT_F32, n_v, QN_DIM_TOKENS);
    const uint32_t ks = op_program_add_state(b, "ks", c->k_format, n_k, 0), vs = op_program_add_state(b, "vs", c->v_format, n_v, 0);
    const uint32_t y = op_program_add_rows(b, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, n_y, QN_DIM_TOKENS);
    op_program_add_op(b, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){k, ks}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(b, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){v, vs}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(b, QN_OP_ATTENTION, 0, 3, (const uint32_t[]){q, ks, vs}, y, &attrs, sizeof attrs);
    float *qs = make_floats(&random, (uint64_t)n * n_q), *kr = make_floats(&random, (uint64_t)n * n_k), *vr = make_floats(&random, (uint64_t)n * n_v);
    float *out = make_output((uint64_t)c->n_tokens * n_y);
    int32_t *positions = malloc(n * sizeof *positions);
    uint32_t *sequences = calloc(n, sizeof *sequences);
    const uint64_t k_bytes = gpu_state_row_bytes(c->k_format, n_k) * n_cells, v_bytes = gpu_state_row_bytes(c->v_format, n_v) * n_cells;
    void *k_state = malloc(k_bytes), *v_state = malloc(v_bytes);
    assert_true(positions != NULL && sequences != NULL && k_state != NULL && v_state != NULL);
    for (uint32_t p = 0; p < n; p++) {
        positions[p] = (int32_t)p;
    }
    op_model model;
    cell_map map;
    op_model_init(&model, test_context(), DATA_REAL, n);
    cell_map_init(&map, &model, n_cells, 1, n);
    cell_map_scatter(&map, c->order);
    const qn_placement placed = cell_map_place(&map, n, positions, NULL, true);
    lower_rig r;
    lower_rig_init(&r, op_program_finish(b));
    r.caps.compute_units = c->compute_units;
    r.caps.flags = c->flags;
    lower_rig_set(&r, ks, k_state, k_bytes);
    lower_rig_set(&r, vs, v_state, v_bytes);
    lower_rig_place(&r, n, positions, sequences, placed.cells, placed.n_spans, placed.spans, 1, placed.span_at);
    write_state(&r, 0, k, ks, kr, n, n_k);
    write_state(&r, 1, v, vs, vr, n, n_v);
    for (uint64_t i = 0; i < (uint64_t)n * n_k; i++) {
        kr[i] = stored(c->k_format, kr[i]);
    }
    for (uint64_t i = 0; i < (uint64_t)n * n_v; i++) {
        vr[i] = stored(c->v_format, vr[i]);
    }
    lower_rig_place(&r, c->n_tokens, positions + first, sequences, placed.cells + first, placed.n_spans, placed.spans, 1, placed.span_at);
    lower_rig_set(&r, q, qs + (uint64_t)first * n_q, (uint64_t)c->n_tokens * n_q * 4);
    lower_rig_set(&r, y, out, (uint64_t)c->n_tokens * n_y * 4);
    lower_rig_run(&r, 2, c->n_tokens, 1);
    if (c->flags == 0) {
        assert_int_equal(r.n_launches, c->compute_units > 100 ? 2 : 1);
    }
    double *want = make_doubles(n_y), *bound = make_doubles(n_y);
    const double coarser = rounding(c->k_format) > rounding(c->v_format) ? rounding(c->k_format) : rounding(c->v_format);
    for (uint32_t t = 0; t < c->n_tokens; t++) {
        const uint32_t p = first + t, from = c->window > 0 && p + 1 > c->window ? p + 1 - c->window : 0;
        char label[100];
        snprintf(label, sizeof label, "attention dims %u/%u positions %u token %u", c->head_dim, c->value_dim, n, t);
        oracle_attention(qs + (uint64_t)p * n_q, kr + (uint64_t)from * n_k, vr + (uint64_t)from * n_v, p + 1 - from, &attrs, coarser, 0, want, bound);
        compare(label, out + (uint64_t)t * n_y, want, bound, n_y);
    }
    lower_rig_deinit(&r);
    op_model_free(&model);
    op_program_destroy(b);
    void *all[] = {qs, kr, vr, out, positions, sequences, k_state, v_state, want, bound};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        free(all[i]);
    }
}

static void attention_keeps_its_bound_whole_and_in_shares(void **state) {
    (void)state;
    static const attention_case cases[] = {
        {.n_head = 4, .n_kv_head = 2, .head_dim = 32, .value_dim = 32, .k_format = QN_FORMAT_F16, .v_format = QN_FORMAT_F16, .n_positions = 40, .n_tokens = 3},
        {.n_head = 3, .n_kv_head = 1, .head_dim = 15, .value_dim = 17, .k_format = QN_FORMAT_BF16, .v_format = QN_FORMAT_BF16, .n_positions = 300, .n_tokens = 2, .order = CELLS_SHUFFLED},
        {.n_head = 2, .n_kv_head = 2, .head_dim = 33, .value_dim = 600, .k_format = QN_FORMAT_F32, .v_format = QN_FORMAT_F32, .n_positions = 290, .n_tokens = 2, .order = CELLS_IN_PIECES},
        {.n_head = 2, .n_kv_head = 1, .head_dim = 64, .value_dim = 64, .k_format = QN_FORMAT_F16, .v_format = QN_FORMAT_F32, .n_positions = 1500, .n_tokens = 1, .compute_units = 132},
        {.n_head = 2, .n_kv_head = 1, .head_dim = 64, .value_dim = 128, .k_format = QN_FORMAT_F16, .v_format = QN_FORMAT_F16, .n_positions = 1500, .n_tokens = 2, .compute_units = 132, .order = CELLS_SHUFFLED},
        {.n_head = 2, .n_kv_head = 1, .head_dim = 80, .value_dim = 1, .k_format = QN_FORMAT_F16, .v_format = QN_FORMAT_BF16, .n_positions = 700, .n_tokens = 3, .window = 130, .softcap = 5, .compute_units = 132},
        {.n_head = 1, .n_kv_head = 1, .head_dim = 1, .value_dim = 513, .k_format = QN_FORMAT_BF16, .v_format = QN_FORMAT_BF16, .n_positions = 400, .n_tokens = 1, .compute_units = 132, .order = CELLS_REVERSED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        attention_case c = cases[i];
        c.compute_units = c.compute_units == 0 ? 1 : c.compute_units;
        check_attention(&c);
        c.flags = GPU_CAP_ON_CPU;
        check_attention(&c);
    }
}

/* --- Rows, fill and top-k ------------------------------------------------------------------------------------------------- */

/* Without limits a check can tell no more than that one row is too long. */
static void a_row_that_no_kernel_can_bind_is_refused_by_check(void **state) {
    (void)state;
    static const uint64_t columns[] = {1u << 20, UINT64_C(1) << 30};
    for (uint32_t i = 0; i < COUNT_OF(columns); i++) {
        const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = 2};
        char text[184] = "";
        op_program *b = op_program_create();
        const uint32_t x = op_program_add_rows(b, "x", QN_ROLE_INPUT, QN_FORMAT_F32, (uint32_t)columns[i], QN_DIM_TOKENS);
        const uint32_t y = op_program_add_rows(b, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, (uint32_t)columns[i], QN_DIM_TOKENS);
        op_program_add_op(b, QN_OP_SCALE, 0, 1, &x, y, &attrs, sizeof attrs);
        const gpu_caps caps = {.max_binding_bytes = UINT64_C(1) << 40};
        const int can = gpu_can_lower(&caps, op_program_finish(b), 0, QN_NUMERIC_F32ACC, text);
        assert_int_equal(can, i == 0);
        assert_true(can || strstr(text, "4294967296 bytes; a kernel of this device sees 4294967292") != NULL);
        op_program_destroy(b);
    }
}

static void select_rows_copies_bits(void **state) {
    (void)state;
    enum { N = 301, TOKENS = 5, OUTPUTS = 3 };
    static uint32_t x[TOKENS * N], y[OUTPUTS * N], rows[OUTPUTS] = {4, 0, 4};
    cf_random random = {.state = 9};
    op_program *b = op_program_create();
    const uint32_t xi = op_program_add_rows(b, "x", QN_ROLE_INPUT, QN_FORMAT_F32, N, QN_DIM_TOKENS);
    const uint32_t ri = op_program_add_rows(b, "rows", QN_ROLE_INPUT, QN_FORMAT_I32, 0, QN_DIM_OUTPUTS);
    const uint32_t yi = op_program_add_rows(b, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, N, QN_DIM_OUTPUTS);
    op_program_add_op(b, QN_OP_SELECT_ROWS, 0, 2, (const uint32_t[]){xi, ri}, yi, NULL, 0);
    for (uint32_t i = 0; i < TOKENS * N; i++) {
        x[i] = (uint32_t)cf_random_next(&random); /* NaN and denormals too */
    }
    lower_rig r;
    lower_rig_init(&r, op_program_finish(b));
    lower_rig_set(&r, xi, x, sizeof x);
    lower_rig_set(&r, ri, rows, sizeof rows);
    lower_rig_set(&r, yi, y, sizeof y);
    lower_rig_run(&r, 0, TOKENS, OUTPUTS);
    for (uint32_t o = 0; o < OUTPUTS; o++) {
        assert_memory_equal(y + o * N, x + rows[o] * N, N * 4);
    }
    lower_rig_deinit(&r);
    op_program_destroy(b);
}

static gpu_lowering make_extra(const gpu_caps *caps, gpu_launch *launches, gpu_binding scratch, gpu_binding zero) {
    return (gpu_lowering){.caps = caps, .launches = launches, .room = GPU_MOST_EXTRA, .scratch = scratch, .zero = zero};
}

static void fill_writes_all_words_and_no_more(void **state) {
    (void)state;
    static uint32_t words[1003];
    const gpu_caps caps = {.max_grid = {65535, 65535, 65535}, .max_binding_bytes = 1 << 20};
    gpu_memory memory = {.bytes = sizeof words, .host = words};
    const gpu_binding where = {.memory = &memory, .at = 8, .bytes = 4000}, none = {0};
    gpu_launch launches[GPU_MOST_EXTRA];
    gpu_lowering to = make_extra(&caps, launches, none, none);
    qn_error err = {.size = sizeof err};
    assert_int_equal(gpu_lower_fill(&to, &where, 0xabcdef01u, &err), QN_OK);
    lower_rig_run_launches(launches, to.n_launches, 0);
    for (uint32_t i = 0; i < 1003; i++) {
        assert_int_equal(words[i], i >= 2 && i < 1002 ? 0xabcdef01u : 0);
    }
}

typedef struct ranked {
    float value;
    uint32_t id;
} ranked;

static int compare_ranked(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->value != y->value ? (x->value > y->value ? -1 : 1) : (x->id > y->id) - (x->id < y->id);
}

/* n values of which many are equal and some are not finite. */
static void check_top_k(cf_random *random, uint32_t n, uint32_t n_rows, uint32_t k, uint32_t n_finite) {
    float *logits = malloc((size_t)n * n_rows * 4);
    uint32_t *ids = malloc((size_t)n_rows * k * 4);
    float *values = malloc((size_t)n_rows * k * 4);
    ranked *want = malloc(n * sizeof *want);
    const gpu_caps caps = {.max_grid = {65535, 65535, 65535}, .max_binding_bytes = 1 << 30};
    const uint64_t scratch_bytes = gpu_top_k_bytes(&caps, n, n_rows, k) + 4;
    void *scratch = malloc(scratch_bytes);
    uint32_t zeros[16] = {0};
    assert_true(logits != NULL && ids != NULL && values != NULL && want != NULL && scratch != NULL);
    for (uint64_t i = 0; i < (uint64_t)n * n_rows; i++) {
        logits[i] = i % n >= n_finite ? (i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -INFINITY) : (float)cf_random_below(random, 300) - 200;
    }
    gpu_memory m[] = {{(uint64_t)n * n_rows * 4, logits}, {(uint64_t)n_rows * k * 4, ids}, {(uint64_t)n_rows * k * 4, values}, {scratch_bytes, scratch}, {64, zeros}};
    gpu_binding at[5];
    for (uint32_t i = 0; i < 5; i++) {
        at[i] = (gpu_binding){.memory = &m[i], .bytes = m[i].bytes};
    }
    gpu_launch launches[GPU_MOST_EXTRA];
    gpu_lowering to = make_extra(&caps, launches, at[3], at[4]);
    const gpu_view view = {.at = at[0], .n_columns = n, .n_rows = n_rows, .row_bytes = n * UINT64_C(4)};
    qn_error err = {.size = sizeof err};
    assert_int_equal(gpu_lower_top_k(&to, &view, k, &at[1], &at[2], &err), QN_OK);
    lower_rig_run_launches(launches, to.n_launches, 0);
    for (uint32_t r = 0; r < n_rows; r++) {
        for (uint32_t i = 0; i < n_finite; i++) {
            want[i] = (ranked){logits[(size_t)r * n + i], i};
        }
        qsort(want, n_finite, sizeof *want, compare_ranked);
        for (uint32_t i = 0; i < k; i++) {
            assert_int_equal(ids[r * k + i], i < n_finite ? want[i].id : UINT32_MAX);
            assert_true(i >= n_finite || values[r * k + i] == want[i].value);
        }
    }
    free(logits);
    free(ids);
    free(values);
    free(want);
    free(scratch);
}

static void top_k_finds_the_best_with_ties_by_id_and_passes_over_what_is_not_finite(void **state) {
    (void)state;
    cf_random random = {.state = 10};
    check_top_k(&random, 1, 1, 1, 1);
    check_top_k(&random, 300, 3, 1, 300);
    check_top_k(&random, 2049, 2, 8, 2049);
    check_top_k(&random, 10000, 2, GPU_MAX_TOP_K, 9000);
    check_top_k(&random, 5000, 1, 20, 7);
    check_top_k(&random, 64, 1, GPU_MAX_TOP_K, 64);
    check_top_k(&random, 4100, 1, 5, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_keeps_its_bound_in_every_format_and_by_every_kernel),
        cmocka_unit_test(matmul_on_bytes_keeps_the_bound_of_its_class),
        cmocka_unit_test(matmul_is_right_whatever_the_length_of_subgroups),
        cmocka_unit_test(bytes_of_activations_are_the_nearest_and_their_sums_are_theirs),
        cmocka_unit_test(matmul_of_a_weight_longer_than_a_binding_goes_in_pieces),
        cmocka_unit_test(matmul_with_more_groups_than_the_grid_is_wide_is_folded),
        cmocka_unit_test(embed_of_a_table_longer_than_a_binding_goes_in_pieces),
        cmocka_unit_test(gated_and_softcap_keep_their_bounds_for_numbers_of_any_size),
        cmocka_unit_test(add_and_scale_are_exact),
        cmocka_unit_test(rms_norm_keeps_its_bound_for_groups_of_any_length),
        cmocka_unit_test(rope_keeps_its_bound_at_near_and_far_positions),
        cmocka_unit_test(attention_keeps_its_bound_whole_and_in_shares),
        cmocka_unit_test(a_row_that_no_kernel_can_bind_is_refused_by_check),
        cmocka_unit_test(select_rows_copies_bits),
        cmocka_unit_test(fill_writes_all_words_and_no_more),
        cmocka_unit_test(top_k_finds_the_best_with_ties_by_id_and_passes_over_what_is_not_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
