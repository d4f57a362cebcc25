/* kernel_params.h — the parameters of every kernel, read by C, C++, OpenCL C, CUDA and GLSL alike.
 *
 * Only uint and float members: their layout is the same everywhere. At most 24 words a struct. What changes from step to step is
 * not here (gpu_driver.h says why) but in the step block: positions, sequences, cells and spans as u32 words in device memory.
 * Offsets of bindings are the driver's business and not here either. Rows are outermost; counts are in elements unless they say
 * bytes. Before each struct: bindings in order, and the grid in work-groups. All grids are lines, which are folded into two dimensions
 * when they are longer than the device allows; what is then too much of them does nothing.
 */
#ifndef KERNEL_PARAMS_H
#define KERNEL_PARAMS_H

/* embed_FORMAT — w, w_scale, ids, y.   One work-item makes eight values. Grid: (n_tokens * octets of a row / GROUP). A table that is
 * longer than a binding comes in pieces: rows [first_row, first_row + n_rows) are in this one, other ids are left alone. */
struct embed_params {
    uint n_columns;
    uint n_tokens;
    uint first_row;
    uint n_rows;
    uint row_bytes;      /* 0: TERNARY */
    uint first_element;  /* TERNARY: the first element of first_row, counted from the first digit of binding w */
};

/* quantize — x, y.   y: what the kernels with INT_DOT read instead of x, in sections: four signed bytes in a word for four elements of x;
 * for each block of 32 a scale; for each block the scale times the sum of its bytes. Eight work-items make a block.
 * Grid: (n_blocks / (GROUP / 8)) */
struct quantize_params {
    uint n_blocks;       /* of 32, of all rows, whose lengths are multiples of 32 */
};

/* gemv_FORMAT, gemv_subgroup_FORMAT (few rows of x), gemm_FORMAT (many), matrow1_FORMAT, matrow4_FORMAT (processors), and with bytes of
 * quantize for x gemv_dot_FORMAT, gemv_dot_subgroup_FORMAT, gemm_dot_FORMAT —
 * w, w_scale, x, bias, y.   y[t][first_row + n] = sum_k w[n][k] x[t][k] + bias[first_row + n]
 * Grid of gemv: (n / (ROWS * GROUP / lanes) * n_x); of gemm: (tiles of 64 rows of w * tiles of 32 rows of x); of matrow:
 * (n / (ROWS * GROUP) * n_x / TOKENS). */
struct matmul_params {
    uint k;
    uint n;              /* rows of w in this binding */
    uint n_x;            /* rows of x */
    uint first_row;      /* of y's columns */
    uint y_columns;
    uint row_bytes;      /* 0: TERNARY */
    uint first_element;  /* TERNARY: as embed */
    uint has_bias;       /* 0: the binding of bias is any memory */
    uint lanes;          /* gemv: work-items that share rows, a power of two, at most GROUP; gemv_subgroup: about
                            as many as a subgroup has; only the number of groups depends on it */
};

/* rms_norm, rms_norm_cpu — x, weight, y.   Grid: (n_groups), one group of elements each. */
struct rms_norm_params {
    uint n_groups;       /* of all rows */
    uint group;          /* elements of one */
    float epsilon;
};

/* add_rms_norm, add_rms_norm_cpu — a, b, weight, sum, y.   sum[i] = a[i] + b[i % period], y the norm of it. Grid: (n_groups) */
struct add_rms_norm_params {
    uint n_groups;
    uint group;
    float epsilon;
    uint period;
};

/* add — a, b, y.   y[i] = a[i] + b[i % period]. Grid of this and of the next ones: (n / GROUP_ELEMENTS). */
struct add_params {
    uint n;              /* elements of y */
    uint period;         /* >= 1; n: b is as long as a */
};

/* scale — x, y */
struct scale_params {
    uint n;
    float factor;
};

/* gated_silu, gated_gelu — gate, up, y */
struct gated_params {
    uint n;
};

/* softcap — x, y */
struct softcap_params {
    uint n;
    float cap;
};

/* select_rows — x, rows, y */
struct select_rows_params {
    uint n;              /* elements of y */
    uint n_columns;
};

/* fill — y */
struct fill_params {
    uint n;              /* words */
    uint word;
};

/* state_write_FORMAT — x, cells, state.   One work-item writes a word. Grid: (n_tokens * row_words / GROUP) */
struct state_write_params {
    uint n_columns;
    uint n_tokens;
    uint row_words;      /* of a cell */
};

/* state_write_pair_FORMAT — x, x2, cells, state, state2.   Two states of one group of cells. Grid: (n_tokens * (row_words + row_words2) /
 * GROUP) */
struct state_write_pair_params {
    uint n_columns;
    uint n_columns2;
    uint n_tokens;
    uint row_words;
    uint row_words2;
};

/* rope — x, positions, table, y.   One work-item turns a pair or copies an element. Grid: (n / GROUP) */
struct rope_params {
    uint n;              /* tokens * n_head * slots */
    uint slots;          /* n_rot / 2 pairs and head_dim - n_rot elements that are copied */
    uint n_rot;
    uint head_dim;
    uint n_head;
    uint is_adjacent;
};

/* rope_pair — x, x2, positions, table, y, y2.   Two operands with heads of one kind. Grid: ((n + n2) / GROUP) */
struct rope_pair_params {
    uint n;
    uint n2;
    uint slots;
    uint n_rot;
    uint head_dim;
    uint n_head;
    uint n_head2;
    uint is_adjacent;
};

/* attention_FORMAT, attention_cpu_FORMAT — q, k, v, positions, sequences, spans, span_at, y or parts.
 * Grid: (n_tokens * n_head * n_splits * n_blocks) */
struct attention_params {
    uint n_tokens;
    uint n_head;
    uint share;          /* heads of q to one of k and v */
    uint head_dim;
    uint value_dim;
    uint window;         /* 0: all */
    float scale;
    float softcap;       /* 0: off */
    uint k_row;          /* elements from one cell to the next, with padding */
    uint v_row;
    uint n_splits;
    uint n_blocks;       /* of 4 * GROUP columns of v */
    uint lanes;          /* items side by side, each on four columns of v: a power of two, at most GROUP */
    uint k_is_f32;       /* these four for states of two formats only */
    uint k_is_f16;
    uint v_is_f32;
    uint v_is_f16;
};

/* attention_merge — parts, y.   Grid: (n / GROUP) */
struct attention_merge_params {
    uint n;              /* n_tokens * n_head * value_dim */
    uint value_dim;
    uint n_splits;
};

/* top_k — values, ids, best_values, best_ids.   best: [n_rows][n_chunks][k]. Grid: (n_rows * n_chunks) */
struct top_k_params {
    uint n_rows;
    uint n_columns;
    uint row_words;      /* of values; ids have n_columns */
    uint k;
    uint n_chunks;
    uint chunk;          /* columns of one */
    uint has_ids;        /* 0: the id of a value is its column */
};
#endif
