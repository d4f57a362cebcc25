/* crc32c_cpu.c — what this CPU and its operating system offer to CRC-32C. */
#include "crc32c_paths.h"

#if defined(__x86_64__)
#include "common/cpu_x86.h"

int crc32c_can_use_sse42(void) {
    return cpu_x86_has_leaf_1(CPU_X86_SSE42 | CPU_X86_PCLMULQDQ);
}

int crc32c_can_use_avx2(void) {
    return crc32c_can_use_sse42() && cpu_x86_has_leaf_7(CPU_X86_AVX2, CPU_X86_VPCLMULQDQ) && cpu_x86_saves(CPU_X86_YMM);
}

int crc32c_can_use_avx512(void) {
    return crc32c_can_use_avx2() && cpu_x86_has_leaf_7(CPU_X86_AVX512F, CPU_X86_VPCLMULQDQ) && cpu_x86_saves(CPU_X86_ZMM);
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

#define HWCAP_BIT_CRC32 (1ul << 7)

int crc32c_can_use_armv8(void) {
    return (getauxval(AT_HWCAP) & HWCAP_BIT_CRC32) != 0;
}
#endif
