/* test_wal_crash.c — a log cut at every byte of its last unit: what was acknowledged before is there, of the rest nothing, and the writer
 * goes on. */
#include "wal_fixture.h"

/* Nothing is left of what was cut off. */
static void assert_clean(void) {
    wal_set set;
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_STRICT, NULL, NULL, &set, NULL), QN_OK);
    wal_set_close(&set);
}

/* Two commits; then `last` writes one more unit. For each cut the log is opened, and goes on with subject 99. */
typedef void write_fn(wal *log);

static void cut_everywhere(write_fn *last, bool is_shown, const uint64_t *shown, size_t n_shown) {
    wal *log = fixture_open();
    fixture_commit(log, 1);
    fixture_commit(log, 2);
    size_t before, whole;
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s", fixture_last_file());
    free(fixture_read(path, &before));
    last(log);
    wal_close(log);
    uint8_t *bytes = fixture_read(path, &whole);
    assert_true(whole > before);
    for (size_t size = before; size <= whole; size++) {
        uint64_t found[16];
        fixture_write(path, bytes, size);
        log = fixture_open();
        assert_clean();
        fixture_commit(log, 99);
        wal_close(log);
        const size_t n = fixture_subjects(found, 16), n_middle = size == whole && is_shown ? n_shown : 0;
        assert_int_equal(n, 3 + n_middle);
        assert_int_equal(found[0], 1);
        assert_int_equal(found[1], 2);
        for (size_t i = 0; i < n_middle; i++) {
            assert_int_equal(found[2 + i], shown[i]);
        }
        assert_int_equal(found[n - 1], 99);
    }
    free(bytes);
}

static void write_commit(wal *log) {
    wal_begin(log);
    static const char text[] = "http://e.example/spring-tide";
    assert_int_equal(wal_add_term(log, (fmt_str){text, sizeof text - 1}, NULL), QN_OK);
    for (uint64_t i = 10; i < 13; i++) {
        const q42_quin quin = q42_quin_make(i, 2, 3, 4, 5);
        assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    }
    assert_int_equal(wal_commit_unsigned(log, NULL, NULL), QN_OK);
}

static void write_suspend(wal *log) {
    const wal_proposal proposal = {.agreement = 0xA11CE, .proposer = 5, .expires_ms = FIXTURE_START + 1000, .threshold = 2, .n_signers = 2,
                                   .signers = {8, 7}};
    const q42_quin quin = q42_quin_make(10, 2, 3, 4, 5);
    wal_begin(log);
    assert_int_equal(wal_add_quin(log, &quin, NULL), QN_OK);
    assert_int_equal(wal_suspend(log, &proposal, NULL, NULL), QN_OK);
}

static void a_commit_cut_at_any_byte_is_not_there_and_nothing_before_it_is_lost(void **state) {
    (void)state;
    cut_everywhere(write_commit, true, (const uint64_t[]){10, 11, 12}, 3);
}

static void a_suspended_transaction_cut_at_any_byte_is_not_pending(void **state) {
    (void)state;
    cut_everywhere(write_suspend, false, NULL, 0);
}

/* A crash of the machine may leave zeros, or other parts of the write than its beginning. */
static void holes_in_the_last_unit_take_it_away_as_a_whole(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    size_t before, whole;
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s", fixture_last_file());
    free(fixture_read(path, &before));
    write_commit(log);
    wal_close(log);
    uint8_t *bytes = fixture_read(path, &whole), *holed = malloc(whole);
    assert_non_null(holed);
    for (size_t at = before; at < whole; at += 16) {
        memcpy(holed, bytes, whole);
        memset(holed + at, 0, whole - at < 16 ? whole - at : 16);
        if (memcmp(holed, bytes, whole) == 0) {
            continue;
        }
        fixture_write(path, holed, whole);
        log = fixture_open();
        wal_close(log);
        assert_clean();
        assert_subjects(1);
    }
    free(holed);
    free(bytes);
}

static void damage_in_front_of_a_later_unit_is_refused_and_not_a_byte_is_cut(void **state) {
    (void)state;
    wal *log = fixture_open();
    fixture_commit(log, 1);
    fixture_commit(log, 2);
    wal_close(log);
    size_t size, after;
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s", fixture_last_file());
    uint8_t *bytes = fixture_read(path, &size);
    bytes[QWAL_HEADER_BYTES + 40] ^= 1;
    fixture_write(path, bytes, size);
    error_context err = {0};
    assert_int_equal(fixture_try_open(&log, &err), QN_BAD_FILE);
    assert_string_equal(err.rule, "wal-damage");
    uint8_t *now = fixture_read(path, &after);
    assert_int_equal(after, size);
    assert_memory_equal(now, bytes, size);
    free(now);
    free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_commit_cut_at_any_byte_is_not_there_and_nothing_before_it_is_lost),
        TEST(a_suspended_transaction_cut_at_any_byte_is_not_pending),
        TEST(holes_in_the_last_unit_take_it_away_as_a_whole),
        TEST(damage_in_front_of_a_later_unit_is_refused_and_not_a_byte_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
