/* kernel_params.h — the parameters of every kernel, read by C, C++, OpenCL C, CUDA and GLSL alike.
 *
 * Only uint and float members: their layout is the same everywhere. At most 24 words a struct. What changes from step to step is
 * not here (gpu_driver.h says why) but in the step block: positions, sequences, cells and spans as u32 words in device memory.
 * Offsets of bindings are the driver's business and not here either. Rows are outermost; counts are in elements unless they say
 * bytes. Before each struct: bindings in order, and what one group of the grid does.
 */
#ifndef KERNEL_PARAMS_H
#define KERNEL_PARAMS_H

/* embed_FORMAT — w, w_scale, ids, y.   Grid: (column chunks, tokens). A table that is longer than a binding comes in pieces: rows
 * [first_row, first_row + n_rows) are in this one, other ids are left alone. */
struct embed_params {
    uint n_columns;
    uint n_tokens;
    uint first_row;
    uint n_rows;
    uint row_bytes;      /* 0: TERNARY */
    uint first_element;  /* TERNARY: the first element of first_row, counted from the first digit of binding w */
};

/* gemv_FORMAT (few rows of x), gemm_FORMAT (many) — w, w_scale, x, bias, y.
 * y[t][first_row + n] = sum_k w[n][k] x[t][k] + bias[first_row + n]
 * Grid of gemv: (row chunks of w, rows of x); of gemm: (tiles of w's rows, tiles of x's rows). */
struct matmul_params {
    uint k;
    uint n;              /* rows of w in this binding */
    uint n_x;            /* rows of x */
    uint first_row;      /* of y's columns */
    uint y_columns;
    uint row_bytes;      /* 0: TERNARY */
    uint first_element;  /* TERNARY: as embed */
    uint has_bias;       /* 0: the binding of bias is any memory */
    uint lanes;          /* gemv: work-items that share a row, a power of two, at most GROUP */
};

/* rms_norm — x, weight, y.   Grid: (n_groups) in rows of n_groups_x; one group of elements each. */
struct rms_norm_params {
    uint n_groups;       /* of all rows */
    uint group;          /* elements of one */
    float epsilon;
};
#endif
