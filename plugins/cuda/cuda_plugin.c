/* cuda_plugin.c — the driver's table, its start, and the list of devices. */
#include "cuda_driver.h"

static qn_status start_driver(const qn_host *host, const qn_option *options, uint32_t n_options, gpu_driver_state **out, qn_error *err) {
    (void)options; /* none applies at start */
    (void)n_options;
    gpu_driver_state *state = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *state, 16);
    if (state == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start: no memory for %zu bytes", sizeof *state);
    }
    state->host = host;
    const qn_status status = cuda_api_open(&state->api, err);
    if (status != QN_OK) {
        host->mem_free(host->ctx, state);
        return status;
    }
    *out = state;
    return QN_OK;
}

static void stop_driver(gpu_driver_state *state) {
    state->host->mem_free(state->host->ctx, state);
}

static qn_status count_devices(gpu_driver_state *state, uint32_t *count, qn_error *err) {
    int32_t n = 0;
    const cu_result result = state->api.device_count(&n);
    if (result != CU_OK) {
        return cuda_fail(&state->api, result, "cuDeviceGetCount", err);
    }
    *count = n > 0 ? (uint32_t)n : 0;
    return QN_OK;
}

/* The driver writes the address of the bus with capital digits, the kernel with small ones. */
static void copy_bus_id(char *to, size_t room, const char *bus) {
    size_t i = 0;
    for (; bus[i] != '\0' && i + 1 < room; i++) {
        to[i] = bus[i] >= 'A' && bus[i] <= 'F' ? (char)(bus[i] - 'A' + 'a') : bus[i];
    }
    to[i] = '\0';
}

static qn_status describe_device(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err) {
    const cu_api *api = &state->api;
    cu_device device = 0;
    char bus[32] = "";
    size_t bytes = 0;
    cu_result result = api->device_get(&device, (int32_t)index);
    const char *call = "cuDeviceGet";
    if (result == CU_OK) {
        call = "cuDeviceGetName";
        result = api->device_name(info->name, (int32_t)sizeof info->name, device);
    }
    if (result == CU_OK) {
        call = "cuDeviceGetPCIBusId";
        result = api->device_bus(bus, (int32_t)sizeof bus, device);
    }
    if (result == CU_OK) {
        call = "cuDeviceTotalMem_v2";
        result = api->device_memory(&bytes, device);
    }
    if (result != CU_OK) {
        return cuda_fail(api, result, call, err);
    }
    const int is_unified = cuda_is_unified(api, device);
    const int32_t capability = cuda_capability(api, device);
    copy_bus_id(info->id, sizeof info->id, bus);
    snprintf(info->driver, sizeof info->driver, "%s for CUDA %d.%d, compute capability %d.%d", CU_LIBRARY, (int)(api->version / 1000),
             (int)(api->version % 1000 / 10), (int)(capability / 10), (int)(capability % 10));
    info->device_class = cuda_attribute(api, device, CU_INTEGRATED) != 0 ? QN_DEVICE_IGPU : QN_DEVICE_GPU;
    info->flags = QN_DEVICE_DETERMINISTIC | (is_unified ? (uint32_t)QN_DEVICE_HOST_MEMORY : 0);
    info->numeric = QN_NUMERIC_F32ACC | QN_NUMERIC_ACT8; /* every such device has dp4a */
    info->cell_block = 1;
    info->memory_total = bytes;
    info->memory_free = bytes; /* how much of it is free is known only inside a context, and a list makes none */
    return QN_OK;
}

static const qn_option_info options[] = {
    GPU_CORE_OPTIONS,
    {.size = sizeof(qn_option_info), .type = QN_OPTION_UINT, .applies = QN_OPTION_AT_OPEN, .key = "graph_mib", .default_value = "8192",
     .choices = "", .help = "MiB of memory traffic after which a long step goes on in another graph, to be cancelled there; 0: at once."},
};

const gpu_driver gpu_the_driver = {
    .name = "cuda",
    .extra = cuda_built_with,
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .start = start_driver,
    .stop = stop_driver,
    .count = count_devices,
    .describe = describe_device,
    .open = cuda_open,
    .close = cuda_close,
    .memory_new = cuda_memory_new,
    .memory_import = cuda_memory_import,
    .memory_free = cuda_memory_free,
    .upload = cuda_upload,
    .download = cuda_download,
    .kernel_open = cuda_kernel_open,
    .recording_new = cuda_recording_new,
    .recording_free = cuda_recording_free,
    .record = cuda_record,
    .run = cuda_run,
};
