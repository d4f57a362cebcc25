/* standard_bytes.h — the bytes of a container's tensor in standard blocks, whatever arrangement the file keeps them in.
 *
 * Threading: one thread at a time per object.
 * Memory:    owned by the object: room for the largest tensor in panels that was asked for; standard_bytes_free.
 */
#ifndef HOST_STANDARD_BYTES_H
#define HOST_STANDARD_BYTES_H
#include <quoin/p64.h>

typedef struct standard_bytes {
    uint8_t *room;
    uint64_t capacity;
    uint32_t index; /* of the tensor that `room` holds; UINT32_MAX: none */
} standard_bytes;

void standard_bytes_init(standard_bytes *s);
void standard_bytes_free(standard_bytes *s);

/* How many bytes the tensor has in standard blocks. */
uint64_t standard_bytes_size(const p64_tensor *t);

/* The bytes: of the mapping, or turned back from panels into the object's room, where they stay until the next call. Null: out
 * of memory. */
const uint8_t *standard_bytes_of(standard_bytes *s, const p64_tensor *t);

#endif
