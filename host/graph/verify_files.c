/* verify_files.c — journals, envelopes, manifests, archives, sidecars and older forms: opened whole, every part read.
 */
#include "graph/verify_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/qwal.h>

#include "graph/verify_blocks.h"

#define PATH_SIZE 4096

typedef struct note_sink {
    const verify_volume_options *options;
    const char *path;
} note_sink;

static void pass_note(void *ctx, const fmt_diag *note) {
    const note_sink *sink = ctx;
    if (sink->options->note != NULL) {
        sink->options->note(sink->options->note_ctx, sink->path, note);
    }
}

/* The report of the one file, with its first check: PASS, or FAIL and the error. */
static qn_status begin_report(const mapped_file *file, fmt_status opened, const fmt_diag *diag, const char *check,
                              volume_report_list *list, verify_file_report **out_report, error_context *err) {
    QN_TRY(verify_report_add_file(list, file->path, VERIFY_STANDALONE, out_report, err), err, "%s", file->path);
    (*out_report)->bytes = file->span.size;
    verify_add(*out_report, check, opened == FMT_OK ? Q42_PASS : Q42_FAIL, opened == FMT_OK ? NULL : diag);
    return opened == FMT_OK ? QN_OK : error_from_diag(err, opened, diag, file->path);
}

qn_status verify_foreign(const mapped_file *file, const verify_volume_options *options, team *workers,
                         volume_report_list *out_list, error_context *err) {
    q42_volume volume;
    verify_file_report *report;
    fmt_diag diag;
    (void)workers;
    const fmt_status status = q42_open(file->span, options->mode, &volume, NULL, NULL, &diag);
    const qn_status refused = begin_report(file, status, &diag, "structure.open", out_list, &report, err);
    if (refused < 0 && q42_detect(file->span) == Q42_FILE_FLAT) {
        return error_add(err, refused, __FILE__, __LINE__,
                         "its length fits bare quins of 48 bytes: --flat reads it as those");
    }
    return refused;
}

qn_status verify_journal(const mapped_file *file, const verify_volume_options *options, team *workers,
                         volume_report_list *out_list, error_context *err) {
    note_sink sink = {options, file->path};
    q42_journal journal;
    verify_file_report *report;
    fmt_diag diag;
    (void)workers;
    const fmt_status status = q42_journal_open(file->span, options->mode, &journal, pass_note, &sink, &diag);
    QN_TRY(begin_report(file, status, &diag, "journal.frames", out_list, &report, err), err, "verifying a journal");
    report->n_quins = journal.n_adds + journal.n_removes;
    report->n_terms = journal.n_terms;
    return QN_OK;
}

qn_status verify_log(const mapped_file *file, const verify_volume_options *options, team *workers, volume_report_list *out_list,
                     error_context *err) {
    note_sink sink = {options, file->path};
    qwal_log log;
    verify_file_report *report;
    fmt_diag diag;
    (void)workers;
    const fmt_status status = qwal_open(file->span, options->mode, &log, pass_note, &sink, &diag);
    QN_TRY(begin_report(file, status, &diag, "log.records", out_list, &report, err), err, "verifying a log");
    report->n_quins = log.n_quins;
    report->n_terms = log.n_terms;
    return QN_OK;
}

qn_status verify_envelope(const mapped_file *file, const verify_volume_options *options, team *workers,
                          volume_report_list *out_list, error_context *err) {
    note_sink sink = {options, file->path};
    q42_envelope envelope;
    verify_file_report *report;
    fmt_diag diag;
    (void)workers;
    const fmt_status status = q42_envelope_open(file->span, options->mode, &envelope, pass_note, &sink, &diag);
    return begin_report(file, status, &diag, "envelope.open", out_list, &report, err);
}

qn_status verify_vault(const mapped_file *file, const verify_volume_options *options, team *workers,
                       volume_report_list *out_list, error_context *err) {
    q42_vault vault;
    verify_file_report *report;
    fmt_diag diag;
    (void)options;
    (void)workers;
    const fmt_status status = q42_vault_open(file->span, &vault, &diag);
    return begin_report(file, status, &diag, "vault.open", out_list, &report, err);
}

qn_status verify_archive(const mapped_file *file, const verify_volume_options *options, team *workers,
                         volume_report_list *out_list, error_context *err) {
    note_sink sink = {options, file->path};
    q42_car car;
    q42_car_block block;
    verify_file_report *report;
    q42_finding blocks = {0};
    fmt_diag diag;
    uint64_t at = 0;
    (void)workers;
    fmt_status status = q42_car_open(file->span, options->mode, &car, pass_note, &sink, &diag);
    QN_TRY(begin_report(file, status, &diag, "car.header", out_list, &report, err), err, "verifying an archive");
    while ((status = q42_car_next(&car, &at, &block, &blocks.diag)) == FMT_OK) {
        report->n_blocks++;
    }
    blocks.status = status == FMT_NOT_FOUND ? FMT_OK : status;
    verify_add_finding(report, "car.digests", &blocks);
    return QN_OK;
}

static void add_lexicon(verify_file_report *report, const q42_lexicon *lexicon, team *workers) {
    lexicon_result result;
    verify_lexicon(lexicon, workers, NULL, &result);
    report->n_terms = lexicon->n_entries;
    verify_add_finding(report, "lexicon.entries", &result.form);
    if (result.form.status == FMT_OK) {
        verify_add_finding(report, "lexicon.keys", &result.keys);
    } else {
        verify_add(report, "lexicon.keys", Q42_NOT_CHECKED, NULL);
    }
}

