/* sieve_beam.c — the best complete candidate of each slot, by running the model on several. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constrain/sieve_internal.h"

/* A beginning of a candidate that is followed. */
typedef struct beginning {
    uint32_t node;
    double sum;
} beginning;

typedef struct finding {
    uint32_t node;    /* NO_CANDIDATE while there is none */
    double sum;
} finding;

typedef struct beam {
    sieve *s;
    session *on;
    error_context *err;
    uint32_t width;
    uint32_t *ids;          /* what the session holds: prompt, then terms; [n_ctx] */
    uint32_t n_ids;         /* of it */
    uint32_t begin;         /* where the slot begins */
    uint32_t *path;         /* [budget] tokens of a beginning */
    float *first_row;       /* [n_tokens] logits at the slot's begin */
    beginning live[SIEVE_MAX_BEAM], next[SIEVE_MAX_BEAM];
    uint32_t n_live, n_next;
    finding best, second;
} beam;

/* Tokens from the root of the slot to `node`, into path; returns how many. */
static uint32_t find_path(const beam *b, const term_trie *trie, uint32_t node) {
    const uint32_t n = trie->nodes[node].depth;
    for (uint32_t i = n; i > 0; i--) {
        b->path[i - 1] = trie->nodes[node].token;
        node = trie->nodes[node].parent;
    }
    return n;
}

/* Takes the session to the slot's begin and the path to `node`: back to what they share, but one, since logits come from a step. */
static qn_status go_to(beam *b, const term_trie *trie, uint32_t node) {
    const uint32_t n_path = find_path(b, trie, node), wanted = b->begin + n_path;
    uint32_t shared = b->begin;
    while (shared < b->n_ids && shared < wanted && b->ids[shared] == b->path[shared - b->begin]) {
        shared++;
    }
    shared = shared == wanted ? shared - 1 : shared;
    memcpy(b->ids + b->begin, b->path, n_path * sizeof *b->ids);
    const uint32_t kept = session_truncate(b->on, shared);
    b->n_ids = wanted;
    return session_append(b->on, b->ids + kept, wanted - kept, b->err);
}

static const float *find_row(beam *b, const term_trie *trie, uint32_t node, qn_status *status) {
    *status = node == 0 ? QN_OK : go_to(b, trie, node);
    return node == 0 ? b->first_row : b->on->logits;
}

/* -------------------------------------------------------------------------------------------------------- keeping the best */

static bool is_better(double sum, uint32_t node, double than, uint32_t than_node) {
    return sum > than || (sum == than && node < than_node);
}

static uint32_t candidate_at(const term_trie *trie, uint32_t node) {
    return node == NO_CANDIDATE ? NO_CANDIDATE : trie->nodes[node].candidate;
}

static void finish(beam *b, const term_trie *trie, uint32_t node, double sum) {
    const uint32_t candidate = trie->nodes[node].candidate;
    if (b->best.node == NO_CANDIDATE || is_better(sum, candidate, b->best.sum, candidate_at(trie, b->best.node))) {
        b->second = b->best;
        b->best = (finding){node, sum};
    } else if (b->second.node == NO_CANDIDATE || is_better(sum, candidate, b->second.sum, candidate_at(trie, b->second.node))) {
        b->second = (finding){node, sum};
    }
}

/* Into `next`, best first, the least of them falling out. */
static void keep(beam *b, uint32_t node, double sum) {
    uint32_t at = b->n_next;
    if (at == b->width && !is_better(sum, node, b->next[at - 1].sum, b->next[at - 1].node)) {
        return;
    }
    at = at < b->width ? b->n_next++ : at - 1;
    for (; at > 0 && is_better(sum, node, b->next[at - 1].sum, b->next[at - 1].node); at--) {
        b->next[at] = b->next[at - 1];
    }
    b->next[at] = (beginning){node, sum};
}

/* Logarithm of the probability that the text leaves the slot here. */
static double weigh_leaving(const sieve *s, uint32_t slot, const float *row, double log_sum) {
    double sum = 0;
    if (slot + 1 == SIEVE_SLOTS) {
        for (uint32_t i = 0; i < s->n_stops; i++) {
            sum += exp((double)row[s->stops[i]] - log_sum);
        }
        return log(sum);
    }
    const term_trie *next = &s->tries[slot + 1];
    for (uint32_t child = 1; child < next->nodes[0].end; child = next->nodes[child].end) {
        sum += exp((double)row[next->nodes[child].token] - log_sum);
    }
    return log(sum);
}

/* ---------------------------------------------------------------------------------------------------------------- one slot */

