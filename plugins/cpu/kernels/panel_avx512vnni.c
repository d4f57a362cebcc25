/* panel_avx512vnni.c — the panel kernels in AVX-512 with VNNI. */
#define SIMD_HAS_VNNI 1
#define SIMD_TILE_SOURCE "panel_tile_avx512.h"
#include "simd_avx512.h"
#define CPU_ISA(name) name##_avx512vnni
#define CPU_ISA_NAME "avx512vnni"
#include "panel_kernels.h"
