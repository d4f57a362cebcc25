/* cuda_memory.c — memory of the three places, pages of the host in place, and copies in and out.
 *
 * Copies between pageable memory and the device go through the device's two pieces of staging memory in turn: one is filled while the
 * other is on its way. They are on the one stream of the device, so that whatever runs later sees them.
 */
#include "cuda_driver.h"

static cuda_memory *own(gpu_memory *memory) {
    return (cuda_memory *)(void *)memory;
}

/* NO_DEVICE_MEM says what was asked for and what there is. */
static qn_status fail_allocation(gpu_driver_device *device, cu_result result, const char *call, uint64_t bytes, qn_error *err) {
    size_t free_bytes = 0, total_bytes = 0;
    const qn_status status = cuda_check(device, result, call, err);
    if (status == QN_NO_DEVICE_MEM && device->state->api.memory_info(&free_bytes, &total_bytes) == CU_OK) {
        return qn_fail(err, status, "%s: %s (%d): %llu bytes were asked for, %zu of %zu are free on %s", call,
                       cuda_result_name(&device->state->api, result), (int)result, (unsigned long long)bytes, free_bytes, total_bytes,
                       device->name);
    }
    return status;
}

static qn_status take_device(gpu_driver_device *device, cuda_memory *memory, qn_error *err) {
    const cu_result result = device->state->api.memory_alloc(&memory->address, memory->shared.bytes);
    memory->kind = CUDA_MEMORY_DEVICE;
    return result == CU_OK ? QN_OK : fail_allocation(device, result, "cuMemAlloc_v2", memory->shared.bytes, err);
}

/* Page-locked memory of the host that kernels and copies reach as well. */
static qn_status take_host(gpu_driver_device *device, cuda_memory *memory, qn_error *err) {
    const cu_api *api = &device->state->api;
    memory->kind = CUDA_MEMORY_HOST;
    cu_result result = api->host_alloc(&memory->shared.host, memory->shared.bytes, CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICEMAP);
    if (result != CU_OK) {
        return fail_allocation(device, result, "cuMemHostAlloc", memory->shared.bytes, err);
    }
    result = api->host_address(&memory->address, memory->shared.host, 0);
    if (result != CU_OK) {
        api->host_free(memory->shared.host);
    }
    return cuda_check(device, result, "cuMemHostGetDevicePointer_v2", err);
}

static cuda_memory *new_struct(gpu_driver_device *device, uint64_t bytes, qn_error *err) {
    const qn_host *host = device->state->host;
    cuda_memory *memory = host->mem_alloc(host->ctx, QN_MEM_OTHER, sizeof *memory, 16);
    if (memory == NULL) {
        qn_fail(err, QN_NO_HOST_MEM, "no memory for %zu bytes", sizeof *memory);
        return NULL;
    }
    memory->shared.bytes = bytes;
    return memory;
}

qn_status cuda_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err) {
    const qn_host *host = device->state->host;
    cuda_memory *memory = new_struct(device, bytes, err);
    if (memory == NULL) {
        return QN_NO_HOST_MEM;
    }
    qn_status status = cuda_enter(device, err);
    if (status == QN_OK) {
        status = place == GPU_PLACE_DEVICE ? take_device(device, memory, err) : take_host(device, memory, err);
        cuda_leave(device);
    }
    if (status != QN_OK) {
        host->mem_free(host->ctx, memory);
        return status;
    }
    *out = &memory->shared;
    return QN_OK;
}

/* --- Pages of the host ------------------------------------------------------------------------------------------------ */

static qn_status register_pages(gpu_driver_device *device, cuda_memory *memory, void *pages, uint64_t bytes, qn_error *err) {
    const cu_api *api = &device->state->api;
    const uint32_t flags = CU_HOST_REGISTER_PORTABLE | CU_HOST_REGISTER_DEVICEMAP | CU_HOST_REGISTER_READ_ONLY;
    cu_result result = api->host_register(pages, bytes, flags);
    if (result == CU_OK) {
        result = api->host_address(&memory->address, pages, 0);
        if (result != CU_OK) {
            api->host_unregister(pages);
        }
    }
    if (result == CU_OK) {
        memory->pages = pages;
        return QN_OK;
    }
    const qn_status status = cuda_check(device, result, "cuMemHostRegister_v2", err);
    if (status != QN_DEVICE_LOST && err != NULL) {
        err->code = QN_UNSUPPORTED;
    }
    return status == QN_DEVICE_LOST ? status : QN_UNSUPPORTED;
}

