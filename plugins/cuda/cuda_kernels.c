/* cuda_kernels.c — kernels by number: the image that holds each is loaded when the first of its kernels is opened.
 *
 * An image has machine code for some devices and PTX for all others, which the driver then translates (and keeps, in a cache of its own).
 */
#include "cuda_driver.h"

typedef struct kernel_row {
    const char *upper_name;    /* in images the same in small letters */
    const char *source;
    uint32_t group;
} kernel_row;

static const kernel_row kernels[] = {
#define GPU_KERNEL(NAME, source, defines, buffers, parameters, group) {#NAME, #source, group},
#include "../gpu/kernels/kernels.def"
#undef GPU_KERNEL
};

_Static_assert(sizeof kernels / sizeof kernels[0] <= CUDA_MOST_KERNELS, "a device has room for every kernel");

uint32_t cuda_kernel_group(uint32_t kernel) {
    return kernels[kernel].group;
}

/* An image without a name stands for every source. */
static uint32_t find_image(const char *source) {
    uint32_t i = 0;
    while (i < cuda_n_images && cuda_images[i].source[0] != '\0' && strcmp(cuda_images[i].source, source) != 0) {
        i++;
    }
    return i;
}

static void write_name(uint32_t kernel, char name[64]) {
    const char *upper = kernels[kernel].upper_name;
    uint32_t i = 0;
    for (; upper[i] != '\0' && i < 63; i++) {
        name[i] = upper[i] >= 'A' && upper[i] <= 'Z' ? (char)(upper[i] - 'A' + 'a') : upper[i];
    }
    name[i] = '\0';
}

/* An image can be too new for the driver, or lack the device: both are told with what is there. */
static qn_status load_image(gpu_driver_device *device, uint32_t image, qn_error *err) {
    const cu_api *api = &device->state->api;
    const cu_result result = api->module_load(&device->modules[image], cuda_images[image].data);
    const qn_status status = cuda_check(device, result, "cuModuleLoadData", err);
    if (status == QN_TOO_OLD) {
        return qn_fail(err, status,
                       "cuModuleLoadData: %s (%d): the kernels were built with %s; %s has compute capability %d.%d and its driver is for "
                       "CUDA %d.%d: a newer driver is needed, or a plugin that was built with an older toolkit",
                       cuda_result_name(api, result), (int)result, cuda_built_with, device->name, (int)(device->capability / 10),
                       (int)(device->capability % 10), (int)(api->version / 1000), (int)(api->version % 1000 / 10));
    }
    return status;
}

qn_status cuda_kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err) {
    if (kernel >= sizeof kernels / sizeof kernels[0]) {
        return qn_fail(err, QN_INTERNAL, "there is no kernel %u", kernel);
    }
    char name[64];
    write_name(kernel, name);
    const uint32_t image = find_image(kernels[kernel].source);
    if (image == cuda_n_images) {
        return qn_fail(err, QN_UNSUPPORTED, "kernel %s: this plugin was built without %s.kernel", name, kernels[kernel].source);
    }
    if (device->functions[kernel] != NULL) {
        return QN_OK;
    }
    qn_status status = cuda_enter(device, err);
    if (status != QN_OK) {
        return status;
    }
    if (device->modules[image] == NULL) {
        status = load_image(device, image, err);
    }
    if (status == QN_OK) {
        const cu_result result = device->state->api.module_function(&device->functions[kernel], device->modules[image], name);
        status = cuda_check(device, result, "cuModuleGetFunction", err);
    }
    cuda_leave(device);
    return status;
}

void cuda_kernels_close(gpu_driver_device *device) {
    for (uint32_t i = 0; i < CUDA_MOST_IMAGES; i++) {
        if (device->modules[i] != NULL) {
            device->state->api.module_unload(device->modules[i]);
        }
    }
}
