/* vector_kernels.h — element-wise ops, norms and rope. Included by one file per instruction set, after its simd header. */
#include "kernels.h"
#include "simd_math.h"

/* Runs BODY(load, store) over n elements: whole vectors, then the rest. */
#define FOR_LANES(n, FULL, PART)                         \
    do {                                                 \
        uint64_t i = 0;                                  \
        for (; i + 16 <= (n); i += 16) { FULL }          \
        if (i < (n)) { const uint32_t left = (uint32_t)((n) - i); PART } \
    } while (0)

static void add(const float *a, const float *b, float *y, uint64_t n) {
    FOR_LANES(n, vf_store(y + i, vf_add(vf_load(a + i), vf_load(b + i)));,
              vf_store_part(y + i, vf_add(vf_load_part(a + i, left), vf_load_part(b + i, left)), left););
}

static void scale(const float *x, float factor, float *y, uint64_t n) {
    const vf f = vf_set1(factor);
    FOR_LANES(n, vf_store(y + i, vf_mul(vf_load(x + i), f));, vf_store_part(y + i, vf_mul(vf_load_part(x + i, left), f), left););
}

SIMD_INLINE vf silu(vf gate, vf up) {
    const vf below = vf_add(vf_set1(1), exp_lanes(vf_sub(vf_set1(0), gate)));
    return vf_mul(vf_div(gate, below), up);
}

static void gated_silu(const float *gate, const float *up, float *y, uint64_t n) {
    FOR_LANES(n, vf_store(y + i, silu(vf_load(gate + i), vf_load(up + i)));,
              vf_store_part(y + i, silu(vf_load_part(gate + i, left), vf_load_part(up + i, left)), left););
}

SIMD_INLINE vf gelu(vf x, vf up) {
    const vf cube = vf_mul(vf_mul(x, x), vf_mul(x, vf_set1(0.044715f)));
    const vf t = tanh_lanes(vf_mul(vf_set1(0.797884561f), vf_add(x, cube)));
    return vf_mul(vf_mul(vf_mul(x, vf_set1(0.5f)), vf_add(vf_set1(1), t)), up);
}

static void gated_gelu(const float *gate, const float *up, float *y, uint64_t n) {
    FOR_LANES(n, vf_store(y + i, gelu(vf_load(gate + i), vf_load(up + i)));,
              vf_store_part(y + i, gelu(vf_load_part(gate + i, left), vf_load_part(up + i, left)), left););
}

SIMD_INLINE vf cap_lanes(vf x, vf cap) {
    return vf_mul(cap, tanh_lanes(vf_div(x, cap)));
}

static void softcap(const float *x, float cap, float *y, uint64_t n) {
    const vf c = vf_set1(cap);
    FOR_LANES(n, vf_store(y + i, cap_lanes(vf_load(x + i), c));, vf_store_part(y + i, cap_lanes(vf_load_part(x + i, left), c), left););
}

