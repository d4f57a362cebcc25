/* prompt_lookup.c — the search. */
#include "decode/prompt_lookup.h"

#include <string.h>

const draft_source prompt_lookup = {.ctx = NULL, .propose = prompt_lookup_propose};

/* Where what followed the most recent earlier occurrence of the last `length` tokens begins; 0 when there is none. */
static uint32_t find_earlier(const int32_t *history, uint32_t n, uint32_t length) {
    const int32_t *suffix = history + (n - length);
    for (uint32_t begin = n - length; begin-- > 0;) {
        if (memcmp(history + begin, suffix, length * sizeof *history) == 0) {
            return begin + length;
        }
    }
    return 0;
}

uint32_t prompt_lookup_propose(void *ctx, const int32_t *history, uint32_t n, uint32_t *out_ids, uint32_t room) {
    (void)ctx;
    for (uint32_t length = PROMPT_LOOKUP_LONGEST; length > 0; length--) {
        const uint32_t at = n > length ? find_earlier(history, n, length) : 0;
        if (at > 0) {
            const uint32_t n_guesses = n - at < room ? n - at : room;
            for (uint32_t i = 0; i < n_guesses; i++) {
                out_ids[i] = (uint32_t)history[at + i];
            }
            return n_guesses;
        }
    }
    return 0;
}
