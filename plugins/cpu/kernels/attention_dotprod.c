/* attention_dotprod.c — the attention kernels in NEON with the dot product. */
#define SIMD_HAS_DOTPROD 1
#include "simd_neon.h"
#define CPU_ISA(name) name##_dotprod
#define CPU_ISA_NAME "dotprod"
#include "attention_kernels.h"
