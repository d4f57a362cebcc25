/* blk_decode_plain.c — types of one number an element. Integers and F64 are rounded once to f32, nearest even. */
#include "blk_impl.h"

void blk_decode_f32(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = blk_bits_to_float(load_u32(blocks + 4 * i));
    }
}

void blk_decode_f16(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = blk_load_half(blocks + 2 * i);
    }
}

void blk_decode_bf16(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = blk_bits_to_float((uint32_t)load_u16(blocks + 2 * i) << 16);
    }
}

void blk_decode_f64(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        const uint64_t bits = load_u64(blocks + 8 * i);
        double value;
        memcpy(&value, &bits, sizeof value);
        values[i] = (float)value;
    }
}

void blk_decode_i8(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = (float)(int8_t)blocks[i];
    }
}

void blk_decode_i16(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = (float)(int16_t)load_u16(blocks + 2 * i);
    }
}

void blk_decode_i32(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = (float)(int32_t)load_u32(blocks + 4 * i);
    }
}

void blk_decode_i64(const uint8_t *blocks, uint64_t n_blocks, float *values) {
    for (uint64_t i = 0; i < n_blocks; i++) {
        values[i] = (float)(int64_t)load_u64(blocks + 8 * i);
    }
}