static void rms_norm(const float *x, const float *weight, float *y, uint32_t n, float epsilon) {
    vf sums[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
    FOR_LANES(n, const vf a = vf_load(x + i); sums[i / 16 % 4] = vf_fma(a, a, sums[i / 16 % 4]);,
              const vf a = vf_load_part(x + i, left); sums[0] = vf_fma(a, a, sums[0]););
    const float mean = vf_sum(vf_add(vf_add(sums[0], sums[1]), vf_add(sums[2], sums[3]))) / (float)n;
    const float below = sqrtf(mean + epsilon);
    const vf factor = vf_set1(below > 0 ? 1.0f / below : 0);
    FOR_LANES(n, vf_store(y + i, vf_mul(vf_mul(vf_load(x + i), factor), vf_load(weight + i)));,
              vf_store_part(y + i, vf_mul(vf_mul(vf_load_part(x + i, left), factor), vf_load_part(weight + i, left)), left););
}

static void rope_half(const float *x, const float *cos_sin, float *y, uint32_t head_dim, uint32_t n_rot) {
    const uint32_t half = n_rot / 2;
    const float *const sin = cos_sin + half;
    FOR_LANES(half,
              const vf a = vf_load(x + i); const vf b = vf_load(x + half + i);
              const vf c = vf_load(cos_sin + i); const vf s = vf_load(sin + i);
              vf_store(y + i, vf_fnma(b, s, vf_mul(a, c)));
              vf_store(y + half + i, vf_fma(a, s, vf_mul(b, c)));,
              const vf a = vf_load_part(x + i, left); const vf b = vf_load_part(x + half + i, left);
              const vf c = vf_load_part(cos_sin + i, left); const vf s = vf_load_part(sin + i, left);
              vf_store_part(y + i, vf_fnma(b, s, vf_mul(a, c)), left);
              vf_store_part(y + half + i, vf_fma(a, s, vf_mul(b, c)), left););
    if (head_dim > n_rot) {
        memcpy(y + n_rot, x + n_rot, (head_dim - n_rot) * sizeof *y);
    }
}

static void rope_adjacent(const float *x, const float *cos_sin, float *y, uint32_t head_dim, uint32_t n_rot) {
    const uint32_t half = n_rot / 2;
    for (uint32_t i = 0; i < half; i++) {
        const float a = x[2 * i];
        const float b = x[2 * i + 1];
        y[2 * i] = a * cos_sin[i] - b * cos_sin[half + i];
        y[2 * i + 1] = a * cos_sin[half + i] + b * cos_sin[i];
    }
    if (head_dim > n_rot) {
        memcpy(y + n_rot, x + n_rot, (head_dim - n_rot) * sizeof *y);
    }
}

static void to_f16(const float *x, uint16_t *y, uint64_t n) {
    FOR_LANES(n, vf_to_f16(y + i, vf_load(x + i));,
              uint16_t last[16]; vf_to_f16(last, vf_load_part(x + i, left)); memcpy(y + i, last, 2 * (size_t)left););
}

static void to_bf16(const float *x, uint16_t *y, uint64_t n) {
    FOR_LANES(n, vf_to_bf16(y + i, vf_load(x + i));,
              uint16_t last[16]; vf_to_bf16(last, vf_load_part(x + i, left)); memcpy(y + i, last, 2 * (size_t)left););
}

/* Rounds to the nearest whole number, halves away from zero, as roundf does. */
SIMD_INLINE vf round_away(vf x) {
    const vf size = vf_abs(x);
    const vf even = vf_round(size);
    return vf_copysign(vf_add(even, vf_keep_ge(vf_set1(1), vf_sub(size, even), 0.5f)), x);
}

static void to_q8_0(const float *x, uint8_t *y, uint64_t n) {
    for (uint64_t i = 0; i < n; i += 32, y += 34) {
        const vf a = vf_load(x + i);
        const vf b = vf_load(x + i + 16);
        const float scale = vf_max_lane(vf_max(vf_abs(a), vf_abs(b))) / 127.0f;
        const float inverse = scale > 0 && 1.0f / scale <= 3.40282347e38f ? 1.0f / scale : 0;
        uint16_t half[16];
        int8_t digits[32];
        vf_to_f16(half, vf_set1(scale));
        (void)vf_to_i8(digits, round_away(vf_mul(a, vf_set1(inverse))));
        (void)vf_to_i8(digits + 16, round_away(vf_mul(b, vf_set1(inverse))));
        memcpy(y, half, 2);
        memcpy(y + 2, digits, sizeof digits);
    }
}

void CPU_ISA(cpu_vector_install)(cpu_ops *ops) {
    ops->vector_isa = CPU_ISA_NAME;
    ops->rms_norm = rms_norm;
    ops->add = add;
    ops->scale = scale;
    ops->gated[QN_GATED_SILU] = gated_silu;
    ops->gated[QN_GATED_GELU_TANH] = gated_gelu;
    ops->softcap = softcap;
    ops->rope[QN_ROPE_ADJACENT] = rope_adjacent;
    ops->rope[QN_ROPE_HALF] = rope_half;
    ops->to_f16 = to_f16;
    ops->to_bf16 = to_bf16;
    ops->to_q8_0 = to_q8_0;
}
