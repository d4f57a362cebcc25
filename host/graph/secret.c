/* secret.c — from the system's generator; early at boot, where it has nothing yet, from the address of a variable and the clock. */
#include "graph/secret.h"

#include <sys/random.h>
#include <time.h>

uint64_t secret_multiplier(void) {
    uint64_t value;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) != (ssize_t)sizeof value) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        value = ((uint64_t)(uintptr_t)&now ^ (uint64_t)now.tv_nsec << 20) * UINT64_C(0x9E3779B97F4A7C15);
    }
    return value | 1;
}
