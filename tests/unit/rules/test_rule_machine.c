/* test_rule_machine.c — what rules conclude, deny and prove, and which limits end a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules/rule_machine.h"
#include "rules_fixture.h"

static const rule_limits usual = {0};

static rule_verdict run(const rule_program *program, fact_table *table, const rule_limits *limits) {
    rule_verdict verdict;
    assert_int_equal(rules_run(program, table, limits, &verdict, NULL), QN_OK);
    return verdict;
}

/* Each row: rules, facts, how it ends, a statement that must be there (or null) and one that must not (or null). */
static void rules_conclude_what_they_say_and_nothing_else(void **state) {
    static const struct {
        const char *rules, *facts;
        rule_outcome outcome;
        const char *there, *absent;
    } rows[] = {
        {"{ ?a ex:p ?b } => { ?b ex:q ?a } .", "ex:x ex:p ex:y .", RULES_OK, "ex:y ex:q ex:x", "ex:x ex:q ex:y"},
        {"{ ?a ex:p ?a } => { ?a ex:self true } .", "ex:x ex:p ex:y, ex:x .", RULES_OK, "ex:x ex:self true", "ex:y ex:self true"},
        {"{ ?a ex:p ?b . ?b ex:p ?c } => { ?a ex:p ?c } .", "ex:a ex:p ex:b . ex:b ex:p ex:c . ex:c ex:p ex:d .", RULES_OK, "ex:a ex:p ex:d", "ex:b ex:p ex:a"},
        {"{ ?a ?p ?b . ?p ex:inverse ?q } => { ?b ?q ?a } .", "ex:x ex:of ex:y . ex:of ex:inverse ex:has .", RULES_OK, "ex:y ex:has ex:x", NULL},
        {"{ ?a ex:p ?b } => { ?b ex:q ?a } .", "ex:x ex:p \"literal\" .", RULES_OK, NULL, NULL},
        {"{} => { ex:a ex:p 1 } .", "", RULES_OK, "ex:a ex:p 1", NULL},
        {"{ _:b ex:p ?y } => { ?y ex:q 1 } .", "ex:x ex:p ex:y .", RULES_OK, "ex:y ex:q 1", NULL},
        /* comparisons */
        {"{ ?x ex:n ?n . ?n math:greaterThan 17.99 } => { ?x a ex:Adult } .", "ex:a ex:n 18 . ex:b ex:n 17 . ex:c ex:n \"99\" .", RULES_OK, "ex:a a ex:Adult", "ex:c a ex:Adult"},
        {"{ ?x ex:n ?n . ?n math:notLessThan 18.0 } => { ?x a ex:Adult } .", "ex:a ex:n 18 . ex:b ex:n 17 .", RULES_OK, "ex:a a ex:Adult", "ex:b a ex:Adult"},
        {"{ ?x ex:n ?n . ?n math:lessThan 2 } => { ?x a ex:Low } .", "ex:a ex:n 1.999 . ex:b ex:n 2 .", RULES_OK, "ex:a a ex:Low", "ex:b a ex:Low"},
        {"{ ?x ex:n ?n . ?n math:notGreaterThan 2 } => { ?x a ex:Low } .", "ex:a ex:n 2.000 . ex:b ex:n 2.001 .", RULES_OK, "ex:a a ex:Low", "ex:b a ex:Low"},
        {"{ ?x ex:n ?n . ?n math:equalTo 2 } => { ?x a ex:Two } .", "ex:a ex:n 2.0 . ex:b ex:n 3 .", RULES_OK, "ex:a a ex:Two", "ex:b a ex:Two"},
        {"{ ?x ex:n ?n . ?n math:notEqualTo 2 } => { ?x a ex:Other } .", "ex:a ex:n 3 . ex:b ex:n \"x\" .", RULES_OK, "ex:a a ex:Other", "ex:b a ex:Other"},
        {"{ ?x ex:p ?y . ?x log:notEqualTo ?y } => { ?x ex:d ?y } .", "ex:a ex:p ex:a, ex:b .", RULES_OK, "ex:a ex:d ex:b", "ex:a ex:d ex:a"},
        {"{ ?x ex:n ?n . ?n log:equalTo 2 } => { ?x a ex:Two } .", "ex:a ex:n 2 . ex:b ex:n 2.0 .", RULES_OK, "ex:a a ex:Two", "ex:b a ex:Two"},
        /* defeasible, defeaters */
        {"{ ?x a ex:Bird } ~> { ?x ex:can ex:fly } . { ?x a ex:Penguin } ^> { ?x ex:can ex:fly } .", "ex:t a ex:Bird . ex:p a ex:Bird, ex:Penguin .", RULES_OK,
         "ex:t ex:can ex:fly", "ex:p ex:can ex:fly"},
        {"{ ?x a ex:Bird } ~> { ?x ex:can ex:fly } . { ?x a ex:Penguin } ^> { ?x ex:can ?any } .", "ex:p a ex:Bird, ex:Penguin .", RULES_OK, NULL, "ex:p ex:can ex:fly"},
        {"{ ?x a ex:Penguin } => { ?x ex:can ex:fly } . { ?x a ex:Penguin } ^> { ?x ex:can ex:fly } .", "ex:p a ex:Penguin .", RULES_OK, "ex:p ex:can ex:fly", NULL},
        {"{ ?x a ex:Bird } ~> { ?x ex:can ex:fly . ?x ex:has ex:wings } . { ?x a ex:Penguin } ^> { ?x ex:can ex:fly } .", "ex:p a ex:Bird, ex:Penguin .", RULES_OK, NULL,
         "ex:p ex:has ex:wings"},
        {"{ ?x a ex:Bird } ~> { ?x ex:can ex:fly } . { ?x ex:is ex:flightless } ^> { ?x ex:can ex:fly } . { ?x a ex:Penguin } => { ?x ex:is ex:flightless } .",
         "ex:p a ex:Bird, ex:Penguin .", RULES_OK, "ex:p ex:is ex:flightless", "ex:p ex:can ex:fly"},
        /* a defeater that rests on what is only plausible stands against nothing, whatever the order */
        {"{ ?x a ex:Odd } ~> { ?x ex:is ex:flightless } . { ?x a ex:Bird } ~> { ?x ex:can ex:fly } . { ?x ex:is ex:flightless } ^> { ?x ex:can ex:fly } .",
         "ex:p a ex:Bird, ex:Odd .", RULES_OK, "ex:p ex:can ex:fly", NULL},
        /* linear */
        {"{ ?t ex:ticketOf ?x } -o { ?x ex:may ex:enter } . { ?t ex:ticketOf ?x } -o { ?x ex:may ex:eat } .", "ex:t ex:ticketOf ex:a .", RULES_OK, "ex:a ex:may ex:enter",
         "ex:a ex:may ex:eat"},
        {"{ ?t ex:ticketOf ?x } -o { ?x ex:may ex:enter } . { ?t ex:ticketOf ?x } -o { ?x ex:may ex:eat } .", "ex:t ex:ticketOf ex:a . ex:u ex:ticketOf ex:a .", RULES_OK,
         "ex:a ex:may ex:eat", NULL},
        {"{ ?a ex:coin 1 . ?b ex:coin 1 } -o { ?a ex:buys ?b } .", "ex:x ex:coin 1 .", RULES_OK, NULL, "ex:x ex:buys ex:x"},
        {"{ ?t ex:ticketOf ?x } -o { ?x ex:may ex:enter } . { ?t ex:ticketOf ?x } => { ?x ex:has ?t } .", "ex:t ex:ticketOf ex:a .", RULES_OK, "ex:a ex:has ex:t", NULL},
        {"{ ?x ex:may ex:enter } => { ?x ex:is ex:guest } . { ?t ex:ticketOf ?x } -o { ?x ex:may ex:enter } .", "ex:t ex:ticketOf ex:a .", RULES_OK, "ex:a ex:is ex:guest", NULL},
        /* denials */
        {"{ ?x ex:n ?n . ?n math:lessThan 0 } => false .", "ex:a ex:n -1 .", RULES_FAIL, NULL, NULL},
        {"{ ?x ex:n ?n . ?n math:lessThan 0 } => false .", "ex:a ex:n 0 .", RULES_OK, NULL, NULL},
        {"{ ?x ex:q 1 } => false . { ?x ex:p 1 } ~> { ?x ex:q 1 } .", "ex:a ex:p 1 .", RULES_FAIL, "ex:a ex:q 1", NULL},
        {"{} => false .", "", RULES_FAIL, NULL, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fact_table table;
        print_message("%s\n", rows[i].rules);
        rule_program *program = fixture_program(rows[i].rules);
        fixture_table(rows[i].facts, FACT_TABLE_DEFAULT, &table);
        const rule_verdict verdict = run(program, &table, &usual);
        assert_int_equal(verdict.outcome, rows[i].outcome);
        assert_true(rows[i].there == NULL || fixture_has(&table, rows[i].there));
        assert_true(rows[i].absent == NULL || !fixture_has(&table, rows[i].absent));
        assert_int_equal(verdict.outcome == RULES_OK, verdict.reason[0] == '\0');
        fact_table_deinit(&table);
        rule_program_free(program);
    }
}

static void a_denial_tells_rule_message_bindings_and_premises(void **state) {
    fact_table table;
    (void)state;
    rule_program *program = fixture_program("[older] { ?a ex:parent ?b . ?a ex:age ?m . ?b ex:age ?n . ?n math:notLessThan ?m } "
                                            "=> { ?a <urn:quoin:denied> \"too young\" } .");
    fixture_table("ex:x ex:parent ex:y ; ex:age 5 . ex:y ex:age 7 .", FACT_TABLE_DEFAULT, &table);
    const rule_verdict v = run(program, &table, &usual);
    assert_int_equal(v.outcome, RULES_FAIL);
    assert_int_equal(v.rule, 0);
    assert_true(texts_equal(v.rule_id, text_of("older")) && texts_equal(v.message, text_of("\"too young\"")));
    assert_int_equal(v.n_bindings, 4);
    assert_true(texts_equal(v.bindings[0].name, text_of("a")) && texts_equal(v.bindings[0].value, text_of("<http://e/x>")));
    assert_int_equal(v.n_premises, 3);
    assert_int_equal(v.premises[2], fixture_find(&table, "ex:y ex:age 7"));
    assert_non_null(strstr(v.reason, "rule older denies \"too young\": ?a = <http://e/x>, ?b = <http://e/y>"));
    fact_table_deinit(&table);
    rule_program_free(program);
}

static void definite_and_plausible_are_told_apart(void **state) {
    fact_table table;
    (void)state;
    rule_program *program = fixture_program("{ ?x ex:p 1 } => { ?x ex:q 1 } . { ?x ex:p 1 } ~> { ?x ex:r 1 } . { ?x ex:r 1 } => { ?x ex:s 1 } ."
                                            "{ ?x ex:p 1 } -o { ?x ex:t 1 } .");
    fixture_table("ex:a ex:p 1 .", FACT_TABLE_DEFAULT, &table);
    assert_int_equal(run(program, &table, &usual).n_derived, 4);
    assert_true(table.facts[fixture_find(&table, "ex:a ex:q 1")].origin.is_definite);
    assert_false(table.facts[fixture_find(&table, "ex:a ex:r 1")].origin.is_definite);
    assert_false(table.facts[fixture_find(&table, "ex:a ex:s 1")].origin.is_definite);
    assert_false(table.facts[fixture_find(&table, "ex:a ex:t 1")].origin.is_definite);
    fact_table_deinit(&table);
    rule_program_free(program);
}

/* ---------------------------------------------------------------- limits */

static void a_chain_longer_than_the_depth_meets_the_limit(void **state) {
    (void)state;
    rule_program *program = fixture_program("[step] { ?a ex:next ?b . ?a ex:on 1 } => { ?b ex:on 1 } .");
    for (uint32_t depth = 4; depth <= 5; depth++) { /* four conclusions build on each other; the fifth round finds nothing */
        const rule_limits limits = {.max_depth = depth};
        fact_table table;
        fixture_table("ex:e ex:on 1 . ex:e ex:next ex:d . ex:d ex:next ex:c . ex:c ex:next ex:b . ex:b ex:next ex:a .", FACT_TABLE_DEFAULT, &table);
        const rule_verdict v = run(program, &table, &limits);
        assert_int_equal(v.outcome, depth == 4 ? RULES_LIMIT : RULES_OK);
        assert_int_equal(v.n_steps, depth);
        assert_true(depth == 5 || strstr(v.reason, "the limit; allow a greater depth") != NULL);
        fact_table_deinit(&table);
    }
    rule_program_free(program);
}

static void a_full_table_meets_the_limit(void **state) {
    fact_table table;
    (void)state;
    rule_program *program = fixture_program("[pairs] { ?a ex:p 1 . ?b ex:p 1 } => { ?a ex:with ?b } .");
    fixture_table("ex:a ex:p 1 . ex:b ex:p 1 . ex:c ex:p 1 .", 11, &table);
    const rule_verdict v = run(program, &table, &usual);
    assert_int_equal(v.outcome, RULES_LIMIT);
    assert_non_null(strstr(v.reason, "table of 11 facts is full at rule pairs"));
    assert_int_equal(table.n_facts, 11);
    fact_table_deinit(&table);
    rule_program_free(program);
}

static void a_table_grows_while_a_rule_walks_through_it(void **state) {
    static char facts[40 * 32];
    size_t at = 0;
    fact_table table;
    (void)state;
    rule_program *program = fixture_program("{ ?a ex:p 1 . ?b ex:p 1 } => { ?a ex:with ?b } . { ?a ex:with ?b } => { ?b ex:beside ?a } .");
    for (int i = 0; i < 40; i++) {
        at += (size_t)snprintf(facts + at, 32, "ex:n%d ex:p 1 .\n", i);
    }
    fixture_table(facts, FACT_TABLE_DEFAULT, &table);
    const rule_verdict v = run(program, &table, &usual);
    assert_int_equal(v.outcome, RULES_OK);
    assert_int_equal(v.n_derived, 2 * 40 * 40);
    assert_true(fixture_has(&table, "ex:n39 ex:beside ex:n0"));
    fact_table_deinit(&table);
    rule_program_free(program);
}

/* Six premises that join everything with everything: 300 to the sixth. */
static void a_join_that_explodes_meets_the_limit(void **state) {
    const rule_limits limits = {.max_work = 100000};
    static char facts[300 * 32];
    size_t at = 0;
    fact_table table;
    (void)state;
    rule_program *program = fixture_program("{ ?a ex:p 1 . ?b ex:p 1 . ?c ex:p 1 . ?d ex:p 1 . ?e ex:p 1 . ?f ex:q 1 } => false .");
    for (int i = 0; i < 300; i++) {
        at += (size_t)snprintf(facts + at, 32, "ex:n%d ex:p 1 .\n", i);
    }
    fixture_table(facts, FACT_TABLE_DEFAULT, &table);
    const rule_verdict v = run(program, &table, &limits);
    assert_int_equal(v.outcome, RULES_LIMIT);
    assert_non_null(strstr(v.reason, "more than 100000 looks"));
    fact_table_deinit(&table);
    rule_program_free(program);
}

static void candidates_and_scope_that_do_not_fit_meet_the_limit(void **state) {
    const rule_limits limits = {.max_facts = 2};
    fact_table scope, table;
    rule_verdict v;
    (void)state;
    rule_program *program = fixture_program("{ ?a ex:p ?b } => { ?b ex:q ?a } .");
    fixture_table("ex:a ex:p 1 . ex:b ex:p 1 . ex:c ex:p 1 .", FACT_TABLE_DEFAULT, &scope);
    const fact_source source = fact_table_source(&scope);
    assert_int_equal(rules_check(program, &source, NULL, 0, &limits, &table, &v, NULL), QN_OK);
    assert_int_equal(v.outcome, RULES_LIMIT);
    assert_non_null(strstr(v.reason, "more than 2 facts"));
    fact_table_deinit(&table);
    fact_table_deinit(&scope);
    rule_program_free(program);
}

/* ---------------------------------------------------------------- scope, consequences, proofs */

static void the_scope_gives_only_what_a_premise_could_match(void **state) {
    fact_table scope, candidates, table;
    rule_verdict v;
    (void)state;
    rule_program *program = fixture_program("{ ?a ex:p ?b . ?b a ex:Known } => { ?a ex:q ?b } .");
    fixture_table("ex:k a ex:Known . ex:u a ex:Unknown . ex:k ex:other 1 .", FACT_TABLE_DEFAULT, &scope);
    fixture_table("ex:x ex:p ex:k .", FACT_TABLE_DEFAULT, &candidates);
    const fact_source source = fact_table_source(&scope);
    fact *facts = fixture_facts(&candidates);
    assert_int_equal(rules_check(program, &source, facts, candidates.n_facts, &usual, &table, &v, NULL), QN_OK);
    assert_int_equal(v.outcome, RULES_OK);
    assert_int_equal(v.n_given, 2);
    assert_true(fixture_has(&table, "ex:x ex:q ex:k"));
    assert_int_equal(fixture_find(&table, "ex:x ex:p ex:k"), 0); /* candidates stand in front */
    free(facts);
    fact_table_deinit(&table);
    fact_table_deinit(&candidates);
    fact_table_deinit(&scope);
    rule_program_free(program);
}

static void a_consequence_has_a_proof(void **state) {
    static const fact claim = {{{"<http://e/a>", 12}, {"<http://e/anc>", 14}, {"<http://e/d>", 12}}};
    static const fact wrong = {{{"<http://e/d>", 12}, {"<http://e/anc>", 14}, {"<http://e/a>", 12}}};
    fact_table table;
    rule_verdict v;
    uint32_t number, *proof, n;
    (void)state;
    rule_program *program = fixture_program("[base] { ?a ex:parent ?b } => { ?a ex:anc ?b } . [more] { ?a ex:anc ?b . ?b ex:parent ?c } => { ?a ex:anc ?c } .");
    fixture_table("ex:a ex:parent ex:b . ex:b ex:parent ex:c . ex:c ex:parent ex:d . ex:d ex:parent ex:e .", FACT_TABLE_DEFAULT, &table);
    assert_int_equal(rules_derive(program, &table, &usual, &claim, &number, &v, NULL), QN_OK);
    assert_int_not_equal(number, FACT_NONE);
    assert_int_equal(rules_proof(&table, number, &proof, &n, NULL), QN_OK);
    assert_int_equal(n, 6); /* three parents; anc of one, two and three steps */
    assert_int_equal(proof[n - 1], number);
    for (uint32_t i = 0; i < n; i++) {
        const fact_origin *origin = &table.facts[proof[i]].origin;
        for (uint32_t j = 0; j < origin->n_premises; j++) {
            bool is_before = false;
            for (uint32_t k = 0; k < i; k++) {
                is_before = is_before || proof[k] == origin->premises[j];
            }
            assert_true(is_before);
        }
    }
    free(proof);
    assert_int_equal(rules_derive(program, &table, &usual, &wrong, &number, &v, NULL), QN_OK);
    assert_int_equal(number, FACT_NONE);
    fact_table_deinit(&table);
    rule_program_free(program);
}

static void the_same_run_twice_says_the_same(void **state) {
    (void)state;
    rule_program *program = fixture_program("{ ?a ex:p ?b . ?b ex:p ?c } => { ?a ex:p ?c } . { ?a ex:p ?b } -o { ?b ex:q ?a } .");
    fact_table tables[2];
    rule_verdict v[2];
    for (int i = 0; i < 2; i++) {
        fixture_table("ex:a ex:p ex:b . ex:b ex:p ex:c . ex:c ex:p ex:a .", FACT_TABLE_DEFAULT, &tables[i]);
        v[i] = run(program, &tables[i], &usual);
    }
    assert_int_equal(v[0].n_work, v[1].n_work);
    assert_int_equal(tables[0].n_facts, tables[1].n_facts);
    for (uint32_t i = 0; i < tables[0].n_facts; i++) {
        assert_memory_equal(tables[0].facts[i].terms, tables[1].facts[i].terms, sizeof tables[0].facts[i].terms);
    }
    fact_table_deinit(&tables[0]);
    fact_table_deinit(&tables[1]);
    rule_program_free(program);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_conclude_what_they_say_and_nothing_else),
        cmocka_unit_test(a_denial_tells_rule_message_bindings_and_premises),
        cmocka_unit_test(definite_and_plausible_are_told_apart),
        cmocka_unit_test(a_chain_longer_than_the_depth_meets_the_limit),
        cmocka_unit_test(a_full_table_meets_the_limit),
        cmocka_unit_test(a_table_grows_while_a_rule_walks_through_it),
        cmocka_unit_test(a_join_that_explodes_meets_the_limit),
        cmocka_unit_test(candidates_and_scope_that_do_not_fit_meet_the_limit),
        cmocka_unit_test(the_scope_gives_only_what_a_premise_could_match),
        cmocka_unit_test(a_consequence_has_a_proof),
        cmocka_unit_test(the_same_run_twice_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
