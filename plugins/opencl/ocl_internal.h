/* ocl_internal.h — what the files of the OpenCL driver share.
 *
 *     opencl_driver.c   the table of gpu_driver.h, start and stop
 *     ocl_process.c     signal handlers and variables that drivers change, put back
 *     ocl_list.c        platforms and devices: who they are, in which order
 *     ocl_open.c        context, queue, what the device can do
 *     ocl_extras.c      what not every device can do: subgroups, products of bytes
 *     ocl_memory.c      buffers and transfers
 *     ocl_kernels.c     programs: built from the embedded sources, or taken from the host's blob store
 *     ocl_record.c      lists of launches with their arguments set
 *     ocl_run.c         running them
 *
 * Threading, memory, errors: as gpu_driver.h.
 */
#ifndef OCL_INTERNAL_H
#define OCL_INTERNAL_H
#include "gpu_driver.h"
#include "ocl_api.h"
#include "ocl_sources.h"

#define OCL_MAX_PLATFORMS 16u
#define OCL_MAX_DEVICES 16u

typedef struct ocl_found {
    cl_platform_id platform;
    cl_device_id device;
    cl_device_type type;
    char id[64];
    char platform_name[128], name[128];
} ocl_found;

/* When kernels that multiply bytes are used: where hardware does it, wherever the driver does, or never. */
enum { OCL_INT_DOT_AUTO, OCL_INT_DOT_ON, OCL_INT_DOT_OFF };

struct gpu_driver_state {
    const qn_host *host;
    ocl_api api;
    char platform[64]; /* option: part of the platform's name; "" = all */
    uint32_t int_dot;  /* option: OCL_INT_DOT_* */
    uint32_t is_listed;
    uint32_t n_devices;
    ocl_found devices[OCL_MAX_DEVICES];
};

struct gpu_driver_device {
    gpu_driver_state *state;
    const qn_host *host;
    const ocl_api *api;
    const ocl_found *found;
    cl_context context;
    cl_command_queue queue;
    cl_command_queue timed_queue; /* with profiling; made when times are first asked for */
    gpu_caps caps;
    uint64_t total_bytes;
    uint32_t is_unified;
    uint32_t keeps_kernels;       /* in the host's blob store */
    char options[160];            /* of every build, but for the language */
    char newest[8];               /* language of kernels that use more than OpenCL C 1.2: "CL3.0" */
    cl_program programs[];        /* [ocl_n_kernels]; null until opened */
};

/* UPLOAD and READBACK: .host of the base is a mapping that no kernel touches; commands move what a run needs between it and the buffer.
 * (A buffer that stays mapped while kernels read it is what OpenCL leaves undefined.) */
typedef struct ocl_memory {
    gpu_memory base;
    uint32_t place;
    cl_mem buffer;   /* what kernels see; null for READBACK */
    cl_mem pinned;   /* what .host is a mapping of; null when it is memory of the host */
} ocl_memory;

/* One launch, ready to be put into the queue. */
typedef struct ocl_command {
    cl_kernel kernel;       /* with its arguments; null for a copy */
    uint32_t number;        /* of the kernel that `kernel` was made of */
    uint32_t is_cut;
    size_t global[3], local[3];
    const ocl_memory *from, *to; /* copies */
    uint64_t from_at, to_at, bytes;
    cl_event event;         /* while it runs and somebody waits for it or times it */
} ocl_command;

/* Bytes of an UPLOAD memory that kernels read: sent to the buffer before the first launch. */
typedef struct ocl_staging {
    const ocl_memory *memory;
    uint64_t begin, end;
} ocl_staging;

#define OCL_MOST_STAGED 16u

struct gpu_recording {
    uint32_t room, n_commands, n_staged;
    ocl_staging staged[OCL_MOST_STAGED];
    ocl_command commands[];
};

static inline ocl_memory *ocl_memory_of(gpu_memory *memory) {
    return (ocl_memory *)(void *)memory;
}

/* Fills state->devices, once. */
qn_status ocl_list(gpu_driver_state *state, qn_error *err);
qn_status ocl_describe(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err);

qn_status ocl_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                   gpu_caps *caps, qn_error *err);
void ocl_close(gpu_driver_device *device);

qn_status ocl_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err);
qn_status ocl_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err);
void ocl_memory_free(gpu_driver_device *device, gpu_memory *memory);
qn_status ocl_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err);
qn_status ocl_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err);

qn_status ocl_kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err);

qn_status ocl_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err);
void ocl_recording_free(gpu_driver_device *device, gpu_recording *recording);
qn_status ocl_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err);
qn_status ocl_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);

/* ocl_extras.c: what not every device has. */
/* A processor and nothing else: a simulator, which calls itself everything at once, is to run what GPUs run. */
int ocl_is_processor(cl_device_type type);
/* Are kernels with INT_DOT used on it, and class act8 offered? */
int ocl_uses_dot(const gpu_driver_state *state, const ocl_found *found);
/* Work-items that run in step, as far as a driver tells, or 1; and whether kernels can add up over them. */
uint32_t ocl_find_subgroup(const ocl_api *api, cl_device_id device);
int ocl_has_subgroups(const ocl_api *api, cl_device_id device);
/* "CL3.0", "CL2.0" or "CL1.2": the newest language that the device is sure to have. */
const char *ocl_find_language(const ocl_api *api, cl_device_id device);

/* --- Questions to the driver ------------------------------------------------------------------------------------------ */

/* A fact of fixed size; zeros when the driver does not know it. True when it does. */
int ocl_device_fact(const ocl_api *api, cl_device_id device, cl_device_info what, void *out, size_t bytes);
/* A text, cut to what fits; "" when there is none. */
void ocl_device_text(const ocl_api *api, cl_device_id device, cl_device_info what, char *out, size_t room);
void ocl_platform_text(const ocl_api *api, cl_platform_id platform, cl_platform_info what, char *out, size_t room);
/* Is the word among the device's extensions? */
int ocl_has_extension(const ocl_api *api, cl_device_id device, const char *name);

void ocl_log(const qn_host *host, uint32_t level, const char *format, ...) QN_GLUE_PRINTF(3, 4);

#endif
