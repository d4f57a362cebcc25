/* fnv.h — FNV-1a-64, and its 60-bit form q_hash that Q42 and raw-transcoded P64 names use.
 *
 * Threading: pure.
 */
#ifndef FMT_FNV_H
#define FMT_FNV_H
#include <stdint.h>

#define FNV_Q_MASK UINT64_C(0x0FFFFFFFFFFFFFFF)

/* Hash of `size` bytes at `data`; `data` may be null when size is 0. */
uint64_t fnv1a64(const void *data, uint64_t size);

/* The hash of what was hashed before, followed by these bytes. */
uint64_t fnv1a64_more(uint64_t before, const void *data, uint64_t size);

/* fnv1a64 with the top nibble cleared. */
uint64_t fnv_q_hash(const void *data, uint64_t size);

#endif
