/* test_grounding.c — claims: what stands on facts, what speaks against them, what is only like them. */
#include "ground_fixture.h"

#include "ground/grounding.h"

/* Ids that are no terms of a volume: enough where facts are given by hand. */
enum { S = 101, P = 102, O = 103, C = 104, OTHER_S = 201, OTHER_P = 202, OTHER_O = 203, OTHER_C = 204 };

static const grounding_claim claim = {.subject = S, .predicate = P, .object = O};

static fact_set make_set(const q42_quin *quins, uint32_t n) {
    fact_set set = fact_set_empty();
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(fact_set_add(&set, &(ground_fact){.quin = quins[i]}, NULL), QN_OK);
    }
    assert_int_equal(fact_set_seal(&set, NULL), QN_OK);
    return set;
}

static grounding_result judge(const grounding_claim *c, const grounding_options *options) {
    grounding_result result;
    error_context err = {0};
    if (ground_claim(c, options, &result, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    return result;
}

/* The verdict on the claim with one fact in the prompt. */
static grounding_result judge_with(q42_quin fact, const uint64_t *functional, uint32_t n_functional) {
    fact_set set = make_set(&fact, 1);
    const grounding_options options = {.facts = &set, .functional = functional, .n_functional = n_functional};
    const grounding_result result = judge(&claim, &options);
    fact_set_free(&set);
    return result;
}

static void check(const char *row, const grounding_result *got, grounding_verdict verdict, double score) {
    if (got->verdict != verdict || got->score < score - 0.001 || got->score > score + 0.001) {
        fail_msg("%s: %s with %.3f, wanted %s with %.3f", row, grounding_verdict_name(got->verdict), (double)got->score,
                 grounding_verdict_name(verdict), score);
    }
}

static void the_table_of_scores_and_verdicts_holds(void **state) {
    (void)state;
    static const uint64_t functional[] = {P};
    static const struct {
        const char *name;
        uint64_t fact[3];
        bool is_functional;
        grounding_verdict verdict;
        double score;
    } rows[] = {
        {"the very statement", {S, P, O}, false, GROUNDING_SUPPORTED, 1},
        {"the very statement of a functional predicate", {S, P, O}, true, GROUNDING_SUPPORTED, 1},
        {"another object", {S, P, OTHER_O}, false, GROUNDING_WEAK, 2.0 / 3},
        {"another object of a functional predicate", {S, P, OTHER_O}, true, GROUNDING_CONTRADICTED, 2.0 / 3},
        {"another subject", {OTHER_S, P, O}, false, GROUNDING_WEAK, 2.0 / 3},
        {"another subject of a functional predicate", {OTHER_S, P, O}, true, GROUNDING_WEAK, 2.0 / 3},
        {"another predicate", {S, OTHER_P, O}, false, GROUNDING_WEAK, 2.0 / 3},
        {"one role: subject", {S, OTHER_P, OTHER_O}, false, GROUNDING_WEAK, 1.0 / 3},
        {"one role: predicate", {OTHER_S, P, OTHER_O}, false, GROUNDING_WEAK, 1.0 / 3},
        {"one role: object", {OTHER_S, OTHER_P, O}, false, GROUNDING_WEAK, 1.0 / 3},
        {"both ends in each other's place", {O, OTHER_P, S}, false, GROUNDING_WEAK, 0.5},
        {"one end elsewhere", {O, OTHER_P, OTHER_O}, false, GROUNDING_ABSENT, 0.25},
        {"the other end elsewhere", {OTHER_S, OTHER_P, S}, false, GROUNDING_ABSENT, 0.25},
        {"nothing in common", {OTHER_S, OTHER_P, OTHER_O}, false, GROUNDING_ABSENT, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const q42_quin fact = q42_quin_make(rows[i].fact[0], rows[i].fact[1], rows[i].fact[2], 0, 0);
        const grounding_result got = judge_with(fact, functional, rows[i].is_functional ? 1 : 0);
        check(rows[i].name, &got, rows[i].verdict, rows[i].score);
    }
}

static void without_facts_nothing_is_grounded(void **state) {
    (void)state;
    const grounding_result got = judge(&claim, &(grounding_options){.n_volumes = 0});
    check("no facts", &got, GROUNDING_ABSENT, 0);
    assert_int_equal(got.source, GROUNDING_BY_NOTHING);
}

static void zero_fields_are_equal_as_roles_and_are_no_ends(void **state) {
    (void)state;
    fact_set set = make_set(&(q42_quin){0}, 1); /* all zero, parity too */
    const grounding_options options = {.facts = &set};
    const grounding_claim zero = {.subject = 0, .predicate = P, .object = O};
    const grounding_result got = judge(&zero, &options);
    check("zero subject", &got, GROUNDING_WEAK, 1.0 / 3);
    assert_int_equal(got.n_ends, 0);
    fact_set_free(&set);
}

static void text_alone_is_not_evaluated(void **state) {
    (void)state;
    const grounding_result got = judge(NULL, &(grounding_options){.n_volumes = 0});
    assert_int_equal(got.verdict, GROUNDING_NOT_EVALUATED);
    assert_string_equal(grounding_verdict_name(got.verdict), "not evaluated");
}

static void verdicts_have_the_codes_of_the_seed(void **state) {
    (void)state;
    assert_true(grounding_verdict_code(GROUNDING_WEAK) == q42_hash("q42:GroundingRequiresReview", 27));
    assert_true(grounding_verdict_code(GROUNDING_CONTRADICTED) == grounding_verdict_code(GROUNDING_WEAK));
    assert_true(grounding_verdict_code(GROUNDING_ABSENT) == q42_hash("q42:GroundingRequired", 21));
    assert_true(grounding_verdict_code(GROUNDING_SUPPORTED) == 0 && grounding_verdict_code(GROUNDING_NOT_EVALUATED) == 0);
}

/* ------------------------------------------------------------------------------------------------- what counts */

static void facts_that_do_not_count_support_nothing(void **state) {
    (void)state;
    static const uint64_t granted[] = {C}, expiring[] = {P};
    const fact_rules rules = {
        .now_ms = 5000000, .is_scoped = true, .contexts = granted, .n_contexts = 1, .expiring = expiring, .n_expiring = 1};
    q42_quin quins[] = {q42_quin_make(S, P, O, OTHER_C, 0), q42_quin_make(S, P, O, C, 4999), q42_quin_make(S, P, O, C, 0)};
    static const fact_state wanted[] = {FACT_OUT_OF_SCOPE, FACT_EXPIRED, FACT_BAD_PARITY};
    quins[2].parity++;
    for (uint32_t i = 0; i < 3; i++) {
        fact_set set = make_set(&quins[i], 1);
        const grounding_options options = {.facts = &set, .rules = &rules};
        const grounding_result got = judge(&claim, &options);
        check(fact_state_name(wanted[i]), &got, GROUNDING_ABSENT, 0);
        assert_int_equal(got.n_states[wanted[i]], 1);
        fact_set_free(&set);
    }
}

static void a_claim_in_a_graph_is_supported_only_there(void **state) {
    (void)state;
    const q42_quin elsewhere = q42_quin_make(S, P, O, OTHER_C, 0), there = q42_quin_make(S, P, O, C, 0);
    const grounding_claim in_graph = {.subject = S, .predicate = P, .object = O, .has_context = true, .context = C};
    fact_set set = make_set(&elsewhere, 1), right = make_set(&there, 1);
    grounding_result got = judge(&in_graph, &(grounding_options){.facts = &set});
    check("another graph", &got, GROUNDING_WEAK, 1);
    got = judge(&in_graph, &(grounding_options){.facts = &right});
    check("its graph", &got, GROUNDING_SUPPORTED, 1);
    fact_set_free(&set);
    fact_set_free(&right);
}

static void a_statement_and_its_contradiction_are_supported_and_disputed(void **state) {
    (void)state;
    static const uint64_t functional[] = {P};
    const q42_quin quins[] = {q42_quin_make(S, P, OTHER_O, 0, 0), q42_quin_make(S, P, O, 0, 0)};
    fact_set set = make_set(quins, 2);
    const grounding_result got = judge(&claim, &(grounding_options){.facts = &set, .functional = functional, .n_functional = 1});
    check("both", &got, GROUNDING_SUPPORTED, 1);
    assert_true(got.is_disputed);
    assert_true(got.evidence.object == O);
    fact_set_free(&set);
}

/* ------------------------------------------------------------------------------------------------- citations */

typedef struct one_fact {
    q42_quin fact;
} one_fact;

static bool give_fact(void *ctx, uint64_t id, q42_quin *out_fact) {
    uint64_t own;
    *out_fact = ((one_fact *)ctx)->fact;
    return fact_make_id(out_fact, &own, NULL) == QN_OK && own == id;
}

static uint64_t id_of(q42_quin quin) {
    uint64_t id;
    assert_int_equal(fact_make_id(&quin, &id, NULL), QN_OK);
    return id;
}

static void a_cited_fact_is_evidence(void **state) {
    (void)state;
    one_fact known = {q42_quin_make(S, P, OTHER_O, 0, 0)};
    const fact_resolver resolver = {&known, give_fact};
    const uint64_t ids[] = {id_of(known.fact), 12345};
    const grounding_result got = judge(&claim, &(grounding_options){.citations = ids, .n_citations = 2, .resolver = &resolver});
    check("cited", &got, GROUNDING_WEAK, 2.0 / 3);
    assert_int_equal(got.source, GROUNDING_BY_CITATION);
    assert_int_equal(got.n_unresolved, 1);
}

static bool give_claim(void *ctx, uint64_t id, q42_quin *out_fact) {
    (void)ctx;
    (void)id;
    *out_fact = q42_quin_make(S, P, O, 0, 0);
    return true;
}

static void a_claim_does_not_support_itself(void **state) {
    (void)state;
    const fact_resolver resolver = {NULL, give_claim};
    const uint64_t ids[] = {id_of(q42_quin_make(S, P, O, 0, 0)), S, P, O, q42_triple_id(S, P, O)};
    const grounding_result got = judge(&claim, &(grounding_options){.citations = ids, .n_citations = 5, .resolver = &resolver});
    check("itself", &got, GROUNDING_ABSENT, 0);
    assert_int_equal(got.n_refused, 5);
}

static bool give_claim_elsewhere(void *ctx, uint64_t id, q42_quin *out_fact) {
    (void)ctx;
    (void)id;
    *out_fact = q42_quin_make(S, P, O, C, 0);
    return true;
}

static void a_claim_in_another_graph_does_not_support_itself_either(void **state) {
    (void)state;
    const fact_resolver resolver = {NULL, give_claim_elsewhere};
    const uint64_t ids[] = {id_of(q42_quin_make(S, P, O, C, 0))};
    const grounding_result got = judge(&claim, &(grounding_options){.citations = ids, .n_citations = 1, .resolver = &resolver});
    check("itself elsewhere", &got, GROUNDING_ABSENT, 0);
    assert_int_equal(got.n_refused, 1);
}

static void the_same_statement_from_the_prompt_is_no_self_citation(void **state) {
    (void)state;
    const q42_quin fact = q42_quin_make(S, P, O, 0, 0);
    const uint64_t ids[] = {id_of(fact)};
    fact_set set = make_set(&fact, 1);
    const grounding_result got = judge(&claim, &(grounding_options){.facts = &set, .citations = ids, .n_citations = 1});
    check("from the prompt", &got, GROUNDING_SUPPORTED, 1);
    assert_int_equal(got.n_refused, 0);
    assert_int_equal(got.source, GROUNDING_BY_PROMPT);
    fact_set_free(&set);
}

/* ------------------------------------------------------------------------------------------------- rules */

/* P from S over OTHER_S to O: two given facts, one step between, and the claim. */
static qn_status derive_chain(void *ctx, const q42_quin *facts, uint32_t n_facts, derived_fact *out, uint32_t room, uint32_t *out_n,
                              error_context *err) {
    (void)room;
    (void)err;
    uint32_t first = UINT32_MAX, second = UINT32_MAX;
    for (uint32_t i = 0; i < n_facts; i++) {
        first = facts[i].subject == S && facts[i].object == OTHER_S ? i : first;
        second = facts[i].subject == OTHER_S && facts[i].object == O ? i : second;
    }
    *out_n = 0;
    if (first != UINT32_MAX && second != UINT32_MAX) {
        out[0] = (derived_fact){.fact = q42_quin_make(S, OTHER_P, O, 0, 0), .rule = 7, .n_premises = 2, .premises = {first, second}};
        out[1] = (derived_fact){.fact = q42_quin_make(S, P, O, 0, 0), .rule = 8, .n_premises = 1, .premises = {n_facts}};
        *out_n = 2;
    }
    if (ctx != NULL) { /* a rule that proves itself */
        out[1].premises[0] = n_facts + 1;
    }
    return QN_OK;
}

static const q42_quin *chain(void) {
    static q42_quin quins[3];
    quins[0] = q42_quin_make(S, OTHER_P, OTHER_S, 0, 0);
    quins[1] = q42_quin_make(1, 2, 3, 0, 0);
    quins[2] = q42_quin_make(OTHER_S, OTHER_P, O, 0, 0);
    return quins;
}

static void what_follows_by_rules_is_supported_with_its_proof(void **state) {
    (void)state;
    const fact_deriver rules = {NULL, derive_chain};
    fact_set set = make_set(chain(), 3);
    const grounding_result got = judge(&claim, &(grounding_options){.facts = &set, .rules_of = &rules});
    check("derived", &got, GROUNDING_SUPPORTED, 1);
    assert_int_equal(got.source, GROUNDING_BY_RULE);
    assert_int_equal(got.n_steps, 4); /* without the fact that has no part in it */
    assert_int_equal(got.proof[0].rule + got.proof[1].rule, 0);
    assert_true(got.proof[2].rule == 7 && got.proof[2].n_premises == 2);
    assert_true(got.proof[2].premises[0] == 0 && got.proof[2].premises[1] == 1);
    assert_true(got.proof[3].rule == 8 && got.proof[3].premises[0] == 2 && got.proof[3].fact.predicate == P);
    fact_set_free(&set);
}

static void rules_see_only_what_counts(void **state) {
    (void)state;
    q42_quin quins[3];
    const fact_deriver rules = {NULL, derive_chain};
    memcpy(quins, chain(), sizeof quins);
    quins[2].parity ^= 1;
    fact_set set = make_set(quins, 3);
    const grounding_result got = judge(&claim, &(grounding_options){.facts = &set, .rules_of = &rules});
    assert_int_equal(got.verdict, GROUNDING_WEAK);
    fact_set_free(&set);
}

static void a_proof_that_stands_on_itself_is_refused(void **state) {
    (void)state;
    int flag = 0;
    const fact_deriver rules = {&flag, derive_chain};
    fact_set set = make_set(chain(), 3);
    grounding_result result = {.verdict = 77};
    error_context err = {0};
    assert_int_equal(ground_claim(&claim, &(grounding_options){.facts = &set, .rules_of = &rules}, &result, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "derived fact 1"));
    assert_int_equal(result.verdict, 77);
    fact_set_free(&set);
}

/* ------------------------------------------------------------------------------------------------- volumes */

#define T(name) "<" E name ">"

static const fixture_row world[] = {{{T("Berlin"), T("capitalOf"), T("Germany")}, 0},
                                    {{T("Paris"), T("capitalOf"), T("France")}, 0},
                                    {{T("Bonn"), T("capitalOf"), T("FRG")}, 0},
                                    {{T("Bonn"), "<" PROV "wasInvalidatedBy>", T("treaty")}, 0},
                                    {{T("Berlin"), T("rumour"), T("Atlantis"), T("gossip")}, 0}};

static void check_in_world(const ground_volume *gv, const char *s, const char *p, const char *o, grounding_verdict verdict, double score) {
    const uint64_t functional[] = {fixture_id(T("capitalOf"))};
    const grounding_claim c = {.subject = fixture_id(s), .predicate = fixture_id(p), .object = fixture_id(o)};
    const grounding_result got =
        judge(&c, &(grounding_options){.volumes = gv, .n_volumes = 1, .functional = functional, .n_functional = 1});
    check(o, &got, verdict, score);
    assert_int_equal(got.source, verdict == GROUNDING_ABSENT && got.n_ends == 0 ? GROUNDING_BY_NOTHING : GROUNDING_BY_VOLUME);
}

static void claims_are_held_against_a_volume(void **state) {
    (void)state;
    fixture f;
    fixture_open_rows(&f, world);
    check_in_world(&f.gv, T("Berlin"), T("capitalOf"), T("Germany"), GROUNDING_SUPPORTED, 1);
    check_in_world(&f.gv, T("Berlin"), T("capitalOf"), T("France"), GROUNDING_CONTRADICTED, 2.0 / 3);
    check_in_world(&f.gv, T("Munich"), T("capitalOf"), T("Germany"), GROUNDING_WEAK, 2.0 / 3);
    check_in_world(&f.gv, T("Berlin"), T("twinOf"), T("Paris"), GROUNDING_WEAK, 0.5);
    check_in_world(&f.gv, T("Munich"), T("capitalOf"), T("Bavaria"), GROUNDING_WEAK, 1.0 / 3);
    check_in_world(&f.gv, T("Bavaria"), T("twinOf"), T("Paris"), GROUNDING_ABSENT, 0.25);
    check_in_world(&f.gv, T("Bavaria"), T("twinOf"), T("Utah"), GROUNDING_ABSENT, 0);
    fixture_close(&f);
}

static void what_a_volume_withdraws_or_a_scope_leaves_out_is_no_support(void **state) {
    (void)state;
    const uint64_t granted[] = {Q42_DEFAULT_GRAPH};
    const fact_rules rules = {.now_ms = FIXTURE_NOW, .is_scoped = true, .contexts = granted, .n_contexts = 1};
    fixture f;
    fixture_open(&f, world, sizeof world / sizeof world[0], false, &rules);
    check_in_world(&f.gv, T("Bonn"), T("capitalOf"), T("FRG"), GROUNDING_WEAK, 1.0 / 3);
    check_in_world(&f.gv, T("Berlin"), T("rumour"), T("Atlantis"), GROUNDING_WEAK, 1.0 / 3);
    fixture_close(&f);
}

/* x p y and y p z give x p z. */
static qn_status derive_transitive(void *ctx, const q42_quin *facts, uint32_t n_facts, derived_fact *out, uint32_t room, uint32_t *out_n,
                                   error_context *err) {
    (void)ctx;
    (void)err;
    *out_n = 0;
    for (uint32_t i = 0; i < n_facts; i++) {
        for (uint32_t k = 0; k < n_facts && *out_n < room; k++) {
            if (facts[i].predicate == facts[k].predicate && facts[i].object == facts[k].subject) {
                out[(*out_n)++] = (derived_fact){
                    .fact = {.subject = facts[i].subject, .predicate = facts[i].predicate, .object = facts[k].object},
                    .rule = 9,
                    .n_premises = 2,
                    .premises = {i, k}};
            }
        }
    }
    return QN_OK;
}

static void rules_are_given_what_a_volume_says_about_both_ends(void **state) {
    (void)state;
    static const fixture_row rows[] = {
        {{T("a"), T("in"), T("b")}, 0}, {{T("b"), T("in"), T("c")}, 0}, {{T("d"), T("in"), T("e")}, 0}};
    fixture f;
    fixture_open_rows(&f, rows);
    grounding_claim c = {.subject = fixture_id(T("a")), .predicate = fixture_id(T("in")), .object = fixture_id(T("c"))};
    const fact_deriver rules = {NULL, derive_transitive};
    const grounding_options options = {.volumes = &f.gv, .n_volumes = 1, .rules_of = &rules};
    grounding_result got = judge(&c, &options);
    check("derived", &got, GROUNDING_SUPPORTED, 1);
    assert_int_equal(got.n_steps, 3);
    assert_true(got.proof[2].fact.object == c.object && got.evidence.parity == q42_quin_parity(&got.evidence));
    c.object = fixture_id(T("e"));
    got = judge(&c, &options);
    check("not derived", &got, GROUNDING_WEAK, 2.0 / 3);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_scores_and_verdicts_holds),
        cmocka_unit_test(without_facts_nothing_is_grounded),
        cmocka_unit_test(zero_fields_are_equal_as_roles_and_are_no_ends),
        cmocka_unit_test(text_alone_is_not_evaluated),
        cmocka_unit_test(verdicts_have_the_codes_of_the_seed),
        cmocka_unit_test(facts_that_do_not_count_support_nothing),
        cmocka_unit_test(a_claim_in_a_graph_is_supported_only_there),
        cmocka_unit_test(a_statement_and_its_contradiction_are_supported_and_disputed),
        cmocka_unit_test(a_cited_fact_is_evidence),
        cmocka_unit_test(a_claim_does_not_support_itself),
        cmocka_unit_test(a_claim_in_another_graph_does_not_support_itself_either),
        cmocka_unit_test(the_same_statement_from_the_prompt_is_no_self_citation),
        cmocka_unit_test(what_follows_by_rules_is_supported_with_its_proof),
        cmocka_unit_test(rules_see_only_what_counts),
        cmocka_unit_test(a_proof_that_stands_on_itself_is_refused),
        cmocka_unit_test(claims_are_held_against_a_volume),
        cmocka_unit_test(what_a_volume_withdraws_or_a_scope_leaves_out_is_no_support),
        cmocka_unit_test(rules_are_given_what_a_volume_says_about_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
