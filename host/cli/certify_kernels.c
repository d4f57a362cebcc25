/* certify_kernels.c — starting the suite and reading its report. */
#include "cli/certify_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "base/child_process.h"

#define PATH_SIZE 4096
#define MAX_WORDS 24

typedef struct suite {
    char program[PATH_SIZE], folder[PATH_SIZE], report[PATH_SIZE + 16];
    char seed[24];
    char *argv[MAX_WORDS];
} suite;

/* ---------------------------------------------------------------------------------------------------------------- child */

static qn_status find_program(const char *given, char out[PATH_SIZE], error_context *err) {
    char here[PATH_SIZE];
    const ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    if (given == NULL && n > 0) {
        here[n] = '\0';
        char *slash = strrchr(here, '/');
        *slash = '\0';
    }
    const int size = given != NULL ? snprintf(out, PATH_SIZE, "%s", given) : snprintf(out, PATH_SIZE, "%s/quoin-conform", n > 0 ? here : "");
    if (size < 0 || size >= PATH_SIZE || access(out, X_OK) != 0) {
        return FAIL(err, QN_NOT_FOUND, "%s: the conformance suite is not there; --conform FILE names it", out);
    }
    return QN_OK;
}

static qn_status make_folder(char out[PATH_SIZE], error_context *err) {
    const char *base = getenv("TMPDIR");
    const int size = snprintf(out, PATH_SIZE, "%s/quoin-certify-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    return size > 0 && size < PATH_SIZE && mkdtemp(out) != NULL ? QN_OK : FAIL(err, QN_IO, "%s: cannot make a folder for a report", out);
}

static void fill_words(suite *s, const char *plugin, const certify_kernels_options *o) {
    const char *words[] = {"quoin-conform", plugin, "--level", "2", "--profile", "none", "--numeric", o->numeric, "--seed", s->seed,
                           "--report", s->report, "--quiet", "--device", o->device, o->is_quick ? "--quick" : NULL};
    snprintf(s->seed, sizeof s->seed, "%" PRIu64, o->seed);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        s->argv[i] = (char *)(uintptr_t)words[i];
    }
}

static qn_status wait_for(command_context *c, suite *s, error_context *err) {
    child_process child;
    const int number = child_process_start(&child, s->program, s->argv);
    if (number != 0) {
        return error_from_errno(err, number, s->program, "cannot start it");
    }
    bool is_cancelled = false;
    while (!is_cancelled && (!child_process_has_ended(&child) || child_process_read(&child, 0))) {
        child_process_read(&child, 50);
        is_cancelled = qn_flag_is_up(&c->services.cancel);
    }
    child_process_bury(&child);
    child_process_free(&child);
    return is_cancelled ? FAIL(err, QN_CANCELLED, "stopped on request") : QN_OK;
}

/* --------------------------------------------------------------------------------------------------------------- report */

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static bool append_line(text_buffer *to, const char *id, json_int_t cases) {
    char line[256];
    const int n = snprintf(line, sizeof line, "%.200s %" JSON_INTEGER_FORMAT "\n", id, cases);
    return text_buffer_append(to, line, (size_t)n);
}

static void take_result(certify_kernels_result *out, const json_t *one) {
    const char *id = text_of(one, "id"), *result = text_of(one, "result");
    const json_int_t cases = json_integer_value(json_object_get(one, "cases"));
    if (strcmp(result, "PASS") == 0) {
        out->n_tests++;
        out->n_cases += (uint64_t)cases;
        out->has_passed = append_line(&out->vectors, id, cases) && out->has_passed;
    } else if (strcmp(result, "UNSUPPORTED") != 0 && out->has_passed) {
        out->has_passed = false;
        snprintf(out->reason, sizeof out->reason, "%.120s: %.20s: %.300s", id, result, text_of(one, "text"));
    }
}

/* Is a test that passed about this kernel, "cpu/matmul/act8"? Suites have the op's name, or the first part of it: 2.matmul.…, 2.state.… */
static bool is_tested(const json_t *results, const char *kernel) {
    const char *op = strchr(kernel, '/');
    size_t index;
    json_t *one;
    json_array_foreach(results, index, one) {
        const char *suite_name = strchr(text_of(one, "id"), '.');
        const char *end = suite_name != NULL ? strchr(suite_name + 1, '.') : NULL;
        if (op != NULL && end != NULL && strcmp(text_of(one, "result"), "PASS") == 0 &&
            strncmp(op + 1, suite_name + 1, (size_t)(end - suite_name - 1)) == 0) {
            return true;
        }
    }
    return false;
}

static void check_kernels(certify_kernels_result *out, const prove_runtime *running, const json_t *results) {
    for (uint32_t i = 0; i < running->n_kernels && out->has_passed; i++) {
        if (!is_tested(results, running->kernels[i].id)) {
            out->has_passed = false;
            snprintf(out->reason, sizeof out->reason, "no test of the suite that passed is about kernel %s", running->kernels[i].id);
        }
    }
}

static qn_status read_report(const suite *s, const prove_runtime *running, certify_kernels_result *out, error_context *err) {
    json_error_t why;
    size_t index;
    json_t *one;
    out->report = json_load_file(s->report, 0, &why);
    const json_t *results = json_object_get(out->report, "results");
    if (!json_is_array(results) || json_array_size(results) == 0) {
        return FAIL(err, QN_INTERNAL, "%s: the conformance suite left no report of tests", s->program);
    }
    out->has_passed = true;
    json_array_foreach(results, index, one) {
        take_result(out, one);
    }
    check_kernels(out, running, results);
    return QN_OK;
}

qn_status certify_kernels(command_context *c, const prove_runtime *running, const certify_kernels_options *options,
                          certify_kernels_result *out, error_context *err) {
    const int index = registry_find(&c->backends, c->on.spec.name);
    suite s;
    memset(out, 0, sizeof *out);
    memset(&s, 0, sizeof s);
    QN_TRY(find_program(options->program, s.program, err), err, "testing the kernels");
    QN_TRY(make_folder(s.folder, err), err, "testing the kernels");
    snprintf(s.report, sizeof s.report, "%s/report.json", s.folder);
    const registry_entry *entry = index >= 0 ? &c->backends.entries[index] : NULL;
    fill_words(&s, entry == NULL || entry->origin == REGISTRY_BUILT_IN ? "reference" : entry->path, options);
    qn_status status = wait_for(c, &s, err);
    status = status < 0 ? status : read_report(&s, running, out, err);
    unlink(s.report);
    rmdir(s.folder);
    return status;
}

void certify_kernels_free(certify_kernels_result *result) {
    text_buffer_free(&result->vectors);
    json_decref(result->report);
    memset(result, 0, sizeof *result);
}
