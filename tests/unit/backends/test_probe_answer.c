/* test_probe_answer.c — the text of a probe: written, read again, and broken in every way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/probe_answer.h"

static probe_answer make_answer(void) {
    probe_answer made = {.version = "1.2", .licence = "MIT", .changed = "umask", .n_devices = 2};
    made.devices[0] = (probe_device){.info = {.size = sizeof(qn_device_info), .device_class = QN_DEVICE_GPU, .numeric = 3,
                                              .id = "0000:65:00.0", .name = "A card", .driver = "9.1", .memory_total = UINT64_MAX},
                                     .is_tried = true,
                                     .is_measured = true,
                                     .step_ns = 12,
                                     .op_ns = 3,
                                     .kv_bytes_per_s = 4000000000,
                                     .rates = {{QN_FORMAT_Q8_0, 5000}, {QN_FORMAT_F16, 0}},
                                     .n_rates = 2};
    made.devices[1] = (probe_device){.info = {.size = sizeof(qn_device_info), .flags = QN_DEVICE_SOFTWARE, .id = "soft"},
                                     .end = {QN_CORRUPT, "known answer", "logit 3 is 1 = wrong"}};
    return made;
}

static text_buffer write_answer(const probe_answer *answer) {
    text_buffer text = {0};
    assert_true(probe_answer_write_begin(&text) && probe_answer_write_stage(&text, "load") &&
                probe_answer_write_facts(&text, answer) && probe_answer_write_end(&text));
    return text;
}

static void what_is_written_is_read_again(void **state) {
    (void)state;
    const probe_answer wanted = make_answer();
    text_buffer text = write_answer(&wanted);
    probe_answer got;
    assert_true(probe_answer_read(text.text, text.size, &got));
    assert_memory_equal(&got, &wanted, sizeof got);
    assert_int_equal(probe_device_rate(&got.devices[0], QN_FORMAT_Q8_0)->bytes_per_s, 5000);
    assert_null(probe_device_rate(&got.devices[0], QN_FORMAT_Q4_0));
    text_buffer_free(&text);
}

static void no_beginning_of_an_answer_counts(void **state) {
    (void)state;
    const probe_answer wanted = make_answer();
    text_buffer text = write_answer(&wanted);
    for (size_t size = 0; size < text.size; size++) {
        probe_answer got;
        assert_false(probe_answer_read(text.text, size, &got));
    }
    text_buffer_free(&text);
}

static void words_of_a_plugin_stay_one_line(void **state) {
    (void)state;
    probe_answer answer = make_answer(), got;
    snprintf(answer.end.reason, sizeof answer.end.reason, "one\nend\n\033[31mred");
    text_buffer text = write_answer(&answer);
    assert_true(probe_answer_read(text.text, text.size, &got));
    assert_string_equal(got.end.reason, "one end  [31mred");
    text_buffer_free(&text);
}

static void an_answer_with_something_unknown_or_impossible_is_void(void **state) {
    (void)state;
    static const char *const lines[] = {"colour = red\n", "no equals sign\n", "status = x\n", "status = -\n",
                                        "status = 99999999999\n", "device.class = 1\n", "rate = 1 1\n", "status =\n",
                                        "device = d\nrate = 1\n", "device = d\nrate = 1 99999999999999999999\n",
                                        "device = d\ndevice.tried = 2\n", "device = d\ndevice.class = 4294967296\n"};
    char long_line[1300];
    memset(long_line, 'x', sizeof long_line);
    for (size_t i = 0; i <= sizeof lines / sizeof lines[0]; i++) {
        text_buffer text = {0};
        probe_answer got;
        assert_true(probe_answer_write_begin(&text));
        if (i < sizeof lines / sizeof lines[0]) {
            assert_true(text_buffer_append(&text, lines[i], strlen(lines[i])));
        } else {
            assert_true(text_buffer_append(&text, "version = ", 10) && text_buffer_append(&text, long_line, sizeof long_line) &&
                        text_buffer_append(&text, "\n", 1));
        }
        assert_true(probe_answer_write_end(&text));
        if (probe_answer_read(text.text, text.size, &got)) {
            fail_msg("line %zu was taken", i);
        }
        text_buffer_free(&text);
    }
}

static void more_devices_than_there_is_room_for_are_refused(void **state) {
    (void)state;
    text_buffer text = {0};
    probe_answer got;
    assert_true(probe_answer_write_begin(&text));
    for (int i = 0; i <= PROBE_MAX_DEVICES; i++) {
        assert_true(text_buffer_append(&text, "device = d\n", 11));
    }
    assert_true(probe_answer_write_end(&text));
    assert_false(probe_answer_read(text.text, text.size, &got));
    text_buffer_free(&text);
}

static void an_answer_of_another_build_is_not_believed(void **state) {
    (void)state;
    static const char other[] = "quoin-probe 1 0.0.9 gcc 4\nstatus = 0\nend\n";
    probe_answer got;
    assert_false(probe_answer_is_own(other, sizeof other - 1));
    assert_false(probe_answer_read(other, sizeof other - 1, &got));
}

static void the_last_stage_of_a_broken_answer_is_found(void **state) {
    (void)state;
    char stage[PROBE_STAGE_SIZE];
    probe_answer_last_stage("stage = load\nstage = devices\nstage = op", 39, stage);
    assert_string_equal(stage, "devices");
    probe_answer_last_stage("", 0, stage);
    assert_string_equal(stage, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(no_beginning_of_an_answer_counts),
        cmocka_unit_test(words_of_a_plugin_stay_one_line),
        cmocka_unit_test(an_answer_with_something_unknown_or_impossible_is_void),
        cmocka_unit_test(more_devices_than_there_is_room_for_are_refused),
        cmocka_unit_test(an_answer_of_another_build_is_not_believed),
        cmocka_unit_test(the_last_stage_of_a_broken_answer_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
