/* test_policy.c — policies that are right, wrong in one place, and the same in other words. */
#include "govern_fixture.h"

#define LEAST "[policy]\nversion = 1\n[agent]\ndid = did:a\n[commit]\nlog = l\nunsigned = yes\n"

static qn_status parse(const char *text, policy *p, error_context *err) {
    return policy_parse((fmt_span){(const uint8_t *)text, strlen(text)}, "p.ini", p, err);
}

static void the_least_policy_has_the_defaults_of_the_manual(void **state) {
    policy p;
    (void)state;
    assert_int_equal(parse(LEAST, &p, NULL), QN_OK);
    assert_string_equal(p.is.request.frame, "purpose:General");
    assert_true(policy_words_have(&p.is.intent.critical, "llm:EmergencyIntake"));
    assert_int_equal(p.is.egress.local, 4);
    assert_int_equal(p.is.egress.lan, 1);
    assert_int_equal(p.is.egress.remote, 0);
    assert_int_equal(p.is.egress.unlabeled, 1);
    assert_int_equal(p.is.limits.deadline, 30000);
    assert_int_equal(p.is.limits.tokens, 2048);
    assert_true(p.is.thermal.warm == 65 && p.is.thermal.critical == 85 && p.is.thermal.hysteresis == 5);
    assert_int_equal(p.is.commit.rotate, 64u << 20);
    assert_int_equal(p.is.request.label, POLICY_NONE);
    policy_free(&p);
}

typedef struct wrong_row {
    const char *text, *words[3];
} wrong_row;

static const wrong_row wrong_rows[] = {
    {"version = 1\n", {"line 1, column 1", "\"version = 1\"", "before the first [section]"}},
    {"[polcy]\n", {"line 1, column 2", "\"polcy\"", "did you mean policy?"}},
    {"[zzzzzzzz]\n", {"line 1, column 2", "quoin-policy(5)"}},
    {"[policy\n", {"line 1, column 1", "no ] at its end"}},
    {"[policy x]\n", {"stands alone"}},
    {"[scope]\n", {"needs a name"}},
    {"[scope a b]\n", {"line 1, column 10", "\"b\"", "a name has no blanks"}},
    {"[scope a]\n[scope a]\n", {"line 2, column 8", "\"a\"", "already, in line 1"}},
    {"[policy]\nversoin = 1\n", {"line 2, column 1", "\"versoin\"", "did you mean version?"}},
    {"[policy]\nversion\n", {"line 2, column 1", "neither [section] nor key = value"}},
    {"[policy]\n  version = one\n", {"line 2, column 13", "\"one\"", "a whole number from 1 to"}},
    {"[policy]\nversion = 0\n", {"\"0\""}},
    {"[policy]\nversion =\n", {"line 2, column 10", "nothing stands behind"}},
    {"[policy]\nversion = 1\nversion = 2\n", {"line 3, column 1", "second time"}},
    {"[limits]\ntokens = 2049\n", {"from 1 to 2048"}},
    {"[limits]\ndeadline = 5y\n", {"ms, s, m, h or d"}},
    {"[limits]\nmemory = 5X\n", {"K, M or G"}},
    {"[thermal]\nwarm = 6e1\n", {"a number from 0 to 200"}},
    {"[thermal]\nwarm = 65,5\n", {"\"65,5\""}},
    {"[agent]\nanonymous = true\n", {"yes or no"}},
    {"[agent]\ndid = a b\n", {"one word without blanks"}},
    {"[request]\noutput = json\n", {"one of text|n3|graph"}},
    {"[scope a]\ndigest = 12\n", {"64 digits"}},
    {"[predicate p]\nsigners = a b c d e f g h i\n", {"at most 8 words"}},
    {LEAST "[predicate p]\nsuspend = yes\nsigners = a\n", {"line 8", "at least threshold = 2 signers; there are 1"}},
    {LEAST "[predicate p]\nsigners = a a\n", {"there twice"}},
    {LEAST "[thermal]\nwarm = 85\n", {"bands overlap"}},
    {"[agent]\ndid = did:a\n[commit]\nlog = l\nunsigned = yes\n", {"[policy] version"}},
    {"[policy]\nversion = 1\n[commit]\nlog = l\nunsigned = yes\n", {"[agent] did"}},
    {"[policy]\nversion = 1\n[agent]\ndid = did:a\n", {"[commit] log"}},
    {"[policy]\nversion = 1\n[agent]\ndid = did:a\n[commit]\nlog = l\n", {"key = FILE, or unsigned = yes"}},
    {LEAST "[commit]\nkey = k\n", {"one of them has to go"}},
    {"[policy]\nname = \x01\n", {"line 2, column 8", "control character 0x01"}},
    {"[policy]\nname = \xff\n", {"line 2, column 8", "no UTF-8"}},
};

static void what_is_wrong_is_told_with_line_column_and_what_to_do(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong_rows / sizeof wrong_rows[0]; i++) {
        policy p;
        error_context err = {0};
        if (parse(wrong_rows[i].text, &p, &err) != QN_BAD_INPUT) {
            fail_msg("row %zu was accepted: %s", i, wrong_rows[i].text);
        }
        for (size_t k = 0; k < 3 && wrong_rows[i].words[k] != NULL; k++) {
            if (strstr(error_text(&err), wrong_rows[i].words[k]) == NULL || strncmp(error_text(&err), "p.ini: line ", 12) != 0) {
                fail_msg("row %zu: \"%s\" is not in: %s", i, wrong_rows[i].words[k], error_text(&err));
            }
        }
        policy_free(&p);
    }
}

