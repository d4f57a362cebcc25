/* qwen.c — Qwen2 (and 2.5): biases on Q, K and V. Qwen3: no biases, but a norm on each head of Q and K. */
#include <stddef.h>

#include <quoin/ops.h>

#include "model/arch/arch.h"

const arch_traits arch_qwen2 = {
    .name = "qwen2", .pairing = QN_ROPE_HALF, .activation = QN_GATED_SILU, .needs_qkv_bias = true};

const arch_traits arch_qwen3 = {
    .name = "qwen3", .pairing = QN_ROPE_HALF, .activation = QN_GATED_SILU, .has_qk_norm = true};
