/* bench_ceilings.h — what this machine can do at best, measured here and now: the figures that kernels are compared with.
 *
 * Threading: one thread; both run on the calling thread alone. Memory: the caller's.
 */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H
#include <stddef.h>

/* Seconds of processor time of this process: what a neighbour on the machine takes away is not counted. With several threads
 * they add up, so a bench of one worker reads it as it stands. */
double bench_cpu_now(void);

/* Seconds on a monotonic clock. */
double bench_now(void);

/* Best GB/s of several plain reads of `bytes` bytes (a multiple of 4096) at `data` (aligned to 64). */
double bench_read_gbs(const void *data, size_t bytes);

/* Best Gop/s (multiply and add counted as two) of int8 dot instructions on registers alone; 0 when the processor has none. */
double bench_int8_gops(void);

/* The same for f32 fused multiply-add. */
double bench_f32_gops(void);

#endif
