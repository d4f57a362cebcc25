/* ops.h — the op sheets: what each op of ops.def means, to the last rounding that a test may ask for.
 *
 * Notation: x[t][i] is element i of row t; T = TOKENS, rows are outermost. All arithmetic is described on real numbers; a
 * plugin of class F32ACC computes with f32 inputs and f32 or wider accumulation. Where a sheet says T, the rows of MATMUL, ADD,
 * SCALE, RMS_NORM, GATED and SOFTCAP may as well be OUTPUTS, the same in all operands; for the other ops rows are tokens.
 * Row operands have rank 2, ids and row numbers rank 1, both given by the host as input buffers.
 *
 * Bounds (u = 2^-24; the reference value is computed in 64 bits)
 *   exact  bit for bit
 *   elem   |y - ref| <= 16 u |ref| + 2^-60 unless the sheet says otherwise
 *   dot    |y - ref| <= (2 sqrt(K) + 8) u (sum|w x| + |bias|), and for class ACT8 also + sum over blocks of 32 of (s/2) sum|w|,
 *          where s = max|x| / 127 of the block
 *   attn   |y - ref| <= ((4 sqrt(n) + 16) u + 2 r + 2 e) sum p|v|, where n = visible cells, p = the weights of the softmax,
 *          r = half the spacing at 1 of the state's format (F32 0, F16 2^-11, BF16 2^-8, Q8_0 0), and e is what a score may be
 *          off: e = ((2 sqrt(head_dim) + 8) u + r) max over cells of |scale| sum|q k|, and for class ACT8 with k in Q8_0 also + max over
 *          cells of |scale| sum over blocks of 32 of (s/2) sum|k|, s = max|q| / 127 of the block. ref is computed from the state as stored.
 *
 * Small numbers: a result whose size is below 2^-126 may be 0, whatever the bound: many devices take such numbers for zero. Ops that
 * copy (SELECT_ROWS, the elements that ROPE does not turn) keep them.
 *
 * A NaN or infinity in an input gives an unspecified value in the outputs that depend on it and leaves others alone.
 *
 * Since: 0.0
 */
#ifndef QUOIN_OPS_H
#define QUOIN_OPS_H
#include <quoin/program.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) QN_OP_##NAME = number,
#include <quoin/ops.def>
#undef QN_OP
    QN_OP_END_ = 65535
};

/* EMBED — rows of a table.
 *   Inputs   table [n_vocab][n_embd] weight, any format · ids [T] I32
 *   Output   y [T][n_embd] F32
 *   Meaning  y[t] = decode(table row ids[t])
 *   Bound    exact: the decoded values of formats.def
 *   Edge     an id outside [0, n_vocab) makes the step fail with BAD_ARG before anything is written
 *   Note     the same weight buffer may be the weight of a MATMUL (tied output); it is bound once. */

/* MATMUL — y = W x (+ bias).
 *   Inputs   W [N][K] weight, any format · x [T][K] F32 · bias [N] F32 weight, optional
 *   Output   y [T][N] F32
 *   Meaning  y[t][n] = sum_k W[n][k] x[t][k] + bias[n]
 *   Precision  F32ACC: W decoded exactly, products and sums in f32 or wider, any order. ACT8: x is first quantised to 8 bits
 *              in blocks of 32 along K with one scale each.
 *   Bound    dot
 *   Edge     K and N are at least 1; K is a multiple of the format's block (TERNARY: any K, rows are packed without a gap). */

/* ADD — y = a + b, element by element.   Inputs a, b [T][n] F32 (b may also be a weight [n] F32: added to each row)
 *   Output y [T][n].   Aliasing: a plugin may let y share storage with an input that is dead afterwards.   Bound elem */

/* SCALE — y = factor * x.   Input x [T][n] F32.   Output y [T][n].   Bound exact: one f32 product. */
typedef struct qn_scale_attrs {
    uint32_t size;
    float factor;
} qn_scale_attrs;

/* RMS_NORM — normalise groups of a row by their root mean square.
 *   Inputs   x [T][n] F32 · weight [group] F32 weight
 *   Output   y [T][n] F32
 *   Attrs    group: elements that are normalised together; n is a multiple of it (a whole row: group = n; per head: head_dim)
 *   Meaning  y = x / sqrt(mean(x^2) + epsilon) * weight, mean over the group
 *   Bound    elem with 32 u: the mean is accumulated in f32 lanes or wider
 *   Edge     an all-zero group gives zeros when epsilon > 0. epsilon >= 0. */
typedef struct qn_rms_norm_attrs {
    uint32_t size;
    uint32_t group;
    float epsilon;
    uint32_t reserved;
} qn_rms_norm_attrs;

