/* test_program_builder.c — what the builder writes is what the validator of the ABI reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue_program.h>

#include "base/program_builder.h"

enum { WIDTH = 16, HEADS = 2, FF = 32, VOCABULARY = 40 };

/* One layer with every op. */
static qn_status build_layer(qn_program **out) {
    static const qn_rope_attrs rope = {.size = sizeof rope,
                                       .n_head = HEADS,
                                       .head_dim = WIDTH / HEADS,
                                       .n_rot = WIDTH / HEADS,
                                       .pairing = QN_ROPE_HALF,
                                       .base = 10000.0f,
                                       .freq_scale = 1.0f,
                                       .attn_factor = 1.0f};
    static const qn_attention_attrs attention = {.size = sizeof attention, .n_head = HEADS, .n_kv_head = HEADS,
                                                 .head_dim = WIDTH / HEADS, .value_dim = WIDTH / HEADS, .scale = 0.35f};
    program_builder b;
    program_builder_init(&b);
    const uint32_t group = program_cell_group(&b, 0);
    const uint32_t ids = program_index_input(&b, QN_DIM_TOKENS, "ids"),
                   rows = program_index_input(&b, QN_DIM_OUTPUTS, "rows");
    const uint32_t table = program_weight(&b, QN_FORMAT_F32, WIDTH, VOCABULARY, "table");
    const uint32_t square = program_weight(&b, QN_FORMAT_F16, WIDTH, WIDTH, "square");
    const uint32_t up = program_weight(&b, QN_FORMAT_Q8_0, 32, FF, "up"),
                   gain = program_weight(&b, QN_FORMAT_F32, WIDTH, 1, "gain");
    const uint32_t head_gain = program_weight(&b, QN_FORMAT_F32, WIDTH / HEADS, 1, "head gain");
    const uint32_t bias = program_weight(&b, QN_FORMAT_F32, WIDTH, 1, "bias");
    const uint32_t wide = program_weight(&b, QN_FORMAT_F32, WIDTH, 32, "wide"),
                   down = program_weight(&b, QN_FORMAT_F32, FF, WIDTH, "down");
    const uint32_t k_state = program_state(&b, QN_FORMAT_F16, WIDTH, group, "k"),
                   v_state = program_state(&b, QN_FORMAT_F16, WIDTH, group, "v");
    uint32_t x = program_scale(&b, program_embed(&b, table, ids), 4.0f);
    program_begin_layer(&b, 0);
    const uint32_t normed = program_rms_norm(&b, x, gain, 1e-5f);
    const uint32_t q = program_rope(
        &b, program_rms_norm(&b, program_matmul(&b, square, normed, bias), head_gain, 1e-5f), PROGRAM_NO_BUFFER, &rope);
    program_state_write(&b, q, k_state);
    program_state_write(&b, normed, v_state);
    x = program_add(&b, x, program_attention(&b, q, k_state, v_state, &attention));
    const uint32_t middle = program_matmul(&b, up, program_matmul(&b, wide, x, PROGRAM_NO_BUFFER), PROGRAM_NO_BUFFER);
    x = program_add(&b, x,
                    program_matmul(&b, down, program_gated(&b, middle, middle, QN_GATED_SILU), PROGRAM_NO_BUFFER));
    program_end_layer(&b);
    x = program_matmul(&b, table, program_select_rows(&b, x, rows), PROGRAM_NO_BUFFER);
    x = program_softcap(&b, x, 30.0f);
    assert_int_equal(program_width(&b, x), VOCABULARY);
    program_mark_output(&b, x, "logits");
    const qn_status status = program_builder_finish(&b, out, NULL);
    program_builder_deinit(&b);
    return status;
}

static void a_layer_with_every_op_validates(void **state) {
    (void)state;
    qn_program *program = NULL;
    qn_error invalid = {.size = sizeof invalid, .op = QN_NO_OP};
    assert_int_equal(build_layer(&program), QN_OK);
    if (qn_program_validate(program, program->total_bytes, &invalid) != QN_OK) {
        fail_msg("%s", invalid.text);
    }
    free(program);
}

static void ops_know_their_layer_and_the_last_one_ends_it(void **state) {
    (void)state;
    qn_program *program = NULL;
    uint32_t n_in_layer = 0, n_ends = 0;
    assert_int_equal(build_layer(&program), QN_OK);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        n_in_layer += op->layer == 0;
        if ((op->flags & QN_OP_LAYER_END) != 0) {
            n_ends++;
            assert_int_equal(op->layer, 0);
            assert_int_equal(op->op, QN_OP_ADD);
            assert_int_equal(qn_program_op(program, i + 1)->layer, QN_NO_LAYER);
        }
    }
    assert_int_equal(n_ends, 1);
    assert_int_equal(n_in_layer, 13);
    free(program);
}

static void the_output_is_named_and_behind_the_outputs_symbol(void **state) {
    (void)state;
    qn_program *program = NULL;
    uint32_t n_outputs = 0;
    assert_int_equal(build_layer(&program), QN_OK);
    for (uint32_t i = 0; i < program->n_buffers; i++) {
        const qn_buffer *buffer = qn_program_buffer(program, i);
        if (buffer->role == QN_ROLE_OUTPUT) {
            n_outputs++;
            assert_int_equal(buffer->symbols[1], QN_DIM_OUTPUTS);
            assert_string_equal(qn_program_name(program, buffer), "logits");
        }
    }
    assert_int_equal(n_outputs, 1);
    free(program);
}

static void the_same_calls_give_the_same_bytes(void **state) {
    (void)state;
    qn_program *one = NULL, *two = NULL;
    assert_int_equal(build_layer(&one), QN_OK);
    assert_int_equal(build_layer(&two), QN_OK);
    assert_int_equal(one->total_bytes, two->total_bytes);
    assert_memory_equal(one, two, one->total_bytes);
    free(one);
    free(two);
}

static void a_failed_builder_tells_its_first_reason_and_makes_nothing(void **state) {
    (void)state;
    program_builder b;
    qn_program *program = NULL;
    error_context err = {0};
    program_builder_init(&b);
    const uint32_t ids = program_index_input(&b, QN_DIM_TOKENS, "ids");
    b.failure = "out of memory for the decode program"; /* as an allocation that fails leaves it */
    program_embed(&b, program_weight(&b, QN_FORMAT_F32, WIDTH, VOCABULARY, "table"), ids);
    program_begin_layer(&b, 0);
    program_end_layer(&b);
    assert_int_equal(program_builder_finish(&b, &program, &err), QN_NO_HOST_MEM);
    assert_string_equal(error_text(&err), "out of memory for the decode program");
    assert_null(program);
    program_builder_deinit(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_with_every_op_validates),
        cmocka_unit_test(ops_know_their_layer_and_the_last_one_ends_it),
        cmocka_unit_test(the_output_is_named_and_behind_the_outputs_symbol),
        cmocka_unit_test(the_same_calls_give_the_same_bytes),
        cmocka_unit_test(a_failed_builder_tells_its_first_reason_and_makes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
