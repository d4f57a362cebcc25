/* clock.h — monotonic seconds, for durations.
 *
 * Threading: pure.
 */
#ifndef HOST_CLOCK_H
#define HOST_CLOCK_H
#include <time.h>

static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

#endif
