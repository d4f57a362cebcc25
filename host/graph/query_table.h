/* query_table.h — rows in columns. Widths come from the names and the first rows, which are kept until then; later rows that need
 * more push what follows to the right. Nothing is cut.
 *
 * Threading: one thread at a time. Memory: owned by the table until query_table_free.
 */
#ifndef HOST_GRAPH_QUERY_TABLE_H
#define HOST_GRAPH_QUERY_TABLE_H
#include "graph/term_text.h"

typedef struct query_table {
    uint32_t n_columns;
    uint32_t *widths;     /* [n_columns], in characters */
    uint32_t n_kept;      /* rows in `kept` */
    bool has_begun;       /* widths are settled, the head is written */
    text_buffer kept;     /* cells, each ended by NUL */
} query_table;

qn_status query_table_begin(query_table *table, const char *const *names, uint32_t n_columns, error_context *err);
/* Adds a row; what can be written is appended to `out`. */
qn_status query_table_add(query_table *table, const term_cell *cells, text_buffer *out, error_context *err);
qn_status query_table_end(query_table *table, text_buffer *out, error_context *err);
void query_table_free(query_table *table);

#endif
