/* words.h — small questions about words that a user typed: which known word is nearest, is it one of a few.
 *
 * Threading: pure.
 * Memory:    nothing is allocated; answers point at what was given.
 */
#ifndef HOST_WORDS_H
#define HOST_WORDS_H
#include <stdbool.h>

/* Gives the next candidate, or null after the last one. */
typedef const char *next_word_fn(void *ctx);

/* The candidate with the fewest edits from `word`, the first one on ties; null when none is within half of the word's
 * length, because a guess that is far off does not help. */
const char *words_find_nearest(const char *word, next_word_fn *next, void *ctx);

/* Is `word` one of "a|b|c"? */
bool words_has_choice(const char *choices, const char *word);

#endif
