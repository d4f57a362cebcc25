/* test_retrieve.c — which facts a prompt gets, and in which order. */
#include "ground_fixture.h"

#include "ground/fact_text.h"
#include "ground/retrieve.h"

#define LABEL RDFS_LABEL
#define P(name) "<" E name ">"
#define INTEGER "^^<http://www.w3.org/2001/XMLSchema#integer>"

static const fixture_row world[] = {
    {{P("Q64"), LABEL, "\"Berlin\"@en"}, 0},
    {{P("Q64"), P("capitalOf"), P("Q183")}, 0},
    {{P("Q64"), P("population"), "\"3755251\"" INTEGER}, 0},
    {{P("Q64"), P("note"), "\"a secret\""}, UINT64_C(1) << 56},
    {{P("Q183"), LABEL, "\"Germany\"@en"}, 0},
    {{P("Q183"), P("borders"), P("Q142")}, 0},
    {{P("Q90"), LABEL, "\"Paris\"@en"}, 0},
    {{P("Q90"), P("capitalOf"), P("Q142")}, 0},
    {{P("Q142"), LABEL, "\"France\"@en"}, 0},
    {{P("Angela_Merkel"), P("bornIn"), P("Hamburg")}, 0},
    {{P("Old"), LABEL, "\"Bonn\""}, 0},
    {{P("Old"), P("capitalOf"), P("Q183")}, 0},
    {{P("Old"), "<" PROV "wasInvalidatedBy>", P("move")}, 0},
    {{P("Q64"), P("mayor"), P("Nobody"), P("gossip")}, 0},
};

static fixture f;

static int open_world(void **state) {
    (void)state;
    fixture_open_rows(&f, world);
    return 0;
}

static int close_world(void **state) {
    (void)state;
    fixture_close(&f);
    return 0;
}

