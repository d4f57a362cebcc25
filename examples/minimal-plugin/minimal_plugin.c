/* minimal_plugin.c — the smallest backend of quoin that obeys every rule: it loads, starts, shows one device, and answers "no" to
 * every op. README.md beside it says how it grows from here.
 *
 *     cmake -S . -B build -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build
 *     quoin backends --plugin build/lib/quoin/plugins/minimal.quoin.so
 */
#include <string.h>

#include <quoin/glue_program.h>

#define DEVICE_ID "nothing"

/* The two handles that this plugin gives out; abi.h leaves their content to each plugin. */
struct qn_plugin_state {
    qn_host host; /* our own copy: the host's table is valid for the call only */
};

struct qn_device {
    qn_plugin_state *plugin;
};

/* --- Plugin ----------------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL start_plugin(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                                      qn_error *err) {
    qn_host own;
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_host, host);
    if (status != QN_OK) {
        return qn_fail(err, status, "start: the host table is too short or too new");
    }
    if (n_options > 0) {
        return qn_fail(err, QN_UNSUPPORTED, "option '%s' is unknown: this backend has none", options[0].key);
    }
    qn_plugin_state *plugin = own.mem_alloc(own.ctx, QN_MEM_OTHER, sizeof *plugin, 16);
    if (plugin == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start: no memory for %zu bytes", sizeof *plugin);
    }
    plugin->host = own;
    *out = plugin;
    return QN_OK;
}

static void QN_CALL stop_plugin(qn_plugin_state *plugin) {
    if (plugin != NULL) {
        const qn_host host = plugin->host;
        host.mem_free(host.ctx, plugin);
    }
}

/* --- Device ----------------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL list_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room, uint32_t *count,
                                      qn_error *err) {
    const qn_device_info info = {.size = sizeof info, .device_class = QN_DEVICE_ACCELERATOR, .numeric = QN_NUMERIC_F32ACC,
                                 .id = DEVICE_ID, .name = "a device that does nothing", .driver = "none", .cell_block = 1};
    (void)plugin;
    *count = 1;
    if (room == 0) {
        return QN_OK;
    }
    if (infos == NULL || stride < infos->size || qn_copy_out(infos, QN_LEAST_qn_device_info, &info, sizeof info) != QN_OK) {
        return qn_fail(err, QN_BAD_ARG, "devices: infos %llu bytes apart; %u are needed", (unsigned long long)stride,
                       QN_LEAST_qn_device_info);
    }
    return QN_OK;
}

static qn_status QN_CALL open_device(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                                     qn_device **out, qn_error *err) {
    if (strcmp(device_id, DEVICE_ID) != 0) {
        return qn_fail(err, QN_UNAVAILABLE, "open: no device '%s'; there is '%s'", device_id, DEVICE_ID);
    }
    if (n_options > 0) {
        return qn_fail(err, QN_UNSUPPORTED, "option '%s' is unknown: this device has none", options[0].key);
    }
    qn_device *device = plugin->host.mem_alloc(plugin->host.ctx, QN_MEM_OTHER, sizeof *device, 16);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open: no memory for %zu bytes", sizeof *device);
    }
    device->plugin = plugin;
    *out = device;
    return QN_OK;
}

static void QN_CALL close_device(qn_device *device) {
    if (device != NULL) {
        const qn_host *host = &device->plugin->host;
        host->mem_free(host->ctx, device);
    }
}

/* --- Programs: the verdict, and what follows from it ------------------------------------------------------------------ */

/* The one place that decides what this backend can do. check, plan and compile all ask it, so that they never disagree. */
static int can_run(const qn_program *program, const qn_op *op) {
    (void)program;
    switch (op->op) {
    /* case QN_OP_ADD: return 1; comes here with the first op that is written. */
    default: return 0;
    }
}

