/* certify.c — running and comparing. */
#include "certify/certify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/layer_oracle.h"
#include "decode/session.h"

#define DEFAULT_POSITIONS 6u
#define DEFAULT_TOKENS 16u
#define PROMPT_TOKENS 4u

static void set_tolerance(uint32_t numeric, certify_comparison *c) {
    const bool is_int8 = numeric == QN_NUMERIC_ACT8, is_half = numeric == QN_NUMERIC_F16ACC;
    c->tol_abs = is_int8 ? 0.1 : 1e-2;
    c->tol_rel = is_int8 ? 5e-2 : is_half ? 5e-3 : 1e-3; /* of eight bits: a layer and the head behind it, each rounds its input */
}

/* xorshift64*; never 0. */
static uint32_t draw(uint64_t *state, uint32_t below) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (uint32_t)((*state * UINT64_C(0x2545F4914F6CDD1D)) >> 33) % below;
}

static void compare_row(certify_comparison *c, const double *wanted, const float *found, uint32_t n, const char *who, const char *what,
                        uint32_t row) {
    double squares = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        squares += wanted[i] * wanted[i];
    }
    const double rms = sqrt(squares / n);
    for (uint32_t i = 0; i < n; i++) {
        const double off = fabs(wanted[i] - (double)found[i]), size = fmax(fmax(fabs(wanted[i]), rms), 1e-30);
        c->max_abs = isnan(off) ? INFINITY : fmax(c->max_abs, off);
        c->max_rel = isnan(off) ? INFINITY : fmax(c->max_rel, off / size);
        if (!(off <= c->tol_abs || off / size <= c->tol_rel) && c->has_passed) {
            c->has_passed = false;
            snprintf(c->reason, sizeof c->reason, "%s %u: logit %u is %.9g, the %s says %.9g", what, row, i, (double)found[i], who,
                     wanted[i]);
        }
    }
    c->n_compared += n;
}

/* --------------------------------------------------------------------------------------------------------------- opening */

typedef struct machine {
    plan *p;
    session *s;
} machine;

static void close_machine(machine *x) {
    session_destroy(x->s);
    plan_destroy(x->p);
}

static qn_status open_machine(const model *m, const backend *on, uint32_t n_ctx, uint32_t numeric, qn_format state, machine *out,
                              error_context *err) {
    const plan_options how = {.n_ctx = n_ctx, .numeric = numeric, .state_format = state};
    memset(out, 0, sizeof *out);
    QN_TRY(plan_create(m, on, &how, &out->p, err), err, "preparing backend %s", on->spec.name);
    const qn_status status = session_create(out->p, &out->s, err);
    if (status < 0) {
        plan_destroy(out->p);
    }
    return status;
}

/* ----------------------------------------------------------------------------------------------------------------- layer */

static const char *find_strange(const model *m) {
    const hparams *h = &m->hparams;
    return m->format != MODEL_P64                                                        ? "the file is no P64"
           : m->is_raw                                                                   ? "the container has the names of Safetensors"
           : strcmp(m->arch->name, "llama") != 0 && strcmp(m->arch->name, "qwen2") != 0  ? "the oracle knows llama and qwen2 models"
           : h->scaling != ROPE_SCALING_NONE && h->rope_factor != 1.0f                   ? "the oracle knows no scaling of RoPE"
           : h->n_rot != 0 && h->n_rot != h->head_dim                                    ? "the oracle turns whole heads"
           : h->window > 0                                                               ? "the oracle knows full attention"
           : h->attn_softcap > 0 || h->final_softcap > 0 || h->embd_scale != 1.0f        ? "the oracle knows no caps and scales"
                                                                                         : NULL;
}

static qn_status compare_steps(layer_oracle *oracle, session *s, const uint32_t *ids, uint32_t n, double *wanted, certify_comparison *out,
                               error_context *err) {
    const uint32_t n_vocab = layer_oracle_n_vocab(oracle);
    for (uint32_t i = 0; i < n; i++) {
        QN_TRY(layer_oracle_step(oracle, ids[i], wanted, err), err, "computing the layer");
        QN_TRY(session_append(s, &ids[i], 1, err), err, "running the layer");
        compare_row(out, wanted, s->logits, n_vocab, "oracle", "position", i);
    }
    session_truncate(s, 0);
    QN_TRY(session_append(s, ids, n, err), err, "running the layer on a prompt");
    compare_row(out, wanted, s->logits, n_vocab, "oracle", "the end of a prompt of", n);
    return QN_OK;
}

static qn_status run_layer(const model *first_layer, layer_oracle *oracle, const backend *on, const certify_options *o, uint32_t n,
                           certify_comparison *out, error_context *err) {
    const uint32_t n_vocab = layer_oracle_n_vocab(oracle);
    uint64_t random = o->seed | 1;
    machine x;
    uint32_t *ids = malloc(n * sizeof *ids);
    double *wanted = malloc((size_t)n_vocab * sizeof *wanted);
    qn_status status = ids != NULL && wanted != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "no memory to compare the layer");
    for (uint32_t i = 0; status >= 0 && i < n; i++) {
        ids[i] = draw(&random, n_vocab);
    }
    status = status < 0 ? status : open_machine(first_layer, on, n, o->numeric, o->state_format, &x, err);
    if (status >= 0) {
        set_tolerance(x.p->memory.numeric, out);
        status = compare_steps(oracle, x.s, ids, n, wanted, out, err);
        close_machine(&x);
    }
    free(ids);
    free(wanted);
    return status;
}

