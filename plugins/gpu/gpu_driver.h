/* gpu_driver.h — what a device plugin (opencl, vulkan, cuda) writes, so that core/ can be the rest of it.
 *
 *     ABI verbs ──► core/     programs, weights, sessions, steps, moves, taps, plans: the same for every device
 *                     │
 *                     ├──► lower/    one file per op: an op of the program becomes launches of kernels
 *                     │
 *                     ▼
 *                  gpu_driver      memory, uploads, kernels, recordings: one small file set per driver API
 *                     │
 *                     ▼
 *                  kernels/        one source per op, in a dialect that OpenCL C, GLSL, CUDA and C++ compilers accept
 *
 * A step of a given shape (tokens, outputs) is lowered once to a list of launches, recorded once by the driver (a command buffer,
 * a captured graph, or just the list) and then run again and again: whatever changes from step to step (ids, positions, cells,
 * spans) lies in memory that the kernels read, so that a recording stays true.
 *
 * Order: launches of a recording behave as if run one after the other, each seeing everything that those before it wrote. With
 * GPU_LAUNCH_BESIDE a launch neither reads nor writes what the launch right before it writes, nor writes what that one reads (nor
 * what that one's own neighbours marked BESIDE read and write), and the driver may leave out the barrier between them.
 *
 * Errors: every fallible function fills err (qn_fail, with the native code) and returns its code. After QN_DEVICE_LOST only the
 * functions that free are called, and they return.
 * Threads: core serialises all calls on one device; the OS thread may change between calls.
 * Memory: structs of the driver come from host->mem_alloc, kind QN_MEM_OTHER; those of a recording kind QN_MEM_SCRATCH, all of it in
 * recording_new: caps.recording_bytes and caps.launch_bytes for each launch of its room. Whatever step runs (record, run) asks the
 * host for no memory. Device memory is told to the host by core, not by the driver: a gpu_memory counts as its bytes, rounded up to
 * caps.memory_align.
 */
#ifndef GPU_DRIVER_H
#define GPU_DRIVER_H
#include <quoin/glue_program.h>
#include <quoin/glue_step.h>

#define GPU_MAX_BUFFERS 8u  /* bindings of one launch */
#define GPU_MAX_PARAMS 24u  /* words of one launch: with one word of offset a binding they fill the 128 bytes of push constants that
                               every Vulkan device has */

/* What lowering may count on. Filled by open. */
enum {
    GPU_CAP_UNIFIED = 1u,    /* memory_import works: kernels read pages of the host in place */
    GPU_CAP_SUBGROUPS = 2u,  /* kernels with the variant SUBGROUPS can be opened */
    GPU_CAP_INT_DOT = 4u,    /* kernels with the variant INT_DOT can be opened, and are used in class ACT8, which describe offers */
    GPU_CAP_ON_CPU = 8u      /* the device is a processor: work-items are lanes of its vectors at best, a barrier costs much. Kernels with
                                the variant ON_CPU are for these only */
};
typedef struct gpu_caps {
    uint32_t flags;             /* GPU_CAP_* */
    uint32_t subgroup;          /* work-items that run in step, as far as known; 1 when not. Kernels do not rely on it */
    uint32_t max_group;         /* work-items of one group; >= 128 */
    uint32_t compute_units;     /* >= 1 */
    uint32_t max_grid[3];       /* groups */
    uint64_t shared_bytes;      /* of one group; >= 16 KiB */
    uint64_t max_memory_bytes;  /* one allocation */
    uint64_t max_binding_bytes; /* what one binding may span */
    uint64_t memory_align;      /* allocations take a multiple of this; >= 1 */
    uint64_t launch_bytes;      /* host memory that a recording takes for each launch of its room */
    uint64_t recording_bytes;   /* and besides, whatever its room */
} gpu_caps;

/* Where memory lies and who touches it. */
enum {
    GPU_PLACE_DEVICE = 0,   /* kernels only */
    GPU_PLACE_UPLOAD = 1,   /* the host writes it through .host, copies and kernels read it */
    GPU_PLACE_READBACK = 2  /* copies write it, the host reads it through .host after run */
};

/* First member of the driver's own struct. */
typedef struct gpu_memory {
    uint64_t bytes;  /* as asked for */
    void *host;  /* UPLOAD, READBACK: mapped as long as it lives; otherwise null */
} gpu_memory;

typedef struct gpu_binding {
    gpu_memory *memory;
    uint64_t at;     /* first byte, a multiple of 4 */
    uint64_t bytes;  /* that the kernel may touch; >= 4 */
} gpu_binding;