qn_status verify_sidecar_lexicon(const mapped_file *file, const verify_volume_options *options, team *workers,
                                 volume_report_list *out_list, error_context *err) {
    q42_lexicon lexicon;
    verify_file_report *report;
    fmt_diag diag;
    (void)options;
    const fmt_status status = q42_lexicon_open(file->span, 0, &lexicon, &diag);
    QN_TRY(begin_report(file, status, &diag, "structure.open", out_list, &report, err), err, "verifying a lexicon");
    add_lexicon(report, &lexicon, workers);
    return QN_OK;
}

qn_status verify_sidecar_index(const mapped_file *file, const verify_volume_options *options, team *workers,
                               volume_report_list *out_list, error_context *err) {
    verify_file_report *report;
    fmt_diag diag;
    uint64_t n_blocks = 0;
    (void)options;
    (void)workers;
    const fmt_status status = q42_bidx_check(file->span, &n_blocks, &diag);
    QN_TRY(begin_report(file, status, &diag, "indexes.bidx", out_list, &report, err), err, "verifying an index");
    report->n_blocks = n_blocks;
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------- older forms */

/* Maps "PATH.SUFFIX" when it is there; a zeroed file when it is not. */
static qn_status open_sidecar(const char *path, const char *suffix, mapped_file *out_file, error_context *err) {
    char name[PATH_SIZE];
    const int n = snprintf(name, sizeof name, "%s.%s", path, suffix);
    memset(out_file, 0, sizeof *out_file);
    out_file->fd = -1;
    if (n < 0 || (size_t)n >= sizeof name) {
        return FAIL(err, QN_BAD_INPUT, "%s: the path is too long", path);
    }
    error_context reason = {0};
    const qn_status status = mapped_file_open(name, out_file, &reason);
    if (status == QN_NOT_FOUND) {
        return QN_OK;
    }
    return status == QN_OK ? QN_OK : FAIL(err, status, "%s", error_text(&reason));
}

static void add_raw_blocks(verify_file_report *report, const q42_raw *raw) {
    q42_finding finding = {0};
    q42_block block;
    for (uint64_t i = 0; finding.status == FMT_OK && i < raw->n_blocks; i++) {
        finding.status = q42_raw_read_block(raw, i, &block, &finding.diag);
        report->n_quins += finding.status == FMT_OK ? block.n_quins : 0;
    }
    report->n_blocks = raw->n_blocks;
    verify_add_finding(report, "blocks.decode", &finding);
}

static qn_status verify_raw_with(const mapped_file *file, const mapped_file *lexicon, const mapped_file *index,
                                 team *workers, volume_report_list *out_list, error_context *err) {
    q42_raw raw;
    verify_file_report *report;
    fmt_diag diag;
    const fmt_status status = q42_raw_open(file->span, lexicon->span, index->span, &raw, &diag);
    QN_TRY(begin_report(file, status, &diag, "structure.open", out_list, &report, err), err, "verifying blocks");
    add_raw_blocks(report, &raw);
    if (lexicon->span.size > 0) {
        add_lexicon(report, &raw.lexicon, workers);
    } else {
        verify_add_words(report, "lexicon.entries", Q42_INCOMPLETE, "there is no lexicon beside the blocks");
    }
    if (index->span.size > 0) {
        verify_add(report, "indexes.bidx", Q42_PASS, NULL);
    } else {
        verify_add_words(report, "indexes.bidx", Q42_INCOMPLETE, "there is no block index beside the blocks");
    }
    return QN_OK;
}

qn_status verify_raw(const mapped_file *file, const verify_volume_options *options, team *workers,
                     volume_report_list *out_list, error_context *err) {
    mapped_file lexicon = {.fd = -1}, index = {.fd = -1};
    (void)options;
    qn_status status = open_sidecar(file->path, "lex", &lexicon, err);
    if (status == QN_OK) {
        status = open_sidecar(file->path, "bidx", &index, err);
    }
    if (status == QN_OK) {
        status = verify_raw_with(file, &lexicon, &index, workers, out_list, err);
    }
    if (lexicon.path != NULL) {
        mapped_file_close(&lexicon);
    }
    if (index.path != NULL) {
        mapped_file_close(&index);
    }
    return status;
}

qn_status verify_framed(const mapped_file *file, const verify_volume_options *options, team *workers,
                        volume_report_list *out_list, error_context *err) {
    uint8_t *room = malloc(Q42_CHUNK_BYTES);
    verify_file_report *report;
    q42_finding chunks = {0};
    uint64_t at = 0, n_quins = 0;
    uint32_t n = 0;
    (void)options;
    (void)workers;
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory for a chunk", file->path);
    }
    fmt_status status;
    while ((status = q42_framed_next(file->span, &at, room, &n, &chunks.diag)) == FMT_OK) {
        n_quins += n;
    }
    free(room);
    chunks.status = status == FMT_NOT_FOUND ? FMT_OK : status;
    QN_TRY(begin_report(file, FMT_OK, NULL, "structure.open", out_list, &report, err), err, "verifying frames");
    report->n_quins = n_quins;
    verify_add_finding(report, "blocks.decode", &chunks);
    return QN_OK;
}

qn_status verify_flat(const mapped_file *file, const verify_volume_options *options, team *workers,
                      volume_report_list *out_list, error_context *err) {
    verify_file_report *report;
    uint64_t n = 0;
    fmt_diag diag;
    (void)options;
    (void)workers;
    const fmt_status status = q42_flat_count(file->span, &n, &diag);
    QN_TRY(begin_report(file, status, &diag, "structure.open", out_list, &report, err), err, "verifying quins");
    report->n_quins = n;
    return QN_OK;
}
