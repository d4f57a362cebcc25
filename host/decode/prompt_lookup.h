/* prompt_lookup.h — guesses from the text itself: what followed the last words when they stood there before.
 *
 * The longest suffix of 3, 2 or 1 tokens that occurs earlier is taken, its most recent occurrence; what followed there is the guess. It
 * may run on into the suffix, so a repetition is guessed as a repetition.
 *
 * Threading: pure over its arguments. Memory: none.
 */
#ifndef HOST_PROMPT_LOOKUP_H
#define HOST_PROMPT_LOOKUP_H
#include "decode/token_hooks.h"

#define PROMPT_LOOKUP_LONGEST 3u

/* As draft_source.propose; ctx is not used. */
uint32_t prompt_lookup_propose(void *ctx, const int32_t *history, uint32_t n, uint32_t *out_ids, uint32_t room);

extern const draft_source prompt_lookup;

#endif
