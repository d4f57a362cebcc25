/* wal_checkpoint.c — volumes out of a log, and files that are no longer needed. */
#include "wal/wal_checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "graph/file_digest.h"
#include "graph/volume_writer.h"
#include "wal/wal_internal.h"
#include "wal/wal_replay.h"
#include "wal/wal_retain.h"

typedef struct volume_filling {
    volume_lane *lane;
    wal_checkpoint_report *report;
} volume_filling;

static qn_status take_term(void *ctx, const qwal_term *term, error_context *err) {
    volume_filling *f = ctx;
    return volume_lane_add_term(f->lane, term->id, term->text.data, term->text.size, err);
}

static qn_status take_quin(void *ctx, const q42_quin *quin, error_context *err) {
    volume_filling *f = ctx;
    return volume_lane_add_quin(f->lane, quin, err);
}

static qn_status take_commit(void *ctx, const qwal_record *record, const qwal_commit *commit, error_context *err) {
    volume_filling *f = ctx;
    (void)record;
    (void)commit;
    (void)err;
    f->report->n_transactions++;
    return QN_OK;
}

static uint64_t checkpoint_sequence(const wal *log) {
    return log->state.has_checkpoint ? log->state.checkpoint.last_sequence : 0;
}

static qn_status fill_volume(const wal *log, const wal_set *set, volume_writer *writer, wal_checkpoint_report *report,
                             error_context *err) {
    volume_filling filling = {volume_writer_lane(writer, 0), report};
    const wal_visitor visitor = {&filling, take_term, take_quin, take_commit};
    volume_report written;
    QN_TRY(wal_replay(set, &log->state, checkpoint_sequence(log), &visitor, err), err, "reading the log");
    QN_TRY(volume_writer_commit(writer, &written, err), err, "writing %s", report->path);
    report->n_quins = written.n_quins;
    report->n_terms = written.n_terms;
    return QN_OK;
}

static qn_status write_volume(const wal *log, const wal_set *set, const wal_checkpoint_options *options, wal_checkpoint_report *report,
                              error_context *err) {
    const volume_writer_options how = {.memory = options->memory, .timestamp_ms = wal_now(log), .is_forced = true,
                                       .progress = options->progress, .progress_ctx = options->progress_ctx};
    volume_writer *writer = NULL;
    QN_TRY(volume_writer_create(report->path, &how, options->workers, &writer, err), err, "writing %s", report->path);
    const qn_status status = fill_volume(log, set, writer, report, err);
    volume_writer_destroy(writer);
    return status < 0 ? status : file_digest(report->path, options->progress, options->progress_ctx, report->checkpoint.digest, err);
}

static qn_status make_volume(const wal *log, const wal_checkpoint_options *options, wal_checkpoint_report *report, error_context *err) {
    wal_set set = {0};
    QN_TRY(wal_set_open(log->directory, FMT_MODE_DEFAULT, NULL, NULL, &set, err), err, "reading the log");
    report->checkpoint.last_sequence = log->state.last_sequence;
    report->path = wal_path_of_checkpoint(log->directory, log->state.last_sequence);
    const qn_status status = report->path != NULL ? write_volume(log, &set, options, report, err)
                                                  : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    wal_set_close(&set);
    return status;
}

static qn_status put_checkpoint(wal *log, const qwal_checkpoint *checkpoint, error_context *err) {
    uint8_t payload[64];
    wal_begin(log);
    QN_TRY(wal_put_record(log, QWAL_CHECKPOINT, payload, qwal_encode_checkpoint(checkpoint, payload, sizeof payload), err), err,
           "writing the checkpoint's record");
    return wal_write_unit(log, NULL, err);
}

/* ---------------------------------------------------------------- the whole */

/* True when a quin was committed since the last checkpoint. */
static qn_status count_commits(const wal *log, uint64_t *out_count, error_context *err) {
    wal_set set = {0};
    wal_checkpoint_report counted = {0};
    volume_filling filling = {NULL, &counted};
    const wal_visitor visitor = {&filling, NULL, NULL, take_commit};
    QN_TRY(wal_set_open(log->directory, FMT_MODE_DEFAULT, NULL, NULL, &set, err), err, "reading the log");
    const qn_status status = wal_replay(&set, &log->state, checkpoint_sequence(log), &visitor, err);
    wal_set_close(&set);
    *out_count = counted.n_transactions;
    return status;
}

static qn_status run_checkpoint(wal *log, const wal_checkpoint_options *options, wal_checkpoint_report *report, error_context *err) {
    uint64_t n_new = 0;
    QN_TRY(wal_check_usable(log, err), err, "making a checkpoint");
    QN_TRY(count_commits(log, &n_new, err), err, "making a checkpoint");
    if (n_new > 0) {
        QN_TRY(make_volume(log, options, report, err), err, "making a checkpoint");
        QN_TRY(put_checkpoint(log, &report->checkpoint, err), err, "making a checkpoint");
        report->is_made = true;
    }
    if (log->end > QWAL_HEADER_BYTES && n_new > 0) {
        QN_TRY(wal_start_file(log, err), err, "the checkpoint is made, but no new file begins");
    }
    const wal_retention keep = {.keep_files = options->keep_files};
    return options->keep_files != WAL_KEEP_ALL ? wal_retain(log, &keep, &report->n_removed, err) : QN_OK;
}

qn_status wal_checkpoint_run(wal *log, const wal_checkpoint_options *options, wal_checkpoint_report *out_report, error_context *err) {
    wal_checkpoint_report report = {0};
    const qn_status status = run_checkpoint(log, options, &report, err);
    if (status < 0) {
        wal_checkpoint_report_free(&report);
        return status;
    }
    *out_report = report;
    return QN_OK;
}

void wal_checkpoint_report_free(wal_checkpoint_report *report) {
    free(report->path);
    report->path = NULL;
}
