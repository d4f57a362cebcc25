/* govern_fixture.c — worlds for requests. */
#include "govern_fixture.h"

#include "base/team.h"
#include "graph/ingest.h"
#include "graph/volume_writer.h"
#include "wal/wal_state.h"

char fixture_folder[CORPUS_PATH_SIZE];
uint64_t fixture_time;
double fixture_celsius;
fixture_answer fixture_says;

static policy rules;
static request one;
static request_scope scopes[64];
static thermal_monitor heat;
static char path_room[CORPUS_PATH_SIZE + 64];

int fixture_setup(void **state) {
    (void)state;
    test_make_folder(fixture_folder);
    fixture_time = FIXTURE_START;
    fixture_celsius = 40.0;
    fixture_says = (fixture_answer){.text = "The tide is low.", .n_tokens = 5};
    return 0;
}

int fixture_teardown(void **state) {
    (void)state;
    test_remove_tree(fixture_folder);
    return 0;
}

static const char *path_of(const char *name) {
    snprintf(path_room, sizeof path_room, "%s/%s", fixture_folder, name);
    return path_room;
}

void fixture_write(const char *name, const char *text) {
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

const char *fixture_volume(const char *name, const q42_quin *quins, uint32_t n, bool is_sanctuary) {
    const volume_writer_options options = {.memory = 64u << 20, .is_forced = true, .is_sanctuary = is_sanctuary, .timestamp_ms = 1};
    volume_writer *writer = NULL;
    volume_report report;
    team *workers = NULL;
    error_context err = {0};
    assert_int_equal(team_create(1, &workers, NULL), QN_OK);
    assert_int_equal(volume_writer_create(path_of(name), &options, workers, &writer, &err), QN_OK);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(volume_lane_add_quin(volume_writer_lane(writer, 0), &quins[i], &err), QN_OK);
    }
    if (volume_writer_commit(writer, &report, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    volume_writer_destroy(writer);
    team_destroy(workers);
    return path_of(name);
}

void fixture_graph(const char *name, const char *text) {
    char input[sizeof path_room], output[sizeof path_room];
    team *workers = NULL;
    ingest_report report;
    error_context err = {0};
    fixture_write("graph.nq", text);
    snprintf(input, sizeof input, "%s", path_of("graph.nq"));
    snprintf(output, sizeof output, "%s", path_of(name));
    const char *const inputs[] = {input};
    const ingest_options options = {.inputs = inputs, .n_inputs = 1, .terms = TERMS_SURFACE,
                                    .volume = {.memory = 64u << 20, .is_forced = true, .is_marked = true, .timestamp_ms = 1}};
    assert_int_equal(team_create(1, &workers, NULL), QN_OK);
    if (ingest_run(output, &options, workers, &report, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    team_destroy(workers);
}

/* ---------------------------------------------------------------- the world */

static uint64_t read_time(void *ctx) {
    (void)ctx;
    return fixture_time;
}

static double read_seconds(void *ctx) {
    (void)ctx;
    return (double)fixture_time / 1e3;
}

static bool read_heat(void *ctx, double *out) {
    (void)ctx;
    *out = fixture_celsius;
    return fixture_celsius >= 0.0;
}

static qn_status answer(void *ctx, request *r, gate_code *out_code, error_context *err) {
    static const char *const texts[4] = {"http://h.example/s", "http://h.example/p", NULL, NULL};
    (void)ctx;
    fixture_says.n_calls++;
    if (fixture_says.status < 0) {
        *out_code = fixture_says.code;
        return FAIL(err, fixture_says.status, "the model fails");
    }
    text_buffer_append(&r->answer.text, fixture_says.text, strlen(fixture_says.text));
    r->answer.n_tokens = fixture_says.n_tokens;
    r->answer.is_partial = fixture_says.is_partial;
    r->answer.is_judged = fixture_says.is_judged;
    r->answer.stop_reason = fixture_says.is_partial ? "deadline" : "stop";
    for (uint32_t i = 0; i < fixture_says.n_claims; i++) {
        QN_TRY(request_add_claim(r, &fixture_says.claims[i], texts, err), err, "answering");
    }
    return QN_OK;
}

request *fixture_request(const char *more) {
    char text[8192];
    error_context err = {0};
    snprintf(text, sizeof text, "[policy]\nversion = 7\n[agent]\ndid = " FIXTURE_AGENT "\nprincipal = " FIXTURE_PRINCIPAL
             "\n[commit]\nlog = log\nunsigned = yes\n%s", more);
    fixture_write("policy.ini", text);
    request_init(&one);
    if (policy_read(path_of("policy.ini"), &rules, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    heat = (thermal_monitor){.read = read_heat, .warm = 65, .critical = 85, .hysteresis = 5, .last_seconds = -1};
    one.rules = &rules;
    one.intent = "llm:ReadGraph";
    one.agent = FIXTURE_AGENT;
    one.principal = rules.is.agent.principal;
    one.scopes = scopes;
    one.prompt = (fmt_str){"How low is the tide?", 20};
    one.world = (request_world){.now_ms = read_time, .seconds = read_seconds, .heat = &heat, .infer = answer};
    return &one;
}

void fixture_release(request *r) {
    request_deinit(r);
    policy_free(&rules);
}

void fixture_scope(request *r, const char *name, const char *path) {
    r->scopes[r->n_scopes++] = (request_scope){.name = name, .path = path};
}

const gate_result *fixture_result(const request *r, const char *gate) {
    for (uint32_t i = 0; i < r->n_results; i++) {
        if (strcmp(r->results[i].gate, gate) == 0) {
            return &r->results[i];
        }
    }
    fail_msg("gate %s was not asked", gate);
    return NULL;
}

/* ---------------------------------------------------------------- the log */

static void open_log(wal_set *set, wal_state *state) {
    assert_int_equal(wal_set_open(path_of("log"), FMT_MODE_DEFAULT, NULL, NULL, set, NULL), QN_OK);
    memset(state, 0, sizeof *state);
    assert_int_equal(wal_state_build(set, state, NULL), QN_OK);
}

static void close_log(wal_set *set, wal_state *state) {
    wal_state_free(state);
    wal_set_close(set);
}

const char *fixture_last_audit(void) {
    static char out[65536];
    wal_set set = {0};
    wal_state state;
    wal_set_walk walk = {0};
    qwal_record record;
    qwal_audit audit;
    qwal_audit_entry entry;
    out[0] = 0;
    open_log(&set, &state);
    while (wal_set_next(&set, &walk, &record)) {
        uint64_t at = 0, size = 0;
        if (record.type != QWAL_AUDIT || !qwal_read_audit(record.payload, &audit)) {
            continue;
        }
        assert_int_equal(audit.policy_version, 7);
        while (qwal_next_entry(&audit, &at, &entry)) {
            size += (uint64_t)snprintf(out + size, sizeof out - size, "%.*s %s %s %.*s\n", (int)entry.gate.size, entry.gate.data,
                                       gate_verdict_name(entry.verdict), gate_code_word(entry.code), (int)entry.detail.size, entry.detail.data);
        }
    }
    close_log(&set, &state);
    return out;
}

uint64_t fixture_count_quins(void) {
    wal_set set = {0};
    wal_state state;
    open_log(&set, &state);
    const uint64_t n = state.n_quins;
    close_log(&set, &state);
    return n;
}

size_t fixture_count_pending(void) {
    wal_set set = {0};
    wal_state state;
    open_log(&set, &state);
    const size_t n = state.n_pending;
    close_log(&set, &state);
    return n;
}
