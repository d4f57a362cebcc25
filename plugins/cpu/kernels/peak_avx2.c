/* peak_avx2.c — the loops in AVX2: three instructions for the products of bytes. */
#include <immintrin.h>
#define CPU_ISA(name) name##_avx2
#define PEAK_INT __m256i
#define PEAK_FLOAT __m256
#define PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9)
#define PEAK_DOT(acc, w, a) acc = _mm256_add_epi32(acc, _mm256_madd_epi16(_mm256_maddubs_epi16(w, a), _mm256_set1_epi16(1)))
#define PEAK_FMA(acc, x, y) __asm__("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(x), "x"(y))
#define PEAK_KEEP(v) __asm__ volatile("" : "+x"(v))
#define PEAK_INT_NAME "vpmaddubsw, vpmaddwd ymm"
#define PEAK_FLOAT_NAME "vfmadd ymm"
#include "peak_kernels.h"
