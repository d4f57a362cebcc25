/* layer_oracle.h — the first layer of a real model in 64-bit scalar code, from the container's bytes to logits.
 *
 *     token ─ embed ─ norm ─ q,k,v (+ bias) ─ rope ─ write k,v ─ attention over the cache ─ output ─ + ─ norm ─ gate,up ─ silu ─ down ─ + ─ norm ─ logits
 *
 * The container is read by raw_container.h and its blocks are decoded by the conformance suite's oracle: no line is shared with what is judged, so
 * a matrix that both sides would read across is seen. Only the kinds of models are known that this graph is right for.
 *
 * Threading: one thread at a time per oracle.
 * Memory:    owned by the oracle until layer_oracle_destroy; the container is borrowed.
 */
#ifndef HOST_CERTIFY_LAYER_ORACLE_H
#define HOST_CERTIFY_LAYER_ORACLE_H
#include <stdbool.h>

#include <quoin/program.h>
#include <quoin/span.h>

#include "base/error.h"

typedef struct layer_oracle layer_oracle;

/* What a container does not hold. */
typedef struct layer_facts {
    double epsilon;
    bool pairs_are_adjacent; /* RoPE turns elements 2i and 2i + 1; otherwise i and i + half */
    qn_format state_format;  /* of the cache: F16, BF16 or F32 */
    uint32_t n_positions;    /* room of the cache; >= 1 */
} layer_facts;

/* QN_BAD_FILE names the tensor that is missing or misshapen; QN_UNSUPPORTED, that this graph is not right for the model. */
qn_status layer_oracle_create(fmt_span container, const layer_facts *facts, layer_oracle **out, error_context *err);
void layer_oracle_destroy(layer_oracle *oracle); /* null is legal */

uint32_t layer_oracle_n_vocab(const layer_oracle *oracle);
/* Takes the token at the next position. logits: [n_vocab]. QN_LIMIT when there is no room, or no such token. */
qn_status layer_oracle_step(layer_oracle *oracle, uint32_t token, double *logits, error_context *err);

#endif
