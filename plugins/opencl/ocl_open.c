/* ocl_open.c — one device: what it must have, what it has, its context and its queue. */
#include <ctype.h>
#include <stdarg.h>

#include "ocl_internal.h"

#define LEAST_GROUP 128u
#define LEAST_SHARED (16u << 10)
#define MOST_GROUPS 0x7fffffffu
#define MOST_BINDING 0xffffff00u /* kernels count bytes in 32 bits */

/* "OpenCL 1.2 …" and whatever follows it. */
static int is_version_enough(const char *text) {
    static const char begin[] = "OpenCL ";
    const char *at = text + sizeof begin - 1;
    if (strncmp(text, begin, sizeof begin - 1) != 0 || !isdigit((unsigned char)at[0]) || at[1] != '.' || !isdigit((unsigned char)at[2])) {
        return 0;
    }
    return at[0] > '1' || (at[0] == '1' && at[2] >= '2');
}

static qn_status check_device(const gpu_driver_device *device, qn_error *err) {
    const ocl_api *api = device->api;
    const cl_device_id id = device->found->device;
    cl_bool is_available, has_compiler, is_little;
    char version[128];
    ocl_device_text(api, id, CL_DEVICE_VERSION, version, sizeof version);
    if (!is_version_enough(version)) {
        return qn_fail(err, QN_TOO_OLD, "device %s offers %s; OpenCL 1.2 is needed", device->found->name, version);
    }
    ocl_device_fact(api, id, CL_DEVICE_AVAILABLE, &is_available, sizeof is_available);
    ocl_device_fact(api, id, CL_DEVICE_COMPILER_AVAILABLE, &has_compiler, sizeof has_compiler);
    ocl_device_fact(api, id, CL_DEVICE_ENDIAN_LITTLE, &is_little, sizeof is_little);
    if (!is_available) {
        return qn_fail(err, QN_BUSY, "device %s is not available now, says its driver", device->found->name);
    }
    if (!has_compiler || !is_little) {
        return qn_fail(err, QN_UNSUPPORTED, "device %s has %s", device->found->name, has_compiler ? "big-endian memory" : "no compiler");
    }
    return QN_OK;
}

