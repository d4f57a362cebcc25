/* watched_heap.c — a table of live blocks behind one lock. */
#define _GNU_SOURCE
#include "watched_heap.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The C library's own entry points behind the names that are taken here. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

#define SLOTS 65536u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *live[SLOTS];
static struct {
    unsigned char bytes[WATCHED_MARK_BYTES];
    size_t n;
} marks[WATCHED_MARKS];
static unsigned n_marks, n_found;
static struct {
    bool is_on;
    size_t least;
    unsigned n_blocks;
    uint64_t bytes, most_words;
} measure;

static size_t slot_of(const void *block) {
    return ((uintptr_t)block >> 4) * 2654435761u % SLOTS;
}

static void *enter(void *block) {
    pthread_mutex_lock(&lock);
    size_t at = slot_of(block);
    for (size_t i = 0; block != NULL && i < SLOTS; i++, at = (at + 1) % SLOTS) {
        if (live[at] == NULL || live[at] == (void *)1) {
            live[at] = block;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return block;
}

static bool holds_mark(const void *block) {
    const size_t size = malloc_usable_size((void *)(uintptr_t)block);
    for (unsigned i = 0; i < n_marks; i++) {
        if (size >= marks[i].n && memmem(block, size, marks[i].bytes, marks[i].n) != NULL) {
            return true;
        }
    }
    return false;
}

static void look_at(void *block) {
    const size_t size = malloc_usable_size(block);
    n_found += holds_mark(block) ? 1 : 0;
    if (measure.is_on && size >= measure.least) {
        uint64_t n_words = 0;
        for (size_t at = 0; at + 8 <= size; at += 8) {
            uint64_t word;
            memcpy(&word, (char *)block + at, 8);
            n_words += word != 0 ? 1 : 0;
        }
        measure.n_blocks++;
        measure.bytes += size;
        measure.most_words = n_words > measure.most_words ? n_words : measure.most_words;
    }
}

static void leave(void *block) {
    pthread_mutex_lock(&lock);
    size_t at = slot_of(block);
    for (size_t i = 0; i < SLOTS && live[at] != NULL; i++, at = (at + 1) % SLOTS) {
        if (live[at] == block) {
            live[at] = (void *)1;
            break;
        }
    }
    look_at(block);
    pthread_mutex_unlock(&lock);
}

void *malloc(size_t size) {
    return enter(__libc_malloc(size));
}

void *calloc(size_t count, size_t size) {
    return enter(__libc_calloc(count, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return enter(__libc_memalign(alignment, size));
}

void *memalign(size_t alignment, size_t size) {
    return aligned_alloc(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *block = aligned_alloc(alignment, size);
    *out = block != NULL ? block : *out;
    return block != NULL ? 0 : ENOMEM;
}

void free(void *block) {
    if (block != NULL) {
        leave(block);
        __libc_free(block);
    }
}

/* Always moves: whoever leaves something behind is seen. */
void *realloc(void *old, size_t size) {
    void *grown = malloc(size);
    if (grown != NULL && old != NULL) {
        const size_t had = malloc_usable_size(old);
        memcpy(grown, old, had < size ? had : size);
        free(old);
    }
    return grown;
}

void watched_heap_add(const void *mark, size_t n) {
    memcpy(marks[n_marks].bytes, mark, n);
    marks[n_marks++].n = n;
}

void watched_heap_clear(void) {
    memset(marks, 0, sizeof marks);
    n_marks = 0;
    n_found = 0;
}

unsigned watched_heap_found(void) {
    return n_found;
}

unsigned watched_heap_alive(void) {
    unsigned n = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SLOTS; i++) {
        n += live[i] != NULL && live[i] != (void *)1 && holds_mark(live[i]) ? 1 : 0;
    }
    pthread_mutex_unlock(&lock);
    return n;
}

void watched_heap_measure_begin(size_t least) {
    memset(&measure, 0, sizeof measure);
    measure.least = least;
    measure.is_on = true;
}

void watched_heap_measure_end(unsigned *out_blocks, uint64_t *out_bytes, uint64_t *out_most_words) {
    measure.is_on = false;
    *out_blocks = measure.n_blocks;
    *out_bytes = measure.bytes;
    *out_most_words = measure.most_words;
}
