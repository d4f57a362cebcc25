/* ocl_memory.c — buffers, and moving bytes in and out of them. */
#include "ocl_internal.h"

#define MAPPED_ALIGN 4096u

static ocl_memory *new_memory(gpu_driver_device *device, uint32_t place, uint64_t bytes, qn_error *err) {
    ocl_memory *memory = device->host->mem_alloc(device->host->ctx, QN_MEM_OTHER, sizeof *memory, 64);
    if (memory == NULL) {
        qn_fail(err, QN_NO_HOST_MEM, "no memory for a buffer's record (%llu bytes)", (unsigned long long)sizeof *memory);
        return NULL;
    }
    memory->base.bytes = bytes;
    memory->place = place;
    return memory;
}

/* Drivers say that memory is short in several ways. */
static qn_status fail_to_allocate(const gpu_driver_device *device, cl_int code, uint64_t bytes, qn_error *err) {
    const int is_memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_INVALID_BUFFER_SIZE;
    if (!is_memory) {
        return ocl_fail(err, code, "clCreateBuffer");
    }
    if (err != NULL && err->size >= sizeof(qn_error)) {
        err->native_code = code;
    }
    return qn_fail(err, QN_NO_DEVICE_MEM, "clCreateBuffer: %s (%d): %llu bytes asked for; device %s has %llu, at most %llu in one piece",
                   ocl_error_name(code), code, (unsigned long long)bytes, device->found->name, (unsigned long long)device->total_bytes,
                   (unsigned long long)device->caps.max_memory_bytes);
}

static qn_status make_buffer(gpu_driver_device *device, uint64_t bytes, cl_mem *out, qn_error *err) {
    cl_int code = CL_INVALID_BUFFER_SIZE; /* not every driver says so itself */
    *out = bytes <= device->caps.max_memory_bytes ? device->api->CreateBuffer(device->context, CL_MEM_READ_WRITE, bytes, NULL, &code) : NULL;
    return *out != NULL ? QN_OK : fail_to_allocate(device, code, bytes, err);
}

/* Memory of the driver's, which the device's copy engine reaches where there is one; any other memory does as well. */
static void *map_pinned(gpu_driver_device *device, ocl_memory *memory) {
    const ocl_api *api = device->api;
    cl_int code = CL_SUCCESS;
    memory->pinned = api->CreateBuffer(device->context, CL_MEM_ALLOC_HOST_PTR, memory->base.bytes, NULL, &code);
    void *host = memory->pinned == NULL ? NULL
                                        : api->EnqueueMapBuffer(device->queue, memory->pinned, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                                                memory->base.bytes, 0, NULL, NULL, &code);
    if (host == NULL && memory->pinned != NULL) {
        api->ReleaseMemObject(memory->pinned);
        memory->pinned = NULL;
    }
    return host;
}

static qn_status make_host_side(gpu_driver_device *device, ocl_memory *memory, qn_error *err) {
    memory->base.host = map_pinned(device, memory);
    if (memory->base.host == NULL) {
        memory->base.host = device->host->mem_alloc(device->host->ctx, QN_MEM_OTHER, memory->base.bytes, MAPPED_ALIGN);
    }
    return memory->base.host != NULL ? QN_OK
                                     : qn_fail(err, QN_NO_HOST_MEM, "no memory to pass bytes to the device (%llu bytes)",
                                               (unsigned long long)memory->base.bytes);
}

qn_status ocl_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err) {
    ocl_memory *memory = new_memory(device, place, bytes, err);
    qn_status status = memory != NULL ? QN_OK : QN_NO_HOST_MEM;
    if (status == QN_OK && place != GPU_PLACE_READBACK) {
        status = make_buffer(device, bytes, &memory->buffer, err);
    }
    if (status == QN_OK && place != GPU_PLACE_DEVICE) {
        status = make_host_side(device, memory, err);
    }
    if (status != QN_OK) {
        ocl_memory_free(device, memory != NULL ? &memory->base : NULL);
        return status;
    }
    *out = &memory->base;
    return QN_OK;
}

qn_status ocl_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err) {
    const uint64_t page = device->host->machine->page_bytes;
    const uint64_t begin = (uint64_t)(uintptr_t)data / page * page;
    const uint64_t end = ((uint64_t)(uintptr_t)data + bytes + page - 1) / page * page;
    cl_int code = CL_SUCCESS;
    if (!device->is_unified || end - begin > device->caps.max_memory_bytes) {
        return qn_fail(err, QN_UNSUPPORTED, "device %s cannot read %llu bytes of the host's memory in place", device->found->name,
                       (unsigned long long)bytes);
    }
    ocl_memory *memory = new_memory(device, GPU_PLACE_DEVICE, end - begin, err);
    if (memory == NULL) {
        return QN_NO_HOST_MEM;
    }
    /* The interface has no place for const; READ_ONLY says that nothing is written there. */
    memory->buffer = device->api->CreateBuffer(device->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR, end - begin,
                                               (void *)(uintptr_t)begin, &code);
    if (memory->buffer == NULL) {
        ocl_memory_free(device, &memory->base);
        return qn_fail(err, QN_UNSUPPORTED, "device %s does not take pages of the host: %s (%d)", device->found->name, ocl_error_name(code),
                       code);
    }
    *at = (uint64_t)(uintptr_t)data - begin;
    *out = &memory->base;
    return QN_OK;
}

void ocl_memory_free(gpu_driver_device *device, gpu_memory *given) {
    const ocl_api *api = device->api;
    if (given == NULL) {
        return;
    }
    ocl_memory *memory = ocl_memory_of(given);
    if (memory->pinned != NULL) {
        api->EnqueueUnmapMemObject(device->queue, memory->pinned, memory->base.host, 0, NULL, NULL);
        api->Finish(device->queue);
        api->ReleaseMemObject(memory->pinned);
    } else {
        device->host->mem_free(device->host->ctx, memory->base.host);
    }
    if (memory->buffer != NULL) {
        api->ReleaseMemObject(memory->buffer);
    }
    device->host->mem_free(device->host->ctx, memory);
}

qn_status ocl_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err) {
    if (to->host != NULL) {
        memcpy((char *)to->host + at, data, bytes);
        return QN_OK;
    }
    const cl_int code = device->api->EnqueueWriteBuffer(device->queue, ocl_memory_of(to)->buffer, CL_TRUE, at, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? QN_OK : ocl_fail(err, code, "clEnqueueWriteBuffer");
}

qn_status ocl_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err) {
    if (from->host != NULL) {
        memcpy(data, (const char *)from->host + at, bytes);
        return QN_OK;
    }
    const cl_int code = device->api->EnqueueReadBuffer(device->queue, ocl_memory_of(from)->buffer, CL_TRUE, at, bytes, data, 0, NULL, NULL);
    return code == CL_SUCCESS ? QN_OK : ocl_fail(err, code, "clEnqueueReadBuffer");
}
