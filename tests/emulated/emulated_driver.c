/* emulated_driver.c — the driver table of the device that is not there. */
#include "emulated.h"
#include "emulator.h"

#define DEVICE_BYTES (UINT64_C(8) << 30)

static qn_status read_number(const qn_option *option, uint64_t *out, qn_error *err) {
    uint64_t value = 0;
    for (const char *at = option->value; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || value > UINT64_MAX / 16) {
            return qn_fail(err, QN_BAD_ARG, "option '%s' is a number; '%s' was given", option->key, option->value);
        }
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *out = value;
    return QN_OK;
}

static qn_status start(const qn_host *host, const qn_option *options, uint32_t n_options, gpu_driver_state **out,
                       qn_error *err) {
    uint64_t has_int_dot = 0;
    for (uint32_t i = 0; i < n_options; i++) { /* the only key that applies here */
        const qn_status status = read_number(&options[i], &has_int_dot, err);
        if (status != QN_OK) {
            return status;
        }
    }
    gpu_driver_state *state = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *state, 16);
    if (state == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start: %zu bytes", sizeof *state);
    }
    state->host = host;
    state->has_int_dot = has_int_dot != 0;
    *out = state;
    return QN_OK;
}

static void stop(gpu_driver_state *state) {
    state->host->mem_free(state->host->ctx, state);
}

static qn_status count(gpu_driver_state *state, uint32_t *n, qn_error *err) {
    (void)state;
    (void)err;
    *n = 1;
    return QN_OK;
}

static qn_status describe(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err) {
    (void)index;
    (void)err;
    info->device_class = QN_DEVICE_GPU;
    info->flags = QN_DEVICE_SOFTWARE | QN_DEVICE_DETERMINISTIC;
    info->numeric = QN_NUMERIC_F32ACC | (state->has_int_dot ? QN_NUMERIC_ACT8 : 0u);
    snprintf(info->id, sizeof info->id, "emulated");
    snprintf(info->name, sizeof info->name, "a device that is not there");
    snprintf(info->driver, sizeof info->driver, "emulator of the device kernels");
    info->memory_total = DEVICE_BYTES;
    info->memory_free = DEVICE_BYTES;
    info->cell_block = 1;
    return QN_OK;
}

/* --- Devices ------------------------------------------------------------------------------------------------------ */

static qn_status read_options(const qn_option *options, uint32_t n_options, gpu_caps *caps, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < n_options && status == QN_OK; i++) {
        uint64_t value = 0;
        status = read_number(&options[i], &value, err);
        if (strcmp(options[i].key, "unified") == 0) {
            caps->flags |= value != 0 ? GPU_CAP_UNIFIED : 0;
        } else if (strcmp(options[i].key, "allocation") == 0) {
            caps->max_memory_bytes = value;
        } else if (strcmp(options[i].key, "subgroup") == 0) {
            if (value != 0 && (value > 64 || 64 % value != 0)) {
                return qn_fail(err, QN_BAD_ARG, "option 'subgroup' divides 64; '%s' was given", options[i].value);
            }
            caps->flags |= value != 0 ? GPU_CAP_SUBGROUPS : 0;
            caps->subgroup = value != 0 ? (uint32_t)value : 1;
        } else {
            caps->max_binding_bytes = value;
        }
    }
    return status;
}

static void close_device(gpu_driver_device *device) {
    pthread_mutex_lock(&device->lock);
    device->is_closing = true;
    pthread_cond_broadcast(&device->changed);
    pthread_mutex_unlock(&device->lock);
    pthread_join(device->worker, NULL);
    pthread_mutex_destroy(&device->lock);
    pthread_cond_destroy(&device->changed);
    device->host->mem_free(device->host->ctx, device);
}

