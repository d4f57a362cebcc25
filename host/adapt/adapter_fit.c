/* adapter_fit.c — does an adapter belong to this model, and which changes of which projections is it? */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/adapter.h"
#include "common/sha.h"

#define MOST_PARTS 3u /* of one pair: Q, K and V */

qn_status adapter_digest_model(const model *m, uint8_t out[LORA_DIGEST_BYTES], error_context *err) {
    if (!sha256_digest(m->file.span.data, m->file.span.size, out)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto made no digest of it", m->file.path);
    }
    return mapped_file_check(&m->file, err);
}

static qn_status check_names(const adapter *a, const model *m, const uint8_t *base, error_context *err) {
    if (m->arch == NULL) {
        return FAIL(err, QN_BAD_FILE, "%s: holds a vocabulary but no weights; %s has nothing to change in it", m->file.path,
                    a->path);
    }
    if (a->form == ADAPTER_LORA_V2 && base != NULL && memcmp(a->base, base, LORA_DIGEST_BYTES) != 0) {
        char wanted[SHA256_HEX_SIZE], got[SHA256_HEX_SIZE];
        sha256_to_hex(a->base, wanted);
        sha256_to_hex(base, got);
        return FAIL(err, QN_BAD_FILE, "%s: belongs to the model with SHA-256 %s; %s has %s", a->path, wanted, m->file.path, got);
    }
    if (a->architecture[0] != '\0' && strcmp(a->architecture, m->hparams.arch) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: is for models of architecture %s; %s is %s", a->path, a->architecture, m->file.path,
                    m->hparams.arch);
    }
    return QN_OK;
}

/* "attn_q of layer 3", "output". */
static const char *print_place(const lora_pair *pair, char text[64]) {
    if (pair->layer == LORA_NO_LAYER) {
        snprintf(text, 64, "%s", lora_role_name(pair->role));
    } else {
        snprintf(text, 64, "%s of layer %u", lora_role_name(pair->role), pair->layer);
    }
    return text;
}

/* GGUF has one name for `up` and for gate and up in one; the model tells which it is. */
static void settle_role(lora_pair *pair, const model *m) {
    if (pair->role == LORA_FFN_UP && m->arch->has_fused_gate_up && pair->n_out == 2 * (uint64_t)m->hparams.n_ff) {
        pair->role = LORA_FFN_GATE_UP;
    }
}

static qn_status check_shape(const adapter *a, const lora_pair *pair, const model *m, error_context *err) {
    uint64_t n_in = 0, n_out = 0;
    char place[64];
    if (!delta_shape(m, pair->role, pair->layer, &n_in, &n_out)) {
        return FAIL(err, QN_BAD_FILE, "%s: changes %s; %s has %u layers", a->path, print_place(pair, place), m->file.path,
                    m->hparams.n_layer);
    }
    if (pair->n_in != n_in || pair->n_out != n_out) {
        return FAIL(err, QN_BAD_FILE, "%s: %s takes %u and gives %u elements; in %s it takes %" PRIu64 " and gives %" PRIu64,
                    a->path, print_place(pair, place), pair->n_in, pair->n_out, m->file.path, n_in, n_out);
    }
    return QN_OK;
}

/* A converter to GGUF lays the rows of a head so that the two that are turned together are neighbours; Hugging Face's files have
 * them half a head apart. Brings rows of the first kind into the order of the second. */
static qn_status split_heads(const adapter *a, const lora_pair *pair, uint32_t head_dim, error_context *err) {
    const size_t row = (size_t)pair->rank * (pair->type == BLK_F16 ? 2 : 4), half = head_dim / 2;
    uint8_t *room = malloc(row * head_dim);
    if (room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for a head", a->path);
    }
    for (uint32_t first = 0; first + head_dim <= pair->n_out; first += head_dim) {
        uint8_t *rows = (uint8_t *)(uintptr_t)pair->b + first * row; /* the adapter's own copy */
        memcpy(room, rows, row * head_dim);
        for (size_t i = 0; i < half; i++) {
            memcpy(rows + i * row, room + 2 * i * row, row);
            memcpy(rows + (half + i) * row, room + (2 * i + 1) * row, row);
        }
    }
    free(room);
    return QN_OK;
}

