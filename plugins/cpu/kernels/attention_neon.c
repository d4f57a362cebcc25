/* attention_neon.c — the attention kernels in NEON. */
#include "simd_neon.h"
#define CPU_ISA(name) name##_neon
#define CPU_ISA_NAME "neon"
#include "attention_kernels.h"
