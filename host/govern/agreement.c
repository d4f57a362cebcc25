/* agreement.c — policies of predicates and scopes, put together. */
#include "govern/agreement.h"

#include <string.h>

#include "common/sha.h"

static qn_status add_signer(wal_proposal *p, uint64_t signer, error_context *err) {
    for (uint32_t i = 0; i < p->n_signers; i++) {
        if (p->signers[i] == signer) {
            return QN_OK;
        }
    }
    if (p->n_signers == QWAL_MAX_SIGNERS) {
        return FAIL(err, QN_LIMIT, "the statements together need more than %u signers", QWAL_MAX_SIGNERS);
    }
    p->signers[p->n_signers++] = signer;
    return QN_OK;
}

static qn_status join(const request *r, const policy_agreement *a, wal_proposal *p, error_context *err) {
    const uint64_t expires = r->now_ms + a->expires;
    if (!a->suspend) {
        return QN_OK;
    }
    for (uint32_t i = 0; i < a->signers.n_items; i++) {
        QN_TRY(add_signer(p, q42_hash(a->signers.items[i], strlen(a->signers.items[i])), err), err, "naming the signers");
    }
    p->threshold = a->threshold > p->threshold ? (uint8_t)a->threshold : p->threshold;
    p->expires_ms = p->expires_ms == 0 || expires < p->expires_ms ? expires : p->expires_ms;
    return QN_OK;
}

static qn_status join_claim(const request *r, const q42_quin *quin, wal_proposal *p, error_context *err) {
    const policy_predicate *predicate = policy_find_predicate(r->rules, quin->predicate);
    if (predicate != NULL) {
        QN_TRY(join(r, &predicate->agreement, p, err), err, "looking for signers");
    }
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const policy_scope *scope = r->scopes[i].is;
        if (scope != NULL && (quin->context == Q42_DEFAULT_GRAPH || quin->context == scope->head.id || quin->context == scope->head.term)) {
            QN_TRY(join(r, &scope->agreement, p, err), err, "looking for signers");
        }
    }
    return QN_OK;
}

/* 60 bits of SHA-256 over time, token and statements: two runs never share one. */
static uint64_t make_id(const request *r) {
    uint8_t bytes[Q42_QUIN_BYTES], digest[SHA256_BYTES] = {0};
    uint64_t id = 0;
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return 0;
    }
    sha256_add(&stream, &r->now_ms, sizeof r->now_ms);
    sha256_add(&stream, &r->token, sizeof r->token);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        q42_quin_store(bytes, &r->claims[i].quin);
        sha256_add(&stream, bytes, sizeof bytes);
    }
    const bool is_done = sha256_end(&stream, digest);
    memcpy(&id, digest, sizeof id);
    return is_done ? (id >> 4) | 1 : 0;
}

qn_status agreement_find(const request *r, bool *out_suspends, wal_proposal *out, error_context *err) {
    wal_proposal p = {.agreement = make_id(r), .proposer = q42_hash(r->agent, strlen(r->agent))};
    for (uint32_t i = 0; i < r->n_claims; i++) {
        QN_TRY(join_claim(r, &r->claims[i].quin, &p, err), err, "looking for signers");
    }
    *out_suspends = p.n_signers > 0;
    *out = p;
    return QN_OK;
}