static void get_digest(const char *text, uint8_t out[Q42_DIGEST_BYTES]) {
    policy p;
    error_context err = {0};
    if (parse(text, &p, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    memcpy(out, p.digest, Q42_DIGEST_BYTES);
    policy_free(&p);
}

static void a_digest_is_of_what_a_policy_means(void **state) {
    static const char *const same[] = {
        LEAST,
        "# a comment\r\n[commit]\r\nlog=l\r\nunsigned =  yes\r\n\r\n[agent]\r\ndid = did:a\r\n[policy]\r\nversion = 1\r\n",
        LEAST "[egress]\nlocal = 4\n[limits]\ndeadline = 30000ms\nmemory = 0\n[thermal]\nwarm = 65.0\n",
        LEAST "[intent]\ncritical = llm:EmergencyIntake\n",
    };
    static const char *const others[] = {
        LEAST "[egress]\nlocal = 3\n", LEAST "[intent]\ncritical =\n", LEAST "[scope a]\n", LEAST "[predicate a]\n",
        LEAST "[limits]\ndeadline = 31s\n", LEAST "[policy]\nname = other\n",
    };
    uint8_t first[Q42_DIGEST_BYTES], digest[Q42_DIGEST_BYTES];
    (void)state;
    get_digest(same[0], first);
    for (size_t i = 1; i < sizeof same / sizeof same[0]; i++) {
        get_digest(same[i], digest);
        assert_memory_equal(digest, first, sizeof first);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        get_digest(others[i], digest);
        assert_memory_not_equal(digest, first, sizeof first);
    }
}

static void the_canonical_text_is_a_policy_that_means_the_same(void **state) {
    policy p, again;
    text_buffer text = {0};
    (void)state;
    assert_int_equal(parse(LEAST "[scope a]\ntier = 2\nexpires = 3d\n[profile x]\nallow = a b\n[intent]\ncritical =\n", &p, NULL), QN_OK);
    assert_int_equal(policy_canonical(&p, false, &text, NULL), QN_OK);
    assert_int_equal(policy_parse((fmt_span){(const uint8_t *)text.text, text.size}, "p.ini", &again, NULL), QN_OK);
    assert_memory_equal(p.digest, again.digest, sizeof p.digest);
    text_buffer_free(&text);
    policy_free(&p);
    policy_free(&again);
}

static void the_order_of_named_sections_does_not_matter(void **state) {
    uint8_t one[Q42_DIGEST_BYTES], other[Q42_DIGEST_BYTES];
    (void)state;
    get_digest(LEAST "[scope a]\ntier = 1\n[scope b]\ntier = 2\n", one);
    get_digest(LEAST "[scope b]\ntier = 2\n[scope a]\ntier = 1\n", other);
    assert_memory_equal(one, other, sizeof one);
}

static void a_shape_that_changed_makes_another_policy(void **state) {
    policy p;
    uint8_t before[Q42_DIGEST_BYTES];
    char path[CORPUS_PATH_SIZE + 8];
    error_context err = {0};
    (void)state;
    fixture_write("p.ini", LEAST "[rules]\nshapes = s.ttl\n");
    snprintf(path, sizeof path, "%s/p.ini", fixture_folder);
    assert_int_not_equal(policy_read(path, &p, &err), QN_OK);
    assert_non_null(strstr(error_text(&err), "s.ttl"));
    policy_free(&p);
    fixture_write("s.ttl", "one");
    assert_int_equal(policy_read(path, &p, NULL), QN_OK);
    memcpy(before, p.digest, sizeof before);
    policy_free(&p);
    fixture_write("s.ttl", "two");
    assert_int_equal(policy_read(path, &p, NULL), QN_OK);
    assert_memory_not_equal(p.digest, before, sizeof before);
    policy_free(&p);
}

static void lists_go_on_when_their_key_is_given_again_and_stand_for_the_default(void **state) {
    policy p;
    (void)state;
    assert_int_equal(parse(LEAST "[intent]\ncritical = a  b\ncritical = c\n", &p, NULL), QN_OK);
    assert_int_equal(p.is.intent.critical.n_items, 3);
    assert_false(policy_words_have(&p.is.intent.critical, "llm:EmergencyIntake"));
    policy_free(&p);
}

static void names_are_found_as_they_are_and_as_iris_of_surface_volumes(void **state) {
    policy p;
    static const char surface[] = "<http://h.example/p>";
    (void)state;
    assert_int_equal(parse(LEAST "[predicate http://h.example/p]\nfunctional = yes\n[scope 0x00000000000000ff]\n", &p, NULL), QN_OK);
    assert_ptr_equal(policy_find_predicate(&p, q42_hash("http://h.example/p", 18)), &p.predicates[0]);
    assert_ptr_equal(policy_find_predicate(&p, q42_hash(surface, 20)), &p.predicates[0]);
    assert_null(policy_find_predicate(&p, 5));
    assert_ptr_equal(policy_find_scope(&p, 255), &p.scopes[0]);
    policy_free(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_least_policy_has_the_defaults_of_the_manual),
        cmocka_unit_test(what_is_wrong_is_told_with_line_column_and_what_to_do),
        cmocka_unit_test(a_digest_is_of_what_a_policy_means),
        cmocka_unit_test(the_canonical_text_is_a_policy_that_means_the_same),
        cmocka_unit_test(the_order_of_named_sections_does_not_matter),
        cmocka_unit_test_setup_teardown(a_shape_that_changed_makes_another_policy, fixture_setup, fixture_teardown),
        cmocka_unit_test(lists_go_on_when_their_key_is_given_again_and_stand_for_the_default),
        cmocka_unit_test(names_are_found_as_they_are_and_as_iris_of_surface_volumes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
