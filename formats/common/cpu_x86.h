/* cpu_x86.h — does this CPU have these instructions, and does its operating system keep their registers?
 *
 * Threading: pure.
 */
#ifndef FMT_CPU_X86_H
#define FMT_CPU_X86_H

/* Leaf 1, register ecx. */
#define CPU_X86_PCLMULQDQ (1u << 1)
#define CPU_X86_SSE42 (1u << 20)
/* Leaf 7, registers ebx and ecx. */
#define CPU_X86_AVX2 (1u << 5)
#define CPU_X86_AVX512F (1u << 16)
#define CPU_X86_AVX512BW (1u << 30)
#define CPU_X86_VPCLMULQDQ (1u << 10)
/* XCR0: the register files that the system saves when it switches threads. */
#define CPU_X86_YMM 0x06u
#define CPU_X86_ZMM 0xE6u

/* All bits of leaf 1 ecx, and of leaf 7 ebx and ecx. */
int cpu_x86_has_leaf_1(unsigned ecx_bits);
int cpu_x86_has_leaf_7(unsigned ebx_bits, unsigned ecx_bits);

int cpu_x86_saves(unsigned xcr0_bits);

#endif
