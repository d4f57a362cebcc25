/* oracle.c — each op of ops.h in 64-bit arithmetic, with the bound that its sheet grants. */
#include "oracle.h"

#include <math.h>
#include <stddef.h>

#define PI 3.14159265358979323846264338327950288

static double elem_bound(double want, double units) {
    return units * ORACLE_U * fabs(want) + 0x1p-60;
}

/* Half a step of 8-bit quantisation of each block of 32 of x, weighed with |w|. */
static double act8_bound(const float *w, const float *x, uint32_t k) {
    double sum = 0;
    for (uint32_t begin = 0; begin < k; begin += 32) {
        const uint32_t end = begin + 32 < k ? begin + 32 : k;
        double most = 0, weight = 0;
        for (uint32_t i = begin; i < end; i++) {
            most = fmax(most, fabs((double)x[i]));
            weight += fabs((double)w[i]);
        }
        sum += most / 127 / 2 * weight;
    }
    return sum;
}

/* Sum of w x and of |w x|, in eight lanes so that it takes no more time than it must. */
static double dot(const float *w, const float *x, uint32_t k, double *out_size) {
    double sums[8] = {0}, sizes[8] = {0}, sum = 0, size = 0;
    uint32_t i = 0;
    for (; i + 8 <= k; i += 8) {
        for (uint32_t lane = 0; lane < 8; lane++) {
            const double product = (double)w[i + lane] * x[i + lane];
            sums[lane] += product;
            sizes[lane] += fabs(product);
        }
    }
    for (uint32_t lane = 0; lane < 8; lane++) {
        sum += sums[lane];
        size += sizes[lane];
    }
    for (; i < k; i++) {
        sum += (double)w[i] * x[i];
        size += fabs((double)w[i] * x[i]);
    }
    *out_size = size;
    return sum;
}

void oracle_matmul(const float *weights, const float *x, const float *bias, uint32_t t, uint32_t n, uint32_t k,
                   int is_act8, double *want, double *bound) {
    for (uint32_t row = 0; row < t; row++) {
        for (uint32_t out = 0; out < n; out++) {
            const float *w = weights + (size_t)out * k, *in = x + (size_t)row * k;
            const double added = bias == NULL ? 0 : bias[out];
            double size;
            want[(size_t)row * n + out] = added + dot(w, in, k, &size);
            bound[(size_t)row * n + out] = (2 * sqrt(k) + 8) * ORACLE_U * (size + fabs(added))
                                           + (is_act8 ? act8_bound(w, in, k) : 0);
        }
    }
}

void oracle_rms_norm(const float *x, const float *weight, uint32_t t, uint32_t n, const qn_rms_norm_attrs *attrs,
                     double *want, double *bound) {
    const uint64_t total = (uint64_t)t * n;
    for (uint64_t begin = 0; begin < total; begin += attrs->group) {
        double squares = 0;
        for (uint32_t i = 0; i < attrs->group; i++) {
            squares += (double)x[begin + i] * x[begin + i];
        }
        const double root = sqrt(squares / attrs->group + attrs->epsilon);
        for (uint32_t i = 0; i < attrs->group; i++) {
            want[begin + i] = root == 0 ? 0 : x[begin + i] / root * weight[i];
            bound[begin + i] = elem_bound(want[begin + i], 32);
        }
    }
}

/* --- RoPE --------------------------------------------------------------------------------------------------------- */

static double yarn_corner(const qn_rope_attrs *attrs, double beta) {
    return attrs->n_rot * log(attrs->n_ctx_orig / (2 * PI * beta)) / (2 * log(attrs->base));
}

static double rope_angle(const qn_rope_attrs *attrs, const float *factors, int32_t position, uint32_t pair) {
    const double theta = position * pow(attrs->base, -2.0 * pair / attrs->n_rot)
                         / (factors == NULL ? 1.0 : factors[pair]);
    if (attrs->ext_factor == 0) {
        return theta * attrs->freq_scale;
    }
    const double start = fmax(0, floor(yarn_corner(attrs, attrs->beta_fast)));
    const double end = fmin(attrs->n_rot - 1.0, ceil(yarn_corner(attrs, attrs->beta_slow)));
    const double ramp = 1 - fmin(1, fmax(0, (pair - start) / fmax(0.001, end - start)));
    const double mix = ramp * attrs->ext_factor;
    return theta * attrs->freq_scale * (1 - mix) + theta * mix;
}

static double rope_magnitude(const qn_rope_attrs *attrs) {
    const double m = attrs->attn_factor;
    return attrs->ext_factor == 0 ? m : m * (1 + 0.1 * log(1 / (double)attrs->freq_scale));
}

static void rotate_head(const float *x, const float *factors, int32_t position, const qn_rope_attrs *attrs,
                        double *want, double *bound) {
    const double m = rope_magnitude(attrs);
    const uint32_t half = attrs->n_rot / 2;
    for (uint32_t pair = 0; pair < half; pair++) {
        const uint32_t i = attrs->pairing == QN_ROPE_HALF ? pair : 2 * pair;
        const uint32_t j = attrs->pairing == QN_ROPE_HALF ? pair + half : 2 * pair + 1;
        const double angle = rope_angle(attrs, factors, position, pair);
        const double a = x[i], b = x[j];
        want[i] = m * (a * cos(angle) - b * sin(angle));
        want[j] = m * (a * sin(angle) + b * cos(angle));
        bound[i] = bound[j] = (16 + 4 * fabs(angle)) * ORACLE_U * fmax(1, fabs(m)) * (fabs(a) + fabs(b));
    }
    for (uint32_t i = attrs->n_rot; i < attrs->head_dim; i++) {
        want[i] = x[i];
        bound[i] = 0;
    }
}

