/* gpu_plugin.c — query, start, devices, open: the plugin and its device, the same for every driver. */
#include "gpu_core.h"

/* --- Locks and host memory ---------------------------------------------------------------------------------------- */

qn_status gpu_enter(qn_device *device, qn_error *err) {
    pthread_mutex_lock(&device->lock);
    if (device->is_lost) {
        pthread_mutex_unlock(&device->lock);
        return qn_fail(err, QN_DEVICE_LOST, "the device was lost before; close it");
    }
    return QN_OK;
}

qn_status gpu_leave(qn_device *device, qn_status status) {
    device->is_lost = device->is_lost || status == QN_DEVICE_LOST;
    pthread_mutex_unlock(&device->lock);
    return status;
}

void *gpu_host_take(const qn_device *device, uint32_t kind, uint64_t bytes) {
    const qn_host *host = gpu_host(device);
    return host->mem_alloc(host->ctx, kind, bytes == 0 ? 1 : bytes, 64);
}

void gpu_host_give(const qn_device *device, void *memory) {
    gpu_host(device)->mem_free(gpu_host(device)->ctx, memory);
}

/* --- The plugin --------------------------------------------------------------------------------------------------- */

static qn_status QN_CALL start(const qn_host *host, const qn_option *options, uint32_t n_options, qn_plugin_state **out,
                               qn_error *err) {
    qn_host own;
    qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_host, host);
    if (status != QN_OK || out == NULL) {
        return qn_fail(err, status == QN_OK ? QN_BAD_ARG : status,
                       "start: no place for the result, or a host table that is absent, too short or too new");
    }
    status = gpu_options_check(options, n_options, QN_OPTION_AT_START, err);
    if (status != QN_OK) {
        return status;
    }
    qn_plugin_state *plugin = own.mem_alloc(own.ctx, QN_MEM_OTHER, sizeof *plugin, 64);
    if (plugin == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start: no memory for %zu bytes", sizeof *plugin);
    }
    plugin->host = own;
    status = gpu_the_driver.start(&plugin->host, options, n_options, &plugin->driver, err);
    if (status != QN_OK) {
        own.mem_free(own.ctx, plugin);
        return status;
    }
    *out = plugin;
    return QN_OK;
}

static void QN_CALL stop(qn_plugin_state *plugin) {
    if (plugin == NULL) {
        return;
    }
    const qn_host host = plugin->host;
    if (plugin->n_devices > 0) {
        host.log(host.ctx, QN_LOG_ERROR, "stop while a device is open: its memory is kept");
        return;
    }
    gpu_the_driver.stop(plugin->driver);
    host.mem_free(host.ctx, plugin);
}

static qn_status write_info(const qn_plugin_state *plugin, uint32_t index, qn_device_info *to, uint64_t stride,
                            qn_error *err) {
    qn_device_info info = {.size = sizeof info};
    if (to->size < QN_LEAST_qn_device_info || to->size > stride) {
        return qn_fail(err, QN_BAD_ARG, "devices: an info of %u bytes, %llu apart; %u are needed", to->size,
                       (unsigned long long)stride, QN_LEAST_qn_device_info);
    }
    const qn_status status = gpu_the_driver.describe(plugin->driver, index, &info, err);
    return status == QN_OK ? qn_copy_out(to, QN_LEAST_qn_device_info, &info, sizeof info) : status;
}

static qn_status QN_CALL list_devices(qn_plugin_state *plugin, qn_device_info *infos, uint64_t stride, uint32_t room,
                                      uint32_t *count, qn_error *err) {
    if (plugin == NULL || count == NULL || (room > 0 && infos == NULL)) {
        return qn_fail(err, QN_BAD_ARG, "devices: no plugin, no place for the count, or no place for %u infos", room);
    }
    uint32_t n = 0;
    qn_status status = gpu_the_driver.count(plugin->driver, &n, err);
    for (uint32_t i = 0; i < n && i < room && status == QN_OK; i++) {
        status = write_info(plugin, i, (qn_device_info *)(void *)((char *)infos + i * stride), stride, err);
    }
    if (status == QN_OK) {
        *count = n;
    }
    return status;
}

/* --- Devices ------------------------------------------------------------------------------------------------------ */

static qn_status find_device(const qn_plugin_state *plugin, const char *id, uint32_t *out_index,
                             qn_device_info *out_info, qn_error *err) {
    uint32_t n = 0;
    qn_status status = gpu_the_driver.count(plugin->driver, &n, err);
    for (uint32_t i = 0; i < n && status == QN_OK; i++) {
        *out_info = (qn_device_info){.size = sizeof *out_info};
        status = gpu_the_driver.describe(plugin->driver, i, out_info, err);
        if (status == QN_OK && strcmp(out_info->id, id) == 0) {
            *out_index = i;
            return QN_OK;
        }
    }
    return status == QN_OK ? qn_fail(err, QN_UNAVAILABLE, "open: the %s backend has no device '%s' among its %u",
                                     gpu_the_driver.name, id, n)
                           : status;
}

