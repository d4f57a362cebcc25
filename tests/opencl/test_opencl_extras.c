/* test_opencl_extras.c — what the OpenCL driver makes of what devices say about subgroups and products of bytes: devices that no machine
 * of ours has, as a function that answers for them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "ocl_internal.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* The device that is asked now. */
typedef struct fake_device {
    const char *version, *extensions;
    cl_uint most_subgroups;   /* 0 and not said: 2.0 and older */
    int says_subgroups;
    size_t group;
    size_t intel_sizes[3];
    cl_ulong dot_capabilities;
    cl_bool is_dot_fast;
} fake_device;

static fake_device fake;

static cl_int answer(const void *value, size_t bytes, size_t room, void *out, size_t *out_bytes) {
    if (out_bytes != NULL) {
        *out_bytes = bytes;
    }
    if (out != NULL && room < bytes) {
        return CL_INVALID_VALUE;
    }
    if (out != NULL) {
        memcpy(out, value, bytes);
    }
    return CL_SUCCESS;
}

static cl_int CL_API_CALL get_device_info(cl_device_id device, cl_device_info what, size_t room, void *out, size_t *out_bytes) {
    const cl_bool fast[6] = {fake.is_dot_fast};
    (void)device;
    switch (what) {
    case CL_DEVICE_VERSION: return answer(fake.version, strlen(fake.version) + 1, room, out, out_bytes);
    case CL_DEVICE_EXTENSIONS: return answer(fake.extensions, strlen(fake.extensions) + 1, room, out, out_bytes);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE: return answer(&fake.group, sizeof fake.group, room, out, out_bytes);
    case CL_DEVICE_SUB_GROUP_SIZES_INTEL: return answer(fake.intel_sizes, sizeof fake.intel_sizes, room, out, out_bytes);
    case 0x105C: /* CL_DEVICE_MAX_NUM_SUB_GROUPS */
        return fake.says_subgroups ? answer(&fake.most_subgroups, sizeof fake.most_subgroups, room, out, out_bytes) : CL_INVALID_VALUE;
    case 0x1073: /* CL_DEVICE_INTEGER_DOT_PRODUCT_CAPABILITIES_KHR */
        return answer(&fake.dot_capabilities, sizeof fake.dot_capabilities, room, out, out_bytes);
    case 0x1075: /* CL_DEVICE_INTEGER_DOT_PRODUCT_ACCELERATION_PROPERTIES_4x8BIT_PACKED_KHR */
        return answer(fast, sizeof fast, room, out, out_bytes);
    default: return CL_INVALID_VALUE;
    }
}

static const ocl_api api = {.GetDeviceInfo = get_device_info};

static void subgroups_are_used_where_a_device_has_them(void **state) {
    static const struct {
        fake_device device;
        int has_them;
        uint32_t length;
        const char *language;
    } rows[] = {
        {{"OpenCL 1.2 x", "cl_khr_fp64", 0, 0, 256, {0}, 0, 0}, 0, 1, "CL1.2"},
        {{"OpenCL 1.2 x", "cl_khr_subgroups", 0, 0, 256, {0}, 0, 0}, 0, 1, "CL1.2"},
        {{"OpenCL 1.2 x", "cl_intel_subgroups", 0, 0, 256, {0}, 0, 0}, 1, 1, "CL1.2"},
        {{"OpenCL 2.0 x", "cl_khr_subgroups", 0, 0, 256, {0}, 0, 0}, 1, 1, "CL2.0"},
        {{"OpenCL 2.1 x", "cl_khr_subgroups", 8, 1, 256, {0}, 0, 0}, 1, 32, "CL2.0"},
        {{"OpenCL 3.0 x", "cl_khr_subgroups", 64, 1, 256, {0}, 0, 0}, 1, 4, "CL3.0"},
        {{"OpenCL 3.0 x", "cl_khr_subgroups", 1, 1, 1024, {0}, 0, 0}, 1, 64, "CL3.0"},
        {{"OpenCL 3.0 x", "cl_khr_subgroups", 0, 1, 4096, {0}, 0, 0}, 0, 1, "CL3.0"},
        {{"OpenCL 3.0 x", "cl_khr_subgroups_not", 8, 1, 256, {0}, 0, 0}, 0, 32, "CL3.0"},
        {{"OpenCL 3.0 x", "cl_intel_subgroups cl_intel_required_subgroup_size", 64, 1, 512, {8, 16, 32}, 0, 0}, 1, 8, "CL3.0"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fake = rows[i].device;
        if (ocl_has_subgroups(&api, NULL) != rows[i].has_them || ocl_find_subgroup(&api, NULL) != rows[i].length ||
            strcmp(ocl_find_language(&api, NULL), rows[i].language) != 0) {
            fail_msg("row %zu: %d, %u, %s", i, ocl_has_subgroups(&api, NULL), ocl_find_subgroup(&api, NULL), ocl_find_language(&api, NULL));
        }
    }
}

static void products_of_bytes_are_used_where_hardware_makes_them_or_the_option_says(void **state) {
    static const struct {
        const char *extensions;
        cl_ulong capabilities;
        cl_bool is_fast;
        cl_device_type type;
        int automatic, on;
    } rows[] = {{"cl_khr_integer_dot_product", 1, CL_TRUE, CL_DEVICE_TYPE_GPU, 1, 1},
                {"cl_khr_integer_dot_product", 3, CL_FALSE, CL_DEVICE_TYPE_GPU, 0, 1},
                {"cl_khr_integer_dot_product", 2, CL_TRUE, CL_DEVICE_TYPE_GPU, 0, 0},
                {"cl_khr_integer_dot_product", 1, CL_TRUE, CL_DEVICE_TYPE_CPU, 0, 1},
                {"cl_khr_fp64", 1, CL_TRUE, CL_DEVICE_TYPE_GPU, 0, 0}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        gpu_driver_state driver = {.api = api};
        const ocl_found found = {.type = rows[i].type};
        fake = (fake_device){"OpenCL 3.0 x", rows[i].extensions, 0, 0, 256, {0}, rows[i].capabilities, rows[i].is_fast};
        driver.int_dot = OCL_INT_DOT_AUTO;
        assert_int_equal(ocl_uses_dot(&driver, &found), rows[i].automatic);
        driver.int_dot = OCL_INT_DOT_ON;
        assert_int_equal(ocl_uses_dot(&driver, &found), rows[i].on);
        driver.int_dot = OCL_INT_DOT_OFF;
        assert_int_equal(ocl_uses_dot(&driver, &found), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subgroups_are_used_where_a_device_has_them),
        cmocka_unit_test(products_of_bytes_are_used_where_hardware_makes_them_or_the_option_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
