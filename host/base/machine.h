/* machine.h — what this process may use: CPU features with OS state, cores, cgroup quota, caches, memory.
 *
 * Threading: machine_detect is thread-safe; the result is a value.
 */
#ifndef HOST_MACHINE_H
#define HOST_MACHINE_H
#include <quoin/abi.h>

#include "base/error.h"

/* Fills *out. The environment variable QUOIN_CPU_MASK (see machine_parse_mask) takes features away; a word in it that
 * is not known is QN_BAD_INPUT. n_workers becomes min(cores by affinity, cgroup quota rounded up). */
qn_status machine_detect(qn_machine *out, error_context *err);

/* Feature word 0 of what the CPU has and the system has not enabled, so that it cannot be used. */
uint64_t machine_disabled_features(void);

/* "c" (no features), "avx2", "avx512" or "avx512vnni" (that level and below), "neon", "dotprod", "all":
 * the feature bits that stay. */
qn_status machine_parse_mask(const char *text, uint64_t *out_mask, error_context *err);

/* "avx2 avx512 avx512vnni …" into text; returns text. */
const char *machine_describe_features(const qn_machine *machine, char *text, size_t room);

/* Model name of the CPU, as the system tells it. */
const char *machine_cpu_name(char *text, size_t room);

/* Bytes that can still be taken without swapping: MemAvailable, bounded by what the control groups leave. */
uint64_t machine_available_memory(void);

#endif
