/* perplexity.c — windows, rows, and their logarithms. */
#include "decode/perplexity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue.h>

#include "base/scrub.h"
#include "text/tokenizer.h"

typedef struct scoring {
    session *s;
    const perplexity_options *options;
    uint32_t *window;    /* ids of the window at hand */
    double *surprise;    /* [max_outputs] of the step's rows */
    double sum, sum_of_squares;
    /* the rows that the workers take */
    const uint32_t *next; /* [n_rows] the token that followed each */
    uint32_t n_rows;
} scoring;

/* -ln p of one column of a row; NaN when the row has a NaN or no finite value. */
static double score_row(const float *row, uint32_t n, uint32_t column) {
    float greatest = row[0];
    for (uint32_t i = 1; i < n; i++) {
        greatest = row[i] > greatest ? row[i] : greatest;
    }
    double total = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        total += (double)expf(row[i] - greatest);
    }
    return log(total) - ((double)row[column] - (double)greatest);
}

static void score_rows(void *arg, uint32_t worker, uint32_t n_workers) {
    scoring *x = arg;
    const uint32_t n_vocab = x->s->p->m->hparams.n_vocab;
    for (uint32_t i = worker; i < x->n_rows; i += n_workers) {
        x->surprise[i] = score_row(x->s->logits + (size_t)i * n_vocab, n_vocab, x->next[i]);
    }
}

static qn_status add_rows(scoring *x, error_context *err) {
    team_run(x->options->workers, score_rows, x);
    for (uint32_t i = 0; i < x->n_rows; i++) {
        if (!isfinite(x->surprise[i])) {
            return FAIL(err, QN_CORRUPT, "the logits for token id %u are no numbers; the weights or the backend are broken", x->next[i]);
        }
        x->sum += x->surprise[i];
        x->sum_of_squares += x->surprise[i] * x->surprise[i];
    }
    return QN_OK;
}

/* Reads the first half, then scores the second in as many rows at once as the plan gives. */
static qn_status score_window(scoring *x, error_context *err) {
    const uint32_t n = x->options->window, first = n / 2;
    const qn_limits *limits = &x->s->p->limits;
    const uint32_t most = limits->max_outputs < limits->max_tokens ? limits->max_outputs : limits->max_tokens;
    session_truncate(x->s, 0);
    QN_TRY(session_append(x->s, x->window, first, err), err, "reading the first half of a window");
    for (uint32_t at = first; at + 1 < n; at += x->n_rows) {
        x->n_rows = n - 1 - at < most ? n - 1 - at : most;
        x->next = x->window + at + 1;
        QN_TRY(session_append_rows(x->s, x->window + at, x->n_rows, x->n_rows, err), err, "reading the second half of a window");
        QN_TRY(add_rows(x, err), err, "scoring tokens");
    }
    return QN_OK;
}

static void summarise(const scoring *x, perplexity *out) {
    out->n_scored = (uint64_t)out->n_windows * (x->options->window - 1 - x->options->window / 2);
    const double n = (double)out->n_scored;
    out->mean_nll = n > 0 ? x->sum / n : 0.0;
    out->value = exp(out->mean_nll);
    const double variance = n > 1 ? x->sum_of_squares / n - out->mean_nll * out->mean_nll : 0.0;
    out->error = n > 1 && variance > 0 ? out->value * sqrt(variance / (n - 1)) : 0.0;
}

static qn_status score_all(scoring *x, const uint32_t *ids, uint32_t n_windows, perplexity *out, error_context *err) {
    const perplexity_options *o = x->options;
    for (uint32_t i = 0; i < n_windows; i++) {
        if (o->cancel != NULL && qn_flag_is_up(o->cancel)) {
            return FAIL(err, QN_CANCELLED, "interrupted after %u of %u windows", i, n_windows);
        }
        memcpy(x->window, ids + (uint64_t)i * o->window, o->window * sizeof *ids);
        if (o->bos != TOKEN_NONE) {
            x->window[0] = o->bos;
        }
        QN_TRY(score_window(x, err), err, "window %u", i + 1);
        out->n_windows = i + 1;
        summarise(x, out);
        if (o->on_window != NULL) {
            o->on_window(o->ctx, out, n_windows);
        }
    }
    return QN_OK;
}

qn_status perplexity_run(session *s, const uint32_t *ids, uint64_t n_ids, const perplexity_options *options, perplexity *out,
                         error_context *err) {
    const uint64_t full = options->window > 0 ? n_ids / options->window : 0;
    scoring x = {.s = s, .options = options};
    memset(out, 0, sizeof *out);
    if (options->window < PERPLEXITY_LEAST_WINDOW || options->window > s->p->n_ctx) {
        return FAIL(err, QN_BAD_INPUT, "a window of %u tokens: the range is %u to the context of %u", options->window,
                    PERPLEXITY_LEAST_WINDOW, s->p->n_ctx);
    }
    if (full == 0 || full > UINT32_MAX) {
        return FAIL(err, QN_BAD_INPUT, "the text has %" PRIu64 " tokens and a window %u: give a longer text or a smaller window", n_ids,
                    options->window);
    }
    x.window = malloc(options->window * sizeof *x.window);
    x.surprise = malloc(s->p->limits.max_outputs * sizeof *x.surprise);
    const uint32_t n_windows = options->max_windows > 0 && options->max_windows < full ? options->max_windows : (uint32_t)full;
    const qn_status status = x.window == NULL || x.surprise == NULL
                                 ? FAIL(err, QN_NO_HOST_MEM, "out of memory for a window of %u tokens", options->window)
                                 : score_all(&x, ids, n_windows, out, err);
    scrub_free(x.window, options->window * sizeof *x.window);
    free(x.surprise);
    return status;
}
