/* test_verbs.c — the rules of the verbs (abi/doc/threads.md, abi/doc/requirements.md) on one backend.
 *
 *     test_verbs --backend reference
 *     test_verbs --plugin build/lib/quoin/plugins/cpu.quoin.so
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue.h>

#include "test_blobs.h"
#include "two_layer.h"

static qn_query_fn query;
static uint64_t features;
static two_layer model;

static qn_error error;

static qn_error *fresh(void) {
    error = (qn_error){.size = sizeof error, .op = QN_NO_OP};
    return &error;
}

/* The verb refused with this code and said why. */
static void require_refusal(const char *what, qn_status got, qn_status want) {
    if (got != want || error.text[0] == '\0' || error.code != got) {
        fail_msg("%s: status %d, code %d, text '%s'; wanted %d and a text", what, got, error.code, error.text, want);
    }
}

static void require_done(const char *what, qn_status got) {
    if (got != QN_OK) {
        fail_msg("%s: status %d: %s", what, got, error.text);
    }
}

static void open_backend(backend *b) {
    assert_true(backend_open(b, query, features, 2));
}

static const qn_compile_options plain = {.size = sizeof plain, .numeric = QN_NUMERIC_F32ACC};

static qn_limits model_limits(void) {
    return rig_limits(TWO_LAYER_TOKENS, TWO_LAYER_TOKENS, 2, 2, TWO_LAYER_CELLS);
}

static qn_prog *compile_model(const backend *b, uint32_t flags) {
    const qn_limits limits = model_limits();
    qn_compile_options options = plain;
    qn_prog *prog = NULL;
    options.flags = flags;
    require_done("compile", b->verbs->compile(b->device, model.program, &limits, &options, &prog, fresh()));
    assert_non_null(prog);
    return prog;
}

static qn_weight weight_of(uint32_t i) {
    return (qn_weight){.size = sizeof(qn_weight), .buffer = model.weight_at[i], .flags = QN_WEIGHT_BORROW, .fd = -1,
                       .data = model.weights[i].bytes, .bytes = model.weights[i].n_bytes};
}

static void bind_model(const backend *b, qn_prog *prog, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const qn_weight weight = weight_of(i);
        require_done("bind_weights", b->verbs->bind_weights(prog, &weight, sizeof weight, 1, fresh()));
    }
}

/* --- Query ------------------------------------------------------------------------------------------------------------ */

static void query_is_pure_and_says_who_it_is(void **state) {
    (void)state;
    qn_query_out first = {.size = sizeof first};
    for (uint32_t i = 0; i < 1000; i++) {
        const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "test"};
        qn_query_out out = {.size = sizeof out};
        assert_int_equal(query(&in, &out), QN_OK);
        if (i == 0) {
            first = out;
        }
        assert_memory_equal(&out, &first, sizeof out);
    }
    assert_int_equal(first.minor, QN_ABI_MINOR);
    assert_true(first.name[0] != '\0' && first.version[0] != '\0' && first.licence[0] != '\0' && first.build_id[0] != '\0');
    assert_true(first.plugin->size >= sizeof(qn_plugin));
    for (uint32_t i = 0; i < first.n_options; i++) {
        const qn_option_info *info = (const qn_option_info *)(const void *)((const char *)first.options + (uint64_t)i * first.option_stride);
        assert_true(info->size >= sizeof *info && info->key[0] != '\0' && info->help[0] != '\0' && info->default_value != NULL);
        assert_true(info->applies != 0 && (info->type != QN_OPTION_CHOICE || info->choices[0] != '\0'));
    }
}

static void query_refuses_sizes_that_cannot_be(void **state) {
    struct {
        qn_query_in in;
        uint32_t more[4];
    } grown = {.in = {.size = sizeof grown, .minor = QN_ABI_MINOR}};
    qn_query_in in = {.size = 8};
    qn_query_out out = {.size = sizeof out};
    (void)state;
    assert_int_equal(query(&in, &out), QN_BAD_ARG);
    assert_int_equal(query(&grown.in, &out), QN_OK);
    grown.more[3] = 1;
    assert_int_equal(query(&grown.in, &out), QN_TOO_NEW);
    in.size = sizeof in;
    out.size = 8;
    assert_int_equal(query(&in, &out), QN_BAD_ARG);
    assert_int_equal(query(NULL, &out), QN_BAD_ARG);
}

/* --- Plugin and device ------------------------------------------------------------------------------------------------ */

