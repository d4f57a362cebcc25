/* cmd_journal.c — quoin journal: a user's edits of one volume, kept beside it until they are merged. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/graph_command.h"
#include "cli/journal_text.h"
#include "cli/volume_options.h"
#include "graph/file_digest.h"
#include "graph/journal_edit.h"
#include "graph/journal_file.h"
#include "graph/rewrite.h"

#define MAX_TIER 4

static struct {
    option_list statements;
    const char *output, *profile, *privacy, *actor, *memory, *volume;
    uint32_t tier;
    bool is_strict, is_forced, is_commons;
} settings;

static const option *journal_options(void) {
    settings.profile = "generic";
    settings.privacy = "sanctuary";
    static const option table[] = {
        {OPTION_LIST, "statement", 's', "TEXT", "append, remove: a statement in N-Quads (several: give it several times)",
         &settings.statements, 0, 0, NULL, NULL},
        {OPTION_UINT, "tier", 0, "N", "append: sensitivity of what is added, 0 public to 4 fiduciary", &settings.tier, 0,
         MAX_TIER, NULL, NULL},
        {OPTION_STRING, "actor", 0, "DID", "append, remove: who does it", &settings.actor, 0, 0, NULL, NULL},
        {OPTION_STRING, "profile", 0, "NAME", "of a new journal: generic, workspace, simulation, clinical or civic",
         &settings.profile, 0, 0, "generic|workspace|simulation|clinical|civic", NULL},
        {OPTION_STRING, "privacy", 0, "NAME", "of a new journal: sanctuary (default), restricted or commons",
         &settings.privacy, 0, 0, "sanctuary|restricted|commons", NULL},
        {OPTION_STRING, "volume", 0, "VOLUME", "show: where terms that the journal does not hold are looked up",
         &settings.volume, 0, 0, NULL, NULL},
        {OPTION_STRING, "output", 'o', "FILE", "checkpoint: write the new volume here, and leave volume and journal alone",
         &settings.output, 0, 0, NULL, NULL},
        {OPTION_FLAG, "commons", 0, NULL, "checkpoint: declare the result public, if the statements allow it",
         &settings.is_commons, 0, 0, NULL, NULL},
        {OPTION_STRING, "memory", 0, "SIZE", "checkpoint: memory for sorting (default 256M)", &settings.memory, 0, 0, NULL,
         NULL},
        {OPTION_FLAG, "force", 0, NULL, "checkpoint: replace an existing output", &settings.is_forced, 0, 0, NULL, NULL},
        {OPTION_FLAG, "strict", 0, NULL, "accept only the letter of the standard", &settings.is_strict, 0, 0, NULL, NULL},
        {OPTION_END, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL}};
    return table;
}

/* Volume, journal and what it makes of the volume. */
typedef struct journal_work {
    command_context *c;
    const char *volume_path, *journal_path;
    graph_volume *volume;
    uint8_t digest[Q42_DIGEST_BYTES]; /* of the volume's file */
    journal_file journal;
    bool has_journal, has_state;
    journal_state state;
    command_progress progress;
} journal_work;

static fmt_mode chosen_mode(void) {
    return settings.is_strict ? FMT_MODE_STRICT : FMT_MODE_DEFAULT;
}

static qn_status open_volume(journal_work *w, error_context *err) {
    QN_TRY(graph_volume_open(w->volume_path, chosen_mode(), TERMS_AUTO, &w->volume, err), err, "opening %s", w->volume_path);
    QN_TRY(file_digest_of_span(graph_volume_root(w->volume)->span, w->volume_path, command_show_progress, &w->progress,
                               w->digest, err),
           err, "computing the SHA-256 of %s", w->volume_path);
    return graph_volume_check_files(w->volume, err);
}

static qn_status open_journal(journal_work *w, error_context *err) {
    QN_TRY(journal_file_open(w->journal_path, chosen_mode(), graph_tell_note, (void *)(uintptr_t)w->journal_path,
                             &w->journal, err),
           err, "reading %s", w->journal_path);
    w->has_journal = true;
    if (w->volume_path != NULL) {
        QN_TRY(journal_file_check_base(&w->journal, w->digest, err), err, "holding %s against %s", w->journal_path,
               w->volume_path);
    }
    QN_TRY(journal_state_build(&w->journal.journal, w->journal_path, &w->state, err), err, "reading %s", w->journal_path);
    w->has_state = true;
    return QN_OK;
}

static void close_work(journal_work *w) {
    journal_state_free(&w->state);
    if (w->has_journal) {
        journal_file_close(&w->journal);
    }
    graph_volume_close(w->volume);
}

