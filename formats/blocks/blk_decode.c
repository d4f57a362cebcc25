/* blk_decode.c — which decoder a type has, and the short last block. */
#include "blk_impl.h"

#include <stddef.h>

static blk_decode_fn *const decoders[] = {
    [BLK_F32] = blk_decode_f32,       [BLK_F16] = blk_decode_f16,       [BLK_Q4_0] = blk_decode_q4_0,
    [BLK_Q4_1] = blk_decode_q4_1,     [BLK_Q5_0] = blk_decode_q5_0,     [BLK_Q5_1] = blk_decode_q5_1,
    [BLK_Q8_0] = blk_decode_q8_0,     [BLK_Q8_1] = blk_decode_q8_1,     [BLK_Q2_K] = blk_decode_q2_k,
    [BLK_Q3_K] = blk_decode_q3_k,     [BLK_Q4_K] = blk_decode_q4_k,     [BLK_Q5_K] = blk_decode_q5_k,
    [BLK_Q6_K] = blk_decode_q6_k,     [BLK_Q8_K] = blk_decode_q8_k,     [BLK_IQ4_NL] = blk_decode_iq4_nl,
    [BLK_IQ4_XS] = blk_decode_iq4_xs, [BLK_I8] = blk_decode_i8,         [BLK_I16] = blk_decode_i16,
    [BLK_I32] = blk_decode_i32,       [BLK_I64] = blk_decode_i64,       [BLK_F64] = blk_decode_f64,
    [BLK_BF16] = blk_decode_bf16,     [BLK_TQ1_0] = blk_decode_tq1_0,   [BLK_TQ2_0] = blk_decode_tq2_0,
    [BLK_MXFP4] = blk_decode_mxfp4,   [BLK_Q4_K_SOA] = blk_decode_q4_k_soa,
};

static blk_decode_fn *find_decoder(blk_type type) {
    return type < sizeof decoders / sizeof decoders[0] ? decoders[type] : NULL;
}

fmt_status blk_decode(blk_type type, const void *tensor, uint64_t first, uint64_t count, float *values) {
    if (type == BLK_TERNARY) {
        blk_decode_ternary(tensor, first, count, values);
        return FMT_OK;
    }
    blk_decode_fn *decode = find_decoder(type);
    if (decode == NULL) {
        return FMT_UNSUPPORTED;
    }
    const blk_info *info = blk_get_info(type);
    if (first % info->block_elems != 0) {
        return FMT_BAD_ARG;
    }
    const uint64_t n_blocks = count / info->block_elems;
    const size_t tail = (size_t)(count % info->block_elems);
    const uint8_t *blocks = (const uint8_t *)tensor + first / info->block_elems * info->block_bytes;
    decode(blocks, n_blocks, values);
    if (tail != 0) {
        float last[BLK_MAX_ELEMS];
        decode(blocks + n_blocks * info->block_bytes, 1, last);
        memcpy(values + n_blocks * info->block_elems, last, tail * sizeof *last);
    }
    return FMT_OK;
}
