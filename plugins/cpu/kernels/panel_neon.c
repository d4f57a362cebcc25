/* panel_neon.c — the panel kernels in NEON. */
#include "simd_neon.h"
#define CPU_ISA(name) name##_neon
#define CPU_ISA_NAME "neon"
#include "panel_kernels.h"
