/* wal_import.c — older logs. */
#include "wal/wal_import.h"

#include <string.h>

#include "base/mapped_file.h"

static bool is_empty(const q42_quin *quin) {
    return (quin->subject | quin->predicate | quin->object | quin->context | quin->metadata) == 0;
}

static qn_status commit_part(wal *log, const signing_key *key, wal_import_report *report, error_context *err) {
    const qn_status status = key != NULL ? wal_commit(log, key, NULL, err) : wal_commit_unsigned(log, NULL, err);
    report->n_transactions += status >= 0;
    return status;
}

static qn_status import_quins(wal *log, const qwal_old_log *old, const signing_key *key, wal_import_report *report, error_context *err) {
    uint64_t n_open = 0;
    wal_begin(log);
    for (uint64_t i = 0; i < old->n_quins; i++) {
        const q42_quin quin = qwal_old_quin(old, i);
        if (is_empty(&quin)) {
            continue;
        }
        QN_TRY(wal_add_quin(log, &quin, err), err, "importing");
        if (++n_open == WAL_IMPORT_QUINS) {
            QN_TRY(commit_part(log, key, report, err), err, "importing");
            report->n_quins += n_open;
            n_open = 0;
            wal_begin(log);
        }
    }
    if (n_open > 0) {
        QN_TRY(commit_part(log, key, report, err), err, "importing");
    }
    report->n_quins += n_open;
    return QN_OK;
}

qn_status wal_import(wal *log, const char *path, const signing_key *key, wal_import_report *out_report, error_context *err) {
    mapped_file file = {.fd = -1};
    qwal_old_log old;
    fmt_diag diag;
    QN_TRY(mapped_file_open(path, &file, err), err, "importing");
    const fmt_status found = qwal_old_open(file.span, &old, &diag);
    qn_status status = found == FMT_OK ? QN_OK : error_from_diag(err, found, &diag, path);
    if (status >= 0) {
        wal_import_report report = {.has_digest = old.has_digest, .n_wrong_parity = old.n_wrong_parity, .n_empty = old.n_empty,
                                    .n_torn_bytes = old.n_torn_bytes};
        memcpy(report.digest, old.digest, sizeof report.digest);
        status = import_quins(log, &old, key, &report, err);
        status = status < 0 ? status : mapped_file_check(&file, err);
        *out_report = report;
    }
    mapped_file_close(&file);
    return status;
}
