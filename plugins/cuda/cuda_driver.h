/* cuda_driver.h — what the files of this driver share: its state, a device, memory and recordings (gpu_driver.h has the contract).
 *
 *   cuda_plugin.c    the table, start and stop, listing devices     cuda_memory.c   allocations, imports, copies in and out
 *   cuda_device.c    opening a device, entering its context         cuda_kernels.c  images and functions
 *   cuda_graph.c     launches become graphs                         cuda_run.c      running them, whole or timed one by one
 *
 * Threading: as gpu_driver.h. Every function that a core calls pushes the device's context on the calling thread's stack and takes it
 * off again, so that it does not matter which thread calls and what context that thread has.
 */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H
#include "../gpu/gpu_driver.h"
#include "cuda_api.h"
#include "cuda_images.h"

/* The oldest devices that the kernels are built for: compute capability 7.5. */
#define CUDA_LEAST_CAPABILITY 75

struct gpu_driver_state {
    const qn_host *host;
    cu_api api;
};

/* Page-locked memory through which everything goes between pageable memory and the device, two pieces in turn. */
#define CUDA_STAGING_BYTES (UINT64_C(4) << 20)
typedef struct cuda_staging {
    void *host;
    cu_event done;     /* behind the last copy out of it */
    int is_busy;       /* such a copy was queued and not yet waited for */
} cuda_staging;

struct gpu_driver_device {
    gpu_driver_state *state;
    cu_device handle;
    cu_context context;
    cu_stream stream;
    cu_event begin, end;    /* with times; also the two that keep a long step at most two graphs ahead */
    cuda_staging staging[2];
    uint32_t next_staging;
    int is_lost;            /* a call has said so: the context is dead */
    int is_unified;
    int32_t capability;     /* 75: 7.5 */
    uint64_t graph_bytes;   /* memory traffic of one graph, about, before a cut ends it; 0: every cut does */
    char name[128];
    cu_module modules[CUDA_MOST_IMAGES];
    cu_function functions[CUDA_MOST_KERNELS];
};

enum { CUDA_MEMORY_DEVICE, CUDA_MEMORY_HOST, CUDA_MEMORY_IMPORTED };

typedef struct cuda_memory {
    gpu_memory shared;      /* first */
    uint32_t kind;          /* CUDA_MEMORY_* */
    cu_address address;
    void *pages;            /* IMPORTED: what was registered */
} cuda_memory;

/* One launch as the driver takes it. */
typedef struct cuda_launch {
    cu_function function;   /* null: a copy */
    uint32_t grid[3];
    uint32_t group;
    uint32_t n_buffers;
    cu_address buffers[GPU_MAX_BUFFERS];
    uint32_t params[GPU_MAX_PARAMS];
    cu_copy copy;
} cuda_launch;

/* Consecutive launches in one graph. */
typedef struct cuda_segment {
    cu_graph_exec exec;
    uint32_t first, end;
} cuda_segment;

struct gpu_recording {
    uint32_t room, n_launches, n_segments;
    cuda_launch *launches;   /* [room] */
    cuda_segment *segments;  /* [room] */
    cu_node *nodes;          /* [room], while graphs are made */
};

/* --- cuda_device.c ---------------------------------------------------------------------------------------------------- */

qn_status cuda_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                    gpu_caps *caps, qn_error *err);
void cuda_close(gpu_driver_device *device);

/* Makes the device's context current on this thread; DEVICE_LOST when it is. Each success wants one cuda_leave. */
qn_status cuda_enter(gpu_driver_device *device, qn_error *err);
void cuda_leave(gpu_driver_device *device);
/* The same for functions that free, which go on whatever the driver says. */
void cuda_enter_to_free(gpu_driver_device *device);

/* QN_OK, or cuda_fail, remembering a loss. */
qn_status cuda_check(gpu_driver_device *device, cu_result result, const char *call, qn_error *err);

/* The value of a device's attribute; 0 when the driver does not know it. */
int32_t cuda_attribute(const cu_api *api, cu_device device, int32_t attribute);
int32_t cuda_capability(const cu_api *api, cu_device device);
/* Can kernels read pages of the host in place, at the speed of the device's own memory? */
int cuda_is_unified(const cu_api *api, cu_device device);

/* --- cuda_memory.c ---------------------------------------------------------------------------------------------------- */

qn_status cuda_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err);
qn_status cuda_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err);
void cuda_memory_free(gpu_driver_device *device, gpu_memory *memory);
qn_status cuda_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err);
qn_status cuda_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err);

/* --- cuda_kernels.c --------------------------------------------------------------------------------------------------- */

qn_status cuda_kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err);
void cuda_kernels_close(gpu_driver_device *device);
/* Work-items of one group of the kernel. */
uint32_t cuda_kernel_group(uint32_t kernel);

/* --- cuda_graph.c ----------------------------------------------------------------------------------------------------- */

#define CUDA_LAUNCH_BYTES (sizeof(cuda_launch) + sizeof(cuda_segment) + sizeof(cu_node))

qn_status cuda_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err);
void cuda_recording_free(gpu_driver_device *device, gpu_recording *recording);
qn_status cuda_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err);

/* Pointers to the arguments of a launch, as the driver takes them. */
void cuda_arguments(cuda_launch *launch, void *arguments[GPU_MAX_BUFFERS + 1]);

/* --- cuda_run.c ------------------------------------------------------------------------------------------------------- */

qn_status cuda_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);

#endif
