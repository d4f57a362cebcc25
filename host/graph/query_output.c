/* query_output.c — which rows are written, and how. */
#include "graph/query_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/json_text.h"
#include "graph/query_table.h"
#include "graph/row_set.h"

#define FLUSH_AT (64u << 10) /* bytes */

struct query_output {
    const query_text *query;
    query_output_options options;
    term_printer printer;
    term_cell *cells;       /* [n_patterns * 4] for statements, [n_columns] otherwise */
    uint32_t n_cells;
    uint32_t *places;       /* [n_columns]: where the variable stands */
    row_set seen;
    query_table table;
    text_buffer out;
    uint64_t n_skipped, n_rows;
};

/* ---------------------------------------------------------------- making it */

/* An object may be an inline literal, a graph the default one; the other places need no care. */
static uint32_t find_place(const query_text *query, uint32_t variable) {
    uint32_t place = NTRIPLES_SUBJECT;
    for (uint32_t i = 0; i < query->n_patterns; i++) {
        for (uint32_t j = 0; j < N_PLACES; j++) {
            const pattern_slot *slot = &query->patterns[i].slots[j];
            if (slot->kind == SLOT_VARIABLE && slot->variable == variable && (j == NTRIPLES_GRAPH || j == NTRIPLES_OBJECT)) {
                place = j > place ? j : place;
            }
        }
    }
    return place;
}

static bool allocate(query_output *o) {
    const uint32_t n_columns = o->options.n_columns;
    o->n_cells = o->options.format == QUERY_NQUADS ? o->query->n_patterns * N_PLACES : n_columns;
    o->cells = calloc(o->n_cells + 1u, sizeof *o->cells);
    o->places = calloc(n_columns + 1u, sizeof *o->places);
    for (uint32_t i = 0; o->places != NULL && i < n_columns; i++) {
        o->places[i] = find_place(o->query, o->options.columns[i]);
    }
    return o->cells != NULL && o->places != NULL;
}

static qn_status put(query_output *o, const char *text, uint64_t size, error_context *err) {
    return text_buffer_append(&o->out, text, (size_t)size) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status put_word(query_output *o, const char *word, error_context *err) {
    return put(o, word, strlen(word), err);
}

static const char *column_name(const query_output *o, uint32_t column) {
    return o->query->variables[o->options.columns[column]];
}

static qn_status begin_tsv(query_output *o, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < o->options.n_columns; i++) {
        status = put_word(o, i > 0 ? "\t?" : "?", err);
        status = status < 0 ? status : put_word(o, column_name(o, i), err);
    }
    return status < 0 ? status : put_word(o, "\n", err);
}

static qn_status begin_json(query_output *o, error_context *err) {
    qn_status status = put_word(o, "{\"head\": {\"vars\": [", err);
    for (uint32_t i = 0; status == QN_OK && i < o->options.n_columns; i++) {
        status = put_word(o, i > 0 ? ", \"" : "\"", err);
        status = status < 0 ? status : put_word(o, column_name(o, i), err);
        status = status < 0 ? status : put_word(o, "\"", err);
    }
    return status < 0 ? status : put_word(o, "]}, \"results\": {\"bindings\": [", err);
}

static qn_status begin_table(query_output *o, error_context *err) {
    const char *names[QUERY_MAX_VARIABLES];
    for (uint32_t i = 0; i < o->options.n_columns; i++) {
        names[i] = column_name(o, i);
    }
    return query_table_begin(&o->table, names, o->options.n_columns, err);
}

static qn_status begin(query_output *o, error_context *err) {
    switch (o->options.format) {
    case QUERY_TSV: return begin_tsv(o, err);
    case QUERY_JSON: return begin_json(o, err);
    case QUERY_TABLE: return begin_table(o, err);
    default: return QN_OK;
    }
}

qn_status query_output_create(graph_volume *volume, const query_text *query, const query_output_options *options,
                              query_output **out_output, error_context *err) {
    query_output *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    o->query = query;
    o->options = *options;
    qn_status status = term_printer_init(&o->printer, volume, err);
    if (status == QN_OK && !allocate(o)) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    if (status == QN_OK && options->is_distinct) {
        status = row_set_init(&o->seen, options->n_columns, QUERY_DISTINCT_MEMORY, err);
    }
    if (status == QN_OK) {
        status = begin(o, err);
    }
    if (status < 0) {
        query_output_destroy(o);
        return status;
    }
    *out_output = o;
    return QN_OK;
}

