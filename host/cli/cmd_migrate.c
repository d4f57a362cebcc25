/* cmd_migrate.c — quoin migrate: volumes of older versions become volumes of today. */
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "cli/graph_command.h"
#include "cli/volume_options.h"
#include "graph/migrate.h"
#include "graph/rewrite.h"

static struct {
    const char *output, *memory;
    bool is_dry, is_forced, is_flat;
} settings;

static const option *migrate_options(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "the volume to write (version 2: default is the file itself)",
         &settings.output, 0, 0, NULL, NULL},
        {OPTION_FLAG, "dry-run", 0, NULL, "tell what would be done and write nothing", &settings.is_dry, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "flat", 0, NULL, "read a file of bare 48-byte quins", &settings.is_flat, 0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing output", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "memory for sorting (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

static qn_status detect_kind(const char *path, q42_file_kind *out_kind, error_context *err) {
    mapped_file file = {.fd = -1};
    const qn_status status = mapped_file_open(path, &file, err);
    if (status < 0) {
        return status;
    }
    *out_kind = q42_detect(file.span);
    if (settings.is_flat && file.span.size % Q42_QUIN_BYTES == 0 && file.span.size > 0 &&
        (*out_kind == Q42_FILE_FLAT || *out_kind == Q42_FILE_RAW)) {
        *out_kind = Q42_FILE_FLAT;
    }
    mapped_file_close(&file);
    return QN_OK;
}

static int change_header(command_context *c, const char *path) {
    const char *output = settings.output != NULL ? settings.output : path;
    command_progress progress;
    migrate_report report;
    command_begin_progress(&progress, c, "migrating");
    const qn_status status = migrate_header(path, output, settings.is_forced, settings.is_dry, command_show_progress,
                                            &progress, &report, &c->err);
    command_end_progress(&progress);
    if (status < 0) {
        return command_fail(c);
    }
    const bool is_written = report.is_changed && !settings.is_dry;
    json_t *object = json_pack("{s:s, s:s, s:s?, s:b, s:b, s:i, s:i, s:i}", "file", path, "kind", "volume", "output",
                               is_written ? output : NULL, "changed", report.is_changed, "dry_run", settings.is_dry,
                               "version_before", (int)report.version_before, "flags_before", (int)report.flags_before,
                               "flags_after", (int)report.flags_after);
    if (!report.is_changed) {
        return graph_report(c, object, "%s: is version %u already; nothing to do\n", path, report.version_before);
    }
    return graph_report(c, object,
                        "%s: version %u %s version 3; blocks and terms stand as they stood, without Merkle root and field "
                        "indexes (`quoin compact --rewrite` makes them)\n",
                        output, report.version_before, settings.is_dry ? "would become" : "has become");
}

static int report_rewrite(command_context *c, const char *path, const legacy_file *legacy,
                          const rewrite_report *report) {
    static const char *const names[] = {[Q42_FILE_RAW] = "raw", [Q42_FILE_FRAMED] = "framed", [Q42_FILE_FLAT] = "flat"};
    json_t *object = json_pack("{s:s, s:s, s:s?, s:b, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "file", path, "kind",
                               names[legacy->kind], "output", settings.is_dry ? NULL : settings.output, "changed", 1,
                               "dry_run", settings.is_dry, "quins_read", (json_int_t)report->n_read, "quins",
                               (json_int_t)report->written.n_quins, "duplicates",
                               (json_int_t)report->written.n_duplicates, "parity_fixed", (json_int_t)report->n_fixed,
                               "terms_before", (json_int_t)report->n_terms_before, "terms",
                               (json_int_t)report->written.n_terms, "unresolved", (json_int_t)report->n_unresolved);
    if (settings.is_dry) {
        return graph_report(c, object, "%s: %s with %llu quins and %llu terms can be migrated\n", path,
                            q42_file_kind_name(legacy->kind), (unsigned long long)report->n_read,
                            (unsigned long long)report->n_terms_before);
    }
    return graph_report(c, object, "%s: %llu quins, %llu terms, in bare terms; %llu repeated, %llu with a new parity, "
                        "%llu places without a term\n",
                        settings.output, (unsigned long long)report->written.n_quins,
                        (unsigned long long)report->written.n_terms, (unsigned long long)report->written.n_duplicates,
                        (unsigned long long)report->n_fixed, (unsigned long long)report->n_unresolved);
}

static int write_anew(command_context *c, const char *path, q42_file_kind kind) {
    uint64_t memory = 0;
    legacy_file legacy;
    command_progress progress;
    rewrite_report report;
    if (settings.output == NULL && !settings.is_dry) {
        return graph_refuse_usage(c, "%s: is %s and is written anew: -o FILE says where to", path,
                                  q42_file_kind_name(kind));
    }
    if (volume_options_memory(settings.memory, &memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    qn_status status = command_start_team(c);
    if (status < 0 || legacy_file_open(path, kind, &legacy, &c->err) < 0) {
        return command_fail(c);
    }
    const rewrite_request request = {.legacy = &legacy, .output = settings.output, .workers = c->workers,
                                     .memory = memory, .is_forced = settings.is_forced, .fixes_parity = true,
                                     .is_dry = settings.is_dry, .progress = command_show_progress,
                                     .progress_ctx = &progress};
    command_begin_progress(&progress, c, "migrating");
    status = rewrite_run(&request, &report, &c->err);
    command_end_progress(&progress);
    const int exit_status = status < 0 ? command_fail(c) : report_rewrite(c, path, &legacy, &report);
    legacy_file_close(&legacy);
    return exit_status;
}

static int run(command_context *c) {
    q42_file_kind kind = Q42_FILE_UNKNOWN;
    if (c->args.n_items != 1) {
        return graph_refuse_usage(c, "migrate needs one FILE; %u arguments were given", c->args.n_items);
    }
    const char *path = c->args.items[0];
    command_catch_signals(c);
    if (detect_kind(path, &kind, &c->err) < 0) {
        return command_fail(c);
    }
    switch (kind) {
    case Q42_FILE_VOLUME:
    case Q42_FILE_OLD_VOLUME: return change_header(c, path);
    case Q42_FILE_RAW:
    case Q42_FILE_FRAMED: return write_anew(c, path, kind);
    case Q42_FILE_FLAT:
        if (settings.is_flat) {
            return write_anew(c, path, kind);
        }
        FAIL(&c->err, QN_BAD_INPUT, "%s: may be bare quins, which nothing in the file says; --flat reads it so", path);
        return command_fail(c);
    default:
        FAIL(&c->err, QN_BAD_FILE, "%s: is %s; migrate takes volumes of version 2, version 1 blocks and framed files",
             path, q42_file_kind_name(kind));
        return command_fail(c);
    }
}

const command command_migrate = {.name = "migrate", .summary = "Bring an older volume up to date",
                                 .synopsis = "FILE [-o FILE] [options]",
                                 .example = "  quoin migrate old.q42 --dry-run\n  quoin migrate raw.q42 -o new.q42\n",
                                 .options = migrate_options, .run = run, .is_without_backend = true};