qn_status certify_layer(const model *m, const backend *on, const certify_options *o, certify_comparison *out, error_context *err) {
    const uint32_t n = o->n_positions > 0 ? o->n_positions : DEFAULT_POSITIONS;
    const layer_facts facts = {.epsilon = (double)m->hparams.rms_epsilon, .pairs_are_adjacent = m->arch->pairing == QN_ROPE_ADJACENT,
                               .state_format = o->state_format, .n_positions = n};
    layer_oracle *oracle = NULL;
    error_context local = {0};
    model first_layer = *m; /* nothing of it is closed: it borrows everything */
    const char *strange = find_strange(m);
    *out = (certify_comparison){.has_passed = true};
    if (strange != NULL || layer_oracle_create(m->file.span, &facts, &oracle, &local) < 0) {
        snprintf(out->reason, sizeof out->reason, "%.250s", strange != NULL ? strange : error_text(&local));
        return QN_OK;
    }
    first_layer.hparams.n_layer = 1;
    const hparams *h = &m->hparams;
    const uint32_t shape[6] = {h->n_embd, h->n_head, h->n_head_kv, h->head_dim, h->n_ff, h->n_vocab};
    memcpy(out->shape, shape, sizeof shape);
    out->was_made = true;
    const qn_status status = run_layer(&first_layer, oracle, on, o, n, out, err);
    layer_oracle_destroy(oracle);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- greedy */

/* The greatest logit, and how far the next one is below it. */
static uint32_t choose(const float *logits, uint32_t n, double *out_margin) {
    uint32_t best = 0;
    double second = -INFINITY;
    for (uint32_t i = 1; i < n; i++) {
        if (logits[i] > logits[best]) {
            second = (double)logits[best];
            best = i;
        } else {
            second = fmax(second, (double)logits[i]);
        }
    }
    *out_margin = (double)logits[best] - second;
    return best;
}

/* One step of both; *token is what the reference chooses next. */
static void compare_choice(certify_comparison *c, const float *wanted, const float *found, double *row, uint32_t n, uint32_t step,
                           uint32_t *token) {
    double margin, unused;
    *token = choose(wanted, n, &margin);
    for (uint32_t i = 0; i < n; i++) {
        row[i] = (double)wanted[i];
    }
    const uint64_t before = c->n_compared;
    compare_row(c, row, found, n, "reference", "token", step);
    c->n_compared = before + 1;
    if (wanted[choose(found, n, &unused)] < wanted[*token]) { /* of equal ones any is right */
        c->least_margin = c->n_different == 0 ? margin : fmin(c->least_margin, margin);
        c->n_different++;
    }
}

static qn_status run_both(machine *a, machine *b, const certify_options *o, uint32_t n_tokens, double *row, certify_comparison *out,
                          error_context *err) {
    const uint32_t n = b->p->m->hparams.n_vocab;
    uint32_t ids[PROMPT_TOKENS], token;
    uint64_t random = o->seed | 1;
    for (uint32_t i = 0; i < PROMPT_TOKENS; i++) {
        ids[i] = draw(&random, n);
    }
    QN_TRY(session_append(a->s, ids, PROMPT_TOKENS, err), err, "running the backend");
    QN_TRY(session_append(b->s, ids, PROMPT_TOKENS, err), err, "running the reference");
    for (uint32_t i = 0; i < n_tokens; i++) {
        compare_choice(out, b->s->logits, a->s->logits, row, n, i, &token);
        QN_TRY(session_append(a->s, &token, 1, err), err, "running the backend");
        QN_TRY(session_append(b->s, &token, 1, err), err, "running the reference");
    }
    return QN_OK;
}

/* Where products are exact every token is the same; where activations have eight bits one in a hundred may differ. */
static void judge_tokens(uint32_t numeric, certify_comparison *c) {
    const bool is_int8 = numeric == QN_NUMERIC_ACT8;
    const uint64_t allowed = is_int8 ? (c->n_compared + 99) / 100 : 0;
    if (c->n_different > allowed && c->has_passed) {
        snprintf(c->reason, sizeof c->reason, "%u of %llu tokens differ from the reference's", c->n_different, (unsigned long long)c->n_compared);
    }
    c->has_passed = c->has_passed && c->n_different <= allowed;
}

qn_status certify_greedy(const model *m, const backend *on, const backend *reference, const certify_options *o, certify_comparison *out,
                         error_context *err) {
    const uint32_t n_tokens = o->n_tokens > 0 ? o->n_tokens : DEFAULT_TOKENS, n_ctx = n_tokens + PROMPT_TOKENS;
    machine a, b;
    *out = (certify_comparison){.was_made = true, .has_passed = true};
    double *row = malloc((size_t)m->hparams.n_vocab * sizeof *row);
    if (row == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to compare logits");
    }
    qn_status status = open_machine(m, on, n_ctx, o->numeric, o->state_format, &a, err);
    if (status >= 0) {
        status = open_machine(m, reference, n_ctx, QN_NUMERIC_F32ACC, o->state_format, &b, err);
        if (status >= 0) {
            set_tolerance(a.p->memory.numeric, out);
            out->tol_rel = a.p->memory.numeric == QN_NUMERIC_ACT8 ? 0.1 : out->tol_rel; /* thirty layers and not one */
            status = run_both(&a, &b, o, n_tokens, row, out, err);
            judge_tokens(a.p->memory.numeric, out);
            close_machine(&b);
        }
        close_machine(&a);
    }
    free(row);
    return status;
}
