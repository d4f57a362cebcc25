/* simd_math.h — exponential and hyperbolic tangent on sixteen lanes. Included after a simd header.
 *
 * exp(x) = 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2; exp(r) - 1 by its power series up to r^7 / 7!. The first term left
 * out, and with it the relative error of exp, is below 0.3466^8 / 8! * 1.05 = 5.5e-9 = 0.1 u; what remains is rounding (a few u). */
#ifndef CPU_SIMD_MATH_H
#define CPU_SIMD_MATH_H

typedef struct exp_parts {
    vf n;    /* whole */
    vf part; /* exp(r) - 1 */
} exp_parts;

SIMD_INLINE exp_parts split_exp(vf x) {
    exp_parts e;
    e.n = vf_round(vf_mul(x, vf_set1(1.44269504f)));
    vf r = vf_fnma(e.n, vf_set1(0.693359375f), x); /* ln 2 in two pieces; the product with the first is exact */
    r = vf_fnma(e.n, vf_set1(-2.12194440e-4f), r);
    vf p = vf_set1(1.0f / 5040);
    p = vf_fma(p, r, vf_set1(1.0f / 720));
    p = vf_fma(p, r, vf_set1(1.0f / 120));
    p = vf_fma(p, r, vf_set1(1.0f / 24));
    p = vf_fma(p, r, vf_set1(1.0f / 6));
    p = vf_fma(p, r, vf_set1(0.5f));
    p = vf_mul(p, r);
    e.part = vf_fma(p, r, r);
    return e;
}

/* e^x; 0 below -87, where the result would leave the normal numbers; about 1.7e38 above 88. */
SIMD_INLINE vf exp_lanes(vf x) {
    const vf clamped = vf_min(vf_max(x, vf_set1(-87.0f)), vf_set1(88.0f));
    const exp_parts e = split_exp(clamped);
    return vf_keep_ge(vf_scale2(vf_add(vf_set1(1), e.part), e.n), x, -87.0f);
}

/* tanh x = t / (t + 2) with t = e^2|x| - 1, which keeps its relative precision near 0. */
SIMD_INLINE vf tanh_lanes(vf x) {
    const vf a = vf_abs(x);
    const exp_parts e = split_exp(vf_min(vf_add(a, a), vf_set1(40.0f)));
    const vf two = vf_scale2(vf_set1(1), e.n);
    const vf t = vf_fma(two, e.part, vf_sub(two, vf_set1(1)));
    return vf_copysign(vf_div(t, vf_add(t, vf_set1(2))), x);
}

#endif
