/* review.h — statements that a gate wanted somebody to look at: accepted or dismissed, by somebody whose key counts.
 *
 *     run ─► REVIEW ─► AUDIT record: entries "claim" (its text), "quin" (its 48 bytes), perhaps "signers" ─► accept: the statements are
 *     committed, signed by who accepts, or wait for the signers that the policy wanted; dismiss: only a record says so
 *
 * What was settled is settled: the record's sequence is the code of the entry "review" that says so, and is never settled again.
 *
 * Threading: one thread at a time.
 * Memory:    nothing is kept.
 * Errors:    QN_BAD_INPUT for a record that there is nothing to settle about, with words that say why; QN_BAD_FILE for one whose statements are
 *            not what its ids say.
 */
#ifndef HOST_REVIEW_H
#define HOST_REVIEW_H
#include "govern/gate.h"
#include "keys/signing_key.h"
#include "wal/wal_set.h"

/* Writes the statements of a request that waits for review as entries. Three entries for each claim at the most, and one more. */
#define REVIEW_MAX_ENTRIES (2u * REQUEST_MAX_CLAIMS + 1u)
#define REVIEW_TEXT_SIZE 4096u
typedef struct review_texts {
    char claims[REQUEST_MAX_CLAIMS][REVIEW_TEXT_SIZE];
    char quins[REQUEST_MAX_CLAIMS][2 * Q42_QUIN_BYTES + 1];
    char signers[(QWAL_MAX_SIGNERS + 2) * 24];
} review_texts;
/* Fills entries[REVIEW_MAX_ENTRIES] and returns how many; they point into `texts`. */
uint32_t review_entries(const request *r, review_texts *texts, qwal_audit_entry *entries);

/* True when the record has statements that wait; whether they were settled since is another question. */
bool review_waits(const qwal_audit *audit);
/* True when a later record settles the one with this sequence; *out_accepted (may be null) tells how. */
bool review_is_settled(const wal_set *set, uint64_t sequence, bool *out_accepted);

typedef struct review_result {
    uint32_t n_statements;
    uint64_t agreement; /* 0: nobody else has to sign */
    wal_receipt receipt;
} review_result;

/* `set` is the log as it stands, `log` the same one, open for writing; `who` the DID under which the key counts. */
qn_status review_settle(const wal_set *set, wal *log, uint64_t sequence, bool is_accepted, const signing_key *key, const char *who,
                        review_result *out_result, error_context *err);

#endif
