/* peak_kernels.h — loops that do nothing but multiply and add, to find out how fast that is at most. Included by one file per
 * instruction set, which names the instructions:
 *
 *     PEAK_INT, PEAK_FLOAT      types of a register
 *     PEAK_DOT(acc, w, a)       acc grows by the products of the bytes of w and a
 *     PEAK_FMA(acc, x, y)       acc grows by x * y
 *     PEAK_KEEP(v)              the compiler must take v for changed: what does not depend on acc is computed again
 *     PEAK_EACH(X)              X(0) X(1) and so on, once for each accumulator
 *     PEAK_INT_NAME, PEAK_FLOAT_NAME
 *
 * What is one instruction is written as that instruction: compilers put moves between some of them, and a peak has none. Accumulators are as many as are needed to hide the latency, and few enough to stay in registers.
 */
#include <string.h>

#include "kernels.h"

#define PEAK_TAKE_INT(i) PEAK_INT acc##i = w;
#define PEAK_TAKE_FLOAT(i) PEAK_FLOAT acc##i = x;
#define PEAK_ADD_DOT(i) PEAK_KEEP(w); PEAK_DOT(acc##i, w, a);
#define PEAK_ADD_FMA(i) PEAK_FMA(acc##i, x, y);
#define PEAK_GIVE(i) memcpy((uint8_t *)room + (i) * sizeof acc##i, &acc##i, sizeof acc##i);
#define PEAK_COUNT(i) +1

static void run_int8(uint64_t rounds, void *room) {
    PEAK_INT w, a;
    memcpy(&w, room, sizeof w);
    memcpy(&a, room, sizeof a);
    PEAK_EACH(PEAK_TAKE_INT)
    for (uint64_t round = 0; round < rounds; round++) {
        PEAK_EACH(PEAK_ADD_DOT)
    }
    PEAK_EACH(PEAK_GIVE)
}

static void run_f32(uint64_t rounds, void *room) {
    PEAK_FLOAT x, y;
    memcpy(&x, room, sizeof x);
    memcpy(&y, room, sizeof y);
    PEAK_EACH(PEAK_TAKE_FLOAT)
    for (uint64_t round = 0; round < rounds; round++) {
        PEAK_EACH(PEAK_ADD_FMA)
    }
    PEAK_EACH(PEAK_GIVE)
}

/* Four bytes to a lane of 32 bits, two operations a product. */
void CPU_ISA(cpu_peak_install)(cpu_ops *ops) {
    ops->peaks[0] = (cpu_peak){run_int8, (0 PEAK_EACH(PEAK_COUNT)) * 2 * sizeof(PEAK_INT), PEAK_INT_NAME};
    ops->peaks[1] = (cpu_peak){run_f32, (0 PEAK_EACH(PEAK_COUNT)) * 2 * sizeof(PEAK_FLOAT) / 4, PEAK_FLOAT_NAME};
}
