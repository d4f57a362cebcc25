/* test_layout_choice.c — which layout is chosen from which measurements, and what is measured at all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/blocks.h>
#include <quoin/panels.h>

#include "convert/layout_choice.h"

/* -------------------------------------------------------------------------------------------------------- the choice */

/* One class of a million rows, and what an option costs in milliseconds a token, megabytes and seconds to start. */
typedef struct fake_option {
    double ms, megabytes, start_s;
    bool is_refused, is_impossible, is_forbidden;
} fake_option;

typedef struct choice_row {
    const char *what;
    fake_option options[LAYOUT_MOST];
    uint32_t n_options, chosen;
    layout_criterion criterion;
} choice_row;

/* What stands behind the three numbers. */
#define TAKEN .is_refused = false
#define REFUSED .is_refused = true
#define TOO_LARGE .is_impossible = true
#define FORBIDDEN .is_forbidden = true
#define COSTS(ms_, megabytes_, start_, how) {.ms = ms_, .megabytes = megabytes_, .start_s = start_, how}

static const choice_row rows[] = {
    {"three times as fast", {COSTS(30, 100, 1, TAKEN), COSTS(10, 200, 5, TAKEN)}, 2, 1, LAYOUT_BY_SPEED},
    {"faster by more than 3 %", {COSTS(104, 100, 1, TAKEN), COSTS(100, 150, 9, TAKEN)}, 2, 1, LAYOUT_BY_SPEED},
    {"faster by less than 3 %: the smaller file", {COSTS(102, 100, 9, TAKEN), COSTS(100, 111, 1, TAKEN)}, 2, 0, LAYOUT_BY_SIZE},
    {"as fast and larger by less than 3 %: the shorter start", {COSTS(100, 100, 9, TAKEN), COSTS(102, 102, 1, TAKEN)}, 2, 1, LAYOUT_BY_START},
    {"as fast and as long to start: the smaller file again", {COSTS(100, 101, 1, TAKEN), COSTS(100, 100, 1.01, TAKEN)}, 2, 1, LAYOUT_BY_SIZE},
    {"all the same: packed", {COSTS(100, 100, 1, TAKEN), COSTS(100, 100, 1, TAKEN)}, 2, 0, LAYOUT_BY_ORDER},
    {"the fastest is not taken by the device", {COSTS(100, 100, 1, TAKEN), COSTS(10, 100, 0, REFUSED)}, 2, 0, LAYOUT_BY_LACK},
    {"the fastest does not fit into a container", {COSTS(100, 100, 1, TAKEN), COSTS(10, 0, 0, TOO_LARGE)}, 2, 0, LAYOUT_BY_LACK},
    {"nothing was measured", {COSTS(0, 100, 0, REFUSED), COSTS(0, 100, 0, REFUSED)}, 2, 0, LAYOUT_BY_NOTHING},
    {"the fastest changes weights and nobody allowed it",
     {COSTS(100, 100, 5, TAKEN), COSTS(100, 100, 1, TAKEN), COSTS(50, 106, 5, FORBIDDEN), COSTS(50, 106, 1, FORBIDDEN)}, 4, 1, LAYOUT_BY_START},
    {"the fastest changes weights, and that is allowed",
     {COSTS(100, 100, 5, TAKEN), COSTS(100, 100, 1, TAKEN), COSTS(90, 106, 5, TAKEN), COSTS(90, 106, 1, TAKEN)}, 4, 3, LAYOUT_BY_START},
    {"11 % more bytes for nothing",
     {COSTS(100, 100, 5, TAKEN), COSTS(99, 102, 1, TAKEN), COSTS(98, 111, 5, TAKEN), COSTS(98, 111, 1, TAKEN)}, 4, 1, LAYOUT_BY_START},
};

static layout_choice make_choice(const choice_row *row, layout_class *class) {
    layout_choice c = {.n_options = row->n_options, .classes = class, .n_classes = 1};
    *class = (layout_class){.n_rows = 1000000};
    for (uint32_t i = 0; i < row->n_options; i++) {
        const fake_option *o = &row->options[i];
        c.options[i] = (layout_option){.layout = i % 2 == 1 ? P64_LAYOUT_PANEL : P64_LAYOUT_PACKED,
                                       .form = i < 2 ? P64_FORM_KEEP : P64_FORM_Q4_K_SOA,
                                       .is_possible = !o->is_impossible,
                                       .is_allowed = !o->is_forbidden,
                                       .file_bytes = (uint64_t)(o->megabytes * 1e6)};
        class->rates[i] = (layout_rate){.is_run = !o->is_refused, .step_s = o->ms * 1e-9, .start_s = o->start_s * 1e-6};
    }
    return c;
}

