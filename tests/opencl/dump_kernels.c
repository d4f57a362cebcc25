/* dump_kernels.c — the embedded kernels that need more than OpenCL C 1.2, for a compiler that is asked whether it takes them.
 *
 *     dump_kernels names           those that use subgroups or products of bytes, a name a line
 *     dump_kernels options NAME    the compiler's options of one
 *     dump_kernels source NAME     its text
 */
#include <stdio.h>
#include <string.h>

#include "gpu_driver.h"
#include "ocl_sources.h"

static const ocl_kernel *find_kernel(const char *name) {
    for (uint32_t i = 0; i < ocl_n_kernels; i++) {
        if (strcmp(ocl_kernels[i].name, name) == 0) {
            return &ocl_kernels[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    const ocl_kernel *kernel = argc == 3 ? find_kernel(argv[2]) : NULL;
    if (argc == 2 && strcmp(argv[1], "names") == 0) {
        for (uint32_t i = 0; i < ocl_n_kernels; i++) {
            if ((ocl_kernels[i].needs & (GPU_CAP_SUBGROUPS | GPU_CAP_INT_DOT)) != 0) {
                puts(ocl_kernels[i].name);
            }
        }
    } else if (kernel != NULL && strcmp(argv[1], "options") == 0) {
        printf("-DKERNEL_OPENCL -DKERNEL_NAME=%s -DGROUP=%uu %s\n", kernel->name, kernel->group, kernel->defines);
    } else if (kernel != NULL && strcmp(argv[1], "source") == 0) {
        for (uint32_t i = 0; i < kernel->source->n_texts; i++) {
            fputs(kernel->source->texts[i], stdout);
        }
    } else {
        fputs("usage: dump_kernels names | options NAME | source NAME\n", stderr);
        return 2;
    }
    return 0;
}
