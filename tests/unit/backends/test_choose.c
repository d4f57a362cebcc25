/* test_choose.c — trying alternatives, options from the configuration, and the known answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue.h>

#include "backends/choose.h"
#include "base/log.h"

static registry reg; /* large */
static host_services services;
static team *workers;

static int start(void **state) {
    const qn_machine machine = {.size = sizeof machine, .n_workers = 2};
    (void)state;
    setenv("QUOIN_PLUGIN_DIR", "/nonexistent", 1); /* the reference alone */
    log_set_level(QN_LOG_ERROR);
    registry_discover(NULL, &reg);
    if (team_create(2, &workers, NULL) != QN_OK) {
        return -1;
    }
    host_services_init(&services, &machine, workers);
    return 0;
}

static int stop(void **state) {
    (void)state;
    team_destroy(workers);
    return 0;
}

static qn_status choose(const char *text, backend *out, bool *was_named, error_context *err) {
    const backend_request request = {.text = text};
    return backend_choose(&reg, &services, &request, out, was_named, err);
}

static void auto_falls_back_to_the_reference(void **state) {
    (void)state;
    static const char *const forms[] = {NULL, "", "auto"};
    for (size_t i = 0; i < 3; i++) {
        backend on;
        bool was_named = true;
        assert_int_equal(choose(forms[i], &on, &was_named, NULL), QN_OK);
        assert_string_equal(on.spec.name, "reference");
        assert_false(was_named);
        backend_close(&on);
    }
}

static void a_single_name_never_falls_back(void **state) {
    (void)state;
    backend on;
    bool was_named = false;
    error_context err = {0};
    assert_int_equal(choose("nobody", &on, &was_named, &err), QN_NOT_FOUND);
    assert_true(was_named);
    assert_non_null(strstr(error_text(&err), "backend nobody refused at discovery: NOT_FOUND: "));
    assert_null(on.plugin);
}

static void alternatives_are_tried_in_order(void **state) {
    (void)state;
    backend on;
    bool was_named = true;
    assert_int_equal(choose("nobody;reference;nobody-else", &on, &was_named, NULL), QN_OK);
    assert_string_equal(on.spec.name, "reference");
    assert_false(was_named);
    backend_close(&on);
}

static void when_all_are_refused_the_last_refusal_is_the_error(void **state) {
    (void)state;
    backend on;
    bool was_named = true;
    error_context err = {0};
    assert_int_equal(choose("nobody;reference:gpu7", &on, &was_named, &err), QN_UNAVAILABLE);
    assert_false(was_named);
    assert_non_null(
        strstr(error_text(&err), "backend reference refused at devices: UNAVAILABLE: it has no device gpu7"));
}

static void a_typing_error_is_found_before_anything_is_opened(void **state) {
    (void)state;
    static const char *const requests[] = {"reference;;cpu", "reference;", ";reference", "reference;cpu,",
                                           "a;b;c;d;e;f;g;h;i"};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        backend on;
        bool was_named;
        if (choose(requests[i], &on, &was_named, NULL) != QN_BAD_INPUT) {
            fail_msg("%s was not refused", requests[i]);
        }
    }
}

static void an_unknown_option_is_refused_by_name(void **state) {
    (void)state;
    backend on;
    bool was_named;
    error_context err = {0};
    assert_int_equal(choose("reference,speed=high", &on, &was_named, &err), QN_BAD_INPUT);
    assert_non_null(
        strstr(error_text(&err), "backend reference refused at options: BAD_INPUT: it has no option \"speed\""));
}

static void options_of_the_configuration_reach_their_backend_alone(void **state) {
    (void)state;
    const backend_default defaults[] = {{"cpu", "nobody-reads-this", "1"}, {"reference", "speed", "high"}};
    backend_request request = {.text = "reference", .defaults = defaults, .n_defaults = 1};
    backend on;
    bool was_named;
    error_context err = {0};
    assert_int_equal(backend_choose(&reg, &services, &request, &on, &was_named, NULL), QN_OK);
    backend_close(&on);
    request.n_defaults = 2;
    assert_int_equal(backend_choose(&reg, &services, &request, &on, &was_named, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "\"speed\""));
    request.text = "auto"; /* auto's choice gets them too */
    assert_int_equal(backend_choose(&reg, &services, &request, &on, &was_named, &err), QN_BAD_INPUT);
}

/* ------------------------------------------------------------------------ the known answer */

static backend open_reference(void) {
    backend on;
    bool was_named;
    assert_int_equal(choose("reference", &on, &was_named, NULL), QN_OK);
    return on;
}

static void the_reference_gives_the_known_answer(void **state) {
    (void)state;
    backend on = open_reference();
    assert_int_equal(backend_known_answer(&on, NULL), QN_OK);
    backend_close(&on);
}

static const qn_plugin *honest;
static float wrong_value; /* what the last logit becomes */

static qn_status QN_CALL step_wrongly(qn_session *session, const qn_step *step, qn_error *err) {
    const qn_status status = honest->step(session, step, err);
    float *logits = step->bindings[step->n_bindings - 1].data;
    const uint64_t n = step->bindings[step->n_bindings - 1].bytes / sizeof *logits;
    logits[n - 1] = wrong_value;
    return status;
}

static void one_wrong_logit_is_caught(void **state) {
    (void)state;
    static const float values[] = {0.0f, 1e30f, -5.0f};
    for (size_t i = 0; i < 4; i++) {
        backend on = open_reference();
        honest = on.plugin;
        qn_plugin liar = *honest;
        error_context err = {0};
        liar.step = step_wrongly;
        wrong_value = i < 3 ? values[i] : (float)strtod("nan", NULL);
        on.plugin = &liar;
        assert_int_equal(backend_known_answer(&on, &err), QN_CORRUPT);
        assert_non_null(strstr(error_text(&err), "backend reference refused at known answer: CORRUPT: logit "));
        on.plugin = honest;
        backend_close(&on);
    }
}

static qn_status QN_CALL fail_to_compile(qn_device *device, const struct qn_program *program,
                                         const struct qn_limits *limits, const struct qn_compile_options *options,
                                         qn_prog **out, qn_error *err) {
    (void)device;
    (void)program;
    (void)limits;
    (void)options;
    (void)out;
    snprintf(err->text, sizeof err->text, "the moon is full");
    return QN_UNSUPPORTED;
}

static void a_plugin_that_fails_is_quoted(void **state) {
    (void)state;
    backend on = open_reference();
    honest = on.plugin;
    qn_plugin tired = *honest;
    error_context err = {0};
    tired.compile = fail_to_compile;
    on.plugin = &tired;
    assert_int_equal(backend_known_answer(&on, &err), QN_UNSUPPORTED);
    assert_non_null(strstr(error_text(&err), "refused at known answer: UNSUPPORTED: the moon is full"));
    on.plugin = honest;
    backend_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_falls_back_to_the_reference),
        cmocka_unit_test(a_single_name_never_falls_back),
        cmocka_unit_test(alternatives_are_tried_in_order),
        cmocka_unit_test(when_all_are_refused_the_last_refusal_is_the_error),
        cmocka_unit_test(a_typing_error_is_found_before_anything_is_opened),
        cmocka_unit_test(an_unknown_option_is_refused_by_name),
        cmocka_unit_test(options_of_the_configuration_reach_their_backend_alone),
        cmocka_unit_test(the_reference_gives_the_known_answer),
        cmocka_unit_test(one_wrong_logit_is_caught),
        cmocka_unit_test(a_plugin_that_fails_is_quoted),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