static void the_rule_chooses_as_it_is_written(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        layout_class class;
        layout_choice c = make_choice(&rows[i], &class);
        layout_choice_settle(&c);
        if (c.chosen != rows[i].chosen || c.criterion != rows[i].criterion) {
            fail_msg("%s: option %u by criterion %d", rows[i].what, c.chosen, (int)c.criterion);
        }
    }
}

static void the_order_of_measuring_does_not_decide(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        choice_row turned = rows[i];
        layout_class class;
        if (turned.criterion == LAYOUT_BY_ORDER || turned.criterion == LAYOUT_BY_NOTHING) {
            continue;
        }
        for (uint32_t k = 0; k < turned.n_options; k++) {
            turned.options[k] = rows[i].options[turned.n_options - 1 - k];
        }
        layout_choice c = make_choice(&turned, &class);
        layout_choice_settle(&c);
        if (c.chosen != turned.n_options - 1 - rows[i].chosen) {
            fail_msg("%s: option %u when turned around", rows[i].what, c.chosen);
        }
    }
}

static void classes_are_added_up_by_their_rows(void **state) {
    (void)state;
    layout_class classes[2] = {{.n_rows = 1000, .rates = {{.is_run = true, .step_s = 1e-6, .start_s = 1e-3, .copy_bytes = 100}}},
                               {.n_rows = 500, .rates = {{.is_run = true, .step_s = 4e-6, .start_s = 2e-3, .copy_bytes = 10}}}};
    layout_choice c = {.n_options = 1, .classes = classes, .n_classes = 2};
    c.options[0] = (layout_option){.is_possible = true, .is_allowed = true, .file_bytes = 1};
    layout_choice_settle(&c);
    assert_float_equal(c.options[0].ms_per_token, 1.0 + 2.0, 1e-9);
    assert_float_equal(c.options[0].start_s, 1.0 + 1.0, 1e-9);
    assert_float_equal(c.options[0].copy_bytes, 105000.0, 1e-6);
    classes[1].rates[0].is_run = false; /* one class that the device does not take is enough */
    layout_choice_settle(&c);
    assert_false(c.options[0].is_measured);
    assert_int_equal(c.criterion, LAYOUT_BY_NOTHING);
}

static void the_words_say_what_decided_and_what_q4_k_soa_costs(void **state) {
    (void)state;
    layout_class class;
    char text[256];
    choice_row row = {"", {COSTS(100, 100, 5, TAKEN), COSTS(100, 100, 1, TAKEN), COSTS(110, 106.4, 5, TAKEN), COSTS(110, 106.4, 1, TAKEN)}, 4, 1, LAYOUT_BY_START};
    layout_choice c = make_choice(&row, &class);
    layout_choice_settle(&c);
    layout_choice_reason(&c, text, sizeof text);
    assert_string_equal(text, "panel: nothing is faster or smaller by 3 %, and what is as fast takes longer to start");
    layout_choice_soa(&c, text, sizeof text);
    assert_string_equal(text, "q4_k_soa beside Q4_K: +6.4 % bytes of the file, +10.0 % time a token; its bytes cost more than they save");
    row.options[2].ms = row.options[3].ms = 90;
    row.options[2].is_forbidden = row.options[3].is_forbidden = true;
    c = make_choice(&row, &class);
    layout_choice_settle(&c);
    layout_choice_soa(&c, text, sizeof text);
    assert_non_null(strstr(text, "-10.0 % time a token; its bytes pay, but it changes weights"));
    c.n_options = 2;
    layout_choice_soa(&c, text, sizeof text);
    assert_string_equal(text, "");
}

/* ------------------------------------------------------------------------------------------------------- what there is */

typedef struct fake_model {
    p64_source_tensor tensors[8];
    uint32_t n;
    uint64_t end;
} fake_model;

static void add_tensor(fake_model *m, p64_role role, uint32_t type, uint32_t rank, uint64_t width, uint64_t height) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    p64_source_tensor *t = &m->tensors[m->n];
    *t = (p64_source_tensor){.name = {names[m->n], 1}, .role = role, .dtype = type, .rank = rank, .dims = {width, height, 1, 1}, .source_offset = m->end};
    assert_int_equal(blk_tensor_bytes(type, rank, t->dims, &t->bytes), FMT_OK);
    m->end += t->bytes;
    m->n++;
}

static void get_tensor(void *ctx, uint32_t index, p64_source_tensor *out) {
    *out = ((const fake_model *)ctx)->tensors[index];
}

static const uint8_t *get_bytes(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    (void)ctx;
    (void)index;
    (void)offset;
    return memset(room, 0, (size_t)size);
}

