/* volume_export.c — statements, sorted or as they stand, in chunks. */
#include "graph/volume_export.h"

#include "graph/line_sort.h"
#include "graph/volume_files.h"

#define CHUNK (64u << 10)      /* bytes that are written at once */
#define PROGRESS_EVERY 65536u  /* statements */

typedef struct export_state {
    const export_options *options;
    text_buffer out;
    uint64_t n_expected;
} export_state;

uint64_t volume_export_expected(graph_volume *volume) {
    uint64_t sum = 0;
    if (!graph_volume_is_set(volume)) {
        return graph_volume_root(volume)->header.block_count * Q42_BLOCK_QUINS;
    }
    for (uint32_t i = 0; i < volume->n_segments; i++) {
        sum += volume->records[i].n_quins;
    }
    return sum;
}

static qn_status write_line(export_state *x, fmt_str line, uint64_t flush_at, error_context *err) {
    if (line.size > 0 && !text_buffer_append(&x->out, line.data, (size_t)line.size)) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    if (x->out.size > 0 && x->out.size >= flush_at) {
        if (!x->options->write(x->options->write_ctx, x->out.text, x->out.size, err)) {
            return QN_IO;
        }
        x->out.size = 0;
    }
    return QN_OK;
}

static qn_status tell_progress(const export_state *x, uint64_t n, error_context *err) {
    if (n % PROGRESS_EVERY != 0 || x->options->progress == NULL ||
        x->options->progress(x->options->progress_ctx, n, x->n_expected)) {
        return QN_OK;
    }
    return FAIL(err, QN_CANCELLED, "interrupted");
}

/* Gives each statement to the sorter, or writes it when there is none. */
static qn_status take_statements(export_state *x, statement_lines *lines, line_sort *sort, error_context *err) {
    for (;;) {
        fmt_str line;
        qn_status status = statement_lines_next(lines, &line, err);
        if (status == QN_OK) {
            status = sort != NULL ? line_sort_add(sort, line.data, line.size, err) : write_line(x, line, CHUNK, err);
        }
        if (status == QN_OK) {
            status = tell_progress(x, lines->n_statements, err);
        }
        if (status < 0) {
            return status == QN_NOT_FOUND ? QN_OK : status;
        }
    }
}

static qn_status write_sorted(export_state *x, line_sort *sort, uint64_t *out_n, error_context *err) {
    qn_status status = line_sort_begin(sort, err);
    *out_n = 0;
    while (status == QN_OK) {
        fmt_str line;
        status = line_sort_next(sort, &line, err);
        if (status == QN_OK) {
            ++*out_n;
            status = write_line(x, line, CHUNK, err);
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

qn_status volume_export(graph_volume *volume, const export_options *options, export_report *out_report, error_context *err) {
    export_state x = {.options = options, .n_expected = volume_export_expected(volume)};
    statement_lines lines;
    line_sort *sort = NULL;
    qn_status status = statement_lines_begin(&lines, volume, options->is_lossy, err);
    if (status == QN_OK && options->is_sorted) {
        status = line_sort_create(options->folder, options->memory, &sort, err);
    }
    if (status == QN_OK) {
        status = take_statements(&x, &lines, sort, err);
    }
    *out_report = (export_report){.n_statements = lines.n_statements, .counts = lines.printer.counts};
    if (status == QN_OK && sort != NULL) {
        status = write_sorted(&x, sort, &out_report->n_statements, err);
        out_report->n_repeated = line_sort_n_repeated(sort);
    }
    if (status == QN_OK) {
        status = graph_volume_check_files(volume, err); /* before the last chunk: a cut file writes no end */
    }
    if (status == QN_OK) {
        status = write_line(&x, (fmt_str){NULL, 0}, 1, err);
    }
    line_sort_destroy(sort);
    statement_lines_end(&lines);
    text_buffer_free(&x.out);
    return status;
}
