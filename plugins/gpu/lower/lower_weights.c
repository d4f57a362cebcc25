/* lower_weights.c — which kernels a weight format has, and weights in pieces that one binding can hold. */
#include "lower_internal.h"

/* Name and elements of a run, as decode.kernel has them. */
#define WEIGHT_FORMATS(X)                                                                                                         \
    X(F32, 8) X(F16, 8) X(BF16, 8) X(I8, 8) X(Q4_0, 32) X(Q4_1, 32) X(Q5_0, 32) X(Q5_1, 32) X(Q8_0, 32) X(Q2_K, 32) X(Q3_K, 32)    \
    X(Q4_K, 64) X(Q5_K, 64) X(Q6_K, 32) X(IQ4_NL, 32) X(IQ4_XS, 32) X(TQ1_0, 32) X(TQ2_0, 32) X(MXFP4, 32) X(Q4_K_SOA, 64)         \
    X(TERNARY, 8)

static const lower_format formats[] = {
#define X(NAME, run)                                                                                                              \
    {QN_FORMAT_##NAME, GPU_KERNEL_EMBED_##NAME, GPU_KERNEL_GEMV_##NAME, GPU_KERNEL_GEMV_SUBGROUP_##NAME, GPU_KERNEL_GEMM_##NAME,    \
     GPU_KERNEL_MATROW1_##NAME, GPU_KERNEL_MATROW4_##NAME, run},
    WEIGHT_FORMATS(X)
#undef X
};

const lower_format *lower_find_format(qn_format format) {
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (formats[i].format == format) {
            return &formats[i];
        }
    }
    return NULL;
}

static const lower_dot_format dot_formats[] = {
#define X(NAME) {QN_FORMAT_##NAME, GPU_KERNEL_GEMV_DOT_##NAME, GPU_KERNEL_GEMV_DOT_SUBGROUP_##NAME, GPU_KERNEL_GEMM_DOT_##NAME},
    X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K) X(Q4_K_SOA)
#undef X
};

const lower_dot_format *lower_find_dot(qn_format format) {
    for (size_t i = 0; i < sizeof dot_formats / sizeof dot_formats[0]; i++) {
        if (dot_formats[i].format == format) {
            return &dot_formats[i];
        }
    }
    return NULL;
}

/* Small enough that a place in it, even counted in elements, fits in 32 bits. */
#define MOST_PIECE_BYTES (UINT64_C(1) << 29)

uint64_t lower_piece_rows(const gpu_caps *caps, qn_format format, uint64_t n_columns, uint64_t n_rows) {
    const uint64_t most = caps->max_binding_bytes < MOST_PIECE_BYTES ? caps->max_binding_bytes : MOST_PIECE_BYTES;
    /* Eight bytes are kept back: a TERNARY row may begin and end within a word. Four of its elements take a byte at most. */
    const uint64_t rows = format == QN_FORMAT_TERNARY ? (most - 8) * 4 / n_columns : (most - 8) / qn_format_bytes(format, n_columns);
    return rows >= n_rows ? n_rows : rows / 4 * 4;
}

int lower_can_read(const gpu_caps *caps, const qn_buffer *weight, char text[LOWER_VERDICT_BYTES]) {
    if (lower_find_format(weight->format) == NULL) {
        snprintf(text, LOWER_VERDICT_BYTES, "no kernel reads weights of format %s", qn_format_name(weight->format));
        return 0;
    }
    if (lower_piece_rows(caps, weight->format, weight->dims[0], qn_buffer_rows(weight, 0, 0, 0)) == 0) {
        snprintf(text, LOWER_VERDICT_BYTES, "four rows of %llu elements of format %s do not fit in a binding",
                 (unsigned long long)weight->dims[0], qn_format_name(weight->format));
        return 0;
    }
    return 1;
}

uint32_t lower_n_pieces(const gpu_caps *caps, const qn_buffer *weight) {
    const uint64_t n_rows = qn_buffer_rows(weight, 0, 0, 0), rows = lower_piece_rows(caps, weight->format, weight->dims[0], n_rows);
    return rows == 0 ? 1 : (uint32_t)lower_ceil(n_rows, rows);
}

lower_piece lower_take_piece(const gpu_lowering *to, const gpu_view *weight, uint64_t first_row) {
    const uint64_t rows = lower_piece_rows(to->caps, weight->buffer->format, weight->n_columns, weight->n_rows);
    const uint64_t left = weight->n_rows - first_row;
    lower_piece piece = {.first_row = first_row, .n_rows = rows < left ? rows : left, .w = weight->at, .w_scale = to->zero};
    uint64_t at, bytes;
    if (weight->buffer->format == QN_FORMAT_TERNARY) {
        const uint64_t element = weight->first_element + first_row * weight->n_columns;
        const uint64_t byte = element / 5 / 4 * 4;
        piece.first_element = (uint32_t)(element - byte * 5);
        at = 4 + byte;
        bytes = lower_ceil(piece.first_element + piece.n_rows * weight->n_columns, 5);
        piece.w_scale.memory = weight->at.memory;
        piece.w_scale.at = weight->at.at;
        piece.w_scale.bytes = 4;
    } else {
        piece.row_bytes = (uint32_t)weight->row_bytes;
        at = first_row * weight->row_bytes;
        bytes = piece.n_rows * weight->row_bytes;
    }
    piece.w.at = weight->at.at + at;
    piece.w.bytes = (bytes + 3) / 4 * 4;
    return piece;
}
