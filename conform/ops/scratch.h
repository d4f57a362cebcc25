/* scratch.h — memory that lives as long as one case.
 *
 *     scratch s = {NULL};
 *     float *x = scratch_take(ctx, &s, n, sizeof *x);
 *     scratch_free(&s);
 *
 * Threading: one thread at a time per object. Errors: no memory ends the test.
 */
#ifndef CONFORM_SCRATCH_H
#define CONFORM_SCRATCH_H
#include "conform.h"

typedef struct scratch {
    struct scratch_block *last;
} scratch;

/* count zeroed elements of `size` bytes; count 0 gives memory that may not be touched. */
void *scratch_take(cf_context *ctx, scratch *self, uint64_t count, size_t size);
/* Gives everything back. */
void scratch_free(scratch *self);

#endif
