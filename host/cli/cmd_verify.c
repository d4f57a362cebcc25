/* cmd_verify.c — quoin verify: every rule of the file's standard, every checksum, every weight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "model/verify.h"

static struct {
    const char *companion;
    bool strict, no_weight_check;
} settings;

static const option *verify_options(void) {
    static const option table[] = {
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_STRING, "companion", 0, "FILE", "companion volume of a P64 (default: beside it, NAME.q42 for NAME.p64)",
         &settings.companion, 0, 0, NULL, NULL},
        {OPTION_FLAG, "no-weight-check", 0, NULL, "do not look for NaN and infinity in the weights",
         &settings.no_weight_check, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct note_list {
    command_context *c;
    json_t *notes;
} note_list;

static void on_note(void *ctx, const fmt_diag *note) {
    note_list *list = ctx;
    if (!list->c->json) {
        log_line(QN_LOG_INFO, "note: byte %llu: %s (rule %s)", (unsigned long long)note->offset, note->text,
                 note->rule);
    }
    json_array_append_new(list->notes,
                          json_pack("{s:s, s:I, s:o}", "rule", note->rule, "offset", (json_int_t)note->offset,
                                    "message", command_json_text(note->text, strlen(note->text))));
}

static int print_verdict(command_context *c, const char *path, const verify_report *report, json_t *notes,
                         qn_status status) {
    if (c->json) {
        const char *message = status < 0 ? error_text(&c->err) : "";
        json_t *object = json_object();
        json_object_set_new(object, "valid", json_boolean(status == QN_OK));
        json_object_set_new(object, "format", json_string(report->format));
        json_object_set_new(object, "rule", c->err.rule != NULL ? json_string(c->err.rule) : json_null());
        json_object_set_new(object, "offset",
                            c->err.rule != NULL ? json_integer((json_int_t)c->err.offset) : json_null());
        json_object_set_new(object, "message", command_json_text(message, strlen(message)));
        json_object_set(object, "notes", notes);
        json_object_set_new(object, "tensors", json_integer((json_int_t)report->n_tensors));
        json_object_set_new(object, "companion", json_string(companion_state_name(report->companion)));
        json_object_set_new(object, "bytes", json_integer((json_int_t)report->bytes));
        json_object_set_new(object, "seconds", json_real(report->seconds));
        const int printed = command_print_json(c, object);
        return printed != EXIT_DONE ? printed : command_exit_status(c, status);
    }
    if (status < 0) {
        return command_fail(c);
    }
    char line[512];
    const int n = snprintf(line, sizeof line, "%.300s: ok: %s%s, %llu tensors, %llu bytes, %.2f GB/s\n", path,
                           report->format, report->companion == COMPANION_BOUND ? " with its companion" : "",
                           (unsigned long long)report->n_tensors, (unsigned long long)report->bytes,
                           report->seconds > 0 ? (double)report->bytes / report->seconds * 1e-9 : 0.0);
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

static int run(command_context *c) {
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "verify needs one FILE; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (command_start_team(c) < 0) {
        return command_fail(c);
    }
    note_list list = {c, json_array()};
    command_progress progress;
    const verify_options_set options = {.mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                        .check_values = !settings.no_weight_check,
                                        .companion = settings.companion,
                                        .note = on_note,
                                        .note_ctx = &list,
                                        .progress = command_show_progress,
                                        .progress_ctx = &progress};
    verify_report report;
    command_catch_signals(c);
    command_begin_progress(&progress, c, "checking");
    const qn_status status = verify_file(c->args.items[0], &options, c->workers, &report, &c->err);
    command_end_progress(&progress);
    const int exit_status = print_verdict(c, c->args.items[0], &report, list.notes, status);
    json_decref(list.notes);
    return exit_status;
}

const command command_verify = {.name = "verify",
                                .summary = "Check a file against every rule of its standard",
                                .synopsis = "FILE [options]",
                                .example = "  quoin verify model.p64\n  quoin verify model.p64 --strict --json\n",
                                .options = verify_options,
                                .run = run};