static void unknown_options_and_devices_are_refused_by_name(void **state) {
    const qn_option options[] = {{"no_such_option", "1"}};
    backend b;
    qn_plugin_state *plugin = NULL;
    qn_device *device = NULL;
    (void)state;
    open_backend(&b);
    const qn_status status = b.verbs->start(test_host_services(b.host), options, 1, &plugin, fresh());
    assert_true(status == QN_UNSUPPORTED || status == QN_BAD_ARG);
    assert_non_null(strstr(error.text, "no_such_option"));
    assert_null(plugin);
    assert_true(b.verbs->open(b.plugin, "no such device", NULL, 0, &device, fresh()) != QN_OK);
    assert_non_null(strstr(error.text, "no such device"));
    assert_true(b.verbs->open(b.plugin, b.info.id, options, 1, &device, fresh()) != QN_OK);
    assert_non_null(strstr(error.text, "no_such_option"));
    assert_int_equal(backend_close(&b), 0);
}

static void devices_counts_then_fills(void **state) {
    backend b;
    uint32_t count = 99;
    qn_device_info info = {.size = sizeof info};
    (void)state;
    open_backend(&b);
    require_done("devices", b.verbs->devices(b.plugin, NULL, 0, 0, &count, fresh()));
    assert_in_range(count, 1, 16);
    require_done("devices", b.verbs->devices(b.plugin, &info, sizeof info, 1, &count, fresh()));
    assert_true(info.id[0] != '\0' && info.name[0] != '\0' && info.cell_block >= 1 && info.device_class >= QN_DEVICE_CPU);
    assert_true((info.numeric & QN_NUMERIC_F32ACC) != 0);
    assert_int_equal(info.size, sizeof info);
    assert_int_equal(backend_close(&b), 0);
}

static void destroying_nothing_is_legal(void **state) {
    backend b;
    (void)state;
    open_backend(&b);
    b.verbs->session_free(NULL);
    b.verbs->prog_free(NULL);
    b.verbs->close(NULL);
    b.verbs->stop(NULL);
    assert_int_equal(backend_close(&b), 0);
}

static void unknown_extensions_are_null(void **state) {
    backend b;
    (void)state;
    open_backend(&b);
    if (QN_HAS(b.verbs, get_ext)) {
        assert_null(b.verbs->get_ext("quoin.no-such-extension/1"));
        assert_null(b.verbs->get_ext(""));
    }
    assert_int_equal(backend_close(&b), 0);
}

static void start_and_stop_many_times_leave_nothing(void **state) {
    backend b;
    (void)state;
    for (uint32_t i = 0; i < 50; i++) {
        open_backend(&b);
        qn_prog *prog = compile_model(&b, 0);
        b.verbs->prog_free(prog);
        assert_int_equal(backend_close(&b), 0);
    }
}

/* --- The order of verbs ----------------------------------------------------------------------------------------------- */

static void verbs_before_seal_and_after_it(void **state) {
    const qn_weight weight = weight_of(0);
    backend b;
    qn_session *session = NULL;
    (void)state;
    open_backend(&b);
    qn_prog *prog = compile_model(&b, 0);
    require_refusal("session_new before seal", b.verbs->session_new(prog, &session, fresh()), QN_BAD_STATE);
    assert_null(session);
    bind_model(&b, prog, 0, model.n_weights - 1);
    require_refusal("seal with a weight missing", b.verbs->seal(prog, fresh()), QN_BAD_ARG);
    assert_non_null(strstr(error.text, "norm_weight"));
    require_refusal("session_new after a failed seal", b.verbs->session_new(prog, &session, fresh()), QN_BAD_STATE);
    bind_model(&b, prog, model.n_weights - 1, model.n_weights);
    require_refusal("a weight bound twice", b.verbs->bind_weights(prog, &weight, sizeof weight, 1, fresh()), QN_BAD_STATE);
    require_done("seal", b.verbs->seal(prog, fresh()));
    require_refusal("seal twice", b.verbs->seal(prog, fresh()), QN_BAD_STATE);
    require_refusal("bind_weights after seal", b.verbs->bind_weights(prog, &weight, sizeof weight, 1, fresh()), QN_BAD_STATE);
    require_done("session_new", b.verbs->session_new(prog, &session, fresh()));
    b.verbs->session_free(session);
    b.verbs->prog_free(prog);
    assert_int_equal(backend_close(&b), 0);
}

static void tap_needs_the_flag_and_a_step(void **state) {
    backend b;
    char byte;
    uint64_t bytes = 0;
    (void)state;
    open_backend(&b);
    for (uint32_t turn = 0; turn < 2; turn++) {
        qn_session *session = NULL;
        qn_prog *prog = compile_model(&b, turn == 0 ? 0 : QN_COMPILE_MATERIALIZE);
        bind_model(&b, prog, 0, model.n_weights);
        require_done("seal", b.verbs->seal(prog, fresh()));
        require_done("session_new", b.verbs->session_new(prog, &session, fresh()));
        require_refusal("tap", b.verbs->tap(session, 3, &byte, 1, &bytes, fresh()), turn == 0 ? QN_UNSUPPORTED : QN_BAD_STATE);
        require_refusal("tap of no buffer", b.verbs->tap(session, 9999, &byte, 1, &bytes, fresh()), QN_BAD_ARG);
        b.verbs->session_free(session);
        b.verbs->prog_free(prog);
    }
    assert_int_equal(backend_close(&b), 0);
}

