/* test_fact.c — ids, tiers, and what makes a fact count. */
#include "ground_fixture.h"

#include "common/endian.h"
#include "common/sha.h"
#include "ground/fact_set.h"

static void an_id_is_the_first_8_bytes_of_the_digest_of_four_words(void **state) {
    (void)state;
    const q42_quin quin = q42_quin_make(1, 2, 3, 4, 99);
    const uint8_t bytes[32] = {1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4};
    uint8_t digest[SHA256_BYTES];
    uint64_t id;
    assert_true(sha256_digest(bytes, sizeof bytes, digest));
    assert_int_equal(fact_make_id(&quin, &id, NULL), QN_OK);
    assert_int_equal(id, load_u64(digest));
    assert_true(id == UINT64_C(0x6dc848b0e200e273)); /* computed elsewhere */
}

static void the_metadata_is_not_part_of_an_id(void **state) {
    (void)state;
    const q42_quin a = q42_quin_make(1, 2, 3, 4, 0), b = q42_quin_make(1, 2, 3, 4, 5), c = q42_quin_make(1, 2, 3, 5, 0);
    uint64_t ids[3];
    assert_int_equal(fact_make_id(&a, &ids[0], NULL) + fact_make_id(&b, &ids[1], NULL) + fact_make_id(&c, &ids[2], NULL), 0);
    assert_true(ids[0] == ids[1] && ids[0] != ids[2]);
}

static void a_tier_is_the_greatest_of_three(void **state) {
    (void)state;
    static const struct {
        uint64_t in_metadata;
        bool is_sanctuary;
        uint32_t least, wanted;
    } rows[] = {{0, false, 0, 0}, {1, false, 0, 1}, {4, false, 0, 4}, {1, false, 3, 3}, {3, false, 1, 3},
                {0, true, 0, 4},  {2, true, 1, 4},  {5, false, 0, 4}, {15, false, 0, 4}, {0, false, 9, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const q42_quin quin = q42_quin_make(1, 2, 3, 0, rows[i].in_metadata << 56 | 12345);
        assert_int_equal(fact_tier(&quin, rows[i].is_sanctuary, rows[i].least), rows[i].wanted);
    }
}

static void only_norms_and_declared_predicates_expire(void **state) {
    (void)state;
    const uint64_t expiring[] = {77};
    const fact_rules rules = {.now_ms = 1000 * 1000, .expiring = expiring, .n_expiring = 1};
    static const struct {
        uint64_t predicate, metadata;
        fact_state wanted;
    } rows[] = {{2, 1, FACT_LIVE},                                  /* a Lamport clock is no time */
                {77, 1, FACT_EXPIRED},
                {77, 1000, FACT_EXPIRED},                           /* at that second */
                {77, 1001, FACT_LIVE},
                {77, 0, FACT_LIVE},                                 /* never */
                {77, UINT64_C(1) << 56, FACT_LIVE},                 /* only the low word */
                {UINT64_C(0x7100000000000010), 999, FACT_EXPIRED},  /* norms */
                {UINT64_C(0x8000000000000012), 999, FACT_EXPIRED},
                {UINT64_C(0x7100000000000013), 999, FACT_LIVE},
                {UINT64_C(0x0100000000000010), 999, FACT_LIVE}};    /* the hash of a term */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const q42_quin quin = q42_quin_make(1, rows[i].predicate, 3, 0, rows[i].metadata);
        if (fact_judge(&quin, &rules) != rows[i].wanted) {
            fail_msg("row %zu: %s", i, fact_state_name(fact_judge(&quin, &rules)));
        }
    }
}

static void a_wrong_parity_does_not_count(void **state) {
    (void)state;
    q42_quin quin = q42_quin_make(1, 2, 3, 4, 5);
    quin.parity ^= 1;
    assert_int_equal(fact_judge(&quin, &(fact_rules){.now_ms = 0}), FACT_BAD_PARITY);
}

static void a_graph_that_is_not_granted_does_not_count(void **state) {
    (void)state;
    const uint64_t granted[] = {4, 0};
    const fact_rules some = {.is_scoped = true, .contexts = granted, .n_contexts = 2}, none = {.is_scoped = true};
    const q42_quin in = q42_quin_make(1, 2, 3, 4, 0), unnamed = q42_quin_make(1, 2, 3, 0, 0), out = q42_quin_make(1, 2, 3, 5, 0);
    assert_int_equal(fact_judge(&in, &some), FACT_LIVE);
    assert_int_equal(fact_judge(&unnamed, &some), FACT_LIVE);
    assert_int_equal(fact_judge(&out, &some), FACT_OUT_OF_SCOPE);
    assert_int_equal(fact_judge(&in, &none), FACT_OUT_OF_SCOPE);
}

static void times_of_withdrawal_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t ms; /* -1: none */
    } rows[] = {{"1970-01-01T00:00:00Z", 0},         {"2000-03-01T00:00:00", 951868800000},  {"2025-11-30T10:53:20.250Z", 1764500000250},
                {"2025-11-30T11:53:20+01:00", 1764500000000}, {"2025-11-30", -1}, {"yesterday", -1}, {"2025-13-30T10:53:20Z", -1},
                {"2025-11-30T10:53:20Zx", -1},       {"2025-11-30T10:53:20+1", -1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = -1;
        const bool is_read = invalidations_read_time(rows[i].text, strlen(rows[i].text), &ms);
        if (is_read != (rows[i].ms >= 0) || ms != rows[i].ms) {
            fail_msg("%s: %lld", rows[i].text, (long long)ms);
        }
    }
}

