/* vk_record.c — a list of launches becomes command buffers, one between two cuts, with a descriptor set a launch. All Vulkan objects
 * are made with the room of the recording; recording again resets and fills them. */
#include <quoin/glue.h>

#include "vk_driver.h"

void vk_recording_free(gpu_driver_device *device, gpu_recording *recording) {
    if (recording == NULL) {
        return;
    }
    const qn_host *const host = device->host;
    device->vk.DestroyQueryPool(device->device, recording->queries, NULL);
    device->vk.DestroyCommandPool(device->device, recording->pool, NULL);
    device->vk.DestroyDescriptorPool(device->device, recording->descriptors, NULL);
    host->mem_free(host->ctx, recording->launches);
    host->mem_free(host->ctx, recording->sets);
    host->mem_free(host->ctx, recording);
}

/* Cuts, and of so many that they would be too many parts, those that leave at least n / VK_MOST_PARTS launches to each. */
static void find_parts(gpu_recording *recording) {
    const uint32_t least = recording->n / VK_MOST_PARTS + 1;
    recording->n_parts = 1;
    recording->firsts[0] = 0;
    for (uint32_t i = 0; i + 1 < recording->n; i++) {
        if ((recording->launches[i].flags & GPU_LAUNCH_CUT) != 0 && i + 1 - recording->firsts[recording->n_parts - 1] >= least) {
            recording->firsts[recording->n_parts++] = i + 1;
        }
    }
    recording->firsts[recording->n_parts] = recording->n;
}

/* Writes the set of one launch: each descriptor begins where the device allows one, at or before the binding. */
static void write_set(const gpu_driver_device *device, const gpu_launch *launch, VkDescriptorSet set) {
    const uint64_t align = device->adapter->limits.minStorageBufferOffsetAlignment;
    VkDescriptorBufferInfo infos[GPU_MAX_BUFFERS];
    VkWriteDescriptorSet writes[GPU_MAX_BUFFERS];
    for (uint32_t i = 0; i < launch->n_buffers; i++) {
        const gpu_binding *const binding = &launch->buffers[i];
        const uint64_t before = binding->at % align;
        infos[i] = (VkDescriptorBufferInfo){vk_memory_of(binding->memory)->buffer, binding->at - before, before + binding->bytes};
        writes[i] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .dstSet = set, .dstBinding = i,
                                           .descriptorCount = 1, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .pBufferInfo = &infos[i]};
    }
    device->vk.UpdateDescriptorSets(device->device, launch->n_buffers, writes, 0, NULL);
}

static VkResult make_sets(gpu_driver_device *device, gpu_recording *recording) {
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, recording->room * GPU_MAX_BUFFERS};
    const VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO, .maxSets = recording->room,
                                             .poolSizeCount = 1, .pPoolSizes = &size};
    VkResult result = device->vk.CreateDescriptorPool(device->device, &pool, NULL, &recording->descriptors);
    const VkDescriptorSetAllocateInfo one = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                             .descriptorPool = recording->descriptors, .descriptorSetCount = 1,
                                             .pSetLayouts = &device->set_layout};
    for (uint32_t i = 0; result == VK_SUCCESS && i < recording->room; i++) {
        result = device->vk.AllocateDescriptorSets(device->device, &one, &recording->sets[i]);
    }
    return result;
}

static VkResult make_pools(gpu_driver_device *device, gpu_recording *recording) {
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = device->adapter->queue_family};
    VkResult result = device->vk.CreateCommandPool(device->device, &pool, NULL, &recording->pool);
    const VkCommandBufferAllocateInfo buffers = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandPool = recording->pool,
                                                 .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY, .commandBufferCount = VK_MOST_PARTS};
    const VkQueryPoolCreateInfo queries = {.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO, .queryType = VK_QUERY_TYPE_TIMESTAMP,
                                           .queryCount = recording->room + VK_MOST_PARTS};
    for (uint32_t row = 0; result == VK_SUCCESS && row < 2; row++) {
        result = device->vk.AllocateCommandBuffers(device->device, &buffers, recording->parts[row]);
    }
    if (result == VK_SUCCESS && device->adapter->timestamp_bits != 0) {
        result = device->vk.CreateQueryPool(device->device, &queries, NULL, &recording->queries);
    }
    return result;
}