/* The lines for a prompt. */
static void get_lines(const ground_volume *gv, const char *prompt, uint32_t n, const tensor10d *near, fact_set *set, fact_lines *lines,
                      retrieve_report *report) {
    const retrieve_options options = {.prompt = prompt, .prompt_bytes = strlen(prompt), .n_facts = n, .near = near};
    error_context err = {0};
    *set = fact_set_empty();
    if (ground_facts(gv, 1, &options, set, report, &err) < 0 || fact_lines_write(gv, 1, set, lines, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
}

static void check_lines(const ground_volume *gv, const char *prompt, uint32_t n, const tensor10d *near, const char *wanted) {
    fact_set set;
    fact_lines lines;
    get_lines(gv, prompt, n, near, &set, &lines, NULL);
    if (lines.text.size != strlen(wanted) || (lines.text.size > 0 && memcmp(lines.text.text, wanted, lines.text.size) != 0)) {
        fail_msg("\"%s\" gives\n%.*swanted\n%s", prompt, (int)lines.text.size, lines.text.text != NULL ? lines.text.text : "", wanted);
    }
    fact_lines_free(&lines);
    fact_set_free(&set);
}

static void what_covers_more_of_the_prompt_comes_first(void **state) {
    (void)state;
    check_lines(&f.gv, "Is Berlin the capital of Germany?", 3, NULL,
                "[1] Berlin capital of Germany .\n[2] Germany borders France .\n[3] Germany label \"Germany\" .\n");
}

static void a_name_leads_to_its_subject_and_what_is_said_of_it(void **state) {
    (void)state;
    check_lines(&f.gv, "Tell me about Paris", 9, NULL, "[1] Paris capital of France .\n[2] Paris label \"Paris\" .\n");
}

static void words_of_an_iri_name_it_too(void **state) {
    (void)state;
    check_lines(&f.gv, "Where was Angela Merkel born?", 9, NULL, "[1] Angela Merkel born in Hamburg .\n");
}

static void an_iri_in_the_prompt_is_meant_itself(void **state) {
    (void)state;
    check_lines(&f.gv, "What is http://e.example/Q90?", 1, NULL, "[1] Paris capital of France .\n");
    check_lines(&f.gv, "What is <http://e.example/Q90>?", 1, NULL, "[1] Paris capital of France .\n");
}

static void a_prompt_that_names_nothing_gets_nothing(void **state) {
    (void)state;
    check_lines(&f.gv, "How are you?", 9, NULL, "");
    check_lines(&f.gv, "", 9, NULL, "");
}

static void what_is_withdrawn_is_not_given(void **state) {
    (void)state;
    fact_set set;
    fact_lines lines;
    retrieve_report report;
    get_lines(&f.gv, "What was Bonn?", 9, NULL, &set, &lines, &report);
    assert_int_equal(set.n, 0);
    assert_true(report.n_states[FACT_INVALIDATED] > 0);
    fact_lines_free(&lines);
    fact_set_free(&set);
}

static void each_fact_has_its_tier(void **state) {
    (void)state;
    fact_set set;
    fact_lines lines;
    get_lines(&f.gv, "Berlin", 9, NULL, &set, &lines, NULL);
    assert_int_equal(set.n, 5);
    assert_int_equal(fact_set_tier(&set), 1);
    fact_lines_free(&lines);
    fact_set_free(&set);
}

static void every_fact_of_a_sanctuary_has_tier_4(void **state) {
    (void)state;
    fixture g;
    fact_set set;
    fact_lines lines;
    fixture_open(&g, world, 3, true, NULL);
    get_lines(&g.gv, "Berlin", 9, NULL, &set, &lines, NULL);
    assert_int_equal(set.n, 3);
    for (uint32_t i = 0; i < set.n; i++) {
        assert_int_equal(set.facts[i].tier, 4);
    }
    fact_lines_free(&lines);
    fact_set_free(&set);
    fixture_close(&g);
}

static void a_volumes_label_raises_the_tier(void **state) {
    (void)state;
    const fact_rules rules = {.now_ms = FIXTURE_NOW};
    ground_volume labelled;
    fact_set set;
    fact_lines lines;
    assert_int_equal(ground_volume_open(f.volume, &rules, 2, &labelled, NULL), QN_OK);
    get_lines(&labelled, "Berlin", 9, NULL, &set, &lines, NULL);
    for (uint32_t i = 0; i < set.n; i++) {
        assert_int_equal(set.facts[i].tier, 2);
    }
    fact_lines_free(&lines);
    fact_set_free(&set);
    ground_volume_close(&labelled);
}

static void only_granted_graphs_give_facts(void **state) {
    (void)state;
    const uint64_t granted[] = {fixture_id(P("gossip"))};
    const fact_rules rules = {.now_ms = FIXTURE_NOW, .is_scoped = true, .contexts = granted, .n_contexts = 1};
    fixture g;
    fixture_open(&g, world, sizeof world / sizeof world[0], false, &rules);
    check_lines(&g.gv, "Who is mayor of http://e.example/Q64 ?", 9, NULL, "[1] Q64 mayor Nobody .\n"); /* its label is not granted */
    fixture_close(&g);
}

static void the_number_of_facts_is_kept(void **state) {
    (void)state;
    error_context err = {0};
    fact_set set = fact_set_empty();
    check_lines(&f.gv, "Berlin", 1, NULL, "[1] Berlin capital of Germany .\n");
    const retrieve_options options = {.prompt = "Berlin", .prompt_bytes = 6, .n_facts = FACT_SET_MAX + 1};
    assert_int_equal(ground_facts(&f.gv, 1, &options, &set, NULL, &err), QN_LIMIT);
}

static void volumes_are_asked_in_their_order_and_a_fact_of_two_stands_once(void **state) {
    (void)state;
    fixture g;
    fact_set set = fact_set_empty();
    fixture_open(&g, world, 3, false, NULL);
    const ground_volume both[] = {g.gv, f.gv};
    const retrieve_options options = {.prompt = "Berlin", .prompt_bytes = 6, .n_facts = 100};
    assert_int_equal(ground_facts(both, 2, &options, &set, NULL, NULL), QN_OK);
    assert_int_equal(set.n, 5);
    for (uint32_t i = 0; i < set.n; i++) {
        for (uint32_t k = 0; k < i; k++) {
            assert_true(set.facts[i].id != set.facts[k].id);
        }
    }
    fact_set_free(&set);
    fixture_close(&g);
}

#define POINT "<q42:tensor10d>"
static const fixture_row space[] = {
    {{P("sun"), LABEL, "\"Sun\""}, 0},
    {{P("sun"), POINT, "\"0 0 0 0 0 0 0 0 0 0\""}, 0},
    {{P("far"), P("is"), "\"far away\""}, 0},
    {{P("far"), POINT, "\"0 0 0 9 0 0 0 0 0 0\""}, 0},
    {{P("near"), P("is"), "\"close by\""}, 0},
    {{P("near"), POINT, "\"0 0 0 1 0 0 0 0 0 0\""}, 0},
    {{P("broken"), P("is"), "\"nowhere\""}, 0},
    {{P("broken"), POINT, "\"not a point\""}, 0},
};

static void what_is_near_the_named_subject_follows_by_distance(void **state) {
    (void)state;
    fixture g;
    fixture_open_rows(&g, space);
    check_lines(&g.gv, "Tell me of the Sun", 9, NULL, "[1] Sun label \"Sun\" .\n[2] near is \"close by\" .\n[3] far is \"far away\" .\n");
    fixture_close(&g);
}

static void a_point_may_be_asked_from_instead(void **state) {
    (void)state;
    const tensor10d point = {.x = 8};
    fixture g;
    fixture_open_rows(&g, space);
    check_lines(&g.gv, "anything", 2, &point, "[1] far is \"far away\" .\n[2] near is \"close by\" .\n");
    fixture_close(&g);
}

static void the_same_question_gets_the_same_answer(void **state) {
    (void)state;
    fact_set sets[2];
    fact_lines lines[2];
    for (int i = 0; i < 2; i++) {
        get_lines(&f.gv, "Berlin, Paris, Germany, France, capital of, borders", 9, NULL, &sets[i], &lines[i], NULL);
    }
    assert_int_equal(lines[0].text.size, lines[1].text.size);
    assert_memory_equal(lines[0].text.text, lines[1].text.text, lines[0].text.size);
    for (int i = 0; i < 2; i++) {
        fact_set_free(&sets[i]);
        fact_lines_free(&lines[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_covers_more_of_the_prompt_comes_first),
        cmocka_unit_test(a_name_leads_to_its_subject_and_what_is_said_of_it),
        cmocka_unit_test(words_of_an_iri_name_it_too),
        cmocka_unit_test(an_iri_in_the_prompt_is_meant_itself),
        cmocka_unit_test(a_prompt_that_names_nothing_gets_nothing),
        cmocka_unit_test(what_is_withdrawn_is_not_given),
        cmocka_unit_test(each_fact_has_its_tier),
        cmocka_unit_test(every_fact_of_a_sanctuary_has_tier_4),
        cmocka_unit_test(a_volumes_label_raises_the_tier),
        cmocka_unit_test(only_granted_graphs_give_facts),
        cmocka_unit_test(the_number_of_facts_is_kept),
        cmocka_unit_test(volumes_are_asked_in_their_order_and_a_fact_of_two_stands_once),
        cmocka_unit_test(what_is_near_the_named_subject_follows_by_distance),
        cmocka_unit_test(a_point_may_be_asked_from_instead),
        cmocka_unit_test(the_same_question_gets_the_same_answer),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
