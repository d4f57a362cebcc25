/* vk_driver.h — the objects of the Vulkan driver and what its files ask of each other.
 *
 *   gpu_driver_state ─ gpu_driver_device ─┬─ vk_memory      a buffer with memory of its own
 *     (an instance)     (a device and     ├─ kernels        pipelines, made when they are opened
 *                        its queue)       └─ gpu_recording  command buffers, one between two cuts
 *
 * All kernels share one pipeline layout: GPU_MAX_BUFFERS storage buffers in set 0 and 128 bytes of push constants, of which the
 * first GPU_MAX_BUFFERS words say how many bytes behind the start of its descriptor each binding really begins
 * (minStorageBufferOffsetAlignment is coarser than a binding's place), and the rest are the kernel's parameters.
 *
 * Threading: core serialises all calls; nothing is bound to an OS thread.
 * Memory:    host memory through the host; one Vulkan allocation for each gpu_memory, since core pools.
 */
#ifndef VK_DRIVER_H
#define VK_DRIVER_H
#include <stdatomic.h>
#include <stdbool.h>

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include "gpu_driver.h"

#define VK_PUSH_WORDS (GPU_MAX_BUFFERS + GPU_MAX_PARAMS)
#define VK_MAX_DEVICES 16u

/* Addresses of Vulkan's functions; the name is Vulkan's without its vk. */
typedef struct vk_functions {
    PFN_vkGetInstanceProcAddr GetInstanceProcAddr;
#define VK_GLOBAL(name) PFN_vk##name name;
#define VK_INSTANCE(name) PFN_vk##name name;
#define VK_DEVICE(name) PFN_vk##name name;
#define VK_OPTIONAL(name) PFN_vk##name name;
#include "vk_functions.def"
#undef VK_GLOBAL
#undef VK_INSTANCE
#undef VK_DEVICE
#undef VK_OPTIONAL
} vk_functions;

/* Extensions that are used where a device has them. */
enum {
    VK_HAS_PCI_BUS_INFO = 1u,
    VK_HAS_MEMORY_BUDGET = 2u,
    VK_HAS_EXTERNAL_MEMORY_HOST = 4u,
    VK_HAS_DRIVER_PROPERTIES = 8u,
    VK_HAS_SUBGROUP_SIZE_CONTROL = 16u,
    VK_HAS_INTEGER_DOT_PRODUCT = 32u,
    VK_HAS_SM_BUILTINS = 64u,
    VK_HAS_CORE_PROPERTIES = 128u
};

/* What is asked of a physical device once, when devices are counted. */
typedef struct vk_adapter {
    VkPhysicalDevice handle;
    VkPhysicalDeviceType type;
    uint32_t api_version;
    uint32_t has;                    /* VK_HAS_* */
    uint32_t queue_family;
    uint32_t timestamp_bits;         /* 0: the queue has no clock */
    uint32_t subgroup;
    uint32_t compute_units;          /* 0: nobody tells */
    uint64_t host_pointer_align;     /* of imports */
    uint64_t max_allocation;         /* bytes */
    bool has_subgroup_arithmetic;    /* in compute shaders */
    bool has_subgroup_broadcast;
    bool has_dot, has_fast_dot;      /* products of four signed bytes at once; in hardware */
    uint32_t least_subgroup, most_subgroup;
    bool can_fix_subgroup;           /* the size can be demanded of compute shaders */
    VkPhysicalDeviceLimits limits;
    VkPhysicalDeviceMemoryProperties memory;
    char id[64], name[128], driver[128];
} vk_adapter;

/* When kernels that multiply bytes are used: where hardware does it, wherever the driver does, or never. */
enum { VK_INT_DOT_AUTO, VK_INT_DOT_ON, VK_INT_DOT_OFF };

