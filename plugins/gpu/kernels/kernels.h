/* kernels.h — the kernels as C knows them: their numbers and what a launch of each takes.
 *
 * Threading: constants.
 */
#ifndef GPU_KERNELS_H
#define GPU_KERNELS_H
#include <stdint.h>

enum {
#define GPU_KERNEL(NAME, source, defines, n_buffers, params, group) GPU_KERNEL_##NAME,
#include "kernels.def"
#undef GPU_KERNEL
    GPU_N_KERNELS
};

typedef struct gpu_kernel_info {
    const char *name;      /* "gemv_q4_k" */
    uint32_t n_buffers;
    uint32_t n_params;     /* words */
    uint32_t group;        /* work-items of one group */
} gpu_kernel_info;

/* [GPU_N_KERNELS], in lower/. */
extern const gpu_kernel_info gpu_kernels[];

#endif
