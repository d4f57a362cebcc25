/* test_small_volume.c — volumes that are made in memory: order, repetition, collisions, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text_buffer.h"
#include "convert/small_volume.h"

/* Two texts with one hash, found by walking from hash to hash. */
#define TWIN_A "66iepnphha4x"
#define TWIN_B "eezg6vklz7d2"

static fmt_status take_bytes(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    (void)diag;
    return text_buffer_append(ctx, data, (size_t)size) ? FMT_OK : FMT_NO_SPACE;
}

static fmt_status write_volume(small_volume *volume, text_buffer *out, q42_write_report *report, fmt_diag *diag) {
    const q42_sink sink = {out, take_bytes};
    return small_volume_write(volume, 5, &sink, report, diag);
}

static uint64_t add_term(small_volume *volume, const char *text) {
    uint64_t hash = 0;
    fmt_diag diag;
    assert_int_equal(small_volume_add_term(volume, (fmt_str){text, strlen(text)}, &hash, &diag), FMT_OK);
    assert_int_equal(hash, q42_hash(text, strlen(text)));
    return hash;
}

static void add_quin(small_volume *volume, uint64_t subject, uint64_t object) {
    const q42_quin quin = q42_quin_make(subject, 2, object, 3, 4);
    fmt_diag diag;
    assert_int_equal(small_volume_add_quin(volume, &quin, &diag), FMT_OK);
}

static void order_and_repetition_do_not_change_a_byte(void **state) {
    text_buffer bytes[2] = {{0}};
    (void)state;
    for (unsigned way = 0; way < 2; way++) {
        small_volume volume = {0};
        q42_write_report report;
        fmt_diag diag;
        for (uint64_t i = 0; i < 2000; i++) {
            add_quin(&volume, 7, way == 0 ? i : 1999 - i);
            if (way == 1 && i % 3 == 0) {
                add_quin(&volume, 7, 1999 - i);
            }
        }
        add_term(&volume, way == 0 ? "one" : "two");
        add_term(&volume, way == 0 ? "two" : "one");
        add_term(&volume, "one");
        assert_int_equal(write_volume(&volume, &bytes[way], &report, &diag), FMT_OK);
        assert_int_equal(report.n_quins, 2000);
        assert_int_equal(report.n_terms, 2);
        assert_int_equal(report.n_blocks, 3);
        assert_int_equal(report.bytes, bytes[way].size);
        small_volume_free(&volume);
    }
    assert_int_equal(bytes[0].size, bytes[1].size);
    assert_memory_equal(bytes[0].text, bytes[1].text, bytes[0].size);
    text_buffer_free(&bytes[0]);
    text_buffer_free(&bytes[1]);
}

static void what_is_written_is_a_sound_volume(void **state) {
    static uint8_t room[Q42_BLOCK_BYTES];
    small_volume volume = {0};
    text_buffer bytes = {0};
    q42_write_report report;
    q42_volume opened;
    q42_term term;
    fmt_diag diag;
    (void)state;
    const uint64_t empty = add_term(&volume, ""), word = add_term(&volume, "word");
    add_quin(&volume, word, empty);
    assert_int_equal(write_volume(&volume, &bytes, &report, &diag), FMT_OK);
    const fmt_span span = {(const uint8_t *)bytes.text, bytes.size};
    assert_int_equal(q42_open(span, FMT_MODE_STRICT, &opened, NULL, NULL, &diag), FMT_OK);
    assert_int_equal(q42_lexicon_find(&opened.lexicon, empty, &term, &diag), FMT_OK);
    assert_int_equal(term.text.size, 0);
    assert_int_equal(q42_lexicon_find(&opened.lexicon, word, &term, &diag), FMT_OK);
    assert_memory_equal(term.text.data, "word", 4);
    const q42_pattern pattern = {.bound = Q42_BOUND_SUBJECT, .subject = word};
    q42_scan scan;
    q42_quin quin;
    q42_scan_begin(&scan, &opened, &pattern, room);
    assert_int_equal(q42_scan_next(&scan, &quin, &diag), FMT_OK);
    assert_int_equal(quin.object, empty);
    assert_int_equal(q42_scan_next(&scan, &quin, &diag), FMT_NOT_FOUND);
    text_buffer_free(&bytes);
    small_volume_free(&volume);
}

static void two_texts_with_one_hash_are_refused_by_both_names(void **state) {
    small_volume volume = {0};
    text_buffer bytes = {0};
    q42_write_report report;
    fmt_diag diag;
    (void)state;
    assert_int_equal(add_term(&volume, TWIN_A), add_term(&volume, TWIN_B));
    assert_int_equal(write_volume(&volume, &bytes, &report, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "volume-collision");
    assert_non_null(strstr(diag.text, "\"" TWIN_A "\""));
    assert_non_null(strstr(diag.text, "\"" TWIN_B "\""));
    assert_int_equal(bytes.size, 0);
    small_volume_free(&volume);
}

static void a_term_has_at_most_65535_bytes(void **state) {
    char *text = malloc(Q42_MAX_TERM + 1);
    small_volume volume = {0};
    uint64_t hash;
    fmt_diag diag;
    (void)state;
    memset(text, 'x', Q42_MAX_TERM + 1);
    assert_int_equal(small_volume_add_term(&volume, (fmt_str){text, Q42_MAX_TERM}, &hash, &diag), FMT_OK);
    assert_int_equal(small_volume_add_term(&volume, (fmt_str){text, Q42_MAX_TERM + 1}, &hash, &diag), FMT_LIMIT);
    assert_int_equal(diag.got, Q42_MAX_TERM + 1);
    small_volume_free(&volume);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_and_repetition_do_not_change_a_byte),
        cmocka_unit_test(what_is_written_is_a_sound_volume),
        cmocka_unit_test(two_texts_with_one_hash_are_refused_by_both_names),
        cmocka_unit_test(a_term_has_at_most_65535_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
