/* statement_lines.h — the statements of a volume as lines of canonical N-Quads.
 *
 * Threading: one thread at a time. Memory: a decoded block and five texts.
 */
#ifndef HOST_GRAPH_STATEMENT_LINES_H
#define HOST_GRAPH_STATEMENT_LINES_H
#include "graph/term_text.h"

typedef struct statement_lines {
    graph_volume *volume;
    bool is_lossy;           /* what is no RDF 1.1 is written as IRIs and counted, otherwise it is refused */
    graph_scan *scan;
    term_printer printer;
    term_cell cells[4];
    text_buffer line;
    uint64_t n_statements;
} statement_lines;

/* Refuses a volume whose terms have no surface texts, unless is_lossy. */
qn_status statement_lines_begin(statement_lines *lines, graph_volume *volume, bool is_lossy, error_context *err);
void statement_lines_end(statement_lines *lines);

/* The next statement with its line feed, in the volume's order; borrowed until the next call. QN_NOT_FOUND without words at the end. */
qn_status statement_lines_next(statement_lines *lines, fmt_str *out_line, error_context *err);

/* The line of one quin. */
qn_status statement_lines_make(statement_lines *lines, const q42_quin *quin, fmt_str *out_line, error_context *err);

#endif