void oracle_rope(const float *x, const float *factors, const int32_t *positions, uint32_t t, const qn_rope_attrs *attrs,
                 double *want, double *bound) {
    for (uint32_t row = 0; row < t; row++) {
        for (uint32_t head = 0; head < attrs->n_head; head++) {
            const size_t at = ((size_t)row * attrs->n_head + head) * attrs->head_dim;
            rotate_head(x + at, factors, positions[row], attrs, want + at, bound + at);
        }
    }
}

/* --- Attention ---------------------------------------------------------------------------------------------------- */

static double attention_score(const float *q, const float *k, const qn_attention_attrs *attrs, double *size) {
    double dot = 0, absolute = 0;
    for (uint32_t i = 0; i < attrs->head_dim; i++) {
        dot += (double)q[i] * k[i];
        absolute += fabs((double)q[i] * k[i]);
    }
    *size = fmax(*size, fabs(attrs->scale) * absolute);
    const double score = attrs->scale * dot;
    return attrs->softcap > 0 ? attrs->softcap * tanh(score / attrs->softcap) : score;
}

static void attend_head(const float *q, const float *k, const float *v, uint32_t n, uint32_t kv_head,
                        const qn_attention_attrs *attrs, double rounding, int is_act8, double *want, double *bound) {
    const size_t k_row = (size_t)attrs->n_kv_head * attrs->head_dim,
                 v_row = (size_t)attrs->n_kv_head * attrs->value_dim;
    const float *k_head = k + (size_t)kv_head * attrs->head_dim, *v_head = v + (size_t)kv_head * attrs->value_dim;
    double most = -INFINITY, total = 0, size = 0, quantised = 0;
    for (uint32_t c = 0; c < n; c++) {
        most = fmax(most, attention_score(q, k_head + c * k_row, attrs, &size));
        quantised = is_act8 ? fmax(quantised, fabs(attrs->scale) * act8_bound(k_head + c * k_row, q, attrs->head_dim)) : 0;
    }
    for (uint32_t i = 0; i < attrs->value_dim; i++) {
        want[i] = bound[i] = 0;
    }
    for (uint32_t c = 0; c < n; c++) {
        const double p = exp(attention_score(q, k_head + c * k_row, attrs, &size) - most);
        total += p;
        for (uint32_t i = 0; i < attrs->value_dim; i++) {
            want[i] += p * v_head[c * v_row + i];
            bound[i] += p * fabs((double)v_head[c * v_row + i]);
        }
    }
    const double score_error = ((2 * sqrt(attrs->head_dim) + 8) * ORACLE_U + rounding) * size + quantised;
    const double units = (4 * sqrt(n) + 16) * ORACLE_U + 2 * rounding + 2 * score_error;
    for (uint32_t i = 0; i < attrs->value_dim; i++) {
        want[i] /= total;
        bound[i] *= units / total;
    }
}

void oracle_attention(const float *q, const float *k, const float *v, uint32_t n, const qn_attention_attrs *attrs,
                      double rounding, int is_act8, double *want, double *bound) {
    const uint32_t share = attrs->n_head / attrs->n_kv_head;
    for (uint32_t head = 0; head < attrs->n_head; head++) {
        attend_head(q + (size_t)head * attrs->head_dim, k, v, n, head / share, attrs, rounding, is_act8,
                    want + (size_t)head * attrs->value_dim, bound + (size_t)head * attrs->value_dim);
    }
}

/* --- Element by element ------------------------------------------------------------------------------------------- */

void oracle_add(const float *a, const float *b, uint64_t n, uint64_t b_period, double *want, double *bound) {
    for (uint64_t i = 0; i < n; i++) {
        want[i] = (double)a[i] + b[b_period == 0 ? i : i % b_period];
        bound[i] = elem_bound(want[i], 16);
    }
}

void oracle_scale(const float *x, uint64_t n, float factor, double *want) {
    for (uint64_t i = 0; i < n; i++) {
        want[i] = (double)x[i] * factor;
    }
}

static double gate_value(double x, uint32_t kind) {
    if (kind == QN_GATED_SILU) {
        return x / (1 + exp(-x));
    }
    return x / 2 * (1 + tanh(sqrt(2 / PI) * (x + 0.044715 * x * x * x)));
}

void oracle_gated(const float *gate, const float *up, uint64_t n, uint32_t kind, double *want, double *bound) {
    for (uint64_t i = 0; i < n; i++) {
        want[i] = gate_value(gate[i], kind) * up[i];
        bound[i] = 32 * ORACLE_U * fabs(want[i]) + 8 * ORACLE_U * fabs((double)gate[i] * up[i]) + 0x1p-60;
    }
}

void oracle_softcap(const float *x, uint64_t n, float cap, double *want, double *bound) {
    for (uint64_t i = 0; i < n; i++) {
        want[i] = cap * tanh((double)x[i] / cap);
        bound[i] = elem_bound(want[i], 16);
    }
}
