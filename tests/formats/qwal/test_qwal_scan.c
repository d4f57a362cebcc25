/* test_qwal_scan.c — where a log ends: cuts, broken bytes, gaps and damage. */
#include "qwal_builder.h"

#include <stdio.h>

typedef struct notes {
    uint32_t n;
    char rule[32];
} notes;

static void count_note(void *ctx, const fmt_diag *note) {
    notes *n = ctx;
    n->n++;
    snprintf(n->rule, sizeof n->rule, "%s", note->rule);
}

static fmt_status open_log(const log_builder *b, fmt_mode mode, qwal_log *log, notes *told, fmt_diag *diag) {
    *told = (notes){0};
    return qwal_open(built(b), mode, log, count_note, told, diag);
}

static log_builder three_units(uint64_t ends[3]) {
    log_builder b;
    const q42_quin quins[2] = {q42_quin_make(1, 2, 3, 4, 5), q42_quin_make(6, 7, 8, 9, 10)};
    build_start(&b, NULL, 1, 1);
    build_term(&b, "http://e.example/tide");
    build_quins(&b, quins, 2);
    build_commit(&b, QWAL_UNSIGNED, 0);
    ends[0] = b.size;
    build_unit(&b, 11);
    ends[1] = b.size;
    build_term(&b, "a");
    build_quins(&b, quins, 1);
    build_commit(&b, QWAL_UNSIGNED, 0);
    ends[2] = b.size;
    return b;
}

static void wherever_a_log_is_cut_the_whole_units_stay(void **state) {
    (void)state;
    uint64_t ends[3];
    log_builder b = three_units(ends);
    for (b.size = QWAL_HEADER_BYTES; b.size <= ends[2]; b.size++) {
        qwal_log log;
        notes told;
        fmt_diag diag;
        uint32_t n = 0;
        while (n < 3 && ends[n] <= b.size) {
            n++;
        }
        const uint64_t end = n == 0 ? QWAL_HEADER_BYTES : ends[n - 1];
        assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
        assert_int_equal(log.end, end);
        assert_int_equal(log.n_commits, n);
        assert_int_equal(log.n_torn_bytes, b.size - end);
        assert_int_equal(told.n, b.size == end ? 0 : 1);
        assert_int_equal(open_log(&b, FMT_MODE_STRICT, &log, &told, &diag), b.size == end ? FMT_OK : FMT_BAD_FILE);
    }
}

/* A crash may leave zeros where a write was on its way. */
static void zeros_from_any_byte_of_the_last_unit_on_end_the_log_before_it(void **state) {
    (void)state;
    uint64_t ends[3];
    const log_builder whole = three_units(ends);
    for (uint64_t at = ends[1]; at < ends[2] - 8; at++) {
        log_builder b = whole;
        qwal_log log;
        notes told;
        fmt_diag diag;
        memset(b.bytes + at, 0, ends[2] - at);
        if (memcmp(b.bytes, whole.bytes, whole.size) == 0) {
            continue;
        }
        assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
        assert_int_equal(log.end, ends[1]);
    }
}

static void a_changed_byte_in_the_last_unit_is_what_a_crash_leaves(void **state) {
    (void)state;
    uint64_t ends[3];
    const log_builder whole = three_units(ends);
    for (uint64_t at = ends[1]; at < ends[1] + QWAL_RECORD_BYTES + 13; at++) {
        log_builder b = whole;
        qwal_log log;
        notes told;
        fmt_diag diag;
        b.bytes[at] ^= 0x40;
        assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
        assert_int_equal(log.end, ends[1]);
        assert_int_equal(log.n_commits, 2);
    }
}

static void a_changed_byte_in_front_of_a_later_unit_is_damage_and_nothing_is_given_up(void **state) {
    (void)state;
    uint64_t ends[3];
    const log_builder whole = three_units(ends);
    for (uint64_t at = QWAL_HEADER_BYTES; at < ends[1]; at++) {
        log_builder b = whole;
        qwal_log log;
        notes told;
        fmt_diag diag = {.rule = ""};
        b.bytes[at] ^= 0x40;
        assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_BAD_FILE);
        const bool is_padding = strcmp(diag.rule, "wal-padding") == 0; /* the one thing without a checksum */
        assert_true(is_padding || strcmp(diag.rule, "wal-damage") == 0);
    }
}

static void a_unit_that_was_lost_is_damage(void **state) {
    (void)state;
    uint64_t ends[3];
    log_builder b = three_units(ends);
    qwal_log log;
    notes told;
    fmt_diag diag;
    memmove(b.bytes + ends[0], b.bytes + ends[1], ends[2] - ends[1]);
    b.size -= ends[1] - ends[0];
    assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "wal-damage");
    assert_int_equal(diag.offset, ends[0]);
    assert_non_null(strstr(diag.text, "wal-sequence"));
}

static void a_unit_that_stands_twice_ends_the_log(void **state) {
    (void)state;
    uint64_t ends[3];
    log_builder b = three_units(ends);
    qwal_log log;
    notes told;
    fmt_diag diag;
    b.size = ends[1];
    memcpy(b.bytes + b.size, b.bytes + ends[0], ends[1] - ends[0]);
    b.size += ends[1] - ends[0];
    assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
    assert_int_equal(log.end, ends[1]);
    assert_string_equal(told.rule, "wal-sequence");
}

static void a_log_that_goes_on_behind_another_begins_with_any_sequence(void **state) {
    (void)state;
    log_builder b;
    qwal_log log;
    notes told;
    fmt_diag diag;
    build_start(&b, "volume", 4000, 77);
    build_unit(&b, 1);
    const uint64_t end = b.size;
    build_unit(&b, 2);
    b.bytes[b.size - 1] ^= 1;
    assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
    assert_int_equal(log.first_sequence, 4000);
    assert_int_equal(log.last_sequence, 4001);
    assert_int_equal(log.last_transaction, 77);
    assert_int_equal(log.end, end);
}

static void the_walk_gives_every_record_of_whole_units(void **state) {
    (void)state;
    uint64_t ends[3];
    log_builder b = three_units(ends);
    static const qwal_type wanted[] = {QWAL_TERM, QWAL_QUINS, QWAL_COMMIT, QWAL_QUINS, QWAL_COMMIT};
    qwal_log log;
    notes told;
    fmt_diag diag;
    qwal_walk walk = {0};
    qwal_record record;
    b.size = ends[2] - 1;
    assert_int_equal(open_log(&b, FMT_MODE_DEFAULT, &log, &told, &diag), FMT_OK);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(qwal_next(&log, &walk, &record));
        assert_int_equal(record.type, wanted[i]);
        assert_int_equal(record.sequence, i + 1);
    }
    assert_false(qwal_next(&log, &walk, &record));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wherever_a_log_is_cut_the_whole_units_stay),
        cmocka_unit_test(zeros_from_any_byte_of_the_last_unit_on_end_the_log_before_it),
        cmocka_unit_test(a_changed_byte_in_the_last_unit_is_what_a_crash_leaves),
        cmocka_unit_test(a_changed_byte_in_front_of_a_later_unit_is_damage_and_nothing_is_given_up),
        cmocka_unit_test(a_unit_that_was_lost_is_damage),
        cmocka_unit_test(a_unit_that_stands_twice_ends_the_log),
        cmocka_unit_test(a_log_that_goes_on_behind_another_begins_with_any_sequence),
        cmocka_unit_test(the_walk_gives_every_record_of_whole_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
