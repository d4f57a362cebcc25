/* gemma.c — Gemma 3: embeddings scaled by sqrt(width), norms before and after each part, head norms on Q and K, five
 * windowed layers to each full one, and another RoPE base without scaling for the windowed ones. */
#include <math.h>
#include <stddef.h>

#include <quoin/ops.h>

#include "model/arch/arch.h"

/* The 27B model alone scales its queries by the width per head instead of the head size; no key says so, the layer
 * count does. */
#define LAYERS_OF_27B 62u

static void adjust_gemma3(hparams *h) {
    h->embd_scale = sqrtf((float)h->n_embd);
    h->is_window_unscaled = true;
    if (h->window_pattern == 0) {
        h->window_pattern = 6;
    }
    if (h->rope_base_window == h->rope_base) {
        h->rope_base_window = 10000.0f;
    }
    if (h->n_layer == LAYERS_OF_27B) {
        h->attn_scale = 1.0f / sqrtf((float)h->n_embd / (float)h->n_head);
    }
}

const arch_traits arch_gemma3 = {.name = "gemma3",
                                 .pairing = QN_ROPE_HALF,
                                 .activation = QN_GATED_GELU_TANH,
                                 .has_qk_norm = true,
                                 .has_post_norms = true,
                                 .has_shifted_norms = true,
                                 .adjust = adjust_gemma3};
