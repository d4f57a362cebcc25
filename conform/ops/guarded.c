/* guarded.c — mappings with an untouchable last page. */
#define _DEFAULT_SOURCE 1
#include "guarded.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BAND 256
#define PATTERN 0xa5

static size_t page_bytes(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

void guarded_free(guarded *self) {
    if (self->map != NULL) {
        munmap(self->map, self->map_bytes);
    }
    *self = (guarded){NULL, 0, NULL, 0};
}

static bool reserve(guarded *self, size_t map_bytes) {
    const size_t page = page_bytes();
    if (self->map != NULL && self->map_bytes >= map_bytes) {
        guarded_protect(self, GUARDED_WRITE);
        return true;
    }
    guarded_free(self);
    void *const map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    self->map = map;
    self->map_bytes = map_bytes;
    return mprotect(self->map + map_bytes - page, page, PROT_NONE) == 0;
}

bool guarded_take(guarded *self, uint64_t bytes, uint32_t align) {
    const size_t page = page_bytes();
    const uint64_t padded = (bytes + align - 1) / align * align;
    if (bytes > (UINT64_C(1) << 40) || !reserve(self, (size_t)((padded + BAND + page - 1) / page * page) + page)) {
        return false;
    }
    self->data = self->map + self->map_bytes - page - padded;
    self->bytes = bytes;
    memset(self->data - BAND, PATTERN, padded + BAND);
    return true;
}

bool guarded_set(guarded *self, const void *data, uint64_t bytes, uint32_t align) {
    if (!guarded_take(self, bytes, align)) {
        return false;
    }
    if (bytes > 0) {
        memcpy(self->data, data, bytes);
    }
    guarded_protect(self, GUARDED_READ);
    return true;
}

void guarded_protect(const guarded *self, uint32_t access) {
    static const int modes[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
    if (self->map != NULL) {
        mprotect(self->map, self->map_bytes - page_bytes(), modes[access]);
    }
}

bool guarded_is_intact(const guarded *self) {
    const char *const end = self->map + self->map_bytes - page_bytes();
    bool is_intact = true;
    for (const char *at = self->data - BAND; at < self->data; at++) {
        is_intact = is_intact && (unsigned char)*at == PATTERN;
    }
    for (const char *at = self->data + self->bytes; at < end; at++) {
        is_intact = is_intact && (unsigned char)*at == PATTERN;
    }
    return is_intact;
}
