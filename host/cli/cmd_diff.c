/* cmd_diff.c — quoin diff: the statements in which two volumes differ. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/text_output.h"
#include "cli/volume_options.h"
#include "graph/volume_diff.h"

#define EXIT_DIFFERENT 1
#define EXIT_TROUBLE 2 /* as diff(1) has it: 1 says that they differ */
#define CHUNK (64u << 10)

static struct {
    const char *memory;
    bool lossy, brief, strict;
} settings;

static const option *diff_options_table(void) {
    static const option table[] = {
        {OPTION_FLAG, "brief", 0, NULL, "only whether they differ, by the exit status and the numbers", &settings.brief, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "lossy", 0, NULL, "compare what has no exact form as what it looks like", &settings.lossy, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "for sorting, with K, M or G (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct diff_printer {
    bool is_silent;
    text_buffer out;
    text_output output;
} diff_printer;

static qn_status flush(diff_printer *p, error_context *err) {
    const bool is_written = p->out.size == 0 || text_output_write(&p->output, p->out.text, p->out.size, err);
    p->out.size = 0;
    return is_written ? QN_OK : QN_IO;
}

static qn_status print_line(void *ctx, bool is_added, fmt_str line, error_context *err) {
    diff_printer *p = ctx;
    if (p->is_silent) {
        return QN_OK;
    }
    if (!text_buffer_append(&p->out, is_added ? "+ " : "- ", 2) || !text_buffer_append(&p->out, line.data, (size_t)line.size)) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    return p->out.size >= CHUNK ? flush(p, err) : QN_OK;
}

static int finish(command_context *c, const diff_report *report) {
    char note[320];
    if (term_counts_describe(&report->counts, note, sizeof note)) {
        log_line(QN_LOG_INFO, "note: %s", note);
    }
    const bool is_equal = report->n_added == 0 && report->n_removed == 0;
    if (c->json) {
        const int printed = command_print_json(
            c, json_pack("{s:b, s:I, s:I, s:I, s:s}", "equal", is_equal, "added", (json_int_t)report->n_added, "removed",
                         (json_int_t)report->n_removed, "common", (json_int_t)report->n_common, "compared_by",
                         report->is_by_text ? "text" : "ids"));
        if (printed != EXIT_DONE) {
            return printed;
        }
    } else if (!is_equal) {
        log_line(QN_LOG_INFO, "%llu added, %llu removed, %llu in both", (unsigned long long)report->n_added,
                 (unsigned long long)report->n_removed, (unsigned long long)report->n_common);
    }
    return is_equal ? EXIT_DONE : EXIT_DIFFERENT;
}

static qn_status compare(command_context *c, graph_volume *volumes[2], uint64_t memory, diff_report *report, bool *out_is_broken) {
    diff_printer printer = {.is_silent = settings.brief || c->json};
    char folder[ATOMIC_PATH_SIZE];
    const diff_options options = {.memory = memory,
                                  .folder = volume_options_folder(NULL, folder, sizeof folder),
                                  .is_lossy = settings.lossy,
                                  .tell = print_line,
                                  .tell_ctx = &printer};
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < 2 && status == QN_OK; i++) {
        status = graph_volume_open(c->args.items[i], settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, TERMS_AUTO, &volumes[i],
                                   &c->err);
    }
    status = status < 0 ? status : volume_diff(volumes[0], volumes[1], &options, report, &c->err);
    status = status < 0 ? status : flush(&printer, &c->err);
    text_buffer_free(&printer.out);
    *out_is_broken = printer.output.is_broken;
    return status;
}

static int run(command_context *c) {
    uint64_t memory;
    if (c->args.n_items != 2) {
        FAIL(&c->err, QN_BAD_INPUT, "diff needs two volumes, BEFORE and AFTER; %u arguments were given", c->args.n_items);
        command_fail(c);
        return EXIT_USAGE;
    }
    if (volume_options_memory(settings.memory, &memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    graph_volume *volumes[2] = {NULL, NULL};
    diff_report report;
    int exit_status = EXIT_IO;
    bool is_broken;
    if (compare(c, volumes, memory, &report, &is_broken) == QN_OK) {
        exit_status = finish(c, &report);
    } else if (!is_broken) {
        exit_status = command_fail(c);
        exit_status = exit_status == EXIT_DIFFERENT ? EXIT_TROUBLE : exit_status;
    }
    graph_volume_close(volumes[0]);
    graph_volume_close(volumes[1]);
    return exit_status;
}

const command command_diff = {.name = "diff",
                              .summary = "Show the statements in which two Q42 volumes differ",
                              .synopsis = "BEFORE AFTER [options]",
                              .example = "  quoin diff monday.q42 tuesday.q42\n  quoin diff --brief a.q42 b.q42 && echo equal\n",
                              .options = diff_options_table,
                              .run = run, .is_without_backend = true};
