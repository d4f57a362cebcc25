/* cuda_api.c — opening the CUDA driver library, and what its results mean. */
#include "cuda_api.h"

#include <dlfcn.h>

/* Finds one symbol; a pointer to a function is written through its bytes, as POSIX wants it. */
static qn_status find_symbol(void *library, const char *symbol, void *out, qn_error *err) {
    void *found = dlsym(library, symbol);
    if (found == NULL) {
        int32_t (*version_of)(int32_t *) = NULL;
        void *version_symbol = dlsym(library, "cuDriverGetVersion");
        int32_t version = 0;
        memcpy(&version_of, &version_symbol, sizeof version_of);
        if (version_of != NULL) {
            version_of(&version);
        }
        return qn_fail(err, QN_TOO_OLD, "%s has no %s: a driver for CUDA 12.0 or newer is needed, this one is for CUDA %d.%d", CU_LIBRARY,
                       symbol, (int)(version / 1000), (int)(version % 1000 / 10));
    }
    memcpy(out, &found, sizeof found);
    return QN_OK;
}

static qn_status find_symbols(void *library, cu_api *api, qn_error *err) {
    qn_status status = QN_OK;
#define CU_FUNCTION(member, symbol, arguments) status = status == QN_OK ? find_symbol(library, #symbol, &api->member, err) : status;
#include "cuda_api.def"
#undef CU_FUNCTION
    return status;
}

/* The library is never closed: it keeps threads and exit handlers of its own, which must not lose their code. */
qn_status cuda_api_open(cu_api *api, qn_error *err) {
    void *library = dlopen(CU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *text = dlerror(); /* begins with the library's name */
        return qn_fail(err, QN_UNAVAILABLE, "%s (no NVIDIA driver on this machine or in this container?)",
                       text == NULL ? CU_LIBRARY ": cannot be opened" : text);
    }
    const qn_status status = find_symbols(library, api, err);
    if (status != QN_OK) {
        return status;
    }
    cu_result result = api->driver_version(&api->version);
    if (result == CU_OK) {
        result = api->init(0);
    }
    if (result != CU_OK) {
        const qn_status meaning = cuda_result_status(result);
        cuda_fail(api, result, CU_LIBRARY ": cuInit", err);
        if (err != NULL) {
            err->code = meaning == QN_INTERNAL ? QN_UNAVAILABLE : meaning;
        }
        return meaning == QN_INTERNAL ? QN_UNAVAILABLE : meaning;
    }
    return QN_OK;
}

const char *cuda_result_name(const cu_api *api, cu_result result) {
    const char *name = NULL;
    return api->error_name != NULL && api->error_name(result, &name) == CU_OK && name != NULL ? name : "an unknown CUDA error";
}

/* Errors that stay with the context: every later call on it gives them again. */
static int is_sticky(cu_result result) {
    switch (result) {
    case CU_DEINITIALIZED:
    case CU_ECC_UNCORRECTABLE:
    case CU_NVLINK_UNCORRECTABLE:
    case CU_CONTAINED:
    case CU_ILLEGAL_ADDRESS:
    case CU_LAUNCH_TIMEOUT:
    case CU_CONTEXT_IS_DESTROYED:
    case CU_ASSERT:
    case CU_HARDWARE_STACK_ERROR:
    case CU_ILLEGAL_INSTRUCTION:
    case CU_MISALIGNED_ADDRESS:
    case CU_INVALID_ADDRESS_SPACE:
    case CU_INVALID_PC:
    case CU_LAUNCH_FAILED:
    case CU_MPS_CLIENT_TERMINATED:
    case CU_EXTERNAL_DEVICE: return 1;
    default: return 0;
    }
}

qn_status cuda_result_status(cu_result result) {
    switch (result) {
    case CU_OK: return QN_OK;
    case CU_OUT_OF_MEMORY: return QN_NO_DEVICE_MEM;
    case CU_STUB_LIBRARY:
    case CU_NO_DEVICE:
    case CU_INVALID_DEVICE:
    case CU_OPERATING_SYSTEM:
    case CU_SYSTEM_NOT_READY:
    case CU_SYSTEM_DRIVER_MISMATCH: return QN_UNAVAILABLE;
    case CU_NEWER_DRIVER_NEEDED:
    case CU_NO_BINARY_FOR_GPU:
    case CU_UNSUPPORTED_PTX_VERSION: return QN_TOO_OLD;
    case CU_DEVICE_UNAVAILABLE: return QN_BUSY;
    case CU_NOT_PERMITTED: return QN_DENIED;
    case CU_NOT_SUPPORTED: return QN_UNSUPPORTED;
    default: return is_sticky(result) ? QN_DEVICE_LOST : QN_INTERNAL;
    }
}

qn_status cuda_fail(const cu_api *api, cu_result result, const char *call, qn_error *err) {
    if (err != NULL && err->size >= sizeof *err) {
        err->native_code = result;
    }
    return qn_fail(err, cuda_result_status(result), "%s: %s (%d)", call, cuda_result_name(api, result), (int)result);
}
