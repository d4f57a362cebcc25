/* wal_state.c — folding the records of a log. */
#include "wal/wal_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct taking {
    wal_state *state;
    const qwal_record *record;
    const char *path;
    error_context *err;
} taking;

const char *wal_standing_name(wal_standing standing) {
    static const char *const names[] = {"pending", "committed", "expired", "withdrawn"};
    return names[standing <= WAL_WITHDRAWN ? standing : WAL_PENDING];
}

static qn_status refuse(const taking *t, const char *what) {
    return FAIL(t->err, QN_BAD_FILE, "%s: byte %" PRIu64 ": record %" PRIu64 ", %s, %s; the log is not what was written", t->path,
                t->record->offset, t->record->sequence, qwal_type_name(t->record->type), what);
}

wal_agreement *wal_state_find(const wal_state *state, uint64_t agreement) {
    wal_agreement *last = NULL;
    for (size_t i = state->n_agreements; i-- > 0;) {
        wal_agreement *one = &state->agreements[i];
        if (one->terms.agreement == agreement) {
            if (one->standing == WAL_PENDING) {
                return one;
            }
            last = last != NULL ? last : one;
        }
    }
    return last;
}

static wal_agreement *find_pending(const taking *t, uint64_t agreement) {
    wal_agreement *found = wal_state_find(t->state, agreement);
    return found != NULL && found->standing == WAL_PENDING && found->transaction == t->record->transaction ? found : NULL;
}

qn_status wal_state_reserve(wal_state *state, error_context *err) {
    if (state->n_agreements < state->room) {
        return QN_OK;
    }
    const size_t room = state->room * 2 + 8;
    wal_agreement *grown = realloc(state->agreements, room * sizeof *grown);
    if (grown == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the table of agreements");
    }
    state->agreements = grown;
    state->room = room;
    return QN_OK;
}

static qn_status take_suspend(taking *t, uint64_t file, uint64_t unit_at) {
    wal_agreement one = {.transaction = t->record->transaction, .file = file, .unit_at = unit_at};
    qwal_read_suspend(t->record->payload, &one.terms);
    one.terms.quins = NULL;
    const wal_agreement *before = wal_state_find(t->state, one.terms.agreement);
    if (before != NULL && before->standing == WAL_PENDING) {
        return refuse(t, "has the id of an agreement that is pending");
    }
    const qn_status status = wal_state_reserve(t->state, t->err);
    if (status < 0) {
        return status;
    }
    t->state->agreements[t->state->n_agreements++] = one;
    t->state->n_pending++;
    return QN_OK;
}

static bool is_signer(const qwal_suspend *terms, uint64_t signer) {
    for (uint32_t i = 0; i < terms->n_signers; i++) {
        if (terms->signers[i] == signer) {
            return true;
        }
    }
    return false;
}

static qn_status take_consent(taking *t) {
    qwal_consent consent;
    qwal_read_consent(t->record->payload, &consent);
    wal_agreement *one = find_pending(t, consent.agreement);
    if (one == NULL) {
        return refuse(t, "belongs to no pending agreement");
    }
    if (!is_signer(&one->terms, consent.signer)) {
        return refuse(t, "comes from somebody who is no signer");
    }
    for (uint32_t i = 0; i < one->n_consents; i++) {
        if (one->consents[i].signer == consent.signer || memcmp(one->consents[i].key_id, consent.key_id, QWAL_KEY_ID_BYTES) == 0) {
            return refuse(t, "comes from a signer or key that has consented before");
        }
    }
    if (consent.time_ms >= one->terms.expires_ms) {
        return refuse(t, "comes after the agreement expired");
    }
    one->consents[one->n_consents++] = consent;
    return QN_OK;
}

static void settle(taking *t, wal_agreement *one, wal_standing standing) {
    one->standing = standing;
    one->settled_sequence = t->record->sequence;
    t->state->n_pending--;
}

/* Quins of the unit were counted when they came; those of an agreement are counted now. */
static qn_status take_commit(taking *t) {
    qwal_commit commit;
    qwal_read_commit(t->record->payload, &commit);
    t->state->n_commits++;
    t->state->n_unsigned += commit.authority == QWAL_UNSIGNED;
    if (commit.authority != QWAL_BY_CONSENT) {
        return QN_OK;
    }
    wal_agreement *one = find_pending(t, commit.agreement);
    if (one == NULL) {
        return refuse(t, "belongs to no pending agreement");
    }
    if (one->n_consents < one->terms.threshold) {
        return refuse(t, "comes before enough signers have consented");
    }
    settle(t, one, WAL_COMMITTED);
    t->state->n_quins += one->terms.n_quins;
    return QN_OK;
}