void query_output_destroy(query_output *output) {
    if (output == NULL) {
        return;
    }
    for (uint32_t i = 0; output->cells != NULL && i < output->n_cells; i++) {
        term_cell_free(&output->cells[i]);
    }
    free(output->cells);
    free(output->places);
    row_set_deinit(&output->seen);
    query_table_free(&output->table);
    text_buffer_free(&output->out);
    term_printer_deinit(&output->printer);
    free(output);
}

/* ---------------------------------------------------------------- writing rows */

static qn_status flush(query_output *o, uint64_t at_least, error_context *err) {
    if (o->out.size < at_least || o->out.size == 0) {
        return QN_OK;
    }
    const bool is_written = o->options.write(o->options.write_ctx, o->out.text, o->out.size, err);
    o->out.size = 0;
    return is_written ? QN_OK : QN_IO;
}

/* A term that has no text of a bearable length: says of which statement. */
static qn_status name_quin(const query_output *o, uint32_t pattern, const uint64_t *values, qn_status status, error_context *err) {
    char ids[N_PLACES][20];
    const char *places[N_PLACES];
    for (uint32_t place = 0; place < N_PLACES; place++) {
        const pattern_slot *slot = &o->query->patterns[pattern].slots[place];
        const bool is_default = slot->kind == SLOT_DEFAULT_GRAPH || (place == NTRIPLES_GRAPH && slot->kind == SLOT_VARIABLE &&
                                                                     values[slot->variable] == Q42_DEFAULT_GRAPH);
        if (slot->kind == SLOT_VARIABLE) {
            snprintf(ids[place], sizeof ids[place], "%016" PRIx64, values[slot->variable]);
        }
        places[place] = is_default ? "DEFAULT" : slot->kind == SLOT_VARIABLE ? ids[place] : slot->term.text;
    }
    return term_name_quin(places, status, err);
}

/* The first pattern that has the variable. */
static uint32_t find_pattern(const query_output *o, uint32_t variable) {
    for (uint32_t i = 0; i < o->query->n_patterns; i++) {
        for (uint32_t place = 0; place < N_PLACES; place++) {
            const pattern_slot *slot = &o->query->patterns[i].slots[place];
            if (slot->kind == SLOT_VARIABLE && slot->variable == variable) {
                return i;
            }
        }
    }
    return 0;
}

/* The terms of one matched statement, then " .". */
static qn_status put_statement(query_output *o, uint32_t pattern, const uint64_t *values, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t place = 0; status == QN_OK && place < N_PLACES; place++) {
        const pattern_slot *slot = &o->query->patterns[pattern].slots[place];
        term_cell *cell = &o->cells[pattern * N_PLACES + place];
        fmt_str text = {slot->term.text, slot->term.size};
        if (slot->kind == SLOT_DEFAULT_GRAPH) {
            continue;
        }
        if (slot->kind == SLOT_VARIABLE) {
            status = term_printer_get(&o->printer, values[slot->variable], place, cell, err);
            text = (fmt_str){cell->text.text, cell->text.size};
        }
        if (status == QN_OK && (slot->kind == SLOT_TERM || cell->kind != SHOWN_DEFAULT_GRAPH)) {
            status = put(o, text.data, text.size, err);
            status = status < 0 ? status : put(o, " ", 1, err);
        }
    }
    return status < 0 ? status : put_word(o, ".\n", err);
}

static qn_status put_statements(query_output *o, const uint64_t *values, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < o->query->n_patterns; i++) {
        status = put_statement(o, i, values, err);
        status = status == QN_LIMIT ? name_quin(o, i, values, status, err) : status;
    }
    return status;
}

static qn_status fill_cells(query_output *o, const uint64_t *values, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < o->options.n_columns; i++) {
        const uint32_t variable = o->options.columns[i];
        status = term_printer_get(&o->printer, values[variable], o->places[i], &o->cells[i], err);
        status = status == QN_LIMIT ? name_quin(o, find_pattern(o, variable), values, status, err) : status;
    }
    return status;
}

