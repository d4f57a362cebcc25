/* conform_coverage.h — which op was offered and compared with which format, from the covers of all results.
 *
 * Threading: one thread at a time per object.
 * Memory:    owned by the object until conform_coverage_free.
 */
#ifndef CONFORM_COVERAGE_H
#define CONFORM_COVERAGE_H
#include "program/conform_result.h"

typedef struct conform_coverage {
    conform_cover *cells; /* [n] one per op and format, in order of op, then format */
    uint32_t n;
} conform_coverage;

/* Adds what one test told: a cell is tested when any test ran it; its verdict is the best that was given. */
void conform_coverage_add(conform_coverage *coverage, const conform_result *result);
void conform_coverage_free(conform_coverage *coverage);

/* "tested", "untested", "no", "emulated": the word of one cell. Static. */
const char *conform_cover_word(const conform_cover *cover);

/* Prints the table: one line an op, one word a format. */
void conform_coverage_print(const conform_coverage *coverage);

#endif
