/* weight_memory.c — regions that only grow, counted by their blocks. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#include "backends/weight_memory.h"

#include <stddef.h>
#include <sys/mman.h>

#define ALIGN UINT64_C(4096)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define REGION_BYTES (UINT64_C(256) << 20)

/* At the start of a region. */
typedef struct weight_region {
    void *map; /* as the system gave it: the region begins at the first huge page in it */
    uint64_t map_bytes;
    uint64_t bytes, used;
    uint64_t n_blocks;
} weight_region;

void weight_memory_init(weight_memory *memory) {
    pthread_mutex_init(&memory->lock, NULL);
    memory->newest = NULL;
}

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static weight_region *map_region(uint64_t bytes) {
    void *map = mmap(NULL, (size_t)(bytes + HUGE_PAGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    weight_region *region = (weight_region *)round_up((uintptr_t)map, HUGE_PAGE);
    (void)madvise(region, (size_t)bytes, MADV_HUGEPAGE); /* refused where there are none: small pages then */
    *region = (weight_region){.map = map, .map_bytes = bytes + HUGE_PAGE, .bytes = bytes, .used = ALIGN};
    return region;
}

/* Room for more than the one block, unless addresses are scarce. */
static weight_region *open_region(uint64_t least) {
    const uint64_t wanted = round_up(least + ALIGN, HUGE_PAGE);
    weight_region *region = wanted < REGION_BYTES ? map_region(REGION_BYTES) : NULL;
    return region != NULL ? region : map_region(wanted);
}

void *weight_memory_take(weight_memory *memory, uint64_t bytes, weight_region **out_region) {
    void *block = NULL;
    if (bytes > UINT64_MAX / 4) {
        return NULL;
    }
    const uint64_t size = round_up(bytes, ALIGN);
    pthread_mutex_lock(&memory->lock);
    weight_region *region = memory->newest;
    if (region == NULL || size > region->bytes - region->used) {
        region = open_region(size);
    }
    if (region != NULL) {
        block = (uint8_t *)region + region->used;
        region->used += size;
        region->n_blocks++;
        memory->newest = region;
        *out_region = region;
    }
    pthread_mutex_unlock(&memory->lock);
    return block;
}

void weight_memory_give(weight_memory *memory, weight_region *region) {
    pthread_mutex_lock(&memory->lock);
    const int is_last = --region->n_blocks == 0;
    if (is_last && memory->newest == region) {
        memory->newest = NULL;
    }
    pthread_mutex_unlock(&memory->lock);
    if (is_last) {
        munmap(region->map, (size_t)region->map_bytes);
    }
}
