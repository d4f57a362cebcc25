/* llama.c — Llama 2 and 3, Mistral, SmolLM2, TinyLlama: adjacent pairs, SiLU, no surprises. Converters to GGUF permute
 * the Q and K rows of half-split checkpoints, so adjacent is right for every file that says "llama". */
#include <stddef.h>

#include <quoin/ops.h>

#include "model/arch/arch.h"

const arch_traits arch_llama = {.name = "llama", .pairing = QN_ROPE_ADJACENT, .activation = QN_GATED_SILU};
