/* wal_agree.c — transactions that wait for their signers. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "wal/wal_internal.h"

/* ---------------------------------------------------------------- suspending */

static int compare_ids(const void *a, const void *b) {
    const uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;
    return one < other ? -1 : one > other;
}

static qn_status check_proposal(const wal *log, const wal_proposal *p, uint64_t now, error_context *err) {
    const wal_agreement *before = wal_state_find(&log->state, p->agreement);
    if (p->agreement == 0) {
        return FAIL(err, QN_BAD_INPUT, "an agreement has an id that is not 0");
    }
    if (before != NULL && before->standing == WAL_PENDING) {
        return FAIL(err, QN_BAD_INPUT, "agreement %016" PRIx64 " is pending already", p->agreement);
    }
    if (p->n_signers < 1 || p->n_signers > QWAL_MAX_SIGNERS || p->threshold < 1 || p->threshold > p->n_signers) {
        return FAIL(err, QN_BAD_INPUT, "an agreement has 1 to %u signers and a threshold of 1 to as many, not %u of %u", QWAL_MAX_SIGNERS,
                    p->threshold, p->n_signers);
    }
    if (p->expires_ms <= now) {
        return FAIL(err, QN_BAD_INPUT, "agreement %016" PRIx64 " expires before it begins", p->agreement);
    }
    return QN_OK;
}

static qn_status sort_signers(const wal_proposal *p, qwal_suspend *suspend, error_context *err) {
    memcpy(suspend->signers, p->signers, sizeof suspend->signers);
    qsort(suspend->signers, p->n_signers, sizeof suspend->signers[0], compare_ids);
    for (uint32_t i = 1; i < p->n_signers; i++) {
        if (suspend->signers[i] == suspend->signers[i - 1]) {
            return FAIL(err, QN_BAD_INPUT, "signer %016" PRIx64 " is named twice", suspend->signers[i]);
        }
    }
    return QN_OK;
}

/* The digest covers the record that holds it: once with zeros to know it, then again with it. */
static qn_status put_suspend(wal *log, qwal_suspend *suspend, uint8_t *payload, error_context *err) {
    const size_t unit = log->unit.size, last = log->last_record;
    const uint32_t n_records = log->n_records;
    uint64_t size = qwal_encode_suspend(suspend, payload, QWAL_MAX_PAYLOAD);
    if (size == 0) {
        return FAIL(err, QN_BAD_INPUT, "agreement %016" PRIx64 " cannot be written", suspend->agreement);
    }
    QN_TRY(wal_put_record(log, QWAL_SUSPEND, payload, size, err), err, "suspending");
    QN_TRY(wal_digest_unit(log, suspend->digest, err), err, "suspending");
    log->unit.size = unit;
    log->last_record = last;
    log->n_records = n_records;
    size = qwal_encode_suspend(suspend, payload, QWAL_MAX_PAYLOAD);
    return wal_put_record(log, QWAL_SUSPEND, payload, size, err);
}

static qn_status suspend_unit(wal *log, const wal_proposal *p, wal_receipt *receipt, error_context *err) {
    const uint64_t now = wal_now(log), n_quins = log->quins.size / Q42_QUIN_BYTES;
    qwal_suspend suspend = {.agreement = p->agreement, .proposer = p->proposer, .created_ms = now, .expires_ms = p->expires_ms,
                            .threshold = p->threshold, .n_signers = p->n_signers, .n_quins = (uint32_t)n_quins,
                            .quins = (const uint8_t *)log->quins.text};
    QN_TRY(check_proposal(log, p, now, err), err, "suspending");
    QN_TRY(sort_signers(p, &suspend, err), err, "suspending");
    if (n_quins == 0 || n_quins > QWAL_MAX_QUINS) {
        return FAIL(err, QN_BAD_INPUT, "1 to %u quins can be suspended, not %" PRIu64, QWAL_MAX_QUINS, n_quins);
    }
    uint8_t *payload = malloc(QWAL_MAX_PAYLOAD);
    if (payload == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for the transaction");
    }
    const qn_status status = put_suspend(log, &suspend, payload, err);
    free(payload);
    memcpy(receipt->digest, suspend.digest, sizeof receipt->digest);
    return status < 0 ? status : wal_write_unit(log, receipt, err);
}

