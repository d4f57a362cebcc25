/* huge_memory.c — a mapping cut to begin at a huge page. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include "base/huge_memory.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)

void *huge_memory_take(size_t size) {
    if (size == 0 || size > SIZE_MAX / 2) {
        return NULL;
    }
    const size_t room = size + (size_t)sysconf(_SC_PAGESIZE) + HUGE_PAGE;
    char *map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return NULL;
    }
    char *begin = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    if (begin > map) {
        munmap(map, (size_t)(begin - map));
    }
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), map_end = (uintptr_t)map + room;
    const uintptr_t end = ((uintptr_t)begin + size + page - 1) & ~(page - 1);
    if (map_end > end) {
        munmap((void *)end, map_end - end);
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(begin, size, MADV_HUGEPAGE);
#endif
    return begin;
}

void huge_memory_free(void *memory, size_t size) {
    munmap(memory, size);
}
