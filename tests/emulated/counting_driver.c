/* counting_driver.c — the driver table of counting_driver.h. */
#include "counting_driver.h"

#include <stdlib.h>

struct gpu_driver_state {
    const qn_host *host;
};

struct gpu_driver_device {
    const qn_host *host;
};

struct gpu_recording {
    uint32_t n, room;
    gpu_launch launches[];
};

typedef struct counted_memory {
    gpu_memory shared;
    char *bytes;
    bool is_imported;
} counted_memory;

counting_driver counted;

void counting_driver_reset(void) {
    memset(&counted, 0, sizeof counted);
    counted.max_memory_bytes = UINT64_C(1) << 30;
    counted.max_binding_bytes = UINT64_C(1) << 30;
}

char *counting_driver_bytes(const gpu_memory *memory) {
    return ((const counted_memory *)memory)->bytes;
}

static void enter(void) {
    counted.have_met = atomic_fetch_add(&counted.n_inside, 1) > 0 || counted.have_met;
}

static void leave(void) {
    atomic_fetch_sub(&counted.n_inside, 1);
}

static qn_status start(const qn_host *host, const qn_option *options, uint32_t n_options, gpu_driver_state **out,
                       qn_error *err) {
    (void)options;
    (void)n_options;
    *out = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof **out, 16);
    if (*out == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "start");
    }
    (*out)->host = host;
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
    (void)state;
    (void)index;
    (void)err;
    info->device_class = QN_DEVICE_GPU;
    info->numeric = QN_NUMERIC_F32ACC | ((counted.caps_flags & GPU_CAP_INT_DOT) != 0 ? QN_NUMERIC_ACT8 : 0u);
    snprintf(info->id, sizeof info->id, "counting");
    snprintf(info->name, sizeof info->name, "counting");
    info->cell_block = 1;
    return QN_OK;
}

static qn_status open_device(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options,
                             gpu_driver_device **out, gpu_caps *caps, qn_error *err) {
    (void)index;
    (void)options;
    (void)n_options;
    *caps = (gpu_caps){.flags = counted.caps_flags,
                       .subgroup = 1,
                       .max_group = 256,
                       .compute_units = 4,
                       .max_grid = {65535, 65535, 65535},
                       .shared_bytes = 32768,
                       .max_memory_bytes = counted.max_memory_bytes,
                       .max_binding_bytes = counted.max_binding_bytes,
                       .memory_align = 64,
                       .launch_bytes = sizeof(gpu_launch),
                       .recording_bytes = sizeof(gpu_recording)};
    *out = state->host->mem_alloc(state->host->ctx, QN_MEM_OTHER, sizeof **out, 16);
    if (*out == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "open");
    }
    (*out)->host = state->host;
    return QN_OK;
}

static void close_device(gpu_driver_device *device) {
    device->host->mem_free(device->host->ctx, device);
}

static counted_memory *make_memory(uint64_t bytes) {
    counted_memory *memory = calloc(1, sizeof *memory);
    if (memory != NULL) {
        memory->shared.bytes = bytes;
        counted.n_memories_left++;
    }
    return memory;
}

static qn_status memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out,
                            qn_error *err) {
    counted_memory *memory = make_memory(bytes);
    (void)device;
    if (memory == NULL || (memory->bytes = calloc(1, bytes)) == NULL) {
        return qn_fail(err, QN_NO_DEVICE_MEM, "%llu bytes", (unsigned long long)bytes);
    }
    memory->shared.host = place == GPU_PLACE_DEVICE ? NULL : memory->bytes;
    counted.n_memories++;
    *out = &memory->shared;
    return QN_OK;
}

static qn_status memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out,
                               uint64_t *at, qn_error *err) {
    (void)device;
    (void)data;
    if (counted.refuses_imports) {
        return qn_fail(err, QN_UNSUPPORTED, "not these pages");
    }
    counted_memory *memory = make_memory(bytes);
    memory->is_imported = true;
    counted.n_imports++;
    *out = &memory->shared;
    *at = 0;
    return QN_OK;
}

static void memory_free(gpu_driver_device *device, gpu_memory *freed) {
    counted_memory *memory = (counted_memory *)freed;
    (void)device;
    counted.n_memories_left--;
    free(memory->bytes);
    free(memory);
}

static qn_status upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes,
                        qn_error *err) {
    (void)device;
    (void)err;
    enter();
    memcpy(counting_driver_bytes(to) + at, data, bytes);
    leave();
    return QN_OK;
}

static qn_status download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes,
                          qn_error *err) {
    (void)device;
    (void)err;
    enter();
    memcpy(data, counting_driver_bytes(from) + at, bytes);
    leave();
    return QN_OK;
}

static qn_status kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err) {
    (void)device;
    (void)kernel;
    (void)err;
    counted.n_kernels++;
    return QN_OK;
}

static qn_status recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err) {
    *out = device->host->mem_alloc(device->host->ctx, QN_MEM_SCRATCH, sizeof **out + room * sizeof(gpu_launch), 16);
    if (*out == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "recording");
    }
    (*out)->room = room;
    counted.n_recordings_left++;
    return QN_OK;
}

static void recording_free(gpu_driver_device *device, gpu_recording *recording) {
    counted.n_recordings_left--;
    device->host->mem_free(device->host->ctx, recording);
}

static qn_status record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n,
                        qn_error *err) {
    (void)device;
    if (n == 0 || n > recording->room || n > COUNTED_LAUNCHES) {
        return qn_fail(err, QN_INTERNAL, "%u launches", n);
    }
    memcpy(recording->launches, launches, n * sizeof *launches);
    memcpy(counted.launches, launches, n * sizeof *launches);
    recording->n = n;
    counted.n_launches = n;
    counted.n_records++;
    return QN_OK;
}

static qn_status run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err) {
    (void)device;
    (void)err;
    enter();
    for (uint32_t i = 0; i < recording->n; i++) {
        const gpu_launch *launch = &recording->launches[i];
        if (launch->kernel == GPU_COPY) {
            memcpy(counting_driver_bytes(launch->buffers[1].memory) + launch->buffers[1].at,
                   counting_driver_bytes(launch->buffers[0].memory) + launch->buffers[0].at, launch->buffers[0].bytes);
        }
        if (nanoseconds != NULL) {
            nanoseconds[i] += 10;
        }
    }
    counted.n_runs++;
    leave();
    return QN_OK;
}

static const qn_option_info options_of[] = {GPU_CORE_OPTIONS};

const gpu_driver gpu_the_driver = {.name = "counting",
                                   .extra = "nothing runs",
                                   .options = options_of,
                                   .n_options = 1,
                                   .start = start,
                                   .stop = stop,
                                   .count = count,
                                   .describe = describe,
                                   .open = open_device,
                                   .close = close_device,
                                   .memory_new = memory_new,
                                   .memory_import = memory_import,
                                   .memory_free = memory_free,
                                   .upload = upload,
                                   .download = download,
                                   .kernel_open = kernel_open,
                                   .recording_new = recording_new,
                                   .recording_free = recording_free,
                                   .record = record,
                                   .run = run};
