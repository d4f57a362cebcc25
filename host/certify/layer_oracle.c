/* layer_oracle.c — one layer, written down as the formulas say. */
#include "certify/layer_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/raw_container.h"
#include "oracle_formats.h"

typedef enum part { EMBED, ATTN_NORM, Q, K, V, OUT, FFN_NORM, GATE, UP, DOWN, FINAL_NORM, HEAD, Q_BIAS, K_BIAS, V_BIAS, N_PARTS } part;

static const char *const part_names[N_PARTS] = {
    "token_embd.weight",     "blk.0.attn_norm.weight", "blk.0.attn_q.weight", "blk.0.attn_k.weight",   "blk.0.attn_v.weight",
    "blk.0.attn_output.weight", "blk.0.ffn_norm.weight", "blk.0.ffn_gate.weight", "blk.0.ffn_up.weight", "blk.0.ffn_down.weight",
    "output_norm.weight",    "output.weight",          "blk.0.attn_q.bias",   "blk.0.attn_k.bias",     "blk.0.attn_v.bias"};

#define PANELS 4096u /* element types from here on are arrangements that this file does not know */

struct layer_oracle {
    raw_matrix parts[N_PARTS]; /* bytes null: not there */
    layer_facts facts;
    uint32_t n_embd, n_head, n_kv_head, head_dim, n_ff, n_vocab, position;
    double rope_base;
    uint8_t *cache;  /* [2][n_positions][kv width] in the state format */
    double *scratch; /* vectors of one step */
    float *rounded;  /* [kv width] */
};

/* ------------------------------------------------------------------------------------------------------------- creating */

/* Tensors that would change the result and have no place in this graph. */
static const char *find_foreign(fmt_span container) {
    static const char *const names[] = {"rope_freqs.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_qkv.weight",
                                        "blk.0.post_attention_norm.weight", "blk.0.attn_output.bias", "blk.0.ffn_gate_inp.weight",
                                        "blk.0.attn_sub_norm.weight"};
    raw_matrix unused;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (raw_container_find(container, names[i], &unused)) {
            return names[i];
        }
    }
    return NULL;
}

static qn_status find_parts(layer_oracle *o, fmt_span container, error_context *err) {
    const char *foreign = find_foreign(container);
    if (foreign != NULL) {
        return FAIL(err, QN_UNSUPPORTED, "the oracle of one layer has no place for %s", foreign);
    }
    for (part p = 0; p < N_PARTS; p++) {
        if (!raw_container_find(container, part_names[p], &o->parts[p]) && p != HEAD && p < Q_BIAS) {
            return FAIL(err, QN_UNSUPPORTED, "the oracle of one layer finds no %s", part_names[p]);
        }
        if (o->parts[p].bytes != NULL && o->parts[p].format >= PANELS) {
            return FAIL(err, QN_UNSUPPORTED,
                        "%s is in panels, which the oracle of one layer does not read; turn the container back with convert --layout packed",
                        part_names[p]);
        }
    }
    if (o->parts[HEAD].bytes == NULL) {
        o->parts[HEAD] = o->parts[EMBED];
    }
    return QN_OK;
}

static bool has_shape(const raw_matrix *m, uint32_t columns, uint32_t rows) {
    return m->columns == columns && m->rows == rows;
}

static qn_status check_shapes(layer_oracle *o, error_context *err) {
    const uint32_t q = o->n_head * o->head_dim, kv = o->n_kv_head * o->head_dim;
    const struct {
        part p;
        uint32_t columns, rows;
    } table[] = {{ATTN_NORM, o->n_embd, 1}, {Q, o->n_embd, q},          {K, o->n_embd, kv},         {V, o->n_embd, kv},
                 {OUT, q, o->n_embd},       {FFN_NORM, o->n_embd, 1},   {GATE, o->n_embd, o->n_ff}, {UP, o->n_embd, o->n_ff},
                 {DOWN, o->n_ff, o->n_embd}, {FINAL_NORM, o->n_embd, 1}, {HEAD, o->n_embd, o->n_vocab}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!has_shape(&o->parts[table[i].p], table[i].columns, table[i].rows)) {
            return FAIL(err, QN_BAD_FILE, "%s is %u by %u; the oracle of one layer wants %u by %u", part_names[table[i].p],
                        o->parts[table[i].p].columns, o->parts[table[i].p].rows, table[i].columns, table[i].rows);
        }
    }
    return QN_OK;
}

