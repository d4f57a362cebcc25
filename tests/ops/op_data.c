/* op_data.c — random numbers and weights for op tests. */
#include "op_data.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/blocks.h>
#include <quoin/glue.h>

uint64_t op_random_next(op_random *random) {
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint32_t op_random_below(op_random *random, uint32_t limit) {
    return (uint32_t)((op_random_next(random) >> 32) * limit >> 32);
}

float op_random_signed(op_random *random) {
    return (float)(op_random_next(random) >> 40) * 0x1p-23f - 1.0f;
}

void op_fill(op_random *random, bool is_exact, bool has_peaks, uint64_t n, float *values) {
    for (uint64_t i = 0; i < n; i++) {
        const float value = op_random_signed(random);
        if (is_exact) {
            const uint32_t size = 1 + op_random_below(random, 3);
            values[i] = value < 0 ? -(float)size : (float)size;
        } else {
            values[i] = op_random_below(random, 3) > 0 ? value : value / (0.05f + value * value);
        }
    }
    for (uint64_t begin = 0; is_exact && has_peaks && begin < n; begin += 32) {
        const uint64_t length = n - begin < 32 ? n - begin : 32;
        values[begin + op_random_below(random, (uint32_t)length)] = op_random_signed(random) < 0 ? -127.0f : 127.0f;
    }
}

/* Where a block keeps its f16 scales. */
typedef struct scale_places {
    qn_format format;
    uint16_t n, at[2];
} scale_places;

static const scale_places half_scales[] = {
    {QN_FORMAT_Q4_0, 1, {0, 0}},    {QN_FORMAT_Q4_1, 2, {0, 2}},   {QN_FORMAT_Q5_0, 1, {0, 0}},
    {QN_FORMAT_Q5_1, 2, {0, 2}},    {QN_FORMAT_Q8_0, 1, {0, 0}},   {QN_FORMAT_Q2_K, 2, {80, 82}},
    {QN_FORMAT_Q3_K, 1, {108, 0}},  {QN_FORMAT_Q4_K, 2, {0, 2}},   {QN_FORMAT_Q5_K, 2, {0, 2}},
    {QN_FORMAT_Q6_K, 1, {208, 0}},  {QN_FORMAT_IQ4_NL, 1, {0, 0}}, {QN_FORMAT_IQ4_XS, 1, {0, 0}},
    {QN_FORMAT_TQ1_0, 1, {52, 0}},  {QN_FORMAT_TQ2_0, 1, {64, 0}},
};

const qn_format op_weight_formats[] = {
    QN_FORMAT_F32,  QN_FORMAT_F16,  QN_FORMAT_BF16, QN_FORMAT_I8,     QN_FORMAT_Q4_0,   QN_FORMAT_Q4_1,  QN_FORMAT_Q5_0,
    QN_FORMAT_Q5_1, QN_FORMAT_Q8_0, QN_FORMAT_Q2_K, QN_FORMAT_Q3_K,   QN_FORMAT_Q4_K,   QN_FORMAT_Q5_K,  QN_FORMAT_Q6_K,
    QN_FORMAT_IQ4_NL, QN_FORMAT_IQ4_XS, QN_FORMAT_TQ1_0, QN_FORMAT_TQ2_0, QN_FORMAT_MXFP4, QN_FORMAT_Q4_K_SOA,
    QN_FORMAT_TERNARY};
const uint32_t op_n_weight_formats = sizeof op_weight_formats / sizeof op_weight_formats[0];

/* Exact: +-2^-3..2^-1; real: +-0.001..0.03, as weights of trained models have. */
static float make_scale(op_random *random, bool is_exact) {
    const float value = op_random_signed(random);
    if (is_exact) {
        return value < 0 ? -0.25f : 0.25f;
    }
    return value < 0 ? value * 0.03f - 0.001f : value * 0.03f + 0.001f;
}

static void put_half(char *at, float value) {
    const uint16_t half = blk_f32_to_f16(value);
    memcpy(at, &half, 2);
}

static void fill_plain(op_random *random, qn_format format, bool is_exact, uint64_t count, char *bytes) {
    for (uint64_t i = 0; i < count; i++) {
        float value;
        op_fill(random, is_exact, false, 1, &value);
        const uint16_t word = format == QN_FORMAT_BF16 ? blk_f32_to_bf16(value) : blk_f32_to_f16(value);
        const int8_t byte = is_exact ? (int8_t)value : (int8_t)op_random_next(random);
        switch (format) {
        case QN_FORMAT_F32: memcpy(bytes + i * 4, &value, 4); break;
        case QN_FORMAT_I8: memcpy(bytes + i, &byte, 1); break;
        default: memcpy(bytes + i * 2, &word, 2); break;
        }
    }
}

static void fill_scales(op_random *random, qn_format format, bool is_exact, uint64_t n_blocks, uint32_t block_bytes, char *bytes) {
    for (uint64_t b = 0; b < n_blocks; b++) {
        char *block = bytes + b * block_bytes;
        if (format == QN_FORMAT_MXFP4) {
            block[0] = (char)(is_exact ? 126 : 118 + op_random_below(random, 6));
        }
        for (uint32_t i = 0; format == QN_FORMAT_Q4_K_SOA && i < 16; i++) {
            put_half(block + 128 + 2 * i, make_scale(random, is_exact));
        }
        for (size_t f = 0; f < sizeof half_scales / sizeof half_scales[0]; f++) {
            for (uint32_t i = 0; half_scales[f].format == format && i < half_scales[f].n; i++) {
                put_half(block + half_scales[f].at[i], make_scale(random, is_exact));
            }
        }
    }
}

/* Base-3 digits only go up to 242; whatever stands in a byte beyond that has no meaning. */
static void fill_ternary(op_random *random, bool is_exact, uint64_t n_bytes, char *bytes) {
    const float scale = make_scale(random, is_exact);
    memcpy(bytes, &scale, 4);
    for (uint64_t i = 4; i < n_bytes; i++) {
        bytes[i] = (char)op_random_below(random, 243);
    }
}

op_weight op_weight_make(op_random *random, qn_format format, bool is_exact, uint64_t first, uint64_t count) {
    const qn_format_info *info = qn_format_find(format);
    const uint64_t total = first + count;
    op_weight weight = {.n_bytes = qn_format_bytes(format, total)};
    char *bytes = malloc(weight.n_bytes);
    weight.bytes = bytes;
    weight.values = malloc(count * sizeof(float));
    assert_non_null(info);
    assert_non_null(bytes);
    assert_non_null(weight.values);
    if (format == QN_FORMAT_TERNARY) {
        fill_ternary(random, is_exact, weight.n_bytes, bytes);
    } else if (info->block_elems == 1) {
        fill_plain(random, format, is_exact, total, bytes);
    } else {
        for (uint64_t i = 0; i < weight.n_bytes; i++) {
            bytes[i] = (char)op_random_next(random);
        }
        fill_scales(random, format, is_exact, weight.n_bytes / info->block_bytes, info->block_bytes, bytes);
    }
    assert_int_equal(blk_decode(format, bytes, first, count, weight.values), 0);
    return weight;
}

void op_weight_free(op_weight *weight) {
    free(weight->bytes);
    free(weight->values);
    *weight = (op_weight){0};
}
