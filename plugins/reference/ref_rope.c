/* ref_rope.c — ROPE: rotates pairs of each head by an angle that grows with the position. */
#include "ref_internal.h"

#include <math.h>

#define PI 3.14159265358979323846264338327950288

/* The pair whose wavelength fits `turns` times into the original context. */
static double find_pair(const qn_rope_attrs *attrs, double turns) {
    return attrs->n_rot * log(attrs->n_ctx_orig / (2 * PI * turns)) / (2 * log(attrs->base));
}

static double find_angle(const qn_rope_attrs *attrs, double theta, uint32_t pair) {
    if (attrs->ext_factor == 0) {
        return theta * attrs->freq_scale;
    }
    const double low = floor(find_pair(attrs, attrs->beta_fast)), high = ceil(find_pair(attrs, attrs->beta_slow));
    const double start = low < 0 ? 0 : low, end = high > attrs->n_rot - 1 ? attrs->n_rot - 1 : high;
    const double width = end - start < 0.001 ? 0.001 : end - start;
    const double place = (pair - start) / width;
    const double ramp = 1 - (place < 0 ? 0 : place > 1 ? 1 : place);
    const double mix = ramp * attrs->ext_factor;
    return theta * attrs->freq_scale * (1 - mix) + theta * mix;
}

static double find_magnitude(const qn_rope_attrs *attrs) {
    const double yarn = attrs->ext_factor == 0 ? 1 : 1 + 0.1 * log(1 / (double)attrs->freq_scale);
    return attrs->attn_factor * yarn;
}

static void rotate_pair(const ref_call *call, uint64_t row, uint32_t pair, double angle, double magnitude) {
    const qn_rope_attrs *attrs = call->attrs;
    const uint32_t i = attrs->pairing == QN_ROPE_HALF ? pair : 2 * pair;
    const uint32_t j = attrs->pairing == QN_ROPE_HALF ? pair + attrs->n_rot / 2 : 2 * pair + 1;
    const double cosine = magnitude * cos(angle), sine = magnitude * sin(angle);
    for (uint32_t head = 0; head < attrs->n_head; head++) {
        const float *x = ref_row(&call->in[0], row) + (uint64_t)head * attrs->head_dim;
        float *y = ref_row(&call->out, row) + (uint64_t)head * attrs->head_dim;
        const double a = x[i], b = x[j];
        y[i] = (float)(a * cosine - b * sine);
        y[j] = (float)(a * sine + b * cosine);
    }
}

void ref_rope(const ref_call *call) {
    const qn_rope_attrs *attrs = call->attrs;
    const float *factors = call->n_inputs == 2 ? (const float *)call->in[1].data + call->in[1].first_element : NULL;
    const double magnitude = find_magnitude(attrs);
    for (uint32_t t = 0; t < call->step->n_tokens; t++) {
        memcpy(ref_row(&call->out, t), ref_row(&call->in[0], t), call->out.n_columns * sizeof(float));
        for (uint32_t pair = 0; pair < attrs->n_rot / 2; pair++) {
            const double theta = call->step->positions[t] * pow(attrs->base, -2.0 * pair / attrs->n_rot);
            rotate_pair(call, t, pair, find_angle(attrs, factors == NULL ? theta : theta / factors[pair], pair), magnitude);
        }
    }
}
