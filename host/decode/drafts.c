/* drafts.c — guesses in the session. */
#include "decode/drafts.h"

void drafts_init(drafts *d, session *s, const draft_source *source) {
    *d = (drafts){.s = s, .source = source};
}

uint32_t drafts_length(const drafts *d) {
    return session_length(d->s) - (d->n - d->at);
}

float *drafts_row(const drafts *d) {
    return d->at < d->s->n_logits ? d->s->logits + (size_t)d->at * d->s->p->m->hparams.n_vocab : NULL;
}

qn_status drafts_settle(drafts *d, error_context *err) {
    const uint32_t keep = drafts_length(d);
    const bool is_settled = d->at == d->n;
    d->n = 0;
    d->at = 0;
    if (is_settled) {
        return QN_OK;
    }
    if (session_truncate(d->s, keep) == keep) {
        return QN_OK;
    }
    /* A ring had no room to take them back: the text is read again, and no more is guessed. */
    d->source = NULL;
    return session_append(d->s, (const uint32_t *)d->s->history, keep, err);
}

/* How many guesses may be made: each needs a row, a place in the chunk and a position, and is of use only within the budget. */
static uint32_t find_room(const drafts *d, uint32_t budget) {
    const uint32_t used = session_length(d->s) + 1; /* the chosen token comes first */
    uint32_t room = d->s->p->n_ctx > used ? d->s->p->n_ctx - used : 0;
    const uint32_t bounds[] = {budget, d->s->p->limits.max_outputs - 1, d->s->p->limits.max_tokens - 1, TOKEN_MAX_DRAFT};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        room = bounds[i] < room ? bounds[i] : room;
    }
    return room;
}

static uint32_t propose(drafts *d, uint32_t id, uint32_t budget) {
    const uint32_t length = session_length(d->s), room = d->source != NULL ? find_room(d, budget) : 0;
    if (room == 0) {
        return 0;
    }
    d->s->history[length] = (int32_t)id; /* where the step will write it anyway */
    const uint32_t n = d->source->propose(d->source->ctx, d->s->history, length + 1, d->ids + 1, room);
    for (uint32_t i = 0; i < n; i++) {
        if (d->ids[1 + i] >= d->s->p->m->hparams.n_vocab) {
            return i; /* a guess from outside is no reason to fail */
        }
    }
    return n < room ? n : room;
}

qn_status drafts_append(drafts *d, uint32_t id, uint32_t budget, error_context *err) {
    if (d->at < d->n && d->ids[1 + d->at] == id) {
        d->at++;
        d->n_accepted++;
        return QN_OK;
    }
    QN_TRY(drafts_settle(d, err), err, "taking back guessed tokens");
    const uint32_t n = propose(d, id, budget);
    d->ids[0] = id;
    if (n == 0) {
        return session_append(d->s, &id, 1, err);
    }
    QN_TRY(session_append_rows(d->s, d->ids, n + 1, n + 1, err), err, "running %u guessed tokens", n);
    d->n = n;
    d->n_drafted += n;
    return QN_OK;
}