qn_status cuda_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err) {
    const qn_host *host = device->state->host;
    const uint64_t page = host->machine->page_bytes;
    const uintptr_t begin = (uintptr_t)data / page * page;
    const uint64_t length = ((uintptr_t)data - begin + bytes + page - 1) / page * page;
    if (!device->is_unified) {
        return qn_fail(err, QN_UNSUPPORTED, "%s does not read memory of the host in place", device->name);
    }
    cuda_memory *memory = new_struct(device, length, err);
    if (memory == NULL) {
        return QN_NO_HOST_MEM;
    }
    memory->kind = CUDA_MEMORY_IMPORTED;
    qn_status status = cuda_enter(device, err);
    if (status == QN_OK) {
        status = register_pages(device, memory, (void *)begin, length, err);
        cuda_leave(device);
    }
    if (status != QN_OK) {
        host->mem_free(host->ctx, memory);
        return status;
    }
    *at = (uintptr_t)data - begin;
    *out = &memory->shared;
    return QN_OK;
}

/* Uploads into device memory may still be on their way. */
static void wait_for_uploads(gpu_driver_device *device) {
    if (device->staging[0].is_busy || device->staging[1].is_busy) {
        device->state->api.stream_wait(device->stream);
        device->staging[0].is_busy = device->staging[1].is_busy = 0;
    }
}

void cuda_memory_free(gpu_driver_device *device, gpu_memory *memory) {
    const cu_api *api = &device->state->api;
    const qn_host *host = device->state->host;
    if (memory == NULL) {
        return;
    }
    cuda_memory *mine = own(memory);
    cuda_enter_to_free(device);
    wait_for_uploads(device);
    switch (mine->kind) {
    case CUDA_MEMORY_DEVICE: api->memory_free(mine->address); break;
    case CUDA_MEMORY_HOST: api->host_free(memory->host); break;
    default: api->host_unregister(mine->pages); break;
    }
    cuda_leave(device);
    host->mem_free(host->ctx, mine);
}

/* --- Copies ----------------------------------------------------------------------------------------------------------- */

/* Waits until the piece may be written again. */
static qn_status claim_staging(gpu_driver_device *device, cuda_staging *staging, qn_error *err) {
    if (!staging->is_busy) {
        return QN_OK;
    }
    staging->is_busy = 0;
    return cuda_check(device, device->state->api.event_wait(staging->done), "cuEventSynchronize", err);
}

static qn_status upload_piece(gpu_driver_device *device, cu_address to, const void *data, uint64_t bytes, qn_error *err) {
    const cu_api *api = &device->state->api;
    cuda_staging *staging = &device->staging[device->next_staging];
    qn_status status = claim_staging(device, staging, err);
    if (status == QN_OK) {
        memcpy(staging->host, data, bytes);
        status = cuda_check(device, api->copy_in(to, staging->host, bytes, device->stream), "cuMemcpyHtoDAsync_v2", err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, api->event_record(staging->done, device->stream), "cuEventRecord", err);
        staging->is_busy = 1;
        device->next_staging ^= 1;
    }
    return status;
}

qn_status cuda_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err) {
    if (to->host != NULL) {
        memcpy((char *)to->host + at, data, bytes);
        return QN_OK;
    }
    qn_status status = cuda_enter(device, err);
    if (status != QN_OK) {
        return status;
    }
    for (uint64_t done = 0; done < bytes && status == QN_OK; done += CUDA_STAGING_BYTES) {
        const uint64_t piece = bytes - done < CUDA_STAGING_BYTES ? bytes - done : CUDA_STAGING_BYTES;
        status = upload_piece(device, own(to)->address + at + done, (const char *)data + done, piece, err);
    }
    cuda_leave(device);
    return status;
}

static qn_status download_piece(gpu_driver_device *device, cu_address from, void *data, uint64_t bytes, qn_error *err) {
    const cu_api *api = &device->state->api;
    cuda_staging *staging = &device->staging[device->next_staging];
    qn_status status = claim_staging(device, staging, err);
    if (status == QN_OK) {
        status = cuda_check(device, api->copy_out(staging->host, from, bytes, device->stream), "cuMemcpyDtoHAsync_v2", err);
    }
    if (status == QN_OK) {
        status = cuda_check(device, api->stream_wait(device->stream), "cuStreamSynchronize", err);
    }
    if (status == QN_OK) {
        memcpy(data, staging->host, bytes);
    }
    return status;
}

qn_status cuda_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err) {
    if (from->host != NULL) {
        memcpy(data, (const char *)from->host + at, bytes);
        return QN_OK;
    }
    qn_status status = cuda_enter(device, err);
    if (status != QN_OK) {
        return status;
    }
    for (uint64_t done = 0; done < bytes && status == QN_OK; done += CUDA_STAGING_BYTES) {
        const uint64_t piece = bytes - done < CUDA_STAGING_BYTES ? bytes - done : CUDA_STAGING_BYTES;
        status = download_piece(device, own(from)->address + at + done, (char *)data + done, piece, err);
    }
    cuda_leave(device);
    return status;
}
