/* repetition.h — whether a token would make a run of n tokens stand m times among the last w.
 *
 * Occurrences may overlap: "a a a a" holds "a a" three times. What counts is the answer, not the prompt.
 *
 * Threading: one thread at a time per object.
 * Memory:    a ring of w tokens, owned until repetition_free; asking and adding take none.
 */
#ifndef HOST_SENTINEL_REPETITION_H
#define HOST_SENTINEL_REPETITION_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define REPETITION_MOST_WINDOW 4096u

typedef struct repetition {
    uint32_t n, times, window;
    uint32_t *ring;      /* [window] */
    uint64_t length;     /* tokens so far */
} repetition;

/* 1 <= n, 2 <= times, n + times - 1 <= window <= REPETITION_MOST_WINDOW: QN_BAD_INPUT otherwise, with the numbers. */
qn_status repetition_init(repetition *r, uint32_t n, uint32_t times, uint32_t window, error_context *err);
void repetition_free(repetition *r);
/* No token was taken. */
void repetition_clear(repetition *r);

/* Would the run that `token` completes stand `times` times in the last `window` tokens, itself included? [no-alloc] */
bool repetition_would_fire(const repetition *r, uint32_t token);
void repetition_add(repetition *r, uint32_t token);

#endif
