/* comparison.h — two JSON objects of `quoin bench`, number by number.
 *
 * Threading: one thread at a time.
 * Memory:    borrows both objects.
 */
#ifndef HOST_COMPARISON_H
#define HOST_COMPARISON_H
#include <jansson.h>

#include "base/error.h"

/* Reads the object that an earlier run wrote. QN_IO; QN_BAD_INPUT with line and column when it is no JSON, or not of `quoin bench`. */
qn_status comparison_read(const char *path, json_t **out_earlier, error_context *err);

/* [{name, before, now, speed}] of every number that both have: speed is how many times as fast it is now, whichever way the number
 * counts. A new reference; null without memory. */
json_t *comparison_make(const json_t *earlier, const json_t *now);

/* What makes the two hard to compare, as a sentence in text[0..room): another model, backend, number of threads, class or length. Empty
 * when nothing does. */
void comparison_caution(const json_t *earlier, const json_t *now, char *text, size_t room);

#endif
