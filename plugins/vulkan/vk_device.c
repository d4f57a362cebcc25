/* vk_device.c — opening a device: its queue, the features that are needed and no other, and what lowering may count on. */
#include <string.h>

#include <quoin/glue.h>

#include "vk_driver.h"

#define GUESSED_UNITS 16u /* where no extension tells how many a device has */

typedef struct open_options {
    bool import, subgroups;
} open_options;

static qn_status read_options(const qn_option *options, uint32_t n, open_options *to, qn_error *err) {
    qn_status status = QN_OK;
    *to = (open_options){true, true};
    for (uint32_t i = 0; status == QN_OK && i < n; i++) {
        if (strcmp(options[i].key, "import") == 0) {
            status = vk_read_switch(&options[i], &to->import, err);
        } else if (strcmp(options[i].key, "subgroups") == 0) {
            status = vk_read_switch(&options[i], &to->subgroups, err);
        }
    }
    return status;
}

/* Every kernel counts on these; hardly a device has less. */
static qn_status check_limits(const vk_adapter *adapter, qn_error *err) {
    const VkPhysicalDeviceLimits *const have = &adapter->limits;
    const struct {
        const char *what;
        uint64_t have, needed;
    } rows[] = {
        {"maxComputeWorkGroupInvocations", have->maxComputeWorkGroupInvocations, 128},
        {"maxComputeWorkGroupSize[0]", have->maxComputeWorkGroupSize[0], 128},
        {"maxComputeSharedMemorySize", have->maxComputeSharedMemorySize, 16384},
        {"maxPerStageDescriptorStorageBuffers", have->maxPerStageDescriptorStorageBuffers, GPU_MAX_BUFFERS},
        {"maxPushConstantsSize", have->maxPushConstantsSize, VK_PUSH_WORDS * 4u},
        {"maxStorageBufferRange", have->maxStorageBufferRange, UINT64_C(1) << 27}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].have < rows[i].needed) {
            return qn_fail(err, QN_TOO_OLD, "%s: %s is %llu; %llu is needed", adapter->name, rows[i].what,
                           (unsigned long long)rows[i].have, (unsigned long long)rows[i].needed);
        }
    }
    return QN_OK;
}

static qn_status make_device(gpu_driver_device *device, const open_options *options, qn_error *err) {
    const vk_adapter *const adapter = device->adapter;
    const float priority = 1.0f;
    const char *extensions[4];
    uint32_t n_extensions = 0;
    VkPhysicalDeviceSubgroupSizeControlFeatures sizes = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES,
                                                         .subgroupSizeControl = VK_TRUE, .computeFullSubgroups = VK_TRUE};
    VkPhysicalDeviceShaderIntegerDotProductFeatures dot = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES, .shaderIntegerDotProduct = VK_TRUE};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    const VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueFamilyIndex = adapter->queue_family,
                                           .queueCount = 1, .pQueuePriorities = &priority};
    device->can_import = options->import && vk_can_import(adapter, device->host);
    if (device->can_import) {
        extensions[n_extensions++] = VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME;
    }
    if (adapter->can_fix_subgroup) {
        extensions[n_extensions++] = VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME;
        sizes.pNext = features.pNext;
        features.pNext = &sizes;
    }
    if (vk_uses_dot(device->state, adapter)) {
        extensions[n_extensions++] = VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME;
        dot.pNext = features.pNext;
        features.pNext = &dot;
    }
    const VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &features, .queueCreateInfoCount = 1,
                                     .pQueueCreateInfos = &queue, .enabledExtensionCount = n_extensions,
                                     .ppEnabledExtensionNames = extensions};
    const VkResult result = device->state->vk.CreateDevice(adapter->handle, &info, NULL, &device->device);
    if (result != VK_SUCCESS) {
        return vk_fail(NULL, err, result, "vkCreateDevice");
    }
    const qn_status status = vk_load_device(&device->vk, device->device, err);
    if (status == QN_OK) {
        device->vk.GetDeviceQueue(device->device, adapter->queue_family, 0, &device->queue);
    }
    return status;
}

