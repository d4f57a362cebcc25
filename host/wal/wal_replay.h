/* wal_replay.h — what holds: the terms and quins of committed transactions, in the order of their commits.
 *
 * A transaction that its signers released is given where its COMMIT stands, not where it was suspended.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_WAL_REPLAY_H
#define HOST_WAL_REPLAY_H
#include "wal/wal_set.h"
#include "wal/wal_state.h"

typedef struct wal_visitor {
    void *ctx;
    qn_status (*term)(void *ctx, const qwal_term *term, error_context *err);  /* may be null */
    qn_status (*quin)(void *ctx, const q42_quin *quin, error_context *err);   /* may be null */
    /* behind the quins of a transaction; may be null */
    qn_status (*commit)(void *ctx, const qwal_record *record, const qwal_commit *commit, error_context *err);
} wal_visitor;

/* Every commit whose COMMIT has a sequence above `after`. `state` is that of the whole set. */
qn_status wal_replay(const wal_set *set, const wal_state *state, uint64_t after, const wal_visitor *visitor, error_context *err);

/* Terms and quins of one agreement, whatever its standing. */
qn_status wal_replay_agreement(const wal_set *set, const wal_agreement *agreement, const wal_visitor *visitor, error_context *err);

#endif