#define WITHDRAWN "<" PROV "invalidatedAtTime>"
#define DATE_TIME "^^<http://www.w3.org/2001/XMLSchema#dateTime>"

static void what_is_withdrawn_by_subject_graph_or_statement_does_not_count(void **state) {
    (void)state;
    static const fixture_row rows[] = {
        {{"<" E "a>", "<" E "p>", "<" E "x>"}, 0},          {{"<" E "b>", "<" E "p>", "<" E "x>"}, 0},
        {{"<" E "c>", "<" E "p>", "<" E "x>"}, 0},          {{"<" E "d>", "<" E "p>", "<" E "x>", "<" E "g>"}, 0},
        {{"<" E "b>", WITHDRAWN, "\"2020-01-01T00:00:00Z\"" DATE_TIME}, 0},
        {{"<" E "c>", WITHDRAWN, "\"2099-01-01T00:00:00Z\"" DATE_TIME}, 0},
        {{"<" E "g>", "<" PROV "wasInvalidatedBy>", "<" E "nobody>"}, 0}};
    static const fact_state wanted[] = {FACT_LIVE, FACT_INVALIDATED, FACT_LIVE, FACT_INVALIDATED};
    fixture f;
    fixture_open_rows(&f, rows);
    for (size_t i = 0; i < 4; i++) {
        const q42_quin quin = q42_quin_make(fixture_id(rows[i].terms[0]), fixture_id(rows[i].terms[1]), fixture_id(rows[i].terms[2]),
                                            rows[i].terms[3] != NULL ? fixture_id(rows[i].terms[3]) : 0, 0);
        assert_int_equal(ground_volume_judge(&f.gv, &quin), wanted[i]);
    }
    fixture_close(&f);
}

static void a_withdrawal_whose_time_cannot_be_read_counts(void **state) {
    (void)state;
    static const fixture_row rows[] = {{{"<" E "a>", "<" E "p>", "<" E "x>"}, 0}, {{"<" E "a>", WITHDRAWN, "\"some day\""}, 0}};
    fixture f;
    fixture_open_rows(&f, rows);
    const q42_quin quin = fixture_quin("<" E "a>", "<" E "p>", "<" E "x>");
    assert_int_equal(ground_volume_judge(&f.gv, &quin), FACT_INVALIDATED);
    fixture_close(&f);
}

/* ------------------------------------------------------------------------------------------------- sets */

static void a_fact_of_two_volumes_stands_once_with_the_higher_tier(void **state) {
    (void)state;
    fact_set set = fact_set_empty();
    const ground_fact facts[] = {{.quin = q42_quin_make(1, 2, 3, 0, 0), .tier = 1},
                                 {.quin = q42_quin_make(4, 5, 6, 0, 0)},
                                 {.quin = q42_quin_make(1, 2, 3, 0, 9), .tier = 3, .source = 1}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fact_set_add(&set, &facts[i], NULL), QN_OK);
    }
    assert_int_equal(fact_set_seal(&set, NULL), QN_OK);
    assert_int_equal(set.n, 2);
    assert_int_equal(set.facts[0].source, 0);
    assert_int_equal(set.facts[0].tier, 3);
    assert_int_equal(fact_set_tier(&set), 3);
    fact_set_free(&set);
}

static void facts_are_found_by_id_once_the_set_is_sealed(void **state) {
    (void)state;
    fact_set set = fact_set_empty();
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(fact_set_add(&set, &(ground_fact){.quin = q42_quin_make(i, 2, 3, 0, 0)}, NULL), QN_OK);
    }
    assert_null(fact_set_find(&set, set.facts[7].id)); /* not sealed */
    assert_int_equal(fact_set_seal(&set, NULL), QN_OK);
    for (uint32_t i = 0; i < 500; i++) {
        assert_ptr_equal(fact_set_find(&set, set.facts[i].id), &set.facts[i]);
    }
    assert_null(fact_set_find(&set, 12345));
    fact_set_free(&set);
}

static void a_set_holds_4096_facts(void **state) {
    (void)state;
    fact_set set = fact_set_empty();
    error_context err = {0};
    for (uint64_t i = 0; i < FACT_SET_MAX; i++) {
        assert_int_equal(fact_set_add(&set, &(ground_fact){.quin = q42_quin_make(i, 2, 3, 0, 0)}, NULL), QN_OK);
    }
    assert_int_equal(fact_set_add(&set, &(ground_fact){.tier = 0}, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "4096"));
    fact_set_free(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_the_first_8_bytes_of_the_digest_of_four_words),
        cmocka_unit_test(the_metadata_is_not_part_of_an_id),
        cmocka_unit_test(a_tier_is_the_greatest_of_three),
        cmocka_unit_test(only_norms_and_declared_predicates_expire),
        cmocka_unit_test(a_wrong_parity_does_not_count),
        cmocka_unit_test(a_graph_that_is_not_granted_does_not_count),
        cmocka_unit_test(times_of_withdrawal_are_read),
        cmocka_unit_test(what_is_withdrawn_by_subject_graph_or_statement_does_not_count),
        cmocka_unit_test(a_withdrawal_whose_time_cannot_be_read_counts),
        cmocka_unit_test(a_fact_of_two_volumes_stands_once_with_the_higher_tier),
        cmocka_unit_test(facts_are_found_by_id_once_the_set_is_sealed),
        cmocka_unit_test(a_set_holds_4096_facts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
