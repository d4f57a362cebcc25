/* crc32c_cpu.c — what this CPU and its operating system offer to CRC-32C. */
#include "crc32c_paths.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Leaf 1, register ecx. */
#define HAS_PCLMULQDQ (1u << 1)
#define HAS_SSE42 (1u << 20)
#define HAS_OSXSAVE (1u << 27)
/* Leaf 7, registers ebx and ecx. */
#define HAS_AVX2 (1u << 5)
#define HAS_AVX512F (1u << 16)
#define HAS_VPCLMULQDQ (1u << 10)
/* XCR0: the register files that the system saves when it switches threads. */
#define SAVES_YMM 0x06u
#define SAVES_ZMM 0xE6u

static unsigned read_leaf_1_ecx(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) ? ecx : 0;
}

static int has_leaf_7(unsigned ebx_bits, unsigned ecx_bits) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & ebx_bits) == ebx_bits &&
           (ecx & ecx_bits) == ecx_bits;
}

static int saves_registers(unsigned bits) {
    if ((read_leaf_1_ecx() & HAS_OSXSAVE) == 0) {
        return 0;
    }
    unsigned eax, edx;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & bits) == bits;
}

int crc32c_can_use_sse42(void) {
    const unsigned needed = HAS_SSE42 | HAS_PCLMULQDQ;
    return (read_leaf_1_ecx() & needed) == needed;
}

int crc32c_can_use_avx2(void) {
    return crc32c_can_use_sse42() && has_leaf_7(HAS_AVX2, HAS_VPCLMULQDQ) && saves_registers(SAVES_YMM);
}

int crc32c_can_use_avx512(void) {
    return crc32c_can_use_avx2() && has_leaf_7(HAS_AVX512F, HAS_VPCLMULQDQ) && saves_registers(SAVES_ZMM);
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

#define HWCAP_BIT_CRC32 (1ul << 7)

int crc32c_can_use_armv8(void) {
    return (getauxval(AT_HWCAP) & HWCAP_BIT_CRC32) != 0;
}
#endif
