/* test_gates_before.c — what is asked before a model computes anything: one row a rule. */
#include "govern_fixture.h"

#include "graph/file_digest.h"

#define SCOPE "http://h.example/g"

typedef struct case_row {
    const char *name;
    const char *policy;                 /* behind the least that it needs */
    void (*change)(request *r);         /* may be null */
    const char *gate;                   /* whose answer counts */
    gate_verdict verdict;
    gate_code code;
} case_row;

static char digest_hex[2 * Q42_DIGEST_BYTES + 1];

static void want_network(request *r) { r->needs_network = true; }
static void want_17_scopes(request *r) {
    for (uint32_t i = 0; i < 17; i++) {
        fixture_scope(r, SCOPE, NULL);
    }
}
static void want_17_namespaces(request *r) { r->n_namespaces = 17; }
static void want_constant(request *r) { fixture_scope(r, "0xDEADBABECAFE0042", NULL); }
static void be_adversarial(request *r) { r->intent = "llm:AdversarialOperation"; }
static void be_dishonest(request *r) { r->intent = "llm:DishonestOperation"; }
static void be_discriminatory(request *r) { r->intent = "llm:DiscriminatoryOperation"; }
static void be_inhuman(request *r) { r->intent = "llm:AntiHumanRightsOperation"; }
static void write_generally(request *r) { r->intent = "llm:WriteGraph"; }
static void write_in_frame(request *r) { r->intent = r->frame = "llm:WriteGraph"; }
static void write_in_another_frame(request *r) { r->intent = "llm:WriteGraph", r->frame = "llm:ReadGraph"; }
static void call_generally(request *r) { r->intent = "llm:ExternalCall"; }
static void summarize(request *r) { r->intent = "llm:Summarize"; }
static void clear_3(request *r) { r->clearance = 3; }
static void clear_2(request *r) { r->clearance = 2; }
static void use_profile(request *r) { r->profile = "reader"; }
static void use_no_profile(request *r) { r->profile = "writer"; }
static void have_no_intent(request *r) { r->intent = NULL; }
static void be_nobody(request *r) { r->principal = NULL; }

static const case_row intent_rows[] = {
    {"reading is let through", "", NULL, "intent", VERDICT_PASS, CODE_NONE},
    {"the network is refused", "", want_network, "intent", VERDICT_BLOCK, CODE_NETWORK},
    {"17 scopes are refused", "[scope " SCOPE "]\nvolume = v.q42\n", want_17_scopes, "intent", VERDICT_BLOCK, CODE_TOO_MANY_SCOPES},
    {"17 namespaces are refused", "", want_17_namespaces, "intent", VERDICT_BLOCK, CODE_TOO_MANY_SCOPES},
    {"the Sanctuary's constant is refused", "", want_constant, "intent", VERDICT_BLOCK, CODE_SANCTUARY},
    {"an adversarial intent is refused", "", be_adversarial, "intent", VERDICT_BLOCK, CODE_CONDUCT},
    {"a dishonest intent is refused", "", be_dishonest, "intent", VERDICT_BLOCK, CODE_CONDUCT},
    {"a discriminatory intent is refused", "", be_discriminatory, "intent", VERDICT_BLOCK, CODE_CONDUCT},
    {"an intent against human rights is refused", "", be_inhuman, "intent", VERDICT_BLOCK, CODE_CONDUCT},
    {"writing needs a frame of its own", "", write_generally, "intent", VERDICT_BLOCK, CODE_FRAME},
    {"writing in its frame is let through", "", write_in_frame, "intent", VERDICT_PASS, CODE_NONE},
    {"writing in a frame for reading is refused", "", write_in_another_frame, "intent", VERDICT_BLOCK, CODE_FRAME},
    {"a call outside needs a frame of its own", "", call_generally, "intent", VERDICT_BLOCK, CODE_FRAME},
    {"summarizing needs none", "", summarize, "intent", VERDICT_PASS, CODE_NONE},
    {"clearance 3 is refused", "", clear_3, "intent", VERDICT_BLOCK, CODE_SANCTUARY},
    {"clearance 2 is not", "", clear_2, "intent", VERDICT_PASS, CODE_NONE},
    {"a profile's list lacks the intent", "[profile reader]\nallow = llm:Chat\n", use_profile, "intent", VERDICT_BLOCK, CODE_PROFILE},
    {"a profile's list has it", "[profile reader]\nallow = llm:Chat llm:ReadGraph\n", use_profile, "intent", VERDICT_PASS, CODE_NONE},
    {"a profile without a list has everything", "[profile reader]\n", use_profile, "intent", VERDICT_PASS, CODE_NONE},
    {"a profile that is not there is refused", "[profile reader]\n", use_no_profile, "intent", VERDICT_BLOCK, CODE_PROFILE},
    {"no intent is refused", "", have_no_intent, "intent", VERDICT_BLOCK, CODE_INTENT},
    {"an intent off the policy's list is refused", "[intent]\nallow = llm:Chat\n", NULL, "intent", VERDICT_BLOCK, CODE_INTENT},
    {"one on it is not", "[intent]\nallow = llm:ReadGraph\n", NULL, "intent", VERDICT_PASS, CODE_NONE},
    {"nobody in particular is refused", "", be_nobody, "intent", VERDICT_BLOCK, CODE_PRINCIPAL},
    {"unless the policy says otherwise", "[agent]\nanonymous = yes\n", be_nobody, "intent", VERDICT_PASS, CODE_NONE},
};

