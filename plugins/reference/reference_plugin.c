/* reference_plugin.c — the reference backend: what the op sheets say, in plain C and double precision, one op a file.
 *
 * It is linked into the host, so that there is always a backend, and it is the example to read before writing one. It is never the
 * fast path. The same sources build a plugin file, where the entry has the name that a host looks for.
 */
#include "ref_internal.h"

#define REF_DEVICE_ID "cpu"

/* The name of a refused option, or null when there is none: this plugin has no options. */
static const char *find_option(const qn_option *options, uint32_t n_options) {
    return n_options == 0 || options == NULL ? NULL : options[0].key;
}

static qn_status QN_CALL ref_start(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                                   qn_error *err) {
    qn_host own;
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_host, host);
    if (status != QN_OK || out == NULL) {
        return qn_fail(err, status == QN_OK ? QN_BAD_ARG : status, "start: no place for the result, or a host table that is too short or too new");
    }
    if (find_option(options, n_options) != NULL) {
        return qn_fail(err, QN_UNSUPPORTED, "option '%s' is unknown: the reference backend has none", find_option(options, n_options));
    }
    qn_plugin_state *plugin = own.mem_alloc(own.ctx, QN_MEM_OTHER, sizeof *plugin, 16);
    if (plugin == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start: no memory for %zu bytes", sizeof *plugin);
    }
    plugin->host = own;
    *out = plugin;
    return QN_OK;
}

static void QN_CALL ref_stop(qn_plugin_state *plugin) {
    if (plugin == NULL) {
        return;
    }
    const qn_host host = plugin->host;
    if (plugin->n_devices > 0) {
        host.log(host.ctx, QN_LOG_ERROR, "reference: stop while a device is open: its memory is kept");
        return;
    }
    host.mem_free(host.ctx, plugin);
}

static qn_status QN_CALL ref_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room, uint32_t *count,
                                     qn_error *err) {
    if (plugin == NULL || count == NULL) {
        return qn_fail(err, QN_BAD_ARG, "devices: no plugin or no place for the count");
    }
    *count = 1;
    if (room > 0) {
        const qn_device_info info = {.device_class = QN_DEVICE_CPU, .flags = QN_DEVICE_HOST_MEMORY | QN_DEVICE_DETERMINISTIC,
                               .numeric = QN_NUMERIC_F32ACC, .id = REF_DEVICE_ID, .name = "reference (scalar C, double precision)",
                               .driver = "none", .cell_block = 1};
        if (infos == NULL || stride < infos->size || qn_copy_out(infos, QN_LEAST_qn_device_info, &info, sizeof info) != QN_OK) {
            return qn_fail(err, QN_BAD_ARG, "devices: infos %llu bytes apart; %u are needed", (unsigned long long)stride,
                           QN_LEAST_qn_device_info);
        }
    }
    return QN_OK;
}

static qn_status QN_CALL ref_open(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                                  qn_device **out, qn_error *err) {
    if (plugin == NULL || device_id == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "open: no plugin, no device id or no place for the result");
    }
    if (strcmp(device_id, REF_DEVICE_ID) != 0) {
        return qn_fail(err, QN_UNAVAILABLE, "open: no device '%s'; there is '%s'", device_id, REF_DEVICE_ID);
    }
    if (find_option(options, n_options) != NULL) {
        return qn_fail(err, QN_UNSUPPORTED, "option '%s' is unknown: the reference backend has none", find_option(options, n_options));
    }
    qn_device *device = plugin->host.mem_alloc(plugin->host.ctx, QN_MEM_OTHER, sizeof *device, 16);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open: no memory for %zu bytes", sizeof *device);
    }
    device->plugin = plugin;
    plugin->n_devices++;
    *out = device;
    return QN_OK;
}

static void QN_CALL ref_close(qn_device *device) {
    if (device == NULL) {
        return;
    }
    const qn_host *host = &device->plugin->host;
    if (device->n_programs > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "reference: close while a program is there: its memory is kept");
        return;
    }
    device->plugin->n_devices--;
    host->mem_free(host->ctx, device);
}

static void QN_CALL ref_trim(qn_device *device, uint32_t level) {
    (void)device; /* there are no caches */
    (void)level;
}

static const qn_plugin verbs = {
    .size = sizeof verbs, .start = ref_start, .stop = ref_stop, .devices = ref_devices, .open = ref_open, .close = ref_close,
    .check = ref_check, .plan = ref_plan, .compile = ref_compile, .prog_free = ref_prog_free, .bind_weights = ref_bind_weights,
    .seal = ref_seal, .session_new = ref_session_new, .session_free = ref_session_free, .step = ref_step,
    .state_move = ref_state_move, .tap = ref_tap, .trim = ref_trim, .describe = ref_describe, .get_ext = ref_get_ext};

#ifdef REF_AS_PLUGIN
#define REF_QUERY quoin_backend_query_0
#else
#define REF_QUERY quoin_reference_query
#endif

QN_EXPORT qn_status QN_CALL REF_QUERY(const qn_query_in *in, qn_query_out *out);

QN_EXPORT qn_status QN_CALL REF_QUERY(const qn_query_in *in, qn_query_out *out) {
    qn_query_in own;
    const qn_query_out answer = {.size = sizeof answer, .minor = QN_ABI_MINOR, .name = "reference", .version = QUOIN_VERSION,
                                 .build_id = QUOIN_VERSION, .licence = "Apache-2.0", .plugin = &verbs};
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_query_in, in);
    return status == QN_OK ? qn_copy_out(out, QN_LEAST_qn_query_out, &answer, sizeof answer) : status;
}
