/* cuda_api.h — the part of the CUDA driver's binary interface that this plugin uses, declared here, so that the host code builds on
 * machines without the toolkit. tests/fake_cuda compares every number and layout with the toolkit's own header where there is one.
 *
 * Threading: cu_api is constant after cuda_api_open. Memory: the driver library stays loaded (cuda_api.c says why).
 */
#ifndef CUDA_API_H
#define CUDA_API_H
#include <stddef.h>
#include <stdint.h>

#include <quoin/glue.h>

#define CU_LIBRARY "libcuda.so.1"

typedef int32_t cu_result;
typedef int32_t cu_device;     /* what cuDeviceGet gives, not the index */
typedef uint64_t cu_address;   /* in device memory; 64-bit platforms only */
typedef struct cu_context_ *cu_context;
typedef struct cu_stream_ *cu_stream;
typedef struct cu_event_ *cu_event;
typedef struct cu_module_ *cu_module;
typedef struct cu_function_ *cu_function;
typedef struct cu_graph_ *cu_graph;
typedef struct cu_graph_exec_ *cu_graph_exec;
typedef struct cu_node_ *cu_node;

/* Results that are told apart; the driver names the others itself. */
enum {
    CU_OK = 0,
    CU_INVALID_VALUE = 1,
    CU_OUT_OF_MEMORY = 2,
    CU_NOT_INITIALIZED = 3,
    CU_DEINITIALIZED = 4,
    CU_STUB_LIBRARY = 34,
    CU_NEWER_DRIVER_NEEDED = 36,
    CU_DEVICE_UNAVAILABLE = 46,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_INVALID_CONTEXT = 201,
    CU_NO_BINARY_FOR_GPU = 209,
    CU_ECC_UNCORRECTABLE = 214,
    CU_NVLINK_UNCORRECTABLE = 220,
    CU_UNSUPPORTED_PTX_VERSION = 222,
    CU_CONTAINED = 226,
    CU_OPERATING_SYSTEM = 304,
    CU_INVALID_HANDLE = 400,
    CU_NOT_FOUND = 500,
    CU_NOT_READY = 600,
    CU_ILLEGAL_ADDRESS = 700,
    CU_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_LAUNCH_TIMEOUT = 702,
    CU_CONTEXT_IS_DESTROYED = 709,
    CU_ASSERT = 710,
    CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
    CU_HARDWARE_STACK_ERROR = 714,
    CU_ILLEGAL_INSTRUCTION = 715,
    CU_MISALIGNED_ADDRESS = 716,
    CU_INVALID_ADDRESS_SPACE = 717,
    CU_INVALID_PC = 718,
    CU_LAUNCH_FAILED = 719,
    CU_NOT_PERMITTED = 800,
    CU_NOT_SUPPORTED = 801,
    CU_SYSTEM_NOT_READY = 802,
    CU_SYSTEM_DRIVER_MISMATCH = 803,
    CU_MPS_CLIENT_TERMINATED = 810,
    CU_EXTERNAL_DEVICE = 911
};

/* cuDeviceGetAttribute */
enum {
    CU_MAX_THREADS_PER_BLOCK = 1,
    CU_MAX_GRID_DIM_X = 5,
    CU_MAX_GRID_DIM_Y = 6,
    CU_MAX_GRID_DIM_Z = 7,
    CU_MAX_SHARED_MEMORY_PER_BLOCK = 8,
    CU_WARP_SIZE = 10,
    CU_MULTIPROCESSOR_COUNT = 16,
    CU_INTEGRATED = 18,
    CU_CAPABILITY_MAJOR = 75,
    CU_CAPABILITY_MINOR = 76,
    CU_READ_ONLY_HOST_REGISTER_SUPPORTED = 113
};

enum { CU_HOST_ALLOC_PORTABLE = 1, CU_HOST_ALLOC_DEVICEMAP = 2 };
enum { CU_HOST_REGISTER_PORTABLE = 1, CU_HOST_REGISTER_DEVICEMAP = 2, CU_HOST_REGISTER_READ_ONLY = 8 };
enum { CU_STREAM_NON_BLOCKING = 1 };
enum { CU_EVENT_DEFAULT = 0 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2 };

/* CUDA_MEMCPY3D_v2: a copy of up to three dimensions; here always one row of width_bytes. */
typedef struct cu_copy {
    size_t from_x, from_y, from_z, from_lod;
    uint32_t from_type;
    const void *from_host;
    cu_address from_device;
    void *from_array, *reserved0;
    size_t from_pitch, from_height;
    size_t to_x, to_y, to_z, to_lod;
    uint32_t to_type;
    void *to_host;
    cu_address to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width_bytes, height, depth;
} cu_copy;

/* CUDA_KERNEL_NODE_PARAMS_v2 */
typedef struct cu_kernel_node {
    cu_function function;
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    void **arguments, **extra;
    void *kernel;
    cu_context context;
} cu_kernel_node;

typedef struct cu_api {
#define CU_FUNCTION(member, symbol, arguments) cu_result(*member) arguments;
#include "cuda_api.def"
#undef CU_FUNCTION
    int32_t version;  /* of the driver: 13000 is CUDA 13.0 */
} cu_api;

/* Opens the library, finds every symbol and initialises the driver. UNAVAILABLE with the library's name and the loader's or the
 * driver's text; TOO_OLD when a symbol is missing. */
qn_status cuda_api_open(cu_api *api, qn_error *err);

/* "CUDA_ERROR_OUT_OF_MEMORY", from the driver; never null. */
const char *cuda_result_name(const cu_api *api, cu_result result);

/* What a result means to the host; DEVICE_LOST for those after which the context is dead. */
qn_status cuda_result_status(cu_result result);

/* Fills err with "<call>: <name> (<number>)" and the native code; returns the status. `result` is not CU_OK. */
qn_status cuda_fail(const cu_api *api, cu_result result, const char *call, qn_error *err);

#endif
