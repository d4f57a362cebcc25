/* oracle_formats.c — the value of one element of each format. */
#include "oracle_formats.h"

#include <math.h>
#include <string.h>

static uint32_t read_word(const uint8_t *at, uint32_t n_bytes) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < n_bytes; i++) {
        word |= (uint32_t)at[i] << (8 * i);
    }
    return word;
}

double oracle_half(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31) {
        return fraction == 0 ? sign * (double)INFINITY : (double)NAN;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

static double half_at(const uint8_t *at) {
    return oracle_half((uint16_t)read_word(at, 2));
}

static double float_at(const uint8_t *at, uint32_t shift) {
    const uint32_t bits = read_word(at, shift == 0 ? 4 : 2) << shift;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Nibble of element k in a run of 2 * half elements: the low ones hold the first half. */
static uint32_t nibble(const uint8_t *run, uint32_t k, uint32_t half) {
    return run[k % half] >> (k < half ? 0 : 4) & 15;
}

static double codebook_value(uint32_t index) {
    static const int8_t values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    return values[index];
}

/* --- Blocks of 32 ------------------------------------------------------------------------------------------------- */

static double small_block_element(qn_format format, const uint8_t *b, uint32_t k) {
    const double d = half_at(b);
    switch (format) {
    case QN_FORMAT_Q4_0: return d * ((int)nibble(b + 2, k, 16) - 8);
    case QN_FORMAT_Q4_1: return d * nibble(b + 4, k, 16) + half_at(b + 2);
    case QN_FORMAT_Q5_0: return d * ((int)(nibble(b + 6, k, 16) | (read_word(b + 2, 4) >> k & 1) << 4) - 16);
    case QN_FORMAT_Q5_1: return d * (nibble(b + 8, k, 16) | (read_word(b + 4, 4) >> k & 1) << 4) + half_at(b + 2);
    case QN_FORMAT_Q8_0: return d * (int8_t)b[2 + k];
    default: return d * codebook_value(nibble(b + 2, k, 16)); /* IQ4_NL */
    }
}

static double mxfp4_element(const uint8_t *b, uint32_t k) {
    static const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
    const uint32_t code = nibble(b + 1, k, 16);
    return ldexp(code >= 8 ? -values[code - 8] : values[code], b[0] - 127);
}

/* --- Blocks of 256 ------------------------------------------------------------------------------------------------ */

/* Two bits of element k: 32 bytes hold 128 elements, 32 in each pair of bits. */
static uint32_t bit_pair(const uint8_t *bytes, uint32_t k) {
    return bytes[k / 128 * 32 + k % 32] >> (k % 128 / 32 * 2) & 3;
}

static double q2_k_element(const uint8_t *b, uint32_t k) {
    const uint32_t scale = b[k / 16];
    return half_at(b + 80) * (scale & 15) * bit_pair(b + 16, k) - half_at(b + 82) * (scale >> 4);
}

static double q3_k_element(const uint8_t *b, uint32_t k) {
    const uint8_t *scales = b + 96;
    const uint32_t sub = k / 16;
    const uint32_t low = sub < 8 ? scales[sub] & 15 : scales[sub - 8] >> 4,
                   high = scales[8 + sub % 4] >> (sub / 4 * 2) & 3;
    const int scale = (int)(low | high << 4) - 32;
    const int q = (int)bit_pair(b + 32, k) - ((b[k % 32] >> (k / 32) & 1) != 0 ? 0 : 4);
    return half_at(b + 108) * scale * q;
}

/* Six bits of scale (which 0) or minimum (which 4) of sub-block `sub` out of twelve bytes. */
static uint32_t six_bits(const uint8_t *twelve, uint32_t sub, uint32_t which) {
    if (sub < 4) {
        return twelve[sub + which] & 63;
    }
    return (which == 0 ? twelve[sub + 4] & 15 : twelve[sub + 4] >> 4) | (uint32_t)(twelve[sub - 4 + which] >> 6) << 4;
}

static double q45_k_element(const uint8_t *b, uint32_t k, const uint8_t *fifths, const uint8_t *nibbles) {
    const uint32_t sub = k / 32, fifth = fifths == NULL ? 0 : fifths[k % 32] >> sub & 1;
    const uint32_t q = nibble(nibbles + k / 64 * 32, k % 64, 32) | fifth << 4;
    return half_at(b) * six_bits(b + 4, sub, 0) * q - half_at(b + 2) * six_bits(b + 4, sub, 4);
}

static double q6_k_element(const uint8_t *b, uint32_t k) {
    const uint32_t low = nibble(b + k / 128 * 64, k % 128, 64), high = bit_pair(b + 128, k);
    return half_at(b + 208) * (int8_t)b[192 + k / 16] * ((int)(low | high << 4) - 32);
}

static double iq4_xs_element(const uint8_t *b, uint32_t k) {
    const uint32_t sub = k / 32;
    const uint32_t low = b[4 + sub / 2] >> (sub % 2 * 4) & 15, high = read_word(b + 2, 2) >> (2 * sub) & 3;
    return half_at(b) * ((int)(low | high << 4) - 32) * codebook_value(nibble(b + 8 + 16 * sub, k % 32, 16));
}

/* A byte holds ceil(value * 256 / 243) of up to five base-3 digits, the first the most significant: multiplying by a
 * power of three, modulo 256, brings a digit to the top. */
static double tq1_0_element(const uint8_t *b, uint32_t k) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const uint32_t begin = k < 160 ? 0 : k < 240 ? 160 : 240, width = k < 160 ? 32 : k < 240 ? 16 : 4;
    const uint32_t first_byte = k < 160 ? 0 : k < 240 ? 32 : 48;
    const uint8_t turned = (uint8_t)(b[first_byte + (k - begin) % width] * power[(k - begin) / width]);
    return half_at(b + 52) * ((int)(turned * 3u >> 8) - 1);
}

static double soa_element(const uint8_t *b, uint32_t k) {
    const uint32_t q = nibble(b + k / 64 * 32, k % 64, 32);
    return half_at(b + 128 + k / 32 * 2) * q - half_at(b + 144 + k / 32 * 2);
}

static double large_block_element(qn_format format, const uint8_t *b, uint32_t k) {
    switch (format) {
    case QN_FORMAT_Q2_K: return q2_k_element(b, k);
    case QN_FORMAT_Q3_K: return q3_k_element(b, k);
    case QN_FORMAT_Q4_K: return q45_k_element(b, k, NULL, b + 16);
    case QN_FORMAT_Q5_K: return q45_k_element(b, k, b + 16, b + 48);
    case QN_FORMAT_Q6_K: return q6_k_element(b, k);
    case QN_FORMAT_IQ4_XS: return iq4_xs_element(b, k);
    case QN_FORMAT_TQ1_0: return tq1_0_element(b, k);
    case QN_FORMAT_TQ2_0: return half_at(b + 64) * ((int)bit_pair(b, k) - 1);
    default: return soa_element(b, k);
    }
}

static double ternary_element(const uint8_t *tensor, uint64_t index) {
    uint32_t digits = tensor[4 + index / 5];
    for (uint64_t i = 0; i < index % 5; i++) {
        digits /= 3;
    }
    return float_at(tensor, 0) * ((int)(digits % 3) - 1);
}

double oracle_element(qn_format format, const uint8_t *bytes, uint64_t index) {
    switch (format) {
    case QN_FORMAT_F32: return float_at(bytes + 4 * index, 0);
    case QN_FORMAT_F16: return half_at(bytes + 2 * index);
    case QN_FORMAT_BF16: return float_at(bytes + 2 * index, 16);
    case QN_FORMAT_I8: return (int8_t)bytes[index];
    case QN_FORMAT_I32: return (int32_t)read_word(bytes + 4 * index, 4);
    case QN_FORMAT_MXFP4: return mxfp4_element(bytes + index / 32 * 17, index % 32);
    case QN_FORMAT_TERNARY: return ternary_element(bytes, index);
    default: break;
    }
    static const struct {
        qn_format format;
        uint32_t elems, bytes;
    } blocks[] = {
#define QN_FORMAT(name, number, elems, size, kind, layout) {number, elems, size},
#include <quoin/formats.def>
#undef QN_FORMAT
    };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        if (blocks[i].format == format) {
            const uint8_t *block = bytes + index / blocks[i].elems * blocks[i].bytes;
            return blocks[i].elems == 32 ? small_block_element(format, block, index % 32)
                                         : large_block_element(format, block, index % 256);
        }
    }
    return (double)NAN;
}

