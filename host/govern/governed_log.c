/* governed_log.c — audit lists into units of the log. */
#include "govern/governed_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/utf8.h"
#include "keys/private_file.h"
#include "keys/signing_key.h"
#include "wal/wal_retain.h"

#define OPEN_TRIES 100
#define OPEN_PAUSE_NS 50000000
#define CLAIM_SIZE 4096u
#define MS_OF_DAY UINT64_C(86400000)

/* ---------------------------------------------------------------- opening */

qn_status governed_log_open(request *r, error_context *err) {
    char room[POLICY_PATH_SIZE];
    if (r->log != NULL) {
        return QN_OK;
    }
    QN_TRY(policy_resolve(r->rules, r->rules->is.commit.log, room, err), err, "opening the log");
    const wal_options options = {.directory = room, .may_create = true, .rotate_bytes = r->rules->is.commit.rotate, .now = r->world.now_ms,
                                 .now_ctx = r->world.clock_ctx};
    const struct timespec pause = {0, OPEN_PAUSE_NS};
    qn_status status = QN_BUSY;
    for (int i = 0; status == QN_BUSY && i < OPEN_TRIES; i++) {
        if (i > 0) {
            nanosleep(&pause, NULL);
        }
        error_clear(err);
        status = wal_open(&options, &r->log, NULL, err);
    }
    return status;
}

/* ---------------------------------------------------------------- the list */

typedef struct entry_list {
    qwal_audit_entry items[REQUEST_MAX_RESULTS + REQUEST_MAX_CLAIMS + 3];
    uint32_t n;
    char request[GATE_DETAIL_SIZE];
    char claims[REQUEST_MAX_CLAIMS][CLAIM_SIZE];
} entry_list;

static void add_entry(entry_list *list, const char *gate, uint16_t verdict, uint64_t code, const char *detail) {
    uint64_t size = utf8_first_invalid(detail, strlen(detail));
    size = size == UTF8_ALL_VALID ? strlen(detail) : size;
    list->items[list->n++] = (qwal_audit_entry){verdict, {gate, strlen(gate)}, {detail, size}, code};
}

static const char *or_none(const char *text) {
    return text != NULL ? text : "-";
}

static void fill_list(entry_list *list, const request *r, governed_outcome outcome, gate_code code) {
    snprintf(list->request, sizeof list->request, "intent %s, frame %s, profile %s, agent %s, principal %s, tier %u, to %s", or_none(r->intent),
             or_none(r->frame), or_none(r->profile), or_none(r->agent), or_none(r->principal), r->tier, destination_name(r->world.where));
    add_entry(list, "request", VERDICT_PASS, r->token, list->request);
    for (uint32_t i = 0; i < r->n_results; i++) {
        const gate_result *one = &r->results[i];
        if (strcmp(one->gate, "report") != 0) { /* which is about this very record */
            add_entry(list, one->gate, one->verdict, one->code, one->detail);
        }
    }
    for (uint32_t i = 0; outcome == OUTCOME_REVIEW && i < r->n_claims; i++) {
        add_entry(list, "claim", VERDICT_REVIEW, request_fact_id(&r->claims[i].quin),
                  request_claim_text(&r->claims[i], list->claims[i], CLAIM_SIZE));
    }
    add_entry(list, "outcome", VERDICT_PASS, code, governed_outcome_name(outcome));
}

qn_status governed_log_add_audit(request *r, governed_outcome outcome, gate_code code, error_context *err) {
    entry_list *list = calloc(1, sizeof *list);
    if (list == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the audit list");
    }
    fill_list(list, r, outcome, code);
    qwal_audit audit = {.time_ms = r->now_ms, .policy_version = r->rules->is.policy.version, .n_entries = list->n};
    memcpy(audit.policy, r->rules->digest, sizeof audit.policy);
    const qn_status status = wal_add_audit(r->log, &audit, list->items, err);
    free(list);
    return status;
}

/* ---------------------------------------------------------------- committing */

qn_status governed_log_add_record(request *r, bool *out_is_added, error_context *err) {
    *out_is_added = r->has_answer && r->world.record != NULL;
    return *out_is_added ? r->world.record(r->world.ctx, r, r->log, err) : QN_OK;
}

static qn_status open_key(const request *r, signing_key **out_key, error_context *err) {
    char path[POLICY_PATH_SIZE], room[PASSPHRASE_SIZE];
    const char *sealed = r->rules->is.commit.passphrase_file;
    qn_status status = QN_OK;
    if (sealed != NULL) {
        QN_TRY(policy_resolve(r->rules, sealed, path, err), err, "opening the key");
        status = private_file_passphrase(path, room, err);
    }
    status = status < 0 ? status : policy_resolve(r->rules, r->rules->is.commit.key, path, err);
    status = status < 0 ? status : signing_key_open(path, sealed != NULL ? room : NULL, out_key, err);
    private_file_forget(room, sizeof room);
    return status;
}

qn_status governed_log_commit(request *r, wal_receipt *out_receipt, error_context *err) {
    signing_key *key = NULL;
    if (r->rules->is.commit.is_unsigned) {
        return wal_commit_unsigned(r->log, out_receipt, err);
    }
    QN_TRY(open_key(r, &key, err), err, "committing");
    const qn_status status = wal_commit(r->log, key, out_receipt, err);
    signing_key_close(key);
    return status;
}

qn_status governed_log_retain(request *r, uint32_t *out_removed, error_context *err) {
    const uint32_t files = r->rules->is.commit.audit_files, days = r->rules->is.commit.audit_days;
    const wal_retention keep = {.keep_files = files != POLICY_NONE ? files : 0, .keep_ms = days != POLICY_NONE ? days * MS_OF_DAY : 0};
    *out_removed = 0;
    return files != POLICY_NONE || days != POLICY_NONE ? wal_retain(r->log, &keep, out_removed, err) : QN_OK;
}