/* What lowering relies on; a driver that leaves one of them out is found here and not by a division by zero. */
static bool are_caps_sound(const gpu_caps *c) {
    return c->subgroup > 0 && c->max_group >= 128 && c->compute_units > 0 && c->max_grid[0] > 0 && c->max_grid[1] > 0
           && c->max_grid[2] > 0 && c->shared_bytes >= 16384 && c->max_memory_bytes > 0 && c->max_binding_bytes > 0
           && c->memory_align > 0 && c->launch_bytes > 0;
}

static qn_status open_driver(qn_device *device, uint32_t index, const qn_option *options, uint32_t n_options,
                             qn_error *err) {
    qn_option own[GPU_MOST_OPTIONS];
    uint32_t n_own = 0;
    qn_status status = gpu_options_split(options, n_options, &device->budget, own, &n_own, err);
    if (status == QN_OK) {
        status = gpu_the_driver.open(device->plugin->driver, index, own, n_own, &device->driver, &device->caps, err);
    }
    if (status == QN_OK && !are_caps_sound(&device->caps)) {
        gpu_the_driver.close(device->driver);
        status =
            qn_fail(err, QN_INTERNAL, "open: the %s driver does not say what the device can do", gpu_the_driver.name);
    }
    return status;
}

static qn_status QN_CALL open_device(qn_plugin_state *plugin, const char *device_id, const qn_option *options,
                                     uint32_t n_options, qn_device **out, qn_error *err) {
    uint32_t index = 0;
    qn_device_info info;
    if (plugin == NULL || device_id == NULL || out == NULL) {
        return qn_fail(err, QN_BAD_ARG, "open: no plugin, no device id or no place for the result");
    }
    qn_status status = gpu_options_check(options, n_options, QN_OPTION_AT_OPEN, err);
    if (status == QN_OK) {
        status = find_device(plugin, device_id, &index, &info, err);
    }
    if (status != QN_OK) {
        return status;
    }
    qn_device *device = plugin->host.mem_alloc(plugin->host.ctx, QN_MEM_OTHER, sizeof *device, 64);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open: no memory for %zu bytes", sizeof *device);
    }
    device->plugin = plugin;
    device->numeric = info.numeric;
    status = open_driver(device, index, options, n_options, err);
    if (status != QN_OK) {
        plugin->host.mem_free(plugin->host.ctx, device);
        return status;
    }
    if ((device->caps.flags & GPU_CAP_INT_DOT) == 0) {
        device->numeric &= ~(uint32_t)QN_NUMERIC_ACT8;
    }
    pthread_mutex_init(&device->lock, NULL);
    plugin->n_devices++;
    *out = device;
    return QN_OK;
}

static void QN_CALL close_device(qn_device *device) {
    if (device == NULL) {
        return;
    }
    const qn_host *host = gpu_host(device);
    if (device->n_programs > 0) {
        host->log(host->ctx, QN_LOG_ERROR, "close while a program is there: its memory is kept");
        return;
    }
    gpu_the_driver.close(device->driver);
    pthread_mutex_destroy(&device->lock);
    device->plugin->n_devices--;
    host->mem_free(host->ctx, device);
}

/* Kernels are kept until close and recordings belong to sessions: nothing is left to drop. */
static void QN_CALL trim(qn_device *device, uint32_t level) {
    (void)device;
    (void)level;
}

const void *QN_CALL gpu_get_ext(const char *id) {
    if (id == NULL) {
        return NULL;
    }
    if (strcmp(id, QN_EXT_PROFILE) == 0) {
        return &gpu_profile_ext;
    }
    if (strcmp(id, QN_EXT_DEVICE_SAMPLE) == 0) {
        return &gpu_sample_ext;
    }
    if (strcmp(id, QN_EXT_SCRUB) == 0) {
        return &gpu_scrub_ext;
    }
    return strcmp(id, QN_EXT_TEST_FAULT) == 0 ? &gpu_fault_ext : NULL;
}

/* --- Entry -------------------------------------------------------------------------------------------------------- */

static const qn_plugin verbs = {.size = sizeof verbs,
                                .start = start,
                                .stop = stop,
                                .devices = list_devices,
                                .open = open_device,
                                .close = close_device,
                                .check = gpu_check,
                                .plan = gpu_plan,
                                .compile = gpu_compile,
                                .prog_free = gpu_prog_free,
                                .bind_weights = gpu_bind_weights,
                                .seal = gpu_seal,
                                .session_new = gpu_session_new,
                                .session_free = gpu_session_free,
                                .step = gpu_step,
                                .state_move = gpu_state_move,
                                .tap = gpu_tap,
                                .trim = trim,
                                .describe = gpu_describe,
                                .get_ext = gpu_get_ext};

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

QN_EXPORT qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out) {
    qn_query_in own;
    const qn_status status = qn_copy_in(&own, sizeof own, QN_LEAST_qn_query_in, in);
    const qn_query_out answer = {.size = sizeof answer,
                                 .minor = QN_ABI_MINOR,
                                 .name = gpu_the_driver.name,
                                 .version = QUOIN_VERSION,
                                 .build_id = QUOIN_VERSION,
                                 .licence = "Apache-2.0",
                                 .plugin = &verbs,
                                 .options = gpu_the_driver.options,
                                 .n_options = gpu_the_driver.n_options,
                                 .option_stride = sizeof(qn_option_info)};
    return status == QN_OK ? qn_copy_out(out, QN_LEAST_qn_query_out, &answer, sizeof answer) : status;
}