struct gpu_driver_state {
    const qn_host *host;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    bool is_validated;
    uint32_t int_dot;                /* VK_INT_DOT_*: option */
    atomic_uint n_complaints;        /* errors that the validation layer has told */
    vk_functions vk;                 /* global and instance functions */
    vk_adapter adapters[VK_MAX_DEVICES];
    uint32_t n_adapters;
};

/* A gpu_memory of this driver. */
typedef struct vk_memory {
    gpu_memory base;
    VkBuffer buffer;
    VkDeviceMemory memory;
    unsigned char *mapped;           /* null: only copies reach it */
    bool is_read_fast;               /* mapped and cached: the host may read it in place */
} vk_memory;

/* One of two halves through which copies go: while the device copies one, the host fills the other. */
typedef struct vk_slot {
    VkFence fence;
    VkCommandBuffer commands;
    bool is_pending;
} vk_slot;

#define VK_SLOTS 2u

struct gpu_driver_device {
    gpu_driver_state *state;
    const vk_adapter *adapter;
    const qn_host *host;
    vk_functions vk;
    VkDevice device;
    VkQueue queue;
    bool can_import;
    bool is_lost;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipelineCache cache;
    bool cache_is_new;               /* a pipeline was made that was not there when the cache was read */
    VkPipeline *pipelines;           /* [n kernels], null until opened */
    VkCommandPool commands;          /* of the slots */
    vk_slot slots[VK_SLOTS];
    gpu_memory *staging[2];          /* UPLOAD and READBACK, made when they are first needed */
};

/* vk_error.c: the text is `what`, the name of the result and what follows from it. Marks the device lost when it is (device may
 * be null). */
qn_status vk_fail(gpu_driver_device *device, qn_error *err, VkResult result, const char *what);
const char *vk_result_name(VkResult result);

/* vk_loader.c */
qn_status vk_open_loader(vk_functions *vk, qn_error *err);
qn_status vk_load_instance(vk_functions *vk, VkInstance instance, qn_error *err);
qn_status vk_load_device(vk_functions *vk, VkDevice device, qn_error *err);

/* vk_validation.c: adds the validation layer to what an instance is made with; UNAVAILABLE without it. */
typedef struct vk_validation {
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkValidationFeaturesEXT features;
} vk_validation;
enum { VK_VALIDATE_OFF = 0, VK_VALIDATE_CALLS = 1, VK_VALIDATE_KERNELS = 2 };
qn_status vk_validation_add(gpu_driver_state *state, uint32_t mode, vk_validation *validation, VkInstanceCreateInfo *info, qn_error *err);
qn_status vk_validation_begin(gpu_driver_state *state, const vk_validation *validation, qn_error *err);
void vk_validation_end(gpu_driver_state *state);

/* vk_devices.c */
qn_status vk_find_adapters(gpu_driver_state *state, qn_error *err);
qn_status vk_count(gpu_driver_state *state, uint32_t *count, qn_error *err);
qn_status vk_describe(gpu_driver_state *state, uint32_t index, qn_device_info *info, qn_error *err);
/* Is device memory the host's memory? */
bool vk_shares_memory(const vk_adapter *adapter);
/* Can kernels read pages of the host where they lie, and is that as fast as device memory? */
bool vk_can_import(const vk_adapter *adapter, const qn_host *host);
/* Are kernels with INT_DOT used on it, and class act8 offered? */
bool vk_uses_dot(const gpu_driver_state *state, const vk_adapter *adapter);
/* Bytes that the device still has in its largest local heap, or the heap's size where nobody tells. */
uint64_t vk_free_bytes(const vk_functions *vk, const vk_adapter *adapter, uint64_t *total);

/* vk_device.c */
#define VK_ON_CPU_SUBGROUP 8u /* lanes that the kernels for processors share loads among (prelude_glsl.h) */
qn_status vk_open(gpu_driver_state *state, uint32_t index, const qn_option *options, uint32_t n_options, gpu_driver_device **out,
                  gpu_caps *caps, qn_error *err);
