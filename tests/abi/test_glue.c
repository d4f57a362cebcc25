/* test_glue.c — the small helpers of glue.h: the size-first rule, errors, formats; and places for act buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/blocks.h>
#include <quoin/glue_program.h>

#include "test_stack.h"

static void a_short_struct_is_refused_and_a_shorter_own_one_is_filled_up_with_zeros(void **state) {
    qn_limits own;
    qn_limits theirs = {.size = 24, .max_tokens = 5, .cells = {9}};
    (void)state;
    assert_int_equal(qn_copy_in(&own, sizeof own, sizeof own, &theirs), QN_BAD_ARG);
    assert_int_equal(qn_copy_in(&own, sizeof own, 24, &theirs), QN_OK);
    assert_int_equal(own.max_tokens, 5);
    assert_int_equal(own.cells[0], 0);
    assert_int_equal(own.size, sizeof own);
    assert_int_equal(qn_copy_in(&own, sizeof own, 24, NULL), QN_BAD_ARG);
}

static void a_longer_struct_is_accepted_with_a_zero_tail_and_too_new_otherwise(void **state) {
    uint32_t theirs[40] = {0};
    qn_limits own;
    (void)state;
    theirs[0] = sizeof theirs;
    theirs[1] = 7;
    assert_int_equal(qn_copy_in(&own, sizeof own, sizeof own, theirs), QN_OK);
    assert_int_equal(own.max_tokens, 7);
    theirs[39] = 0x01000000;
    assert_int_equal(qn_copy_in(&own, sizeof own, sizeof own, theirs), QN_TOO_NEW);
}

static void a_long_error_text_is_cut_and_terminated(void **state) {
    char text[2 * QN_ERROR_TEXT];
    qn_error error = {.size = sizeof error, .op = QN_NO_OP};
    (void)state;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(qn_fail_op(&error, 12, QN_BUSY, "%s", text), QN_BUSY);
    assert_int_equal(strlen(error.text), QN_ERROR_TEXT - 1);
    assert_int_equal(error.code, QN_BUSY);
    assert_int_equal(error.op, 12);
    assert_int_equal(qn_fail(NULL, QN_DENIED, "nobody listens"), QN_DENIED);
}

/* Names come from files, and a text may be cut anywhere. */
static void an_error_text_is_utf8_whatever_it_quotes(void **state) {
    static const struct {
        const char *name, *wanted;
    } rows[] = {{"plain", "plain"},
                {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"},
                {"\xff\xfe", "??"},
                {"a\x80z", "a?z"},
                {"\xc0\xaf", "??"},                  /* overlong */
                {"\xe0\x9f\xbf", "???"},
                {"\xf0\x8f\xbf\xbf", "????"},
                {"\xed\xa0\x80", "???"},             /* a surrogate */
                {"\xf4\x90\x80\x80", "????"},        /* beyond the last */
                {"\xe2\x82", "??"},                  /* cut off */
                {"\xc3(", "?("}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qn_error error = {.size = sizeof error};
        qn_fail(&error, QN_BAD_ARG, "%s", rows[i].name);
        assert_string_equal(error.text, rows[i].wanted);
        qn_fail_op(&error, 1, QN_BAD_ARG, "%s", rows[i].name);
        assert_string_equal(error.text, rows[i].wanted);
    }
    char text[QN_ERROR_TEXT + 1];
    memset(text, 'x', sizeof text);
    memcpy(text + QN_ERROR_TEXT - 3, "\xe2\x82\xac", 4); /* two bytes of it have room */
    qn_error error = {.size = sizeof error};
    qn_fail(&error, QN_BAD_ARG, "%s", text);
    assert_string_equal(error.text + QN_ERROR_TEXT - 4, "x??");
}

static void formats_say_the_same_as_blocks(void **state) {
    static const qn_format formats[] = {
#define QN_FORMAT(name, number, elems, bytes, kind, layout) number,
#include <quoin/formats.def>
#undef QN_FORMAT
    };
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const qn_format_info *mine = qn_format_find(formats[i]);
        const blk_info *theirs = blk_get_info(formats[i]);
        assert_non_null(mine);
        assert_non_null(theirs);
        assert_int_equal(mine->block_elems, theirs->block_elems);
        assert_int_equal(mine->block_bytes, theirs->block_bytes);
        assert_true(theirs->can_decode);
        uint64_t bytes = 0;
        const uint64_t dims[] = {mine->block_elems * 4, 3};
        assert_int_equal(blk_tensor_bytes(formats[i], 2, dims, &bytes), 0);
        assert_int_equal(qn_format_bytes(formats[i], dims[0] * dims[1]), bytes);
    }
    assert_null(qn_format_find(4711));
    assert_int_equal(qn_format_bytes(4711, 5), 0);
}