/* The granule of allocations, as the driver tells it for a buffer. */
static uint64_t find_granule(const gpu_driver_device *device) {
    const VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = 4, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkMemoryRequirements needs = {.alignment = 256};
    VkBuffer probe = VK_NULL_HANDLE;
    if (device->vk.CreateBuffer(device->device, &info, NULL, &probe) == VK_SUCCESS) {
        device->vk.GetBufferMemoryRequirements(device->device, probe, &needs);
        device->vk.DestroyBuffer(device->device, probe, NULL);
    }
    return needs.alignment < 256 ? 256 : needs.alignment;
}

static bool suits_processor_kernels(const vk_adapter *adapter) {
    return adapter->type == VK_PHYSICAL_DEVICE_TYPE_CPU && adapter->has_subgroup_broadcast && adapter->subgroup >= VK_ON_CPU_SUBGROUP;
}

static void fill_caps(const gpu_driver_device *device, const open_options *options, gpu_caps *caps) {
    const vk_adapter *const adapter = device->adapter;
    const VkPhysicalDeviceLimits *const limits = &adapter->limits;
    const uint32_t group = limits->maxComputeWorkGroupInvocations;
    *caps = (gpu_caps){
        .flags = (device->can_import ? GPU_CAP_UNIFIED : 0) | (vk_uses_dot(device->state, adapter) ? GPU_CAP_INT_DOT : 0) |
                 (options->subgroups && adapter->has_subgroup_arithmetic ? GPU_CAP_SUBGROUPS : 0) |
                 (suits_processor_kernels(adapter) ? GPU_CAP_ON_CPU : 0),
        .subgroup = adapter->subgroup == 0 ? 1 : adapter->subgroup,
        .max_group = group < limits->maxComputeWorkGroupSize[0] ? group : limits->maxComputeWorkGroupSize[0],
        .compute_units = adapter->compute_units == 0 ? GUESSED_UNITS : adapter->compute_units,
        .shared_bytes = limits->maxComputeSharedMemorySize,
        .max_memory_bytes = adapter->max_allocation,
        /* A binding begins up to one alignment behind its descriptor, which has to reach to the binding's end. */
        .max_binding_bytes = (limits->maxStorageBufferRange - limits->minStorageBufferOffsetAlignment) & ~UINT64_C(3),
        .memory_align = find_granule(device),
        .launch_bytes = VK_LAUNCH_BYTES,
        .recording_bytes = sizeof(gpu_recording)};
    memcpy(caps->max_grid, limits->maxComputeWorkGroupCount, sizeof caps->max_grid);
}

void vk_close(gpu_driver_device *device) {
    if (device == NULL) {
        return;
    }
    const qn_host *const host = device->host;
    if (device->device != VK_NULL_HANDLE && device->vk.DestroyDevice != NULL) {
        vk_cache_save(device);
        for (uint32_t i = 0; i < 2; i++) {
            vk_memory_free(device, device->staging[i]);
        }
        vk_slots_free(device);
        vk_kernels_free(device);
        device->vk.DestroyDevice(device->device, NULL);
    }
    host->mem_free(host->ctx, device);
}

qn_status vk_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                  gpu_caps *caps, qn_error *err) {
    open_options chosen;
    qn_status status = read_options(options, n_options, &chosen, err);
    status = status == QN_OK ? check_limits(&state->adapters[index], err) : status;
    if (status != QN_OK) {
        return status;
    }
    gpu_driver_device *const device = state->host->mem_alloc(state->host->ctx, QN_MEM_OTHER, sizeof *device, 64);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no host memory for a device (%zu bytes)", sizeof *device);
    }
    device->state = state;
    device->host = state->host;
    device->adapter = &state->adapters[index];
    device->vk = state->vk;
    status = make_device(device, &chosen, err);
    status = status == QN_OK ? vk_slots_new(device, err) : status;
    status = status == QN_OK ? vk_cache_new(device, err) : status;
    status = status == QN_OK ? vk_kernels_new(device, err) : status;
    if (status != QN_OK) {
        vk_close(device);
        return status;
    }
    fill_caps(device, &chosen, caps);
    *out = device;
    return QN_OK;
}