static void run_rows(const case_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        request *r = fixture_request(rows[i].policy);
        if (rows[i].change != NULL) {
            rows[i].change(r);
        }
        fixture_says.n_calls = 0;
        gates_run(r);
        const gate_result *found = fixture_result(r, rows[i].gate);
        if (found->verdict != rows[i].verdict || found->code != rows[i].code) {
            fail_msg("%s: %s, %s: %s", rows[i].name, gate_verdict_name(found->verdict), gate_code_word(found->code), found->detail);
        }
        if (rows[i].verdict == VERDICT_BLOCK && (r->outcome != OUTCOME_BLOCKED || r->code != rows[i].code || fixture_says.n_calls != 0)) {
            fail_msg("%s: outcome %s, the model was asked %u times", rows[i].name, governed_outcome_name(r->outcome), fixture_says.n_calls);
        }
        if (strstr(fixture_last_audit(), gate_code_word(rows[i].code)) == NULL) {
            fail_msg("%s: not in the log:\n%s", rows[i].name, fixture_last_audit());
        }
        fixture_release(r);
    }
}

static void each_rule_about_intents_says_no_when_it_should(void **state) {
    (void)state;
    run_rows(intent_rows, sizeof intent_rows / sizeof intent_rows[0]);
}

static void conduct_is_recorded_in_two_statements_that_are_committed(void **state) {
    (void)state;
    request *r = fixture_request("");
    be_inhuman(r);
    gates_run(r);
    assert_int_equal(r->n_records, 2);
    assert_int_equal(r->records[0].object, UINT64_C(1) << 60 | 100);
    assert_int_equal(r->records[0].metadata, (FIXTURE_START & UINT32_MAX) | UINT64_C(1) << 32);
    assert_int_equal(r->records[0].parity, q42_quin_parity(&r->records[0]));
    assert_int_equal(q42_object_value(r->records[1].object), FIXTURE_START);
    assert_int_equal(fixture_count_quins(), 2);
    fixture_release(r);
}

/* ---------------------------------------------------------------- scopes */

static void have_scope(request *r) { fixture_scope(r, SCOPE, NULL); }
static void have_scope_lan(request *r) { fixture_scope(r, SCOPE, NULL), r->world.where = DESTINATION_LAN, r->label = 0; }

static void make_volumes(void) {
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, 0);
    uint8_t digest[Q42_DIGEST_BYTES];
    fixture_volume("open.q42", &quin, 1, false);
    assert_int_equal(file_digest(fixture_volume("closed.q42", &quin, 1, true), NULL, NULL, digest, NULL), QN_OK);
    for (size_t i = 0; i < sizeof digest; i++) {
        snprintf(digest_hex + 2 * i, 3, "%02x", digest[i]);
    }
}

#define OPEN_SCOPE "[scope " SCOPE "]\nvolume = open.q42\n"
#define CLOSED_SCOPE "[scope " SCOPE "]\nvolume = closed.q42\n"

