/* cmd_compact.c — quoin compact: a volume or a set written anew, with nothing in it that no statement uses. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/same_file.h"
#include "cli/graph_command.h"
#include "cli/volume_options.h"
#include "graph/file_digest.h"
#include "graph/journal_file.h"
#include "graph/rewrite.h"

static struct {
    const char *output, *journal, *segment_size, *memory;
    bool is_in_place, is_forced, is_dry, fixes_parity, is_commons, is_strict;
} settings;

static const option *compact_options(void) {
    static const option table[] = {
        {OPTION_STRING, "output", 'o', "FILE", "the volume, or the root of the set, to write", &settings.output, 0, 0,
         NULL, NULL},
        {OPTION_FLAG, "in-place", 0, NULL, "replace the volume itself (not a set)", &settings.is_in_place, 0, 0, NULL,
         NULL},
        {OPTION_STRING, "journal", 0, "FILE", "apply a journal of this volume", &settings.journal, 0, 0, NULL, NULL},
        {OPTION_FLAG, "rewrite", 0, NULL, "compute a wrong parity anew instead of refusing it", &settings.fixes_parity,
         0, 0, NULL, NULL},
        {OPTION_FLAG, "commons", 0, NULL, "declare it public, if the statements allow it", &settings.is_commons, 0, 0,
         NULL, NULL},
        {OPTION_STRING, "segment-size", 0, "SIZE",
         "write a set of files of at most this size; 0 = one file (default: as the source, 512M)",
         &settings.segment_size, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "memory for sorting (default 256M)", &settings.memory, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.is_strict, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "dry-run", 0, NULL, "read everything, write nothing", &settings.is_dry, 0, 0, NULL, NULL},
        {OPTION_FLAG, "force", 0, NULL, "replace an existing output", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

typedef struct compaction {
    command_context *c;
    graph_volume *volume;
    journal_file journal;
    journal_state state;
    bool has_journal;
    rewrite_request request;
    command_progress progress;
} compaction;

static qn_status open_journal(compaction *k, const char *path, error_context *err) {
    uint8_t digest[Q42_DIGEST_BYTES];
    const fmt_mode mode = settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT;
    qn_status status = journal_file_open(settings.journal, mode, graph_tell_note,
                                         (void *)(uintptr_t)settings.journal, &k->journal, err);
    if (status < 0) {
        return status;
    }
    k->has_journal = true;
    status = file_digest(path, command_show_progress, &k->progress, digest, err);
    status = status < 0 ? status : journal_file_check_base(&k->journal, digest, err);
    status = status < 0 ? status : journal_state_build(&k->journal.journal, settings.journal, &k->state, err);
    k->request.state = &k->state;
    k->request.drops_commons = k->journal.journal.header.privacy != 2;
    return status;
}

static qn_status choose_output(compaction *k, const char *path, error_context *err) {
    const bool is_set = graph_volume_is_set(k->volume);
    const char *output = settings.is_in_place ? path : settings.output;
    k->request.segment_bytes = is_set ? GRAPH_DEFAULT_SEGMENT : 0;
    QN_TRY(graph_parse_size("--segment-size", settings.segment_size, 0, &k->request.segment_bytes, err), err,
           "reading the command line");
    if (k->request.segment_bytes > 0 && k->request.segment_bytes < VOLUME_LEAST_SEGMENT) {
        return FAIL(err, QN_BAD_INPUT, "--segment-size %s: must be at least %uK", settings.segment_size,
                    VOLUME_LEAST_SEGMENT / 1024);
    }
    if (output != NULL && same_file(path, output) && !settings.is_in_place) {
        return FAIL(err, QN_BAD_INPUT, "%s: is the source; --in-place replaces it", output);
    }
    if (settings.is_in_place && (is_set || k->request.segment_bytes > 0)) {
        return FAIL(err, QN_BAD_INPUT, "%s: several files cannot be replaced at once; write the set elsewhere with -o",
                    path);
    }
    k->request.output = output;
    return QN_OK;
}

static int report(command_context *c, const compaction *k, const char *path, const rewrite_report *r) {
    const q42_publication_verdict verdict = q42_publication_judge(&r->tally);
    json_t *object = json_pack(
        "{s:s, s:s?, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i, s:i, s:s}", "file", path, "output",
        settings.is_dry ? NULL : k->request.output, "dry_run", settings.is_dry, "quins_read", (json_int_t)r->n_read,
        "quins", (json_int_t)r->written.n_quins, "added", (json_int_t)r->n_added, "removed", (json_int_t)r->n_removed,
        "duplicates", (json_int_t)r->written.n_duplicates, "parity_fixed", (json_int_t)r->n_fixed, "terms_before",
        (json_int_t)r->n_terms_before, "terms", (json_int_t)r->written.n_terms, "files", (int)r->written.n_files,
        "flags_before", (int)r->flags_before, "flags", (int)r->written.flags, "class", q42_class_name(verdict.which));
    if (r->lost_commons) {
        log_line(QN_LOG_WARN, "%s: Commons was declared and is not any more: %s", path,
                 k->request.drops_commons && !verdict.is_sanctuary ? "the journal is private; --commons declares it again"
                                                                    : verdict.reason);
    }
    if (settings.is_dry) {
        return graph_report(c, object, "%s: %" PRIu64 " quins can be written anew; %" PRIu64 " removed, %" PRIu64 " added\n",
                            path, r->n_read, r->n_removed, r->n_added);
    }
    return graph_report(c, object, "%s: %" PRIu64 " quins of %" PRIu64 ", %" PRIu64 " terms of %" PRIu64 ", %u file%s, %" PRIu64
                        " bytes\n",
                        k->request.output, r->written.n_quins, r->n_read, r->written.n_terms, r->n_terms_before,
                        r->written.n_files, r->written.n_files == 1 ? "" : "s", r->written.bytes);
}

static qn_status compact_volume(compaction *k, const char *path, rewrite_report *out_report, error_context *err) {
    const fmt_mode mode = settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT;
    QN_TRY(command_start_team(k->c), err, "starting");
    QN_TRY(graph_volume_open(path, mode, TERMS_AUTO, &k->volume, err), err, "opening %s", path);
    QN_TRY(choose_output(k, path, err), err, "compacting %s", path);
    if (settings.journal != NULL) {
        QN_TRY(open_journal(k, path, err), err, "reading %s", settings.journal);
    }
    k->request.volume = k->volume;
    k->request.workers = k->c->workers;
    return rewrite_run(&k->request, out_report, err);
}

static int run(command_context *c) {
    compaction k = {.c = c, .request = {.is_forced = settings.is_forced || settings.is_in_place,
                                        .fixes_parity = settings.fixes_parity, .wants_commons = settings.is_commons,
                                        .is_dry = settings.is_dry, .progress = command_show_progress}};
    rewrite_report r = {0};
    if (c->args.n_items != 1) {
        return graph_refuse_usage(c, "compact needs one VOLUME; %u arguments were given", c->args.n_items);
    }
    if ((settings.output != NULL) == settings.is_in_place && !(settings.is_dry && settings.output == NULL)) {
        return graph_refuse_usage(c, "compact needs either -o FILE or --in-place");
    }
    if (volume_options_memory(settings.memory, &k.request.memory, &c->err) < 0) {
        command_fail(c);
        return EXIT_USAGE;
    }
    k.request.progress_ctx = &k.progress;
    command_catch_signals(c);
    command_begin_progress(&k.progress, c, "compacting");
    const qn_status status = compact_volume(&k, c->args.items[0], &r, &c->err);
    command_end_progress(&k.progress);
    const int exit_status = status < 0 ? command_fail(c) : report(c, &k, c->args.items[0], &r);
    journal_state_free(&k.state);
    if (k.has_journal) {
        journal_file_close(&k.journal);
    }
    graph_volume_close(k.volume);
    return exit_status;
}

const command command_compact = {
    .name = "compact", .summary = "Write a volume anew, without what nothing uses", .synopsis = "VOLUME -o FILE [options]",
    .example = "  quoin compact books.q42 --journal books.q42j -o books-2.q42\n  quoin compact books.q42 --in-place\n",
    .options = compact_options, .run = run, .is_without_backend = true};