/* --- Places for act buffers ------------------------------------------------------------------------------------------- */

typedef struct lifetime {
    uint32_t first, last;
} lifetime;

static lifetime find_lifetime(const qn_program *p, uint32_t buffer) {
    lifetime life = {UINT32_MAX, 0};
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const qn_op *op = qn_program_op(p, i);
        for (uint32_t n = 0; n < op->n_inputs + op->n_outputs; n++) {
            if (qn_program_operands(p, op)[n] == buffer) {
                life.first = life.first == UINT32_MAX ? i : life.first;
                life.last = i;
            }
        }
    }
    return life;
}

/* Sum of all acts; fails when two that live at once share a byte (or, when none may, any two). */
static uint64_t require_places(const qn_program *p, const qn_act_slot *slots, uint64_t arena_bytes, bool is_shared) {
    uint64_t sum = 0;
    for (uint32_t a = 0; a < p->n_buffers; a++) {
        const lifetime life = find_lifetime(p, a);
        const bool is_act = qn_program_buffer(p, a)->role == QN_ROLE_ACT;
        assert_true(is_act == (slots[a].bytes > 0));
        assert_int_equal(slots[a].offset % 64, 0);
        assert_true(slots[a].offset + slots[a].bytes <= arena_bytes);
        sum += slots[a].bytes;
        for (uint32_t b = 0; b < a && is_act; b++) {
            const lifetime other = find_lifetime(p, b);
            const bool is_together = !is_shared || (life.first <= other.last && other.first <= life.last);
            if (slots[b].bytes > 0 && is_together && slots[a].offset < slots[b].offset + slots[b].bytes
                && slots[b].offset < slots[a].offset + slots[a].bytes) {
                fail_msg("buffers %u and %u share bytes", a, b);
            }
        }
    }
    return sum;
}

static void acts_that_live_at_once_never_share_a_byte(void **state) {
    stack s;
    qn_act_slot slots[OP_PROGRAM_ROOM];
    uint64_t shared = 0, apart = 0;
    qn_error error = {.size = sizeof error};
    const qn_limits limits = test_limits(13, 2, 1, 2, 64);
    (void)state;
    test_stack_init(&s);
    const qn_program *const p = s.m.program;
    assert_int_equal(qn_plan_acts(p, &limits, 0, slots, &shared, &error), QN_OK);
    const uint64_t sum = require_places(p, slots, shared, true);
    assert_true(shared < sum / 3);
    assert_int_equal(qn_plan_acts(p, &limits, QN_COMPILE_MATERIALIZE, slots, &apart, &error), QN_OK);
    assert_int_equal(require_places(p, slots, apart, false), apart);
    stack_free(&s);
}

static void acts_that_do_not_fit_are_refused(void **state) {
    op_program *p = op_program_create();
    qn_act_slot slots[4];
    uint64_t bytes = 0;
    qn_error error = {.size = sizeof error};
    const qn_limits limits = test_limits(UINT32_MAX, 1, 1, 0, 0);
    (void)state;
    const uint32_t x = op_program_add_rows(p, "x", QN_ROLE_INPUT, QN_FORMAT_F32, UINT64_C(1) << 40, QN_DIM_TOKENS);
    const uint32_t a = op_program_add_rows(p, "large", QN_ROLE_ACT, QN_FORMAT_F32, UINT64_C(1) << 40, QN_DIM_TOKENS);
    op_program_add_op(p, QN_OP_ADD, 0, 2, (const uint32_t[]){x, x}, a, NULL, 0);
    const qn_program *program = op_program_finish(p);
    assert_int_equal(qn_program_validate(program, program->total_bytes, &error), QN_OK);
    assert_int_equal(qn_plan_acts(program, &limits, 0, slots, &bytes, &error), QN_NO_HOST_MEM);
    assert_non_null(strstr(error.text, "large"));
    op_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_struct_is_refused_and_a_shorter_own_one_is_filled_up_with_zeros),
        cmocka_unit_test(a_longer_struct_is_accepted_with_a_zero_tail_and_too_new_otherwise),
        cmocka_unit_test(a_long_error_text_is_cut_and_terminated),
        cmocka_unit_test(an_error_text_is_utf8_whatever_it_quotes),
        cmocka_unit_test(formats_say_the_same_as_blocks),
        cmocka_unit_test(acts_that_live_at_once_never_share_a_byte),
        cmocka_unit_test(acts_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
