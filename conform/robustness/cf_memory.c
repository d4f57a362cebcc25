/* cf_memory.c — level 6: memory that runs out, and memory that was planned. */
#include <string.h>

#include "robustness/robustness.h"

#define MOST_ALLOCATIONS 20000u
/* Handles and the rounding of a block are not worth planning. */
#define SLACK_BYTES 4096u

/* What one attempt at a whole life has made so far. */
typedef struct attempt {
    const qn_plugin *verbs;
    cf_host *host;
    qn_plugin_state *plugin;
    qn_device *device;
    qn_prog *prog;
    qn_session *session;
    const char *verb;    /* the last that was called */
} attempt;

static void undo(cf_context *ctx, attempt *a) {
    a->verbs->session_free(a->session);
    a->verbs->prog_free(a->prog);
    a->verbs->close(a->device);
    a->verbs->stop(a->plugin);
    const char *misuse = cf_host_misuse(a->host);
    const uint64_t noted = cf_host_bytes(a->host, QN_MEM_KINDS), left = cf_host_close(a->host);
    CF_CHECK(ctx, misuse == NULL, "after a failure in %s: %s", a->verb, misuse);
    CF_CHECK(ctx, left == 0, "after a failure in %s: %llu bytes are left after stop", a->verb, (unsigned long long)left);
    CF_CHECK(ctx, noted == 0, "after a failure in %s: %llu noted bytes are not given back", a->verb, (unsigned long long)noted);
}

static qn_status open_device(cf_context *ctx, attempt *a, const char *device_id, qn_error *error) {
    a->verb = "start";
    qn_status status = a->verbs->start(cf_host_services(a->host), ctx->options[CF_AT_START], ctx->n_options[CF_AT_START], &a->plugin, error);
    if (status == QN_OK) {
        qn_device_info info = {.size = sizeof info};
        uint32_t count = 0;
        a->verb = "devices";
        status = a->verbs->devices(a->plugin, &info, sizeof info, 1, &count, error);
    }
    if (status == QN_OK) {
        a->verb = "open";
        status = a->verbs->open(a->plugin, device_id, ctx->options[CF_AT_OPEN], ctx->n_options[CF_AT_OPEN], &a->device, error);
    }
    return status;
}

static qn_status bind_all(const specimen *s, attempt *a, qn_error *error) {
    qn_status status = QN_OK;
    a->verb = "bind_weights";
    for (uint32_t i = 0; i < s->n_weights && status == QN_OK; i++) {
        const qn_weight weight = specimen_weight_of(s, i, i % 2 == 0 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW);
        status = a->verbs->bind_weights(a->prog, &weight, sizeof weight, 1, error);
    }
    if (status == QN_OK) {
        a->verb = "seal";
        status = a->verbs->seal(a->prog, error);
    }
    return status;
}

static qn_status run_life(cf_context *ctx, const specimen *s, attempt *a, const char *device_id, qn_error *error) {
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_status status = open_device(ctx, a, device_id, error);
    if (status == QN_OK) {
        a->verb = "compile";
        status = a->verbs->compile(a->device, s->program, &s->limits, &options, &a->prog, error);
    }
    status = status == QN_OK ? bind_all(s, a, error) : status;
    if (status == QN_OK) {
        a->verb = "session_new";
        status = a->verbs->session_new(a->prog, &a->session, error);
    }
    if (status == QN_OK) {
        specimen_turn turn;
        specimen_turn_init(ctx, s, &turn, 0, 2);
        a->verb = "step";
        status = a->verbs->step(a->session, &turn.step, error);
        specimen_turn_deinit(&turn);
    }
    return status;
}

