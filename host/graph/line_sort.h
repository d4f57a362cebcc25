/* line_sort.h — lines of text sorted by their bytes, each once, in bounded memory.
 *
 * Lines are collected; what does not fit is sorted and written to a file without a name, and all such runs are merged at the end.
 *
 * Threading: one thread at a time.
 * Memory:    `memory` bytes, and the longest line once for each run.
 * Errors:    QN_IO with the folder when the disk is full; nothing is left behind, however the process ends.
 *
 *     line_sort *sort;
 *     line_sort_create("/tmp", 64 << 20, &sort, err);
 *     line_sort_add(sort, line, size, err); ...
 *     line_sort_begin(sort, err);
 *     while ((status = line_sort_next(sort, &line, err)) == QN_OK) { ... }
 *     line_sort_destroy(sort);
 */
#ifndef HOST_GRAPH_LINE_SORT_H
#define HOST_GRAPH_LINE_SORT_H
#include <quoin/span.h>

#include "base/error.h"

typedef struct line_sort line_sort;

/* `folder` is where runs go; `memory` at least 1 MiB. */
qn_status line_sort_create(const char *folder, uint64_t memory, line_sort **out_sort, error_context *err);
void line_sort_destroy(line_sort *sort); /* null is legal */

qn_status line_sort_add(line_sort *sort, const char *line, uint64_t size, error_context *err);

/* No more lines come. */
qn_status line_sort_begin(line_sort *sort, error_context *err);
/* The next line, borrowed until the next call; QN_NOT_FOUND without words after the last. */
qn_status line_sort_next(line_sort *sort, fmt_str *out_line, error_context *err);

uint64_t line_sort_n_repeated(const line_sort *sort); /* lines left out so far because they came before */

#endif