void vk_close(gpu_driver_device *device);
/* on, yes, true and 1, or their opposites; BAD_ARG names the key. */
qn_status vk_read_switch(const qn_option *option, bool *value, qn_error *err);

/* vk_memory.c */
qn_status vk_memory_new(gpu_driver_device *device, uint32_t place, uint64_t bytes, gpu_memory **out, qn_error *err);
qn_status vk_memory_import(gpu_driver_device *device, const void *data, uint64_t bytes, gpu_memory **out, uint64_t *at, qn_error *err);
void vk_memory_free(gpu_driver_device *device, gpu_memory *memory);
static inline vk_memory *vk_memory_of(gpu_memory *memory) {
    return (vk_memory *)memory;
}

/* vk_transfer.c */
qn_status vk_upload(gpu_driver_device *device, gpu_memory *to, uint64_t at, const void *data, uint64_t bytes, qn_error *err);
qn_status vk_download(gpu_driver_device *device, gpu_memory *from, uint64_t at, void *data, uint64_t bytes, qn_error *err);

/* vk_queue.c: submits, and waits for, what a slot holds. */
qn_status vk_slots_new(gpu_driver_device *device, qn_error *err);
void vk_slots_free(gpu_driver_device *device);
qn_status vk_slot_submit(gpu_driver_device *device, vk_slot *slot, const VkCommandBuffer *commands, uint32_t n, qn_error *err);
qn_status vk_slot_wait(gpu_driver_device *device, vk_slot *slot, qn_error *err);
/* All writes before it are seen by all that follows. */
void vk_barrier(const gpu_driver_device *device, VkCommandBuffer commands);

/* vk_kernels.c */
qn_status vk_kernels_new(gpu_driver_device *device, qn_error *err);
void vk_kernels_free(gpu_driver_device *device);
qn_status vk_kernel_open(gpu_driver_device *device, uint32_t kernel, qn_error *err);

/* vk_cache.c: the pipeline cache, kept in the host's blob store from one run to the next. */
qn_status vk_cache_new(gpu_driver_device *device, qn_error *err);
void vk_cache_save(gpu_driver_device *device);

/* vk_record.c, vk_run.c */
#define VK_MOST_PARTS 64u

struct gpu_recording {
    uint32_t room, n;                /* launches */
    gpu_launch *launches;            /* [room]: copies */
    VkDescriptorPool descriptors;
    VkDescriptorSet *sets;           /* [room] */
    VkCommandPool pool;
    VkQueryPool queries;             /* null where the queue has no clock */
    uint32_t n_parts;
    uint32_t firsts[VK_MOST_PARTS + 1];         /* the launch with which each part begins, and n */
    VkCommandBuffer parts[2][VK_MOST_PARTS];    /* as they are, and with timestamps between launches */
    bool is_timed;                   /* the second row of parts has been recorded */
    uint32_t parts_at_once;          /* submitted together */
};
/* Host memory of a recording for each launch of its room. */
#define VK_LAUNCH_BYTES (sizeof(gpu_launch) + sizeof(VkDescriptorSet))
qn_status vk_recording_new(gpu_driver_device *device, uint32_t room, gpu_recording **out, qn_error *err);
void vk_recording_free(gpu_driver_device *device, gpu_recording *recording);
qn_status vk_record(gpu_driver_device *device, gpu_recording *recording, const gpu_launch *launches, uint32_t n, qn_error *err);
qn_status vk_record_parts(gpu_driver_device *device, gpu_recording *recording, bool timed, qn_error *err);
qn_status vk_run(gpu_driver_device *device, gpu_recording *recording, uint64_t *nanoseconds, qn_error *err);

/* vk_spirv.c, made by the build: the kernels by number. */
typedef struct vk_spirv {
    const char *name;
    const uint32_t *words;
    uint64_t bytes;
    bool needs_subgroups, needs_dot;
} vk_spirv;
extern const vk_spirv vk_spirv_table[];
extern const uint32_t vk_spirv_count;

#endif
