/* cpu_x86.c — cpuid and xgetbv. */
#include "common/cpu_x86.h"

#if defined(__x86_64__)
#include <cpuid.h>

#define HAS_OSXSAVE (1u << 27)

int cpu_x86_has_leaf_1(unsigned ecx_bits) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & ecx_bits) == ecx_bits;
}

int cpu_x86_has_leaf_7(unsigned ebx_bits, unsigned ecx_bits) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & ebx_bits) == ebx_bits &&
           (ecx & ecx_bits) == ecx_bits;
}

int cpu_x86_saves(unsigned xcr0_bits) {
    if (!cpu_x86_has_leaf_1(HAS_OSXSAVE)) {
        return 0;
    }
    unsigned eax, edx;
    __asm__ volatile("xgetbv" : "=a"(eax), "=d"(edx) : "c"(0));
    return (eax & xcr0_bits) == xcr0_bits;
}
#endif
