/* scratch.c — a list of blocks. */
#include "scratch.h"

#include <stdlib.h>

struct scratch_block {
    struct scratch_block *before;
    _Alignas(16) char memory[];
};

void *scratch_take(cf_context *ctx, scratch *self, uint64_t count, size_t size) {
    struct scratch_block *block = NULL;
    if (count <= (UINT64_C(1) << 40) / size) {
        block = calloc(1, sizeof *block + count * size);
    }
    CF_CHECK(ctx, block != NULL, "the suite has no memory for %llu times %zu bytes", (unsigned long long)count, size);
    block->before = self->last;
    self->last = block;
    return block->memory;
}

void scratch_free(scratch *self) {
    while (self->last != NULL) {
        struct scratch_block *const block = self->last;
        self->last = block->before;
        free(block);
    }
}
