/* peak_avx512.c — the loops in AVX-512 without VNNI: three instructions for the products of bytes. */
#include <immintrin.h>
#define CPU_ISA(name) name##_avx512
#define PEAK_INT __m512i
#define PEAK_FLOAT __m512
#define PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_DOT(acc, w, a) acc = _mm512_add_epi32(acc, _mm512_madd_epi16(_mm512_maddubs_epi16(w, a), _mm512_set1_epi16(1)))
#define PEAK_FMA(acc, x, y) __asm__("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(x), "v"(y))
#define PEAK_KEEP(v) __asm__ volatile("" : "+v"(v))
#define PEAK_INT_NAME "vpmaddubsw, vpmaddwd zmm"
#define PEAK_FLOAT_NAME "vfmadd zmm"
#include "peak_kernels.h"
