/* vector_neon.c — the vector kernels in NEON. */
#include "simd_neon.h"
#define CPU_ISA(name) name##_neon
#define CPU_ISA_NAME "neon"
#include "vector_kernels.h"