static qn_status take_shape(layer_oracle *o, fmt_span container, error_context *err) {
    raw_shape shape;
    if (!raw_container_shape(container, &shape) || shape.n_head == 0 || shape.n_kv_head == 0 || shape.n_head % shape.n_kv_head != 0 ||
        o->parts[Q].rows % shape.n_head != 0 || !(shape.rope_base > 0)) {
        return FAIL(err, QN_UNSUPPORTED, "the oracle of one layer needs heads and a RoPE base in the container's hyper-parameters");
    }
    o->n_embd = o->parts[EMBED].columns;
    o->n_vocab = o->parts[EMBED].rows;
    o->n_head = shape.n_head;
    o->n_kv_head = shape.n_kv_head;
    o->head_dim = o->parts[Q].rows / shape.n_head;
    o->n_ff = o->parts[GATE].rows;
    o->rope_base = (double)shape.rope_base;
    return check_shapes(o, err);
}

static size_t state_bytes(qn_format format) {
    return format == QN_FORMAT_F32 ? 4 : 2;
}

static qn_status take_memory(layer_oracle *o, error_context *err) {
    const size_t kv = (size_t)o->n_kv_head * o->head_dim, q = (size_t)o->n_head * o->head_dim;
    o->cache = calloc(2 * (size_t)o->facts.n_positions * kv, state_bytes(o->facts.state_format));
    o->scratch = calloc(2 * (size_t)o->n_embd + 2 * q + 2 * kv + 2 * (size_t)o->n_ff + o->facts.n_positions + 8, sizeof *o->scratch);
    o->rounded = calloc(kv + 1, sizeof *o->rounded);
    return o->cache != NULL && o->scratch != NULL && o->rounded != NULL
               ? QN_OK
               : FAIL(err, QN_NO_HOST_MEM, "no memory for the oracle of one layer");
}

qn_status layer_oracle_create(fmt_span container, const layer_facts *facts, layer_oracle **out, error_context *err) {
    layer_oracle *o = calloc(1, sizeof *o);
    if (o == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for the oracle of one layer");
    }
    o->facts = *facts;
    qn_status status = find_parts(o, container, err);
    status = status < 0 ? status : take_shape(o, container, err);
    status = status < 0 ? status : take_memory(o, err);
    if (status < 0) {
        layer_oracle_destroy(o);
        return status;
    }
    *out = o;
    return QN_OK;
}

void layer_oracle_destroy(layer_oracle *oracle) {
    if (oracle != NULL) {
        free(oracle->cache);
        free(oracle->scratch);
        free(oracle->rounded);
        free(oracle);
    }
}

uint32_t layer_oracle_n_vocab(const layer_oracle *oracle) {
    return oracle->n_vocab;
}

/* -------------------------------------------------------------------------------------------------------------- formulas */

static double element(const raw_matrix *m, uint64_t row, uint64_t column) {
    return oracle_element(m->format, m->bytes, row * m->columns + column);
}

static void multiply(const raw_matrix *m, const raw_matrix *bias, const double *x, double *out) {
    for (uint32_t r = 0; r < m->rows; r++) {
        double sum = bias != NULL && bias->bytes != NULL ? element(bias, 0, r) : 0.0;
        for (uint32_t c = 0; c < m->columns; c++) {
            sum += element(m, r, c) * x[c];
        }
        out[r] = sum;
    }
}

static void normalise(const raw_matrix *weight, double epsilon, const double *x, double *out) {
    double sum = 0.0;
    for (uint32_t i = 0; i < weight->columns; i++) {
        sum += x[i] * x[i];
    }
    const double scale = 1.0 / sqrt(sum / weight->columns + epsilon);
    for (uint32_t i = 0; i < weight->columns; i++) {
        out[i] = x[i] * scale * element(weight, 0, i);
    }
}

static void turn(const layer_oracle *o, double *heads, uint32_t n_heads) {
    const uint32_t half = o->head_dim / 2;
    for (uint32_t h = 0; h < n_heads; h++) {
        double *x = heads + (size_t)h * o->head_dim;
        for (uint32_t i = 0; i < half; i++) {
            const double angle = o->position * pow(o->rope_base, -2.0 * i / o->head_dim);
            const uint32_t a = o->facts.pairs_are_adjacent ? 2 * i : i, b = o->facts.pairs_are_adjacent ? a + 1 : i + half;
            const double first = x[a] * cos(angle) - x[b] * sin(angle), second = x[a] * sin(angle) + x[b] * cos(angle);
            x[a] = first;
            x[b] = second;
        }
    }
}

/* Row `position` of K (which 0) or V (1). */
static uint8_t *cache_row(const layer_oracle *o, uint32_t which, uint32_t position) {
    const size_t width = (size_t)o->n_kv_head * o->head_dim * state_bytes(o->facts.state_format);
    return o->cache + ((size_t)which * o->facts.n_positions + position) * width;
}

