/* tensor10d.c — distances between points of ten numbers. */
#include "ground/tensor10d.h"

#include <math.h>
#include <string.h>

enum { N_NUMBERS = 10 };

static double square(double a) {
    return a * a;
}

static double flat_distance(const tensor10d *a, const tensor10d *b) {
    return sqrt(square((double)a->x - b->x) + square((double)a->y - b->y) + square((double)a->z - b->z) +
                square((double)a->t - b->t) + square((double)a->alpha - b->alpha) + square((double)a->mu - b->mu) +
                square((double)a->sigma - b->sigma));
}

static double circle_distance(double a, double b) {
    const double apart = fmod(fabs(a - b), 1.0);
    return apart > 0.5 ? 1.0 - apart : apart;
}

static double torus_distance(const tensor10d *a, const tensor10d *b) {
    return sqrt(square(circle_distance(a->x, b->x)) + square(circle_distance(a->y, b->y)) +
                square(circle_distance(a->z, b->z)));
}

/* The greatest of the three is taken out of the sum, so that no power overflows. */
static double soft_distance(const tensor10d *a, const tensor10d *b) {
    const double dx = fabs((double)a->x - b->x), dy = fabs((double)a->y - b->y), dz = fabs((double)a->z - b->z);
    const double most = fmax(dx, fmax(dy, dz));
    return most + log(exp(dx - most) + exp(dy - most) + exp(dz - most));
}

float tensor10d_distance(const tensor10d *query, const tensor10d *node) {
    if (query->v == 0.0f) {
        return (float)flat_distance(query, node);
    }
    if (query->v == 1.0f) {
        return (float)torus_distance(query, node);
    }
    if (query->v == 2.0f) {
        return (float)soft_distance(query, node);
    }
    return query->v == node->v ? 0.0f : 1.0f;
}

static void get_numbers(const tensor10d *p, float out[N_NUMBERS]) {
    const float numbers[N_NUMBERS] = {p->q, p->v, p->w, p->x, p->y, p->z, p->t, p->alpha, p->mu, p->sigma};
    memcpy(out, numbers, sizeof numbers);
}

static bool is_finite(const tensor10d *p) {
    float numbers[N_NUMBERS];
    bool is_sound = true;
    get_numbers(p, numbers);
    for (uint32_t i = 0; i < N_NUMBERS; i++) {
        is_sound = is_sound && isfinite(numbers[i]);
    }
    return is_sound;
}

/* Puts a hit at its place among those that are sorted, as long as it is among the `room` best. */
static void insert(tensor10d_hit *hits, uint32_t *n, uint32_t room, tensor10d_hit hit) {
    uint32_t at = *n;
    while (at > 0 && hits[at - 1].distance > hit.distance) {
        at--;
    }
    if (at >= room) {
        return;
    }
    const uint32_t n_moved = (*n < room ? *n : room - 1) - at;
    memmove(&hits[at + 1], &hits[at], n_moved * sizeof *hits);
    hits[at] = hit;
    *n += *n < room ? 1 : 0;
}

qn_status tensor10d_nearest(const tensor10d *query, const tensor10d *nodes, uint32_t n_nodes, float limit,
                            tensor10d_hit *out_hits, uint32_t room, uint32_t *out_n_hits, error_context *err) {
    tensor10d_hit hits[TENSOR10D_MAX_HITS];
    uint32_t n = 0;
    if (n_nodes > TENSOR10D_MAX_NODES || room > TENSOR10D_MAX_HITS) {
        return FAIL(err, QN_LIMIT, "%u nodes and %u hits were asked for; %u and %u are the most", n_nodes, room, TENSOR10D_MAX_NODES,
                    TENSOR10D_MAX_HITS);
    }
    bool is_sound = is_finite(query);
    for (uint32_t i = 0; is_sound && i < n_nodes; i++) {
        is_sound = is_finite(&nodes[i]);
    }
    if (!is_sound) {
        return FAIL(err, QN_BAD_INPUT, "a point of ten numbers has one that is infinite or no number");
    }
    for (uint32_t i = 0; room > 0 && i < n_nodes; i++) {
        const tensor10d_hit hit = {i, tensor10d_distance(query, &nodes[i])};
        if (hit.distance <= limit) {
            insert(hits, &n, room, hit);
        }
    }
    memcpy(out_hits, hits, n * sizeof *hits);
    *out_n_hits = n;
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------- text */

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r' || byte == ',';
}

static bool is_digit(char byte) {
    return byte >= '0' && byte <= '9';
}

/* The exponent behind an e, and the sign; 9999 stands for anything larger. */
static bool read_exponent(const char **at, const char *end, int *out) {
    bool is_negative = false;
    int value = 0;
    if (*at < end && (**at == '+' || **at == '-')) {
        is_negative = *(*at)++ == '-';
    }
    if (*at == end || !is_digit(**at)) {
        return false;
    }
    for (; *at < end && is_digit(**at); (*at)++) {
        value = value < 999 ? value * 10 + (**at - '0') : 9999;
    }
    *out = is_negative ? -value : value;
    return true;
}

/* A decimal number as f32, through f64: up to 17 digits are exact to half a unit of f32. False for anything else. */
static bool read_number(const char **at, const char *end, float *out) {
    const bool is_negative = *at < end && **at == '-';
    double value = 0;
    int shift = 0, exponent = 0;
    uint32_t n_digits = 0;
    bool is_behind_point = false;
    *at += *at < end && (**at == '-' || **at == '+') ? 1 : 0;
    for (; *at < end && (is_digit(**at) || (**at == '.' && !is_behind_point)); (*at)++) {
        if (**at == '.') {
            is_behind_point = true;
        } else {
            value = value * 10 + (**at - '0');
            shift -= is_behind_point ? 1 : 0;
            n_digits++;
        }
    }
    if (n_digits == 0 || n_digits > 60) {
        return false;
    }
    if (*at < end && (**at == 'e' || **at == 'E')) {
        (*at)++;
        if (!read_exponent(at, end, &exponent)) {
            return false;
        }
    }
    value = value == 0 ? 0 : value * pow(10, shift + exponent);
    *out = (float)(is_negative ? -value : value);
    return isfinite(*out) && (*at == end || is_blank(**at));
}

qn_status tensor10d_read(const char *text, uint64_t size, tensor10d *out, error_context *err) {
    float n[N_NUMBERS];
    const char *at = text, *const end = text + size;
    for (uint32_t i = 0; i < N_NUMBERS; i++) {
        while (at < end && is_blank(*at)) {
            at++;
        }
        const char *begin = at;
        if (!read_number(&at, end, &n[i])) {
            return FAIL(err, QN_BAD_INPUT, "column %llu: number %u of ten is missing or none; a point is ten decimal numbers "
                        "(q v w x y z t alpha mu sigma) with blanks or commas between", (unsigned long long)(begin - text) + 1, i + 1);
        }
    }
    while (at < end && is_blank(*at)) {
        at++;
    }
    if (at < end) {
        return FAIL(err, QN_BAD_INPUT, "column %llu: something follows the ten numbers of a point",
                    (unsigned long long)(at - text) + 1);
    }
    *out = (tensor10d){n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8], n[9]};
    return QN_OK;
}