static qn_status take_abort(taking *t) {
    qwal_abort abort;
    qwal_read_abort(t->record->payload, &abort);
    wal_agreement *one = find_pending(t, abort.agreement);
    if (one == NULL) {
        return refuse(t, "belongs to no pending agreement");
    }
    if (abort.reason == QWAL_EXPIRED && abort.time_ms < one->terms.expires_ms) {
        return refuse(t, "ends an agreement before its time");
    }
    settle(t, one, abort.reason == QWAL_EXPIRED ? WAL_EXPIRED : WAL_WITHDRAWN);
    return QN_OK;
}

static qn_status take_checkpoint(taking *t) {
    qwal_checkpoint checkpoint;
    qwal_read_checkpoint(t->record->payload, &checkpoint);
    const uint64_t least = t->state->has_checkpoint ? t->state->checkpoint.last_sequence : 0;
    if (checkpoint.last_sequence >= t->record->sequence || checkpoint.last_sequence < least) {
        return refuse(t, "names a sequence that it cannot hold");
    }
    t->state->checkpoint = checkpoint;
    t->state->has_checkpoint = true;
    memcpy(t->state->carried, checkpoint.digest, sizeof t->state->carried);
    return QN_OK;
}

static qn_status take_term(taking *t) {
    qwal_term term;
    qwal_read_term(t->record->payload, &term);
    const uint64_t mark = term_mark_of(term.text), before = term_marks_find(&t->state->terms, term.id);
    if (mark == 0) {
        return FAIL(t->err, QN_INTERNAL, "libcrypto refuses to compute SHA-256");
    }
    if (before != 0) {
        return before == mark ? QN_OK : refuse(t, "gives an id another text than a record before");
    }
    return term_marks_add(&t->state->terms, term.id, mark) ? QN_OK : FAIL(t->err, QN_NO_HOST_MEM, "out of memory for the log's terms");
}

static qn_status take_payload(taking *t, uint64_t file, uint64_t unit_at) {
    switch (t->record->type) {
    case QWAL_TERM: return take_term(t);
    case QWAL_SUSPEND: return take_suspend(t, file, unit_at);
    case QWAL_CONSENT: return take_consent(t);
    case QWAL_COMMIT: return take_commit(t);
    case QWAL_ABORT: return take_abort(t);
    case QWAL_CHECKPOINT: return take_checkpoint(t);
    case QWAL_QUINS: t->state->n_quins += t->record->payload.size / Q42_QUIN_BYTES; return QN_OK;
    case QWAL_AUDIT: t->state->n_audits++; return QN_OK;
    default: return QN_OK;
    }
}

qn_status wal_state_take(wal_state *state, const qwal_record *record, uint64_t file, uint64_t unit_at, const char *path,
                         error_context *err) {
    taking t = {state, record, path, err};
    const bool is_first = (record->flags & QWAL_BEGIN) != 0;
    const bool is_older = record->type == QWAL_CONSENT || record->type == QWAL_ABORT;
    if (is_first && !is_older && record->transaction <= state->last_transaction) {
        return refuse(&t, "has a transaction that is not above the last one's");
    }
    const qn_status status = take_payload(&t, file, unit_at);
    if (status < 0) {
        return status;
    }
    state->last_sequence = record->sequence;
    state->last_transaction = record->transaction > state->last_transaction ? record->transaction : state->last_transaction;
    return QN_OK;
}

/* A file's header names the checkpoint that was the last one when it was made; of files that are gone the first one's has to be believed. */
static qn_status check_header(wal_state *state, const wal_file *f, bool is_first, error_context *err) {
    if (is_first && f->first > 1) {
        memcpy(state->carried, f->log.header.checkpoint, sizeof state->carried);
    }
    if (memcmp(f->log.header.checkpoint, state->carried, sizeof state->carried) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: byte 12: the header names another checkpoint than the log in front of it", f->path);
    }
    return QN_OK;
}

static qn_status take_file(const wal_set *set, size_t index, wal_state *state, error_context *err) {
    const wal_file *f = &set->files[index];
    qwal_walk walk = {0};
    qwal_record record;
    uint64_t unit_at = 0;
    qn_status status = check_header(state, f, index == 0, err);
    if (state->last_sequence == 0) {
        state->last_sequence = f->first - 1;
    }
    while (status >= 0 && qwal_next(&f->log, &walk, &record)) {
        unit_at = (record.flags & QWAL_BEGIN) != 0 ? record.offset : unit_at;
        status = wal_state_take(state, &record, f->first, unit_at, f->path, err);
    }
    return status;
}

qn_status wal_state_build(const wal_set *set, wal_state *state, error_context *err) {
    qn_status status = QN_OK;
    for (size_t i = 0; status >= 0 && i < set->n_files; i++) {
        status = take_file(set, i, state, err);
    }
    return status;
}

void wal_state_free(wal_state *state) {
    free(state->agreements);
    term_marks_free(&state->terms);
    memset(state, 0, sizeof *state);
}
