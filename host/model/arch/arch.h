/* arch.h — what makes one architecture differ from another, as data.
 *
 * All supported architectures are pre-norm decoders with rotary positions, grouped heads and a gated feed-forward part;
 * they differ in the traits below. One file per family states its traits; decoder.c builds the program from them.
 *
 * Threading: constants.
 */
#ifndef HOST_ARCH_H
#define HOST_ARCH_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/hparams.h"

typedef struct arch_traits {
    const char *name;       /* value of general.architecture */
    uint32_t pairing;       /* QN_ROPE_* */
    uint32_t activation;    /* QN_GATED_* */
    bool has_qk_norm;       /* blk.N.attn_q_norm, attn_k_norm: RMS norm of each head before RoPE */
    bool needs_qkv_bias;    /* attn_q.bias, attn_k.bias, attn_v.bias must be there (otherwise used when there) */
    bool has_post_norms;    /* post_attention_norm and post_ffw_norm before each residual sum */
    bool has_shifted_norms; /* Hugging Face's files store norm weights less one; GGUF's do not */
    bool has_fused_qkv;     /* attn_qkv: rows of Q, then K, then V */
    bool has_fused_gate_up; /* ffn_up: rows of gate, then up */
    /* Facts that the architecture implies and no key tells; null when there are none. */
    void (*adjust)(hparams *h);
} arch_traits;

/* The traits of an architecture, or null. */
const arch_traits *arch_find(const char *name);

/* "llama, qwen2, …", for messages. */
const char *arch_names(void);

extern const arch_traits arch_llama, arch_qwen2, arch_qwen3, arch_gemma3, arch_phi3;

#endif
