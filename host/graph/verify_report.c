/* verify_report.c — lists of checks. */
#include "graph/verify_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

qn_status verify_report_add_file(volume_report_list *list, const char *path, verify_role role,
                                 verify_file_report **out_file, error_context *err) {
    if (list->n_files == list->capacity) {
        const uint32_t capacity = list->capacity == 0 ? 1 : 2 * list->capacity;
        verify_file_report *files = realloc(list->files, capacity * sizeof *files);
        if (files == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for the report of %u files", path, capacity);
        }
        list->files = files;
        list->capacity = capacity;
    }
    verify_file_report *file = &list->files[list->n_files];
    memset(file, 0, sizeof *file);
    file->role = role;
    file->path = strdup(path);
    if (file->path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for its report", path);
    }
    list->n_files++;
    *out_file = file;
    return QN_OK;
}

void verify_report_free(volume_report_list *list) {
    for (uint32_t i = 0; i < list->n_files; i++) {
        free(list->files[i].path);
    }
    free(list->files);
    memset(list, 0, sizeof *list);
}

void verify_add(verify_file_report *file, const char *name, q42_verdict verdict, const fmt_diag *diag) {
    if (file->n_checks == VERIFY_MAX_CHECKS) {
        return;
    }
    verify_check *check = &file->checks[file->n_checks++];
    check->name = name;
    check->verdict = verdict;
    check->has_diag = diag != NULL;
    if (diag != NULL) {
        check->diag = *diag;
    }
}

void verify_add_finding(verify_file_report *file, const char *name, const q42_finding *finding) {
    const bool is_good = finding->status == FMT_OK;
    verify_add(file, name, is_good ? Q42_PASS : Q42_FAIL, is_good ? NULL : &finding->diag);
}

void verify_add_words(verify_file_report *file, const char *name, q42_verdict verdict, const char *format, ...) {
    fmt_diag diag = {.rule = name, .section = "9", .index = FMT_NO_INDEX};
    va_list args;
    va_start(args, format);
    vsnprintf(diag.text, sizeof diag.text, format, args);
    va_end(args);
    verify_add(file, name, verdict, &diag);
}

static q42_verdict worse(q42_verdict so_far, q42_verdict next) {
    if (next == Q42_FAIL || so_far == Q42_FAIL) {
        return Q42_FAIL;
    }
    return next == Q42_INCOMPLETE || next == Q42_NOT_CHECKED ? Q42_INCOMPLETE : so_far;
}

void verify_report_fold(volume_report_list *list) {
    list->verdict = Q42_PASS;
    for (uint32_t i = 0; i < list->n_files; i++) {
        verify_file_report *file = &list->files[i];
        file->verdict = Q42_PASS;
        for (uint32_t k = 0; k < file->n_checks; k++) {
            file->verdict = worse(file->verdict, file->checks[k].verdict);
        }
        list->verdict = worse(list->verdict, file->verdict);
    }
}

const char *verify_verdict_name(q42_verdict verdict) {
    static const char *const names[] = {"pass", "fail", "incomplete", "not_applicable", "not_checked"};
    return names[verdict];
}

const char *verify_role_name(verify_role role) {
    static const char *const names[] = {"standalone", "root", "child", "shard"};
    return names[role];
}

const verify_check *verify_report_first(const volume_report_list *list, const verify_file_report **out_file) {
    for (uint32_t i = 0; list->verdict != Q42_PASS && i < list->n_files; i++) {
        for (uint32_t k = 0; k < list->files[i].n_checks; k++) {
            const verify_check *check = &list->files[i].checks[k];
            const bool is_failure = check->verdict == Q42_FAIL;
            const bool is_gap = check->verdict == Q42_INCOMPLETE || check->verdict == Q42_NOT_CHECKED;
            if (list->verdict == Q42_FAIL ? is_failure : is_gap) {
                *out_file = &list->files[i];
                return check;
            }
        }
    }
    return NULL;
}
