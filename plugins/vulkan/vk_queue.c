/* vk_queue.c — submissions: two slots take turns, each with a fence, so that the device has work while the host prepares more. */
#include <quoin/glue.h>

#include "vk_driver.h"

#define WAIT_NS UINT64_C(1000000000)

qn_status vk_slots_new(gpu_driver_device *device, qn_error *err) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          .queueFamilyIndex = device->adapter->queue_family};
    const VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkCommandBuffer buffers[VK_SLOTS];
    VkResult result = device->vk.CreateCommandPool(device->device, &pool, NULL, &device->commands);
    const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = device->commands,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = VK_SLOTS};
    result = result == VK_SUCCESS ? device->vk.AllocateCommandBuffers(device->device, &commands, buffers) : result;
    for (uint32_t i = 0; result == VK_SUCCESS && i < VK_SLOTS; i++) {
        device->slots[i].commands = buffers[i];
        result = device->vk.CreateFence(device->device, &fence, NULL, &device->slots[i].fence);
    }
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "making a command pool and fences");
}

void vk_slots_free(gpu_driver_device *device) {
    for (uint32_t i = 0; i < VK_SLOTS; i++) {
        device->vk.DestroyFence(device->device, device->slots[i].fence, NULL);
    }
    device->vk.DestroyCommandPool(device->device, device->commands, NULL);
}

qn_status vk_slot_submit(gpu_driver_device *device, vk_slot *slot, const VkCommandBuffer *commands, uint32_t n, qn_error *err) {
    const VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = n, .pCommandBuffers = commands};
    VkResult result = device->vk.ResetFences(device->device, 1, &slot->fence);
    result = result == VK_SUCCESS ? device->vk.QueueSubmit(device->queue, 1, &info, slot->fence) : result;
    if (result != VK_SUCCESS) {
        return vk_fail(device, err, result, "vkQueueSubmit");
    }
    slot->is_pending = true;
    return QN_OK;
}

qn_status vk_slot_wait(gpu_driver_device *device, vk_slot *slot, qn_error *err) {
    VkResult result = VK_SUCCESS;
    if (!slot->is_pending) {
        return QN_OK;
    }
    /* A device that hangs is reset by its kernel driver, and then the wait ends with DEVICE_LOST. */
    do {
        result = device->vk.WaitForFences(device->device, 1, &slot->fence, VK_TRUE, WAIT_NS);
    } while (result == VK_TIMEOUT);
    slot->is_pending = false;
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "vkWaitForFences");
}

void vk_barrier(const gpu_driver_device *device, VkCommandBuffer commands) {
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    const VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                         VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT};
    device->vk.CmdPipelineBarrier(commands, stages, stages | VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}