/* A whole life with allocation k failing; false when the life had fewer. */
static bool live_with_failure(cf_context *ctx, const specimen *s, const qn_plugin *verbs, const char *device_id, uint64_t k, bool is_once) {
    attempt a = {.verbs = verbs, .host = cf_host_open(1, ctx->features)};
    qn_error error;
    CF_CHECK(ctx, a.host != NULL, "this machine has no memory for the test itself");
    if (is_once) {
        cf_host_fail_once(a.host, k);
    } else {
        cf_host_fail_after(a.host, k);
    }
    cf_clear(&error);
    const qn_status status = run_life(ctx, s, &a, device_id, &error);
    const bool has_met_it = cf_host_allocations(a.host) > k;
    if (status != QN_OK) {
        CF_CHECK(ctx, status == QN_NO_HOST_MEM || status == QN_NO_DEVICE_MEM, "%s answers %s when memory runs out: %.300s", a.verb,
                 cf_status(status), error.text);
        cf_refused_somehow(ctx, a.verb, status, &error);
    }
    undo(ctx, &a);
    return has_met_it;
}

static void memory_that_runs_out(cf_context *ctx, bool is_once) {
    robust_life l;
    qn_device_info info;
    robust_begin(ctx, &l, false, 1);
    info = l.on.info;
    bool is_more = true;
    for (uint64_t k = 0; is_more && k < MOST_ALLOCATIONS; k++) {
        if (cf_case(ctx, "allocation %llu fails%s", (unsigned long long)k, is_once ? ", alone" : "")) {
            is_more = live_with_failure(ctx, &l.s, l.on.verbs, info.id, k, is_once);
        }
    }
    robust_end(ctx, &l);
}

static void memory_that_runs_out_anywhere_is_an_error_and_no_leak(cf_context *ctx) {
    memory_that_runs_out(ctx, false);
}

static void an_allocation_that_fails_once_is_an_error_and_no_leak(cf_context *ctx) {
    memory_that_runs_out(ctx, true);
}

/* --- Plans ------------------------------------------------------------------------------------------------------------ */

typedef struct taken {
    uint64_t before[QN_MEM_KINDS];
    qn_memory_plan plan;
} taken;

static uint64_t planned(const qn_memory_plan *plan, uint32_t kind) {
    return plan->host_bytes[kind] + plan->device_bytes[kind];
}

static void require_plan(cf_context *ctx, const cf_backend *on, const taken *t) {
    static const char *const kinds[QN_MEM_KINDS] = {"weights", "state", "scratch", "code", "other"};
    uint64_t all_planned = 0, all_taken = 0;
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        const uint64_t is = cf_host_bytes(on->host, kind) - t->before[kind], want = planned(&t->plan, kind);
        CF_CHECK(ctx, is <= want + SLACK_BYTES, "%s: %llu bytes taken, %llu planned", kinds[kind], (unsigned long long)is,
                 (unsigned long long)want);
        all_planned += want;
        all_taken += is;
    }
    CF_CHECK(ctx, all_taken <= all_planned + all_planned / 20 + SLACK_BYTES, "%llu bytes taken in all, %llu planned",
             (unsigned long long)all_taken, (unsigned long long)all_planned);
    CF_CHECK(ctx, all_planned <= all_taken + all_planned / 20 + 4 * SLACK_BYTES, "%llu bytes planned in all, %llu taken: more than 5 percent too much",
             (unsigned long long)all_planned, (unsigned long long)all_taken);
}

static void plan_first(cf_context *ctx, const cf_backend *on, const specimen *s, uint32_t flags, taken *out) {
    const qn_compile_options options = cf_compile_options(ctx, flags);
    qn_error error;
    out->plan = (qn_memory_plan){.size = sizeof out->plan};
    cf_clear(&error);
    cf_done(ctx, "plan", on->verbs->plan(on->device, s->program, &s->limits, &options, &out->plan, &error), &error);
    CF_CHECK(ctx, out->plan.numeric == ctx->numeric, "plan says class %u; %u was allowed", out->plan.numeric, ctx->numeric);
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        out->before[kind] = cf_host_bytes(on->host, kind);
    }
    cf_host_reset_peak(on->host);
}

