/* op_data.c — random numbers and weights for op tests. */
#include "op_data.h"

#include <math.h>
#include <string.h>

#include "oracle_formats.h"

const char *op_data_name(uint32_t kind) {
    static const char *const names[] = {"exact integers", "real numbers", "corner values", "numbers of a model"};
    return names[kind];
}

float op_random_signed(cf_random *random) {
    return (float)(cf_random_next(random) >> 40) * 0x1p-23f - 1.0f;
}

static float draw_integer(cf_random *random) {
    const float size = 1.0f + (float)cf_random_below(random, 3);
    return cf_random_below(random, 2) == 0 ? -size : size;
}

static float draw_real(cf_random *random) {
    const float value = op_random_signed(random);
    return cf_random_below(random, 3) > 0 ? value : value / (0.05f + value * value);
}

void op_fill(cf_random *random, uint32_t kind, bool has_peaks, uint64_t n, float *values) {
    for (uint64_t i = 0; i < n; i++) {
        values[i] = kind == DATA_EXACT ? draw_integer(random) : draw_real(random);
    }
    for (uint64_t begin = 0; kind == DATA_EXACT && has_peaks && begin < n; begin += 32) {
        const uint64_t length = n - begin < 32 ? n - begin : 32;
        values[begin + cf_random_below(random, (uint32_t)length)] = cf_random_below(random, 2) == 0 ? -127.0f : 127.0f;
    }
}

/* Where a block keeps its f16 scales: n of them, 2 bytes apart. */
typedef struct scale_places {
    qn_format format;
    uint16_t at, n;
} scale_places;

static const scale_places half_scales[] = {
    {QN_FORMAT_Q4_0, 0, 1},   {QN_FORMAT_Q4_1, 0, 2},   {QN_FORMAT_Q5_0, 0, 1},        {QN_FORMAT_Q5_1, 0, 2},
    {QN_FORMAT_Q8_0, 0, 1},   {QN_FORMAT_Q2_K, 80, 2},  {QN_FORMAT_Q3_K, 108, 1},      {QN_FORMAT_Q4_K, 0, 2},
    {QN_FORMAT_Q5_K, 0, 2},   {QN_FORMAT_Q6_K, 208, 1}, {QN_FORMAT_IQ4_NL, 0, 1},      {QN_FORMAT_IQ4_XS, 0, 1},
    {QN_FORMAT_TQ1_0, 52, 1}, {QN_FORMAT_TQ2_0, 64, 1}, {QN_FORMAT_Q4_K_SOA, 128, 16},
};

const qn_format op_weight_formats[] = {
    QN_FORMAT_F32,   QN_FORMAT_F16,      QN_FORMAT_BF16,   QN_FORMAT_I8,     QN_FORMAT_Q4_0,  QN_FORMAT_Q4_1,
    QN_FORMAT_Q5_0,  QN_FORMAT_Q5_1,     QN_FORMAT_Q8_0,   QN_FORMAT_Q2_K,   QN_FORMAT_Q3_K,  QN_FORMAT_Q4_K,
    QN_FORMAT_Q5_K,  QN_FORMAT_Q6_K,     QN_FORMAT_IQ4_NL, QN_FORMAT_IQ4_XS, QN_FORMAT_TQ1_0, QN_FORMAT_TQ2_0,
    QN_FORMAT_MXFP4, QN_FORMAT_Q4_K_SOA, QN_FORMAT_TERNARY};
const uint32_t op_n_weight_formats = sizeof op_weight_formats / sizeof op_weight_formats[0];

uint32_t op_format_unit(qn_format format) {
    return format == QN_FORMAT_TERNARY ? 1 : qn_format_find(format)->block_elems;
}

/* What a tensor is drawn from. */
typedef struct source {
    cf_random *random;
    qn_format format;
    uint32_t kind;
    float factor;  /* of scales and plain values; 1 but for DATA_MODEL */
} source;

/* Exact: +-1/4; real: +-0.001..0.03, as weights of trained models have. */
static float draw_scale(const source *from) {
    const float value = op_random_signed(from->random);
    if (from->kind == DATA_EXACT) {
        return value < 0 ? -0.25f : 0.25f;
    }
    return (value < 0 ? value * 0.03f - 0.001f : value * 0.03f + 0.001f) * from->factor;
}

/* Zeros of both signs, the least and the largest subnormal, the least normal, one, the largest; the same, negative. */
static uint16_t draw_corner_half(cf_random *random) {
    static const uint16_t corners[] = {0x0000, 0x0001, 0x03ff, 0x0400, 0x3c00, 0x7bff};
    return (uint16_t)(corners[cf_random_below(random, 6)] | cf_random_below(random, 2) << 15);
}

static void put_half(const source *from, uint8_t *at) {
    const uint16_t half = from->kind == DATA_CORNERS ? draw_corner_half(from->random)
                                                     : oracle_to_half(draw_scale(from));
    at[0] = (uint8_t)half;
    at[1] = (uint8_t)(half >> 8);
}

