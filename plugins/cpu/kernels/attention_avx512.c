/* attention_avx512.c — the attention kernels in AVX-512. */
#include "simd_avx512.h"
#define CPU_ISA(name) name##_avx512
#define CPU_ISA_NAME "avx512"
#include "attention_kernels.h"
