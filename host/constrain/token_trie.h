/* token_trie.h — all tokens of a vocabulary by the bytes that they print, as one tree in the order in which it is walked.
 *
 *     node   1    2    3    4        byte of the edge that leads to it, how deep it lies, and where its subtree ends:
 *     edge   a    b    c    x        whoever may not take the edge goes on there
 *     depth  1    2    2    1
 *     end    4    3    4    5
 *
 * Tokens that print nothing (control tokens, the unknown token) are not in it.
 *
 * Threading: immutable after it is built.
 * Memory:    owned; about 12 bytes a node and 4 a token.
 */
#ifndef HOST_CONSTRAIN_TOKEN_TRIE_H
#define HOST_CONSTRAIN_TOKEN_TRIE_H
#include <stdint.h>

#include "base/error.h"
#include "text/tokenizer.h"

#define TOKEN_TRIE_MAX_DEPTH 65535u

typedef struct token_trie_node {
    uint32_t end;        /* first node behind the subtree */
    uint32_t first_token; /* in `tokens`; those of this node end where those of the next node begin */
    uint16_t depth;      /* bytes from the root */
    uint8_t byte;
} token_trie_node;

typedef struct token_trie {
    token_trie_node *nodes; /* [n_nodes + 1] node 0 is the root; the last one only ends the tokens before it */
    uint32_t *tokens;       /* [n_in_trie] ids, ascending within a node */
    uint32_t n_nodes, n_in_trie, n_tokens, deepest;
} token_trie;

/* QN_NO_HOST_MEM; QN_LIMIT when a token is longer than TOKEN_TRIE_MAX_DEPTH. */
qn_status token_trie_create(const tokenizer *tok, token_trie *out, error_context *err);
void token_trie_destroy(token_trie *trie);

#endif
