/* counting_malloc.c — the allocator of this executable, counted. The names are the C library's, so that dlopened plugins use it too. */
#define _GNU_SOURCE
#include "counting_malloc.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The C library's own entry points behind the names that are taken here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_ullong n_calls;

uint64_t counting_malloc_calls(void) {
    return atomic_load(&n_calls);
}

void *malloc(size_t size) {
    atomic_fetch_add(&n_calls, 1);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    atomic_fetch_add(&n_calls, 1);
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    atomic_fetch_add(&n_calls, 1);
    return __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    atomic_fetch_add(&n_calls, 1);
    return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size) {
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *block = aligned_alloc(alignment, size);
    *out = block != NULL ? block : *out;
    return block != NULL ? 0 : ENOMEM;
}
