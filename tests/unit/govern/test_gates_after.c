/* test_gates_after.c — what is asked behind the model, what is written, and what comes out. */
#include "govern_fixture.h"

#include "wal/wal_set.h"

#define SCOPE "http://h.example/g"
#define GRAPHS "[request]\noutput = graph\n"

static void claim(uint64_t subject, uint64_t context) {
    fixture_says.claims[fixture_says.n_claims++] =
        q42_quin_make(subject, q42_hash("http://h.example/p", 18), UINT64_C(1) << 60 | 7, context, 0);
}

/* A request for statements, with a scope whose volume has those that are claimed, but for the ones that a test takes away. */
static request *structured(const char *more) {
    char text[2048];
    fixture_volume("open.q42", fixture_says.claims, fixture_says.n_claims, false);
    snprintf(text, sizeof text, "%s%s", strstr(more, "[scope") == NULL ? "[scope " SCOPE "]\nvolume = open.q42\n" : "", more);
    request *r = fixture_request(text);
    fixture_scope(r, SCOPE, NULL);
    r->mode = OUTPUT_GRAPH;
    return r;
}

static void assert_outcome(request *r, governed_outcome outcome, gate_code code, int status) {
    gates_run(r);
    if (r->outcome != outcome || r->code != code) {
        fail_msg("%s (%s):\n%s", governed_outcome_name(r->outcome), gate_code_word(r->code), fixture_last_audit());
    }
    assert_int_equal(governed_exit_status(r->outcome), status);
    if (strstr(fixture_last_audit(), governed_outcome_name(outcome)) == NULL) {
        fail_msg("the log says otherwise:\n%s", fixture_last_audit());
    }
}

/* ---------------------------------------------------------------- text */

static void text_is_completed_and_said_to_be_ungrounded(void **state) {
    (void)state;
    request *r = fixture_request("");
    assert_outcome(r, OUTCOME_COMPLETED, CODE_NONE, 0);
    assert_true(governed_may_show(r));
    assert_int_equal(fixture_result(r, "output")->code, CODE_UNGROUNDED);
    assert_non_null(strstr(fixture_result(r, "output")->detail, "UNGROUNDED"));
    assert_int_equal(fixture_count_quins(), 0);
    fixture_release(r);
}

typedef struct text_row {
    const char *name, *policy;
    fixture_answer says;
    governed_outcome outcome;
    gate_code code;
} text_row;

