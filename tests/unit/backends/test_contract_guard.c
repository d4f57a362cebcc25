/* test_contract_guard.c — the reference behind the guard: silent as it is, and caught with each rule broken. */
#include <fenv.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue.h>

#include "backends/backend.h"
#include "backends/builtin.h"
#include "backends/contract_guard.h"
#include "base/log.h"

static host_services services;
static team *workers;
static const qn_plugin *honest;

static int start_team(void **state) {
    const qn_machine machine = {.size = sizeof machine, .n_workers = 1};
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "test"};
    qn_query_out facts = {.size = sizeof facts};
    (void)state;
    log_set_level(QN_LOG_ERROR);
    if (team_create(1, &workers, NULL) != QN_OK || quoin_reference_query(&in, &facts) != QN_OK) {
        return -1;
    }
    host_services_init(&services, &machine, workers);
    honest = facts.plugin;
    return 0;
}

static int stop_team(void **state) {
    (void)state;
    team_destroy(workers);
    return 0;
}

/* Start, devices, open, the known answer, close and stop through the guard; how many breaches that was. */
static uint32_t run_guarded(const qn_plugin *plugin) {
    const uint32_t before = contract_guard_breaches();
    backend on = {.spec = {.name = "guarded"}, .plugin = contract_guard_wrap(plugin, "guarded")};
    qn_error err = {.size = sizeof err};
    backend_devices devices = {.count = 0};
    devices.infos[0].size = sizeof devices.infos[0];
    if (on.plugin->start(&services.table, NULL, 0, &on.state, &err) >= 0 &&
        on.plugin->devices(on.state, devices.infos, sizeof devices.infos[0], 1, &devices.count, &err) >= 0 &&
        on.plugin->open(on.state, "cpu", NULL, 0, &on.device, &err) >= 0) {
        (void)backend_known_answer(&on, NULL);
        backend_close_device(&on);
    }
    if (on.state != NULL) {
        on.plugin->stop(on.state);
    }
    return contract_guard_breaches() - before;
}

static void who_keeps_the_contract_is_not_spoken_of(void **state) {
    (void)state;
    assert_int_equal(run_guarded(honest), 0);
}

/* ------------------------------------------------------------------------ one broken rule each */

static qn_status QN_CALL fail_without_words(const qn_host *host, const qn_option *options, uint32_t n, qn_plugin_state **out,
                                            qn_error *err) {
    (void)host;
    (void)options;
    (void)n;
    (void)out;
    err->code = QN_UNAVAILABLE;
    return QN_UNAVAILABLE;
}

static qn_status QN_CALL fail_with_another_code(const qn_host *host, const qn_option *options, uint32_t n, qn_plugin_state **out,
                                                qn_error *err) {
    (void)host;
    (void)options;
    (void)n;
    (void)out;
    (void)qn_fail(err, QN_BUSY, "it is busy");
    return QN_UNAVAILABLE;
}

static qn_status QN_CALL fail_with_no_status(const qn_host *host, const qn_option *options, uint32_t n, qn_plugin_state **out,
                                             qn_error *err) {
    (void)host;
    (void)options;
    (void)n;
    (void)out;
    return qn_fail(err, -77, "what is that?");
}

static qn_status QN_CALL give_nothing(qn_plugin_state *plugin, const char *id, const qn_option *options, uint32_t n, qn_device **out,
                                      qn_error *err) {
    (void)plugin;
    (void)id;
    (void)options;
    (void)n;
    (void)out;
    (void)err;
    return QN_OK;
}

static qn_status QN_CALL list_without_id(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room,
                                         uint32_t *count, qn_error *err) {
    const qn_status status = honest->devices(plugin, infos, stride, room, count, err);
    infos->id[0] = '\0';
    return status;
}

static qn_status QN_CALL seal_and_round(qn_prog *prog, qn_error *err) {
    fesetround(FE_DOWNWARD);
    return honest->seal(prog, err);
}

static qn_status QN_CALL step_over_the_end(qn_session *session, const qn_step *step, qn_error *err) {
    const qn_binding *last =
        (const qn_binding *)(const void *)((const char *)step->bindings + (step->n_bindings - 1) * step->binding_stride);
    const qn_status status = honest->step(session, step, err);
    ((char *)last->data)[last->bytes] = 0;
    return status;
}

static qn_status QN_CALL step_into_the_input(qn_session *session, const qn_step *step, qn_error *err) {
    const qn_status status = honest->step(session, step, err);
    ((char *)step->bindings->data)[0] ^= 1;
    return status;
}

