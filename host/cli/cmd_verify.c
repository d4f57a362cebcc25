/* cmd_verify.c — quoin verify: every rule of the file's standard, every checksum, every weight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "adapt/adapter.h"
#include "cli/adapter_output.h"
#include "cli/command.h"
#include "cli/graph_command.h"
#include "cli/verify_output.h"
#include "model/verify.h"

#define LEAST_TOLD_SECONDS 0.1 /* what took less needs no explanation */
#define LEAST_MEMORY (UINT64_C(1) << 20)

static struct {
    const char *level, *memory, *companion;
    bool strict, no_weight_check, check_all, is_flat;
} settings = {.level = "full"};

static const option *verify_options(void) {
    static const option table[] = {
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_STRING, "level", 0, "LEVEL", "Q42 volumes: how much is checked", &settings.level, 0, 0, VERIFY_LEVELS,
         NULL},
        {OPTION_FLAG, "check-all", 0, NULL, "the same as --level full", &settings.check_all, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "Q42 volumes: for sorting ids, with K, M or G (default 256M)",
         &settings.memory, 0, 0, NULL, NULL},
        {OPTION_FLAG, "flat", 0, NULL, "a file without any mark is bare quins of 48 bytes", &settings.is_flat, 0, 0,
         NULL, NULL},
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
        json_object_set_new(object, "check_seconds", json_real(report->check_seconds));
        json_object_set_new(object, "digest_seconds", json_real(report->digest_seconds));
        const int printed = command_print_json(c, object);
        return printed != EXIT_DONE ? printed : command_exit_status(c, status);
    }
    if (status < 0) {
        return command_fail(c);
    }
    char line[512], times[96] = "";
    if (report->digest_seconds >= LEAST_TOLD_SECONDS) {
        snprintf(times, sizeof times, "; SHA-256 took %.2f s, the checksums %.2f s beside it", report->digest_seconds,
                 report->check_seconds);
    }
    const int n = snprintf(line, sizeof line, "%.300s: ok: %s%s, %llu tensors, %llu bytes, %.2f GB/s%s\n", path,
                           report->format, report->companion == COMPANION_BOUND ? " with its companion" : "",
                           (unsigned long long)report->n_tensors, (unsigned long long)report->bytes,
                           report->seconds > 0 ? (double)report->bytes / report->seconds * 1e-9 : 0.0, times);
    return command_write(line, (size_t)n) ? EXIT_DONE : EXIT_IO;
}

static void on_volume_note(void *ctx, const char *path, const fmt_diag *note) {
    note_list *list = ctx;
    if (!list->c->json) {
        log_line(QN_LOG_INFO, "note: %s: byte %llu: %s (rule %s)", path, (unsigned long long)note->offset, note->text,
                 note->rule);
    }
    json_array_append_new(list->notes, json_pack("{s:o, s:s, s:I, s:o}", "path", command_json_text(path, strlen(path)),
                                                 "rule", note->rule, "offset", (json_int_t)note->offset, "message",
                                                 command_json_text(note->text, strlen(note->text))));
}

static int verify_model_file(command_context *c, note_list *notes) {
    command_progress progress;
    const verify_options_set options = {.mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                        .check_values = !settings.no_weight_check,
                                        .companion = settings.companion,
                                        .note = on_note,
                                        .note_ctx = notes,
                                        .progress = command_show_progress,
                                        .progress_ctx = &progress};
    verify_report report;
    command_begin_progress(&progress, c, "checking");
    const qn_status status = verify_file(c->args.items[0], &options, c->workers, &report, &c->err);
    command_end_progress(&progress);
    return print_verdict(c, c->args.items[0], &report, notes->notes, status);
}

static int verify_graph_file(command_context *c, const file_kind *kind, note_list *notes) {
    const char *level = settings.check_all ? "full" : settings.level;
    uint64_t memory = 0; /* the default */
    command_progress progress;
    if (graph_parse_size("--memory", settings.memory, LEAST_MEMORY, &memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    const verify_volume_options options = {.mode = settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                           .level = verify_level_of(level),
                                           .memory = memory,
                                           .note = on_volume_note,
                                           .note_ctx = notes,
                                           .progress = command_show_progress,
                                           .progress_ctx = &progress};
    volume_report_list list;
    command_begin_progress(&progress, c, "checking");
    const qn_status status = file_kind_verify(kind, c->args.items[0], &options, c->workers, &list, &c->err);
    command_end_progress(&progress);
    const int exit_status = verify_print(c, kind, level, c->args.items[0], &list, notes->notes, status);
    verify_report_free(&list);
    return exit_status;
}

static int run(command_context *c) {
    const file_kind *kind;
    if (c->args.n_items != 1) {
        FAIL(&c->err, QN_BAD_INPUT, "verify needs one FILE; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (adapter_is_file(c->args.items[0])) {
        return adapter_verify(c, c->args.items[0]);
    }
    if (command_start_team(c) < 0 || file_kind_detect(c->args.items[0], settings.is_flat, &kind, &c->err) < 0) {
        return command_fail(c);
    }
    note_list notes = {c, json_array()};
    command_catch_signals(c);
    const int exit_status = kind != NULL ? verify_graph_file(c, kind, &notes) : verify_model_file(c, &notes);
    json_decref(notes.notes);
    return exit_status;
}

const command command_verify = {
    .name = "verify",
    .summary = "Check a file against every rule of its standard",
    .synopsis = "FILE [options]",
    .example =
        "  quoin verify model.p64\n  quoin verify model.p64 --strict --json\n  quoin verify graph.q42 --level blocks\n",
    .options = verify_options,
    .run = run, .is_without_backend = true};
