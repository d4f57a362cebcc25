/* raw_container.h — a P64 once more, read by code of its own: what an oracle must not take from the reader that it judges.
 *
 * It knows the table of tensors and the first seven numbers of the hyper-parameters, in the order of bytes of the format's document, and nothing
 * about layouts, roles or profiles. dims[0] is the length of a row, whose elements lie side by side.
 *
 * Threading: pure.
 * Memory:    views into the span.
 */
#ifndef HOST_CERTIFY_RAW_CONTAINER_H
#define HOST_CERTIFY_RAW_CONTAINER_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

typedef struct raw_matrix {
    uint32_t format;      /* the number in the table, which is that of the ABI's formats */
    uint32_t columns, rows; /* dims[0], dims[1]; a vector has one row */
    const uint8_t *bytes;
    uint64_t size;
} raw_matrix;

typedef struct raw_shape {
    uint32_t n_layer, n_embd, n_head, n_kv_head;
    float rope_base;
} raw_shape;

bool raw_container_shape(fmt_span container, raw_shape *out);
/* The tensor with this name; false when there is none, or it does not lie in the file. */
bool raw_container_find(fmt_span container, const char *name, raw_matrix *out);

#endif
