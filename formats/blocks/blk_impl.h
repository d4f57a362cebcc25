/* blk_impl.h — what the files of this folder share: the shape of a block decoder and encoder, and half precision
 * inline.
 *
 * Threading: pure.
 */
#ifndef BLK_IMPL_H
#define BLK_IMPL_H
#include <quoin/blocks.h>

#include "common/endian.h"

#include <string.h>

#define BLK_MAX_ELEMS 256

/* Decodes `n_blocks` whole blocks; values: [n_blocks * block_elems] f32. For plain types a block is one element. */
typedef void blk_decode_fn(const uint8_t *blocks, uint64_t n_blocks, float *values);

/* Encodes `n_blocks` whole blocks. Returns n_blocks, or the number of the first block that the type cannot hold; what
 * is written of that block and of those behind it is then worthless. */
typedef uint64_t blk_encode_fn(const float *values, uint64_t n_blocks, uint8_t *blocks);

blk_decode_fn blk_decode_f32, blk_decode_f16, blk_decode_bf16, blk_decode_f64;
blk_decode_fn blk_decode_i8, blk_decode_i16, blk_decode_i32, blk_decode_i64;
blk_decode_fn blk_decode_q4_0, blk_decode_q4_1, blk_decode_q5_0, blk_decode_q5_1, blk_decode_q8_0, blk_decode_q8_1;
blk_decode_fn blk_decode_q2_k, blk_decode_q3_k, blk_decode_q4_k, blk_decode_q5_k, blk_decode_q6_k, blk_decode_q8_k;
blk_decode_fn blk_decode_iq4_nl, blk_decode_iq4_xs, blk_decode_mxfp4, blk_decode_tq1_0, blk_decode_tq2_0;
blk_decode_fn blk_decode_q4_k_soa;

blk_encode_fn blk_encode_f16, blk_encode_bf16, blk_encode_q8_0, blk_encode_q4_0, blk_encode_q4_1;
blk_encode_fn blk_encode_q4_k, blk_encode_q6_k, blk_encode_q4_k_soa;

/* Ternary, whose block is the tensor. Encoding: as blk_encode. */
void blk_decode_ternary(const uint8_t *tensor, uint64_t first, uint64_t count, float *values);
fmt_status blk_encode_ternary(const float *values, uint64_t count, uint8_t *out, uint64_t *out_index);

/* Scale and minimum (6 bits each) of sub-block j (0..7), packed in the 12 bytes that Q4_K and Q5_K share. */
void blk_unpack_k4_scale(const uint8_t packed[12], unsigned j, uint8_t *out_scale, uint8_t *out_min);

static inline float blk_bits_to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t blk_float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* NaN comes out quiet, as the conversion instructions of CPUs give it. */
static inline float blk_half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7FFFu;
    if (magnitude < 0x0400) {
        return blk_bits_to_float(sign | blk_float_to_bits((float)magnitude * 0x1p-24f));
    }
    if (magnitude >= 0x7C00) {
        return blk_bits_to_float(sign | 0x7F800000u | magnitude << 13 | (magnitude > 0x7C00 ? 0x00400000u : 0));
    }
    return blk_bits_to_float(sign | ((magnitude << 13) + 0x38000000u));
}

static inline float blk_load_half(const uint8_t *at) {
    return blk_half_to_float(load_u16(at));
}

/* Stores `value` as half; false when the result is infinite or NaN. */
static inline bool blk_store_half(uint8_t *at, float value) {
    const uint16_t half = blk_f32_to_f16(value);
    store_u16(at, half);
    return (half & 0x7C00) != 0x7C00;
}

static inline bool blk_is_finite(float value) {
    return (blk_float_to_bits(value) & 0x7F800000u) != 0x7F800000u;
}

#endif
