/* watched_heap.h — the allocator of this executable, with a look into each block before it is given back.
 *
 * The names are the C library's, so that everything in the process uses it. Not under sanitizers, which want the names for themselves.
 *
 * Threading: marks are set while no other thread runs; blocks come from any thread.
 */
#ifndef TEST_WATCHED_HEAP_H
#define TEST_WATCHED_HEAP_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WATCHED_MARKS 8u
#define WATCHED_MARK_BYTES 32u

/* From here on each block that is freed or moved is searched for the marks. n: 4 to WATCHED_MARK_BYTES. */
void watched_heap_add(const void *mark, size_t n);
void watched_heap_clear(void);

/* Blocks that held a mark when they were given back. */
unsigned watched_heap_found(void);
/* The same, of blocks that are alive. */
unsigned watched_heap_alive(void);

/* From `begin` on: of blocks of at least `least` bytes that are given back, how many there were, and the most words of 8 bytes in one of
 * them that are not zero. */
void watched_heap_measure_begin(size_t least);
void watched_heap_measure_end(unsigned *out_blocks, uint64_t *out_bytes, uint64_t *out_most_words);

#endif
