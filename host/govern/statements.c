/* statements.c — Notation3 into claims. */
#include "govern/statements.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "govern/scope_source.h"
#include "rules/n3.h"

/* The graph that claims of this request lie in, and its text (owned; null without a name). */
static qn_status find_graph(const request *r, uint64_t *out_word, char **out_text, error_context *err) {
    *out_word = Q42_DEFAULT_GRAPH;
    *out_text = NULL;
    if (r->n_scopes == 0 || strncmp(r->scopes[0].name, "0x", 2) == 0) {
        return QN_OK;
    }
    const bool is_surface = r->scopes[0].volume == NULL || graph_volume_terms(r->scopes[0].volume) == TERMS_SURFACE;
    const size_t size = strlen(r->scopes[0].name) + 3;
    *out_text = malloc(size);
    if (*out_text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a graph's name");
    }
    snprintf(*out_text, size, is_surface ? "<%s>" : "%s", r->scopes[0].name);
    *out_word = r->scopes[0].contexts[is_surface ? 2 : 1];
    return QN_OK;
}

static qn_status add_statement(request *r, const n3_triple *triple, uint64_t graph, char *graph_text, error_context *err) {
    fmt_str texts[FACT_PLACES];
    uint64_t words[FACT_PLACES] = {0};
    char *copies[4] = {NULL, NULL, NULL, graph_text};
    bool has_text = true;
    qn_status status = QN_OK;
    n3_triple_texts(triple, texts);
    for (uint32_t i = 0; status >= 0 && i < FACT_PLACES; i++) {
        status = scope_source_word(r, 0, texts[i], i, &words[i], &has_text)
                     ? QN_OK
                     : FAIL(err, QN_BAD_INPUT, "line %u: a term that no volume could have", triple->line);
        copies[i] = status >= 0 ? strndup(texts[i].data, texts[i].size) : NULL;
    }
    const q42_quin quin = q42_quin_make(words[0], words[1], words[2], graph, 0);
    status = status < 0 ? status : request_add_claim(r, &quin, (const char *const *)copies, err);
    for (size_t i = 0; i < FACT_PLACES; i++) {
        free(copies[i]);
    }
    return status;
}

qn_status statements_read(request *r, uint32_t *out_proposals, error_context *err) {
    const n3_options options = {.name = "answer", .max_assertions = REQUEST_MAX_CLAIMS};
    n3_document document = {0};
    char *graph_text = NULL;
    uint64_t graph = 0;
    QN_TRY(n3_read((fmt_str){r->answer.text.text, r->answer.text.size}, &options, &document, err), err, "reading the answer");
    qn_status status = find_graph(r, &graph, &graph_text, err);
    for (uint32_t i = 0; status >= 0 && i < document.n_assertions; i++) {
        status = add_statement(r, &document.assertions[i], graph, graph_text, err);
    }
    *out_proposals = document.n_rules;
    free(graph_text);
    n3_free(&document);
    return status;
}