static qn_status QN_CALL refuse_and_write(qn_session *session, const qn_step *step, qn_error *err) {
    const qn_status status = honest->step(session, step, err);
    return status < 0 ? status : qn_fail(err, QN_BAD_ARG, "after all, no");
}

static void *forgotten; /* what a plugin did not give back */

static qn_status QN_CALL start_and_forget(const qn_host *host, const qn_option *options, uint32_t n, qn_plugin_state **out,
                                          qn_error *err) {
    forgotten = host->mem_alloc(host->ctx, QN_MEM_OTHER, 100, 16);
    return honest->start(host, options, n, out, err);
}

/* A plan in a numeric class that was not allowed. */
static qn_status QN_CALL plan_otherwise(qn_device *device, const qn_program *program, const qn_limits *limits,
                                        const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    (void)device;
    (void)program;
    (void)limits;
    (void)options;
    (void)err;
    out->numeric = QN_NUMERIC_ACT8;
    return QN_OK;
}

static void every_breach_is_seen(void **state) {
    (void)state;
    for (int broken = 0; broken < 10; broken++) {
        qn_plugin plugin = *honest;
        switch (broken) {
        case 0: plugin.start = fail_without_words; break;
        case 1: plugin.start = fail_with_another_code; break;
        case 2: plugin.start = fail_with_no_status; break;
        case 3: plugin.open = give_nothing; break;
        case 4: plugin.devices = list_without_id; break;
        case 5: plugin.seal = seal_and_round; break;
        case 6: plugin.step = step_over_the_end; break;
        case 7: plugin.step = step_into_the_input; break;
        case 8: plugin.step = refuse_and_write; break;
        default: plugin.start = start_and_forget; break;
        }
        if (run_guarded(&plugin) == 0) {
            fail_msg("breach %d was not seen", broken);
        }
        services.table.mem_free(services.table.ctx, forgotten);
        forgotten = NULL;
        assert_int_equal(fegetround(), FE_TONEAREST);
    }
}

static void a_plan_in_a_class_that_was_not_allowed_is_seen(void **state) {
    (void)state;
    qn_plugin plugin = *honest;
    const uint32_t before = contract_guard_breaches();
    qn_plugin_state *started = NULL;
    qn_device *device = NULL;
    qn_error err = {.size = sizeof err};
    qn_memory_plan memory = {.size = sizeof memory};
    const qn_program empty = {.magic = 0};
    const qn_limits limits = {.size = sizeof limits};
    const qn_compile_options options = {.size = sizeof options, .numeric = QN_NUMERIC_F32ACC};
    plugin.plan = plan_otherwise;
    const qn_plugin *guarded = contract_guard_wrap(&plugin, "guarded");
    assert_int_equal(guarded->start(&services.table, NULL, 0, &started, &err), QN_OK);
    assert_int_equal(guarded->open(started, "cpu", NULL, 0, &device, &err), QN_OK);
    assert_int_equal(guarded->plan(device, &empty, &limits, &options, &memory, &err), QN_OK);
    assert_int_equal(contract_guard_breaches(), before + 1);
    guarded->close(device);
    guarded->stop(started);
}

static void verbs_that_a_plugin_has_not_are_not_made_up(void **state) {
    (void)state;
    qn_plugin plugin = *honest;
    plugin.state_move = NULL;
    plugin.tap = NULL;
    plugin.describe = NULL;
    const qn_plugin *guarded = contract_guard_wrap(&plugin, "guarded");
    assert_false(QN_HAS(guarded, state_move) || QN_HAS(guarded, tap) || QN_HAS(guarded, describe));
    assert_null(guarded->get_ext("quoin.profile/1"));
}

static void destroying_nothing_stays_legal(void **state) {
    (void)state;
    const qn_plugin *guarded = contract_guard_wrap(honest, "guarded");
    const uint32_t before = contract_guard_breaches();
    guarded->session_free(NULL);
    guarded->prog_free(NULL);
    guarded->close(NULL);
    guarded->stop(NULL);
    assert_int_equal(contract_guard_breaches(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_keeps_the_contract_is_not_spoken_of),
        cmocka_unit_test(every_breach_is_seen),
        cmocka_unit_test(a_plan_in_a_class_that_was_not_allowed_is_seen),
        cmocka_unit_test(verbs_that_a_plugin_has_not_are_not_made_up),
        cmocka_unit_test(destroying_nothing_stays_legal),
    };
    return cmocka_run_group_tests(tests, start_team, stop_team);
}
