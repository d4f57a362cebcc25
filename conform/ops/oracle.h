/* oracle.h — the op sheets of ops.h once more, in 64-bit scalar code that shares nothing with any plugin.
 *
 * Each function computes for every output element the value `want` and the `bound` of its sheet: |y - want| <= bound.
 * Weights come decoded to f32. Rows are outermost; T rows.
 *
 * Threading: pure functions. Memory: the caller's.
 */
#ifndef CONFORM_ORACLE_H
#define CONFORM_ORACLE_H
#include <stdint.h>

#include <quoin/ops.h>

/* 2^-24, half the distance between 1 and the next f32. */
#define ORACLE_U 0x1p-24

/* weights [n][k], x [t][k], bias [n] or null; is_act8: x may be quantised in blocks of 32. want, bound [t][n]. */
void oracle_matmul(const float *weights, const float *x, const float *bias, uint32_t t, uint32_t n, uint32_t k,
                   int is_act8, double *want, double *bound);

/* weight [group]. */
void oracle_rms_norm(const float *x, const float *weight, uint32_t t, uint32_t n, const qn_rms_norm_attrs *attrs,
                     double *want, double *bound);

/* factors [n_rot / 2] or null; positions [t]. */
void oracle_rope(const float *x, const float *factors, const int32_t *positions, uint32_t t, const qn_rope_attrs *attrs,
                 double *want, double *bound);

/* One token: q [n_head * head_dim]; the visible cells, k [n][n_kv_head * head_dim], v [n][n_kv_head * value_dim], as
 * stored and decoded; rounding: half the spacing at 1 of the state's format, 0 for F32; is_act8: the query may be
 * quantised. want, bound [n_head * value_dim]. */
void oracle_attention(const float *q, const float *k, const float *v, uint32_t n, const qn_attention_attrs *attrs,
                      double rounding, int is_act8, double *want, double *bound);

/* n elements each. b_period: 0, or b repeats after that many elements. */
void oracle_add(const float *a, const float *b, uint64_t n, uint64_t b_period, double *want, double *bound);
void oracle_scale(const float *x, uint64_t n, float factor, double *want);
void oracle_gated(const float *gate, const float *up, uint64_t n, uint32_t kind, double *want, double *bound);
void oracle_softcap(const float *x, uint64_t n, float cap, double *want, double *bound);

#endif
