/* review.c — statements into a record of gates, and out of it again when somebody has looked. */
#include "govern/review.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/ntriples.h>

#include "base/decimal.h"
#include "govern/agreement.h"
#include "govern/governed_log.h"

static bool is_named(const qwal_audit_entry *entry, const char *gate) {
    return entry->gate.size == strlen(gate) && memcmp(entry->gate.data, gate, entry->gate.size) == 0;
}

/* ---------------------------------------------------------------- writing */

static void print_quin(const q42_quin *quin, char out[2 * Q42_QUIN_BYTES + 1]) {
    uint8_t bytes[Q42_QUIN_BYTES];
    q42_quin_store(bytes, quin);
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* Threshold, time to sign in ms, and the signers: somebody who accepts does not sign for them. False when nobody has to. */
static bool print_signers(const request *r, char *out, size_t size) {
    const uint64_t now = request_now(r);
    wal_proposal p;
    bool has_signers = false;
    if (agreement_find(r, &has_signers, &p, NULL) < 0 || !has_signers) {
        return has_signers;
    }
    int at = snprintf(out, size, "%u %" PRIu64, p.threshold, p.expires_ms - now);
    for (uint32_t i = 0; i < p.n_signers; i++) {
        at += snprintf(out + at, size - (size_t)at, " %016" PRIx64, p.signers[i]);
    }
    return true;
}

static qwal_audit_entry make_entry(const char *gate, uint64_t code, const char *detail) {
    return (qwal_audit_entry){VERDICT_REVIEW, {gate, strlen(gate)}, {detail, strlen(detail)}, code};
}

uint32_t review_entries(const request *r, review_texts *texts, qwal_audit_entry *entries) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->n_claims; i++) {
        const uint64_t id = request_fact_id(&r->claims[i].quin);
        print_quin(&r->claims[i].quin, texts->quins[i]);
        request_claim_text(&r->claims[i], texts->claims[i], sizeof texts->claims[i]);
        entries[n++] = make_entry("claim", id, texts->claims[i]);
        entries[n++] = make_entry("quin", id, texts->quins[i]);
    }
    if (n > 0 && print_signers(r, texts->signers, sizeof texts->signers)) {
        entries[n++] = make_entry("signers", CODE_SIGNERS, texts->signers);
    }
    return n;
}

/* ---------------------------------------------------------------- finding */

bool review_waits(const qwal_audit *audit) {
    qwal_audit_entry entry;
    uint64_t at = 0;
    while (qwal_next_entry(audit, &at, &entry)) {
        if (is_named(&entry, "claim") && entry.verdict == VERDICT_REVIEW) {
            return true;
        }
    }
    return false;
}

/* The verdict of a record about another: pass or block. */
static bool settles(const qwal_audit *audit, uint64_t sequence, bool *out_accepted) {
    qwal_audit_entry entry;
    uint64_t at = 0;
    while (qwal_next_entry(audit, &at, &entry)) {
        if (is_named(&entry, "review") && entry.code == sequence) {
            *out_accepted = entry.verdict == VERDICT_PASS;
            return true;
        }
    }
    return false;
}

bool review_is_settled(const wal_set *set, uint64_t sequence, bool *out_accepted) {
    wal_set_walk walk = {0};
    qwal_record record;
    qwal_audit audit;
    bool spare;
    while (wal_set_next(set, &walk, &record)) {
        if (record.type == QWAL_AUDIT && record.sequence > sequence && qwal_read_audit(record.payload, &audit) &&
            settles(&audit, sequence, out_accepted != NULL ? out_accepted : &spare)) {
            return true;
        }
    }
    return false;
}

static qn_status find(const wal_set *set, uint64_t sequence, qwal_audit *out, error_context *err) {
    wal_set_walk walk = {0};
    qwal_record record;
    bool was_accepted;
    while (wal_set_next(set, &walk, &record)) {
        if (record.type == QWAL_AUDIT && record.sequence == sequence && qwal_read_audit(record.payload, out) && review_waits(out)) {
            return review_is_settled(set, sequence, &was_accepted)
                       ? FAIL(err, QN_BAD_INPUT, "%s: record %" PRIu64 " was %s already", set->directory, sequence,
                              was_accepted ? "accepted" : "dismissed")
                       : QN_OK;
        }
    }
    return FAIL(err, QN_BAD_INPUT, "%s: record %" PRIu64 " has no statement that waits; quoin wal show --review lists those that do",
                set->directory, sequence);
}