static void read_caps(gpu_driver_device *device) {
    const ocl_api *api = device->api;
    const cl_device_id id = device->found->device;
    gpu_caps *caps = &device->caps;
    cl_bool is_unified;
    cl_uint units, align_bits;
    size_t most_group;
    cl_ulong shared, most_alloc, total;
    ocl_device_fact(api, id, CL_DEVICE_HOST_UNIFIED_MEMORY, &is_unified, sizeof is_unified);
    ocl_device_fact(api, id, CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
    ocl_device_fact(api, id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &align_bits, sizeof align_bits);
    ocl_device_fact(api, id, CL_DEVICE_MAX_WORK_GROUP_SIZE, &most_group, sizeof most_group);
    ocl_device_fact(api, id, CL_DEVICE_LOCAL_MEM_SIZE, &shared, sizeof shared);
    ocl_device_fact(api, id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &most_alloc, sizeof most_alloc);
    ocl_device_fact(api, id, CL_DEVICE_GLOBAL_MEM_SIZE, &total, sizeof total);
    device->is_unified = is_unified;
    device->total_bytes = total;
    caps->flags = (is_unified ? GPU_CAP_UNIFIED : 0u) |
                  (ocl_has_subgroups(api, id) ? GPU_CAP_SUBGROUPS : 0u) |
                  (ocl_uses_dot(device->state, device->found) ? GPU_CAP_INT_DOT : 0u) |
                  (ocl_is_processor(device->found->type) ? GPU_CAP_ON_CPU : 0u);
    caps->subgroup = ocl_find_subgroup(api, id);
    caps->max_group = most_group < 1024 ? (uint32_t)most_group : 1024u;
    caps->compute_units = units > 0 ? units : 1;
    caps->max_grid[0] = caps->max_grid[1] = caps->max_grid[2] = MOST_GROUPS / caps->max_group;
    caps->shared_bytes = shared;
    caps->max_memory_bytes = most_alloc;
    caps->max_binding_bytes = most_alloc < MOST_BINDING ? most_alloc : MOST_BINDING;
    caps->memory_align = align_bits >= 8 ? align_bits / 8 : 1;
    caps->launch_bytes = sizeof(ocl_command);
    caps->recording_bytes = sizeof(gpu_recording);
}

static qn_status check_caps(const gpu_driver_device *device, qn_error *err) {
    if (device->caps.max_group < LEAST_GROUP || device->caps.shared_bytes < LEAST_SHARED) {
        return qn_fail(err, QN_UNSUPPORTED, "device %s has groups of %u work-items with %llu bytes of shared memory; %u and %u are needed",
                       device->found->name, device->caps.max_group, (unsigned long long)device->caps.shared_bytes, LEAST_GROUP, LEAST_SHARED);
    }
    return QN_OK;
}

/* Every build gets the same options: division and square root as IEEE says where the device can, nothing relaxed anywhere. */
static void choose_options(gpu_driver_device *device) {
    cl_device_fp_config config;
    ocl_device_fact(device->api, device->found->device, CL_DEVICE_SINGLE_FP_CONFIG, &config, sizeof config);
    snprintf(device->newest, sizeof device->newest, "%s", ocl_find_language(device->api, device->found->device));
    snprintf(device->options, sizeof device->options, "%s",
             (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0 ? " -cl-fp32-correctly-rounded-divide-sqrt" : "");
    if ((config & CL_FP_DENORM) == 0) {
        ocl_log(device->host, QN_LOG_INFO, "opencl: device %s takes numbers below 1.2e-38 for zero", device->found->name);
    }
}

/* PoCL keeps what it compiles, and takes twice the time of compiling it to hand it out. */
static qn_status read_options(gpu_driver_device *device, const qn_option *options, uint32_t n_options, qn_error *err) {
    device->keeps_kernels = !ocl_is_processor(device->found->type);
    for (uint32_t i = 0; i < n_options; i++) { /* the only key that applies here */
        const char *value = options[i].value;
        if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0 && strcmp(value, "auto") != 0) {
            return qn_fail(err, QN_BAD_ARG, "option %s: %s; it is auto, yes or no", options[i].key, value);
        }
        device->keeps_kernels = strcmp(value, "auto") == 0 ? device->keeps_kernels : strcmp(value, "yes") == 0;
    }
    return QN_OK;
}

/* What a driver has to say between calls; on a thread of its own. */
static void CL_CALLBACK hear_driver(const char *text, const void *data, size_t bytes, void *context) {
    const gpu_driver_device *device = context;
    (void)data;
    (void)bytes;
    ocl_log(device->host, QN_LOG_DEBUG, "opencl: device %s: %s", device->found->name, text != NULL ? text : "");
}

static qn_status make_context(gpu_driver_device *device, qn_error *err) {
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)device->found->platform, 0};
    cl_int code = CL_SUCCESS;
    device->context = device->api->CreateContext(properties, 1, &device->found->device, hear_driver, device, &code);
    if (device->context == NULL) {
        return ocl_fail(err, code, "clCreateContext");
    }
    device->queue = device->api->CreateCommandQueue(device->context, device->found->device, 0, &code);
    return device->queue != NULL ? QN_OK : ocl_fail(err, code, "clCreateCommandQueue");
}

qn_status ocl_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                   gpu_caps *caps, qn_error *err) {
    if (index >= state->n_devices) {
        return qn_fail(err, QN_BAD_ARG, "device number %u; there are %u", index, state->n_devices);
    }
    const uint64_t bytes = sizeof(gpu_driver_device) + (uint64_t)ocl_n_kernels * sizeof(cl_program);
    gpu_driver_device *device = state->host->mem_alloc(state->host->ctx, QN_MEM_OTHER, bytes, 64);
    if (device == NULL) {
        return qn_fail(err, QN_NO_HOST_MEM, "no memory for a device (%llu bytes)", (unsigned long long)bytes);
    }
    device->state = state;
    device->host = state->host;
    device->api = &state->api;
    device->found = &state->devices[index];
    qn_status status = check_device(device, err);
    if (status == QN_OK) {
        read_caps(device);
        choose_options(device);
        status = read_options(device, options, n_options, err);
    }
    if (status == QN_OK) {
        status = check_caps(device, err);
    }
    if (status == QN_OK) {
        status = make_context(device, err);
    }
    if (status != QN_OK) {
        ocl_close(device);
        return status;
    }
    *caps = device->caps;
    *out = device;
    return QN_OK;
}

void ocl_close(gpu_driver_device *device) {
    if (device == NULL) {
        return;
    }
    for (uint32_t i = 0; i < ocl_n_kernels; i++) {
        if (device->programs[i] != NULL) {
            device->api->ReleaseProgram(device->programs[i]);
        }
    }
    if (device->timed_queue != NULL) {
        device->api->ReleaseCommandQueue(device->timed_queue);
    }
    if (device->queue != NULL) {
        device->api->ReleaseCommandQueue(device->queue);
    }
    if (device->context != NULL) {
        device->api->ReleaseContext(device->context);
    }
    device->host->mem_free(device->host->ctx, device);
}

void ocl_log(const qn_host *host, uint32_t level, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    host->log(host->ctx, level, text);
}
