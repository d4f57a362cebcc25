/* crc32c.c — choice of the path, and the combination of two CRCs.
 *
 * A CRC is a polynomial over GF(2) modulo P. Reflected: bit 31 of a word stands for x^0, bit 0 for x^31.
 */
#include "crc32c.h"
#include "crc32c_paths.h"

#include <stdatomic.h>
#include <stddef.h>

#define REFLECTED_P 0x82F63B78u
#define X_TO_0 0x80000000u
#define X_TO_8 0x00800000u

const crc32c_path crc32c_paths[] = {
    {"table", crc32c_always_usable, crc32c_extend_table},
#if defined(__x86_64__)
    {"sse4.2", crc32c_can_use_sse42, crc32c_extend_sse42},
    {"pclmulqdq", crc32c_can_use_sse42, crc32c_extend_clmul},
    {"vpclmulqdq-256", crc32c_can_use_avx2, crc32c_extend_avx2},
    {"vpclmulqdq-512", crc32c_can_use_avx512, crc32c_extend_avx512},
#elif defined(__aarch64__)
    {"armv8", crc32c_can_use_armv8, crc32c_extend_armv8},
#endif
    {NULL, NULL, NULL},
};

int crc32c_always_usable(void) {
    return 1;
}

const crc32c_path *crc32c_chosen_path(void) {
    /* Threads that come here together all find the same answer; no order is needed between them. */
    static const crc32c_path *_Atomic chosen;
    const crc32c_path *path = atomic_load_explicit(&chosen, memory_order_relaxed);
    if (path == NULL) {
        path = &crc32c_paths[0];
        for (const crc32c_path *p = path; p->name != NULL; p++) {
            path = p->is_usable() ? p : path;
        }
        atomic_store_explicit(&chosen, path, memory_order_relaxed);
    }
    return path;
}

uint32_t crc32c_extend(uint32_t crc, const void *data, uint64_t size) {
    return crc32c_chosen_path()->extend(crc, data, size);
}

uint32_t crc32c(const void *data, uint64_t size) {
    return crc32c_extend(0, data, size);
}

/* a * b mod P. */
uint32_t crc32c_multiply(uint32_t a, uint32_t b) {
    uint32_t product = 0;
    for (uint32_t bit = X_TO_0; bit != 0; bit >>= 1) {
        product ^= (a & bit) != 0 ? b : 0;
        b = b >> 1 ^ ((b & 1) != 0 ? REFLECTED_P : 0);
    }
    return product;
}

/* Appending size_b bytes to A multiplies its CRC by x^(8 * size_b); the complements at both ends cancel. */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t size_b) {
    uint32_t power = X_TO_0;
    uint32_t square = X_TO_8;
    for (; size_b != 0; size_b >>= 1) {
        power = (size_b & 1) != 0 ? crc32c_multiply(power, square) : power;
        square = crc32c_multiply(square, square);
    }
    return crc32c_multiply(crc_a, power) ^ crc_b;
}