static void weights_that_do_not_fit_are_refused(void **state) {
    backend b;
    qn_weight broken[7];
    (void)state;
    open_backend(&b);
    qn_prog *prog = compile_model(&b, 0);
    for (uint32_t i = 0; i < 7; i++) {
        broken[i] = weight_of(0); /* the embedding, Q8_0 */
    }
    broken[0].buffer = 9999;
    broken[1].buffer = model.ids;
    broken[2].flags = 0;
    broken[3].flags = QN_WEIGHT_COPY | QN_WEIGHT_BORROW;
    broken[4].data = NULL;
    broken[5].bytes -= 1;
    broken[6].first_element = 16;
    for (uint32_t i = 0; i < 7; i++) {
        char what[32];
        snprintf(what, sizeof what, "weight %u", i);
        require_refusal(what, b.verbs->bind_weights(prog, &broken[i], sizeof broken[i], 1, fresh()), QN_BAD_ARG);
    }
    broken[0] = weight_of(0);
    broken[0].first_element = 256;
    require_refusal("past the end", b.verbs->bind_weights(prog, &broken[0], sizeof broken[0], 1, fresh()), QN_BAD_ARG);
    require_done("no weights", b.verbs->bind_weights(prog, NULL, 0, 0, fresh()));
    b.verbs->prog_free(prog);
    assert_int_equal(backend_close(&b), 0);
}

static void compile_refuses_what_it_does_not_know(void **state) {
    const qn_limits limits = model_limits();
    backend b;
    qn_prog *prog = NULL;
    (void)state;
    open_backend(&b);
    qn_compile_options options = plain;
    options.flags = 0x80;
    assert_true(b.verbs->compile(b.device, model.program, &limits, &options, &prog, fresh()) != QN_OK);
    options = plain;
    options.numeric = 0x40;
    require_refusal("an unknown class", b.verbs->compile(b.device, model.program, &limits, &options, &prog, fresh()), QN_UNSUPPORTED);
    options = plain;
    options.n_options = 1;
    options.options = &(const qn_option){"no_such_option", "1"};
    assert_true(b.verbs->compile(b.device, model.program, &limits, &options, &prog, fresh()) != QN_OK);
    assert_non_null(strstr(error.text, "no_such_option"));
    qn_limits broken = limits;
    broken.max_tokens = 0;
    require_refusal("no tokens", b.verbs->compile(b.device, model.program, &broken, &plain, &prog, fresh()), QN_BAD_ARG);
    qn_program *program = malloc(model.program->total_bytes);
    assert_non_null(program);
    memcpy(program, model.program, model.program->total_bytes);
    program->n_ops = UINT32_MAX;
    require_refusal("a malformed program", b.verbs->compile(b.device, program, &limits, &plain, &prog, fresh()), QN_BAD_ARG);
    free(program);
    assert_null(prog);
    assert_int_equal(backend_close(&b), 0);
}

/* --- Memory ----------------------------------------------------------------------------------------------------------- */

static void the_plan_covers_what_is_taken(void **state) {
    const qn_limits limits = model_limits();
    qn_memory_plan plan = {.size = sizeof plan};
    backend b;
    qn_session *session = NULL;
    (void)state;
    open_backend(&b);
    require_done("plan", b.verbs->plan(b.device, model.program, &limits, &plain, &plan, fresh()));
    assert_int_equal(plan.numeric, QN_NUMERIC_F32ACC);
    assert_true(plan.host_bytes[QN_MEM_STATE] + plan.device_bytes[QN_MEM_STATE] > 0);
    uint64_t before[QN_MEM_KINDS];
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        before[kind] = test_host_bytes(b.host, kind);
    }
    qn_prog *prog = compile_model(&b, 0);
    bind_model(&b, prog, 0, model.n_weights);
    require_done("seal", b.verbs->seal(prog, fresh()));
    require_done("session_new", b.verbs->session_new(prog, &session, fresh()));
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        const uint64_t taken = test_host_bytes(b.host, kind) - before[kind];
        const uint64_t planned = plan.host_bytes[kind] + plan.device_bytes[kind];
        /* A few hundred bytes of handles and rounding are not worth planning. */
        if (taken > planned + planned / 20 + 4096) {
            fail_msg("kind %u: %llu bytes taken, %llu planned", kind, (unsigned long long)taken, (unsigned long long)planned);
        }
    }
    b.verbs->session_free(session);
    b.verbs->prog_free(prog);
    assert_int_equal(backend_close(&b), 0);
}

