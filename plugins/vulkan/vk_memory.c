/* vk_memory.c — buffers with memory of their own, of the kind that suits their place, and pages of the host as buffers. */
#include <quoin/glue.h>

#include "vk_driver.h"

#define HOST_SEES (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

/* What each place needs, what it would like, and what it leaves to others. */
static const struct {
    VkMemoryPropertyFlags needed, liked, disliked;
} places[] = {
    [GPU_PLACE_DEVICE] = {0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT},
    [GPU_PLACE_UPLOAD] = {HOST_SEES, 0, VK_MEMORY_PROPERTY_HOST_CACHED_BIT | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
    [GPU_PLACE_READBACK] = {HOST_SEES, VK_MEMORY_PROPERTY_HOST_CACHED_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT}};

/* The type that fits best; a wish weighs more than a dislike. VK_MAX_MEMORY_TYPES when there is none. */
static uint32_t find_type(const vk_adapter *adapter, uint32_t allowed, uint32_t place) {
    uint32_t best = VK_MAX_MEMORY_TYPES;
    int best_score = -1;
    for (uint32_t i = 0; i < adapter->memory.memoryTypeCount; i++) {
        const VkMemoryPropertyFlags flags = adapter->memory.memoryTypes[i].propertyFlags;
        const bool fits = (allowed >> i & 1) != 0 && (flags & places[place].needed) == places[place].needed &&
                          (flags & (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT)) == 0;
        const int score = ((flags & places[place].liked) == places[place].liked ? 2 : 0) + ((flags & places[place].disliked) == 0 ? 1 : 0);
        if (fits && score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static vk_memory *new_object(gpu_driver_device *device, uint64_t bytes, qn_error *err) {
    vk_memory *const memory = device->host->mem_alloc(device->host->ctx, QN_MEM_OTHER, sizeof *memory, 64);
    if (memory == NULL) {
        qn_fail(err, QN_NO_HOST_MEM, "no host memory for a buffer's description (%zu bytes)", sizeof *memory);
        return NULL;
    }
    memory->base.bytes = bytes;
    return memory;
}

static qn_status make_buffer(gpu_driver_device *device, vk_memory *memory, uint64_t bytes, const void *next, qn_error *err) {
    const VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = next, .size = bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    const VkResult result = device->vk.CreateBuffer(device->device, &info, NULL, &memory->buffer);
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "vkCreateBuffer");
}

static qn_status refuse_size(gpu_driver_device *device, uint64_t bytes, VkResult result, qn_error *err) {
    uint64_t total = 0;
    const uint64_t left = vk_free_bytes(&device->state->vk, device->adapter, &total);
    if (err != NULL && err->size >= sizeof *err) {
        err->native_code = result;
    }
    device->is_lost = device->is_lost || result == VK_ERROR_DEVICE_LOST;
    return qn_fail(err, result == VK_ERROR_DEVICE_LOST ? QN_DEVICE_LOST : QN_NO_DEVICE_MEM,
                   "vkAllocateMemory: %s (%d): %llu bytes asked, %llu of %llu free, %llu at most at once", vk_result_name(result), (int)result,
                   (unsigned long long)bytes, (unsigned long long)left, (unsigned long long)total,
                   (unsigned long long)device->adapter->max_allocation);
}

/* Memory behind the buffer. next: how the memory is come by, when it is not simply taken. */
static qn_status take_memory(gpu_driver_device *device, vk_memory *memory, uint64_t bytes, uint32_t type, const void *next, qn_error *err) {
    const VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = next, .allocationSize = bytes,
                                       .memoryTypeIndex = type};
    VkResult result = device->vk.AllocateMemory(device->device, &info, NULL, &memory->memory);
    if (result != VK_SUCCESS) {
        return refuse_size(device, bytes, result, err);
    }
    result = device->vk.BindBufferMemory(device->device, memory->buffer, memory->memory, 0);
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "vkBindBufferMemory");
}

/* Memory that the host may touch is mapped, also that of a device which shares it: copies then need no command. */
static qn_status map_memory(gpu_driver_device *device, vk_memory *memory, uint32_t place, VkMemoryPropertyFlags flags, qn_error *err) {
    void *mapped = NULL;
    if (place == GPU_PLACE_DEVICE && !(vk_shares_memory(device->adapter) && (flags & HOST_SEES) == HOST_SEES)) {
        return QN_OK;
    }
    const VkResult result = device->vk.MapMemory(device->device, memory->memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    if (result != VK_SUCCESS) {
        return vk_fail(device, err, result, "vkMapMemory");
    }
    memory->mapped = mapped;
    memory->is_read_fast = (flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
    memory->base.host = place == GPU_PLACE_DEVICE ? NULL : mapped;
    return QN_OK;
}

static qn_status fill_memory(gpu_driver_device *device, vk_memory *memory, uint32_t place, qn_error *err) {
    VkMemoryRequirements needs;
    if (memory->base.bytes > device->adapter->max_allocation) {
        return refuse_size(device, memory->base.bytes, VK_ERROR_OUT_OF_DEVICE_MEMORY, err);
    }
    qn_status status = make_buffer(device, memory, memory->base.bytes, NULL, err);
    if (status != QN_OK) {
        return status;
    }
    device->vk.GetBufferMemoryRequirements(device->device, memory->buffer, &needs);
    const uint32_t type = find_type(device->adapter, needs.memoryTypeBits, place);
    if (type == VK_MAX_MEMORY_TYPES) {
        return qn_fail(err, QN_UNSUPPORTED, "%s has no memory type for buffers of this kind", device->adapter->name);
    }
    status = take_memory(device, memory, needs.size, type, NULL, err);
    return status == QN_OK ? map_memory(device, memory, place, device->adapter->memory.memoryTypes[type].propertyFlags, err) : status;
}

qn_status vk_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err) {
    vk_memory *const memory = new_object(device, bytes, err);
    if (memory == NULL) {
        return QN_NO_HOST_MEM;
    }
    const qn_status status = fill_memory(device, memory, place, err);
    if (status != QN_OK) {
        vk_memory_free(device, &memory->base);
        return status;
    }
    *out = &memory->base;
    return QN_OK;
}

static qn_status import_pages(gpu_driver_device *device, vk_memory *memory, unsigned char *pages, qn_error *err) {
    const VkExternalMemoryHandleTypeFlagBits kind = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
    const VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO, .handleTypes = kind};
    const VkImportMemoryHostPointerInfoEXT import = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT, .handleType = kind,
                                                     .pHostPointer = pages};
    VkMemoryHostPointerPropertiesEXT properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    VkMemoryRequirements needs;
    const VkResult result = device->vk.GetMemoryHostPointerPropertiesEXT(device->device, kind, pages, &properties);
    if (result != VK_SUCCESS) {
        return vk_fail(device, err, result, "vkGetMemoryHostPointerPropertiesEXT");
    }
    qn_status status = make_buffer(device, memory, memory->base.bytes, &external, err);
    if (status != QN_OK) {
        return status;
    }
    device->vk.GetBufferMemoryRequirements(device->device, memory->buffer, &needs);
    const uint32_t type = find_type(device->adapter, needs.memoryTypeBits & properties.memoryTypeBits, GPU_PLACE_DEVICE);
    if (type == VK_MAX_MEMORY_TYPES || needs.size > memory->base.bytes || memory->base.bytes > device->adapter->max_allocation) {
        return qn_fail(err, QN_UNSUPPORTED, "%s cannot read these %llu bytes of the host in place", device->adapter->name,
                       (unsigned long long)memory->base.bytes);
    }
    return take_memory(device, memory, memory->base.bytes, type, &import, err);
}