static void an_answer_that_is_not_right_is_not_shown(void **state) {
    static const text_row rows[] = {
        {"bytes that are no UTF-8", "", {.text = "\xc3(", .n_tokens = 1}, OUTCOME_BLOCKED, CODE_MALFORMED},
        {"the words for no statement", "", {.text = "[sieve-misaligned]", .n_tokens = 1}, OUTCOME_BLOCKED, CODE_SIEVE},
        {"more than 2048 tokens", "", {.text = "a", .n_tokens = 2049}, OUTCOME_BLOCKED, CODE_TOKEN_CEILING},
        {"more than the policy's tokens", "[limits]\ntokens = 4\n", {.text = "a", .n_tokens = 5}, OUTCOME_BLOCKED, CODE_TOKEN_CEILING},
        {"more memory than the policy's", "[limits]\nmemory = 4K\n", {.text = "a", .n_tokens = 1}, OUTCOME_BLOCKED, CODE_MEMORY},
        {"an answer that a sentinel ended", "", {.text = "a", .is_judged = true}, OUTCOME_BLOCKED, CODE_SENTINEL},
        {"a model that fails", "", {.text = "a", .status = QN_INTERNAL, .code = CODE_INFERENCE}, OUTCOME_FAILED, CODE_INFERENCE},
        {"a model that is not there", "", {.text = "a", .status = QN_NOT_FOUND, .code = CODE_NO_MODEL}, OUTCOME_FAILED, CODE_NO_MODEL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture_says = rows[i].says;
        request *r = fixture_request(rows[i].policy);
        print_message("%s\n", rows[i].name);
        assert_outcome(r, rows[i].outcome, rows[i].code, rows[i].outcome == OUTCOME_BLOCKED ? 12 : 13);
        assert_false(governed_may_show(r));
        fixture_release(r);
    }
}

static void without_a_model_nothing_is_made_up(void **state) {
    (void)state;
    request *r = fixture_request("");
    r->world.infer = NULL;
    assert_outcome(r, OUTCOME_FAILED, CODE_NO_MODEL, 13);
    assert_int_equal(r->answer.text.size, 0);
    fixture_release(r);
}

static void partial_text_is_shown_and_marked(void **state) {
    (void)state;
    fixture_says.is_partial = true;
    request *r = fixture_request("");
    assert_outcome(r, OUTCOME_COMPLETED, CODE_NONE, 0);
    assert_int_equal(fixture_result(r, "infer")->verdict, VERDICT_NOTE);
    assert_non_null(strstr(fixture_result(r, "infer")->detail, "partial"));
    fixture_release(r);
}

static qn_status gather_two(void *ctx, request *r, error_context *err) {
    const ground_fact facts[2] = {{.quin = q42_quin_make(1, 2, 3, 0, 0)}, {.quin = q42_quin_make(4, 5, 6, 0, 0)}};
    (void)ctx;
    QN_TRY(fact_set_add(&r->facts, &facts[0], err), err, "gathering");
    QN_TRY(fact_set_add(&r->facts, &facts[1], err), err, "gathering");
    r->facts.facts[1].id ^= 1; /* not what its id says */
    return fact_set_seal(&r->facts, err);
}

static void only_facts_that_are_what_their_id_says_are_cited_and_never_the_token(void **state) {
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, 0);
    (void)state;
    fixture_volume("open.q42", &quin, 1, false);
    request *r = fixture_request("[scope " SCOPE "]\nvolume = open.q42\n");
    fixture_scope(r, SCOPE, NULL);
    r->world.gather = gather_two;
    r->n_facts_wanted = 2;
    fixture_says.text = "It is low [1], or so they say [2, 7].";
    assert_outcome(r, OUTCOME_COMPLETED, CODE_NONE, 0);
    assert_int_equal(r->n_citations, 1);
    assert_int_equal(r->citations[0], request_fact_id(&quin));
    assert_int_not_equal(r->citations[0], r->token);
    assert_int_equal(r->n_false_citations, 2);
    assert_int_equal(fixture_result(r, "output")->verdict, VERDICT_PASS);
    fixture_release(r);
}

/* ---------------------------------------------------------------- statements */

static void a_statement_is_committed_with_its_authors_and_the_audit_in_one_unit(void **state) {
    (void)state;
    claim(11, 0);
    request *r = structured("");
    assert_outcome(r, OUTCOME_COMMITTED, CODE_NONE, 0);
    assert_true(r->has_receipt);
    assert_int_equal(fixture_count_quins(), 5); /* the claim, two attributions, two about who acts */
    assert_non_null(strstr(fixture_last_audit(), "commit pass"));
    assert_int_equal(r->claims[0].quin.context, 0);
    fixture_release(r);
}

static void a_partial_answer_is_never_committed(void **state) {
    (void)state;
    claim(11, 0);
    fixture_says.is_partial = true;
    request *r = structured("");
    assert_outcome(r, OUTCOME_BLOCKED, CODE_PARTIAL, 12);
    assert_int_equal(fixture_count_quins(), 0);
    fixture_release(r);
}

static void no_statement_where_one_was_asked_for_is_blocked(void **state) {
    (void)state;
    request *r = structured("");
    assert_outcome(r, OUTCOME_BLOCKED, CODE_SIEVE, 12);
    fixture_release(r);
}

static void a_statement_in_a_graph_that_was_not_granted_is_blocked(void **state) {
    (void)state;
    claim(11, 0);
    request *r = structured("");
    fixture_says.claims[0] = q42_quin_make(11, q42_hash("http://h.example/p", 18), UINT64_C(1) << 60 | 7, 99, 0);
    assert_outcome(r, OUTCOME_BLOCKED, CODE_SCOPE_CONTEXT, 12);
    assert_int_equal(fixture_count_quins(), 0);
    fixture_release(r);
}

/* ---------------------------------------------------------------- grounding */

typedef struct grounding_row {
    const char *name, *policy;
    q42_quin claim;
    governed_outcome outcome;
    gate_code code;
} grounding_row;

#define FUNCTIONAL "[predicate 0x0000000000000002]\nfunctional = yes\n"

