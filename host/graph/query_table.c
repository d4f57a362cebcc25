/* query_table.c — a table for people. */
#include "graph/query_table.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_ROWS 100u
#define MOST_WIDTH 60u /* characters that a column is made wide for */

static const char spaces[] = "                                                            "; /* MOST_WIDTH of them */

static uint32_t count_characters(const char *text) {
    uint32_t n = 0;
    for (; *text != 0; text++) {
        n += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return n;
}

static qn_status no_memory(error_context *err) {
    return FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* Controls would break the columns; they become blanks. */
static bool keep_cell(text_buffer *kept, const char *text, size_t size) {
    const size_t begin = kept->size;
    if (!text_buffer_append(kept, text, size) || !text_buffer_append(kept, "", 1)) {
        return false;
    }
    for (size_t i = begin; i < begin + size; i++) {
        kept->text[i] = (unsigned char)kept->text[i] < 0x20 || kept->text[i] == 0x7F ? ' ' : kept->text[i];
    }
    return true;
}

static void widen(query_table *table, uint32_t column, const char *text) {
    uint32_t width = count_characters(text);
    width = width < MOST_WIDTH ? width : MOST_WIDTH;
    table->widths[column] = width > table->widths[column] ? width : table->widths[column];
}

qn_status query_table_begin(query_table *table, const char *const *names, uint32_t n_columns, error_context *err) {
    *table = (query_table){.n_columns = n_columns, .widths = calloc(n_columns + 1u, sizeof *table->widths)};
    if (table->widths == NULL) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n_columns; i++) {
        const size_t begin = table->kept.size;
        if (!text_buffer_append(&table->kept, "?", 1) || !keep_cell(&table->kept, names[i], strlen(names[i]))) {
            return no_memory(err);
        }
        widen(table, i, table->kept.text + begin);
    }
    return QN_OK;
}

static bool write_cell(const query_table *table, uint32_t column, const char *text, text_buffer *out) {
    const uint32_t width = count_characters(text), wanted = table->widths[column];
    const bool is_last = column + 1 == table->n_columns;
    return text_buffer_append(out, text, strlen(text)) &&
           (is_last ? text_buffer_append(out, "\n", 1)
                    : text_buffer_append(out, spaces, width < wanted ? wanted - width : 0) && text_buffer_append(out, "  ", 2));
}

static bool write_rule(const query_table *table, text_buffer *out) {
    bool is_written = true;
    for (uint32_t i = 0; is_written && i < table->n_columns; i++) {
        for (uint32_t j = 0; is_written && j < table->widths[i]; j++) {
            is_written = text_buffer_append(out, "-", 1);
        }
        is_written = is_written && text_buffer_append(out, i + 1 < table->n_columns ? "  " : "\n", i + 1 < table->n_columns ? 2 : 1);
    }
    return is_written;
}

/* Writes the rows that were kept; the first of them are the names. */
static bool write_kept(query_table *table, text_buffer *out) {
    const char *at = table->kept.text, *end = at + table->kept.size;
    bool is_written = true;
    for (uint32_t i = 0; is_written && at < end; i++) {
        is_written = write_cell(table, i % table->n_columns, at, out);
        at += strlen(at) + 1;
        if (is_written && !table->has_begun && i + 1 == table->n_columns) {
            is_written = write_rule(table, out);
            table->has_begun = true;
        }
    }
    table->kept.size = 0;
    return is_written;
}

qn_status query_table_add(query_table *table, const term_cell *cells, text_buffer *out, error_context *err) {
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const bool is_default = cells[i].kind == SHOWN_DEFAULT_GRAPH;
        const size_t begin = table->kept.size;
        if (!keep_cell(&table->kept, is_default ? "DEFAULT" : cells[i].text.text, is_default ? 7 : cells[i].text.size)) {
            return no_memory(err);
        }
        if (!table->has_begun) {
            widen(table, i, table->kept.text + begin);
        }
    }
    table->n_kept++;
    return table->n_kept < KEPT_ROWS || write_kept(table, out) ? QN_OK : no_memory(err);
}

qn_status query_table_end(query_table *table, text_buffer *out, error_context *err) {
    return table->n_columns == 0 || write_kept(table, out) ? QN_OK : no_memory(err);
}

void query_table_free(query_table *table) {
    free(table->widths);
    text_buffer_free(&table->kept);
    *table = (query_table){.n_columns = 0};
}