static void a_scope_is_granted_only_when_it_is_known_unchanged_and_no_misplaced_sanctuary(void **state) {
    static char named[512], wrong[512];
    (void)state;
    make_volumes();
    snprintf(named, sizeof named, CLOSED_SCOPE "digest = sha256:%s\n", digest_hex);
    snprintf(wrong, sizeof wrong, OPEN_SCOPE "digest = %s\n", digest_hex);
    const case_row rows[] = {
        {"a known scope is granted", OPEN_SCOPE, have_scope, "scope", VERDICT_PASS, CODE_NONE},
        {"one that the policy does not have is not", "", have_scope, "scope", VERDICT_BLOCK, CODE_SCOPE_UNKNOWN},
        {"one without a volume is not", "[scope " SCOPE "]\n", have_scope, "scope", VERDICT_BLOCK, CODE_SCOPE_UNKNOWN},
        {"one whose volume is not there is not", "[scope " SCOPE "]\nvolume = no.q42\n", have_scope, "scope", VERDICT_BLOCK, CODE_SCOPE_FILE},
        {"one whose volume is another is not", wrong, have_scope, "scope", VERDICT_BLOCK, CODE_SCOPE_CHANGED},
        {"a Sanctuary by its volume's flag is not", CLOSED_SCOPE, have_scope, "scope", VERDICT_BLOCK, CODE_SANCTUARY},
        {"a Sanctuary by the policy is not", OPEN_SCOPE "sanctuary = yes\n", have_scope, "scope", VERDICT_BLOCK, CODE_SANCTUARY},
        {"a Sanctuary named by digest is", named, have_scope, "scope", VERDICT_PASS, CODE_NONE},
        {"but never for another machine", named, have_scope_lan, "scope", VERDICT_BLOCK, CODE_SANCTUARY},
    };
    run_rows(rows, sizeof rows / sizeof rows[0]);
}

/* ---------------------------------------------------------------- egress */

typedef struct egress_row {
    destination where;
    uint32_t label, fact_tier, scope_tier;
    bool is_let;
} egress_row;

static uint32_t gathered_tier;

static qn_status gather_one(void *ctx, request *r, error_context *err) {
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, (uint64_t)gathered_tier << 56);
    const uint32_t least = r->scopes[0].tier;
    const ground_fact fact = {.quin = quin, .tier = fact_tier(&quin, false, least)};
    (void)ctx;
    QN_TRY(fact_set_add(&r->facts, &fact, err), err, "gathering");
    return fact_set_seal(&r->facts, err);
}

static void the_highest_tier_in_the_prompt_decides_where_it_may_go(void **state) {
    static const egress_row rows[] = {
        {DESTINATION_LOCAL, POLICY_NONE, 0, 0, true}, {DESTINATION_LAN, POLICY_NONE, 0, 0, true},    {DESTINATION_REMOTE, POLICY_NONE, 0, 0, false},
        {DESTINATION_REMOTE, 0, 0, 0, true},          {DESTINATION_REMOTE, 0, 1, 0, false},          {DESTINATION_REMOTE, 0, 0, 1, false},
        {DESTINATION_LAN, 0, 1, 0, true},             {DESTINATION_LAN, 0, 2, 0, false},             {DESTINATION_LAN, 2, 0, 0, false},
        {DESTINATION_LOCAL, 4, 4, 4, true},           {DESTINATION_LAN, 1, 1, 1, true},              {DESTINATION_LAN, 0, 0, 3, false},
    };
    (void)state;
    make_volumes();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, OPEN_SCOPE "tier = %u\n", rows[i].scope_tier);
        request *r = fixture_request(text);
        fixture_scope(r, SCOPE, NULL);
        r->world.gather = gather_one;
        r->n_facts_wanted = 1;
        r->world.where = rows[i].where;
        r->label = rows[i].label;
        gathered_tier = rows[i].fact_tier;
        gates_run(r);
        const gate_result *found = fixture_result(r, "egress");
        if ((found->verdict == VERDICT_PASS) != rows[i].is_let || (!rows[i].is_let && r->code != CODE_EGRESS)) {
            fail_msg("row %zu: %s", i, found->detail);
        }
        fixture_release(r);
    }
}

static void keywords_block_only_when_the_policy_wants_the_old_rule(void **state) {
    static const char words[] = "a CLASSIFIED quantum matter";
    (void)state;
    for (int is_on = 0; is_on < 2; is_on++) {
        request *r = fixture_request(is_on ? "[egress]\nkeyword_compat = yes\n" : "");
        r->prompt = (fmt_str){words, sizeof words - 1};
        gates_run(r);
        assert_int_equal(r->outcome, is_on ? OUTCOME_BLOCKED : OUTCOME_COMPLETED);
        assert_int_equal(r->code, is_on ? CODE_KEYWORD : CODE_NONE);
        fixture_release(r);
    }
}

