/* texts.h — texts against a grammar, byte by byte, without any tokens. */
#ifndef TEST_CONSTRAIN_TEXTS_H
#define TEST_CONSTRAIN_TEXTS_H
#include <stdbool.h>
#include <stddef.h>

#include "constrain/text_states.h"

/* Steps through the text; false when a byte may not come. *out_is_complete: the text may end behind it. */
bool texts_begin_so(text_states *s, const char *text, size_t size, bool *out_is_complete);

/* Whether the whole text is in the language. */
bool texts_accept(const grammar *g, const char *text, size_t size);

#endif
