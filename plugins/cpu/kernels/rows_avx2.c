/* rows_avx2.c — the rows kernels in AVX2, FMA and F16C. */
#include "simd_avx2.h"
#define CPU_ISA(name) name##_avx2
#define CPU_ISA_NAME "avx2"
#include "rows_kernels.h"
