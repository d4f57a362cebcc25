/* verify_output.c — verdicts for people and for programs. */
#include "cli/verify_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

q42_level verify_level_of(const char *name) {
    static const char *const names[] = {"structure", "blocks", "lexicon", "indexes", "full"};
    q42_level level = Q42_LEVEL_STRUCTURE;
    while (level < Q42_LEVEL_FULL && strcmp(names[level], name) != 0) {
        level++;
    }
    return level;
}

/* ------------------------------------------------------------------------------------------------------------- JSON */

json_t *verify_check_json(const verify_check *check) {
    json_t *object = json_pack("{s:s, s:s}", "check", check->name, "verdict", verify_verdict_name(check->verdict));
    if (check->has_diag) {
        json_object_set_new(object, "rule", json_string(check->diag.rule));
        json_object_set_new(object, "offset", json_integer((json_int_t)check->diag.offset));
        if (check->diag.index != FMT_NO_INDEX) {
            json_object_set_new(object, "index", json_integer((json_int_t)check->diag.index));
        }
        json_object_set_new(object, "message", command_json_text(check->diag.text, strlen(check->diag.text)));
    }
    return object;
}

static json_t *file_json(const verify_file_report *file) {
    json_t *checks = json_array();
    for (uint32_t i = 0; i < file->n_checks; i++) {
        json_array_append_new(checks, verify_check_json(&file->checks[i]));
    }
    return json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "path",
                     command_json_text(file->path, strlen(file->path)), "role", verify_role_name(file->role), "verdict",
                     verify_verdict_name(file->verdict), "bytes", (json_int_t)file->bytes, "blocks",
                     (json_int_t)file->n_blocks, "quins", (json_int_t)file->n_quins, "duplicates",
                     (json_int_t)file->n_duplicates, "terms", (json_int_t)file->n_terms, "checks", checks);
}

static uint64_t count_bytes(const volume_report_list *list) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < list->n_files; i++) {
        bytes += list->files[i].bytes;
    }
    return bytes;
}

static int print_json(command_context *c, const file_kind *kind, const char *level, const volume_report_list *list,
                      json_t *notes, int exit_status, const char *message) {
    json_t *object = json_object();
    json_t *files = json_array();
    for (uint32_t i = 0; i < list->n_files; i++) {
        json_array_append_new(files, file_json(&list->files[i]));
    }
    json_object_set_new(object, "valid", json_boolean(exit_status == EXIT_DONE));
    json_object_set_new(object, "verdict",
                        json_string(exit_status == EXIT_DONE         ? "pass"
                                    : exit_status == EXIT_INCOMPLETE ? "incomplete"
                                                                     : "fail"));
    json_object_set_new(object, "format", json_string(kind->name));
    json_object_set_new(object, "level", json_string(level));
    json_object_set_new(object, "rule", c->err.rule != NULL ? json_string(c->err.rule) : json_null());
    json_object_set_new(object, "offset", c->err.rule != NULL ? json_integer((json_int_t)c->err.offset) : json_null());
    json_object_set_new(object, "message", command_json_text(message, strlen(message)));
    json_object_set(object, "notes", notes);
    json_object_set_new(object, "files", files);
    json_object_set_new(object, "bytes", json_integer((json_int_t)count_bytes(list)));
    json_object_set_new(object, "seconds", json_real(list->seconds));
    const int printed = command_print_json(c, object);
    return printed != EXIT_DONE ? printed : exit_status;
}

/* ------------------------------------------------------------------------------------------------------------- text */

static void log_checks(const volume_report_list *list) {
    for (uint32_t i = 0; i < list->n_files; i++) {
        const verify_file_report *file = &list->files[i];
        for (uint32_t k = 0; k < file->n_checks; k++) {
            log_line(QN_LOG_DEBUG, "%s: %s: %s", file->path, file->checks[k].name,
                     verify_verdict_name(file->checks[k].verdict));
        }
    }
}

static void log_gaps(const volume_report_list *list) {
    for (uint32_t i = 0; i < list->n_files; i++) {
        const verify_file_report *file = &list->files[i];
        for (uint32_t k = 0; k < file->n_checks; k++) {
            const verify_check *check = &file->checks[k];
            if (check->verdict == Q42_INCOMPLETE) {
                log_line(QN_LOG_WARN, "%s: incomplete: %s (check %s)", file->path, check->diag.text, check->name);
            }
        }
    }
}

static int print_line(const file_kind *kind, const char *level, const char *path, const volume_report_list *list,
                      const char *verdict) {
    const double bytes = (double)count_bytes(list);
    uint64_t n_quins = 0, n_blocks = 0, n_terms = 0;
    char line[640];
    for (uint32_t i = 0; i < list->n_files; i++) {
        n_quins += list->files[i].n_quins;
        n_blocks += list->files[i].n_blocks;
        n_terms += list->files[i].n_terms;
    }
    const int n = snprintf(line, sizeof line,
                           "%.300s: %s: %s, level %s, %" PRIu64 " quins in %" PRIu64 " blocks, %" PRIu64
                           " terms, %.0f bytes in %u file%s, %.2f GB/s\n",
                           path, verdict, kind->name, level, n_quins, n_blocks, n_terms, bytes, list->n_files,
                           list->n_files == 1 ? "" : "s", list->seconds > 0 ? bytes / list->seconds * 1e-9 : 0.0);
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

int verify_print(command_context *c, const file_kind *kind, const char *level, const char *path,
                 const volume_report_list *list, json_t *notes, qn_status status) {
    const verify_file_report *file = NULL;
    const verify_check *first = status < 0 ? NULL : verify_report_first(list, &file);
    int exit_status = command_exit_status(c, status);
    const char *message = status < 0 ? error_text(&c->err) : "";
    if (first != NULL && list->verdict == Q42_FAIL) {
        error_from_diag(&c->err, FMT_BAD_FILE, &first->diag, file->path);
        exit_status = EXIT_BAD_INPUT;
        message = error_text(&c->err);
    } else if (first != NULL) {
        exit_status = EXIT_INCOMPLETE;
        message = first->has_diag ? first->diag.text : first->name;
    }
    if (c->json) {
        return print_json(c, kind, level, list, notes, exit_status, message);
    }
    log_checks(list);
    if (exit_status != EXIT_DONE && exit_status != EXIT_INCOMPLETE) {
        return command_fail(c);
    }
    log_gaps(list);
    const int printed = print_line(kind, level, path, list, exit_status == EXIT_DONE ? "ok" : "incomplete");
    return printed != EXIT_DONE ? printed : exit_status;
}
