/* phi.c — Phi-3 and Phi-4 mini: Q, K and V in one matrix, gate and up in another; long-context files bring factor
 * tensors. */
#include <stddef.h>

#include <quoin/ops.h>

#include "model/arch/arch.h"

const arch_traits arch_phi3 = {.name = "phi3",
                               .pairing = QN_ROPE_HALF,
                               .activation = QN_GATED_SILU,
                               .has_fused_qkv = true,
                               .has_fused_gate_up = true};
