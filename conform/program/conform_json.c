/* conform_json.c — the report as one JSON object. Why jansson: writing JSON strings right is not what this project is for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "backends/host_services.h"
#include "base/atomic_file.h"
#include "program/conform_report.h"

/* Texts come from plugins: what is not UTF-8 is shown byte by byte. */
static json_t *make_text(const char *text, size_t size) {
    json_t *made = json_stringn(text == NULL ? "" : text, text == NULL ? 0 : size);
    if (made != NULL) {
        return made;
    }
    char *clean = malloc(size + 1);
    for (size_t i = 0; clean != NULL && i < size; i++) {
        clean[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
    }
    made = clean == NULL ? json_null() : json_stringn(clean, size);
    free(clean);
    return made;
}

static json_t *text_of(const char *text) {
    return make_text(text, strlen(text));
}

/* json_object_set_new fails without memory alone; the object then lacks a member and dumping still works. */
static void put(json_t *object, const char *key, json_t *value) {
    (void)json_object_set_new(object, key, value);
}

static json_t *make_plugin(const conform_run *run) {
    json_t *o = json_object();
    put(o, "path", text_of(run->request->path[0] != '\0' ? run->request->path : "built in"));
    put(o, "name", text_of(conform_fact(&run->facts, "name")));
    put(o, "version", text_of(conform_fact(&run->facts, "version")));
    put(o, "licence", text_of(conform_fact(&run->facts, "licence")));
    put(o, "build_id", text_of(conform_fact(&run->facts, "build_id")));
    put(o, "file_build_id", text_of(run->file_build_id));
    return o;
}

static json_t *make_device(const conform_run *run) {
    json_t *o = json_object();
    put(o, "id", text_of(conform_fact(&run->facts, "device")));
    put(o, "name", text_of(conform_fact(&run->facts, "device_name")));
    put(o, "driver", text_of(conform_fact(&run->facts, "driver")));
    return o;
}

static json_t *make_opening(const conform_run *run) {
    json_t *o = json_object();
    put(o, "result", text_of(conform_outcome_name(run->opening.outcome)));
    put(o, "text", text_of(run->opening.words));
    return o;
}

static json_t *make_measures(const conform_result *result) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < result->n_measures; i++) {
        json_t *o = json_object();
        put(o, "name", text_of(result->measures[i].name));
        put(o, "value", json_real(result->measures[i].value));
        put(o, "unit", text_of(result->measures[i].unit));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *make_result(const conform_run *run, uint32_t test) {
    const conform_entry *entry = &run->plan.entries[test];
    const conform_result *result = &run->results[test];
    json_t *o = json_object();
    put(o, "id", text_of(entry->id));
    put(o, "level", json_integer(entry->suite->level));
    put(o, "requirement", text_of(entry->test->requirement));
    put(o, "must", json_boolean(conform_is_must(run->request, entry)));
    put(o, "result", text_of(conform_outcome_name(result->outcome)));
    put(o, "seconds", json_real(result->seconds));
    put(o, "cases", json_integer((json_int_t)result->n_cases));
    put(o, "last_case", json_integer((json_int_t)result->last_case));
    put(o, "text", text_of(result->words));
    put(o, "notes", make_text(result->notes.text, result->notes.size));
    put(o, "printed", make_text(result->printed.text, result->printed.size));
    if (result->outcome == OUTCOME_WAIVED) {
        put(o, "waived", text_of(conform_outcome_name(result->waived)));
        put(o, "reason", text_of(result->waiver));
    }
    if (result->n_measures > 0) {
        put(o, "measures", make_measures(result));
    }
    return o;
}

static json_t *make_coverage(const conform_run *run) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < run->coverage.n; i++) {
        const conform_cover *cell = &run->coverage.cells[i];
        json_t *o = json_object();
        put(o, "op", text_of(qn_op_name(cell->op)));
        put(o, "format", cell->format == CF_NO_FORMAT ? json_null() : text_of(qn_format_name(cell->format)));
        put(o, "state", text_of(conform_cover_word(cell)));
        (void)json_array_append_new(list, o);
    }
    return list;
}

static json_t *make_summary(const conform_run *run) {
    json_t *o = json_object();
    for (uint32_t i = OUTCOME_PASS; i < OUTCOMES; i++) {
        put(o, conform_outcome_name(i), json_integer(run->n_of[i]));
    }
    put(o, "against_profile", json_integer(run->n_broken));
    return o;
}

static json_t *make_report(const conform_run *run) {
    const conform_request *r = run->request;
    json_t *o = json_object(), *results = json_array();
    char abi[24];
    snprintf(abi, sizeof abi, "%d.%d", QN_ABI_MAJOR, QN_ABI_MINOR);
    put(o, "suite_version", text_of(host_version()));
    put(o, "suite_build_id", text_of(host_build_id()));
    put(o, "abi", text_of(abi));
    put(o, "begun_at", text_of(run->begun_at));
    put(o, "seconds", json_real(run->seconds));
    put(o, "plugin", make_plugin(run));
    put(o, "device", make_device(run));
    put(o, "profile", text_of(r->profile));
    put(o, "numeric", text_of(r->numeric));
    put(o, "cpu_level", text_of(r->mask));
    put(o, "workers", json_integer(r->workers));
    put(o, "seed", json_integer((json_int_t)r->seed));
    put(o, "here", json_boolean(run->is_here));
    put(o, "opening", make_opening(run));
    put(o, "passed", json_boolean(run->is_here && run->n_broken == 0));
    put(o, "summary", make_summary(run));
    for (uint32_t i = 0; i < run->plan.n; i++) {
        (void)json_array_append_new(results, make_result(run, i));
    }
    put(o, "results", results);
    put(o, "coverage", make_coverage(run));
    return o;
}

static char *dump_report(const conform_run *run, error_context *err) {
    json_t *report = make_report(run);
    char *text = json_dumps(report, JSON_INDENT(1));
    json_decref(report);
    if (text == NULL) {
        (void)FAIL(err, QN_NO_HOST_MEM, "no memory for the report");
    }
    return text;
}

qn_status conform_print_json(const conform_run *run, error_context *err) {
    char *text = dump_report(run, err);
    if (text == NULL) {
        return QN_NO_HOST_MEM;
    }
    puts(text);
    free(text);
    return QN_OK;
}

qn_status conform_write_report(const conform_run *run, const char *path, error_context *err) {
    atomic_file file;
    fmt_diag diag = {0};
    char *text = dump_report(run, err);
    if (text == NULL) {
        return QN_NO_HOST_MEM;
    }
    fmt_status status = atomic_file_create(&file, path, true, 0, &diag);
    if (status == FMT_OK) {
        status = atomic_file_write(&file, 0, text, strlen(text), &diag);
        status = status == FMT_OK ? atomic_file_write(&file, strlen(text), "\n", 1, &diag) : status;
        status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
        atomic_file_abort(&file);
    }
    free(text);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, path);
}
