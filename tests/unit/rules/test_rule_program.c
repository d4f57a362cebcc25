/* test_rule_program.c — which rules are installed, and what each becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rules_fixture.h"

static void a_rule_becomes_its_steps(void **state) {
    static const struct {
        const char *rule;
        rule_op ops[12];
        uint32_t n_ops;
    } rows[] = {
        {"{ ?x ex:p ex:b } => { ?x ex:q 1 } .", {RULE_MATCH, RULE_BIND, RULE_EMIT, RULE_HALT_OK}, 4},
        {"{ ?x ex:p ?x } => { ?x ex:q 1 } .", {RULE_MATCH, RULE_BIND, RULE_BIND, RULE_TEST_EQ, RULE_EMIT, RULE_HALT_OK}, 6},
        {"{ ?x ex:p ?y . ?y ex:p ex:c } => false .", {RULE_MATCH, RULE_BIND, RULE_BIND, RULE_MATCH, RULE_HALT_FAIL}, 5},
        {"{ ?n math:lessThan 5 . ?x ex:p ?n . ?x ex:q 1 } => false .", {RULE_MATCH, RULE_BIND, RULE_BIND, RULE_TEST_NUM, RULE_MATCH, RULE_HALT_FAIL}, 6},
        {"{} => { ex:a ex:p 1 . ex:a ex:p 2 } .", {RULE_EMIT, RULE_EMIT, RULE_HALT_OK}, 3},
        {"{ ?x ex:p 1 } ~> { ?x ex:q 1 } . { ?x ex:r 1 } ^> { ?x ex:q ?any } . { ?x ex:r 1 } ^> { ?x ex:other 1 } .",
         {RULE_MATCH, RULE_BIND, RULE_UNLESS, RULE_EMIT, RULE_HALT_OK}, 5},
        {"{ _:x ex:p ?y } => { ?y ex:q 1 } .", {RULE_MATCH, RULE_BIND, RULE_BIND, RULE_EMIT, RULE_HALT_OK}, 5},
        {"{ ?x ex:p 1 } => { ?x <urn:quoin:denied> \"no\" } .", {RULE_MATCH, RULE_BIND, RULE_HALT_FAIL}, 3}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].rule);
        rule_program *program = fixture_program(rows[i].rule);
        const rule_step *steps = &program->steps[program->rules[0].first_step];
        for (uint32_t j = 0; j < rows[i].n_ops; j++) {
            assert_int_equal(steps[j].op, rows[i].ops[j]);
        }
        rule_program_free(program);
    }
}

static void a_rule_that_cannot_be_meant_is_refused_by_its_name(void **state) {
    static const struct {
        const char *rules, *words;
    } rows[] = {
        {"[r] { ?x ex:p 1 } => { ?y ex:q 1 } .", "rule r: ?y is in the conclusion and in no premise"},
        {"{ ?x ex:p 1 } => { ?x ex:q _:new } .", "would make new nodes"}, {"{ ?x ex:p 1 } => { \"l\" ex:q ?x } .", "no subject"},
        {"{ ?x ex:p 1 } ~> false .", "only => denies, not ~>"}, {"{ ?x ex:p 1 } -o { ?x <urn:quoin:denied> 1 } .", "only => denies"},
        {"{ ?x ex:p 1 } => { ?x <urn:quoin:denied> 1 . ?x ex:q 1 } .", "nothing else"}, {"{ ?x math:lessThan 5 } => false .", "no other premise gives"},
        {"{ ?x ex:p ?n . ?n math:sum 5 } => false .", "math#sum> is not offered"},
        {"{ ?x <http://www.w3.org/2000/10/swap/string#matches> 1 } => false .", "not offered"}, {"{ ?x ex:p ?n } => { ?n math:lessThan 5 } .", "no conclusion"},
        {"{ ?x ex:says { ex:a ex:b ex:c } } => false .", "a formula as a term"}, {"{ ?x ex:p 1 } => { ?x ex:q {} } .", "a formula as a term"},
        {"{ \"l\" ex:p ?x } => false .", "literal as subject"}, {"ex:a ex:p 1 . {} => { ex:a ex:p 1 } .", "outside of rules"}, {"", "no rule"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rule_program *program;
        error_context err = {.code = QN_OK};
        print_message("%s\n", rows[i].rules);
        assert_false(fixture_try_program(rows[i].rules, &program, &err));
        assert_int_equal(err.code, QN_BAD_INPUT);
        print_message("    %s\n", error_text(&err));
        assert_non_null(strstr(error_text(&err), rows[i].words));
    }
}

static void a_rule_without_a_name_is_named_by_its_line(void **state) {
    (void)state;
    rule_program *program = fixture_program("\n{} => { ex:a ex:p 1 } . [named] {} => false .");
    assert_true(texts_equal(program->rules[0].id, text_of("line 3")));
    assert_true(texts_equal(program->rules[1].id, text_of("named")));
    assert_true(program->rules[1].is_denial && !program->rules[0].is_denial);
    rule_program_free(program);
}

static void rules_and_steps_are_bounded(void **state) {
    static char text[RULES_MAX * 64 + 64];
    size_t at = 0;
    rule_program *program;
    error_context err = {.code = QN_OK};
    (void)state;
    for (uint32_t i = 0; i <= RULES_MAX; i++) {
        at += (size_t)snprintf(text + at, 64, "{} => false .\n");
    }
    assert_false(fixture_try_program(text, &program, &err));
    assert_int_equal(err.code, QN_LIMIT);
    error_clear(&err);
    at = 0;
    for (uint32_t i = 0; i < RULES_MAX; i++) { /* 512 times 512 that may stand against each other */
        at += (size_t)snprintf(text + at, 64, "{ ?x ex:p 1 } %s { ?x ex:q 1 } .\n", i % 2 == 0 ? "~>" : "^>");
    }
    assert_false(fixture_try_program(text, &program, &err));
    assert_int_equal(err.code, QN_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_becomes_its_steps),
        cmocka_unit_test(a_rule_that_cannot_be_meant_is_refused_by_its_name),
        cmocka_unit_test(a_rule_without_a_name_is_named_by_its_line),
        cmocka_unit_test(rules_and_steps_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
