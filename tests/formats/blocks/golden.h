/* golden.h — the golden files that make_golden.py writes: rows of records of one element type each.
 *
 * Memory: golden_open reads the whole file; records point into it until golden_close.
 */
#ifndef TEST_GOLDEN_H
#define TEST_GOLDEN_H
#include <quoin/blocks.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct golden_file {
    uint8_t *data; /* owned by the file */
    size_t size;
    size_t at;
} golden_file;

typedef struct golden_record {
    blk_type type;
    uint32_t n_elems;
    uint32_t n_bytes;
    const float *elems;    /* [n_elems], aligned */
    const uint8_t *bytes;  /* [n_bytes]: null when there are none */
    double weighted_error; /* of ggml's own quantiser; 0 in the exact files */
    double plain_error;
} golden_record;

/* Opens golden/NAME beside this file; fails the test when it cannot be read. */
golden_file golden_open(const char *name);

/* The next record; false at the end. Fails the test when the file is cut off. The record's elements and bytes are
 * copied to memory of their own that the next call or golden_close gives back, so that a sanitizer sees every
 * overrun. */
bool golden_next(golden_file *file, golden_record *out_record);

void golden_close(golden_file *file);

/* What a failure message calls the type. */
const char *golden_type_name(blk_type type);

#endif
