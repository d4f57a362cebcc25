/* wal_text.c — logs for people and programs. */
#include "cli/wal_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/graph_command.h"
#include "cli/journal_text.h"
#include "common/diag.h"
#include "wal/wal_replay.h"

#define LINE_SIZE 1024
#define HEX_SIZE (2 * Q42_DIGEST_BYTES + 1)

const char *wal_text_time(uint64_t ms, char out[WAL_TIME_SIZE]) {
    struct tm parts;
    const time_t seconds = (time_t)(ms / 1000);
    const bool is_date = ms / 1000 < UINT64_C(253402300800) && gmtime_r(&seconds, &parts) != NULL;
    if (!is_date || strftime(out, WAL_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        snprintf(out, WAL_TIME_SIZE, "%" PRIu64 " ms", ms);
    }
    return out;
}

static qn_status print_line(const char *format, ...) ERROR_PRINTF(1, 2);

static qn_status print_line(const char *format, ...) {
    char line[LINE_SIZE];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    const size_t size = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    return command_write(line, size) ? QN_OK : QN_IO;
}

/* ---------------------------------------------------------------- the whole */

static json_t *describe_file(const wal_file *f) {
    return json_pack("{s:s, s:I, s:I, s:I, s:I}", "path", f->path, "first_sequence", (json_int_t)f->first, "records",
                     (json_int_t)f->log.n_records, "bytes", (json_int_t)f->file.span.size, "torn_bytes", (json_int_t)f->log.n_torn_bytes);
}

static json_t *describe_consent(const qwal_consent *consent) {
    char hex[HEX_SIZE];
    return json_pack("{s:o, s:s, s:I}", "signer", graph_json_id(consent->signer), "key_id",
                     graph_hex(consent->key_id, sizeof consent->key_id, hex), "time_ms", (json_int_t)consent->time_ms);
}

static json_t *describe_agreement(const wal_agreement *one) {
    char hex[HEX_SIZE];
    json_t *signers = json_array(), *consents = json_array();
    for (uint32_t i = 0; i < one->terms.n_signers; i++) {
        json_array_append_new(signers, graph_json_id(one->terms.signers[i]));
    }
    for (uint32_t i = 0; i < one->n_consents; i++) {
        json_array_append_new(consents, describe_consent(&one->consents[i]));
    }
    return json_pack("{s:o, s:s, s:I, s:o, s:i, s:o, s:o, s:I, s:I, s:I, s:s}", "agreement", graph_json_id(one->terms.agreement),
                     "standing", wal_standing_name(one->standing), "transaction", (json_int_t)one->transaction, "proposer",
                     graph_json_id(one->terms.proposer), "threshold", (int)one->terms.threshold, "signers", signers, "consents", consents,
                     "created_ms", (json_int_t)one->terms.created_ms, "expires_ms", (json_int_t)one->terms.expires_ms, "quins",
                     (json_int_t)one->terms.n_quins, "digest", graph_hex(one->terms.digest, Q42_DIGEST_BYTES, hex));
}

static json_t *describe_checkpoint(const wal_state *state) {
    char hex[HEX_SIZE];
    return state->has_checkpoint ? json_pack("{s:s, s:I}", "digest", graph_hex(state->checkpoint.digest, Q42_DIGEST_BYTES, hex),
                                             "last_sequence", (json_int_t)state->checkpoint.last_sequence)
                                 : json_null();
}

json_t *wal_text_describe(const wal_set *set, const wal_state *state) {
    json_t *files = json_array(), *agreements = json_array();
    for (size_t i = 0; i < set->n_files; i++) {
        json_array_append_new(files, describe_file(&set->files[i]));
    }
    for (size_t i = 0; i < state->n_agreements; i++) {
        json_array_append_new(agreements, describe_agreement(&state->agreements[i]));
    }
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "directory", set->directory, "files", files, "transactions",
                     (json_int_t)state->n_commits, "unsigned", (json_int_t)state->n_unsigned, "quins", (json_int_t)state->n_quins,
                     "audits", (json_int_t)state->n_audits, "pending", (json_int_t)state->n_pending, "last_sequence",
                     (json_int_t)state->last_sequence, "checkpoint", describe_checkpoint(state), "agreements", agreements);
}

static qn_status print_agreement(const wal_agreement *one) {
    char hex[HEX_SIZE], until[WAL_TIME_SIZE];
    return print_line("agreement %016" PRIx64 ": %s, %u of %u signers needed, %u consented, %u quins, expires %s, digest %s\n",
                      one->terms.agreement, wal_standing_name(one->standing), one->terms.threshold, one->terms.n_signers, one->n_consents,
                      one->terms.n_quins, wal_text_time(one->terms.expires_ms, until),
                      graph_hex(one->terms.digest, Q42_DIGEST_BYTES, hex));
}

