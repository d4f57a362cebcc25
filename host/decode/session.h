/* session.h — one stream of tokens through a plan: history, KV placement, logits.
 *
 * Threading: one thread at a time per session; several sessions of one plan may run concurrently.
 * Memory:    borrows the plan. History, logits and placement are allocated at creation; a step allocates nothing.
 * Devices:   one with the extension quoin.device-sample/1 can leave the logits where they are and give the greatest of them.
 * Errors:    after CANCELLED or TIMEOUT the session stands where it stood before the step. After any other failed
 *            step it is failed: every later call answers the same code.
 */
#ifndef HOST_SESSION_H
#define HOST_SESSION_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/ext/device_sample.h>

#include "base/error.h"
#include "decode/kv_cells.h"
#include "decode/plan.h"

/* Candidates that a device may be asked for. */
#define SESSION_MAX_TOP 64u

typedef struct session {
    plan *p;
    qn_session *handle;
    kv_cells kv;
    int32_t *history;     /* [n_ctx] token ids by position; valid up to kv.length */
    int32_t *positions;   /* [max_tokens] */
    int32_t *rows;        /* [max_outputs] */
    float *logits;        /* [max_outputs][n_vocab], of the last step */
    uint32_t n_logits;    /* rows that are valid */
    const qn_device_sample *sampling; /* of the plugin, or null */
    uint32_t top_wanted;  /* 0: logits; otherwise so many candidates instead, among the first top_columns ids */
    uint32_t top_columns;
    uint32_t n_top;       /* candidates of the last token that are valid, best first */
    uint32_t top_ids[SESSION_MAX_TOP];
    float top_values[SESSION_MAX_TOP];
    qn_status failure;    /* QN_OK while it works */
    bool was_run;         /* the first step is behind it: the process is not looked at any more */
} session;

qn_status session_create(plan *p, session **out_session, error_context *err);
void session_destroy(session *s);

/* Appends `n` token ids (chunked as the plan's limits say) and leaves the logits of the last one in s->logits.
 * QN_LIMIT when the context would overflow: the text has count, what is used, and the limit. QN_BAD_INPUT for an id
 * outside the vocabulary. QN_CANCELLED keeps the chunks that were finished. */
qn_status session_append(session *s, const uint32_t *ids, uint32_t n, error_context *err);

/* From now on session_append leaves the k greatest logits among the first n_columns in s->top_ids and s->top_values and none in
 * s->logits, where the device can do that; k = 0: logits again. False, and logits, where it cannot. */
bool session_want_top(session *s, uint32_t k, uint32_t n_columns);

/* The same, but logits of the last `n_rows` of the appended tokens are kept, oldest first; n must fit one chunk and
 * n_rows the plan's max_outputs. */
qn_status session_append_rows(session *s, const uint32_t *ids, uint32_t n, uint32_t n_rows, error_context *err);

/* Forgets positions from `length` on; returns the length that is valid afterwards (see kv_cells_truncate). */
uint32_t session_truncate(session *s, uint32_t length);

static inline uint32_t session_length(const session *s) {
    return s->kv.length;
}

#endif