/* ---------------------------------------------------------------- append, remove */

static uint16_t find_word(const char *words, const char *word) {
    uint16_t at = 0;
    const size_t size = strlen(word);
    for (const char *w = words; w != NULL; w = strchr(w, '|') != NULL ? strchr(w, '|') + 1 : NULL, at++) {
        if (strncmp(w, word, size) == 0 && (w[size] == '|' || w[size] == '\0')) {
            return at;
        }
    }
    return 0;
}

static qn_status create_journal(journal_work *w, error_context *err) {
    q42_journal_header header = {
        .profile = (uint16_t)(1 + find_word("generic|workspace|simulation|clinical|civic", settings.profile)),
        .privacy = (uint8_t)find_word("sanctuary|restricted|commons", settings.privacy),
        .base_generation = graph_volume_root(w->volume)->manifest.generation,
        .schema_rules = 1};
    memcpy(header.base_digest, w->digest, sizeof header.base_digest);
    return journal_file_create(w->journal_path, &header, err);
}

typedef struct editing {
    journal_edit edit;
    bool adds;
    char *scratch; /* [NTRIPLES_SCRATCH_SIZE] */
} editing;

static qn_status take_statements(editing *e, fmt_span bytes, const char *name, error_context *err) {
    ntriples_parser parser;
    ntriples_statement statement;
    fmt_diag diag;
    fmt_status found;
    const ntriples_options options = {.syntax = NTRIPLES_QUADS};
    ntriples_start(&parser, (ntriples_chunk){bytes, 0, 1}, &options, e->scratch);
    while ((found = ntriples_next(&parser, &statement, &diag)) == FMT_OK) {
        const qn_status status = e->adds ? journal_edit_add(&e->edit, &statement, err)
                                         : journal_edit_remove(&e->edit, &statement, err);
        if (status < 0) {
            return status;
        }
    }
    return found == FMT_NOT_FOUND ? QN_OK : FAIL(err, QN_BAD_INPUT, "%s: %s", name, diag.text);
}

/* A statement on the command line may do without its full stop. */
static qn_status take_argument(editing *e, const char *text, error_context *err) {
    size_t size = strlen(text);
    char *line = malloc(size + 3);
    if (line == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    memcpy(line, text, size);
    while (size > 0 && strchr(" \t\r\n", line[size - 1]) != NULL) {
        size--;
    }
    if (size == 0 || line[size - 1] != '.') {
        memcpy(line + size, " .", 2);
        size += 2;
    }
    const qn_status status = take_statements(e, (fmt_span){(const uint8_t *)line, size}, "--statement", err);
    free(line);
    return status;
}

static qn_status read_stdin(text_buffer *out, error_context *err) {
    char piece[65536];
    ssize_t n;
    while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0) {
        if (!text_buffer_append(out, piece, (size_t)n)) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for standard input");
        }
    }
    return n == 0 ? QN_OK : FAIL(err, QN_IO, "standard input cannot be read");
}

static qn_status take_file(editing *e, const char *path, error_context *err) {
    qn_status status;
    if (strcmp(path, "-") == 0) {
        text_buffer text = {0};
        status = read_stdin(&text, err);
        status = status < 0 ? status
                            : take_statements(e, (fmt_span){(const uint8_t *)text.text, text.size}, "standard input", err);
        text_buffer_free(&text);
        return status;
    }
    mapped_file file = {.fd = -1};
    status = mapped_file_open(path, &file, err);
    if (status < 0) {
        return status;
    }
    status = take_statements(e, file.span, path, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    mapped_file_close(&file);
    return status;
}

static qn_status take_all(editing *e, const arguments *args, error_context *err) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < settings.statements.n_items; i++) {
        status = take_argument(e, settings.statements.items[i], err);
    }
    for (uint32_t i = 3; status >= 0 && i < args->n_items; i++) {
        status = take_file(e, args->items[i], err);
    }
    return status;
}

static qn_status write_transaction(journal_work *w, editing *e, journal_writer *writer, error_context *err) {
    const char *command = e->adds ? "quoin journal append" : "quoin journal remove";
    const uint64_t actor = settings.actor != NULL ? q42_hash(settings.actor, strlen(settings.actor)) : 0;
    qn_status status = journal_writer_begin(writer, q42_hash(command, strlen(command)), actor, err);
    e->edit = (journal_edit){.volume = w->volume, .state = &w->state, .writer = writer,
                             .metadata = e->adds ? (uint64_t)settings.tier << 56 : 0};
    status = status < 0 ? status : take_all(e, &w->c->args, err);
    if (status >= 0 && e->edit.n_changed > 0) {
        status = journal_writer_commit(writer, err);
    }
    return status;
}