qn_status wal_text_print(const wal_set *set, const wal_state *state, error_context *err) {
    char hex[HEX_SIZE];
    (void)err;
    qn_status status = print_line("%s: %zu files, %" PRIu64 " transactions (%" PRIu64 " unsigned), %" PRIu64 " quins, %zu pending, last "
                                  "record %" PRIu64 "\n", set->directory, set->n_files, state->n_commits, state->n_unsigned, state->n_quins,
                                  state->n_pending, state->last_sequence);
    if (status >= 0 && state->has_checkpoint) {
        status = print_line("checkpoint up to record %" PRIu64 ", SHA-256 %s\n", state->checkpoint.last_sequence,
                            graph_hex(state->checkpoint.digest, Q42_DIGEST_BYTES, hex));
    }
    for (size_t i = 0; status >= 0 && i < state->n_agreements; i++) {
        status = print_agreement(&state->agreements[i]);
    }
    return status;
}

/* ---------------------------------------------------------------- records */

/* What a line says beyond type and size; "" for most. */
static const char *tell_payload(const qwal_record *record, char out[LINE_SIZE]) {
    static const char *const authorities[] = {"", "signed", "unsigned", "by consent"};
    char quoted[DIAG_QUOTE_SIZE];
    union {
        qwal_commit commit;
        qwal_term term;
        qwal_consent consent;
        qwal_suspend suspend;
        qwal_abort abort;
        qwal_audit audit;
        qwal_checkpoint checkpoint;
    } value;
    out[0] = '\0';
    if (record->type == QWAL_QUINS) {
        snprintf(out, LINE_SIZE, " %" PRIu64 " quins", record->payload.size / Q42_QUIN_BYTES);
    } else if (record->type == QWAL_COMMIT && qwal_read_commit(record->payload, &value.commit)) {
        snprintf(out, LINE_SIZE, " %s", authorities[value.commit.authority]);
    } else if (record->type == QWAL_TERM && qwal_read_term(record->payload, &value.term)) {
        snprintf(out, LINE_SIZE, " %016" PRIx64 " %s", value.term.id, diag_quote(quoted, value.term.text));
    } else if (record->type == QWAL_CONSENT && qwal_read_consent(record->payload, &value.consent)) {
        snprintf(out, LINE_SIZE, " agreement %016" PRIx64 " signer %016" PRIx64, value.consent.agreement, value.consent.signer);
    } else if (record->type == QWAL_SUSPEND && qwal_read_suspend(record->payload, &value.suspend)) {
        snprintf(out, LINE_SIZE, " agreement %016" PRIx64 " %u quins", value.suspend.agreement, value.suspend.n_quins);
    } else if (record->type == QWAL_ABORT && qwal_read_abort(record->payload, &value.abort)) {
        snprintf(out, LINE_SIZE, " agreement %016" PRIx64 " %s", value.abort.agreement,
                 value.abort.reason == QWAL_EXPIRED ? "expired" : "withdrawn");
    } else if (record->type == QWAL_AUDIT && qwal_read_audit(record->payload, &value.audit)) {
        snprintf(out, LINE_SIZE, " %u gates, policy version %u", value.audit.n_entries, value.audit.policy_version);
    } else if (record->type == QWAL_CHECKPOINT && qwal_read_checkpoint(record->payload, &value.checkpoint)) {
        snprintf(out, LINE_SIZE, " up to record %" PRIu64, value.checkpoint.last_sequence);
    }
    return out;
}

/* Under which policy, and what each gate said. */
static void add_audit(fmt_span payload, json_t *object) {
    qwal_audit audit;
    qwal_audit_entry entry;
    uint64_t at = 0;
    char hex[2 * Q42_DIGEST_BYTES + 1];
    json_t *list = json_array();
    if (qwal_read_audit(payload, &audit)) {
        json_object_set_new(object, "policy", json_string(graph_hex(audit.policy, Q42_DIGEST_BYTES, hex)));
        json_object_set_new(object, "policy_version", json_integer(audit.policy_version));
        while (qwal_next_entry(&audit, &at, &entry)) {
            json_array_append_new(list, json_pack("{s:o, s:i, s:o, s:o}", "gate", command_json_text(entry.gate.data, entry.gate.size),
                                                  "verdict", (int)entry.verdict, "code", graph_json_id(entry.code), "detail",
                                                  command_json_text(entry.detail.data, entry.detail.size)));
        }
    }
    json_object_set_new(object, "gates", list);
}

