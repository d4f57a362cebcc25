/* conform_coverage.c — ops by formats. */
#include "program/conform_coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static conform_cover *find_cell(const conform_coverage *coverage, const conform_cover *like) {
    for (uint32_t i = 0; i < coverage->n; i++) {
        if (coverage->cells[i].op == like->op && coverage->cells[i].format == like->format) {
            return &coverage->cells[i];
        }
    }
    return NULL;
}

static int compare_cells(const void *a, const void *b) {
    const conform_cover *left = a, *right = b;
    const uint64_t l = (uint64_t)left->op << 32 | left->format, r = (uint64_t)right->op << 32 | right->format;
    return l < r ? -1 : l > r;
}

/* YES over EMULATED over NO. */
static uint32_t better_verdict(uint32_t a, uint32_t b) {
    return a == QN_VERDICT_YES || b == QN_VERDICT_YES ? QN_VERDICT_YES : a > b ? a : b;
}

void conform_coverage_add(conform_coverage *coverage, const conform_result *result) {
    for (uint32_t i = 0; i < result->n_covers; i++) {
        const conform_cover *one = &result->covers[i];
        conform_cover *cell = find_cell(coverage, one);
        if (cell == NULL) {
            conform_cover *larger = realloc(coverage->cells, (coverage->n + 1) * sizeof *larger);
            if (larger == NULL) {
                return;
            }
            coverage->cells = larger;
            coverage->cells[coverage->n++] = *one;
        } else {
            cell->verdict = better_verdict(cell->verdict, one->verdict);
            cell->is_tested = cell->is_tested || one->is_tested;
        }
    }
    if (coverage->n > 0) {
        qsort(coverage->cells, coverage->n, sizeof coverage->cells[0], compare_cells);
    }
}

void conform_coverage_free(conform_coverage *coverage) {
    free(coverage->cells);
    *coverage = (conform_coverage){0};
}

const char *conform_cover_word(const conform_cover *cover) {
    return cover->verdict == QN_VERDICT_NO ? "no" : !cover->is_tested ? "untested" : cover->verdict == QN_VERDICT_YES ? "tested" : "emulated";
}

void conform_coverage_print(const conform_coverage *coverage) {
    printf("%-12s %-10s %s\n", "op", "format", "verdict and test");
    for (uint32_t i = 0; i < coverage->n; i++) {
        const conform_cover *cell = &coverage->cells[i];
        printf("%-12s %-10s %s\n", qn_op_name(cell->op), cell->format == CF_NO_FORMAT ? "-" : qn_format_name(cell->format),
               conform_cover_word(cell));
    }
}