static void the_plan_covers_what_is_taken(cf_context *ctx) {
    static const uint32_t flags[] = {0, QN_COMPILE_MATERIALIZE};
    cf_backend on;
    specimen s;
    cf_open(ctx, &on, 2);
    specimen_choose(ctx, &on, &s);
    for (size_t i = 0; i < CF_COUNT_OF(flags); i++) {
        taken t;
        qn_error error;
        if (!cf_case(ctx, "compiled with flags 0x%x", flags[i])) {
            continue;
        }
        plan_first(ctx, &on, &s, flags[i], &t);
        qn_prog *prog = specimen_sealed(ctx, &on, &s, flags[i]);
        qn_session *session = specimen_session(ctx, &on, prog);
        specimen_turn turn;
        specimen_turn_init(ctx, &s, &turn, 0, SPECIMEN_TOKENS);
        cf_clear(&error);
        cf_done(ctx, "step", on.verbs->step(session, &turn.step, &error), &error);
        specimen_turn_deinit(&turn);
        require_plan(ctx, &on, &t);
        uint64_t all = t.plan.peak_load_bytes;
        for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
            all += planned(&t.plan, kind) + t.before[kind];
        }
        CF_CHECK(ctx, cf_host_peak(on.host, QN_MEM_KINDS) <= all + all / 20 + 4 * SLACK_BYTES,
                 "%llu bytes at the peak, %llu planned with loading", (unsigned long long)cf_host_peak(on.host, QN_MEM_KINDS),
                 (unsigned long long)all);
        on.verbs->session_free(session);
        on.verbs->prog_free(prog);
    }
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void plan_leaves_nothing_taken(cf_context *ctx) {
    cf_backend on;
    specimen s;
    taken t;
    cf_open(ctx, &on, 0);
    specimen_choose(ctx, &on, &s);
    const uint64_t before = cf_host_bytes(on.host, QN_MEM_KINDS);
    for (uint32_t i = 0; i < 10; i++) {
        plan_first(ctx, &on, &s, 0, &t);
    }
    CF_CHECK(ctx, cf_host_bytes(on.host, QN_MEM_KINDS) == before, "ten plans leave %lld bytes taken",
             (long long)(cf_host_bytes(on.host, QN_MEM_KINDS) - before));
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void steps_take_no_memory(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    robust_step_done(ctx, &l, l.session, 0, 4, NULL);
    const uint64_t allocations = cf_host_allocations(l.on.host), bytes = cf_host_bytes(l.on.host, QN_MEM_KINDS);
    for (uint32_t i = 0; i < 20; i++) {
        robust_step_done(ctx, &l, l.session, 4 + i, i % 3 == 0 ? 4 : 1, NULL);
    }
    CF_CHECK(ctx, cf_host_allocations(l.on.host) == allocations, "20 steps made %llu allocations",
             (unsigned long long)(cf_host_allocations(l.on.host) - allocations));
    CF_CHECK(ctx, cf_host_bytes(l.on.host, QN_MEM_KINDS) == bytes, "20 steps changed the memory taken by %lld bytes",
             (long long)(cf_host_bytes(l.on.host, QN_MEM_KINDS) - bytes));
    robust_end(ctx, &l);
}

static const cf_test tests[] = {
    CF_LONG_TEST(memory_that_runs_out_anywhere_is_an_error_and_no_leak, "M3 M1", CF_MUST_DECODE, 5),
    CF_LONG_TEST(an_allocation_that_fails_once_is_an_error_and_no_leak, "M3", CF_MUST_DECODE, 5),
    CF_TEST(the_plan_covers_what_is_taken, "M2 M1", CF_MUST_DECODE),
    CF_TEST(plan_leaves_nothing_taken, "M2", CF_MUST_DECODE),
    CF_TEST(steps_take_no_memory, "M4", CF_MUST_DECODE),
};
const cf_suite cf_suite_memory = CF_SUITE(6, "memory", tests);