static json_t *describe_record(const wal_file *f, const qwal_record *record) {
    char what[LINE_SIZE];
    json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:s, s:i, s:I, s:s}", "file", f->path, "offset", (json_int_t)record->offset,
                               "sequence", (json_int_t)record->sequence, "transaction", (json_int_t)record->transaction, "type",
                               qwal_type_name(record->type), "flags", (int)record->flags, "payload_bytes",
                               (json_int_t)record->payload.size, "what", tell_payload(record, what) + (what[0] == ' '));
    if (record->type == QWAL_AUDIT) {
        add_audit(record->payload, object);
    }
    return object;
}

qn_status wal_text_records(const wal_set *set, json_t *list, error_context *err) {
    wal_set_walk walk = {0};
    qwal_record record;
    char what[LINE_SIZE];
    qn_status status = QN_OK;
    while (status >= 0 && wal_set_next(set, &walk, &record)) {
        if (list != NULL) {
            status = json_array_append_new(list, describe_record(&set->files[walk.file], &record)) == 0
                         ? QN_OK
                         : FAIL(err, QN_NO_HOST_MEM, "out of memory");
        } else {
            status = print_line("%8" PRIu64 "  transaction %" PRIu64 "  %s%s%s\n", record.sequence, record.transaction,
                                qwal_type_name(record.type), tell_payload(&record, what), (record.flags & QWAL_END) != 0 ? " ." : "");
        }
    }
    return status;
}

/* ---------------------------------------------------------------- quins */

typedef struct quin_printing {
    journal_state terms; /* only its terms are used: what the log binds */
    size_t room;
    journal_text text;
    json_t *list;
} quin_printing;

static qn_status take_term(void *ctx, const qwal_term *term, error_context *err) {
    quin_printing *p = ctx;
    if (p->terms.n_terms == p->room) {
        const size_t room = p->room * 2 + 64;
        journal_term *grown = realloc(p->terms.terms, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        p->terms.terms = grown;
        p->room = room;
    }
    p->terms.terms[p->terms.n_terms++] = (journal_term){term->id, term->text};
    return QN_OK;
}

static int compare_terms(const void *a, const void *b) {
    const journal_term *one = a, *other = b;
    return one->key < other->key ? -1 : one->key > other->key;
}

/* Ascending, each id once; two texts of one id: the log contradicts itself. */
static qn_status settle_terms(quin_printing *p, const wal_set *set, error_context *err) {
    journal_term *terms = p->terms.terms;
    uint64_t n = 0;
    if (p->terms.n_terms > 0) {
        qsort(terms, p->terms.n_terms, sizeof *terms, compare_terms);
    }
    for (uint64_t i = 0; i < p->terms.n_terms; i++) {
        const journal_term *last = n > 0 ? &terms[n - 1] : NULL;
        if (last == NULL || last->key != terms[i].key) {
            terms[n++] = terms[i];
        } else if (last->text.size != terms[i].text.size || memcmp(last->text.data, terms[i].text.data, last->text.size) != 0) {
            return FAIL(err, QN_BAD_FILE, "%s: id %016" PRIx64 " has two texts", set->directory, last->key);
        }
    }
    p->terms.n_terms = n;
    return QN_OK;
}

static qn_status take_quin(void *ctx, const q42_quin *quin, error_context *err) {
    quin_printing *p = ctx;
    QN_TRY(journal_text_make(&p->text, "", quin, err), err, "showing a quin");
    if (p->list == NULL) {
        return command_write(p->text.line.text, p->text.line.size) ? QN_OK : QN_IO;
    }
    return json_array_append_new(p->list, command_json_text(p->text.line.text, p->text.line.size - 1)) == 0
               ? QN_OK
               : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

qn_status wal_text_quins(const wal_set *set, const wal_state *state, graph_volume *volume, json_t *list, error_context *err) {
    quin_printing p = {.list = list};
    const wal_visitor gather = {&p, take_term, NULL, NULL}, print = {&p, NULL, take_quin, NULL};
    qn_status status = wal_replay(set, state, 0, &gather, err);
    status = status < 0 ? status : settle_terms(&p, set, err);
    if (status >= 0) {
        status = journal_text_init(&p.text, &p.terms, volume, err);
        status = status < 0 ? status : wal_replay(set, state, 0, &print, err);
        journal_text_deinit(&p.text);
    }
    free(p.terms.terms);
    return status;
}