qn_status wal_suspend(wal *log, const wal_proposal *proposal, wal_receipt *out_receipt, error_context *err) {
    wal_receipt receipt = {0};
    const qn_status status = suspend_unit(log, proposal, &receipt, err);
    if (status >= 0 && out_receipt != NULL) {
        *out_receipt = receipt;
    }
    wal_begin(log);
    return status;
}

/* ---------------------------------------------------------------- ending */

static qn_status end_agreement(wal *log, const wal_agreement *one, qwal_reason reason, error_context *err) {
    uint8_t payload[64];
    const qwal_abort abort = {one->terms.agreement, wal_now(log), reason};
    wal_begin_as(log, one->transaction);
    QN_TRY(wal_put_record(log, QWAL_ABORT, payload, qwal_encode_abort(&abort, payload, sizeof payload), err), err, "ending an agreement");
    return wal_write_unit(log, NULL, err);
}

qn_status wal_expire(wal *log, uint32_t *out_expired, error_context *err) {
    const uint64_t now = wal_now(log);
    *out_expired = 0;
    for (size_t i = 0; log->state.n_pending > 0 && i < log->state.n_agreements; i++) {
        const wal_agreement *one = &log->state.agreements[i];
        const uint64_t agreement = one->terms.agreement; /* writing may move the table */
        if (one->standing == WAL_PENDING && now >= one->terms.expires_ms) {
            QN_TRY(end_agreement(log, one, QWAL_EXPIRED, err), err, "agreement %016" PRIx64 " has expired", agreement);
            ++*out_expired;
        }
    }
    return QN_OK;
}

static qn_status find_pending(wal *log, uint64_t agreement, const wal_agreement **out, error_context *err) {
    const wal_agreement *one = wal_state_find(&log->state, agreement);
    if (one == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: knows no agreement %016" PRIx64 "; quoin wal show lists them", log->directory, agreement);
    }
    if (one->standing != WAL_PENDING) {
        return FAIL(err, QN_BAD_INPUT, "agreement %016" PRIx64 " is %s already", agreement, wal_standing_name(one->standing));
    }
    *out = one;
    return QN_OK;
}

qn_status wal_withdraw(wal *log, uint64_t agreement, error_context *err) {
    const wal_agreement *one = NULL;
    QN_TRY(find_pending(log, agreement, &one, err), err, "withdrawing");
    return end_agreement(log, one, QWAL_WITHDRAWN, err);
}

/* ---------------------------------------------------------------- consent */

/* Whether this consent holds with these keys; the sentence says why not. */
static qn_status check_consent(const wal_agreement *one, const qwal_consent *consent, const trusted_keys *keys,
                               const trusted_key **out_key, error_context *err) {
    const trusted_key *key = trusted_keys_find(keys, consent->key_id);
    const revocation *gone = revocations_find(&keys->revoked, consent->key_id);
    char text[KEY_TEXT_SIZE];
    if (key == NULL) {
        return FAIL(err, QN_DENIED, "the key of this consent is not among the trusted ones");
    }
    if (gone != NULL) {
        return FAIL(err, QN_DENIED, "%s of %s is revoked: %s", public_key_text(&key->key, text), key->name, gone->text);
    }
    if (consent->signer != 0 && key->signer != consent->signer) {
        return FAIL(err, QN_DENIED, "%s belongs to %s, not to this signer", public_key_text(&key->key, text), key->name);
    }
    if (!public_key_verify(&key->key, one->terms.digest, sizeof one->terms.digest, consent->signature)) {
        return FAIL(err, QN_DENIED, "the signature of %s is not of agreement %016" PRIx64, key->name, one->terms.agreement);
    }
    *out_key = key;
    return QN_OK;
}

