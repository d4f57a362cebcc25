/* test_q42_cases.c — every generated volume is accepted, or refused by the rule it was made for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "q42_fixture.h"

/* Case id (or its beginning), the rule that must refuse it, and what the message must say. */
static const struct {
    const char *id, *rule, *quotes;
} expected[] = {
    {"qbad-01", "header.magic", "51 34 33 00"},
    {"qbad-02", "header.version_old", "quoin migrate"},
    {"qbad-04", "section.bounds", "1099511627776 bytes"},
    {"qbad-05", "section.bounds", "18446744073709551600"},
    {"qbad-07", "section.bounds", "block data"},
    {"qbad-08", "header.directory_length", "2 blocks"},
    {"qbad-10", "header.block_size", "4096"},
    {"qbad-11", "header.quins_per_block", "851"},
    {"qdir-01", "directory.offset", "block 0 begins at byte 1000000"},
    {"qdir-03", "directory.decoded_size", "4294967295"},
    {"qdir-04", "directory.size", "3 bytes"},
    {"qlz-01", "blocks.size_word", "4294967295"},
    {"qlz-02", "blocks.size_word", "100 bytes"},
    {"qlz-04", "blocks.lz4", "block 0"},
    {"qlz-05", "blocks.lz4", "distance 0"},
    {"qlz-07", "blocks.lz4", "block 0"},
    {"qlz-08", "blocks.lz4", "block 0"},
    {"qlz-10", "blocks.lz4", "block 0"},
    {"qlz-11", "blocks.lz4", "0 bytes compressed"},
    {"qblk-02", "blocks.parity", "slot 0"},
    {"qblk-03", "blocks.order", "slot 2"},
    {"qblk-05", "blocks.tail", "unused slot 3"},
    {"qlex-02", "lexicon.order", "again"},
    {"qlex-03", "lexicon.keys", "thref"},
    {"qlex-05", "lexicon.entry", "ends at byte"},
    {"qlex-06", "lexicon.count", "1152921504606846976 entries"},
    {"qidx-01", "bidx.range", "block 0"},
    {"qidx-02", "blocks.bidx", "BIDX"},
    {"qidx-04", "bidx.header", "4294967295"},
};

static void check_refused(const test_case *item, fmt_status status, const fmt_diag *diag, uint64_t size) {
    assert_true(status == FMT_BAD_FILE || status == FMT_UNSUPPORTED);
    assert_true(diag->offset <= size);
    assert_null(strchr(diag->text, '\n'));
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (strncmp(item->id, expected[i].id, strlen(expected[i].id)) == 0) {
            assert_string_equal(diag->rule, expected[i].rule);
            assert_non_null(strstr(diag->text, expected[i].quotes));
            return;
        }
    }
    fail_msg("%s: no rule is expected here; the reader said %s", item->id, diag->rule);
}

static void check_case(const test_case *item) {
    const fmt_span span = test_map_file(item->path);
    fmt_diag diag;
    note_log log;
    const fmt_status status = check_all(span, FMT_MODE_DEFAULT, &log, &diag);
    print_message("%s: %s\n", item->id, status == FMT_OK ? "accepted" : diag.text);
    if (strcmp(item->expect, "reject") == 0) {
        check_refused(item, status, &diag, span.size);
    } else {
        assert_int_equal(status, FMT_OK);
    }
    test_unmap_file(span);
}

static bool is_volume(const test_case *item) {
    const size_t n = strlen(item->path);
    return n > 4 && strcmp(item->path + n - 4, ".q42") == 0;
}

static void every_generated_volume_is_accepted_or_refused_by_its_rule(void **state) {
    (void)state;
    test_cases cases;
    cases_make("q42", &cases);
    size_t n = 0;
    for (size_t i = 0; i < cases.count; i++) {
        if (is_volume(&cases.items[i])) {
            check_case(&cases.items[i]);
            n++;
        }
    }
    assert_true(n > 30);
    cases_free(&cases);
}

/* Accepted with a note; the letter of the standard does not. */
static void check_strictness(const test_cases *cases, const char *id, const char *note, fmt_status strictly) {
    for (size_t i = 0; i < cases->count; i++) {
        if (strncmp(cases->items[i].id, id, strlen(id)) == 0) {
            const fmt_span span = test_map_file(cases->items[i].path);
            fmt_diag diag;
            note_log log;
            assert_int_equal(check_all(span, FMT_MODE_DEFAULT, &log, &diag), FMT_OK);
            assert_true(has_note(&log, note));
            assert_int_equal(check_all(span, FMT_MODE_STRICT, &log, &diag), strictly);
            test_unmap_file(span);
            return;
        }
    }
    fail_msg("there is no case %s", id);
}

static void what_the_letter_forbids_is_a_note_by_default(void **state) {
    (void)state;
    test_cases cases;
    cases_make("q42", &cases);
    check_strictness(&cases, "qbad-13", "file.trailing", FMT_BAD_FILE);
    check_strictness(&cases, "qblk-06", "blocks.duplicate", FMT_OK);
    cases_free(&cases);
}

/* A lying index gives an error, never an empty answer. */
static void a_look_up_behind_a_narrow_index_entry_is_an_error(void **state) {
    static uint8_t room[Q42_BLOCK_BYTES];
    (void)state;
    test_cases cases;
    cases_make("q42", &cases);
    for (size_t i = 0; i < cases.count; i++) {
        if (strncmp(cases.items[i].id, "qidx-02", 7) != 0) {
            continue;
        }
        const fmt_span span = test_map_file(cases.items[i].path);
        const uint64_t hidden[] = {q42_hash("\"one\"", 5), q42_hash("\"two\"", 5), q42_hash("\"three\"", 7)};
        q42_volume volume;
        fmt_diag diag;
        assert_int_equal(q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag), FMT_OK);
        for (size_t k = 0; k < 3; k++) {
            const q42_pattern pattern = {.bound = Q42_BOUND_OBJECT, .object = {hidden[k], hidden[k]}};
            q42_scan scan;
            q42_quin quin;
            q42_scan_begin(&scan, &volume, &pattern, room);
            assert_int_equal(q42_scan_next(&scan, &quin, &diag), FMT_BAD_FILE);
            assert_string_equal(diag.rule, "blocks.bidx");
        }
        test_unmap_file(span);
    }
    cases_free(&cases);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generated_volume_is_accepted_or_refused_by_its_rule),
        cmocka_unit_test(what_the_letter_forbids_is_a_note_by_default),
        cmocka_unit_test(a_look_up_behind_a_narrow_index_entry_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
