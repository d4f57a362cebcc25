/* gpu_memory.c — every byte of device memory goes through here: budget, account, note to the host. Many small things
 * share a pool. */
#include "gpu_core.h"

/* Larger pools would only make the device look for longer stretches; what is larger itself has a pool of its own. */
#define MOST_POOL_BYTES (UINT64_C(1) << 30)

uint64_t gpu_memory_bytes(const gpu_caps *caps, uint64_t bytes) {
    return gpu_round_up(bytes, caps->memory_align);
}

static qn_status check_budget(const qn_device *device, uint64_t bytes, qn_error *err) {
    const uint64_t free_bytes = device->budget - device->taken;
    if (bytes > free_bytes) {
        return qn_fail(err, QN_NO_DEVICE_MEM,
                       "device memory: %llu bytes asked for, %llu of the budget of %llu are free",
                       (unsigned long long)bytes, (unsigned long long)free_bytes, (unsigned long long)device->budget);
    }
    return QN_OK;
}

qn_status gpu_memory_take(qn_device *device, uint32_t kind, uint32_t place, uint64_t bytes, gpu_piece *out,
                          qn_error *err) {
    const qn_host *host = gpu_host(device);
    const uint64_t accounted = gpu_memory_bytes(&device->caps, bytes);
    qn_status status = gpu_fault_pass(device, QN_FAULT_ALLOC, err);
    if (status == QN_OK && place == GPU_PLACE_DEVICE) {
        status = check_budget(device, accounted, err);
    }
    if (status == QN_OK) {
        status = gpu_the_driver.memory_new(device->driver, place, bytes, &out->memory, err);
    }
    if (status != QN_OK) {
        out->memory = NULL;
        return status;
    }
    out->bytes = accounted;
    out->kind = kind;
    out->place = place;
    device->taken += place == GPU_PLACE_DEVICE ? accounted : 0;
    host->mem_note(host->ctx, kind, (int64_t)accounted);
    return QN_OK;
}

void gpu_memory_give(qn_device *device, gpu_piece *piece) {
    const qn_host *host = gpu_host(device);
    if (piece->memory == NULL) {
        return;
    }
    gpu_the_driver.memory_free(device->driver, piece->memory);
    device->taken -= piece->place == GPU_PLACE_DEVICE ? piece->bytes : 0;
    if (piece->bytes > 0) {
        host->mem_note(host->ctx, piece->kind, -(int64_t)piece->bytes);
    }
    *piece = (gpu_piece){0};
}

qn_status gpu_pools_place(const gpu_caps *caps, gpu_pools *pools, uint64_t bytes, const char *name, gpu_slot *out,
                          qn_error *err) {
    const uint64_t most = caps->max_memory_bytes < MOST_POOL_BYTES ? caps->max_memory_bytes : MOST_POOL_BYTES;
    if (bytes > caps->max_memory_bytes) {
        return qn_fail(err, QN_NO_DEVICE_MEM,
                       "%s: %llu bytes asked for, %llu are the most that one memory of this device may have", name,
                       (unsigned long long)bytes, (unsigned long long)caps->max_memory_bytes);
    }
    const uint64_t end = pools->n == 0 ? 0 : gpu_round_up(pools->bytes[pools->n - 1], GPU_PLACE_ALIGN);
    if (pools->n == 0 || bytes > most || end > most - bytes) {
        if (pools->n == pools->room) {
            return qn_fail(err, QN_INTERNAL, "%s: more than %u pools", name, pools->room);
        }
        pools->bytes[pools->n++] = bytes;
        *out = (gpu_slot){pools->n - 1, 0};
    } else {
        *out = (gpu_slot){pools->n - 1, end};
        pools->bytes[pools->n - 1] = end + bytes;
    }
    return QN_OK;
}

uint64_t gpu_pools_bytes(const gpu_caps *caps, const gpu_pools *pools) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < pools->n; i++) {
        bytes += gpu_memory_bytes(caps, pools->bytes[i]);
    }
    return bytes;
}
