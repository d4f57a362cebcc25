/* cuda_device.c — opening a device: its primary context, one stream, staging memory, and what lowering may count on. */
#include "cuda_driver.h"

#define CONTEXT_CALL "cuDevicePrimaryCtxRetain"

int32_t cuda_attribute(const cu_api *api, cu_device device, int32_t attribute) {
    int32_t value = 0;
    return api->device_attribute(&value, attribute, device) == CU_OK ? value : 0;
}

int32_t cuda_capability(const cu_api *api, cu_device device) {
    return cuda_attribute(api, device, CU_CAPABILITY_MAJOR) * 10 + cuda_attribute(api, device, CU_CAPABILITY_MINOR);
}

int cuda_is_unified(const cu_api *api, cu_device device) {
    return cuda_attribute(api, device, CU_INTEGRATED) != 0 && cuda_attribute(api, device, CU_READ_ONLY_HOST_REGISTER_SUPPORTED) != 0;
}

/* --- Context and errors ----------------------------------------------------------------------------------------------- */

qn_status cuda_check(gpu_driver_device *device, cu_result result, const char *call, qn_error *err) {
    if (result == CU_OK) {
        return QN_OK;
    }
    const qn_status status = cuda_fail(&device->state->api, result, call, err);
    if (status == QN_DEVICE_LOST) {
        device->is_lost = 1;
    }
    return status;
}

qn_status cuda_enter(gpu_driver_device *device, qn_error *err) {
    if (device->is_lost) {
        return qn_fail(err, QN_DEVICE_LOST, "%s was lost by an earlier call", device->name);
    }
    return cuda_check(device, device->state->api.context_push(device->context), "cuCtxPushCurrent_v2", err);
}

void cuda_enter_to_free(gpu_driver_device *device) {
    device->state->api.context_push(device->context);
}

void cuda_leave(gpu_driver_device *device) {
    cu_context popped = NULL;
    device->state->api.context_pop(&popped);
}

/* --- Open ------------------------------------------------------------------------------------------------------------- */

/* Decimal digits only, below 2^40. */
static int read_number(const char *text, uint64_t *out) {
    uint64_t value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || value >> 36 != 0) {
            return 0;
        }
        value = value * 10 + (uint64_t)(*c - '0');
    }
    *out = value;
    return text[0] != '\0';
}

static qn_status read_options(gpu_driver_device *device, const qn_option *options, uint32_t n_options, qn_error *err) {
    uint64_t mib = 8192;
    for (uint32_t i = 0; i < n_options; i++) {
        if (strcmp(options[i].key, "graph_mib") == 0 && !read_number(options[i].value, &mib)) {
            return qn_fail(err, QN_BAD_ARG, "option graph_mib is '%s'; a number of MiB is needed, 0 for as many graphs as can be",
                           options[i].value);
        }
    }
    device->graph_bytes = mib << 20;
    return QN_OK;
}

static void fill_caps(const gpu_driver_device *device, gpu_caps *caps, uint64_t memory_bytes) {
    const cu_api *api = &device->state->api;
    const cu_device handle = device->handle;
    *caps = (gpu_caps){
        .flags = GPU_CAP_SUBGROUPS | GPU_CAP_INT_DOT | (device->is_unified ? (uint32_t)GPU_CAP_UNIFIED : 0),
        .subgroup = (uint32_t)cuda_attribute(api, handle, CU_WARP_SIZE),
        .max_group = (uint32_t)cuda_attribute(api, handle, CU_MAX_THREADS_PER_BLOCK),
        .compute_units = (uint32_t)cuda_attribute(api, handle, CU_MULTIPROCESSOR_COUNT),
        .max_grid = {(uint32_t)cuda_attribute(api, handle, CU_MAX_GRID_DIM_X), (uint32_t)cuda_attribute(api, handle, CU_MAX_GRID_DIM_Y),
                     (uint32_t)cuda_attribute(api, handle, CU_MAX_GRID_DIM_Z)},
        .shared_bytes = (uint64_t)cuda_attribute(api, handle, CU_MAX_SHARED_MEMORY_PER_BLOCK),
        .max_memory_bytes = memory_bytes,
        .max_binding_bytes = UINT32_MAX & ~UINT64_C(3), /* kernels count bytes in 32 bits */
        .memory_align = 512,
        .launch_bytes = CUDA_LAUNCH_BYTES,
        .recording_bytes = sizeof(gpu_recording),
    };
}

