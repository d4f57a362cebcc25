/* vk_validation.c — option validate: the Khronos validation layer, which checks every call and the barriers between launches (calls)
 * and, if asked, instruments the kernels to see what they touch (kernels). Instrumented kernels take long to compile.
 *
 * For tests: every error that the layer tells goes to the host's log, is counted, and makes the next run fail. */
#include <stdio.h>

#include <quoin/glue.h>

#include "vk_driver.h"

#define LAYER "VK_LAYER_KHRONOS_validation"

static VKAPI_ATTR VkBool32 VKAPI_CALL take_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity, VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT *data, void *ctx) {
    gpu_driver_state *const state = ctx;
    char text[2000];
    (void)types;
    const bool is_error = (severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT) != 0;
    if (is_error) {
        atomic_fetch_add(&state->n_complaints, 1);
    }
    snprintf(text, sizeof text, "validation: %s", data->pMessage);
    state->host->log(state->host->ctx, is_error ? QN_LOG_ERROR : QN_LOG_WARN, text);
    return VK_FALSE;
}

static bool has_layer(const vk_functions *vk) {
    VkLayerProperties layers[64];
    uint32_t n = sizeof layers / sizeof layers[0];
    const VkResult result = vk->EnumerateInstanceLayerProperties(&n, layers);
    for (uint32_t i = 0; (result == VK_SUCCESS || result == VK_INCOMPLETE) && i < n; i++) {
        if (strcmp(layers[i].layerName, LAYER) == 0) {
            return true;
        }
    }
    return false;
}

qn_status vk_validation_add(gpu_driver_state *state, uint32_t mode, vk_validation *validation, VkInstanceCreateInfo *info, qn_error *err) {
    static const char *const layers[] = {LAYER};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME};
    static const VkValidationFeatureEnableEXT enabled[] = {
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT, VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT};
    if (!has_layer(&state->vk)) {
        return qn_fail(err, QN_UNAVAILABLE, "validate: the layer " LAYER " is not installed (Debian: vulkan-validationlayers)");
    }
    validation->messenger = (VkDebugUtilsMessengerCreateInfoEXT){
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_GENERAL_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = take_message, .pUserData = state};
    validation->features = (VkValidationFeaturesEXT){
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT, .pNext = &validation->messenger,
        .enabledValidationFeatureCount = mode == VK_VALIDATE_KERNELS ? 2 : 1, .pEnabledValidationFeatures = enabled};
    info->pNext = &validation->features;
    info->enabledLayerCount = 1;
    info->ppEnabledLayerNames = layers;
    info->enabledExtensionCount = sizeof extensions / sizeof extensions[0];
    info->ppEnabledExtensionNames = extensions;
    state->is_validated = true;
    return QN_OK;
}

qn_status vk_validation_begin(gpu_driver_state *state, const vk_validation *validation, qn_error *err) {
    const PFN_vkCreateDebugUtilsMessengerEXT create =
        (PFN_vkCreateDebugUtilsMessengerEXT)state->vk.GetInstanceProcAddr(state->instance, "vkCreateDebugUtilsMessengerEXT");
    if (!state->is_validated) {
        return QN_OK;
    }
    const VkResult result = create == NULL ? VK_ERROR_EXTENSION_NOT_PRESENT
                                           : create(state->instance, &validation->messenger, NULL, &state->messenger);
    return result == VK_SUCCESS ? QN_OK : vk_fail(NULL, err, result, "vkCreateDebugUtilsMessengerEXT");
}

void vk_validation_end(gpu_driver_state *state) {
    if (state->messenger != VK_NULL_HANDLE) {
        const PFN_vkDestroyDebugUtilsMessengerEXT destroy =
            (PFN_vkDestroyDebugUtilsMessengerEXT)state->vk.GetInstanceProcAddr(state->instance, "vkDestroyDebugUtilsMessengerEXT");
        destroy(state->instance, state->messenger, NULL);
    }
}