static qn_status open_device(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options,
                             gpu_driver_device **out, gpu_caps *caps, qn_error *err) {
    (void)index;
    *caps = (gpu_caps){.subgroup = 1,
                       .max_group = 256,
                       .compute_units = 4,
                       .max_grid = {65535, 65535, 65535},
                       .shared_bytes = 32768,
                       .max_memory_bytes = UINT64_C(1) << 30,
                       .max_binding_bytes = UINT64_C(1) << 27,
                       .memory_align = 256,
                       .launch_bytes = sizeof(gpu_launch),
                       .recording_bytes = sizeof(gpu_recording)};
    caps->flags |= state->has_int_dot ? GPU_CAP_INT_DOT : 0;
    const qn_status status = read_options(options, n_options, caps, err);
    if (status != QN_OK) {
        return status;
    }
    gpu_driver_device *device = state->host->mem_alloc(state->host->ctx, QN_MEM_OTHER, sizeof *device, 64);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open: %zu bytes", sizeof *device);
    }
    device->host = state->host;
    device->is_unified = (caps->flags & GPU_CAP_UNIFIED) != 0;
    device->subgroup = (caps->flags & GPU_CAP_SUBGROUPS) != 0 ? caps->subgroup : 0;
    pthread_mutex_init(&device->lock, NULL);
    pthread_cond_init(&device->changed, NULL);
    if (pthread_create(&device->worker, NULL, emulated_work, device) != 0) {
        state->host->mem_free(state->host->ctx, device);
        return qn_fail(err, QN_INTERNAL, "open: no thread");
    }
    *out = device;
    return QN_OK;
}

static qn_status kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err) {
    if (kernel >= emu_n_kernels() || kernel >= EMULATED_KERNELS) {
        return qn_fail(err, QN_UNSUPPORTED, "there is no kernel %u", kernel);
    }
    device->opened[kernel] = 1;
    return QN_OK;
}

static const qn_option_info options_of[] = {
    GPU_CORE_OPTIONS,
    {.size = sizeof(qn_option_info),
     .type = QN_OPTION_UINT,
     .applies = QN_OPTION_AT_OPEN,
     .key = "unified",
     .default_value = "0",
     .choices = "",
     .help = "1: the device reads the host's pages."},
    {.size = sizeof(qn_option_info),
     .type = QN_OPTION_UINT,
     .applies = QN_OPTION_AT_OPEN,
     .key = "allocation",
     .default_value = "1073741824",
     .choices = "",
     .help = "Bytes that one allocation may have."},
    {.size = sizeof(qn_option_info),
     .type = QN_OPTION_UINT,
     .applies = QN_OPTION_AT_OPEN,
     .key = "binding",
     .default_value = "134217728",
     .choices = "",
     .help = "Bytes that a kernel sees through one binding."},
    {.size = sizeof(qn_option_info),
     .type = QN_OPTION_UINT,
     .applies = QN_OPTION_AT_OPEN,
     .key = "subgroup",
     .default_value = "0",
     .choices = "",
     .help = "Work-items of a subgroup; 0: there are none."},
    {.size = sizeof(qn_option_info),
     .type = QN_OPTION_UINT,
     .applies = QN_OPTION_AT_START,
     .key = "int_dot",
     .default_value = "0",
     .choices = "",
     .help = "1: the device multiplies bytes."},
};

const gpu_driver gpu_the_driver = {.name = "emulated",
                                   .extra = "kernels as C++",
                                   .options = options_of,
                                   .n_options = sizeof options_of / sizeof options_of[0],
                                   .start = start,
                                   .stop = stop,
                                   .count = count,
                                   .describe = describe,
                                   .open = open_device,
                                   .close = close_device,
                                   .memory_new = emulated_memory_new,
                                   .memory_import = emulated_memory_import,
                                   .memory_free = emulated_memory_free,
                                   .upload = emulated_upload,
                                   .download = emulated_download,
                                   .kernel_open = kernel_open,
                                   .recording_new = emulated_recording_new,
                                   .recording_free = emulated_recording_free,
                                   .record = emulated_record,
                                   .run = emulated_run};