static qn_status edit_journal(journal_work *w, editing *e, error_context *err) {
    QN_TRY(open_volume(w, err), err, "editing");
    if (access(w->journal_path, F_OK) != 0) {
        QN_TRY(create_journal(w, err), err, "making %s", w->journal_path);
    }
    QN_TRY(open_journal(w, err), err, "editing");
    journal_writer writer;
    QN_TRY(journal_writer_open(&w->journal, &writer, err), err, "editing %s", w->journal_path);
    e->scratch = malloc(NTRIPLES_SCRATCH_SIZE);
    const qn_status status = e->scratch != NULL ? write_transaction(w, e, &writer, err)
                                                : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    journal_writer_close(&writer);
    free(e->scratch);
    return status;
}

static int run_edit(journal_work *w, bool adds) {
    editing e = {.adds = adds};
    command_context *c = w->c;
    if (c->args.n_items < 3 || (c->args.n_items == 3 && settings.statements.n_items == 0)) {
        return graph_refuse_usage(c, "journal %s needs VOLUME, JOURNAL and statements: FILEs, - or --statement",
                                  adds ? "append" : "remove");
    }
    const qn_status status = edit_journal(w, &e, &c->err);
    const uint64_t n_changed = e.edit.n_changed, n_idle = e.edit.n_idle;
    journal_edit_free(&e.edit);
    if (status < 0) {
        return command_fail(c);
    }
    json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I}", "volume", w->volume_path, "journal", w->journal_path,
                               adds ? "added" : "removed", (json_int_t)n_changed, adds ? "already_there" : "not_there",
                               (json_int_t)n_idle, "terms", (json_int_t)e.edit.n_terms);
    return graph_report(c, object, "%s: %" PRIu64 " %s, %" PRIu64 " %s\n", w->journal_path, n_changed,
                        adds ? "added" : "removed", n_idle, adds ? "were there already" : "were not there");
}

/* ---------------------------------------------------------------- show, replay */

static int print_journal(journal_work *w, bool is_replay) {
    command_context *c = w->c;
    json_t *list = c->json ? json_array() : NULL;
    journal_show_fn *show = is_replay ? journal_show_changes : journal_show_frames;
    const qn_status status = show(&w->journal.journal, &w->state, w->volume, list, &c->err);
    if (status < 0) {
        json_decref(list);
        return status == QN_IO && c->err.code == QN_OK ? EXIT_IO : command_fail(c);
    }
    if (w->journal.journal.n_torn_bytes > 0) {
        log_line(QN_LOG_INFO, "note: %s: %" PRIu64 " bytes behind the last transaction are left of one that was not finished",
                 w->journal_path, w->journal.journal.n_torn_bytes);
    }
    if (list == NULL) {
        return EXIT_DONE;
    }
    json_t *object = json_pack("{s:s, s:o}", "journal", w->journal_path, "header", journal_describe_header(&w->journal.journal));
    if (is_replay) {
        json_object_set_new(object, "added", json_integer((json_int_t)w->state.n_added));
        json_object_set_new(object, "removed", json_integer((json_int_t)w->state.n_removed));
    }
    json_object_set_new(object, is_replay ? "changes" : "frames", list);
    return command_print_json(c, object);
}

static int run_show(journal_work *w) {
    command_context *c = w->c;
    if (c->args.n_items != 2) {
        return graph_refuse_usage(c, "journal show needs one JOURNAL");
    }
    w->journal_path = c->args.items[1];
    w->volume_path = settings.volume;
    if ((w->volume_path != NULL && open_volume(w, &c->err) < 0) || open_journal(w, &c->err) < 0) {
        return command_fail(c);
    }
    return print_journal(w, false);
}

static int run_replay(journal_work *w) {
    if (w->c->args.n_items != 3) {
        return graph_refuse_usage(w->c, "journal replay needs VOLUME and JOURNAL");
    }
    if (open_volume(w, &w->c->err) < 0 || open_journal(w, &w->c->err) < 0) {
        return command_fail(w->c);
    }
    return print_journal(w, true);
}

/* ---------------------------------------------------------------- checkpoint */

/* The journal begins anew, about the volume that has just been written. */
static qn_status start_anew(journal_work *w, error_context *err) {
    q42_journal_header header = w->journal.journal.header;
    header.base_generation++;
    QN_TRY(file_digest(w->volume_path, command_show_progress, &w->progress, header.base_digest, err), err,
           "the volume is written, but not the new journal; remove %s and go on", w->journal_path);
    return journal_file_reset(w->journal_path, &header, err);
}

