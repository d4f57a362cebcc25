/* grammar_internal.h — what the files of the grammar share (internal to constrain/). */
#ifndef HOST_CONSTRAIN_GRAMMAR_INTERNAL_H
#define HOST_CONSTRAIN_GRAMMAR_INTERNAL_H
#include "constrain/grammar.h"

/* Checks rules for definition, left recursion, finite texts and use, and takes jumps out. */
qn_status grammar_check(grammar *g, error_context *err);

/* "rule NAME (line L, column C)" into out. */
#define GRAMMAR_PLACE_SIZE (GRAMMAR_NAME_SIZE + 64)
const char *grammar_place(const grammar *g, uint32_t rule, char out[GRAMMAR_PLACE_SIZE]);

#endif
