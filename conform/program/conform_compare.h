/* conform_compare.h — the figures of a run beside those of an earlier report.
 *
 * Figures that are measured are compared by name: ns should be low, GB/s, Gop/s and tokens/s high. What is derived from
 * others (times) or counted (runs) is passed over, and so is what only one of both has.
 *
 * Threading: one thread.
 * Memory:    owned by the baseline until conform_baseline_free.
 */
#ifndef CONFORM_COMPARE_H
#define CONFORM_COMPARE_H
#include <stdio.h>

#include "program/conform_report.h"

typedef struct conform_baseline {
    struct json_t *report;   /* null: none */
    const char *path;
} conform_baseline;

/* Reads a report that --report or --json made. QN_BAD_INPUT with the path, and line and column where it is no JSON. */
qn_status conform_baseline_read(const char *path, conform_baseline *out, error_context *err);
void conform_baseline_free(conform_baseline *self);

/* Prints each figure that differs by more than `percent` to `to`, and a summary. Returns how many are slower by more
 * than that. */
uint32_t conform_baseline_compare(const conform_baseline *self, const conform_run *run, double percent, FILE *to);

#endif
