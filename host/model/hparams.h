/* hparams.h — the hyper-parameters that a decoder is built from, checked.
 *
 * Threading: a value.
 * Memory:    no pointers; copied freely.
 * Errors:    the output is untouched when reading fails; the error names file, key and value.
 */
#ifndef HOST_HPARAMS_H
#define HOST_HPARAMS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/facts.h"

#define HPARAMS_MAX_LAYERS 1024u
#define HPARAMS_ARCH_SIZE 32

typedef uint32_t rope_scaling;
enum { ROPE_SCALING_NONE = 0, ROPE_SCALING_LINEAR = 1, ROPE_SCALING_YARN = 2, ROPE_SCALING_LONGROPE = 3 };

typedef struct hparams {
    char arch[HPARAMS_ARCH_SIZE]; /* "llama", "qwen2", … */
    uint32_t n_layer;    /* 1..HPARAMS_MAX_LAYERS */
    uint32_t n_embd;
    uint32_t n_head;     /* divides what it must: see hparams.c */
    uint32_t n_head_kv;
    uint32_t head_dim;   /* of K and Q */
    uint32_t value_dim;  /* of V */
    uint32_t n_ff;
    uint32_t n_vocab;    /* rows of the embedding; may be more than the tokenizer has */
    uint32_t n_ctx_train; /* 0 = not told */
    float rms_epsilon;

    uint32_t n_rot;
    float rope_base;
    rope_scaling scaling;
    float rope_factor;   /* 1 = none */
    float rope_attn_factor;
    float yarn_ext_factor, yarn_beta_fast, yarn_beta_slow;
    uint32_t n_ctx_orig; /* context before scaling; YaRN and longrope */

    uint32_t window;         /* 0 = full attention everywhere */
    uint32_t window_pattern; /* layer i is full when (i + 1) % pattern == 0; 0: all layers have the window */
    bool has_layer_list;     /* the file says it layer by layer: full_layers counts, not the pattern */
    uint32_t full_layers[HPARAMS_MAX_LAYERS / 32]; /* bit i: layer i looks back without a window */
    float rope_base_window;  /* base of windowed layers */
    bool is_window_unscaled; /* windowed layers take no part in the RoPE scaling */

    float attn_softcap, final_softcap; /* 0 = off */
    float attn_scale;        /* 1 / sqrt(head_dim) unless told otherwise */
    float embd_scale;        /* 1 = none */
} hparams;

/* Reads "ARCH.*" keys and checks them against each other. `n_vocab` comes from the embedding's rows. QN_BAD_FILE names
 * key and value; QN_UNSUPPORTED what this program does not run (experts, unknown scaling type). */
qn_status hparams_read(const facts *f, const char *arch, uint32_t n_vocab, hparams *out, error_context *err);

/* True when layer `layer` looks back only `window` positions. */
static inline bool hparams_is_windowed(const hparams *h, uint32_t layer) {
    const bool is_full = h->has_layer_list ? (h->full_layers[layer / 32] >> layer % 32 & 1) != 0
                                           : h->window_pattern != 0 && (layer + 1) % h->window_pattern == 0;
    return h->window > 0 && !is_full;
}

#endif
