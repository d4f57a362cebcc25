/* cpu_plugin.c — the verbs: start, device, and the table that hands the others on. Baseline code only: nothing here may use an
 * instruction that the machine record does not promise. */
#include <stdio.h>
#include <string.h>

#include <quoin/glue.h>

#include "cpu_internal.h"

static const char *const isa_names[] = {"c", "avx2", "avx512", "neon", "auto"};

/* Index of an option's value among the instruction sets, or CPU_NONE. */
static uint32_t find_isa(const char *value) {
    for (uint32_t i = 0; i < sizeof isa_names / sizeof isa_names[0]; i++) {
        if (value != NULL && strcmp(value, isa_names[i]) == 0) {
            return i;
        }
    }
    return CPU_NONE;
}

static qn_status read_options(const qn_option *options, uint32_t n_options, uint32_t *isa, qn_error *err) {
    for (uint32_t i = 0; i < n_options; i++) {
        if (options[i].key == NULL || strcmp(options[i].key, "isa") != 0) {
            return qn_fail(err, QN_BAD_ARG, "the cpu backend knows no option '%s'; it knows isa", options[i].key == NULL ? "" : options[i].key);
        }
        *isa = find_isa(options[i].value);
        if (*isa == CPU_NONE) {
            return qn_fail(err, QN_BAD_ARG, "option isa is one of c, avx2, avx512, neon, auto; '%s' was given",
                           options[i].value == NULL ? "" : options[i].value);
        }
    }
    return QN_OK;
}

/* An instruction set named by the user is used or refused, never replaced by a lesser one. */
static qn_status check_isa(const qn_machine *machine, uint32_t isa, qn_error *err) {
    const uint64_t features = machine->cpu_features[0];
    const bool x86 = machine->arch == QN_ARCH_X86_64;
    const bool arm = machine->arch == QN_ARCH_AARCH64;
    const bool avx2 = x86 && (features & QN_X86_AVX2) != 0;
    if ((isa == CPU_ISA_AVX2 && !avx2) || (isa == CPU_ISA_AVX512 && !(avx2 && (features & QN_X86_AVX512) != 0)) ||
        (isa == CPU_ISA_NEON && !(arm && (features & QN_ARM_NEON) != 0))) {
        return qn_fail(err, QN_UNAVAILABLE, "isa=%s: this machine does not offer it (or QUOIN_CPU_MASK hides it)", isa_names[isa]);
    }
    return QN_OK;
}

static qn_status start(const qn_host *theirs, const qn_option *options, uint32_t n_options, qn_plugin_state **out, qn_error *err) {
    uint32_t isa = CPU_ISA_AUTO;
    qn_host host;
    qn_status status = qn_copy_in(&host, sizeof host, QN_LEAST_qn_host, theirs);
    if (status != QN_OK || out == NULL || host.machine == NULL || (options == NULL && n_options > 0)) {
        return qn_fail(err, status == QN_OK ? QN_BAD_ARG : status, "start: a null argument, or a host table that is too short or too new");
    }
    status = read_options(options, n_options, &isa, err);
    status = status != QN_OK ? status : check_isa(host.machine, isa, err);
    if (status != QN_OK) {
        return status;
    }
    qn_plugin_state *const plugin = host.mem_alloc(host.ctx, QN_MEM_OTHER, sizeof *plugin, 64);
    if (plugin == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for the plugin's state");
    }
    plugin->own_host = host;
    plugin->host = &plugin->own_host;
    plugin->isa = isa;
    plugin->features = host.machine->cpu_features[0];
    *out = plugin;
    return QN_OK;
}

static void stop(qn_plugin_state *plugin) {
    if (plugin == NULL) {
        return;
    }
    const qn_host host = plugin->own_host;
    if (plugin->n_devices > 0) {
        host.log(host.ctx, QN_LOG_ERROR, "cpu: stop while a device is open: its memory is kept");
        return;
    }
    host.mem_free(host.ctx, plugin);
}