qn_status vk_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err) {
    const qn_host *const host = device->host;
    gpu_recording *const recording = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, sizeof *recording, 64);
    if (recording == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a recording (%zu bytes)", sizeof *recording);
    }
    recording->room = room;
    recording->launches = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, (uint64_t)room * sizeof *recording->launches, 64);
    recording->sets = host->mem_alloc(host->ctx, QN_MEM_SCRATCH, (uint64_t)room * sizeof *recording->sets, 64);
    qn_status status = QN_OK;
    if (recording->launches == NULL || recording->sets == NULL) {
        status = qn_fail(err, QN_NO_HOST_MEM, "no host memory for a recording of %u launches", room);
    } else {
        VkResult result = make_sets(device, recording);
        result = result == VK_SUCCESS ? make_pools(device, recording) : result;
        status = result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "making descriptor sets and command buffers");
    }
    if (status != QN_OK) {
        vk_recording_free(device, recording);
        return status;
    }
    *out = recording;
    return QN_OK;
}

static void record_kernel(const gpu_driver_device *device, VkCommandBuffer commands, const gpu_launch *launch, const VkDescriptorSet *set) {
    uint32_t push[VK_PUSH_WORDS] = {0};
    for (uint32_t i = 0; i < launch->n_buffers; i++) {
        push[i] = (uint32_t)(launch->buffers[i].at % device->adapter->limits.minStorageBufferOffsetAlignment);
    }
    memcpy(push + GPU_MAX_BUFFERS, launch->params, launch->n_params * sizeof *push);
    device->vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->pipelines[launch->kernel]);
    device->vk.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, device->layout, 0, 1, set, 0, NULL);
    device->vk.CmdPushConstants(commands, device->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    device->vk.CmdDispatch(commands, launch->grid[0], launch->grid[1], launch->grid[2]);
}

static void record_launch(const gpu_driver_device *device, const gpu_recording *recording, VkCommandBuffer commands, uint32_t i, bool is_first) {
    const gpu_launch *const launch = &recording->launches[i];
    /* The first launch of a part waits for the part before it, or for the last run. */
    if (is_first || (launch->flags & GPU_LAUNCH_BESIDE) == 0) {
        vk_barrier(device, commands);
    }
    if (launch->kernel == GPU_COPY) {
        const VkBufferCopy region = {launch->buffers[0].at, launch->buffers[1].at, launch->buffers[0].bytes};
        device->vk.CmdCopyBuffer(commands, vk_memory_of(launch->buffers[0].memory)->buffer, vk_memory_of(launch->buffers[1].memory)->buffer, 1,
                                 &region);
    } else {
        record_kernel(device, commands, launch, &recording->sets[i]);
    }
}

/* One part. Its timestamps are numbered from first + part on: one before it and one behind each launch. */
static VkResult record_part(gpu_driver_device *device, gpu_recording *recording, uint32_t part, bool timed) {
    const VkCommandBuffer commands = recording->parts[timed ? 1 : 0][part];
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    const uint32_t first = recording->firsts[part], end = recording->firsts[part + 1];
    const VkResult result = device->vk.BeginCommandBuffer(commands, &begin);
    if (result != VK_SUCCESS) {
        return result;
    }
    if (timed) {
        device->vk.CmdResetQueryPool(commands, recording->queries, first + part, end - first + 1);
        device->vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries, first + part);
    }
    for (uint32_t i = first; i < end; i++) {
        record_launch(device, recording, commands, i, i == first);
        if (timed) {
            device->vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, recording->queries, i + part + 1);
        }
    }
    vk_barrier(device, commands); /* for the host, which reads after the fence */
    return device->vk.EndCommandBuffer(commands);
}

qn_status vk_record_parts(gpu_driver_device *device, gpu_recording *recording, bool timed, qn_error *err) {
    VkResult result = VK_SUCCESS;
    for (uint32_t part = 0; result == VK_SUCCESS && part < recording->n_parts; part++) {
        result = record_part(device, recording, part, timed);
    }
    return result == VK_SUCCESS ? QN_OK : vk_fail(device, err, result, "recording launches");
}

qn_status vk_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err) {
    recording->n = 0;
    recording->is_timed = false;
    recording->parts_at_once = 1;
    const VkResult result = device->vk.ResetCommandPool(device->device, recording->pool, 0);
    if (result != VK_SUCCESS) {
        return vk_fail(device, err, result, "vkResetCommandPool");
    }
    if (n == 0 || n > recording->room) {
        return qn_fail(err, QN_INTERNAL, "%u launches for a recording of %u", n, recording->room);
    }
    memcpy(recording->launches, launches, (uint64_t)n * sizeof *launches);
    recording->n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (launches[i].kernel != GPU_COPY) {
            write_set(device, &launches[i], recording->sets[i]);
        }
    }
    find_parts(recording);
    const qn_status status = vk_record_parts(device, recording, false, err);
    recording->n = status == QN_OK ? n : 0;
    return status;
}