/* MXFP4 scales are powers of two. */
static uint8_t draw_exponent(const source *from) {
    const int shift = from->factor == 1 ? 0 : ilogbf(from->factor);
    switch (from->kind) {
    case DATA_EXACT: return 126;
    case DATA_CORNERS: return (uint8_t)(40 + cf_random_below(from->random, 170));
    default: return (uint8_t)(118 + shift + (int)cf_random_below(from->random, 6));
    }
}

static void fill_blocks(const source *from, uint64_t n_blocks, uint32_t block_bytes, uint8_t *bytes) {
    for (uint64_t b = 0; b < n_blocks; b++) {
        uint8_t *const block = bytes + b * block_bytes;
        const uint32_t pattern = from->kind == DATA_CORNERS ? cf_random_below(from->random, 3) : 2;
        for (uint32_t i = 0; i < block_bytes; i++) {
            block[i] = pattern == 0 ? 0x00 : pattern == 1 ? 0xff : (uint8_t)cf_random_next(from->random);
        }
        if (from->format == QN_FORMAT_MXFP4) {
            block[0] = draw_exponent(from);
        }
        for (size_t f = 0; f < CF_COUNT_OF(half_scales); f++) {
            for (uint32_t i = 0; half_scales[f].format == from->format && i < half_scales[f].n; i++) {
                put_half(from, block + half_scales[f].at + 2 * i);
            }
        }
    }
}

/* Largest finite, least normal and subnormal, ones, zeros of both signs. */
static float draw_corner(cf_random *random, qn_format format) {
    static const float wide[] = {0x1p-126f, 0x1p-133f, 0x1.fep127f, 1, 0, 0x1.02p0f};
    static const float narrow[] = {0x1p-14f, 0x1p-24f, 65504, 1, 0, 0x1.004p0f};
    const float value = (format == QN_FORMAT_F16 ? narrow : wide)[cf_random_below(random, 6)];
    return cf_random_below(random, 2) == 0 ? -value : value;
}

static float draw_plain(const source *from) {
    switch (from->kind) {
    case DATA_EXACT: return draw_integer(from->random);
    case DATA_CORNERS: return draw_corner(from->random, from->format);
    case DATA_MODEL: return op_random_signed(from->random) * from->factor;
    default: return draw_real(from->random);
    }
}

static void fill_plain(const source *from, uint64_t count, uint8_t *bytes) {
    const uint32_t element_bytes = qn_format_find(from->format)->block_bytes;
    for (uint64_t i = 0; i < count; i++) {
        const float value = draw_plain(from);
        if (from->format == QN_FORMAT_I8) {
            bytes[i] = (uint8_t)(from->kind == DATA_EXACT ? (int8_t)value : (int8_t)cf_random_next(from->random));
        } else {
            oracle_store(from->format, &value, 1, bytes + i * element_bytes);
        }
    }
}

/* Base-3 digits only go up to 242; whatever stands in a byte beyond that has no meaning. */
static void fill_ternary(const source *from, uint64_t n_bytes, uint8_t *bytes) {
    const float scale = from->kind == DATA_CORNERS ? draw_corner(from->random, QN_FORMAT_F32) : draw_scale(from);
    memcpy(bytes, &scale, 4);
    for (uint64_t i = 4; i < n_bytes; i++) {
        bytes[i] = (uint8_t)cf_random_below(from->random, 243);
    }
}

static op_weight make(cf_context *ctx, scratch *memory, const source *from, uint64_t first, uint64_t count) {
    const qn_format_info *const info = qn_format_find(from->format);
    op_weight weight = {.n_bytes = qn_format_bytes(from->format, first + count), .first = first, .count = count};
    weight.bytes = scratch_take(ctx, memory, weight.n_bytes, 1);
    weight.values = scratch_take(ctx, memory, count, sizeof(float));
    if (from->format == QN_FORMAT_TERNARY) {
        fill_ternary(from, weight.n_bytes, weight.bytes);
    } else if (info->block_elems == 1) {
        fill_plain(from, first + count, weight.bytes);
    } else {
        fill_blocks(from, weight.n_bytes / info->block_bytes, info->block_bytes, weight.bytes);
    }
    oracle_decode(from->format, weight.bytes, first, count, weight.values);
    return weight;
}

op_weight op_weight_make(cf_context *ctx, scratch *memory, cf_random *random, qn_format format, uint32_t kind,
                         uint64_t first, uint64_t count) {
    return make(ctx, memory, &(source){random, format, kind, 1}, first, count);
}

static double find_size(const op_weight *weight) {
    double squares = 0;
    for (uint64_t i = 0; i < weight->count; i++) {
        squares += (double)weight->values[i] * weight->values[i];
    }
    return sqrt(squares / (double)weight->count);
}

op_weight op_weight_make_sized(cf_context *ctx, scratch *memory, cf_random *random, qn_format format, double size,
                               uint64_t first, uint64_t count) {
    scratch probes = {NULL};
    source from = {random, format, DATA_MODEL, 1};
    const op_weight probe = make(ctx, &probes, &from, 0, 2048);
    from.factor = (float)(size / find_size(&probe));
    scratch_free(&probes);
    return make(ctx, memory, &from, first, count);
}
