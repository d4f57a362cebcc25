/* crc32c.h — CRC-32C (Castagnoli, reflected 0x82F63B78, initial and final complement).
 *
 * The fastest path that this CPU has is chosen at the first call; all paths give the same value for every length and
 * address. A large blob goes over several threads by parts whose CRCs are combined.
 *
 * Threading: thread-safe.
 * Memory:    reads exactly the bytes given; allocates nothing.
 *
 *     const uint32_t head = crc32c(data, half);
 *     const uint32_t tail = crc32c(data + half, size - half);
 *     const uint32_t whole = crc32c_combine(head, tail, size - half);
 */
#ifndef FMT_CRC32C_H
#define FMT_CRC32C_H
#include <stdint.h>

/* CRC of `size` bytes; `data` may be null when size is 0. */
uint32_t crc32c(const void *data, uint64_t size);

/* Continues: crc32c_extend(crc32c(a), b) is the CRC of a followed by b. */
uint32_t crc32c_extend(uint32_t crc, const void *data, uint64_t size);

/* CRC of A followed by B, from the CRC of each and the length of B. Takes microseconds whatever the length. */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

/* The paths this build has, for tests and for `quoin --version`, the slowest first; index 0 is the table, which always
 * works. A null name after the last. */
typedef uint32_t crc32c_path_fn(uint32_t crc, const void *data, uint64_t size);
typedef struct crc32c_path {
    const char *name;       /* "table", "sse4.2", "pclmulqdq", "vpclmulqdq-256", "vpclmulqdq-512", "armv8" */
    int (*is_usable)(void); /* can this CPU, under this operating system, run it */
    crc32c_path_fn *extend; /* as crc32c_extend */
} crc32c_path;
extern const crc32c_path crc32c_paths[];

/* The path that crc32c and crc32c_extend take on this machine. */
const crc32c_path *crc32c_chosen_path(void);

#endif
