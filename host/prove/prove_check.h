/* prove_check.h — six questions about a container and its provenance volume, each answered for itself, offline.
 *
 *     container            the volume is about these very bytes: SHA-256, length, version, flags          level 1
 *     tables               its parts are the ones that the volume names: tables, tokenizer, hparams        level 2
 *     tensors              every tensor is where and what the volume says                                  level 3
 *     source               the source at hand is the named one, and the tensors are its                    level 4
 *     signature + consent  the volume is signed by a key that counts; consents hold now
 *     runtime + kernels    the program is the named one, its kernels are certified for this device
 *
 * A level holds when it and all below it pass; a wrong signature leaves none. A level that no trusted key signed is unauthenticated:
 * whoever changed the container could have written the volume anew.
 *
 * Threading: one thread at a time.
 * Memory:    the report owns nothing.
 * Errors:    what is wrong with the files is in the report; the status tells only what kept the check from being made (no memory, cancel).
 */
#ifndef HOST_PROVE_CHECK_H
#define HOST_PROVE_CHECK_H
#include <quoin/p64.h>

#include "base/progress.h"
#include "keys/trusted_keys.h"
#include "prove/prove_read.h"
#include "prove/prove_runtime.h"
#include "prove/prove_source.h"

typedef uint32_t prove_verdict;
enum { PROVE_NOT_CHECKED = 0, PROVE_PASS = 1, PROVE_FAIL = 2 };
const char *prove_verdict_name(prove_verdict verdict); /* "NOT CHECKED", "PASS", "FAIL" */

typedef uint32_t prove_question;
enum { PROVE_Q_CONTAINER = 0, PROVE_Q_TABLES, PROVE_Q_TENSORS, PROVE_Q_SOURCE, PROVE_Q_SIGNATURE, PROVE_Q_RUNTIME, PROVE_N_QUESTIONS };
const char *prove_question_name(prove_question question); /* "container", ..., "signature + consent", "runtime + kernels" */

#define PROVE_TEXT_SIZE 400u

typedef struct prove_answer {
    prove_verdict verdict;
    const char *code;            /* static: "DIGEST_MISMATCH", ...; "" with PASS */
    char text[PROVE_TEXT_SIZE];  /* what holds, what first fails, or why it was not looked at */
} prove_answer;

/* Fills an answer. */
__attribute__((format(printf, 4, 5)))
void prove_answer_set(prove_answer *answer, prove_verdict verdict, const char *code, const char *format, ...);

typedef struct prove_report {
    prove_answer answers[PROVE_N_QUESTIONS];
    uint32_t level;              /* 0..4 */
    bool has_volume, is_full;    /* the profile that was verified: full or compact */
    bool is_authenticated;       /* signed by a trusted key that is not revoked */
    bool has_bad_signature;      /* the volume's own signature is wrong, or its key is revoked: no level holds */
    uint8_t digest[SHA256_BYTES]; /* D, when has_volume */
} prove_report;

typedef struct prove_check_options {
    const p64_file *p64;
    const char *p64_path;
    const char *volume_path;       /* of STEM.prov.q42 */
    const prove_source *source;    /* null: not at hand */
    const trusted_keys *keys;      /* null: none */
    uint64_t now_ms;
    const prove_runtime *running;  /* this program and, when n_kernels > 0, what it computes with; null: not looked at */
    const uint8_t *used_runtime;   /* [32] of a generation record: compared with `running` instead of the volume's tool; may be null */
    const prove_reading *certificates; /* another volume of certificates beside the model's own; may be null */
    const char *certificates_path;     /* of that volume, whose signature is checked like the model's; with certificates */
    progress_fn *progress;
    void *progress_ctx;
} prove_check_options;

/* `out_reading` [may be null] receives the volume when there is one, to be closed. [may block] */
qn_status prove_check(const prove_check_options *options, prove_report *out_report, prove_reading *out_reading, error_context *err);

/* The report when there is nothing to ask: every answer is NOT CHECKED, for this reason. */
void prove_report_nothing(prove_report *report, const char *why);

/* A policy's question: does level `least` hold (5: all six pass), and is it signed by a trusted key when `needs_signature`? Otherwise
 * *out_why says what is missing. A wrong signature meets nothing. */
bool prove_meets(const prove_report *report, uint32_t least, bool needs_signature, const char **out_why);

/* Whether every kernel of `running` has a certificate that passed, for this device and driver, in one of the readings. False: *out_missing
 * is the first kernel's id without one. For `require_certified_kernels`. */
bool prove_kernels_certified(const prove_reading *const *readings, uint32_t n_readings, const prove_runtime *running,
                             const char **out_missing);

#endif
