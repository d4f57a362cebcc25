/* ocl_sources.h — the kernels as the build embedded them: every source text once, and a row for each kernel of kernels.def.
 *
 * A source is a chain of texts, because prelude, parameters and decoders are shared. A row gives the definitions that make one
 * kernel of it.
 *
 * Threading: constants.
 */
#ifndef OCL_SOURCES_H
#define OCL_SOURCES_H
#include <stdint.h>

typedef struct ocl_source {
    const char *const *texts; /* [n_texts] */
    uint32_t n_texts;
} ocl_source;

typedef struct ocl_kernel {
    const char *name;         /* of the kernel and of its function: "gemv_q4_k" */
    const ocl_source *source;
    const char *defines;      /* "-DFORMAT_Q4_K …" */
    uint32_t group;           /* work-items of a group, in one dimension */
    uint32_t needs;           /* GPU_CAP_* without which it cannot be opened */
} ocl_kernel;

extern const ocl_kernel ocl_kernels[];
extern const uint32_t ocl_n_kernels;

#endif
