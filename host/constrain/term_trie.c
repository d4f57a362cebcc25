/* term_trie.c — labels to tokens, tokens to a tree. */
#include "constrain/term_trie.h"

#include <stdlib.h>
#include <string.h>

typedef struct sequence {
    const uint32_t *ids;   /* while they are collected: null, and `first` says where they will be */
    size_t first;
    uint32_t n, candidate;
} sequence;

static int compare_sequences(const void *left, const void *right) {
    const sequence *a = left, *b = right;
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        if (a->ids[i] != b->ids[i]) {
            return a->ids[i] < b->ids[i] ? -1 : 1;
        }
    }
    return (a->n > b->n) - (a->n < b->n);
}

/* A tokenizer that puts a space before every text gets the text without the space that it begins with. */
static bool adds_space(const tokenizer *tok) {
    const tokenizer_facts *facts = tokenizer_get_facts(tok);
    return facts->add_space_prefix && facts->model.size == 5 && memcmp(facts->model.data, "llama", 5) == 0;
}

/* Whether ids[0..n) print the text, or the text behind one space more. */
static bool print_the_same(const tokenizer *tok, const uint32_t *ids, size_t n, const char *text) {
    char bytes[1024];
    size_t at = 0;
    const size_t size = strlen(text);
    for (size_t i = 0; i < n; i++) {
        const size_t n_bytes = tokenizer_token_bytes(tok, ids[i], false, bytes, sizeof bytes);
        if (n_bytes > sizeof bytes) {
            return false;
        }
        const size_t skip = i == 0 && n_bytes > 0 && bytes[0] == ' ' && text[0] != ' ' ? 1 : 0;
        if (n_bytes - skip > size - at || memcmp(bytes + skip, text + at, n_bytes - skip) != 0) {
            return false;
        }
        at += n_bytes - skip;
    }
    return n > 0 && at == size;
}

static qn_status encode_label(const tokenizer *tok, const char *separator, const char *label, token_list *all, error_context *err) {
    const size_t size = strlen(separator) + strlen(label), before = all->count;
    char *text = malloc(size + 1);
    if (text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
    }
    memcpy(text, separator, strlen(separator));
    memcpy(text + strlen(separator), label, strlen(label) + 1);
    const size_t skip = adds_space(tok) && text[0] == ' ' ? 1 : 0;
    qn_status status = tokenizer_encode(tok, text + skip, size - skip, 0, all, err);
    if (status == QN_OK && !print_the_same(tok, all->ids + before, all->count - before, text)) {
        status = FAIL(err, QN_BAD_INPUT, "\"%.200s\" is not what its tokens print: this model's tokenizer cannot spell it; give it a label", text);
    }
    free(text);
    return status;
}

static qn_status collect(const tokenizer *tok, const candidate_list *candidates, const char *separator, token_list *all, sequence *sequences,
                         error_context *err) {
    for (uint32_t i = 0; i < candidates->n; i++) {
        sequences[i] = (sequence){.first = all->count, .candidate = i};
        QN_TRY(encode_label(tok, separator, candidates->items[i].label, all, err), err, "finding the tokens of %.200s", candidates->items[i].term);
        sequences[i].n = (uint32_t)(all->count - sequences[i].first);
    }
    for (uint32_t i = 0; i < candidates->n; i++) {
        sequences[i].ids = all->ids + sequences[i].first;
    }
    qsort(sequences, candidates->n, sizeof *sequences, compare_sequences);
    return QN_OK;
}

static uint32_t count_common(const sequence *a, const sequence *b) {
    uint32_t n = 0;
    while (n < a->n && n < b->n && a->ids[n] == b->ids[n]) {
        n++;
    }
    return n;
}

/* Goes up from `node` to `depth`, closing subtrees. */
static uint32_t close_to(term_trie *trie, uint32_t node, uint32_t depth) {
    while (trie->nodes[node].depth > depth) {
        trie->nodes[node].end = trie->n_nodes;
        node = trie->nodes[node].parent;
    }
    return node;
}

static void lay_out(term_trie *trie, const sequence *sequences, uint32_t n) {
    uint32_t node = 0;
    trie->nodes[0] = (term_node){.candidate = NO_CANDIDATE, .token = TOKEN_NONE};
    trie->n_nodes = 1;
    for (uint32_t i = 0; i < n; i++) {
        node = close_to(trie, node, i > 0 ? count_common(&sequences[i - 1], &sequences[i]) : 0);
        for (uint32_t depth = trie->nodes[node].depth; depth < sequences[i].n; depth++) {
            trie->nodes[trie->n_nodes] = (term_node){.token = sequences[i].ids[depth], .parent = node, .depth = depth + 1, .candidate = NO_CANDIDATE};
            node = trie->n_nodes++;
        }
        trie->nodes[node].candidate = sequences[i].candidate;
        trie->deepest = sequences[i].n > trie->deepest ? sequences[i].n : trie->deepest;
    }
    close_to(trie, node, 0);
    trie->nodes[0].end = trie->n_nodes;
    for (uint32_t i = 0; i < trie->n_nodes; i++) {
        uint32_t n_children = 0;
        for (uint32_t child = i + 1; child < trie->nodes[i].end; child = trie->nodes[child].end) {
            n_children++;
        }
        trie->widest = n_children > trie->widest ? n_children : trie->widest;
    }
}

uint32_t term_trie_find(const term_trie *trie, uint32_t node, uint32_t token) {
    for (uint32_t child = node + 1; child < trie->nodes[node].end; child = trie->nodes[child].end) {
        if (trie->nodes[child].token == token) {
            return child;
        }
    }
    return 0;
}

static qn_status build(const tokenizer *tok, const candidate_list *candidates, const char *separator, uint64_t *io_left, token_list *all,
                       sequence *sequences, term_trie *out, error_context *err) {
    QN_TRY(collect(tok, candidates, separator, all, sequences, err), err, "reading the candidates of a slot");
    const uint64_t cost = (all->count + 1) * (sizeof *out->nodes + sizeof *all->ids);
    if (all->count >= UINT32_MAX - 1 || cost > *io_left) {
        return FAIL(err, QN_LIMIT, "the candidates of a slot have %zu tokens, more than the memory of the sieve; set memory in [sieve]", all->count);
    }
    out->nodes = malloc((all->count + 1) * sizeof *out->nodes);
    if (out->nodes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
    }
    *io_left -= cost;
    lay_out(out, sequences, candidates->n);
    return QN_OK;
}

qn_status term_trie_create(const tokenizer *tok, const candidate_list *candidates, const char *separator, uint64_t *io_left, term_trie *out,
                           error_context *err) {
    token_list all = {0};
    sequence *sequences = malloc(((size_t)candidates->n + 1) * sizeof *sequences);
    *out = (term_trie){.n_nodes = 0};
    const qn_status status = sequences != NULL ? build(tok, candidates, separator, io_left, &all, sequences, out, err)
                                               : FAIL(err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
    free(sequences);
    token_list_free(&all);
    return status;
}

void term_trie_destroy(term_trie *trie) {
    free(trie->nodes);
    *trie = (term_trie){.n_nodes = 0};
}