static bool names_signer(const qwal_suspend *terms, uint64_t signer) {
    for (uint32_t i = 0; i < terms->n_signers; i++) {
        if (terms->signers[i] == signer) {
            return true;
        }
    }
    return false;
}

static qn_status check_new_consent(const wal_agreement *one, const qwal_consent *consent, const trusted_key *key, error_context *err) {
    if (!names_signer(&one->terms, consent->signer)) {
        return FAIL(err, QN_DENIED, "%s is no signer of agreement %016" PRIx64, key->name, one->terms.agreement);
    }
    for (uint32_t i = 0; i < one->n_consents; i++) {
        if (one->consents[i].signer == consent->signer) {
            return FAIL(err, QN_BAD_INPUT, "%s has consented to agreement %016" PRIx64 " already", key->name, one->terms.agreement);
        }
    }
    return QN_OK;
}

/* A key that was revoked meanwhile takes its consent with it. */
static uint32_t count_valid(const wal_agreement *one, const trusted_keys *keys) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < one->n_consents; i++) {
        const trusted_key *key;
        n += check_consent(one, &one->consents[i], keys, &key, NULL) >= 0;
    }
    return n;
}

static qn_status put_consent(wal *log, const qwal_consent *consent, bool is_last, error_context *err) {
    uint8_t payload[128];
    QN_TRY(wal_put_record(log, QWAL_CONSENT, payload, qwal_encode_consent(consent, payload, sizeof payload), err), err, "consenting");
    if (is_last) {
        const qwal_commit commit = {QWAL_BY_CONSENT, log->n_records, consent->time_ms, consent->agreement};
        return wal_put_record(log, QWAL_COMMIT, payload, qwal_encode_commit(&commit, payload, sizeof payload), err);
    }
    return QN_OK;
}

static qn_status add_consent(wal *log, const wal_agreement *one, qwal_consent *consent, const trusted_keys *keys,
                             wal_consent_result *result, error_context *err) {
    const trusted_key *key = NULL;
    QN_TRY(check_consent(one, consent, keys, &key, err), err, "consenting");
    consent->signer = key->signer;
    QN_TRY(check_new_consent(one, consent, key, err), err, "consenting");
    result->n_valid = count_valid(one, keys) + 1;
    result->threshold = one->terms.threshold;
    result->is_committed = result->n_valid >= result->threshold;
    memcpy(result->receipt.digest, one->terms.digest, sizeof result->receipt.digest);
    result->receipt.is_signed = true;
    wal_begin_as(log, one->transaction);
    QN_TRY(put_consent(log, consent, result->is_committed, err), err, "consenting");
    return wal_write_unit(log, &result->receipt, err);
}

qn_status wal_consent(wal *log, uint64_t agreement, const uint8_t key_id[KEY_ID_BYTES], const uint8_t signature[SIGNATURE_BYTES],
                      const trusted_keys *keys, wal_consent_result *out_result, error_context *err) {
    const wal_agreement *one = NULL;
    uint32_t n_expired;
    wal_consent_result result = {0};
    qwal_consent consent = {.agreement = agreement, .time_ms = wal_now(log)};
    memcpy(consent.key_id, key_id, sizeof consent.key_id);
    memcpy(consent.signature, signature, sizeof consent.signature);
    qn_status status = wal_expire(log, &n_expired, err);
    status = status < 0 ? status : find_pending(log, agreement, &one, err);
    if (status >= 0 && consent.time_ms >= one->terms.expires_ms) {
        status = FAIL(err, QN_BAD_INPUT, "agreement %016" PRIx64 " has expired", agreement);
    }
    status = status < 0 ? status : add_consent(log, one, &consent, keys, &result, err);
    if (status >= 0 && out_result != NULL) {
        *out_result = result;
    }
    wal_begin(log);
    return status;
}
