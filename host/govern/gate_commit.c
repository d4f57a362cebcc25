/* gate_commit.c — statements into the log: at once, or when their signers agree; never half of them, and never of an answer that is not
 * whole. */
#include <inttypes.h>
#include <string.h>

#include "govern/agreement.h"
#include "govern/gate.h"
#include "govern/governed_log.h"
#include "govern/identity.h"

static fmt_str str(const char *text) {
    return (fmt_str){text, strlen(text)};
}

/* ---------------------------------------------------------------- the unit */

/* The text whose hash is the word: that of the term, or of a bare volume what stands inside < > or " ". A number has none. */
static fmt_str find_hashed(const char *text, uint64_t word) {
    const fmt_str whole = str(text), inner = whole.size > 2 ? (fmt_str){text + 1, whole.size - 2} : whole;
    const bool is_whole = q42_hash(whole.data, whole.size) == word, is_inner = q42_hash(inner.data, inner.size) == word;
    return is_whole ? whole : is_inner ? inner : (fmt_str){NULL, 0};
}

static qn_status add_claim(request *r, const request_claim *claim, error_context *err) {
    const char *principal = r->principal != NULL ? r->principal : IDENTITY_NOBODY;
    const uint64_t words[4] = {claim->quin.subject, claim->quin.predicate, claim->quin.object, claim->quin.context};
    for (size_t i = 0; i < 4; i++) {
        const fmt_str hashed = claim->texts[i] != NULL ? find_hashed(claim->texts[i], words[i]) : (fmt_str){NULL, 0};
        if (hashed.size > 0) {
            QN_TRY(wal_add_term(r->log, hashed, err), err, "adding a statement");
        }
    }
    QN_TRY(wal_add_quin(r->log, &claim->quin, err), err, "adding a statement");
    return wal_add_attribution(r->log, &claim->quin, str(r->agent), str(principal), err);
}

static qn_status add_identity(request *r, error_context *err) {
    static const char *const words[] = {IDENTITY_CONTEXT, IDENTITY_TYPE, IDENTITY_AGENT_CLASS, IDENTITY_FOR_WHOM};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        QN_TRY(wal_add_term(r->log, str(words[i]), err), err, "saying who acts");
    }
    if (r->principal == NULL) {
        QN_TRY(wal_add_term(r->log, str(IDENTITY_NOBODY), err), err, "saying who acts");
    }
    QN_TRY(wal_add_quin(r->log, &r->identity[0], err), err, "saying who acts");
    return wal_add_quin(r->log, &r->identity[1], err);
}

static qn_status fill_unit(request *r, governed_outcome outcome, gate_code code, error_context *err) {
    wal_begin(r->log);
    for (uint32_t i = 0; i < r->n_claims; i++) {
        QN_TRY(add_claim(r, &r->claims[i], err), err, "committing");
    }
    bool is_recorded;
    QN_TRY(add_identity(r, err), err, "committing");
    QN_TRY(governed_log_add_record(r, &is_recorded, err), err, "committing");
    return governed_log_add_audit(r, outcome, code, err);
}

/* ---------------------------------------------------------------- one of two ways */

static qn_status commit(request *r, gate_result *out, error_context *err) {
    gate_say(out, VERDICT_PASS, CODE_NONE, "%u statements committed, %s", r->n_claims, r->rules->is.commit.is_unsigned ? "unsigned" : "signed");
    QN_TRY(fill_unit(r, OUTCOME_COMMITTED, CODE_NONE, err), err, "committing");
    QN_TRY(governed_log_commit(r, &r->receipt, err), err, "committing");
    r->has_receipt = r->is_logged = true;
    return QN_OK;
}

static qn_status suspend(request *r, const wal_proposal *proposal, gate_result *out, error_context *err) {
    gate_say(out, VERDICT_SUSPEND, CODE_SIGNERS, "agreement %016" PRIx64 " waits for %u of %u signers", proposal->agreement, proposal->threshold,
             proposal->n_signers);
    QN_TRY(fill_unit(r, OUTCOME_SUSPENDED, CODE_SIGNERS, err), err, "suspending");
    QN_TRY(wal_suspend(r->log, proposal, &r->receipt, err), err, "suspending");
    r->agreement = proposal->agreement;
    r->has_receipt = r->is_logged = true;
    return QN_OK;
}

/* ---------------------------------------------------------------- whether */

/* A statement lies in the default graph or in one that was granted. */
static bool is_granted(const request *r, uint64_t context) {
    bool is_found = context == Q42_DEFAULT_GRAPH;
    for (uint32_t i = 0; i < r->n_scopes; i++) {
        const policy_scope *scope = r->scopes[i].is;
        is_found = is_found || (scope != NULL && (context == scope->head.id || context == scope->head.term));
    }
    return is_found;
}

static bool refuse_contexts(const request *r, gate_result *out) {
    for (uint32_t i = 0; i < r->n_claims; i++) {
        if (!is_granted(r, r->claims[i].quin.context)) {
            gate_say(out, VERDICT_BLOCK, CODE_SCOPE_CONTEXT, "statement %u lies in graph %016" PRIx64 ", which was not granted", i + 1,
                     r->claims[i].quin.context);
            return true;
        }
    }
    return false;
}

static void tell_dry(const request *r, gate_result *out) {
    gate_say(out, VERDICT_SKIPPED, CODE_NONE, "statements would go to %s, %s", r->rules->is.commit.log,
             r->rules->is.commit.is_unsigned ? "unsigned" : "signed with the policy's key");
}

void gate_commit(request *r, gate_result *out) {
    error_context err = {0};
    wal_proposal proposal;
    bool suspends = false;
    if (r->is_dry) {
        tell_dry(r, out);
    } else if (r->n_claims == 0) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "there is no statement to commit");
    } else if (gate_wants_review(r)) {
        gate_say(out, VERDICT_SKIPPED, CODE_NONE, "somebody has to look first: %u statements are in the log's list", r->n_claims);
    } else if (!refuse_contexts(r, out)) {
        qn_status status = agreement_find(r, &suspends, &proposal, &err);
        status = status < 0 ? status : governed_log_open(r, &err);
        status = status < 0 ? status : suspends ? suspend(r, &proposal, out, &err) : commit(r, out, &err);
        if (status < 0) {
            gate_say_error(out, CODE_COMMIT, &err);
        }
    }
}