/* ---------------------------------------------------------------- accepting */

typedef struct settling {
    wal *log;
    const qwal_audit *audit;
    uint64_t sequence;
    const char *who;
    char agent[GATE_DETAIL_SIZE]; /* who made the statements */
    wal_proposal proposal;
    bool has_signers;
    uint32_t n_statements;
} settling;

/* The agent out of "…, agent DID, principal DID, …". */
static void take_agent(settling *s, fmt_str detail) {
    static const char mark[] = ", agent ";
    for (uint64_t i = 0; i + sizeof mark <= detail.size; i++) {
        if (memcmp(detail.data + i, mark, sizeof mark - 1) == 0) {
            const char *from = detail.data + i + sizeof mark - 1, *end = memchr(from, ',', (size_t)(detail.data + detail.size - from));
            snprintf(s->agent, sizeof s->agent, "%.*s", (int)((end != NULL ? end : detail.data + detail.size) - from), from);
            return;
        }
    }
}

/* " HEX16", from where *at stands. */
static bool take_signer(const char **at, uint64_t *out) {
    uint8_t bytes[sizeof *out];
    char hex[2 * sizeof bytes + 1];
    if (**at != ' ' || strlen(*at) < sizeof hex) {
        return false;
    }
    memcpy(hex, *at + 1, sizeof hex - 1);
    hex[sizeof hex - 1] = 0;
    *out = 0;
    const bool is_hex = key_parse_hex(hex, sizeof bytes, bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        *out = *out << 8 | bytes[i];
    }
    *at += sizeof hex;
    return is_hex;
}

/* As print_signers has it. */
static bool take_signers(settling *s, fmt_str detail) {
    char text[(QWAL_MAX_SIGNERS + 2) * 24];
    const char *at = text;
    uint64_t threshold = 0, time = 0;
    wal_proposal *p = &s->proposal;
    snprintf(text, sizeof text, "%.*s", (int)detail.size, detail.data);
    bool is_right = decimal_read(&at, QWAL_MAX_SIGNERS, &threshold) && *at++ == ' ' && decimal_read(&at, UINT64_MAX >> 1, &time);
    while (is_right && *at != 0 && p->n_signers < QWAL_MAX_SIGNERS) {
        is_right = take_signer(&at, &p->signers[p->n_signers++]);
    }
    p->threshold = (uint8_t)threshold;
    p->expires_ms = wal_now(s->log) + time;
    s->has_signers = true;
    return is_right && *at == 0 && threshold > 0 && threshold <= p->n_signers;
}

static bool read_quin(const qwal_audit_entry *entry, q42_quin *out) {
    char hex[2 * Q42_QUIN_BYTES + 1];
    uint8_t bytes[Q42_QUIN_BYTES];
    if (entry->detail.size != sizeof hex - 1) {
        return false;
    }
    memcpy(hex, entry->detail.data, sizeof hex - 1);
    hex[sizeof hex - 1] = 0;
    if (!key_parse_hex(hex, sizeof bytes, bytes)) {
        return false;
    }
    *out = q42_quin_load(bytes);
    return q42_quin_parity(out) == out->parity && request_fact_id(out) == entry->code;
}

/* Terms of the text whose hashes the statement has; what has no words there had none in the run either. */
static qn_status add_terms(const settling *s, const q42_quin *quin, fmt_str text, char *room, error_context *err) {
    const uint64_t words[4] = {quin->subject, quin->predicate, quin->object, quin->context};
    ntriples_term term;
    fmt_diag diag;
    uint64_t used;
    for (size_t i = 0; i < 4 && text.size > 0 && *text.data != '.'; i++) {
        if (ntriples_read_term(text, room, &term, &used, &diag) != FMT_OK) {
            return FAIL(err, QN_BAD_INPUT, "record %" PRIu64 ": the text of a statement is cut; make the statement again", s->sequence);
        }
        QN_TRY(governed_log_add_term(s->log, (fmt_str){term.text, term.size}, words[i], err), err, "accepting");
        used += used < text.size && text.data[used] == ' ';
        text = (fmt_str){text.data + used, text.size - used};
    }
    return QN_OK;
}

