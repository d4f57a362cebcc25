/* memory_region.c — an anonymous mapping without reserved swap. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE, madvise */
#include "graph/memory_region.h"

#include <stddef.h>
#include <sys/mman.h>

bool memory_region_open(memory_region *region, uint64_t room) {
    void *bytes = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        return false;
    }
    *region = (memory_region){bytes, room};
    return true;
}

void memory_region_clear(memory_region *region) {
    (void)madvise(region->bytes, region->room, MADV_DONTNEED);
}

void memory_region_close(memory_region *region) {
    if (region->bytes != NULL) {
        munmap(region->bytes, region->room);
    }
    *region = (memory_region){NULL, 0};
}