/* ROPE — rotary position embedding.
 *   Inputs   x [T][n_head * head_dim] F32 · factors [n_rot / 2] F32 weight, optional
 *   Output   y, the same shape; elements of a head beyond n_rot are copied
 *   Meaning  for pair i in [0, n_rot / 2) of every head, with p the token's position (qn_step.positions):
 *              theta = p * base^(-2 i / n_rot) / factors[i]            (factors 1 when absent)
 *              adjacent pairing rotates (x[2i], x[2i+1]); half pairing (x[i], x[i + n_rot/2])
 *            Linear scaling: angle = theta * freq_scale.
 *            YaRN (ext_factor != 0): low(b) = n_rot ln(n_ctx_orig / (2 pi b)) / (2 ln base);
 *              start = max(0, floor(low(beta_fast))), end = min(n_rot - 1, ceil(low(beta_slow)));
 *              ramp = 1 - clamp((i - start) / max(0.001, end - start), 0, 1), mix = ramp * ext_factor;
 *              angle = theta * freq_scale * (1 - mix) + theta * mix;
 *              magnitude m = attn_factor * (1 + 0.1 ln(1 / freq_scale)); without YaRN m = attn_factor.
 *            (a, b) becomes (m (a cos - b sin), m (a sin + b cos)).
 *   Bound    |y - ref| <= (16 u + 4 u |angle|) max(1, |m|) (|a| + |b|): the angle is formed in f32 or wider
 *   Edge     n_rot even, <= head_dim; p >= 0. */
enum { QN_ROPE_ADJACENT = 0, QN_ROPE_HALF = 1 };
typedef struct qn_rope_attrs {
    uint32_t size;
    uint32_t n_head;
    uint32_t head_dim;
    uint32_t n_rot;
    uint32_t pairing;      /* QN_ROPE_* */
    uint32_t n_ctx_orig;   /* YaRN only */
    float base;            /* > 0 */
    float freq_scale;      /* 1 = none; linear scaling by a factor f has 1 / f */
    float ext_factor;      /* YaRN mix, 0 = off */
    float attn_factor;     /* 1 = none */
    float beta_fast, beta_slow; /* YaRN only */
} qn_rope_attrs;

/* STATE_WRITE — store one row per token in the cells of this step.
 *   Inputs   x [T][n] F32 · state [CELLS][n]
 *   Meaning  state[cells[t]] = x[t] for every t, rounded to nearest even to the state's format. Q8_0, per block of 32: d = max|x| / 127,
 *            stored as f16 to nearest even; digits x * (1 / d) with the d before that, each operation rounded to f32, then to the
 *            nearest whole number, halves away from zero. Digits are 0 where d is 0 or 1 / d no finite f32; the content of a block is
 *            unspecified where a value is not finite or d too large for f16.
 *   Order    it is a write: later ops of the program see it. A state buffer is written by one op only.
 *   Bound    exact */

/* ATTENTION — softmax attention over the visible cells of a sequence, grouped heads.
 *   Inputs   q [T][n_head * head_dim] F32 · k state [CELLS][n_kv_head * head_dim] · v state [CELLS][n_kv_head * value_dim]
 *   Output   y [T][n_head * value_dim] F32
 *   Meaning  head h uses K/V head h / (n_head / n_kv_head). For a token at position p the visible cells are those of its
 *            sequence's spans with position c <= p and, when window > 0, p - c < window.
 *            s_c = scale * (q . k_c); if softcap > 0: s_c = softcap * tanh(s_c / softcap); y = sum_c softmax(s)_c v_c
 *   Precision  q is f32 (rounding it to the state's format is allowed when that is F16 or BF16 and is what r stands for; ACT8 allows to
 *            quantise it when k is Q8_0 and not otherwise).
 *   Bound    attn
 *   Edge     at least the token's own cell is visible. */
typedef struct qn_attention_attrs {
    uint32_t size;
    uint32_t n_head;
    uint32_t n_kv_head;    /* divides n_head */
    uint32_t head_dim;
    uint32_t value_dim;
    uint32_t window;       /* 0 = all */
    float scale;
    float softcap;         /* 0 = off */
} qn_attention_attrs;

/* GATED — y = f(gate) * up.   Inputs gate, up [T][n] F32.   Output y [T][n].
 *   SILU: f(x) = x / (1 + e^-x).   GELU_TANH: f(x) = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
 *   Bound    |y - ref| <= 32 u |ref| + 8 u |x up| + 2^-60 (the tail of f cancels) */
enum { QN_GATED_SILU = 0, QN_GATED_GELU_TANH = 1 };
typedef struct qn_gated_attrs {
    uint32_t size;
    uint32_t kind;         /* QN_GATED_* */
} qn_gated_attrs;

/* SOFTCAP — y = cap * tanh(x / cap).   Input x [T][n] F32.   Output y.   Bound elem. */
typedef struct qn_softcap_attrs {
    uint32_t size;
    float cap;             /* > 0 */
} qn_softcap_attrs;

/* SELECT_ROWS — y[o] = x[rows[o]].   Inputs x [T][n] F32 · rows [OUTPUTS] I32, each in [0, T).   Output y [OUTPUTS][n].
 *   Bound exact. With no outputs asked for, ops behind it have nothing to do. */

#ifdef __cplusplus
}
#endif
#endif