static void write_cache(layer_oracle *o, uint32_t which, const double *values) {
    const uint32_t width = o->n_kv_head * o->head_dim;
    for (uint32_t i = 0; i < width; i++) {
        o->rounded[i] = (float)values[i];
    }
    oracle_store(o->facts.state_format, o->rounded, width, cache_row(o, which, o->position));
}

static double cached(const layer_oracle *o, uint32_t which, uint32_t position, uint32_t index) {
    return oracle_element(o->facts.state_format, cache_row(o, which, position), index);
}

static void attend_head(const layer_oracle *o, uint32_t head, const double *q, double *scores, double *out) {
    const uint32_t first = head / (o->n_head / o->n_kv_head) * o->head_dim;
    double largest = -INFINITY, sum = 0.0;
    for (uint32_t p = 0; p <= o->position; p++) {
        scores[p] = 0.0;
        for (uint32_t i = 0; i < o->head_dim; i++) {
            scores[p] += q[i] * cached(o, 0, p, first + i);
        }
        scores[p] /= sqrt((double)o->head_dim);
        largest = fmax(largest, scores[p]);
    }
    for (uint32_t p = 0; p <= o->position; p++) {
        scores[p] = exp(scores[p] - largest);
        sum += scores[p];
    }
    for (uint32_t i = 0; i < o->head_dim; i++) {
        out[i] = 0.0;
        for (uint32_t p = 0; p <= o->position; p++) {
            out[i] += scores[p] / sum * cached(o, 1, p, first + i);
        }
    }
}

static void add(double *to, const double *what, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        to[i] += what[i];
    }
}

typedef struct room {
    double *x, *y, *q, *mixed, *k, *v, *gate, *up, *scores;
} room;

static room divide(const layer_oracle *o) {
    const size_t kv = (size_t)o->n_kv_head * o->head_dim, q = (size_t)o->n_head * o->head_dim;
    room r = {.x = o->scratch};
    r.y = r.x + o->n_embd;
    r.q = r.y + o->n_embd;
    r.mixed = r.q + q;
    r.k = r.mixed + q;
    r.v = r.k + kv;
    r.gate = r.v + kv;
    r.up = r.gate + o->n_ff;
    r.scores = r.up + o->n_ff;
    return r;
}

static void attend(layer_oracle *o, room *r) {
    normalise(&o->parts[ATTN_NORM], o->facts.epsilon, r->x, r->y);
    multiply(&o->parts[Q], &o->parts[Q_BIAS], r->y, r->q);
    multiply(&o->parts[K], &o->parts[K_BIAS], r->y, r->k);
    multiply(&o->parts[V], &o->parts[V_BIAS], r->y, r->v);
    turn(o, r->q, o->n_head);
    turn(o, r->k, o->n_kv_head);
    write_cache(o, 0, r->k);
    write_cache(o, 1, r->v);
    for (uint32_t h = 0; h < o->n_head; h++) {
        attend_head(o, h, r->q + (size_t)h * o->head_dim, r->scores, r->mixed + (size_t)h * o->head_dim);
    }
    multiply(&o->parts[OUT], NULL, r->mixed, r->y);
    add(r->x, r->y, o->n_embd);
}

static void feed_forward(layer_oracle *o, room *r) {
    normalise(&o->parts[FFN_NORM], o->facts.epsilon, r->x, r->y);
    multiply(&o->parts[GATE], NULL, r->y, r->gate);
    multiply(&o->parts[UP], NULL, r->y, r->up);
    for (uint32_t i = 0; i < o->n_ff; i++) {
        r->gate[i] = r->gate[i] / (1.0 + exp(-r->gate[i])) * r->up[i];
    }
    multiply(&o->parts[DOWN], NULL, r->gate, r->y);
    add(r->x, r->y, o->n_embd);
}

qn_status layer_oracle_step(layer_oracle *o, uint32_t token, double *logits, error_context *err) {
    room r = divide(o);
    if (o->position == o->facts.n_positions || token >= o->n_vocab) {
        return FAIL(err, QN_LIMIT, "the oracle has no position left, or no token %u", token);
    }
    for (uint32_t i = 0; i < o->n_embd; i++) {
        r.x[i] = element(&o->parts[EMBED], token, i);
    }
    attend(o, &r);
    feed_forward(o, &r);
    normalise(&o->parts[FINAL_NORM], o->facts.epsilon, r.x, r.y);
    multiply(&o->parts[HEAD], NULL, r.y, logits);
    o->position++;
    return QN_OK;
}