static void a_statement_is_as_good_as_the_facts_behind_it(void **state) {
    const q42_quin facts[2] = {q42_quin_make(1, 2, 3, 0, 0), q42_quin_make(7, 8, 9, 0, 0)};
    const grounding_row rows[] = {
        {"the very fact", "", q42_quin_make(1, 2, 3, 0, 0), OUTCOME_COMMITTED, CODE_NONE},
        {"another object of a functional predicate", FUNCTIONAL, q42_quin_make(1, 2, 4, 0, 0), OUTCOME_REVIEW, CODE_CONTRADICTED},
        {"another object of any other predicate", "", q42_quin_make(1, 2, 4, 0, 0), OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
        {"another subject", "", q42_quin_make(5, 2, 3, 0, 0), OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
        {"one role alone", "", q42_quin_make(1, 5, 6, 0, 0), OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
        {"one role below the policy's score", "[grounding]\nweak = 0.5\n", q42_quin_make(1, 5, 6, 0, 0), OUTCOME_BLOCKED, CODE_GROUNDING},
        {"both ends in other roles", "", q42_quin_make(3, 5, 7, 0, 0), OUTCOME_REVIEW, CODE_GROUNDING_REVIEW},
        {"nothing at all", "", q42_quin_make(21, 22, 23, 0, 0), OUTCOME_BLOCKED, CODE_GROUNDING},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        print_message("%s\n", rows[i].name);
        fixture_says.n_claims = 0;
        request *r = structured(rows[i].policy);
        fixture_volume("open.q42", facts, 2, false);
        fixture_says.claims[0] = rows[i].claim;
        fixture_says.n_claims = 1;
        assert_outcome(r, rows[i].outcome, rows[i].code, rows[i].outcome == OUTCOME_REVIEW ? 10 : rows[i].outcome == OUTCOME_BLOCKED ? 12 : 0);
        assert_int_equal(r->n_citations, rows[i].outcome == OUTCOME_COMMITTED ? 1 : 0);
        assert_true((strstr(fixture_last_audit(), "claim review") != NULL) == (rows[i].outcome == OUTCOME_REVIEW));
        fixture_release(r);
    }
}

static void a_fact_of_a_graph_that_contradicts_itself_is_for_somebody_to_look_at(void **state) {
    const q42_quin facts[2] = {q42_quin_make(1, 2, 3, 0, 0), q42_quin_make(1, 2, 4, 0, 0)};
    (void)state;
    for (uint32_t functional = 0; functional < 2; functional++) {
        fixture_says.n_claims = 0;
        request *r = structured(functional ? FUNCTIONAL : "");
        fixture_volume("open.q42", facts, 2, false);
        fixture_says.claims[0] = facts[0];
        fixture_says.n_claims = 1;
        assert_outcome(r, functional ? OUTCOME_REVIEW : OUTCOME_COMMITTED, functional ? CODE_CONTRADICTED : CODE_NONE, functional ? 10 : 0);
        fixture_release(r);
    }
}

static void a_claim_is_no_evidence_for_itself(void **state) {
    const q42_quin fact = q42_quin_make(7, 8, 9, 0, 0);
    (void)state;
    fixture_says.n_claims = 0;
    request *r = structured("");
    fixture_volume("open.q42", &fact, 1, false);
    fixture_says.claims[0] = q42_quin_make(1, 2, 3, 0, 0);
    fixture_says.n_claims = 1;
    const uint64_t own[4] = {1, 2, 3, request_fact_id(&fixture_says.claims[0])};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(request_add_citation(r, own[i], NULL), QN_OK);
    }
    assert_outcome(r, OUTCOME_BLOCKED, CODE_GROUNDING, 12);
    fixture_release(r);
}

/* ---------------------------------------------------------------- signers */

static const char waits[] = "[predicate http://h.example/p]\nsuspend = yes\nsigners = did:example:bo did:example:cy\nthreshold = 2\nexpires = 1h\n";

static void a_statement_whose_predicate_needs_signers_waits(void **state) {
    (void)state;
    claim(11, 0);
    request *r = structured(waits);
    assert_outcome(r, OUTCOME_SUSPENDED, CODE_SIGNERS, 11);
    assert_int_not_equal(r->agreement, 0);
    assert_int_equal(fixture_count_quins(), 0);
    assert_int_equal(fixture_count_pending(), 1);
    const wal_agreement *one = wal_state_find(wal_get_state(r->log), r->agreement);
    assert_non_null(one);
    assert_int_equal(one->terms.threshold, 2);
    assert_int_equal(one->terms.n_signers, 2);
    assert_int_equal(one->terms.expires_ms, FIXTURE_START + 3600000);
    fixture_release(r);
}

static void a_statement_of_a_scope_that_needs_signers_waits_too(void **state) {
    (void)state;
    claim(11, q42_hash(SCOPE, strlen(SCOPE)));
    request *r = structured("[scope " SCOPE "]\nvolume = open.q42\nsuspend = yes\nsigners = did:example:bo\nthreshold = 1\n");
    assert_outcome(r, OUTCOME_SUSPENDED, CODE_SIGNERS, 11);
    fixture_release(r);
}

static void several_sections_name_all_signers_the_highest_threshold_and_the_shortest_time(void **state) {
    (void)state;
    claim(11, 0);
    request *r = structured("[scope " SCOPE "]\nvolume = open.q42\nsuspend = yes\nsigners = did:a did:b did:c\nthreshold = 3\nexpires = 2h\n"
                            "[predicate http://h.example/p]\nsuspend = yes\nsigners = did:b did:d\nthreshold = 1\nexpires = 1h\n");
    assert_outcome(r, OUTCOME_SUSPENDED, CODE_SIGNERS, 11);
    const wal_agreement *one = wal_state_find(wal_get_state(r->log), r->agreement);
    assert_int_equal(one->terms.n_signers, 4);
    assert_int_equal(one->terms.threshold, 3);
    assert_int_equal(one->terms.expires_ms, FIXTURE_START + 3600000);
    fixture_release(r);
}

static void more_than_eight_signers_are_refused(void **state) {
    (void)state;
    claim(11, 0);
    request *r = structured("[scope " SCOPE "]\nvolume = open.q42\nsuspend = yes\nsigners = a b c d e\n"
                            "[predicate http://h.example/p]\nsuspend = yes\nsigners = f g h i\n");
    assert_outcome(r, OUTCOME_FAILED, CODE_COMMIT, 13);
    assert_int_equal(fixture_count_pending(), 0);
    fixture_release(r);
}

static void details_have_nothing_that_moves_a_cursor(void **state) {
    gate_result one = {.gate = "output"};
    (void)state;
    gate_say(&one, VERDICT_NOTE, CODE_NONE, "a\x1b[2Jb\n%s", "\xc3");
    assert_string_equal(one.detail, "a?[2Jb?");
}

static void what_cannot_be_committed_failed_and_says_so(void **state) {
    char path[CORPUS_PATH_SIZE + 8];
    (void)state;
    claim(11, 0);
    request *r = structured("");
    snprintf(path, sizeof path, "%s/log", fixture_folder);
    fixture_write("log", "a file where the folder should be");
    gates_run(r);
    assert_int_equal(r->outcome, OUTCOME_FAILED);
    assert_int_equal(fixture_result(r, "commit")->code, CODE_COMMIT);
    assert_int_equal(fixture_result(r, "report")->code, CODE_AUDIT);
    assert_false(governed_may_show(r));
    assert_int_equal(remove(path), 0);
    fixture_release(r);
}

static void a_run_whose_record_cannot_be_written_is_not_completed(void **state) {
    (void)state;
    request *r = fixture_request("");
    fixture_write("log", "a file where the folder should be");
    gates_run(r);
    assert_int_equal(r->outcome, OUTCOME_FAILED);
    assert_int_equal(r->code, CODE_AUDIT);
    assert_false(governed_may_show(r));
    fixture_release(r);
}

static void a_commit_without_its_key_is_failed(void **state) {
    char text[256];
    policy rules;
    (void)state;
    claim(11, 0);
    request *r = structured("");
    snprintf(text, sizeof text, "[policy]\nversion = 7\n[agent]\ndid = did:a\n[commit]\nlog = log\nkey = no.key\n"
             "[scope " SCOPE "]\nvolume = open.q42\n");
    fixture_write("keyed.ini", text);
    char path[CORPUS_PATH_SIZE + 16];
    snprintf(path, sizeof path, "%s/keyed.ini", fixture_folder);
    assert_int_equal(policy_read(path, &rules, NULL), QN_OK);
    r->rules = &rules;
    assert_outcome(r, OUTCOME_FAILED, CODE_COMMIT, 13);
    assert_int_equal(fixture_count_quins(), 0);
    policy_free(&rules);
    fixture_release(r);
}

static void conduct_that_cannot_be_signed_is_failed_and_still_in_the_list(void **state) {
    char path[CORPUS_PATH_SIZE + 16];
    policy rules;
    (void)state;
    request *r = fixture_request("");
    fixture_write("keyed.ini", "[policy]\nversion = 7\n[agent]\ndid = did:a\n[commit]\nlog = log\nkey = no.key\n");
    snprintf(path, sizeof path, "%s/keyed.ini", fixture_folder);
    assert_int_equal(policy_read(path, &rules, NULL), QN_OK);
    r->rules = &rules;
    r->intent = "llm:DishonestOperation";
    gates_run(r);
    assert_int_equal(r->outcome, OUTCOME_FAILED);
    assert_int_equal(r->code, CODE_AUDIT);
    assert_true(r->is_logged);
    assert_non_null(strstr(fixture_last_audit(), "intent block conduct"));
    assert_non_null(strstr(fixture_last_audit(), "FAILED"));
    assert_int_equal(fixture_count_quins(), 0);
    policy_free(&rules);
    fixture_release(r);
}

/* ---------------------------------------------------------------- retention */

static size_t count_files(void) {
    char path[CORPUS_PATH_SIZE + 8];
    wal_set set = {0};
    snprintf(path, sizeof path, "%s/log", fixture_folder);
    assert_int_equal(wal_set_open(path, FMT_MODE_DEFAULT, NULL, NULL, &set, NULL), QN_OK);
    const size_t n = set.n_files;
    wal_set_close(&set);
    return n;
}

static void run_texts(const char *policy, int n) {
    for (int i = 0; i < n; i++) {
        request *r = fixture_request(policy);
        gates_run(r);
        assert_int_equal(r->outcome, OUTCOME_COMPLETED);
        fixture_release(r);
        fixture_time += 86400000;
    }
}

static void old_records_go_as_the_policy_says_but_statements_never(void **state) {
    (void)state;
    run_texts("[commit]\nrotate = 4K\n", 16);
    assert_true(count_files() > 3);
    run_texts("[commit]\nrotate = 4K\naudit_files = 2\naudit_days = 1000\n", 1);
    assert_true(count_files() > 3);
    run_texts("[commit]\nrotate = 4K\naudit_files = 2\n", 1);
    assert_int_equal(count_files(), 3);
    claim(11, 0);
    request *r = structured("[commit]\nrotate = 4K\naudit_files = 1\n");
    gates_run(r);
    assert_int_equal(r->outcome, OUTCOME_COMMITTED);
    fixture_release(r);
    fixture_says.n_claims = 0;
    run_texts("[commit]\nrotate = 4K\naudit_files = 1\naudit_days = 1\n", 12);
    assert_int_equal(fixture_count_quins(), 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(text_is_completed_and_said_to_be_ungrounded),
        TEST(an_answer_that_is_not_right_is_not_shown),
        TEST(without_a_model_nothing_is_made_up),
        TEST(partial_text_is_shown_and_marked),
        TEST(only_facts_that_are_what_their_id_says_are_cited_and_never_the_token),
        TEST(a_statement_is_committed_with_its_authors_and_the_audit_in_one_unit),
        TEST(a_partial_answer_is_never_committed),
        TEST(no_statement_where_one_was_asked_for_is_blocked),
        TEST(a_statement_in_a_graph_that_was_not_granted_is_blocked),
        TEST(a_statement_is_as_good_as_the_facts_behind_it),
        TEST(a_fact_of_a_graph_that_contradicts_itself_is_for_somebody_to_look_at),
        TEST(a_claim_is_no_evidence_for_itself),
        TEST(a_statement_whose_predicate_needs_signers_waits),
        TEST(a_statement_of_a_scope_that_needs_signers_waits_too),
        TEST(several_sections_name_all_signers_the_highest_threshold_and_the_shortest_time),
        TEST(more_than_eight_signers_are_refused),
        TEST(details_have_nothing_that_moves_a_cursor),
        TEST(what_cannot_be_committed_failed_and_says_so),
        TEST(a_run_whose_record_cannot_be_written_is_not_completed),
        TEST(a_commit_without_its_key_is_failed),
        TEST(conduct_that_cannot_be_signed_is_failed_and_still_in_the_list),
        TEST(old_records_go_as_the_policy_says_but_statements_never),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
