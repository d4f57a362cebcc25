/* crc32c_paths.h — the paths of crc32c.c, one file each. Every crc32c_extend_* is a crc32c_path_fn; it may be called
 * only when the function beside it says so.
 *
 * Threading: pure.
 */
#ifndef FMT_CRC32C_PATHS_H
#define FMT_CRC32C_PATHS_H
#include "crc32c.h"

int crc32c_always_usable(void);
crc32c_path_fn crc32c_extend_table;

int crc32c_can_use_sse42(void); /* SSE4.2 and PCLMULQDQ */
crc32c_path_fn crc32c_extend_sse42, crc32c_extend_clmul;

int crc32c_can_use_avx2(void); /* the above, VPCLMULQDQ, AVX2, and 256-bit registers kept by the system */
crc32c_path_fn crc32c_extend_avx2;

int crc32c_can_use_avx512(void); /* the above, AVX-512F and 512-bit registers kept by the system */
crc32c_path_fn crc32c_extend_avx512;

int crc32c_can_use_armv8(void); /* the optional CRC32 instructions */
crc32c_path_fn crc32c_extend_armv8;

/* Product of two reflected polynomials modulo P. */
uint32_t crc32c_multiply(uint32_t a, uint32_t b);

#endif
