/* vk_kernels.c — pipelines, each made when its kernel is opened, all with the same layout (vk_driver.h). */
#include <stdio.h>

#include <quoin/glue.h>

#include "vk_driver.h"

qn_status vk_kernels_new(gpu_driver_device *device, qn_error *err) {
    VkDescriptorSetLayoutBinding bindings[GPU_MAX_BUFFERS];
    for (uint32_t i = 0; i < GPU_MAX_BUFFERS; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){.binding = i, .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, .descriptorCount = 1,
                                                     .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
    }
    const VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                                 .bindingCount = GPU_MAX_BUFFERS, .pBindings = bindings};
    const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = VK_PUSH_WORDS * 4u};
    VkResult result = device->vk.CreateDescriptorSetLayout(device->device, &set, NULL, &device->set_layout);
    const VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1,
                                               .pSetLayouts = &device->set_layout, .pushConstantRangeCount = 1, .pPushConstantRanges = &push};
    result = result == VK_SUCCESS ? device->vk.CreatePipelineLayout(device->device, &layout, NULL, &device->layout) : result;
    if (result != VK_SUCCESS) {
        return vk_fail(device, err, result, "making a pipeline layout");
    }
    const uint64_t bytes = (uint64_t)vk_spirv_count * sizeof *device->pipelines;
    device->pipelines = device->host->mem_alloc(device->host->ctx, QN_MEM_CODE, bytes, 64);
    return device->pipelines != NULL ? QN_OK : qn_fail(err, QN_NO_HOST_MEM, "no host memory for the table of kernels");
}

void vk_kernels_free(gpu_driver_device *device) {
    for (uint32_t i = 0; device->pipelines != NULL && i < vk_spirv_count; i++) {
        device->vk.DestroyPipeline(device->device, device->pipelines[i], NULL);
    }
    device->host->mem_free(device->host->ctx, device->pipelines);
    device->vk.DestroyPipelineLayout(device->device, device->layout, NULL);
    device->vk.DestroyDescriptorSetLayout(device->device, device->set_layout, NULL);
    device->vk.DestroyPipelineCache(device->device, device->cache, NULL);
}

static VkResult make_pipeline(gpu_driver_device *device, const vk_spirv *spirv, VkPipeline *out) {
    const VkShaderModuleCreateInfo code = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = spirv->bytes,
                                           .pCode = spirv->words};
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = device->adapter->subgroup};
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO, .layout = device->layout,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO, .stage = VK_SHADER_STAGE_COMPUTE_BIT, .pName = "main"}};
    const VkResult result = device->vk.CreateShaderModule(device->device, &code, NULL, &info.stage.module);
    if (result != VK_SUCCESS) {
        return result;
    }
    if (spirv->needs_subgroups && device->adapter->can_fix_subgroup) {
        info.stage.pNext = &size;
        info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    }
    const VkResult made = device->vk.CreateComputePipelines(device->device, device->cache, 1, &info, NULL, out);
    device->vk.DestroyShaderModule(device->device, info.stage.module, NULL);
    return made;
}

qn_status vk_kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err) {
    char text[160];
    if (kernel >= vk_spirv_count) {
        return qn_fail(err, QN_INTERNAL, "there is no kernel %u", kernel);
    }
    if (device->pipelines[kernel] != VK_NULL_HANDLE) {
        return QN_OK;
    }
    if (vk_spirv_table[kernel].needs_dot && !vk_uses_dot(device->state, device->adapter)) {
        return qn_fail(err, QN_UNSUPPORTED, "kernel %s: %.64s was opened without products of bytes", vk_spirv_table[kernel].name,
                       device->adapter->name);
    }
    const VkResult result = make_pipeline(device, &vk_spirv_table[kernel], &device->pipelines[kernel]);
    if (result == VK_SUCCESS) {
        device->cache_is_new = true;
        return QN_OK;
    }
    snprintf(text, sizeof text, "kernel %s on %.64s", vk_spirv_table[kernel].name, device->adapter->name);
    const qn_status status = vk_fail(device, err, result, text);
    if (status != QN_INTERNAL) {
        return status;
    }
    if (err != NULL) {
        err->code = QN_UNSUPPORTED; /* the driver's compiler does not take it; the text says so */
    }
    return QN_UNSUPPORTED;
}
