/* fake_cuda.h — what a test may ask of the library beyond CUDA's own functions; found by dlsym in libcuda.so.1.
 *
 * The library behaves as the environment said when cuInit was called:
 *   FAKE_CUDA_FAIL=NAME:N[:CODE]   the N-th call of function NAME (without _v2 and the like) fails; CODE: default 2, out of memory
 *   FAKE_CUDA_LOST=N               the N-th kernel that runs fails, and the context is dead from then on
 *   FAKE_CUDA_CAPABILITY=75        compute capability 7.5 (default 90)
 *   FAKE_CUDA_DEVICES=N            0 or 1 devices (default 1)
 *   FAKE_CUDA_INTEGRATED=1         the device shares memory with the host
 *   FAKE_CUDA_MEMORY=BYTES         of the device (default 2 GiB)
 *   FAKE_CUDA_VERSION=12040        of the driver (default 13000)
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Things that were made and not destroyed: memory, streams, events, modules, graphs, retained contexts. */
typedef uint64_t fake_cuda_live_fn(void);
uint64_t fake_cuda_live(void);

/* Kernels that have run since cuInit. */
typedef uint64_t fake_cuda_launches_fn(void);
uint64_t fake_cuda_launches(void);

/* Calls act(argument) on the stream's thread just before the n-th kernel from now on runs; n = 0: never. */
typedef void fake_cuda_before_fn(uint64_t n, void (*act)(void *), void *argument);
void fake_cuda_before(uint64_t n, void (*act)(void *), void *argument);

#ifdef __cplusplus
}
#endif
#endif
