/* test_citations.c — marks in an answer, and which of them stand for facts. */
#include "ground_fixture.h"

#include "ground/citations.h"

static void marks_are_found_in_the_order_of_the_text(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t n, numbers[4];
    } rows[] = {{"Berlin [2], Bonn [1].", 2, {2, 1}},   {"[1][1] [1]", 1, {1}},       {"[1, 3;2]", 3, {1, 3, 2}},
                {"[ 4 ]", 1, {4}},                      {"[0] [a] [] [1 [,1] [1,]", 0, {0}}, {"[12345]", 0, {0}},
                {"[9999]", 1, {9999}},                  {"[[7]]", 1, {7}},            {"[1-3] [x1] [1.]", 0, {0}},
                {"", 0, {0}},                           {"[", 0, {0}},                {"[1", 0, {0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        citation found[8];
        const uint32_t n = citations_find(rows[i].text, strlen(rows[i].text), found, 8);
        bool is_equal = n == rows[i].n;
        for (uint32_t k = 0; is_equal && k < n; k++) {
            is_equal = found[k].number == rows[i].numbers[k];
        }
        if (!is_equal) {
            fail_msg("\"%s\": %u", rows[i].text, n);
        }
    }
}

static void more_marks_than_room_are_left_out(void **state) {
    (void)state;
    citation found[2];
    assert_int_equal(citations_find("[1][2][3]", 9, found, 2), 2);
    assert_int_equal(found[1].number, 2);
    assert_int_equal(found[1].at, 3);
}

static void make_set(fact_set *set) {
    *set = fact_set_empty();
    assert_int_equal(fact_set_add(set, &(ground_fact){.quin = q42_quin_make(1, 2, 3, 0, 0)}, NULL), QN_OK);
    assert_int_equal(fact_set_add(set, &(ground_fact){.quin = q42_quin_make(4, 5, 6, 0, 0)}, NULL), QN_OK);
    assert_int_equal(fact_set_seal(set, NULL), QN_OK);
}

static void a_number_stands_for_its_fact_and_an_invented_one_for_none(void **state) {
    (void)state;
    fact_set set;
    citation found[4];
    make_set(&set);
    const uint32_t n = citations_find("[2] [3]", 7, found, 4);
    assert_int_equal(citations_resolve(found, n, &set), 1);
    assert_true(found[0].is_resolved && found[0].id == set.facts[1].id);
    assert_true(!found[1].is_resolved && found[1].id == 0);
    fact_set_free(&set);
}

static void a_fact_that_was_changed_since_is_not_cited(void **state) {
    (void)state;
    fact_set set;
    citation found[4];
    make_set(&set);
    set.facts[1].quin.object = 7;
    const uint32_t n = citations_find("[1] [2]", 7, found, 4);
    assert_int_equal(citations_resolve(found, n, &set), 1);
    assert_false(found[1].is_resolved);
    fact_set_free(&set);
}

static bool give_any(void *ctx, uint64_t id, q42_quin *out_fact) {
    (void)id;
    *out_fact = *(const q42_quin *)ctx;
    return true;
}

static void a_resolver_that_gives_another_fact_resolves_nothing(void **state) {
    (void)state;
    q42_quin given = q42_quin_make(1, 2, 3, 0, 0), out;
    const fact_resolver resolver = {&given, give_any};
    uint64_t id;
    assert_int_equal(fact_make_id(&given, &id, NULL), QN_OK);
    assert_true(fact_resolve(&resolver, id, &out));
    assert_false(fact_resolve(&resolver, id + 1, &out));
    given.parity ^= 1;
    assert_false(fact_resolve(&resolver, id, &out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_found_in_the_order_of_the_text),
        cmocka_unit_test(more_marks_than_room_are_left_out),
        cmocka_unit_test(a_number_stands_for_its_fact_and_an_invented_one_for_none),
        cmocka_unit_test(a_fact_that_was_changed_since_is_not_cited),
        cmocka_unit_test(a_resolver_that_gives_another_fact_resolves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