static layout_choice plan_choice(fake_model *m, p64_form form, bool may_convert) {
    const p64_source source = {.ctx = m, .hparams = {.n_layer = 1}, .n_tensors = m->n, .get_tensor = get_tensor, .get_bytes = get_bytes};
    const p64_write_options asked = {.form = form, .page_log2 = 8};
    layout_choice c;
    fmt_diag diag;
    if (layout_choice_init(&c, &source, &asked, may_convert, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    return c;
}

/* Q4_K with an embedding that is the output too, and a norm. */
static fake_model make_tied(void) {
    fake_model m = {.n = 0};
    add_tensor(&m, P64_ROLE_TOKEN_EMBD, BLK_Q6_K, 2, 256, 96);
    add_tensor(&m, P64_ROLE_ATTN_Q, BLK_Q4_K, 2, 256, 64);
    add_tensor(&m, P64_ROLE_ATTN_K, BLK_Q4_K, 2, 256, 32);
    add_tensor(&m, P64_ROLE_FFN_DOWN, BLK_Q4_K, 2, 512, 16);
    add_tensor(&m, P64_ROLE_OUTPUT_NORM, BLK_F32, 1, 256, 1);
    return m;
}

static void a_class_is_a_type_and_a_row_length(void **state) {
    (void)state;
    fake_model m = make_tied();
    layout_choice c = plan_choice(&m, P64_FORM_KEEP, false);
    assert_int_equal(c.n_classes, 3);
    assert_int_equal(c.classes[0].types[0], BLK_Q6_K);
    assert_int_equal(c.classes[1].n_tensors, 2);
    assert_int_equal(c.classes[1].n_rows, 96);
    assert_int_equal(c.classes[1].width, 256);
    assert_int_equal(c.classes[1].bytes[0], 96 * 144);
    assert_int_equal(c.classes[1].bytes[2], 96 * 160);
    assert_int_equal(c.classes[2].width, 512);
    layout_choice_free(&c);
}

static void q4_k_soa_is_looked_at_and_taken_only_where_it_is_allowed(void **state) {
    (void)state;
    static const uint32_t types[] = {BLK_Q4_K, BLK_PANEL_DTYPE + BLK_Q4_K, BLK_Q4_K_SOA, BLK_PANEL_DTYPE + BLK_Q4_K_SOA};
    fake_model m = make_tied();
    for (unsigned way = 0; way < 3; way++) {
        const p64_form form = way == 2 ? P64_FORM_Q4_K_SOA : P64_FORM_KEEP;
        layout_choice c = plan_choice(&m, form, way == 1);
        assert_int_equal(c.n_options, 4);
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(c.options[i].is_allowed, i < 2 || way == 1);
            assert_true(c.options[i].is_possible);
            assert_int_equal(c.classes[1].types[i], types[way == 2 ? (i + 2) % 4 : i]);
        }
        assert_true(c.options[way == 2 ? 0 : 2].file_bytes > c.options[way == 2 ? 2 : 0].file_bytes);
        layout_choice_free(&c);
    }
    m.n = 1; /* only the Q6_K */
    layout_choice c = plan_choice(&m, P64_FORM_KEEP, true);
    assert_int_equal(c.n_options, 2);
    layout_choice_free(&c);
}

static void an_embedding_counts_only_when_it_is_the_output_too(void **state) {
    (void)state;
    fake_model m = make_tied();
    add_tensor(&m, P64_ROLE_OUTPUT, BLK_F16, 2, 256, 96);
    layout_choice c = plan_choice(&m, P64_FORM_KEEP, false);
    for (uint32_t i = 0; i < c.n_classes; i++) {
        assert_int_not_equal(c.classes[i].types[0], BLK_Q6_K);
    }
    assert_int_equal(c.classes[c.n_classes - 1].types[1], BLK_F16); /* no panels, the same in each layout */
    layout_choice_free(&c);
}

static void other_forms_are_measured_as_they_are_asked_for(void **state) {
    (void)state;
    fake_model m = make_tied();
    layout_choice c = plan_choice(&m, P64_FORM_FFN_Q4_0, false);
    assert_int_equal(c.n_options, 2);
    assert_int_equal(c.classes[2].types[0], BLK_Q4_0);
    assert_int_equal(c.classes[2].types[1], BLK_PANEL_DTYPE + BLK_Q4_0);
    layout_choice_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_chooses_as_it_is_written),
        cmocka_unit_test(the_order_of_measuring_does_not_decide),
        cmocka_unit_test(classes_are_added_up_by_their_rows),
        cmocka_unit_test(the_words_say_what_decided_and_what_q4_k_soa_costs),
        cmocka_unit_test(a_class_is_a_type_and_a_row_length),
        cmocka_unit_test(q4_k_soa_is_looked_at_and_taken_only_where_it_is_allowed),
        cmocka_unit_test(an_embedding_counts_only_when_it_is_the_output_too),
        cmocka_unit_test(other_forms_are_measured_as_they_are_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
