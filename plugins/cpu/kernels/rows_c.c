/* rows_c.c — the rows kernels in portable C. */
#include "simd_c.h"
#define CPU_ISA(name) name##_c
#define CPU_ISA_NAME "c"
#include "rows_kernels.h"
