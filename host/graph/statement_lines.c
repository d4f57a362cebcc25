/* statement_lines.c — quin after quin, as text. */
#include "graph/statement_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "graph/query_plan.h"

qn_status statement_lines_begin(statement_lines *lines, graph_volume *volume, bool is_lossy, error_context *err) {
    *lines = (statement_lines){.volume = volume, .is_lossy = is_lossy};
    if (graph_volume_terms(volume) != TERMS_SURFACE && !is_lossy) {
        return FAIL(err, QN_BAD_INPUT, "%s: its terms are %s texts, which do not say what is an IRI, a blank node or a literal; --lossy "
                    "writes what they look like", graph_volume_path(volume), term_convention_name(graph_volume_terms(volume)));
    }
    lines->scan = malloc(sizeof *lines->scan);
    if (lines->scan == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    graph_scan_begin(lines->scan, volume, NULL);
    const qn_status status = term_printer_init(&lines->printer, volume, err);
    lines->printer.leaves_triples = true;
    return status;
}

void statement_lines_end(statement_lines *lines) {
    for (uint32_t i = 0; i < 4; i++) {
        term_cell_free(&lines->cells[i]);
    }
    text_buffer_free(&lines->line);
    free(lines->scan);
    term_printer_deinit(&lines->printer);
    lines->scan = NULL;
}

static qn_status refuse(const statement_lines *lines, uint64_t id, const char *what, error_context *err) {
    return FAIL(err, QN_BAD_INPUT, "%s: statement %" PRIu64 ": the id %016" PRIx64 " %s; --lossy writes it as an IRI",
                graph_volume_path(lines->volume), lines->n_statements + 1, id, what);
}

/* A triple as a term is not RDF 1.1; its id stands for it. */
static qn_status replace_triple(statement_lines *lines, uint64_t id, term_cell *cell, error_context *err) {
    char text[48];
    const int n = snprintf(text, sizeof text, "<urn:quoin:hash:%016" PRIx64 ">", id);
    cell->text.size = 0;
    cell->kind = SHOWN_IRI;
    cell->counts = (term_counts){.n_unresolved = 1};
    lines->printer.counts.n_unresolved++;
    return text_buffer_append(&cell->text, text, (size_t)n) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status put_term(statement_lines *lines, uint64_t id, uint32_t place, error_context *err) {
    term_cell *cell = &lines->cells[place];
    qn_status status = term_printer_get(&lines->printer, id, place, cell, err);
    if (status == QN_OK && !lines->is_lossy && cell->kind == SHOWN_TRIPLE) {
        return refuse(lines, id, "is a triple, which N-Quads of RDF 1.1 cannot say", err);
    }
    if (status == QN_OK && !lines->is_lossy && cell->counts.n_unresolved > 0) {
        return refuse(lines, id, "has no term in the lexicon", err);
    }
    if (status == QN_OK && !lines->is_lossy && cell->counts.n_bare > 0) {
        return refuse(lines, id, "is a term that may not stand in this place", err);
    }
    if (status == QN_OK && cell->kind == SHOWN_TRIPLE) {
        status = replace_triple(lines, id, cell, err);
    }
    if (status == QN_OK && cell->kind != SHOWN_DEFAULT_GRAPH &&
        !(text_buffer_append(&lines->line, cell->text.text, cell->text.size) && text_buffer_append(&lines->line, " ", 1))) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    return status;
}

qn_status statement_lines_make(statement_lines *lines, const q42_quin *quin, fmt_str *out_line, error_context *err) {
    qn_status status = QN_OK;
    lines->line.size = 0;
    for (uint32_t place = 0; status == QN_OK && place < 4; place++) {
        status = put_term(lines, query_quin_place(quin, place), place, err);
    }
    if (status == QN_OK && !text_buffer_append(&lines->line, ".\n", 2)) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    *out_line = (fmt_str){lines->line.text, lines->line.size};
    return status;
}

qn_status statement_lines_next(statement_lines *lines, fmt_str *out_line, error_context *err) {
    q42_quin quin;
    qn_status status = graph_scan_next(lines->scan, &quin, err);
    if (status == QN_OK) {
        status = statement_lines_make(lines, &quin, out_line, err);
        lines->n_statements += status == QN_OK;
    }
    return status;
}