static qn_status merge_journal(journal_work *w, rewrite_report *out_report, error_context *err) {
    const bool is_set = graph_volume_is_set(w->volume);
    rewrite_request request = {.volume = w->volume, .state = &w->state,
                               .output = settings.output != NULL ? settings.output : w->volume_path,
                               .workers = w->c->workers, .segment_bytes = is_set ? GRAPH_DEFAULT_SEGMENT : 0,
                               .is_forced = settings.output == NULL || settings.is_forced,
                               .wants_commons = settings.is_commons,
                               .drops_commons = w->journal.journal.header.privacy != 2,
                               .progress = command_show_progress, .progress_ctx = &w->progress};
    if (is_set && settings.output == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: the files of a set cannot be replaced at once; -o FILE writes a new set",
                    w->volume_path);
    }
    QN_TRY(volume_options_memory(settings.memory, &request.memory, err), err, "--memory");
    return rewrite_run(&request, out_report, err);
}

static qn_status checkpoint(journal_work *w, rewrite_report *out_report, error_context *err) {
    journal_writer lock;
    QN_TRY(command_start_team(w->c), err, "starting");
    QN_TRY(open_volume(w, err), err, "merging");
    QN_TRY(open_journal(w, err), err, "merging");
    QN_TRY(journal_writer_open(&w->journal, &lock, err), err, "merging %s", w->journal_path);
    qn_status status = merge_journal(w, out_report, err);
    if (status >= 0 && settings.output == NULL) {
        status = start_anew(w, err);
    }
    journal_writer_close(&lock);
    return status;
}

static int run_checkpoint(journal_work *w) {
    command_context *c = w->c;
    rewrite_report report = {0};
    if (c->args.n_items != 3) {
        return graph_refuse_usage(c, "journal checkpoint needs VOLUME and JOURNAL");
    }
    command_begin_progress(&w->progress, c, "merging");
    const qn_status status = checkpoint(w, &report, &c->err);
    command_end_progress(&w->progress);
    if (status < 0) {
        return command_fail(c);
    }
    const char *output = settings.output != NULL ? settings.output : w->volume_path;
    if (report.lost_commons) {
        log_line(QN_LOG_WARN, "%s: Commons was declared and is not any more: %s", output,
                 q42_publication_judge(&report.tally).is_sanctuary ? q42_publication_judge(&report.tally).reason
                                                                   : "the journal is private; --commons declares it again");
    }
    json_t *object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:i}", "output", output, "journal", w->journal_path, "added",
                               (json_int_t)report.n_added, "removed", (json_int_t)report.n_removed, "quins",
                               (json_int_t)report.written.n_quins, "terms", (json_int_t)report.written.n_terms, "flags",
                               (int)report.written.flags);
    return graph_report(c, object, "%s: %" PRIu64 " added, %" PRIu64 " removed, %" PRIu64 " quins, %" PRIu64 " terms\n", output,
                        report.n_added, report.n_removed, report.written.n_quins, report.written.n_terms);
}

/* ---------------------------------------------------------------- the command */

static int run(command_context *c) {
    static const char *const words = "append|remove|replay|show|checkpoint";
    journal_work w = {.c = c, .volume_path = c->args.n_items > 1 ? c->args.items[1] : NULL,
                      .journal_path = c->args.n_items > 2 ? c->args.items[2] : NULL};
    const char *word = c->args.n_items > 0 ? c->args.items[0] : "";
    command_begin_progress(&w.progress, c, "reading");
    command_catch_signals(c);
    int status;
    if (strcmp(word, "append") == 0 || strcmp(word, "remove") == 0) {
        status = run_edit(&w, word[0] == 'a');
    } else if (strcmp(word, "show") == 0) {
        status = run_show(&w);
    } else if (strcmp(word, "replay") == 0) {
        status = run_replay(&w);
    } else if (strcmp(word, "checkpoint") == 0) {
        status = run_checkpoint(&w);
    } else {
        status = graph_refuse_usage(c, "journal needs one of %s", words);
    }
    command_end_progress(&w.progress);
    close_work(&w);
    return status;
}

const command command_journal = {
    .name = "journal", .summary = "Keep edits of a volume, and merge them into it",
    .synopsis = "append|remove|replay|checkpoint VOLUME JOURNAL [FILE...], or show JOURNAL",
    .example = "  quoin journal append books.q42 books.q42j -s '<http://e.example/a> <http://e.example/b> \"c\"'\n"
               "  quoin journal replay books.q42 books.q42j\n  quoin journal checkpoint books.q42 books.q42j\n",
    .options = journal_options, .run = run, .is_without_backend = true};
