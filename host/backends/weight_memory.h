/* weight_memory.h — memory for packed weights: many large blocks, written once from end to end, which live as long as a model.
 *
 * Blocks lie one behind the other in regions of huge pages (2 MiB), so that a model takes some hundred page faults instead of one
 * for every 4 KiB, and its use fewer steps from an address to its page. A region goes when its last block does.
 *
 *     region: | header | block | block | … | never touched |
 *
 * Threading: thread-safe.
 * Memory:    the system's, by mmap; what is not touched takes nothing.
 */
#ifndef HOST_WEIGHT_MEMORY_H
#define HOST_WEIGHT_MEMORY_H
#include <pthread.h>
#include <stdint.h>

struct weight_region;

typedef struct weight_memory {
    pthread_mutex_t lock;
    struct weight_region *newest; /* where the next block is looked for; null when there is none */
} weight_memory;

void weight_memory_init(weight_memory *memory);

/* `bytes` zeros, aligned to 4096, or null. *out_region is for giving them back. */
void *weight_memory_take(weight_memory *memory, uint64_t bytes, struct weight_region **out_region);

void weight_memory_give(weight_memory *memory, struct weight_region *region);

#endif
