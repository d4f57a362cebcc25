/* consent.c — consents against a request. */
#include "govern/consent.h"

#include <inttypes.h>
#include <string.h>

#include "prove/prove_consent.h"
#include "prove/prove_signature.h"

static bool is_same(const char *a, const char *b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* A key counts when it is trusted under the name of who grants, and not revoked. */
static qn_status judge_key(const prove_consent *c, const trusted_keys *keys, error_context *err) {
    const trusted_key *key = c->is_keyed ? trusted_keys_find(keys, c->key.id) : NULL;
    if (!c->is_signed) {
        return FAIL(err, QN_DENIED, "the consent of %s is unsigned", c->granted_by);
    }
    if (!prove_verify_digest(&c->key, c->digest, c->signature)) {
        return FAIL(err, QN_DENIED, "the signature of the consent of %s is wrong", c->granted_by);
    }
    if (key == NULL || revocations_find(&keys->revoked, c->key.id) != NULL || !is_same(key->name, c->granted_by)) {
        return FAIL(err, QN_DENIED, "the consent of %s is signed with a key that [provenance] trusted_keys does not have under that name",
                    c->granted_by);
    }
    return QN_OK;
}

static qn_status judge(const request *r, const prove_consent *c, const trusted_keys *keys, error_context *err) {
    if (!is_same(c->granted_to, r->agent) && !is_same(c->granted_to, r->principal)) {
        return FAIL(err, QN_DENIED, "the consent of %s is for %s", c->granted_by, c->granted_to);
    }
    if (r->now_ms < c->valid_from || r->now_ms >= c->valid_until) {
        return FAIL(err, QN_DENIED, "the consent of %s holds from %" PRIu64 " to %" PRIu64 " ms, and now is %" PRIu64, c->granted_by,
                    c->valid_from, c->valid_until, r->now_ms);
    }
    return judge_key(c, keys, err);
}

static qn_status judge_scope(const prove_consent *c, const char *scope, error_context *err) {
    for (uint32_t i = 0; i < c->n_scopes; i++) {
        if (strcmp(c->scopes[i], scope) == 0) {
            return QN_OK;
        }
    }
    return FAIL(err, QN_DENIED, "the consent of %s is not for this scope", c->granted_by);
}

qn_status consent_judge_file(const request *r, const char *path, const char *scope, const trusted_keys *keys, error_context *err) {
    prove_consent c;
    QN_TRY(prove_consent_read(path, &c, err), err, "reading a consent");
    qn_status status = judge_scope(&c, scope, err);
    status = status < 0 ? status : judge(r, &c, keys, err);
    prove_consent_free(&c);
    return status;
}

qn_status consent_judge_model(const request *r, const prove_reading *reading, const trusted_keys *keys, error_context *err) {
    uint64_t at = 0, subject;
    qn_status status = FAIL(err, QN_DENIED, "the model's provenance has no consent");
    while (status < 0 && prove_next_of_type(reading, "q42m:Consent", &at, &subject)) {
        prove_consent c;
        error_clear(err);
        status = prove_consent_load(reading, subject, &c, err);
        if (status >= 0) {
            status = judge(r, &c, keys, err);
            prove_consent_free(&c);
        }
    }
    return status;
}
