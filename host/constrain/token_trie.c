/* token_trie.c — tokens sorted by bytes, then laid out. */
#include "constrain/token_trie.h"

#include <stdlib.h>
#include <string.h>

typedef struct token_text {
    const uint8_t *bytes;
    uint32_t size, id;
} token_text;

static int compare_texts(const void *left, const void *right) {
    const token_text *a = left, *b = right;
    const uint32_t both = a->size < b->size ? a->size : b->size;
    const int order = memcmp(a->bytes, b->bytes, both);
    if (order != 0 || a->size != b->size) {
        return order != 0 ? order : a->size < b->size ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Bytes that all tokens print, and the longest. */
static size_t measure(const tokenizer *tok, size_t *out_longest) {
    size_t total = 0;
    *out_longest = 0;
    for (uint32_t id = 0; id < tokenizer_size(tok); id++) {
        const size_t size = tokenizer_token_bytes(tok, id, false, NULL, 0);
        total += size;
        *out_longest = size > *out_longest ? size : *out_longest;
    }
    return total;
}

static uint32_t collect(const tokenizer *tok, uint8_t *bytes, token_text *texts) {
    uint32_t n = 0;
    size_t at = 0;
    for (uint32_t id = 0; id < tokenizer_size(tok); id++) {
        const size_t room = tokenizer_token_bytes(tok, id, false, NULL, 0);
        if (room > 0) {
            tokenizer_token_bytes(tok, id, false, (char *)bytes + at, room);
            texts[n++] = (token_text){bytes + at, (uint32_t)room, id};
            at += room;
        }
    }
    qsort(texts, n, sizeof *texts, compare_texts);
    return n;
}

static uint32_t count_common(const token_text *a, const token_text *b) {
    uint32_t n = 0;
    while (n < a->size && n < b->size && a->bytes[n] == b->bytes[n]) {
        n++;
    }
    return n;
}

/* open[d]: the node at depth d on the way to the last text. */
static void lay_out(token_trie *trie, const token_text *texts, uint32_t n, uint32_t *open) {
    uint32_t depth = 0;
    trie->nodes[0] = (token_trie_node){.depth = 0};
    trie->n_nodes = 1;
    open[0] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t common = i > 0 ? count_common(&texts[i - 1], &texts[i]) : 0;
        for (; depth > common; depth--) {
            trie->nodes[open[depth]].end = trie->n_nodes;
        }
        for (; depth < texts[i].size; depth++) {
            open[depth + 1] = trie->n_nodes;
            trie->nodes[trie->n_nodes++] =
                (token_trie_node){.first_token = i, .depth = (uint16_t)(depth + 1), .byte = texts[i].bytes[depth]};
        }
        trie->tokens[i] = texts[i].id;
    }
    for (; depth > 0; depth--) {
        trie->nodes[open[depth]].end = trie->n_nodes;
    }
    trie->nodes[0].end = trie->n_nodes;
    trie->nodes[trie->n_nodes] = (token_trie_node){.first_token = n};
    trie->n_in_trie = n;
}

static qn_status build(const tokenizer *tok, size_t total, size_t longest, token_trie *trie, error_context *err) {
    uint8_t *bytes = malloc(total + 1);
    token_text *texts = malloc(((size_t)tokenizer_size(tok) + 1) * sizeof *texts);
    uint32_t *open = malloc((longest + 1) * sizeof *open);
    qn_status status = QN_OK;
    if (bytes == NULL || texts == NULL || open == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory for the bytes of the tokens");
    } else {
        lay_out(trie, texts, collect(tok, bytes, texts), open);
        token_trie_node *fitted = realloc(trie->nodes, ((size_t)trie->n_nodes + 1) * sizeof *fitted);
        trie->nodes = fitted != NULL ? fitted : trie->nodes;
    }
    free(bytes);
    free(texts);
    free(open);
    return status;
}

qn_status token_trie_create(const tokenizer *tok, token_trie *out, error_context *err) {
    size_t longest;
    const size_t total = measure(tok, &longest);
    *out = (token_trie){.n_tokens = tokenizer_size(tok), .deepest = (uint32_t)longest};
    if (longest > TOKEN_TRIE_MAX_DEPTH || total > UINT32_MAX - 2) {
        return FAIL(err, QN_LIMIT, "a token prints %zu bytes, and all together %zu; the limits are %u and %u", longest, total,
                    TOKEN_TRIE_MAX_DEPTH, UINT32_MAX - 2);
    }
    out->nodes = malloc((total + 2) * sizeof *out->nodes);
    out->tokens = malloc(((size_t)out->n_tokens + 1) * sizeof *out->tokens);
    qn_status status = QN_OK;
    if (out->nodes == NULL || out->tokens == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory for %u tokens", out->n_tokens);
    } else {
        status = build(tok, total, longest, out, err);
    }
    if (status < 0) {
        token_trie_destroy(out);
    }
    return status;
}

void token_trie_destroy(token_trie *trie) {
    free(trie->nodes);
    free(trie->tokens);
    *trie = (token_trie){.n_nodes = 0};
}
