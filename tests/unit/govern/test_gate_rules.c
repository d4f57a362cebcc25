/* test_gate_rules.c — answers in Notation3 under shapes and rules, over a volume with words. */
#include "govern_fixture.h"

#define SCOPE "http://h.example/g"
#define GRAPH \
    "<http://h.example/petrel> <http://h.example/skipper> <http://h.example/ana> <http://h.example/g> .\n" \
    "<http://h.example/petrel> <http://h.example/length> \"14\"^^<http://www.w3.org/2001/XMLSchema#integer> <http://h.example/g> .\n" \
    "<http://h.example/ana> <http://h.example/boss> <http://h.example/bo> <http://h.example/g> .\n" \
    "<http://h.example/bo> <http://h.example/boss> <http://h.example/cy> <http://h.example/g> .\n" \
    "<http://h.example/secret> <http://h.example/skipper> <http://h.example/bo> <http://h.example/other> .\n"
#define PREFIX "@prefix h: <http://h.example/> . "
#define SHAPES \
    "@prefix sh: <http://www.w3.org/ns/shacl#> .\n@prefix h: <http://h.example/> .\n@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n" \
    "h:BoatShape sh:targetSubjectsOf h:length ; sh:property [ sh:path h:length ; sh:datatype xsd:integer ; sh:maxInclusive 100 ] .\n"
#define RULES \
    PREFIX "[above] { ?a h:boss ?b } => { ?a h:under ?b } .\n[chain] { ?a h:under ?b . ?b h:boss ?c } => { ?a h:under ?c } .\n" \
    "[own] { ?a h:boss ?a } => { ?a <urn:quoin:denied> \"nobody is their own boss\" } .\n"

typedef struct rules_row {
    const char *name, *answer, *more;
    governed_outcome outcome;
    gate_code code;
} rules_row;

static const rules_row rows[] = {
    {"a fact is committed", PREFIX "h:petrel h:skipper h:ana .", "", OUTCOME_COMMITTED, CODE_NONE},
    {"one with a number as well", PREFIX "h:petrel h:length 14 .", "", OUTCOME_COMMITTED, CODE_NONE},
    {"one with another number is looked at", PREFIX "h:petrel h:length 15 .", "", OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
    {"and contradicts when there can be one only", PREFIX "h:petrel h:length 15 .",
     "[predicate http://h.example/length]\nfunctional = yes\n", OUTCOME_REVIEW, CODE_CONTRADICTED},
    {"a fact of a graph that is not granted counts for nothing", PREFIX "h:secret h:skipper h:cy .", "[grounding]\nweak = 0.5\n",
     OUTCOME_BLOCKED, CODE_GROUNDING},
    {"what no shape allows is blocked", PREFIX "h:petrel h:length 140 .", "[rules]\nshapes = s.ttl\n", OUTCOME_BLOCKED, CODE_N3},
    {"what shapes allow is not", PREFIX "h:petrel h:length 14 .", "[rules]\nshapes = s.ttl\n", OUTCOME_COMMITTED, CODE_NONE},
    {"a predicate without a shape is told", PREFIX "h:petrel h:skipper h:ana .", "[rules]\nshapes = s.ttl\n", OUTCOME_COMMITTED, CODE_NONE},
    {"or blocked where the policy is closed", PREFIX "h:petrel h:skipper h:ana .", "[rules]\nshapes = s.ttl\npredicates = closed\n",
     OUTCOME_BLOCKED, CODE_N3},
    {"what a rule denies is blocked", PREFIX "h:bo h:boss h:bo .", "[rules]\nrules = r.n3\n", OUTCOME_BLOCKED, CODE_N3},
    {"rules that do not come to an end in time block", PREFIX "h:petrel h:skipper h:ana .", "[rules]\nrules = r.n3\ndepth = 1\n",
     OUTCOME_BLOCKED, CODE_N3},
    {"what follows from facts by rules is supported", PREFIX "h:ana h:under h:cy .", "[rules]\nrules = r.n3\n", OUTCOME_COMMITTED, CODE_NONE},
    {"and what does not is looked at", PREFIX "h:cy h:under h:ana .", "[rules]\nrules = r.n3\n", OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
    {"without the rules it is not", PREFIX "h:ana h:under h:cy .", "", OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
    {"a rule is a proposal", PREFIX "{ ?a h:boss ?b } => { ?b h:helps ?a } .", "", OUTCOME_REVIEW, CODE_RULE_PROPOSAL},
    {"beside a fact as well", PREFIX "h:petrel h:skipper h:ana . { ?a h:boss ?b } => { ?b h:helps ?a } .", "", OUTCOME_REVIEW,
     CODE_RULE_PROPOSAL},
    {"what is no Notation3 is blocked", "The skipper is Ana.", "", OUTCOME_BLOCKED, CODE_N3},
    {"so is a residue behind statements", PREFIX "h:petrel h:skipper h:ana . I think", "", OUTCOME_BLOCKED, CODE_N3},
    {"no statement at all is blocked", "# nothing", "", OUTCOME_BLOCKED, CODE_SIEVE},
};

static request *make_request(const rules_row *row) {
    char text[1024];
    snprintf(text, sizeof text, "[scope " SCOPE "]\nvolume = g.q42\n%s", row->more);
    fixture_graph("g.q42", GRAPH);
    fixture_write("s.ttl", SHAPES);
    fixture_write("r.n3", RULES);
    fixture_says = (fixture_answer){.text = row->answer, .n_tokens = 9};
    request *r = fixture_request(text);
    fixture_scope(r, SCOPE, NULL);
    r->mode = OUTPUT_N3;
    return r;
}

static void statements_are_judged_by_shapes_rules_and_facts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        request *r = make_request(&rows[i]);
        gates_run(r);
        if (r->outcome != rows[i].outcome || r->code != rows[i].code) {
            fail_msg("%s: %s (%s)\n%s", rows[i].name, governed_outcome_name(r->outcome), gate_code_word(r->code), fixture_last_audit());
        }
        fixture_release(r);
    }
}

static void a_derived_statement_has_a_proof_and_cites_no_fact_of_its_own(void **state) {
    (void)state;
    request *r = make_request(&rows[11]);
    gates_run(r);
    assert_int_equal(r->outcome, OUTCOME_COMMITTED);
    assert_int_equal(r->claims[0].n_steps, 4); /* two facts, the step between, the statement */
    assert_string_equal(r->claims[0].grounding, "supported");
    assert_int_equal(r->n_citations, 0);
    fixture_release(r);
}

static void statements_lie_in_the_graph_of_the_scope(void **state) {
    (void)state;
    request *r = make_request(&rows[0]);
    gates_run(r);
    assert_int_equal(r->claims[0].quin.context, q42_hash("<" SCOPE ">", strlen(SCOPE) + 2));
    assert_string_equal(r->claims[0].texts[3], "<" SCOPE ">");
    assert_int_equal(r->n_citations, 1);
    fixture_release(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(statements_are_judged_by_shapes_rules_and_facts, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_derived_statement_has_a_proof_and_cites_no_fact_of_its_own, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(statements_lie_in_the_graph_of_the_scope, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
