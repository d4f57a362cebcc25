/* cmd_export.c — quoin export: a volume as N-Quads. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/same_file.h"
#include "cli/command.h"
#include "cli/graph_command.h"
#include "cli/text_output.h"
#include "cli/volume_options.h"
#include "graph/volume_export.h"

static struct {
    const char *output, *terms, *memory;
    bool lossy, unsorted, force, strict;
} settings;

static const option *export_options_table(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "write here instead of standard output; .gz and .zst compress", &settings.output, 0,
         0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing file", &settings.force, 0, 0, NULL, NULL},
        {OPTION_FLAG, "lossy", 0, NULL, "write what has no exact form as what it looks like, and count it", &settings.lossy, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "unsorted", 0, NULL, "in the volume's order: at once, without temporary files", &settings.unsorted, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "for sorting, with K, M or G (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_STRING, "terms", 0, "T", "the volume's terms are surface, bare or token (default: auto)", &settings.terms, 0, 0,
         "auto|surface|bare|token", NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static int tell_report(command_context *c, const export_report *report) {
    char note[320];
    if (term_counts_describe(&report->counts, note, sizeof note)) {
        log_line(QN_LOG_INFO, "note: %s", note);
    }
    if (!c->json) {
        return EXIT_DONE;
    }
    return command_print_json(c, json_pack("{s:I, s:I, s:I, s:I, s:I}", "statements", (json_int_t)report->n_statements, "repeated",
                                           (json_int_t)report->n_repeated, "unresolved",
                                           (json_int_t)report->counts.n_unresolved, "bare", (json_int_t)report->counts.n_bare,
                                           "guessed", (json_int_t)report->counts.n_guessed));
}

static qn_status write_volume(command_context *c, graph_volume *volume, text_output *output, uint64_t memory,
                              export_report *report) {
    char folder[ATOMIC_PATH_SIZE];
    command_progress progress;
    const export_options options = {.is_lossy = settings.lossy,
                                    .is_sorted = !settings.unsorted,
                                    .memory = memory,
                                    .folder = volume_options_folder(output->path, folder, sizeof folder),
                                    .write = text_output_write,
                                    .write_ctx = output,
                                    .progress = command_show_progress,
                                    .progress_ctx = &progress};
    command_catch_signals(c);
    command_begin_progress(&progress, c, "exporting");
    qn_status status = volume_export(volume, &options, report, &c->err);
    command_end_progress(&progress);
    return status == QN_OK ? text_output_end(output, &c->err) : status;
}

static int run(command_context *c) {
    uint64_t memory;
    if (c->args.n_items != 1 || (c->json && settings.output == NULL)) {
        FAIL(&c->err, QN_BAD_INPUT, c->args.n_items != 1 ? "export needs one VOLUME; %u arguments were given"
                                                         : "--json needs --output FILE: standard output has room for one of the two",
             c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (settings.output != NULL && same_file(settings.output, c->args.items[0])) {
        return graph_refuse_usage(c, "%s is read and written at once: export into another file", settings.output);
    }
    if (volume_options_memory(settings.memory, &memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    graph_volume *volume = NULL;
    text_output output = {.path = NULL};
    export_report report;
    qn_status status = graph_volume_open(c->args.items[0], settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT,
                                         volume_options_terms(settings.terms), &volume, &c->err);
    if (status == QN_OK) {
        status = text_output_begin(&output, settings.output, settings.force, &c->err);
    }
    if (status == QN_OK) {
        status = write_volume(c, volume, &output, memory, &report);
    }
    text_output_abort(&output);
    graph_volume_close(volume);
    return output.is_broken ? EXIT_IO : status < 0 ? command_fail(c) : tell_report(c, &report);
}

const command command_export = {.name = "export",
                                .summary = "Write a Q42 volume as N-Quads",
                                .synopsis = "VOLUME [options]",
                                .example = "  quoin export schema.q42 -o schema.nq.gz\n  quoin export schema.q42 --unsorted | head\n",
                                .options = export_options_table,
                                .run = run, .is_without_backend = true};
