/* repetition.c — counting backwards through a ring. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "sentinel/repetition.h"

#include <stdlib.h>
#include <string.h>

qn_status repetition_init(repetition *r, uint32_t n, uint32_t times, uint32_t window, error_context *err) {
    *r = (repetition){.n = n, .times = times, .window = window};
    if (n == 0 || times < 2 || window > REPETITION_MOST_WINDOW || n > window || times > window || n + times - 1 > window) {
        return FAIL(err, QN_BAD_INPUT, "%u tokens %u times within %u: n is at least 1, times at least 2, and window from n + times - 1 to %u",
                    n, times, window, REPETITION_MOST_WINDOW);
    }
    r->ring = calloc(window, sizeof *r->ring);
    return r->ring != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a window of %u tokens", window);
}

void repetition_free(repetition *r) {
    if (r->ring != NULL) {
        explicit_bzero(r->ring, (size_t)r->window * sizeof *r->ring);
    }
    free(r->ring);
    *r = (repetition){0};
}

void repetition_clear(repetition *r) {
    explicit_bzero(r->ring, (size_t)r->window * sizeof *r->ring);
    r->length = 0;
}

/* The token `back` places before the one that is asked about; 0 is that one. */
static uint32_t token_at(const repetition *r, uint32_t token, uint64_t back) {
    return back == 0 ? token : r->ring[(r->length - back) % r->window];
}

static bool is_same_run(const repetition *r, uint32_t token, uint64_t back) {
    for (uint32_t i = 0; i < r->n; i++) {
        if (token_at(r, token, i) != token_at(r, token, back + i)) {
            return false;
        }
    }
    return true;
}

bool repetition_would_fire(const repetition *r, uint32_t token) {
    const uint64_t there = r->length + 1 < r->window ? r->length + 1 : r->window; /* tokens in the window with this one */
    uint32_t n_found = 1;
    for (uint64_t back = 1; back + r->n <= there && n_found < r->times; back++) {
        n_found += is_same_run(r, token, back) ? 1 : 0;
    }
    return n_found >= r->times;
}

void repetition_add(repetition *r, uint32_t token) {
    r->ring[r->length++ % r->window] = token;
}