/* ---------------------------------------------------------------- cancel, thermal, identity */

static void a_cancelled_request_asks_no_further_gate(void **state) {
    const uint32_t cancel = 1;
    (void)state;
    request *r = fixture_request("");
    r->world.cancel = &cancel;
    gates_run(r);
    assert_int_equal(r->code, CODE_CANCELLED);
    assert_int_equal(r->n_results, 2); /* and the report */
    fixture_release(r);
}

static void a_hot_machine_does_only_what_is_critical(void **state) {
    (void)state;
    const case_row rows[] = {{"critical heat blocks", "", NULL, "thermal", VERDICT_BLOCK, CODE_THERMAL},
                             {"but not what the policy calls critical", "[intent]\ncritical = llm:ReadGraph\n", NULL, "thermal", VERDICT_NOTE,
                              CODE_NONE}};
    fixture_celsius = 85.1;
    run_rows(rows, 2);
    fixture_celsius = 85.0;
    const case_row warm = {"85.0 is warm and noted", "", NULL, "thermal", VERDICT_NOTE, CODE_NONE};
    run_rows(&warm, 1);
    fixture_celsius = 65.0;
    const case_row cool = {"65.0 is cool", "", NULL, "thermal", VERDICT_PASS, CODE_NONE};
    run_rows(&cool, 1);
    fixture_celsius = -1.0;
    const case_row unknown = {"no sensor is noted", "", NULL, "thermal", VERDICT_NOTE, CODE_NONE};
    run_rows(&unknown, 1);
}

static void who_acts_is_said_in_two_statements_with_right_parity(void **state) {
    (void)state;
    request *r = fixture_request("");
    gates_run(r);
    assert_true(r->has_identity);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(r->identity[i].subject, q42_hash(FIXTURE_AGENT, strlen(FIXTURE_AGENT)));
        assert_int_equal(r->identity[i].parity, q42_quin_parity(&r->identity[i]));
    }
    assert_int_equal(r->identity[1].object, q42_hash(FIXTURE_PRINCIPAL, strlen(FIXTURE_PRINCIPAL)));
    fixture_release(r);
}

static void a_dry_run_asks_everything_and_computes_and_writes_nothing(void **state) {
    char path[CORPUS_PATH_SIZE + 8];
    uint32_t n;
    (void)state;
    request *r = fixture_request("");
    be_dishonest(r);
    r->is_dry = true;
    gates_run(r);
    gate_rows(&n);
    assert_int_equal(r->n_results, n);
    assert_int_equal(fixture_result(r, "intent")->verdict, VERDICT_BLOCK);
    assert_int_equal(fixture_result(r, "infer")->verdict, VERDICT_SKIPPED);
    assert_int_equal(fixture_says.n_calls, 0);
    snprintf(path, sizeof path, "%s/log", fixture_folder);
    assert_null(fopen(path, "r"));
    fixture_release(r);
}

static void seventeen_scopes_in_a_dry_run_are_told_and_sixteen_looked_at(void **state) {
    const q42_quin quin = q42_quin_make(1, 2, 3, 0, 0);
    (void)state;
    fixture_volume("open.q42", &quin, 1, false);
    request *r = fixture_request(OPEN_SCOPE);
    want_17_scopes(r);
    r->is_dry = true;
    gates_run(r);
    assert_int_equal(fixture_result(r, "intent")->code, CODE_TOO_MANY_SCOPES);
    assert_int_equal(fixture_result(r, "scope")->verdict, VERDICT_PASS);
    assert_int_equal(r->n_volumes, 16);
    fixture_release(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_rule_about_intents_says_no_when_it_should, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(conduct_is_recorded_in_two_statements_that_are_committed, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_scope_is_granted_only_when_it_is_known_unchanged_and_no_misplaced_sanctuary, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(the_highest_tier_in_the_prompt_decides_where_it_may_go, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(keywords_block_only_when_the_policy_wants_the_old_rule, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_cancelled_request_asks_no_further_gate, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_hot_machine_does_only_what_is_critical, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(who_acts_is_said_in_two_statements_with_right_parity, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(seventeen_scopes_in_a_dry_run_are_told_and_sixteen_looked_at, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(a_dry_run_asks_everything_and_computes_and_writes_nothing, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
