/* ref_attention.c — ATTENTION: for each token and head, softmax over the visible cells of the token's sequence. */
#include "ref_internal.h"

#include <math.h>

/* The visible cells of one token, visited in the order of its spans. */
typedef struct visible_cells {
    const qn_span *span, *end;
    int64_t position;      /* of the token */
    uint32_t window, at;   /* at: next cell of the span */
} visible_cells;

static visible_cells see_cells(const ref_call *call, uint32_t token) {
    const qn_attention_attrs *attrs = call->attrs;
    const qn_placement *placement = qn_step_placement(call->step, call->in[1].buffer->group);
    const uint32_t sequence = call->step->sequences == NULL ? 0 : call->step->sequences[token];
    return (visible_cells){.span = placement->spans + placement->span_at[sequence],
                           .end = placement->spans + placement->span_at[sequence + 1],
                           .position = call->step->positions[token], .window = attrs->window};
}

static int next_cell(visible_cells *cells, uint32_t *out_cell) {
    for (; cells->span < cells->end; cells->span++, cells->at = 0) {
        while (cells->at < cells->span->n_cells) {
            const uint32_t i = cells->at++;
            const int64_t distance = cells->position - ((int64_t)cells->span->first_position + i);
            if (distance >= 0 && (cells->window == 0 || distance < cells->window)) {
                *out_cell = cells->span->first_cell + i;
                return 1;
            }
        }
    }
    return 0;
}

static double score(const float *q, const float *k, const qn_attention_attrs *attrs) {
    double dot = 0;
    for (uint32_t i = 0; i < attrs->head_dim; i++) {
        dot += (double)q[i] * k[i];
    }
    dot *= attrs->scale;
    return attrs->softcap > 0 ? attrs->softcap * tanh(dot / attrs->softcap) : dot;
}

/* scores: [n_head][n_cells]. Turns each row into weights that add up to 1. */
static void soften(double *scores, uint32_t n_head, uint64_t n_cells) {
    for (uint32_t head = 0; head < n_head; head++, scores += n_cells) {
        double most = scores[0], total = 0;
        for (uint64_t c = 1; c < n_cells; c++) {
            most = scores[c] > most ? scores[c] : most;
        }
        for (uint64_t c = 0; c < n_cells; c++) {
            scores[c] = exp(scores[c] - most);
            total += scores[c];
        }
        for (uint64_t c = 0; c < n_cells; c++) {
            scores[c] /= total;
        }
    }
}

static void attend(const ref_call *call, uint32_t token) {
    const qn_attention_attrs *attrs = call->attrs;
    const uint32_t share = attrs->n_head / attrs->n_kv_head;
    const float *q = ref_row(&call->in[0], token);
    float *row = ref_scratch(call, 0, 0), *y = ref_row(&call->out, token);
    double *scores = call->session->scores, *sums = call->session->sums;
    uint64_t n_cells = 0, c = 0;
    uint32_t cell;
    for (visible_cells cells = see_cells(call, token); next_cell(&cells, &cell);) {
        n_cells++;
    }
    for (visible_cells cells = see_cells(call, token); next_cell(&cells, &cell); c++) {
        ref_read_row(&call->in[1], cell, row);
        for (uint32_t head = 0; head < attrs->n_head; head++) {
            scores[head * n_cells + c] = score(q + (uint64_t)head * attrs->head_dim,
                                               row + (uint64_t)(head / share) * attrs->head_dim, attrs);
        }
    }
    soften(scores, attrs->n_head, n_cells);
    memset(sums, 0, call->out.n_columns * sizeof *sums);
    c = 0;
    for (visible_cells cells = see_cells(call, token); next_cell(&cells, &cell); c++) {
        ref_read_row(&call->in[2], cell, row);
        for (uint64_t i = 0; i < call->out.n_columns; i++) {
            const uint64_t head = i / attrs->value_dim, kv = head / share * attrs->value_dim + i % attrs->value_dim;
            sums[i] += scores[head * n_cells + c] * row[kv];
        }
    }
    for (uint64_t i = 0; i < call->out.n_columns; i++) {
        y[i] = (float)sums[i];
    }
}

void ref_attention(const ref_call *call) {
    for (uint32_t t = 0; t < call->step->n_tokens; t++) {
        attend(call, t);
    }
}