enum {
    GPU_LAUNCH_BESIDE = 1u,  /* see above; never on the first of a recording */
    GPU_LAUNCH_CUT = 2u      /* a good place to look at the cancel flag: behind this launch a driver submits what it has */
};

/* kernel == GPU_COPY: bytes of buffers[0] to buffers[1], equal lengths, not overlapping. */
#define GPU_COPY UINT32_MAX

typedef struct gpu_launch {
    uint32_t kernel;         /* GPU_KERNEL_* of kernels.def, or GPU_COPY */
    uint32_t flags;          /* GPU_LAUNCH_* */
    uint32_t grid[3];        /* groups; each >= 1 and within caps.max_grid */
    uint32_t n_buffers;
    gpu_binding buffers[GPU_MAX_BUFFERS]; /* in the order of the kernel's source */
    uint32_t n_params;       /* words */
    uint32_t params[GPU_MAX_PARAMS];      /* the kernel's struct of kernel_params.h */
    uint32_t op;             /* of the program, for errors and times; QN_NO_OP */
} gpu_launch;

/* Of the driver; each has its own struct. */
typedef struct gpu_driver_state gpu_driver_state;
typedef struct gpu_driver_device gpu_driver_device;
typedef struct gpu_recording gpu_recording;

/* Options that core handles: a row of every driver's table. */
#define GPU_CORE_OPTIONS                                                                                                          \
    {.size = sizeof(qn_option_info), .type = QN_OPTION_UINT, .applies = QN_OPTION_AT_OPEN, .key = "memory", .default_value = "",   \
     .choices = "", .help = "Bytes of device memory that may be taken; without it, as many as the device gives."}

typedef struct gpu_driver {
    const char *name;        /* "opencl": the plugin's */
    const char *extra;       /* one line of free text for bug reports (kernel language, versions it was built with) */
    const qn_option_info *options; /* own ones and GPU_CORE_OPTIONS */
    uint32_t n_options;

    /* Opens the driver library; UNAVAILABLE with its name and the loader's text. The host table lives until stop. Options were
     * checked against the table: keys that apply here, with a value, without GPU_CORE_OPTIONS; values are the driver's to check. */
    qn_status (*start)(const qn_host *host, const qn_option *options, uint32_t n_options, gpu_driver_state **out, qn_error *err);
    void (*stop)(gpu_driver_state *state);

    /* How many devices there are; device `index` is described in *info (size is set already). No context is made. */
    qn_status (*count)(gpu_driver_state *state, uint32_t *count, qn_error *err);
    qn_status (*describe)(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err);

    /* What of the caps is not filled is zero, and a fault. */
    qn_status (*open)(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                      gpu_caps *caps, qn_error *err);
    void (*close)(gpu_driver_device *device);

    /* Content is undefined. NO_DEVICE_MEM with asked and free bytes. */
    qn_status (*memory_new)(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err);
    /* GPU_CAP_UNIFIED only: the pages that hold [data, data + bytes), read-only and valid until memory_free; *at: where data
     * begins in it. UNSUPPORTED when these pages cannot be had: core then copies. */
    qn_status (*memory_import)(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err);
    void (*memory_free)(gpu_driver_device *device, gpu_memory *memory);
    /* Any length, to or from memory of any place; data may be reused when it returns. */
    qn_status (*upload)(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err);
    qn_status (*download)(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err);

    /* Makes the kernel ready (compiles, or loads it from the host's blob store); opened once, kept until close. UNSUPPORTED with the
     * compiler's text when this device cannot have it. */
    qn_status (*kernel_open)(gpu_driver_device *device, uint32_t kernel, qn_error *err);

    /* A place for at most `room` launches, empty. */
    qn_status (*recording_new)(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err);
    void (*recording_free)(gpu_driver_device *device, gpu_recording *recording);
    /* Replaces what the recording holds (nothing of it runs now). Launches are copied; their memories live until they are replaced
     * or the recording is freed, or are not run any more. All kernels are open. n: 1 to room. After a failure it is empty. */
    qn_status (*record)(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err);
    /* Runs it and returns when all of it is done. CANCELLED when host->cancel was seen at a cut: nothing runs any more then.
     * nanoseconds: null, or [n launches], where the device's time of each is added. Takes no memory. */
    qn_status (*run)(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);
} gpu_driver;

/* Each plugin file defines this one (hidden) constant; core/ has the exported query and all verbs. */
extern const gpu_driver gpu_the_driver;

#endif
