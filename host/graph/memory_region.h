/* memory_region.h — address space for an array whose final size is not known; pages are taken when they are first written.
 *
 * Threading: one thread at a time per region.
 * Memory:    owned by the region until memory_region_close.
 */
#ifndef HOST_GRAPH_MEMORY_REGION_H
#define HOST_GRAPH_MEMORY_REGION_H
#include <stdbool.h>
#include <stdint.h>

typedef struct memory_region {
    uint8_t *bytes;
    uint64_t room; /* bytes that may be written */
} memory_region;

/* False without address space. */
bool memory_region_open(memory_region *region, uint64_t room);
/* Gives the pages back; the content is lost. */
void memory_region_clear(memory_region *region);
void memory_region_close(memory_region *region); /* a zeroed region is legal */

#endif