static qn_status expand(beam *b, uint32_t slot, const beginning *from) {
    const term_trie *trie = &b->s->tries[slot];
    qn_status status;
    const float *row = find_row(b, trie, from->node, &status);
    if (status < 0) {
        return status;
    }
    const double log_sum = sieve_log_sum(row, b->s->n_tokens);
    if (sieve_is_open_end(trie, from->node)) {
        finish(b, trie, from->node, from->sum + weigh_leaving(b->s, slot, row, log_sum));
    }
    for (uint32_t child = from->node + 1; child < trie->nodes[from->node].end; child = trie->nodes[child].end) {
        const double sum = from->sum + (double)row[trie->nodes[child].token] - log_sum;
        if (term_trie_has_children(trie, child)) {
            keep(b, child, sum);
        } else {
            finish(b, trie, child, sum);
        }
    }
    return QN_OK;
}

/* A sum only falls: once two are complete and better than all that is followed, nothing can change them. */
static bool is_decided(const beam *b) {
    return b->n_live == 0 || (b->second.node != NO_CANDIDATE && b->live[0].sum < b->second.sum);
}

static qn_status search_slot(beam *b, uint32_t slot) {
    b->best = b->second = (finding){NO_CANDIDATE, -INFINITY};
    b->live[0] = (beginning){0, 0};
    for (b->n_live = 1; !is_decided(b);) {
        b->n_next = 0;
        for (uint32_t i = 0; i < b->n_live; i++) {
            QN_TRY(expand(b, slot, &b->live[i]), b->err, "weighing the candidates of the %s", sieve_slot_name(slot));
        }
        memcpy(b->live, b->next, b->n_next * sizeof *b->live);
        b->n_live = b->n_next;
    }
    return b->best.node != NO_CANDIDATE && isfinite(b->best.sum)
               ? QN_OK
               : FAIL(b->err, QN_CORRUPT, "the model gives no candidate of the %s a probability", sieve_slot_name(slot));
}

/* The best candidate becomes part of the text. */
static qn_status take_best(beam *b, uint32_t slot) {
    sieve *s = b->s;
    const term_trie *trie = &s->tries[slot];
    s->readings[0].chosen[slot] = trie->nodes[b->best.node].candidate;
    s->readings[0].margins[slot] = b->second.node == NO_CANDIDATE ? INFINITY : b->best.sum - b->second.sum;
    s->log_probability += b->best.sum;
    if (slot + 1 < SIEVE_SLOTS) {
        QN_TRY(go_to(b, trie, b->best.node), b->err, "taking the %s", sieve_slot_name(slot));
        memcpy(b->first_row, b->on->logits, s->n_tokens * sizeof *b->first_row);
    } else {
        const uint32_t n = find_path(b, trie, b->best.node);
        memcpy(b->ids + b->begin, b->path, n * sizeof *b->ids);
        b->n_ids = b->begin + n;
    }
    b->begin = b->n_ids;
    return QN_OK;
}

static qn_status run(beam *b) {
    sieve_reset(b->s);
    memcpy(b->first_row, b->on->logits, b->s->n_tokens * sizeof *b->first_row);
    for (uint32_t slot = 0; slot < SIEVE_SLOTS; slot++) {
        qn_status status = search_slot(b, slot);
        status = status < 0 ? status : take_best(b, slot);
        if (status < 0) {
            sieve_reset(b->s);
            return status;
        }
    }
    b->s->readings[0].slot = SIEVE_SLOTS;
    return QN_OK;
}

qn_status sieve_beam_run(sieve *s, session *on, uint32_t width, uint32_t *out_ids, uint32_t *out_n, error_context *err) {
    const uint32_t n_prompt = session_length(on), n_ctx = on->p->n_ctx;
    beam b = {.s = s, .on = on, .err = err, .n_ids = n_prompt, .begin = n_prompt};
    b.width = width < 1 ? 1 : width > SIEVE_MAX_BEAM ? SIEVE_MAX_BEAM : width;
    if (sieve_budget(s) > n_ctx - n_prompt) {
        return FAIL(err, QN_LIMIT, "the longest terms of the sieve take %u tokens, and the context has %u of %u left", sieve_budget(s),
                    n_ctx - n_prompt, n_ctx);
    }
    b.ids = malloc((size_t)n_ctx * sizeof *b.ids);
    b.path = malloc((size_t)sieve_budget(s) * sizeof *b.path);
    b.first_row = malloc((size_t)s->n_tokens * sizeof *b.first_row);
    qn_status status = b.ids != NULL && b.path != NULL && b.first_row != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a beam");
    for (uint32_t i = 0; status == QN_OK && i < n_prompt; i++) {
        b.ids[i] = (uint32_t)on->history[i];
    }
    status = status < 0 ? status : run(&b);
    if (status == QN_OK) {
        *out_n = b.n_ids - n_prompt;
        memcpy(out_ids, b.ids + n_prompt, *out_n * sizeof *out_ids);
    }
    free(b.ids);
    free(b.path);
    free(b.first_row);
    return status;
}
