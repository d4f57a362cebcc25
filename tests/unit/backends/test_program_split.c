/* test_program_split.c — a program of three layers, cut behind each of them: both parts are well formed and nothing is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue_program.h>

#include "backends/program_split.h"
#include "base/program_builder.h"

#define WIDTH 32u
#define LAYERS 3u

/* embed, LAYERS × (norm, matmul, state, add), select, matmul with the table of embed. with_second: layer 0's norm is read in layer 2. */
static qn_program *make_program(bool with_second) {
    program_builder b;
    qn_program *program = NULL;
    program_builder_init(&b);
    program_cell_group(&b, 0);
    const uint32_t ids = program_index_input(&b, QN_DIM_TOKENS, "ids"), rows = program_index_input(&b, QN_DIM_OUTPUTS, "rows");
    const uint32_t table = program_weight(&b, QN_FORMAT_Q8_0, WIDTH, WIDTH, "table");
    uint32_t x = program_embed(&b, table, ids), early = 0;
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        const uint32_t gain = program_weight(&b, QN_FORMAT_F32, WIDTH, 1, "gain");
        const uint32_t w = program_weight(&b, QN_FORMAT_F16, WIDTH, WIDTH, "w");
        const uint32_t state = program_state(&b, QN_FORMAT_F16, WIDTH, 0, "state");
        program_begin_layer(&b, layer);
        const uint32_t h = program_rms_norm(&b, x, gain, 1e-5f);
        early = layer == 0 ? h : early;
        program_state_write(&b, h, state);
        x = program_add(&b, x, program_matmul(&b, w, with_second && layer == 2 ? early : h, PROGRAM_NO_BUFFER));
        program_end_layer(&b);
    }
    const uint32_t logits = program_matmul(&b, table, program_select_rows(&b, x, rows), PROGRAM_NO_BUFFER);
    program_mark_output(&b, logits, "logits");
    assert_int_equal(program_builder_finish(&b, &program, NULL), QN_OK);
    return program;
}

static void check_part(const qn_program *whole, const program_part *part, uint32_t first_op) {
    qn_error err = {.size = sizeof err};
    if (qn_program_validate(part->program, part->program->total_bytes, &err) != QN_OK) {
        fail_msg("%s", err.text);
    }
    for (uint32_t b = 0; b < part->program->n_buffers; b++) {
        const qn_buffer *here = qn_program_buffer(part->program, b), *there = qn_program_buffer(whole, part->whole_of[b]);
        assert_int_equal(part->part_of[part->whole_of[b]], b);
        assert_string_equal(qn_program_name(part->program, here), qn_program_name(whole, there));
        assert_true(here->role == there->role || b == part->hidden);
    }
    for (uint32_t i = 0; i < part->program->n_ops; i++) {
        const qn_op *here = qn_program_op(part->program, i), *there = qn_program_op(whole, first_op + i);
        assert_int_equal(here->op, there->op);
        assert_int_equal(here->layer, there->layer);
        for (uint32_t k = 0; k < here->n_inputs + here->n_outputs; k++) {
            assert_int_equal(part->whole_of[qn_program_operands(part->program, here)[k]], qn_program_operands(whole, there)[k]);
        }
    }
}

static void both_parts_are_well_formed_behind_every_layer(void **state) {
    (void)state;
    qn_program *whole = make_program(false);
    assert_int_equal(program_count_layers(whole), LAYERS);
    for (uint32_t n = 1; n < LAYERS; n++) {
        program_split split;
        assert_int_equal(program_split_at(whole, n, &split, NULL), QN_OK);
        check_part(whole, &split.parts[0], 0);
        check_part(whole, &split.parts[1], split.border);
        assert_int_equal(split.parts[0].program->n_ops + split.parts[1].program->n_ops, whole->n_ops);
        assert_int_equal(split.hidden_width, WIDTH);
        assert_int_equal(qn_program_buffer(split.parts[0].program, split.parts[0].hidden)->role, QN_ROLE_OUTPUT);
        assert_int_equal(qn_program_buffer(split.parts[1].program, split.parts[1].hidden)->role, QN_ROLE_INPUT);
        program_split_deinit(&split);
    }
    free(whole);
}

static void a_weight_that_both_read_is_in_both(void **state) {
    (void)state;
    qn_program *whole = make_program(false);
    program_split split;
    assert_int_equal(program_split_at(whole, 1, &split, NULL), QN_OK);
    for (uint32_t b = 0; b < whole->n_buffers; b++) {
        if (strcmp(qn_program_name(whole, qn_program_buffer(whole, b)), "table") == 0) {
            assert_int_not_equal(split.parts[0].part_of[b], UINT32_MAX);
            assert_int_not_equal(split.parts[1].part_of[b], UINT32_MAX);
        }
    }
    program_split_deinit(&split);
    free(whole);
}

static void a_cut_that_leaves_nothing_is_refused_with_the_number_of_layers(void **state) {
    (void)state;
    qn_program *whole = make_program(false);
    static const uint32_t layers[] = {0, LAYERS, LAYERS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
        program_split split;
        error_context err = {0};
        assert_int_equal(program_split_at(whole, layers[i], &split, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), "has 3 layers: 1 to 2"));
    }
    free(whole);
}

static void a_program_whose_layers_share_more_than_the_hidden_rows_is_refused(void **state) {
    (void)state;
    qn_program *whole = make_program(true);
    program_split split;
    error_context err = {0};
    assert_int_equal(program_split_at(whole, 1, &split, &err), QN_UNSUPPORTED);
    assert_non_null(strstr(error_text(&err), "2 buffers cross"));
    free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_parts_are_well_formed_behind_every_layer),
        cmocka_unit_test(a_weight_that_both_read_is_in_both),
        cmocka_unit_test(a_cut_that_leaves_nothing_is_refused_with_the_number_of_layers),
        cmocka_unit_test(a_program_whose_layers_share_more_than_the_hidden_rows_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
