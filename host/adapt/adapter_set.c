/* adapter_set.c — one adapter after another, and the list of all changes. */
#include "adapt/adapter_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endian.h"
#include "common/sha.h"

typedef struct making {
    const model *m;
    bool is_strict, has_digest;
    uint8_t digest[LORA_DIGEST_BYTES]; /* of the model, once it is asked for */
    adapter_set *set;
    error_context *err;
} making;

static qn_status append_deltas(making *k, const adapter_fitting *f) {
    adapter_set *set = k->set;
    const size_t n = (size_t)set->n_deltas + f->n_deltas;
    model_delta *grown = realloc(set->deltas, n * sizeof *grown);
    if (grown == NULL) {
        return FAIL(k->err, QN_NO_HOST_MEM, "out of memory for %zu changes of adapters", n);
    }
    memcpy(grown + set->n_deltas, f->deltas, f->n_deltas * sizeof *grown);
    set->deltas = grown;
    set->n_deltas = (uint32_t)n;
    return QN_OK;
}

/* QN_BAD_FILE, with the sentence in k->err, when it does not belong to the model. */
static qn_status fit(making *k, adapter_use *use) {
    adapter_fitting fitting = {0};
    if (use->from.form == ADAPTER_LORA_V2 && !k->has_digest) {
        QN_TRY(adapter_digest_model(k->m, k->digest, k->err), k->err, "reading the model");
        k->has_digest = true;
    }
    if (k->is_strict && use->from.n_ignored > 0) {
        return FAIL(k->err, QN_BAD_FILE, "%s: holds %s, which is no pair and would be left out", use->from.path,
                    use->from.first_ignored);
    }
    QN_TRY(adapter_fit(&use->from, k->m, k->has_digest ? k->digest : NULL, use->strength, &fitting, k->err), k->err,
           "adapter %s", use->from.path);
    const qn_status status = append_deltas(k, &fitting);
    adapter_fitting_free(&fitting);
    return status;
}

static qn_status add(making *k, const adapter_request *request) {
    adapter_use *use = &k->set->uses[k->set->n_uses];
    QN_TRY(adapter_open(request->path, &use->from, k->err), k->err, "adapter %s", request->path);
    k->set->n_uses++;
    use->strength = request->strength;
    const qn_status status = fit(k, use);
    use->is_applied = status == QN_OK;
    k->set->bytes += use->is_applied ? use->from.bytes : 0;
    if (status == QN_BAD_FILE && !k->is_strict) {
        snprintf(use->reason, sizeof use->reason, "%s", error_text(k->err));
        error_clear(k->err);
        return QN_OK;
    }
    return status;
}

qn_status adapter_set_open(const model *m, const adapter_request *requests, uint32_t n_requests, bool is_strict,
                           adapter_set *out_set, error_context *err) {
    error_context own = {0};
    making k = {.m = m, .is_strict = is_strict, .set = out_set, .err = err != NULL ? err : &own};
    qn_status status = QN_OK;
    memset(out_set, 0, sizeof *out_set);
    out_set->uses = calloc(n_requests + 1u, sizeof *out_set->uses);
    if (out_set->uses == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %u adapters", n_requests);
    }
    for (uint32_t i = 0; i < n_requests && status == QN_OK; i++) {
        status = add(&k, &requests[i]);
    }
    if (status < 0) {
        adapter_set_close(out_set);
    }
    return status;
}

uint64_t adapter_set_scrub(adapter_set *set) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < set->n_uses; i++) {
        bytes += set->uses[i].from.bytes;
        adapter_scrub(&set->uses[i].from);
    }
    return bytes;
}

void adapter_set_close(adapter_set *set) {
    for (uint32_t i = 0; i < set->n_uses; i++) {
        adapter_close(&set->uses[i].from);
    }
    free(set->uses);
    free(set->deltas);
    memset(set, 0, sizeof *set);
}

bool adapter_set_digest(const adapter_set *set, uint8_t out[LORA_DIGEST_BYTES]) {
    sha256_stream stream;
    const adapter_use *first = NULL;
    uint32_t n_applied = 0;
    for (uint32_t i = 0; i < set->n_uses; i++) {
        n_applied += set->uses[i].is_applied;
        first = first == NULL && set->uses[i].is_applied ? &set->uses[i] : first;
    }
    if (first == NULL) {
        return false;
    }
    if (n_applied == 1 && first->strength == 1.0f) {
        memcpy(out, first->from.digest, LORA_DIGEST_BYTES);
        return true;
    }
    if (!sha256_begin(&stream)) {
        return false;
    }
    for (uint32_t i = 0; i < set->n_uses; i++) {
        uint8_t strength[4];
        uint32_t bits;
        memcpy(&bits, &set->uses[i].strength, sizeof bits);
        store_u32(strength, bits);
        if (set->uses[i].is_applied) {
            sha256_add(&stream, set->uses[i].from.digest, LORA_DIGEST_BYTES);
            sha256_add(&stream, strength, sizeof strength);
        }
    }
    return sha256_end(&stream, out);
}
