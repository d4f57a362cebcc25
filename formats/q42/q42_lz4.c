/* q42_lz4.c — LZ4 blocks: a loop that copies in whole steps while there is room on both sides, and a careful one for
 * the end.
 *
 *     sequence   token | more of the literal length | literals | distance u16 | more of the match length
 *
 * The last sequence ends behind its literals. A match leaves the last five bytes to literals and begins twelve bytes
 * before the end at the latest. */
#include "q42_lz4.h"

#include <string.h>

#include "common/endian.h"

#define MIN_MATCH 4u
#define LAST_LITERALS 5u
#define LAST_MATCH_START 12u
#define LAST_INPUT 8u    /* behind the literals of a sequence that has a match: distance, token, five literals */
#define STEP 16u
#define OUTPUT_SLACK 64u /* the quick loop may write so far behind a sequence */
#define INPUT_SLACK 48u

/* Where decoding is. */
typedef struct lz4_state {
    const uint8_t *in, *in_end;
    uint8_t *out, *out_begin, *out_end;
} lz4_state;

static inline uint64_t left(const uint8_t *at, const uint8_t *end) {
    return (uint64_t)(end - at);
}

/* A long length goes on up to the first byte below 255; false when the input ends in it. */
static inline bool read_more(const uint8_t **in, const uint8_t *in_end, uint32_t *length) {
    uint8_t byte;
    do {
        if (*in == in_end) {
            return false;
        }
        byte = *(*in)++;
        *length += byte; /* no wrap: the input is below 2^24 bytes */
    } while (byte == 255);
    return true;
}

static inline void copy_step(uint8_t *to, const uint8_t *from) {
    uint8_t bytes[STEP];
    memcpy(bytes, from, STEP);
    memcpy(to, bytes, STEP);
}

/* Up to STEP - 1 bytes more than `size` are written. */
static inline void copy_steps(uint8_t *to, const uint8_t *from, uint32_t size) {
    uint32_t at = 0;
    do {
        copy_step(to + at, from + at);
        at += STEP;
    } while (at < size);
}

/* From `distance` bytes before; up to STEP - 1 bytes more are written. */
static inline void copy_match(uint8_t *to, uint32_t distance, uint32_t size) {
    const uint8_t *from = to - distance;
    if (distance >= STEP) {
        copy_steps(to, from, size);
    } else if (distance == 1) {
        memset(to, *from, size);
    } else {
        for (uint32_t i = 0; i < size; i++) {
            to[i] = from[i];
        }
    }
}

/* Whole sequences while both sides have slack; stops before the first one that has not, or that looks wrong. */
static void decode_quickly(lz4_state *s) {
    const uint8_t *in = s->in;
    uint8_t *out = s->out;
    while (left(in, s->in_end) >= INPUT_SLACK && left(out, s->out_end) >= OUTPUT_SLACK) {
        s->in = in;
        s->out = out;
        const uint32_t token = *in++;
        uint32_t literals = token >> 4;
        copy_step(out, in);
        if (literals == 15) {
            if (!read_more(&in, s->in_end, &literals) || literals + INPUT_SLACK > left(in, s->in_end) ||
                literals + OUTPUT_SLACK > left(out, s->out_end)) {
                return;
            }
            copy_steps(out, in, literals);
        }
        in += literals;
        out += literals;
        const uint32_t distance = load_u16(in);
        uint32_t match = (token & 15) + MIN_MATCH;
        in += 2;
        if (match == 15 + MIN_MATCH && !read_more(&in, s->in_end, &match)) {
            return;
        }
        if (distance == 0 || distance > left(s->out_begin, out) || match + 2 * STEP > left(out, s->out_end)) {
            return;
        }
        copy_match(out, distance, match);
        out += match;
    }
    s->in = in;
    s->out = out;
}

/* One sequence, with every check. True when another follows; otherwise *outcome is that of the block. */
static bool decode_sequence(lz4_state *s, lz4_outcome *outcome) {
    *outcome = LZ4_MALFORMED;
    if (s->in == s->in_end) {
        return false;
    }
    const uint32_t token = *s->in++;
    uint32_t literals = token >> 4, match = (token & 15) + MIN_MATCH;
    if ((literals == 15 && !read_more(&s->in, s->in_end, &literals)) || literals > left(s->in, s->in_end) ||
        literals > left(s->out, s->out_end)) {
        return false;
    }
    memcpy(s->out, s->in, literals);
    s->in += literals;
    s->out += literals;
    if (s->in == s->in_end) {
        *outcome = s->out == s->out_end ? LZ4_DECODED : LZ4_MALFORMED;
        return false;
    }
    if (left(s->in, s->in_end) < LAST_INPUT || left(s->out, s->out_end) < LAST_MATCH_START) {
        return false;
    }
    const uint32_t distance = load_u16(s->in);
    s->in += 2;
    if (distance == 0) {
        *outcome = LZ4_ZERO_DISTANCE;
        return false;
    }
    if ((match == 15 + MIN_MATCH && !read_more(&s->in, s->in_end, &match)) ||
        distance > left(s->out_begin, s->out) || match + LAST_LITERALS > left(s->out, s->out_end)) {
        return false;
    }
    for (uint32_t i = 0; i < match; i++) {
        s->out[i] = s->out[(int64_t)i - distance];
    }
    s->out += match;
    return true;
}

lz4_outcome q42_lz4_decode(const uint8_t *data, uint32_t size, uint8_t *room, uint32_t room_size) {
    lz4_state s = {data, data + size, room, room, room + room_size};
    lz4_outcome outcome;
    decode_quickly(&s);
    while (decode_sequence(&s, &outcome)) {
        decode_quickly(&s);
    }
    return outcome;
}
