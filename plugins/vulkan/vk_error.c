/* vk_error.c — VkResult as status, name and sentence. */
#include <quoin/glue.h>

#include "vk_driver.h"

static const struct {
    VkResult result;
    qn_status status;
    const char *name;
    const char *hint;
} results[] = {
#define ROW(name, status, hint) {name, status, #name, hint}
    ROW(VK_TIMEOUT, QN_TIMEOUT, "the device did not answer in time"),
    ROW(VK_ERROR_OUT_OF_HOST_MEMORY, QN_NO_HOST_MEM, "the driver found no host memory"),
    ROW(VK_ERROR_OUT_OF_DEVICE_MEMORY, QN_NO_DEVICE_MEM, "the device has no memory left for it"),
    ROW(VK_ERROR_TOO_MANY_OBJECTS, QN_NO_DEVICE_MEM, "the driver allows no more objects of this kind"),
    ROW(VK_ERROR_OUT_OF_POOL_MEMORY, QN_INTERNAL, "a descriptor pool is too small"),
    ROW(VK_ERROR_FRAGMENTED_POOL, QN_INTERNAL, "a descriptor pool is fragmented"),
    ROW(VK_ERROR_FRAGMENTATION, QN_NO_DEVICE_MEM, "the device's memory is fragmented"),
    ROW(VK_ERROR_INITIALIZATION_FAILED, QN_UNAVAILABLE, "the driver could not begin; its kernel part may be missing"),
    ROW(VK_ERROR_DEVICE_LOST, QN_DEVICE_LOST, "the device was reset, unplugged or stuck"),
    ROW(VK_ERROR_MEMORY_MAP_FAILED, QN_NO_HOST_MEM, "memory could not be mapped"),
    ROW(VK_ERROR_LAYER_NOT_PRESENT, QN_UNAVAILABLE, "a layer is not installed"),
    ROW(VK_ERROR_EXTENSION_NOT_PRESENT, QN_TOO_OLD, "the driver lacks an extension"),
    ROW(VK_ERROR_FEATURE_NOT_PRESENT, QN_TOO_OLD, "the device lacks a feature"),
    ROW(VK_ERROR_INCOMPATIBLE_DRIVER, QN_UNAVAILABLE, "no Vulkan driver is installed for this machine, or it is too old"),
    ROW(VK_ERROR_INVALID_EXTERNAL_HANDLE, QN_UNSUPPORTED, "the driver does not take these pages"),
    ROW(VK_ERROR_UNKNOWN, QN_INTERNAL, "the driver does not say why"),
#undef ROW
};

const char *vk_result_name(VkResult result) {
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        if (results[i].result == result) {
            return results[i].name;
        }
    }
    return "an unknown VkResult";
}

qn_status vk_fail(gpu_driver_device *device, qn_error *err, VkResult result, const char *what) {
    qn_status status = QN_INTERNAL;
    const char *hint = "the driver broke its own rules";
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
        if (results[i].result == result) {
            status = results[i].status;
            hint = results[i].hint;
        }
    }
    if (device != NULL && result == VK_ERROR_DEVICE_LOST) {
        device->is_lost = true;
    }
    if (err != NULL && err->size >= sizeof *err) {
        err->native_code = result;
    }
    return qn_fail(err, status, "%s: %s (%d): %s", what, vk_result_name(result), (int)result, hint);
}
