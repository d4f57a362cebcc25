/* crc32c.h — CRC-32C (Castagnoli, reflected 0x82F63B78, initial and final complement).
 *
 * The fastest path that this CPU has is chosen once; all paths give the same value for every length and address.
 *
 * Threading: thread-safe; the choice is made under call-once rules.
 */
#ifndef FMT_CRC32C_H
#define FMT_CRC32C_H
#include <stdint.h>

/* CRC of `size` bytes. */
uint32_t crc32c(const void *data, uint64_t size);

/* Continues: crc32c_extend(crc32c(a), b) is the CRC of a followed by b. */
uint32_t crc32c_extend(uint32_t crc, const void *data, uint64_t size);

/* CRC of A followed by B, from the CRC of each and the length of B: lets threads take parts of one blob. */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b);

/* The paths this build has, for tests and for `quoin --version`; index 0 is the table. Null after the last. */
typedef uint32_t crc32c_path_fn(uint32_t crc, const void *data, uint64_t size);
typedef struct crc32c_path {
    const char *name;     /* "table", "sse4.2", "vpclmulqdq", "armv8" */
    int (*is_usable)(void); /* can this CPU run it */
    crc32c_path_fn *extend;
} crc32c_path;
extern const crc32c_path crc32c_paths[];

#endif
