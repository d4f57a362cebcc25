/* guarded.h — memory that ends at a page which cannot be touched.
 *
 *        written band        what was asked for     the page behind
 *   +--------------------+-------------------------+-----------------+
 *   | 0xa5 0xa5 ...      | data[0 .. bytes)        | no access       |
 *   +--------------------+-------------------------+-----------------+
 *
 * A read or write of one byte too many ends the process, and with it the test; a write before the data is seen in the
 * band. The data begins wherever its length puts it, at a multiple of `align`; when the length is none, the few bytes
 * up to the page are a band too.
 *
 * Threading: one thread at a time per object. Memory: owned by the object until guarded_free; taking again reuses it.
 */
#ifndef CONFORM_GUARDED_H
#define CONFORM_GUARDED_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct guarded {
    char *map;
    size_t map_bytes;  /* with the page behind */
    char *data;        /* null: nothing taken */
    uint64_t bytes;
} guarded;

enum { GUARDED_NONE, GUARDED_READ, GUARDED_WRITE };

/* Zeroed object first. Afterwards data is writable and full of 0xa5. False when there is no memory. */
bool guarded_take(guarded *self, uint64_t bytes, uint32_t align);
/* The same with a copy of `data`, readable only. */
bool guarded_set(guarded *self, const void *data, uint64_t bytes, uint32_t align);
void guarded_free(guarded *self);

/* access: GUARDED_*. */
void guarded_protect(const guarded *self, uint32_t access);

/* True when the bands are as they were. The data must be readable. */
bool guarded_is_intact(const guarded *self);

#endif
