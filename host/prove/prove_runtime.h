/* prove_runtime.h — which program computed, and with which kernels.
 *
 *     runtime   SHA-256 of the file that holds this code: the program, or the library inside another program
 *     kernel    an op as one backend runs it in one numeric class, "cpu/matmul/act8"; its digest is SHA-256 of the plugin's file followed
 *               by that id. What is embedded in the file (PTX, SPIR-V) is in it by its bytes. A backend that is built in has the
 *               runtime for its file.
 *
 * Which instruction set of a plugin was taken is no part of the id: it is the device's driver text, and a certificate names both.
 *
 * Threading: pure; reads files.
 */
#ifndef HOST_PROVE_RUNTIME_H
#define HOST_PROVE_RUNTIME_H
#include "prove/prove_graph.h"

#define PROVE_MAX_KERNELS 64u
#define PROVE_KERNEL_SIZE 96u

typedef struct prove_kernel {
    char id[PROVE_KERNEL_SIZE];
    uint8_t digest[SHA256_BYTES];
} prove_kernel;

typedef struct prove_runtime {
    const char *name, *version, *build; /* null says nothing; borrowed */
    const char *backend;                /* "cpu", "cuda:0"; null: nothing was computed */
    const char *device, *driver, *numeric; /* with backend */
    uint32_t n_threads;
    uint8_t digest[SHA256_BYTES];
    uint8_t plugin[SHA256_BYTES];       /* of the plugin's file, when there are kernels */
    uint32_t n_kernels;
    prove_kernel kernels[PROVE_MAX_KERNELS]; /* rising by id, no two equal */
} prove_runtime;

/* The digest of the file that this code was loaded from. */
qn_status prove_runtime_digest(uint8_t out[SHA256_BYTES], error_context *err);

/* Adds the kernel of an op, unless it is there. `plugin` is the plugin's bytes. QN_LIMIT over PROVE_MAX_KERNELS. */
qn_status prove_add_kernel(prove_runtime *runtime, const char *backend, const char *op, const char *numeric, fmt_span plugin,
                           error_context *err);

/* Says what is known about the program and its kernels. */
void prove_say_runtime(prove_graph *g, const prove_runtime *runtime);

#endif
