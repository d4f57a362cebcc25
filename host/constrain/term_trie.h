/* term_trie.h — the candidates of one slot by their complete sequences of tokens.
 *
 * Nodes lie in the order in which the tree is walked: the first child of a node is the next one, its sibling where its subtree ends.
 *
 * Threading: immutable after it is built. Memory: owned.
 */
#ifndef HOST_CONSTRAIN_TERM_TRIE_H
#define HOST_CONSTRAIN_TERM_TRIE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "constrain/sieve_candidates.h"
#include "text/tokenizer.h"

#define NO_CANDIDATE UINT32_MAX

typedef struct term_node {
    uint32_t token;      /* of the edge that leads here; the root has none */
    uint32_t end;        /* first node behind the subtree */
    uint32_t parent, depth;
    uint32_t candidate;  /* that is complete here, or NO_CANDIDATE */
} term_node;

typedef struct term_trie {
    term_node *nodes;    /* node 0 is the root */
    uint32_t n_nodes, deepest, widest; /* tokens of the longest candidate; most children of a node */
} term_trie;

static inline bool term_trie_has_children(const term_trie *trie, uint32_t node) {
    return trie->nodes[node].end > node + 1;
}

/* The child of `node` with this token, or 0. */
uint32_t term_trie_find(const term_trie *trie, uint32_t node, uint32_t token);

/* The sequence of a candidate is that of `separator` and its label, encoded together, so that it is what the tokenizer makes of the
 * text. QN_BAD_INPUT for a label that its tokens do not print; QN_LIMIT when the memory does not suffice. */
qn_status term_trie_create(const tokenizer *tok, const candidate_list *candidates, const char *separator, uint64_t *io_left, term_trie *out,
                           error_context *err);
void term_trie_destroy(term_trie *trie);

#endif
