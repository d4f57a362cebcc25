/* panel_avx512.c — the panel kernels in AVX-512 without VNNI. */
#define SIMD_TILE_SOURCE "panel_tile_avx512.h"
#include "simd_avx512.h"
#define CPU_ISA(name) name##_avx512
#define CPU_ISA_NAME "avx512"
#include "panel_kernels.h"
