/* vk_transfer.c — bytes of the host to and from device memory: in place where it is mapped, otherwise through staging memory whose
 * two halves take turns. */
#include <quoin/glue.h>

#include "vk_driver.h"

#define HALF_BYTES (UINT64_C(4) << 20)

static qn_status need_staging(gpu_driver_device *device, uint32_t place, qn_error *err) {
    gpu_memory **const staging = &device->staging[place == GPU_PLACE_UPLOAD ? 0 : 1];
    return *staging != NULL ? QN_OK : vk_memory_new(device, place, VK_SLOTS * HALF_BYTES, staging, err);
}

/* Records and submits one copy in a slot. */
static qn_status submit_copy(gpu_driver_device *device, vk_slot *slot, gpu_memory *from, gpu_memory *to, const VkBufferCopy *region,
                             qn_error *err) {
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkResult result = device->vk.BeginCommandBuffer(slot->commands, &begin);
    if (result == VK_SUCCESS) {
        vk_barrier(device, slot->commands);
        device->vk.CmdCopyBuffer(slot->commands, vk_memory_of(from)->buffer, vk_memory_of(to)->buffer, 1, region);
        vk_barrier(device, slot->commands);
        result = device->vk.EndCommandBuffer(slot->commands);
    }
    return result == VK_SUCCESS ? vk_slot_submit(device, slot, &slot->commands, 1, err) : vk_fail(device, err, result, "recording a copy");
}

static qn_status wait_all(gpu_driver_device *device, qn_status status, qn_error *err) {
    for (uint32_t i = 0; i < VK_SLOTS; i++) {
        const qn_status waited = vk_slot_wait(device, &device->slots[i], status == QN_OK ? err : NULL);
        status = status == QN_OK ? waited : status;
    }
    return status;
}

qn_status vk_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err) {
    if (vk_memory_of(to)->mapped != NULL) {
        memcpy(vk_memory_of(to)->mapped + at, data, bytes);
        return QN_OK;
    }
    qn_status status = need_staging(device, GPU_PLACE_UPLOAD, err);
    for (uint64_t done = 0, turn = 0; status == QN_OK && done < bytes; turn++) {
        const uint64_t piece = bytes - done < HALF_BYTES ? bytes - done : HALF_BYTES;
        vk_slot *const slot = &device->slots[turn % VK_SLOTS];
        const VkBufferCopy region = {turn % VK_SLOTS * HALF_BYTES, at + done, piece};
        status = vk_slot_wait(device, slot, err);
        if (status == QN_OK) {
            memcpy(vk_memory_of(device->staging[0])->mapped + region.srcOffset, (const char *)data + done, piece);
            status = submit_copy(device, slot, device->staging[0], to, &region, err);
        }
        done += piece;
    }
    return wait_all(device, status, err);
}

qn_status vk_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err) {
    if (vk_memory_of(from)->is_read_fast) {
        memcpy(data, vk_memory_of(from)->mapped + at, bytes);
        return QN_OK;
    }
    qn_status status = need_staging(device, GPU_PLACE_READBACK, err);
    for (uint64_t done = 0; status == QN_OK && done < bytes;) {
        const uint64_t piece = bytes - done < HALF_BYTES ? bytes - done : HALF_BYTES;
        const VkBufferCopy region = {at + done, 0, piece};
        status = submit_copy(device, &device->slots[0], from, device->staging[1], &region, err);
        status = status == QN_OK ? vk_slot_wait(device, &device->slots[0], err) : status;
        if (status == QN_OK) {
            memcpy((char *)data + done, vk_memory_of(device->staging[1])->mapped, piece);
        }
        done += piece;
    }
    return status;
}