static qn_status settle_rows(const adapter *a, const lora_pair *pair, const model *m, error_context *err) {
    const bool is_turned = pair->role == LORA_ATTN_Q || pair->role == LORA_ATTN_K;
    if (a->form != ADAPTER_GGUF || !m->is_raw || m->arch->pairing != QN_ROPE_ADJACENT || !is_turned) {
        return QN_OK;
    }
    return split_heads(a, pair, m->hparams.head_dim, err);
}

/* A change of the rows [first, first + n_out) of a pair. */
static model_delta make_part(const lora_pair *pair, lora_role role, uint64_t first, uint64_t n_out, float strength) {
    const uint64_t row = (uint64_t)pair->rank * (pair->type == BLK_F16 ? 2 : 4);
    return (model_delta){.role = role,
                         .layer = pair->layer,
                         .rank = pair->rank,
                         .scale = pair->alpha / (float)pair->rank * strength,
                         .n_in = pair->n_in,
                         .n_out = n_out,
                         .type = pair->type,
                         .a = pair->a,
                         .b = (const uint8_t *)pair->b + first * row};
}

/* Appends what a pair changes; there is room for MOST_PARTS. */
static void add_parts(const lora_pair *pair, const model *m, float strength, adapter_fitting *f) {
    const uint64_t q = delta_q_rows(&m->hparams), k = delta_k_rows(&m->hparams), v = delta_v_rows(&m->hparams);
    const uint64_t n_ff = m->hparams.n_ff;
    model_delta *out = f->deltas + f->n_deltas;
    switch (pair->role) {
    case LORA_ATTN_QKV:
        out[0] = make_part(pair, LORA_ATTN_Q, 0, q, strength);
        out[1] = make_part(pair, LORA_ATTN_K, q, k, strength);
        out[2] = make_part(pair, LORA_ATTN_V, q + k, v, strength);
        f->n_deltas += 3;
        break;
    case LORA_FFN_GATE_UP:
        out[0] = make_part(pair, LORA_FFN_GATE, 0, n_ff, strength);
        out[1] = make_part(pair, LORA_FFN_UP, n_ff, n_ff, strength);
        f->n_deltas += 2;
        break;
    default:
        out[0] = make_part(pair, pair->role, 0, pair->n_out, strength);
        f->n_deltas++;
    }
}

qn_status adapter_fit(adapter *a, const model *m, const uint8_t *base, float strength, adapter_fitting *out_fitting,
                      error_context *err) {
    memset(out_fitting, 0, sizeof *out_fitting);
    QN_TRY(check_names(a, m, base, err), err, "fitting the adapter");
    for (uint32_t i = 0; i < a->n_pairs; i++) {
        if (!isfinite(a->pairs[i].alpha / (float)a->pairs[i].rank * strength)) {
            return FAIL(err, QN_BAD_FILE, "%s: alpha %g times the scale %g is no finite number", a->path,
                        (double)a->pairs[i].alpha, (double)strength);
        }
        settle_role(&a->pairs[i], m);
        QN_TRY(check_shape(a, &a->pairs[i], m, err), err, "fitting the adapter");
    }
    for (uint32_t i = 0; i < a->n_pairs; i++) {
        QN_TRY(settle_rows(a, &a->pairs[i], m, err), err, "fitting the adapter");
    }
    out_fitting->deltas = calloc((size_t)a->n_pairs * MOST_PARTS + 1, sizeof *out_fitting->deltas);
    if (out_fitting->deltas == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for its changes", a->path);
    }
    for (uint32_t i = 0; i < a->n_pairs; i++) {
        add_parts(&a->pairs[i], m, strength, out_fitting);
    }
    return QN_OK;
}

void adapter_fitting_free(adapter_fitting *f) {
    free(f->deltas);
    memset(f, 0, sizeof *f);
}
