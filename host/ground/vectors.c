/* vectors.c — points out of literals. */
#include "ground/vectors.h"

#include <stdlib.h>
#include <string.h>

#include "graph/term_text.h"

void vectors_free(vector_list *list) {
    free(list->subjects);
    free(list->points);
    *list = (vector_list){.subjects = NULL};
}

const tensor10d *vectors_find(const vector_list *list, uint64_t subject) {
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->subjects[i] == subject) {
            return &list->points[i];
        }
    }
    return NULL;
}

static qn_status allocate(vector_list *list, error_context *err) {
    if (list->subjects == NULL) {
        list->subjects = calloc(TENSOR10D_MAX_NODES, sizeof *list->subjects);
        list->points = calloc(TENSOR10D_MAX_NODES, sizeof *list->points);
    }
    return list->subjects != NULL && list->points != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* Whatever the convention: ten numbers have nothing to escape. */
static bool read_point(const term_cell *cell, tensor10d *out) {
    return cell->kind == SHOWN_LITERAL && cell->close > 1 &&
           tensor10d_read(cell->text.text + 1, cell->close - 1, out, NULL) == QN_OK;
}

static qn_status add_point(const q42_quin *quin, term_printer *printer, term_cell *cell, vector_list *list, error_context *err) {
    tensor10d point;
    qn_status status = term_printer_get(printer, quin->object, NTRIPLES_OBJECT, cell, err);
    if (status < 0) {
        return status;
    }
    if (!read_point(cell, &point)) {
        list->n_broken++;
        return QN_OK;
    }
    if (list->n == TENSOR10D_MAX_NODES) {
        list->n_left++;
        return QN_OK;
    }
    status = allocate(list, err);
    if (status == QN_OK) {
        list->subjects[list->n] = quin->subject;
        list->points[list->n++] = point;
    }
    return status;
}

qn_status vectors_load(const ground_volume *gv, vector_list *out, error_context *err) {
    const q42_pattern pattern = fact_pattern(Q42_BOUND_PREDICATE, 0, gv->vector, 0);
    vector_list list = {.subjects = NULL};
    term_printer printer;
    term_cell cell = {.is_filled = false};
    fact_lookup *lookup = malloc(sizeof *lookup);
    q42_quin quin;
    uint32_t tier;
    qn_status status = term_printer_init(&printer, gv->volume, err);
    if (lookup == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory");
    } else {
        fact_lookup_begin(lookup, gv->volume, &pattern);
    }
    while (status == QN_OK && (status = ground_volume_next(gv, lookup, &quin, &tier, NULL, err)) == QN_OK) {
        status = add_point(&quin, &printer, &cell, &list, err);
    }
    term_cell_free(&cell);
    term_printer_deinit(&printer);
    free(lookup);
    if (status != QN_NOT_FOUND) {
        vectors_free(&list);
        return status;
    }
    *out = list;
    return QN_OK;
}
