/* panel_avx2.c — the panel kernels in AVX2, FMA and F16C. */
#include "simd_avx2.h"
#define CPU_ISA(name) name##_avx2
#define CPU_ISA_NAME "avx2"
#include "panel_kernels.h"
