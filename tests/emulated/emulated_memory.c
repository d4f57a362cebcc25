/* emulated_memory.c — memory that the host cannot reach by mistake: pages of their own, closed while nothing runs. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <sys/mman.h>

#include "emulated.h"

#define POISON 0xfb

static void open_pages(const emulated_memory *memory) {
    if (memory->page_bytes > 0) {
        mprotect(memory->pages, memory->page_bytes, PROT_READ | PROT_WRITE);
    }
}

static void close_pages(const emulated_memory *memory) {
    if (memory->page_bytes > 0) {
        mprotect(memory->pages, memory->page_bytes, PROT_NONE);
    }
}

static char *take_pages(uint64_t bytes) {
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        return NULL;
    }
    memset(pages, 0xff, bytes);
    return pages;
}

static emulated_memory *make_memory(gpu_driver_device *device, uint64_t bytes, uint32_t place) {
    emulated_memory *memory = device->host->mem_alloc(device->host->ctx, QN_MEM_OTHER, sizeof *memory, 16);
    if (memory != NULL) {
        memory->shared.bytes = bytes;
        memory->place = place;
        memory->next = device->memories;
        device->memories = memory;
    }
    return memory;
}

qn_status emulated_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out,
                              qn_error *err) {
    emulated_memory *memory = bytes == 0 ? NULL : make_memory(device, bytes, place);
    if (memory == NULL) {
        return qn_fail(err, bytes == 0 ? QN_BAD_ARG : QN_NO_HOST_MEM, "memory of %llu bytes",
                       (unsigned long long)bytes);
    }
    memory->page_bytes = (bytes + 4095) / 4096 * 4096;
    memory->pages = take_pages(memory->page_bytes);
    if (memory->pages != NULL && place != GPU_PLACE_DEVICE) {
        memory->shared.host = take_pages(memory->page_bytes);
    }
    if (memory->pages == NULL || (place != GPU_PLACE_DEVICE && memory->shared.host == NULL)) {
        emulated_memory_free(device, &memory->shared);
        return qn_fail(err, QN_NO_DEVICE_MEM, "%llu bytes asked for, no pages are free", (unsigned long long)bytes);
    }
    close_pages(memory);
    *out = &memory->shared;
    return QN_OK;
}

qn_status emulated_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out,
                                 uint64_t *at, qn_error *err) {
    const uintptr_t begin = (uintptr_t)data & ~(uintptr_t)4095;
    emulated_memory *memory = device->is_unified ? make_memory(device, bytes, GPU_PLACE_DEVICE) : NULL;
    if (memory == NULL) {
        return device->is_unified ? qn_fail(err, QN_NO_HOST_MEM, "import of %llu bytes", (unsigned long long)bytes)
                                  : qn_fail(err, QN_UNSUPPORTED, "the device has memory of its own");
    }
    memory->is_imported = true;
    memory->pages = (char *)begin;
    memory->shared.bytes = (uintptr_t)data - begin + bytes;
    *out = &memory->shared;
    *at = (uintptr_t)data - begin;
    return QN_OK;
}

void emulated_memory_free(gpu_driver_device *device, gpu_memory *freed) {
    emulated_memory *memory = (emulated_memory *)freed;
    emulated_memory **at = &device->memories;
    while (*at != memory) {
        at = &(*at)->next;
    }
    *at = memory->next;
    if (memory->page_bytes > 0 && memory->pages != NULL) {
        munmap(memory->pages, memory->page_bytes);
    }
    if (memory->shared.host != NULL) {
        munmap(memory->shared.host, memory->page_bytes);
    }
    device->host->mem_free(device->host->ctx, memory);
}

static bool is_inside(const gpu_memory *memory, uint64_t at, uint64_t bytes) {
    return at <= memory->bytes && bytes <= memory->bytes - at;
}

qn_status emulated_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes,
                          qn_error *err) {
    emulated_memory *memory = (emulated_memory *)to;
    (void)device;
    if (!is_inside(to, at, bytes) || memory->is_imported) {
        return qn_fail(err, QN_BAD_ARG, "upload of %llu bytes to %llu of %llu", (unsigned long long)bytes,
                       (unsigned long long)at, (unsigned long long)to->bytes);
    }
    open_pages(memory);
    memcpy(memory->pages + at, data, bytes);
    close_pages(memory);
    return QN_OK;
}

qn_status emulated_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes,
                            qn_error *err) {
    const emulated_memory *memory = (const emulated_memory *)from;
    (void)device;
    if (!is_inside(from, at, bytes)) {
        return qn_fail(err, QN_BAD_ARG, "download of %llu bytes at %llu of %llu", (unsigned long long)bytes,
                       (unsigned long long)at, (unsigned long long)from->bytes);
    }
    open_pages(memory);
    memcpy(data, memory->pages + at, bytes);
    close_pages(memory);
    return QN_OK;
}

void emulated_memories_begin(gpu_driver_device *device) {
    for (const emulated_memory *m = device->memories; m != NULL; m = m->next) {
        open_pages(m);
        if (m->place == GPU_PLACE_UPLOAD) {
            memcpy(m->pages, m->shared.host, m->shared.bytes);
        } else if (m->place == GPU_PLACE_READBACK) {
            memset(m->shared.host, POISON, m->shared.bytes);
        }
    }
}

void emulated_memories_end(gpu_driver_device *device) {
    for (const emulated_memory *m = device->memories; m != NULL; m = m->next) {
        if (m->place == GPU_PLACE_READBACK) {
            memcpy(m->shared.host, m->pages, m->shared.bytes);
        }
        close_pages(m);
    }
}
