/* stack.h — small decoders of random weights in the layer families of language models, out of ops alone.
 *
 *     stack s;
 *     stack_init(&s, ctx, &stack_families[0], &(stack_shape){…}, salt);
 *     rig_open(&r, ctx, &backend, &s.m, &limits, 0);       limits: stack_limits
 *     stack_free(&s);
 *
 * Every family reads ids and rows, writes logits [OUTPUTS][n_vocab], and differs in what stands between: see
 * stack_family.
 *
 * Threading: one thread at a time per object. Memory: owned by the stack until stack_free.
 */
#ifndef CONFORM_STACK_H
#define CONFORM_STACK_H
#include "op_model.h"

typedef struct stack_family {
    const char *name;
    uint32_t pairing;             /* QN_ROPE_* */
    uint32_t activation;          /* QN_GATED_* */
    bool has_qkv_bias;
    bool has_qk_norm;             /* per head, before RoPE */
    bool has_post_norms;          /* behind attention and feed-forward, before the sum */
    bool has_fused_rows;          /* Q, K and V are rows of one tensor, gate and up of another */
    bool has_factors;             /* RoPE with a factor for each pair */
    bool is_tied;                 /* the output matrix is the embedding */
    uint32_t full_every;          /* 0: all layers see everything; n: only each n-th, the others a window */
    bool is_yarn;
    float embed_scale;            /* 0: none */
    float attn_softcap, final_softcap; /* 0: none */
    uint32_t n_rot_of;            /* n_rot = head_dim / this */
} stack_family;

/* llama, qwen2, qwen3, gemma2, gemma3, phi3, and one that has everything. */
extern const stack_family stack_families[];
extern const uint32_t stack_n_families;
/* The last of them. */
const stack_family *stack_family_of_everything(void);

#define STACK_MOST_FORMATS 12

typedef struct stack_shape {
    uint32_t n_layer, n_embd, n_ff, n_head, n_kv_head, head_dim, n_vocab;
    uint32_t window;              /* of the layers that do not see everything */
    qn_format state_format;
    qn_format formats[STACK_MOST_FORMATS]; /* of the matrices, in turn */
    uint32_t n_formats;
} stack_shape;

/* A shape that suits every weight format: 256 wide, 4 heads of 64, 2 of K and V. */
stack_shape stack_small_shape(uint32_t n_layer, qn_format format, qn_format state_format);
/* The same with the formats of decode-core-0 in turn. */
stack_shape stack_mixed_shape(uint32_t n_layer);

typedef struct stack {
    op_model m;
    const stack_family *family;
    stack_shape shape;
    uint32_t ids, rows, logits;   /* buffers */
} stack;

void stack_init(stack *self, cf_context *ctx, const stack_family *family, const stack_shape *shape, uint64_t salt);
void stack_free(stack *self);

/* Two groups where some layers have a window, otherwise one. */
uint32_t stack_groups(const stack *self);

#endif
