/* peak_avx512vnni.c — the loops in AVX-512 with VNNI: one instruction for the products of bytes. */
#include <immintrin.h>
#define CPU_ISA(name) name##_avx512vnni
#define PEAK_INT __m512i
#define PEAK_FLOAT __m512
#define PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_DOT(acc, w, a) __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(w), "v"(a))
#define PEAK_FMA(acc, x, y) __asm__("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(x), "v"(y))
#define PEAK_KEEP(v) __asm__ volatile("" : "+v"(v))
#define PEAK_INT_NAME "vpdpbusd zmm"
#define PEAK_FLOAT_NAME "vfmadd zmm"
#include "peak_kernels.h"