static qn_status add_statement(settling *s, const qwal_audit_entry *claim, const qwal_audit_entry *entry, char *room, error_context *err) {
    q42_quin quin;
    if (claim->code != entry->code || !read_quin(entry, &quin)) {
        return FAIL(err, QN_BAD_FILE, "record %" PRIu64 ": a statement is not what its id says", s->sequence);
    }
    QN_TRY(add_terms(s, &quin, claim->detail, room, err), err, "accepting");
    QN_TRY(wal_add_quin(s->log, &quin, err), err, "accepting");
    s->n_statements++;
    return wal_add_attribution(s->log, &quin, (fmt_str){s->agent, strlen(s->agent)}, (fmt_str){s->who, strlen(s->who)}, err);
}

static qn_status add_statements(settling *s, char *room, error_context *err) {
    qwal_audit_entry entry, claim = {0};
    uint64_t at = 0;
    while (qwal_next_entry(s->audit, &at, &entry)) {
        if (is_named(&entry, "request")) {
            take_agent(s, entry.detail);
        } else if (is_named(&entry, "claim")) {
            claim = entry;
        } else if (is_named(&entry, "quin")) {
            QN_TRY(add_statement(s, &claim, &entry, room, err), err, "accepting");
        } else if (is_named(&entry, "signers") && !take_signers(s, entry.detail)) {
            return FAIL(err, QN_BAD_FILE, "record %" PRIu64 ": its signers cannot be read", s->sequence);
        }
    }
    return s->n_statements > 0 ? QN_OK : FAIL(err, QN_BAD_INPUT, "record %" PRIu64 " has no words of its statements", s->sequence);
}

/* Who settled it, and how. */
static qn_status add_record(settling *s, bool is_accepted, error_context *err) {
    char detail[GATE_DETAIL_SIZE];
    snprintf(detail, sizeof detail, "%s by %s", is_accepted ? "accepted" : "dismissed", s->who);
    const qwal_audit_entry entry = {is_accepted ? VERDICT_PASS : VERDICT_BLOCK, {"review", 6}, {detail, strlen(detail)}, s->sequence};
    qwal_audit audit = {.policy_version = s->audit->policy_version, .n_entries = 1};
    memcpy(audit.policy, s->audit->policy, sizeof audit.policy);
    return wal_add_audit(s->log, &audit, &entry, err);
}

static qn_status accept(settling *s, const signing_key *key, review_result *out, error_context *err) {
    char *room = malloc(NTRIPLES_SCRATCH_SIZE);
    qn_status status = room != NULL ? add_statements(s, room, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory for statements");
    free(room);
    QN_TRY(status, err, "accepting");
    QN_TRY(add_record(s, true, err), err, "accepting");
    out->n_statements = s->n_statements;
    if (!s->has_signers) {
        return wal_commit(s->log, key, &out->receipt, err);
    }
    s->proposal.proposer = q42_hash(s->who, strlen(s->who));
    s->proposal.agreement = ((wal_now(s->log) << 20) ^ s->sequence) & ((UINT64_C(1) << 60) - 1);
    out->agreement = s->proposal.agreement;
    return wal_suspend(s->log, &s->proposal, &out->receipt, err);
}

qn_status review_settle(const wal_set *set, wal *log, uint64_t sequence, bool is_accepted, const signing_key *key, const char *who,
                        review_result *out_result, error_context *err) {
    qwal_audit audit;
    settling s = {.log = log, .audit = &audit, .sequence = sequence, .who = who, .agent = "-"};
    *out_result = (review_result){0};
    QN_TRY(find(set, sequence, &audit, err), err, "settling");
    wal_begin(log);
    if (is_accepted) {
        return accept(&s, key, out_result, err);
    }
    QN_TRY(add_record(&s, false, err), err, "dismissing");
    return wal_end_audit(log, &out_result->receipt, err);
}
