/* certify.h — a backend compared with arithmetic that shares no line with it: one real layer against the oracle, and greedy tokens against
 * the reference backend.
 *
 * Passing says something about the graph that was tested, on this device with this driver, and nothing about others.
 *
 * Threading: one thread at a time.
 * Memory:    freed before the call returns.
 */
#ifndef HOST_CERTIFY_H
#define HOST_CERTIFY_H
#include "decode/plan.h"

typedef struct certify_comparison {
    bool was_made, has_passed;
    char reason[256];         /* why it was not made, or what first failed; "" otherwise */
    uint64_t n_compared;      /* values, or tokens */
    double max_abs, max_rel;  /* relative to the greater of |reference| and the reference's root mean square */
    double tol_abs, tol_rel;  /* a value holds when it is inside one of the two */
    uint32_t n_different;     /* tokens, of certify_greedy */
    double least_margin;      /* of the reference's choices that differ: best logit less the next; 0 without */
    uint32_t shape[6];        /* of the layer: n_embd, n_head, n_kv_head, head_dim, n_ff, n_vocab */
} certify_comparison;

typedef struct certify_options {
    uint32_t numeric;         /* QN_NUMERIC_*; 0: what the backend chooses */
    qn_format state_format;
    uint32_t n_positions;     /* of the layer; 0: 6 */
    uint32_t n_tokens;        /* of the greedy run; 0: 16 */
    uint64_t seed;            /* of the token ids that are fed */
} certify_options;

/* A program with the model's first layer alone, from tokens to logits, position by position and then once as one prompt: K and V are projected,
 * written to the cache and read again. A model that the oracle does not know leaves was_made false. */
qn_status certify_layer(const model *m, const backend *on, const certify_options *options, certify_comparison *out, error_context *err);

/* The whole model: tokens that the reference chooses greedily are fed to both, and each choice and all logits are compared. */
qn_status certify_greedy(const model *m, const backend *on, const backend *reference, const certify_options *options,
                         certify_comparison *out, error_context *err);

#endif
