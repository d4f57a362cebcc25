/* ocl_extras.c — what not every device has: subgroups, and products of four bytes at once. */
#include "ocl_internal.h"

/* Of OpenCL 2.1 and of cl_khr_integer_dot_product, which the header of 1.2 leaves out. */
#define MAX_NUM_SUB_GROUPS 0x105C
#define INT_DOT_CAPABILITIES 0x1073
#define INT_DOT_IN_HARDWARE 0x1075
#define INT_DOT_OF_WORDS 1u /* capability: four bytes in a word */
#define LEAST_SUBGROUP 4u
#define MOST_SUBGROUP 64u

int ocl_is_processor(cl_device_type type) {
    return (type & (CL_DEVICE_TYPE_CPU | CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR)) == CL_DEVICE_TYPE_CPU;
}

/* --- Products of bytes -------------------------------------------------------------------------------------------------- */

static int can_multiply_bytes(const ocl_api *api, cl_device_id device) {
    cl_ulong capabilities = 0;
    return ocl_has_extension(api, device, "cl_khr_integer_dot_product") &&
           ocl_device_fact(api, device, INT_DOT_CAPABILITIES, &capabilities, sizeof capabilities) && (capabilities & INT_DOT_OF_WORDS) != 0;
}

static int multiplies_bytes_fast(const ocl_api *api, cl_device_id device) {
    struct {
        cl_bool is_signed, is_unsigned, is_mixed, is_signed_sum, is_unsigned_sum, is_mixed_sum; /* in hardware */
    } fast;
    return ocl_device_fact(api, device, INT_DOT_IN_HARDWARE, &fast, sizeof fast) && fast.is_signed != 0;
}

int ocl_uses_dot(const gpu_driver_state *state, const ocl_found *found) {
    if (state->int_dot == OCL_INT_DOT_OFF || !can_multiply_bytes(&state->api, found->device)) {
        return 0;
    }
    /* What is made for processors is faster there than kernels for GPUs. */
    return state->int_dot == OCL_INT_DOT_ON || (!ocl_is_processor(found->type) && multiplies_bytes_fast(&state->api, found->device));
}

/* --- Subgroups ---------------------------------------------------------------------------------------------------------- */

/* From how many of them the largest group has: kernels are right for any length, so that a guess costs time at most. */
static uint32_t guess_subgroup(const ocl_api *api, cl_device_id device) {
    cl_uint most = 0;
    size_t group = 0;
    uint32_t length = LEAST_SUBGROUP;
    ocl_device_fact(api, device, MAX_NUM_SUB_GROUPS, &most, sizeof most);
    ocl_device_fact(api, device, CL_DEVICE_MAX_WORK_GROUP_SIZE, &group, sizeof group);
    while (most > 0 && length < MOST_SUBGROUP && (uint64_t)length * most < group) {
        length *= 2;
    }
    return most > 0 ? length : 1;
}

uint32_t ocl_find_subgroup(const ocl_api *api, cl_device_id device) {
    cl_uint width = 0;
    size_t sizes[16] = {0};
    if (ocl_has_extension(api, device, "cl_nv_device_attribute_query") &&
        ocl_device_fact(api, device, CL_DEVICE_WARP_SIZE_NV, &width, sizeof width) && width > 0) {
        return width;
    }
    if (ocl_has_extension(api, device, "cl_amd_device_attribute_query") &&
        ocl_device_fact(api, device, CL_DEVICE_WAVEFRONT_WIDTH_AMD, &width, sizeof width) && width > 0) {
        return width;
    }
    if (ocl_has_extension(api, device, "cl_intel_required_subgroup_size") &&
        api->GetDeviceInfo(device, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, NULL) == CL_SUCCESS && sizes[0] > 0) {
        return (uint32_t)sizes[0];
    }
    return guess_subgroup(api, device);
}

/* Functions over subgroups came as an extension of OpenCL 2.0; Intel's is older. A device of 3.0 that names the extension may still have
 * no subgroups, and says so by their number. */
int ocl_has_subgroups(const ocl_api *api, cl_device_id device) {
    cl_uint most = 0;
    if (ocl_has_extension(api, device, "cl_intel_subgroups")) {
        return 1;
    }
    return ocl_has_extension(api, device, "cl_khr_subgroups") && strcmp(ocl_find_language(api, device), "CL1.2") != 0 &&
           (!ocl_device_fact(api, device, MAX_NUM_SUB_GROUPS, &most, sizeof most) || most > 0);
}

const char *ocl_find_language(const ocl_api *api, cl_device_id device) {
    char version[128];
    ocl_device_text(api, device, CL_DEVICE_VERSION, version, sizeof version);
    return strncmp(version, "OpenCL 3", 8) == 0 ? "CL3.0" : strncmp(version, "OpenCL 2", 8) == 0 ? "CL2.0" : "CL1.2";
}