static qn_status QN_CALL check_program(qn_device *device, const qn_program *program, const qn_compile_options *options,
                                       qn_verdict *verdicts, uint64_t stride, qn_error *err) {
    (void)device;
    (void)options;
    const qn_status status = qn_program_validate(program, program->total_bytes, err);
    if (status != QN_OK) {
        return status;
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        qn_verdict *verdict = (qn_verdict *)(void *)((char *)verdicts + i * stride);
        const qn_op *op = qn_program_op(program, i);
        const int is_yes = can_run(program, op);
        verdict->verdict = is_yes ? QN_VERDICT_YES : QN_VERDICT_NO;
        verdict->text[0] = '\0';
        if (!is_yes) {
            snprintf(verdict->text, sizeof verdict->text, "the minimal backend has no %s", qn_op_name(op->op));
        }
    }
    return QN_OK;
}

/* QN_OK, or UNSUPPORTED naming the first op that cannot be run. */
static qn_status refuse_unsupported(const qn_program *program, qn_error *err) {
    const qn_status status = qn_program_validate(program, program->total_bytes, err);
    for (uint32_t i = 0; status == QN_OK && i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        if (!can_run(program, op)) {
            return qn_fail_op(err, i, QN_UNSUPPORTED, "op %u: the minimal backend has no %s", i, qn_op_name(op->op));
        }
    }
    return status;
}

static qn_status QN_CALL plan_program(qn_device *device, const qn_program *program, const qn_limits *limits,
                                      const qn_compile_options *options, qn_memory_plan *out, qn_error *err) {
    (void)device;
    (void)limits;
    (void)options;
    (void)out;
    return refuse_unsupported(program, err);
}

static qn_status QN_CALL compile_program(qn_device *device, const qn_program *program, const qn_limits *limits,
                                         const qn_compile_options *options, qn_prog **out, qn_error *err) {
    (void)device;
    (void)limits;
    (void)options;
    *out = NULL;
    const qn_status status = refuse_unsupported(program, err);
    return status != QN_OK ? status : qn_fail(err, QN_INTERNAL, "compile: nothing can run a program here");
}

/* --- Verbs behind compile: no program is ever made, so only null may come to them --------------------------------------- */

static void QN_CALL free_program(qn_prog *prog) {
    (void)prog;
}

static qn_status QN_CALL bind_weights(qn_prog *prog, const qn_weight *weights, uint64_t stride, uint32_t n_weights, qn_error *err) {
    (void)prog;
    (void)weights;
    (void)stride;
    (void)n_weights;
    return qn_fail(err, QN_BAD_STATE, "bind_weights: there is no program");
}

static qn_status QN_CALL seal_program(qn_prog *prog, qn_error *err) {
    (void)prog;
    return qn_fail(err, QN_BAD_STATE, "seal: there is no program");
}

static qn_status QN_CALL make_session(qn_prog *prog, qn_session **out, qn_error *err) {
    (void)prog;
    *out = NULL;
    return qn_fail(err, QN_BAD_STATE, "session_new: there is no program");
}

static void QN_CALL free_session(qn_session *session) {
    (void)session;
}

static qn_status QN_CALL run_step(qn_session *session, const qn_step *step, qn_error *err) {
    (void)session;
    (void)step;
    return qn_fail(err, QN_BAD_STATE, "step: there is no session");
}

/* --- Entry ------------------------------------------------------------------------------------------------------------ */

/* state_move, tap, trim, describe and get_ext are left out: a verb that is null is not offered. */
static const qn_plugin verbs = {
    .size = sizeof verbs, .start = start_plugin, .stop = stop_plugin, .devices = list_devices, .open = open_device,
    .close = close_device, .check = check_program, .plan = plan_program, .compile = compile_program, .prog_free = free_program,
    .bind_weights = bind_weights, .seal = seal_program, .session_new = make_session, .session_free = free_session, .step = run_step};

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    qn_query_in own;
    const qn_query_out answer = {.size = sizeof answer, .minor = QN_ABI_MINOR, .name = "minimal", .version = "1",
                                 .build_id = "1", .licence = "Apache-2.0", .plugin = &verbs};
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_query_in, in);
    return status == QN_OK ? qn_copy_out(out, QN_LEAST_qn_query_out, &answer, sizeof answer) : status;
}
