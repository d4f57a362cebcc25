/* cmd_merge.c — quoin merge: several volumes become one. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/volume_options.h"
#include "graph/volume_merge.h"

static struct {
    const char *output, *memory, *segment_size;
    bool force, strict;
} settings;

static const option *merge_options_table(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "the volume to write", &settings.output, 0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing file", &settings.force, 0, 0, NULL, NULL},
        {OPTION_STRING, "segment-size", 0, "SIZE", "write a volume set of files up to SIZE, with K, M or G", &settings.segment_size, 0,
         0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "for sorting, with K, M or G (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static int print_report(command_context *c, const volume_report *r) {
    if (c->json) {
        return command_print_json(c, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:i, s:b, s:b}", "file", settings.output, "statements",
                                               (json_int_t)r->n_quins, "duplicates", (json_int_t)r->n_duplicates, "terms",
                                               (json_int_t)r->n_terms, "blocks", (json_int_t)r->n_blocks, "bytes",
                                               (json_int_t)r->bytes, "files", (int)r->n_files, "commons",
                                               (r->flags & Q42_FLAG_COMMONS) != 0, "sanctuary",
                                               (r->flags & Q42_FLAG_SANCTUARY) != 0));
    }
    log_line(QN_LOG_INFO, "%s: %" PRIu64 " statements (%" PRIu64 " were there more than once), %" PRIu64 " terms, %" PRIu64 " bytes",
             settings.output, r->n_quins, r->n_duplicates, r->n_terms, r->bytes);
    return EXIT_DONE;
}

static qn_status merge(command_context *c, graph_volume **volumes, merge_options *options, volume_report *report) {
    const uint32_t n = c->args.n_items;
    command_progress progress;
    qn_status status = command_start_team(c);
    for (uint32_t i = 0; i < n && status == QN_OK; i++) {
        status = graph_volume_open(c->args.items[i], settings.strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT, TERMS_AUTO, &volumes[i],
                                   &c->err);
    }
    if (status < 0) {
        return status;
    }
    options->workers = c->workers;
    options->progress = command_show_progress;
    options->progress_ctx = &progress;
    command_catch_signals(c);
    command_begin_progress(&progress, c, "merging");
    status = volume_merge(volumes, n, settings.output, options, report, &c->err);
    command_end_progress(&progress);
    return status;
}

static qn_status read_arguments(command_context *c, merge_options *options) {
    *options = (merge_options){.is_forced = settings.force};
    if (c->args.n_items == 0 || settings.output == NULL) {
        return FAIL(&c->err, QN_BAD_INPUT, "merge needs volumes and --output FILE; %u arguments were given", c->args.n_items);
    }
    if (settings.segment_size != NULL) {
        const qn_status status = volume_options_size("--segment-size", settings.segment_size, VOLUME_LEAST_SEGMENT,
                                                     &options->segment_bytes, &c->err);
        if (status < 0) {
            return status;
        }
    }
    return volume_options_memory(settings.memory, &options->memory, &c->err);
}

static int run(command_context *c) {
    merge_options options;
    if (read_arguments(c, &options) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    graph_volume *volumes[ARGUMENTS_MAX] = {NULL};
    volume_report report;
    const qn_status status = merge(c, volumes, &options, &report);
    const int exit_status = status < 0 ? command_fail(c) : print_report(c, &report);
    for (uint32_t i = 0; i < c->args.n_items; i++) {
        graph_volume_close(volumes[i]);
    }
    return exit_status;
}

const command command_merge = {.name = "merge",
                               .summary = "Put the statements of several Q42 volumes into one",
                               .synopsis = "VOLUME... --output FILE [options]",
                               .example = "  quoin merge a.q42 b.q42 -o both.q42\n",
                               .options = merge_options_table,
                               .run = run, .is_without_backend = true};
