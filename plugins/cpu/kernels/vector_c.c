/* vector_c.c — the vector kernels in portable C. */
#include "simd_c.h"
#define CPU_ISA(name) name##_c
#define CPU_ISA_NAME "c"
#include "vector_kernels.h"
