/* attention_avx512vnni.c — the attention kernels in AVX-512 with VNNI. */
#define SIMD_HAS_VNNI 1
#include "simd_avx512.h"
#define CPU_ISA(name) name##_avx512vnni
#define CPU_ISA_NAME "avx512vnni"
#include "attention_kernels.h"
