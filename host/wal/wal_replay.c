/* wal_replay.c — committed transactions, one after another. */
#include "wal/wal_replay.h"

#include <inttypes.h>

static qn_status give_quins(const wal_visitor *v, const uint8_t *at, uint64_t n, error_context *err) {
    qn_status status = QN_OK;
    for (uint64_t i = 0; status >= 0 && v->quin != NULL && i < n; i++) {
        const q42_quin quin = q42_quin_load(at + i * Q42_QUIN_BYTES);
        status = v->quin(v->ctx, &quin, err);
    }
    return status;
}

static qn_status give_record(const wal_visitor *v, const qwal_record *record, error_context *err) {
    qwal_term term;
    qwal_suspend suspend;
    switch (record->type) {
    case QWAL_TERM: return v->term != NULL && qwal_read_term(record->payload, &term) ? v->term(v->ctx, &term, err) : QN_OK;
    case QWAL_QUINS: return give_quins(v, record->payload.data, record->payload.size / Q42_QUIN_BYTES, err);
    case QWAL_SUSPEND:
        return qwal_read_suspend(record->payload, &suspend) ? give_quins(v, suspend.quins, suspend.n_quins, err) : QN_OK;
    default: return QN_OK;
    }
}

/* The unit that begins at `at`. */
static qn_status give_unit(const wal_file *f, uint64_t at, const wal_visitor *v, error_context *err) {
    qwal_walk walk = {at};
    qwal_record record = {.flags = 0};
    qn_status status = QN_OK;
    while (status >= 0 && (record.flags & QWAL_END) == 0 && qwal_next(&f->log, &walk, &record)) {
        status = give_record(v, &record, err);
    }
    return status;
}

qn_status wal_replay_agreement(const wal_set *set, const wal_agreement *agreement, const wal_visitor *visitor, error_context *err) {
    const wal_file *f = wal_set_find(set, agreement->file);
    if (f == NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: the file with agreement %016" PRIx64 " is not there any more", set->directory,
                    agreement->terms.agreement);
    }
    return give_unit(f, agreement->unit_at, visitor, err);
}

static const wal_agreement *find_settled(const wal_state *state, uint64_t sequence) {
    for (size_t i = 0; i < state->n_agreements; i++) {
        if (state->agreements[i].settled_sequence == sequence) {
            return &state->agreements[i];
        }
    }
    return NULL;
}

static qn_status give_commit(const wal_set *set, const wal_state *state, const wal_file *f, uint64_t unit_at, const qwal_record *record,
                             const wal_visitor *v, error_context *err) {
    qwal_commit commit;
    qn_status status;
    qwal_read_commit(record->payload, &commit);
    if (commit.authority == QWAL_BY_CONSENT) {
        const wal_agreement *one = find_settled(state, record->sequence);
        status = one != NULL ? wal_replay_agreement(set, one, v, err)
                             : FAIL(err, QN_INTERNAL, "%s: record %" PRIu64 " commits no agreement", f->path, record->sequence);
    } else {
        status = give_unit(f, unit_at, v, err);
    }
    return status >= 0 && v->commit != NULL ? v->commit(v->ctx, record, &commit, err) : status;
}

qn_status wal_replay(const wal_set *set, const wal_state *state, uint64_t after, const wal_visitor *visitor, error_context *err) {
    wal_set_walk walk = {0};
    qwal_record record;
    uint64_t unit_at = 0;
    qn_status status = QN_OK;
    while (status >= 0 && wal_set_next(set, &walk, &record)) {
        unit_at = (record.flags & QWAL_BEGIN) != 0 ? record.offset : unit_at;
        if (record.type == QWAL_COMMIT && record.sequence > after) {
            status = give_commit(set, state, &set->files[walk.file], unit_at, &record, visitor, err);
        }
    }
    return status;
}
