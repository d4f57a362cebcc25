/* prove_generation.h — the record of one answer: who computed it, from what, with which settings, and what came out.
 *
 * A record is statements about urn:qualia:gen:sha256:H. H is the canonical digest of these statements with subject 0 and of the terms
 * that they need, so nobody can change a record and keep its name. Prompt and context are not in it: a MAC under a key of the
 * principal says later whether a text was that prompt, and tells nothing about it before.
 *
 *     q42m:usedModel q42m:usedRuntime q42m:usedAdapter       subjects: container (or source), program, adapter
 *     q42m:backend q42m:device q42m:driver q42m:numeric      texts; q42m:threads integer; q42m:usesKernel subjects: what replay compares
 *     q42m:sampler q42m:samplerSha256                        text of `key=value` lines in the order of their keys, and its digest
 *     q42m:seed                                              two integers
 *     q42m:promptMac q42m:contextMac                         "hmac-sha256:" over the token ids as u32, over the context's bytes
 *     q42m:promptTokens                                      only when the prompt is stored: ids with blanks, in pieces
 *     q42m:tokensSha256 q42m:outputSha256 q42m:tokenCount    of ids as u32, of the text
 *     q42m:stopReason q42m:partial
 *     q42m:agent, prov:actedOnBehalfOf                       DIDs; q42m:intent a handle
 *     prov:startedAtTime prov:endedAtTime                    ms
 *     q42m:groundingVerdict q42m:groundingScore q42m:cites   text, float, two integers each
 *     q42m:gateTrace                                         digest text
 *     q42m:claimSubject, -Predicate, -Object                 handles; the ordinal counts emitted quins
 *
 * Threading: one thread at a time.
 * Memory:    facts are borrowed for the call.
 * Errors:    as prove_graph.h.
 *
 *     prove_graph g;
 *     uint8_t name[SHA256_BYTES];
 *     QN_TRY(prove_generation(&facts, &g, name, err), err, "...");
 *     QN_TRY(prove_generation_commit(log, &g, key, &receipt, err), err, "...");   or prove_generation_add into a unit of one's own
 *     prove_end(&g);
 */
#ifndef HOST_PROVE_GENERATION_H
#define HOST_PROVE_GENERATION_H
#include "prove/prove_graph.h"
#include "prove/prove_read.h"
#include "prove/prove_runtime.h"
#include "wal/wal.h"

#define GENERATION_TIER 1u

typedef struct generation_facts {
    const uint8_t *model;          /* [32] SHA-256 of the whole file */
    bool is_source;                /* the file is a GGUF and no P64 */
    const prove_runtime *runtime;
    const uint8_t *adapter;        /* [32] of its file; null: none */
    fmt_str sampler;               /* canonical text */
    uint64_t seed;
    const uint8_t *prompt_mac, *context_mac; /* [32]; null: no key, no context */
    const uint32_t *prompt;        /* [n_prompt] stored in the record; null: not stored */
    uint32_t n_prompt;
    const uint32_t *tokens;        /* [n_tokens] of the answer */
    uint32_t n_tokens;
    fmt_str output;                /* the answer's text */
    const uint8_t *output_sha256;  /* [32] instead of `output`, for who has only that; may be null */
    const char *stop_reason;
    bool is_partial;               /* ended by a deadline, a cancel, an error */
    const char *agent, *principal; /* DIDs; null: not told */
    bool has_intent;
    uint64_t intent;               /* handle of the intent's predicate */
    uint64_t started_ms, ended_ms;
    const char *verdict;           /* of grounding; null: not asked */
    bool has_score;
    float score;
    const uint64_t *cites;         /* [n_cites] ids of facts */
    uint32_t n_cites;
    const uint8_t *gate_trace;     /* [32] digest of the audit list; null: no gates */
    const q42_quin *emitted;       /* [n_emitted] claims that came out; their terms are the caller's to commit */
    uint32_t n_emitted;
} generation_facts;

/* Begins `out`, which holds the record (and the runtime and kernels that it names) afterwards, settled. prove_end is right whatever it
 * answers. `out_name` [32] is H. */
qn_status prove_generation(const generation_facts *facts, prove_graph *out, uint8_t out_name[SHA256_BYTES], error_context *err);

/* Adds terms and statements to the log's open unit. */
qn_status prove_generation_add(wal *log, const prove_graph *record, error_context *err);
/* A unit of its own: signed, or unsigned when `key` is null. */
qn_status prove_generation_commit(wal *log, const prove_graph *record, const signing_key *key, wal_receipt *out_receipt,
                                  error_context *err);

/* SHA-256 of ids as little-endian u32, as records and MACs have it. False without memory. */
bool prove_tokens_digest(const uint32_t *ids, uint32_t n, uint8_t out[SHA256_BYTES]);
/* The bytes that a MAC is over, malloc'ed; null without memory. */
uint8_t *prove_tokens_bytes(const uint32_t *ids, uint32_t n);

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct generation_record {
    uint64_t subject;
    char name[PROVE_URN_SIZE];
    bool is_name_right;               /* H is the digest of what is said */
    bool is_source, has_adapter;
    uint8_t model[SHA256_BYTES], runtime[SHA256_BYTES], adapter[SHA256_BYTES], tokens[SHA256_BYTES], output[SHA256_BYTES];
    uint64_t n_tokens, n_threads, seed, started_ms, ended_ms;
    fmt_str backend, device, driver, numeric, sampler, stop_reason; /* borrowed from the reading */
    bool is_partial, has_prompt_mac, has_context_mac;
    uint8_t prompt_mac[SHA256_BYTES], context_mac[SHA256_BYTES];
} generation_record;

/* Finds the record: `name` is 64 digits, perhaps behind the beginning; null: the one that ended last. QN_NOT_FOUND; QN_BAD_FILE when a
 * statement that every record has is missing, or the sampler's digest is not that of its text. */
qn_status prove_generation_find(const prove_reading *reading, const char *name, generation_record *out, error_context *err);

/* All of the profile's statements that a log holds, and their terms. prove_read_close is right whatever it answers. */
qn_status prove_generation_read_log(const wal_set *set, const wal_state *state, prove_reading *out, error_context *err);

/* The stored prompt; false when it is not stored or is no list of ids. `*out_ids` is malloc'ed. */
bool prove_generation_prompt(const prove_reading *reading, uint64_t subject, uint32_t **out_ids, uint32_t *out_n);

#endif
