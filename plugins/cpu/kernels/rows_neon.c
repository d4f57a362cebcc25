/* rows_neon.c — the rows kernels in NEON. */
#include "simd_neon.h"
#define CPU_ISA(name) name##_neon
#define CPU_ISA_NAME "neon"
#include "rows_kernels.h"
