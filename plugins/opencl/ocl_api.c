/* ocl_api.c — opening the library; names of its errors. */
#include "ocl_api.h"

#include <dlfcn.h>

static int find_function(const ocl_api *api, const char *name, void *out) {
    void *symbol = dlsym(api->library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

qn_status ocl_api_open(ocl_api *api, qn_error *err) {
    memset(api, 0, sizeof *api);
    api->library = dlopen(OCL_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (api->library == NULL) {
        const char *text = dlerror();
        return qn_fail(err, QN_UNAVAILABLE, "%s (no OpenCL here? the package is ocl-icd-libopencl1, and each driver has its own)",
                       text != NULL ? text : OCL_LIBRARY " cannot be opened");
    }
#define OCL_FIND(name) \
    if (!find_function(api, "cl" #name, &api->name)) { \
        ocl_api_close(api); \
        return qn_fail(err, QN_TOO_OLD, OCL_LIBRARY " has no function cl" #name "; OpenCL 1.2 is needed"); \
    }
    OCL_FUNCTIONS(OCL_FIND)
#undef OCL_FIND
    return QN_OK;
}

void ocl_api_close(ocl_api *api) {
    if (api->library != NULL) {
        dlclose(api->library); /* RTLD_NODELETE: gives back the handle alone */
    }
    memset(api, 0, sizeof *api);
}

const char *ocl_error_name(cl_int code) {
    static const struct {
        cl_int code;
        const char *name;
    } names[] = {
#define NAME(code) {code, #code}
        NAME(CL_DEVICE_NOT_FOUND), NAME(CL_DEVICE_NOT_AVAILABLE), NAME(CL_COMPILER_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE), NAME(CL_OUT_OF_RESOURCES), NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE), NAME(CL_MEM_COPY_OVERLAP), NAME(CL_IMAGE_FORMAT_MISMATCH),
        NAME(CL_IMAGE_FORMAT_NOT_SUPPORTED), NAME(CL_BUILD_PROGRAM_FAILURE), NAME(CL_MAP_FAILURE),
        NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET), NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_COMPILE_PROGRAM_FAILURE), NAME(CL_LINKER_NOT_AVAILABLE), NAME(CL_LINK_PROGRAM_FAILURE),
        NAME(CL_DEVICE_PARTITION_FAILED), NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE), NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_DEVICE_TYPE), NAME(CL_INVALID_PLATFORM), NAME(CL_INVALID_DEVICE), NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_QUEUE_PROPERTIES), NAME(CL_INVALID_COMMAND_QUEUE), NAME(CL_INVALID_HOST_PTR),
        NAME(CL_INVALID_MEM_OBJECT), NAME(CL_INVALID_BINARY), NAME(CL_INVALID_BUILD_OPTIONS), NAME(CL_INVALID_PROGRAM),
        NAME(CL_INVALID_PROGRAM_EXECUTABLE), NAME(CL_INVALID_KERNEL_NAME), NAME(CL_INVALID_KERNEL_DEFINITION),
        NAME(CL_INVALID_KERNEL), NAME(CL_INVALID_ARG_INDEX), NAME(CL_INVALID_ARG_VALUE), NAME(CL_INVALID_ARG_SIZE),
        NAME(CL_INVALID_KERNEL_ARGS), NAME(CL_INVALID_WORK_DIMENSION), NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_WORK_ITEM_SIZE), NAME(CL_INVALID_GLOBAL_OFFSET), NAME(CL_INVALID_EVENT_WAIT_LIST),
        NAME(CL_INVALID_EVENT), NAME(CL_INVALID_OPERATION), NAME(CL_INVALID_BUFFER_SIZE), NAME(CL_INVALID_GLOBAL_WORK_SIZE),
        NAME(CL_INVALID_PROPERTY), NAME(CL_PLATFORM_NOT_FOUND_KHR),
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].code == code) {
            return names[i].name;
        }
    }
    return "an unknown OpenCL error";
}

qn_status ocl_error_status(cl_int code) {
    switch (code) {
    case CL_SUCCESS: return QN_OK;
    case CL_OUT_OF_HOST_MEMORY: return QN_NO_HOST_MEM;
    case CL_MEM_OBJECT_ALLOCATION_FAILURE: return QN_NO_DEVICE_MEM;
    case CL_OUT_OF_RESOURCES:
    case CL_DEVICE_NOT_AVAILABLE:
    case CL_INVALID_COMMAND_QUEUE: /* what some drivers say of a queue whose device has died */
    case CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: return QN_DEVICE_LOST;
    default: return QN_INTERNAL;
    }
}

qn_status ocl_fail(qn_error *err, cl_int code, const char *what) {
    if (err != NULL && err->size >= sizeof(qn_error)) {
        err->native_code = code;
    }
    return qn_fail(err, ocl_error_status(code), "%s: %s (%d)", what, ocl_error_name(code), code);
}
