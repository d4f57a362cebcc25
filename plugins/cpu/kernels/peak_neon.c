/* peak_neon.c — the loops in NEON: three instructions for the products of sixteen bytes. */
#include <arm_neon.h>
#define CPU_ISA(name) name##_neon
#define PEAK_INT int32x4_t
#define PEAK_FLOAT float32x4_t
#define PEAK_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define PEAK_BYTES(v) vreinterpretq_s8_s32(v)
#define PEAK_DOT(acc, w, a)                                                                             \
    acc = vpadalq_s16(acc, vmlal_s8(vmull_s8(vget_low_s8(PEAK_BYTES(w)), vget_low_s8(PEAK_BYTES(a))), vget_high_s8(PEAK_BYTES(w)), \
                              vget_high_s8(PEAK_BYTES(a))))
#define PEAK_FMA(acc, x, y) __asm__("fmla %0.4s, %1.4s, %2.4s" : "+w"(acc) : "w"(x), "w"(y))
#define PEAK_KEEP(v) __asm__ volatile("" : "+w"(v))
#define PEAK_INT_NAME "smull, smlal, sadalp"
#define PEAK_FLOAT_NAME "fmla"
#include "peak_kernels.h"