/* Everything from start to the first session, with the allocation number k failing. False when nothing failed any more. */
static bool fails_at(uint64_t k) {
    const qn_limits limits = model_limits();
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .cpu_features = {features}};
    qn_query_out about = {.size = sizeof about};
    qn_plugin_state *plugin = NULL;
    qn_device *device = NULL;
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    test_host *host = test_host_open(1, features);
    assert_int_equal(query(&in, &about), QN_OK);
    const qn_plugin *verbs = about.plugin;
    test_host_fail_after(host, k);
    qn_device_info info = {.size = sizeof info};
    uint32_t count = 0;
    qn_status status = verbs->start(test_host_services(host), NULL, 0, &plugin, fresh());
    if (status == QN_OK) {
        status = verbs->devices(plugin, &info, sizeof info, 1, &count, fresh());
    }
    if (status == QN_OK) {
        status = verbs->open(plugin, info.id, NULL, 0, &device, fresh());
    }
    if (status == QN_OK) {
        status = verbs->compile(device, model.program, &limits, &plain, &prog, fresh());
    }
    for (uint32_t i = 0; i < model.n_weights && status == QN_OK; i++) {
        qn_weight weight = weight_of(i);
        weight.flags = i % 2 == 0 ? QN_WEIGHT_COPY : QN_WEIGHT_BORROW;
        status = verbs->bind_weights(prog, &weight, sizeof weight, 1, fresh());
    }
    if (status == QN_OK) {
        status = verbs->seal(prog, fresh());
    }
    if (status == QN_OK) {
        status = verbs->session_new(prog, &session, fresh());
    }
    if (status != QN_OK) {
        require_refusal("without memory", status, QN_NO_HOST_MEM);
    }
    verbs->session_free(session);
    verbs->prog_free(prog);
    verbs->close(device);
    verbs->stop(plugin);
    assert_int_equal(test_host_close(host), 0);
    return status != QN_OK;
}

static void memory_that_runs_out_anywhere_is_an_error_and_no_leak(void **state) {
    uint64_t k = 0;
    (void)state;
    while (fails_at(k)) {
        k++;
        assert_true(k < 10000);
    }
    assert_true(k >= 5);
}

static void describe_names_a_kernel_for_every_op(void **state) {
    backend b;
    (void)state;
    open_backend(&b);
    qn_prog *prog = compile_model(&b, 0);
    for (uint32_t op = 0; op <= model.program->n_ops; op++) {
        char text[8] = "xxxxxxx", whole[256];
        const uint32_t number = op == model.program->n_ops ? QN_NO_OP : op;
        const uint64_t length = b.verbs->describe(prog, number, whole, sizeof whole);
        assert_in_range(length, 1, sizeof whole - 1);
        assert_int_equal(strlen(whole), length);
        assert_int_equal(b.verbs->describe(prog, number, text, sizeof text), length);
        assert_true(memchr(text, '\0', sizeof text) != NULL && strncmp(text, whole, strlen(text)) == 0);
        assert_int_equal(b.verbs->describe(prog, number, NULL, 0), length);
    }
    b.verbs->prog_free(prog);
    assert_int_equal(backend_close(&b), 0);
}

static int set_up(void **state) {
    op_random random = {11};
    (void)state;
    two_layer_init(&model, &random);
    test_blobs_begin();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    two_layer_deinit(&model);
    test_blobs_end();
    return 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(query_is_pure_and_says_who_it_is),
        cmocka_unit_test(query_refuses_sizes_that_cannot_be),
        cmocka_unit_test(unknown_options_and_devices_are_refused_by_name),
        cmocka_unit_test(devices_counts_then_fills),
        cmocka_unit_test(destroying_nothing_is_legal),
        cmocka_unit_test(unknown_extensions_are_null),
        cmocka_unit_test(start_and_stop_many_times_leave_nothing),
        cmocka_unit_test(verbs_before_seal_and_after_it),
        cmocka_unit_test(tap_needs_the_flag_and_a_step),
        cmocka_unit_test(weights_that_do_not_fit_are_refused),
        cmocka_unit_test(compile_refuses_what_it_does_not_know),
        cmocka_unit_test(the_plan_covers_what_is_taken),
        cmocka_unit_test(memory_that_runs_out_anywhere_is_an_error_and_no_leak),
        cmocka_unit_test(describe_names_a_kernel_for_every_op),
    };
    if (argc != 3 || (strcmp(argv[1], "--backend") != 0 && strcmp(argv[1], "--plugin") != 0)) {
        fprintf(stderr, "usage: test_verbs --backend NAME | --plugin FILE\n");
        return 2;
    }
    query = strcmp(argv[1], "--backend") == 0 ? backend_find(argv[2]) : backend_load(argv[2]);
    if (query == NULL || !test_host_features("native", &features)) {
        return 1;
    }
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
