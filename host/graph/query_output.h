/* query_output.h — rows of ids become lines of text.
 *
 *     N-Quads       the statements that the patterns matched
 *     JSON lines    {"name": {"type": "uri", "value": "..."}, ...} for each row
 *     JSON          the same in one object, as SPARQL's results are written
 *     TSV           a line of ?names, then terms as in N-Triples, TAB written \t
 *     table         the same in columns, for people
 *
 * A variable that stands for the default graph has no binding in JSON and an empty field in TSV.
 *
 * Threading: one thread at a time.
 * Memory:    a fixed buffer for lines; with is_distinct up to QUERY_DISTINCT_MEMORY for the rows that were seen.
 */
#ifndef HOST_GRAPH_QUERY_OUTPUT_H
#define HOST_GRAPH_QUERY_OUTPUT_H
#include "graph/query_plan.h"
#include "graph/term_text.h"

#define QUERY_DISTINCT_MEMORY (16u << 20) /* bytes */

typedef uint32_t query_format;
enum { QUERY_NQUADS = 0, QUERY_JSON_LINES, QUERY_JSON, QUERY_TSV, QUERY_TABLE, QUERY_NOTHING };

/* False when it could not be written; then *err says why. */
typedef bool query_write_fn(void *ctx, const char *text, size_t size, error_context *err);

typedef struct query_output_options {
    query_format format;
    uint32_t n_columns;
    uint32_t columns[QUERY_MAX_VARIABLES]; /* variables, in order */
    bool is_distinct;
    bool has_limit;
    uint64_t limit, offset;
    query_write_fn *write;
    void *write_ctx;
} query_output_options;

typedef struct query_output query_output;

qn_status query_output_create(graph_volume *volume, const query_text *query, const query_output_options *options,
                              query_output **out_output, error_context *err);
void query_output_destroy(query_output *output); /* null is legal */

/* A query_row_fn. QN_NOTE_END when no more rows are wanted. */
qn_status query_output_receive(void *output, const uint64_t *values, error_context *err);

/* Writes what is left. */
qn_status query_output_end(query_output *output, error_context *err);

uint64_t query_output_n_rows(const query_output *output); /* written, or only counted */
const term_counts *query_output_counts(const query_output *output);

#endif