static qn_status put_json_row(query_output *o, error_context *err) {
    bool is_first = true;
    qn_status status = put_word(o, "{", err);
    for (uint32_t i = 0; status == QN_OK && i < o->options.n_columns; i++) {
        if (o->cells[i].kind != SHOWN_DEFAULT_GRAPH) {
            const char *name = column_name(o, i);
            status = put_word(o, is_first ? "" : ", ", err);
            if (status == QN_OK && !(json_text_string(&o->out, (fmt_str){name, strlen(name)}) &&
                                     text_buffer_append(&o->out, ": ", 2) && json_text_term(&o->out, &o->cells[i]))) {
                status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
            }
            is_first = false;
        }
    }
    return status < 0 ? status : put_word(o, "}", err);
}

/* A term may hold a TAB as it is; in a table of TABs it is written as N-Triples may write it too. */
static qn_status put_tsv_row(query_output *o, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && i < o->options.n_columns; i++) {
        const text_buffer *text = &o->cells[i].text;
        const char *at = text->text, *end = at + text->size;
        status = i > 0 ? put(o, "\t", 1, err) : QN_OK;
        while (status == QN_OK && at < end && o->cells[i].kind != SHOWN_DEFAULT_GRAPH) {
            const char *tab = memchr(at, '\t', (size_t)(end - at));
            status = put(o, at, (uint64_t)((tab != NULL ? tab : end) - at), err);
            if (status == QN_OK && tab != NULL) {
                status = put_word(o, "\\t", err);
            }
            at = tab != NULL ? tab + 1 : end;
        }
    }
    return status < 0 ? status : put_word(o, "\n", err);
}

static qn_status put_row(query_output *o, const uint64_t *values, error_context *err) {
    if (o->options.format == QUERY_NQUADS) {
        return put_statements(o, values, err);
    }
    qn_status status = fill_cells(o, values, err);
    if (status < 0) {
        return status;
    }
    switch (o->options.format) {
    case QUERY_JSON:
        status = put_word(o, o->n_rows > 0 ? ",\n" : "\n", err);
        return status < 0 ? status : put_json_row(o, err);
    case QUERY_JSON_LINES:
        status = put_json_row(o, err);
        return status < 0 ? status : put_word(o, "\n", err);
    case QUERY_TSV: return put_tsv_row(o, err);
    default: return query_table_add(&o->table, o->cells, &o->out, err);
    }
}

static qn_status is_wanted(query_output *o, const uint64_t *values, bool *out_is_wanted, error_context *err) {
    uint64_t row[QUERY_MAX_VARIABLES];
    *out_is_wanted = true;
    if (o->options.is_distinct) {
        for (uint32_t i = 0; i < o->options.n_columns; i++) {
            row[i] = values[o->options.columns[i]];
        }
        const qn_status status = row_set_add(&o->seen, row, out_is_wanted, err);
        if (status < 0) {
            return status;
        }
    }
    if (*out_is_wanted && o->n_skipped < o->options.offset) {
        o->n_skipped++;
        *out_is_wanted = false;
    }
    return QN_OK;
}

qn_status query_output_receive(void *output, const uint64_t *values, error_context *err) {
    query_output *o = output;
    bool wanted;
    if (o->options.has_limit && o->n_rows == o->options.limit) {
        return QN_NOTE_END;
    }
    qn_status status = is_wanted(o, values, &wanted, err);
    if (status < 0 || !wanted) {
        return status;
    }
    if (o->options.format != QUERY_NOTHING) {
        status = put_row(o, values, err);
        status = status < 0 ? status : flush(o, FLUSH_AT, err);
    }
    o->n_rows++;
    const bool is_last = o->options.has_limit && o->n_rows == o->options.limit;
    return status < 0 ? status : is_last ? QN_NOTE_END : QN_OK;
}

qn_status query_output_end(query_output *output, error_context *err) {
    qn_status status = QN_OK;
    if (output->options.format == QUERY_TABLE) {
        status = query_table_end(&output->table, &output->out, err);
    }
    if (status == QN_OK && output->options.format == QUERY_JSON) {
        status = put_word(output, output->n_rows > 0 ? "\n]}" : "]}", err);
    }
    return status < 0 ? status : flush(output, 1, err);
}

uint64_t query_output_n_rows(const query_output *output) {
    return output->n_rows;
}

const term_counts *query_output_counts(const query_output *output) {
    return &output->printer.counts;
}
