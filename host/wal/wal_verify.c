/* wal_verify.c — signatures and checkpoints of a log. */
#include "wal/wal_verify.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/file_digest.h"

typedef struct verifying {
    const wal_set *set;
    const wal_state *state;
    const trusted_keys *keys;
    wal_verify_report report;
    error_context *err;
} verifying;

static void tell_wrong(verifying *v, uint64_t sequence) {
    v->report.first_wrong = v->report.first_wrong != 0 ? v->report.first_wrong : sequence;
}

/* `signer` 0: anybody who is trusted. */
static void judge(verifying *v, wal_signatures *count, const uint8_t *key_id, uint64_t signer, const uint8_t *digest,
                  const uint8_t *signature, uint64_t sequence) {
    const trusted_key *key = trusted_keys_find(v->keys, key_id);
    if (key == NULL) {
        count->n_unknown++;
    } else if ((signer != 0 && key->signer != signer) || !public_key_verify(&key->key, digest, Q42_DIGEST_BYTES, signature)) {
        count->n_wrong++;
        tell_wrong(v, sequence);
    } else if (revocations_find(&v->keys->revoked, key_id) != NULL) {
        count->n_revoked++;
    } else {
        count->n_valid++;
    }
}

/* The agreement whose transaction this consent belongs to: ids may come again, transactions do not. */
static const wal_agreement *find_agreement(const verifying *v, uint64_t transaction) {
    for (size_t i = 0; i < v->state->n_agreements; i++) {
        if (v->state->agreements[i].transaction == transaction) {
            return &v->state->agreements[i];
        }
    }
    return NULL;
}

static void judge_consent(verifying *v, const qwal_record *record) {
    qwal_consent consent;
    qwal_read_consent(record->payload, &consent);
    const wal_agreement *one = find_agreement(v, record->transaction);
    if (one != NULL) {
        judge(v, &v->report.consents, consent.key_id, consent.signer, one->terms.digest, consent.signature, record->sequence);
    }
}

static qn_status judge_checkpoint(verifying *v, const qwal_record *record) {
    qwal_checkpoint checkpoint;
    uint8_t digest[Q42_DIGEST_BYTES];
    qwal_read_checkpoint(record->payload, &checkpoint);
    char *path = wal_path_of_checkpoint(v->set->directory, checkpoint.last_sequence);
    if (path == NULL) {
        return FAIL(v->err, QN_NO_HOST_MEM, "out of memory");
    }
    qn_status status = QN_OK;
    v->report.n_checkpoints++;
    if (access(path, F_OK) == 0) {
        status = file_digest(path, NULL, NULL, digest, v->err);
        v->report.n_volumes++;
        if (status >= 0 && memcmp(digest, checkpoint.digest, sizeof digest) != 0) {
            v->report.n_wrong_volumes++;
            tell_wrong(v, record->sequence);
        }
    }
    free(path);
    return status;
}

qn_status wal_verify(const wal_set *set, const wal_state *state, const trusted_keys *keys, wal_verify_report *out_report,
                     error_context *err) {
    verifying v = {.set = set, .state = state, .keys = keys, .err = err};
    wal_set_walk walk = {0};
    qwal_record record;
    qwal_signature signature;
    qn_status status = QN_OK;
    while (status >= 0 && wal_set_next(set, &walk, &record)) {
        if (record.type == QWAL_SIGNATURE && qwal_read_signature(record.payload, &signature)) {
            judge(&v, &v.report.transactions, signature.key_id, 0, signature.digest, signature.signature, record.sequence);
        } else if (record.type == QWAL_CONSENT) {
            judge_consent(&v, &record);
        } else if (record.type == QWAL_CHECKPOINT) {
            status = judge_checkpoint(&v, &record);
        }
    }
    if (status >= 0) {
        *out_report = v.report;
    }
    return status;
}
