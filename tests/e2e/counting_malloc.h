/* counting_malloc.h — how often memory was asked for, by anyone in this process: host, plugins, C library.
 *
 * Threading: thread-safe.
 * Memory:    blocks are the C library's; free is its own.
 */
#ifndef TEST_COUNTING_MALLOC_H
#define TEST_COUNTING_MALLOC_H
#include <stddef.h>
#include <stdint.h>

/* Calls of malloc, calloc, realloc and the aligned ones since the start. */
uint64_t counting_malloc_calls(void);

void *memalign(size_t alignment, size_t size);

#endif