void oracle_decode(qn_format format, const void *bytes, uint64_t first, uint64_t n, float *values) {
    for (uint64_t i = 0; i < n; i++) {
        values[i] = (float)oracle_element(format, bytes, first + i);
    }
}

/* --- What a state holds ------------------------------------------------------------------------------------------- */

uint16_t oracle_to_half(float value) {
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const double size = fabs((double)value);
    int exponent;
    if (isnan(value)) {
        return sign | 0x7e00;
    }
    if (size >= 65520) {
        return sign | 0x7c00;
    }
    frexp(size, &exponent);
    const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
    /* nearbyint rounds ties to even; a carry into the next power of two is a carry into the exponent field. */
    const uint32_t count = (uint32_t)nearbyint(ldexp(size, -unit));
    return (uint16_t)(sign | (size == 0 ? 0 : (uint32_t)(unit + 24) * 1024 + count));
}

uint16_t oracle_to_bf16(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (isnan(value)) {
        return (uint16_t)(bits >> 16 | 64);
    }
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store_word(uint16_t word, uint8_t *out) {
    out[0] = (uint8_t)word;
    out[1] = (uint8_t)(word >> 8);
}

/* One f16 scale, the largest magnitude / 127; quanta are x times the inverse of the scale before it was rounded, half
 * away from zero. */
static void store_q8_0(const float *values, uint8_t *block) {
    float most = 0;
    for (uint32_t i = 0; i < 32; i++) {
        most = fmaxf(most, fabsf(values[i]));
    }
    const float scale = most / 127.0f, exact = 1.0f / scale, inverse = isfinite(exact) ? exact : 0;
    store_word(oracle_to_half(scale), block);
    for (uint32_t i = 0; i < 32; i++) {
        block[2 + i] = (uint8_t)(int8_t)roundf(values[i] * inverse);
    }
}

void oracle_store(qn_format format, const float *values, uint64_t n, uint8_t *out) {
    for (uint64_t i = 0; i < n; i++) {
        switch (format) {
        case QN_FORMAT_F32: memcpy(out + 4 * i, &values[i], 4); break;
        case QN_FORMAT_F16: store_word(oracle_to_half(values[i]), out + 2 * i); break;
        case QN_FORMAT_BF16: store_word(oracle_to_bf16(values[i]), out + 2 * i); break;
        default:
            if (i % 32 == 0) {
                store_q8_0(values + i, out + i / 32 * 34);
            }
            break;
        }
    }
}
