/* vk_loader.c — libvulkan.so.1 by dlopen, and the addresses of its functions. */
#include <dlfcn.h>
#include <string.h>

#include <quoin/glue.h>

#include "vk_driver.h"

#define LIBRARY "libvulkan.so.1"

qn_status vk_open_loader(vk_functions *vk, qn_error *err) {
    /* Never closed: drivers behind it leave thread-exit destructors in this process. Opening it again costs nothing. */
    void *const library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *const text = dlerror();
        return qn_fail(err, QN_UNAVAILABLE, "%s (no Vulkan loader is installed; Debian: libvulkan1)",
                       text == NULL ? LIBRARY ": cannot be opened" : text);
    }
    void *const entry = dlsym(library, "vkGetInstanceProcAddr");
    if (entry == NULL) {
        return qn_fail(err, QN_UNAVAILABLE, LIBRARY ": it has no vkGetInstanceProcAddr");
    }
    memcpy(&vk->GetInstanceProcAddr, &entry, sizeof entry);
    const char *missing = NULL;
#define VK_GLOBAL(name) \
    vk->name = (PFN_vk##name)vk->GetInstanceProcAddr(NULL, "vk" #name); \
    missing = vk->name == NULL ? "vk" #name : missing;
#define VK_INSTANCE(name)
#define VK_DEVICE(name)
#define VK_OPTIONAL(name)
#include "vk_functions.def"
#undef VK_GLOBAL
#undef VK_INSTANCE
    if (missing != NULL) {
        return qn_fail(err, QN_TOO_OLD, LIBRARY ": it has no %s; a loader of Vulkan 1.1 is needed", missing);
    }
    return QN_OK;
}

qn_status vk_load_instance(vk_functions *vk, VkInstance instance, qn_error *err) {
    const char *missing = NULL;
#define VK_GLOBAL(name)
#define VK_INSTANCE(name) \
    vk->name = (PFN_vk##name)vk->GetInstanceProcAddr(instance, "vk" #name); \
    missing = vk->name == NULL ? "vk" #name : missing;
#include "vk_functions.def"
#undef VK_INSTANCE
#undef VK_DEVICE
#undef VK_OPTIONAL
    return missing == NULL ? QN_OK : qn_fail(err, QN_TOO_OLD, LIBRARY ": it has no %s; a loader of Vulkan 1.1 is needed", missing);
}

qn_status vk_load_device(vk_functions *vk, VkDevice device, qn_error *err) {
    const char *missing = NULL;
#define VK_INSTANCE(name)
#define VK_DEVICE(name) \
    vk->name = (PFN_vk##name)vk->GetDeviceProcAddr(device, "vk" #name); \
    missing = vk->name == NULL ? "vk" #name : missing;
#define VK_OPTIONAL(name) vk->name = (PFN_vk##name)vk->GetDeviceProcAddr(device, "vk" #name);
#include "vk_functions.def"
#undef VK_GLOBAL
#undef VK_INSTANCE
#undef VK_DEVICE
#undef VK_OPTIONAL
    return missing == NULL ? QN_OK : qn_fail(err, QN_TOO_OLD, "the driver has no %s, which Vulkan 1.1 has", missing);
}
