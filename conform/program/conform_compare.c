/* conform_compare.c — two reports' figures, side by side. */
#include "program/conform_compare.h"

#include <string.h>

#include <jansson.h>

qn_status conform_baseline_read(const char *path, conform_baseline *out, error_context *err) {
    json_error_t where;
    out->path = path;
    out->report = json_load_file(path, 0, &where);
    if (out->report == NULL && where.line <= 0) {
        return FAIL(err, QN_BAD_INPUT, "--compare %s: %s", path, where.text);
    }
    if (out->report == NULL) {
        return FAIL(err, QN_BAD_INPUT,
                    "--compare %s: line %d, column %d: %s; a report of quoin-conform --report is expected", path,
                    where.line, where.column, where.text);
    }
    if (!json_is_array(json_object_get(out->report, "results"))) {
        conform_baseline_free(out);
        return FAIL(err, QN_BAD_INPUT,
                    "--compare %s: has no list of results; a report of quoin-conform --report is expected", path);
    }
    return QN_OK;
}

void conform_baseline_free(conform_baseline *self) {
    json_decref(self->report);
    self->report = NULL;
}

/* True when the report has a figure with this name and unit. */
static bool find_figure(const conform_baseline *self, const conform_measure *measure, double *out_value) {
    size_t r, m;
    json_t *result, *figure;
    json_array_foreach(json_object_get(self->report, "results"), r, result) {
        json_array_foreach(json_object_get(result, "measures"), m, figure) {
            const char *const name = json_string_value(json_object_get(figure, "name"));
            const char *const unit = json_string_value(json_object_get(figure, "unit"));
            if (name != NULL && unit != NULL && strcmp(name, measure->name) == 0 && strcmp(unit, measure->unit) == 0) {
                *out_value = json_number_value(json_object_get(figure, "value"));
                return true;
            }
        }
    }
    return false;
}

static bool is_measured(const conform_measure *measure) {
    return strcmp(measure->unit, "times") != 0 && strcmp(measure->unit, "runs") != 0;
}

/* How many times as fast as then: below 1 is slower. */
static double speed_ratio(const conform_measure *measure, double then) {
    return strcmp(measure->unit, "ns") == 0 ? then / measure->value : measure->value / then;
}

uint32_t conform_baseline_compare(const conform_baseline *self, const conform_run *run, double percent, FILE *to) {
    uint32_t n_compared = 0, n_slower = 0, n_faster = 0;
    for (uint32_t t = 0; t < run->plan.n; t++) {
        for (uint32_t i = 0; i < run->results[t].n_measures; i++) {
            const conform_measure *const now = &run->results[t].measures[i];
            double then;
            if (!is_measured(now) || !find_figure(self, now, &then) || then <= 0 || now->value <= 0) {
                continue;
            }
            const double ratio = speed_ratio(now, then);
            const bool is_slower = ratio < 1 - percent / 100, is_faster = ratio > 1 + percent / 100;
            n_compared++;
            n_slower += is_slower;
            n_faster += is_faster;
            if (is_slower || is_faster) {
                fprintf(to, "%s  %-40s was %.6g, is %.6g %s: %.0f %%\n", is_slower ? "slower" : "faster", now->name,
                        then, now->value, now->unit, (ratio - 1) * 100);
            }
        }
    }
    fprintf(to, "%u figures compared with %s: %u slower, %u faster by more than %g %%\n", n_compared, self->path,
            n_slower, n_faster, percent);
    return n_slower;
}