static qn_status list_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room, uint32_t *count,
                              qn_error *err) {
    if (plugin == NULL || count == NULL) {
        return qn_fail(err, QN_BAD_ARG, "devices: a null argument");
    }
    *count = 1;
    if (room == 0) {
        return QN_OK;
    }
    qn_device_info info = {.device_class = QN_DEVICE_CPU,
                           .flags = QN_DEVICE_HOST_MEMORY | QN_DEVICE_DETERMINISTIC,
                           .numeric = QN_NUMERIC_F32ACC | QN_NUMERIC_ACT8, .id = "cpu", .cell_block = 1};
    snprintf(info.name, sizeof info.name, "CPU, %u workers", plugin->host->machine->n_workers);
    snprintf(info.driver, sizeof info.driver, "cpu %s: %s", CPU_VERSION, cpu_ops_isa_text(plugin->features, plugin->isa));
    if (infos == NULL || stride < infos->size || qn_copy_out(infos, QN_LEAST_qn_device_info, &info, sizeof info) != QN_OK) {
        return qn_fail(err, QN_BAD_ARG, "devices: infos %llu bytes apart; %u are needed", (unsigned long long)stride,
                       QN_LEAST_qn_device_info);
    }
    return QN_OK;
}

static qn_status open_device(qn_plugin_state *plugin, const char *device_id, const qn_option *options, uint32_t n_options,
                             qn_device **out, qn_error *err) {
    if (plugin == NULL || device_id == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "open: a null argument");
    }
    if (strcmp(device_id, "cpu") != 0) {
        return qn_fail(err, QN_BAD_ARG, "open: there is no device '%s'; the cpu backend has one, 'cpu'", device_id);
    }
    if (n_options > 0) {
        return qn_fail(err, QN_BAD_ARG, "open: the cpu backend knows no option '%s' for opening a device",
                       options == NULL || options[0].key == NULL ? "" : options[0].key);
    }
    qn_device *const device = plugin->host->mem_alloc(plugin->host->ctx, QN_MEM_OTHER, sizeof *device, 64);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a device");
    }
    device->plugin = plugin;
    plugin->n_devices++;
    cpu_ops_init(&device->ops, plugin->features, plugin->isa);
    snprintf(device->isa_text, sizeof device->isa_text, "%s", cpu_ops_isa_text(plugin->features, plugin->isa));
    *out = device;
    return QN_OK;
}

static void close_device(qn_device *device) {
    if (device == NULL) {
        return;
    }
    const qn_host *const host = device->plugin->host;
    if (device->n_programs > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "cpu: close while a program is there: its memory is kept");
        return;
    }
    device->plugin->n_devices--;
    host->mem_free(host->ctx, device);
}

static const qn_plugin table = {
    .size = sizeof table, .start = start, .stop = stop, .devices = list_devices, .open = open_device, .close = close_device,
    .check = cpu_check, .plan = cpu_plan_memory, .compile = cpu_compile, .prog_free = cpu_prog_free,
    .bind_weights = cpu_bind_weights, .seal = cpu_seal, .session_new = cpu_session_new, .session_free = cpu_session_free,
    .step = cpu_step, .state_move = cpu_state_move, .tap = cpu_tap, .describe = cpu_describe, .get_ext = cpu_get_ext
};

static const qn_option_info option_table[] = {
    {.size = sizeof(qn_option_info), .type = QN_OPTION_CHOICE, .applies = QN_OPTION_AT_START, .key = "isa", .default_value = "auto",
     .choices = "c|avx2|avx512|neon|auto",
     .help = "Highest instruction set to use; one that is named and not offered by the machine is refused."}
};

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    qn_query_in own;
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_query_in, in);
    const qn_query_out answer = {.minor = QN_ABI_MINOR, .name = "cpu", .version = CPU_VERSION,
                                 .build_id = CPU_VERSION, .licence = "Apache-2.0", .plugin = &table, .options = option_table,
                                 .n_options = 1, .option_stride = sizeof option_table[0]};
    return status == QN_OK ? qn_copy_out(out, QN_LEAST_qn_query_out, &answer, sizeof answer) : status;
}