qn_status vk_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err) {
    if (!device->can_import || device->vk.GetMemoryHostPointerPropertiesEXT == NULL) {
        return qn_fail(err, QN_UNSUPPORTED, "%s does not read the host's pages in place", device->adapter->name);
    }
    const uint64_t align = device->adapter->host_pointer_align;
    const uint64_t before = (uintptr_t)data % align;
    vk_memory *const memory = new_object(device, (before + bytes + align - 1) / align * align, err);
    if (memory == NULL) {
        return QN_NO_HOST_MEM;
    }
    /* Vulkan's struct has no const; kernels only read weights. */
    unsigned char *const pages = (unsigned char *)((uintptr_t)data - before);
    const qn_status status = import_pages(device, memory, pages, err);
    if (status != QN_OK) {
        vk_memory_free(device, &memory->base);
        return status == QN_DEVICE_LOST || status == QN_NO_HOST_MEM ? status : qn_fail(err, QN_UNSUPPORTED, "the pages cannot be had in place");
    }
    *at = before;
    *out = &memory->base;
    return QN_OK;
}

void vk_memory_free(gpu_driver_device *device, gpu_memory *base) {
    if (base != NULL) {
        vk_memory *const memory = vk_memory_of(base);
        device->vk.DestroyBuffer(device->device, memory->buffer, NULL);
        device->vk.FreeMemory(device->device, memory->memory, NULL);
        device->host->mem_free(device->host->ctx, memory);
    }
}
