/* gate_report.c — no run without a record: what was not written with a commit is written now. */
#include <inttypes.h>
#include <string.h>

#include "govern/gate.h"
#include "govern/governed_log.h"

static fmt_str str(const char *text) {
    return (fmt_str){text, strlen(text)};
}

/* What conduct was recorded is a statement like others: signed or explicitly not. */
static qn_status add_records(request *r, error_context *err) {
    static const char *const words[] = {"q42:conductViolation", "q42:conductTimeMs"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        QN_TRY(wal_add_term(r->log, str(words[i]), err), err, "recording conduct");
    }
    QN_TRY(wal_add_term(r->log, str(r->agent), err), err, "recording conduct");
    if (r->principal != NULL) {
        QN_TRY(wal_add_term(r->log, str(r->principal), err), err, "recording conduct");
    }
    for (uint32_t i = 0; i < r->n_records; i++) {
        QN_TRY(wal_add_quin(r->log, &r->records[i], err), err, "recording conduct");
    }
    return QN_OK;
}

/* The audit list, with the statements that have no commit of their own. */
static qn_status write_all(request *r, wal_receipt *receipt, error_context *err) {
    bool is_recorded = false;
    wal_begin(r->log);
    if (r->n_records > 0) {
        QN_TRY(add_records(r, err), err, "writing the record of this run");
    }
    QN_TRY(governed_log_add_record(r, &is_recorded, err), err, "writing the record of this run");
    QN_TRY(governed_log_add_audit(r, r->outcome, r->code, err), err, "writing the record of this run");
    return r->n_records > 0 || is_recorded ? governed_log_commit(r, receipt, err) : wal_end_audit(r->log, receipt, err);
}

static qn_status write_list_alone(request *r, wal_receipt *receipt, error_context *err) {
    wal_begin(r->log);
    QN_TRY(governed_log_add_audit(r, OUTCOME_FAILED, CODE_AUDIT, err), err, "writing the record of this run");
    return wal_end_audit(r->log, receipt, err);
}

/* Statements may lack the key that signs them; the list needs none, and then says that the run failed. */
static qn_status write_audit(request *r, error_context *err) {
    wal_receipt receipt;
    error_context second = {0};
    QN_TRY(governed_log_open(r, err), err, "writing the record of this run");
    const qn_status status = write_all(r, &receipt, err);
    r->is_logged = status >= 0 || write_list_alone(r, &receipt, &second) >= 0;
    if (r->is_logged) {
        r->receipt = receipt;
    }
    return status;
}

void gate_report(request *r, gate_result *out) {
    error_context err = {0};
    uint32_t n_removed = 0;
    if (r->is_dry) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "every run would be in %s", r->rules->is.commit.log);
        return;
    }
    if (!r->is_logged && write_audit(r, &err) < 0) {
        gate_say_error(out, CODE_AUDIT, &err);
        return;
    }
    if (governed_log_retain(r, &n_removed, &err) < 0) {
        gate_say(out, VERDICT_NOTE, CODE_NONE, "record %" PRIu64 "; older files stay: %s", r->receipt.sequence, error_text(&err));
        return;
    }
    gate_say(out, VERDICT_PASS, CODE_NONE, "record %" PRIu64 ", %u older files removed", r->receipt.sequence, n_removed);
}
