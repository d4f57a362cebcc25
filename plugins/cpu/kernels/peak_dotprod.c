/* peak_dotprod.c — the loops in NEON with the dot product: one instruction for the products of bytes. */
#include <arm_neon.h>
#define CPU_ISA(name) name##_dotprod
#define PEAK_INT int32x4_t
#define PEAK_FLOAT float32x4_t
#define PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_DOT(acc, w, a) __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(acc) : "w"(w), "w"(a))
#define PEAK_FMA(acc, x, y) __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc) : "w"(x), "w"(y))
#define PEAK_KEEP(v) __asm__ volatile("" : "+w"(v))
#define PEAK_INT_NAME "sdot"
#define PEAK_FLOAT_NAME "fmla"
#include "peak_kernels.h"
