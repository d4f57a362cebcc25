/* opencl_driver.c — the driver's table, and its beginning and end. */
#include "ocl_internal.h"
#include "ocl_process.h"

static const qn_option_info options[] = {
    {.size = sizeof(qn_option_info), .type = QN_OPTION_STRING, .applies = QN_OPTION_AT_START, .key = "platform", .default_value = "",
     .choices = "", .help = "Only platforms (drivers) with this text in their name."},
    {.size = sizeof(qn_option_info), .type = QN_OPTION_CHOICE, .applies = QN_OPTION_AT_START, .key = "int_dot", .default_value = "auto",
     .choices = "auto|on|off",
     .help = "Offer class act8, with kernels that multiply bytes: where hardware does that (auto), wherever the driver can (on), or never."},
    {.size = sizeof(qn_option_info), .type = QN_OPTION_CHOICE, .applies = QN_OPTION_AT_OPEN, .key = "keep", .default_value = "auto",
     .choices = "auto|yes|no", .help = "Keep compiled kernels in the host's store; auto does so but for processors, whose drivers do it better."},
    GPU_CORE_OPTIONS,
};

static qn_status read_int_dot(const qn_option *option, gpu_driver_state *state, qn_error *err) {
    static const char *const words[] = {[OCL_INT_DOT_AUTO] = "auto", [OCL_INT_DOT_ON] = "on", [OCL_INT_DOT_OFF] = "off"};
    for (uint32_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(option->value, words[i]) == 0) {
            state->int_dot = i;
            return QN_OK;
        }
    }
    return qn_fail(err, QN_BAD_ARG, "option %s: %s; it is auto, on or off", option->key, option->value);
}

static qn_status read_options(const qn_option *given, uint32_t n_given, gpu_driver_state *state, qn_error *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < n_given && status == QN_OK; i++) {
        if (strcmp(given[i].key, "int_dot") == 0) {
            status = read_int_dot(&given[i], state, err);
        } else if (strlen(given[i].value) >= sizeof state->platform) {
            status = qn_fail(err, QN_BAD_ARG, "option %s: more than %llu characters", given[i].key,
                             (unsigned long long)sizeof state->platform - 1);
        } else {
            snprintf(state->platform, sizeof state->platform, "%s", given[i].value);
        }
    }
    return status;
}

static qn_status start(const qn_host *host, const qn_option *given, uint32_t n_given, gpu_driver_state **out, qn_error *err) {
    gpu_driver_state *state = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *state, 64);
    if (state == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no memory for the driver (%llu bytes)", (unsigned long long)sizeof *state);
    }
    state->host = host;
    qn_status status = read_options(given, n_given, state, err);
    if (status == QN_OK) {
        status = ocl_api_open(&state->api, err);
    }
    if (status != QN_OK) {
        host->mem_free(host->ctx, state);
        return status;
    }
    *out = state;
    return QN_OK;
}

static void stop(gpu_driver_state *state) {
    if (state != NULL) {
        const qn_host *host = state->host;
        ocl_api_close(&state->api);
        host->mem_free(host->ctx, state);
    }
}

/* The first question loads the drivers. */
static qn_status count_devices(gpu_driver_state *state, uint32_t *count, qn_error *err) {
    ocl_process before;
    ocl_process_take(&before);
    const qn_status status = ocl_list(state, err);
    ocl_process_restore(&before);
    *count = status == QN_OK ? state->n_devices : 0;
    return status;
}

/* Some drivers load their compiler only now. */
static qn_status open_device(gpu_driver_state *state, uint32_t index, const qn_option *given, uint32_t n_given, gpu_driver_device **out,
                             gpu_caps *caps, qn_error *err) {
    ocl_process before;
    ocl_process_take(&before);
    const qn_status status = ocl_open(state, index, given, n_given, out, caps, err);
    ocl_process_restore(&before);
    return status;
}

const gpu_driver gpu_the_driver = {
    .name = "opencl",
    .extra = "kernels in OpenCL C 1.2 (newer where they use subgroups or products of bytes), compiled by the device's driver",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .start = start,
    .stop = stop,
    .count = count_devices,
    .describe = ocl_describe,
    .open = open_device,
    .close = ocl_close,
    .memory_new = ocl_memory_new,
    .memory_import = ocl_memory_import,
    .memory_free = ocl_memory_free,
    .upload = ocl_upload,
    .download = ocl_download,
    .kernel_open = ocl_kernel_open,
    .recording_new = ocl_recording_new,
    .record = ocl_record,
    .recording_free = ocl_recording_free,
    .run = ocl_run,
};