/* A stream, events and staging memory, in the context that is entered. */
static qn_status make_parts(gpu_driver_device *device, qn_error *err) {
    const cu_api *api = &device->state->api;
    qn_status status = cuda_check(device, api->stream_create(&device->stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate", err);
    cu_event *const events[] = {&device->begin, &device->end, &device->staging[0].done, &device->staging[1].done};
    for (uint32_t i = 0; i < sizeof events / sizeof events[0] && status == QN_OK; i++) {
        status = cuda_check(device, api->event_create(events[i], CU_EVENT_DEFAULT), "cuEventCreate", err);
    }
    for (uint32_t i = 0; i < 2 && status == QN_OK; i++) {
        status = cuda_check(device, api->host_alloc(&device->staging[i].host, CUDA_STAGING_BYTES, CU_HOST_ALLOC_PORTABLE),
                            "cuMemHostAlloc of staging memory", err);
    }
    return status;
}

static void free_parts(gpu_driver_device *device) {
    const cu_api *api = &device->state->api;
    cu_event const events[] = {device->begin, device->end, device->staging[0].done, device->staging[1].done};
    if (device->stream != NULL) {
        api->stream_wait(device->stream);
    }
    cuda_kernels_close(device);
    for (uint32_t i = 0; i < 2; i++) {
        if (device->staging[i].host != NULL) {
            api->host_free(device->staging[i].host);
        }
    }
    for (uint32_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (events[i] != NULL) {
            api->event_destroy(events[i]);
        }
    }
    if (device->stream != NULL) {
        api->stream_destroy(device->stream);
    }
}

/* Which device it is, and whether the kernels were built for such ones. */
static qn_status identify(gpu_driver_device *device, uint32_t index, uint64_t *memory_bytes, qn_error *err) {
    const cu_api *api = &device->state->api;
    size_t bytes = 0;
    qn_status status = cuda_check(device, api->device_get(&device->handle, (int32_t)index), "cuDeviceGet", err);
    if (status == QN_OK) {
        status = cuda_check(device, api->device_name(device->name, (int32_t)sizeof device->name, device->handle), "cuDeviceGetName", err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, api->device_memory(&bytes, device->handle), "cuDeviceTotalMem_v2", err);
    }
    if (status != QN_OK) {
        return status;
    }
    *memory_bytes = bytes;
    device->capability = cuda_capability(api, device->handle);
    device->is_unified = cuda_is_unified(api, device->handle);
    if (device->capability < CUDA_LEAST_CAPABILITY) {
        return qn_fail(err, QN_TOO_OLD, "%s has compute capability %d.%d; %d.%d or newer is needed", device->name,
                       (int)(device->capability / 10), (int)(device->capability % 10), CUDA_LEAST_CAPABILITY / 10,
                       CUDA_LEAST_CAPABILITY % 10);
    }
    return QN_OK;
}

qn_status cuda_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                    gpu_caps *caps, qn_error *err) {
    const qn_host *host = state->host;
    uint64_t memory_bytes = 0;
    gpu_driver_device *device = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *device, 16);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open: no memory for %zu bytes", sizeof *device);
    }
    device->state = state;
    qn_status status = read_options(device, options, n_options, err);
    if (status == QN_OK) {
        status = identify(device, index, &memory_bytes, err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, state->api.context_retain(&device->context, device->handle), CONTEXT_CALL, err);
    }
    if (status == QN_OK) {
        status = cuda_enter(device, err);
    }
    if (status == QN_OK) {
        status = make_parts(device, err);
        cuda_leave(device);
    }
    if (status != QN_OK) {
        cuda_close(device);
        return status;
    }
    fill_caps(device, caps, memory_bytes);
    *out = device;
    return QN_OK;
}

/* After a loss the primary context is reset, or the next one to retain it would get it dead. */
void cuda_close(gpu_driver_device *device) {
    const qn_host *host = device->state->host;
    const cu_api *api = &device->state->api;
    if (device->context != NULL) {
        cuda_enter_to_free(device);
        free_parts(device);
        cuda_leave(device);
        if (device->is_lost) {
            api->context_reset(device->handle);
        }
        api->context_release(device->handle);
    }
    host->mem_free(host->ctx, device);
}
