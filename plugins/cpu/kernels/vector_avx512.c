/* vector_avx512.c — the vector kernels in AVX-512. */
#include "simd_avx512.h"
#define CPU_ISA(name) name##_avx512
#define CPU_ISA_NAME "avx512"
#include "vector_kernels.h"
