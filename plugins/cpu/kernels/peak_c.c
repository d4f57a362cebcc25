/* peak_c.c — the loops in portable C, as the compiler makes them for a processor of which nothing is known. Bytes have to be widened
 * first, here as in any kernel of this level. */
#include <string.h>

#include "kernels.h"

enum { BYTES = 1024, LANES = 32 };

static void run_int8(uint64_t rounds, void *room) {
    const uint8_t *w = room;
    const int8_t *a = room;
    int32_t total = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < BYTES; i++) {
            total += (int32_t)w[i] * a[i];
        }
        __asm__ volatile("" : "+r"(w), "+r"(a) : : "memory");
    }
    memcpy(room, &total, sizeof total);
}

static void run_f32(uint64_t rounds, void *room) {
    typedef float quad __attribute__((vector_size(16)));
    quad acc[LANES / 4], x, y;
    memcpy(acc, room, sizeof acc);
    memcpy(&x, room, sizeof x);
    memcpy(&y, room, sizeof y);
    for (uint64_t round = 0; round < rounds; round++) {
#pragma GCC unroll 8
        for (int i = 0; i < LANES / 4; i++) {
            acc[i] = acc[i] * x + y;
        }
    }
    memcpy(room, acc, sizeof acc);
}

void cpu_peak_install_c(cpu_ops *ops) {
    ops->peaks[0] = (cpu_peak){run_int8, 2 * BYTES, "C, bytes"};
    ops->peaks[1] = (cpu_peak){run_f32, 2 * LANES, "C, multiply and add"};
}
