/* prove_generation.c — what is said about an answer. */
#include "prove/prove_generation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/endian.h"

#define PIECE_BYTES 4000u /* of a stored prompt: below PROVE_MAX_TEXT */

uint8_t *prove_tokens_bytes(const uint32_t *ids, uint32_t n) {
    uint8_t *bytes = malloc((size_t)n * 4 + 1);
    for (uint32_t i = 0; bytes != NULL && i < n; i++) {
        store_u32(bytes + (size_t)i * 4, ids[i]);
    }
    return bytes;
}

bool prove_tokens_digest(const uint32_t *ids, uint32_t n, uint8_t out[SHA256_BYTES]) {
    uint8_t *bytes = prove_tokens_bytes(ids, n);
    const bool is_done = bytes != NULL && sha256_digest(bytes, (uint64_t)n * 4, out);
    free(bytes);
    return is_done;
}

static void say_machine(prove_graph *g, const prove_runtime *r) {
    prove_say_digest(g, "q42m:usedRuntime", 0, PROVE_RUNTIME, r->digest);
    prove_say_word(g, "q42m:backend", 0, r->backend);
    prove_say_word(g, "q42m:device", 0, r->device);
    prove_say_word(g, "q42m:driver", 0, r->driver);
    prove_say_word(g, "q42m:numeric", 0, r->numeric);
    prove_say_integer(g, "q42m:threads", 0, r->n_threads);
    for (uint32_t i = 0; i < r->n_kernels; i++) {
        prove_say_digest(g, "q42m:usesKernel", i, PROVE_KERNEL, r->kernels[i].digest);
    }
}

/* Ids in decimal with blanks between, cut into pieces between two ids. */
static void say_prompt(prove_graph *g, const uint32_t *ids, uint32_t n) {
    char piece[PIECE_BYTES + 16];
    size_t size = 0;
    uint32_t ordinal = 0;
    for (uint32_t i = 0; i < n; i++) {
        size += (size_t)snprintf(piece + size, sizeof piece - size, "%s%u", size > 0 ? " " : "", ids[i]);
        if (size >= PIECE_BYTES - 16 || i + 1 == n) {
            prove_say_text(g, "q42m:promptTokens", ordinal++, (fmt_str){piece, size});
            size = 0;
        }
    }
}

static qn_status say_settings(prove_graph *g, const generation_facts *f, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    if (!sha256_digest(f->sampler.data, f->sampler.size, digest)) {
        return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    prove_say_text(g, "q42m:sampler", 0, f->sampler);
    prove_say_digest(g, "q42m:samplerSha256", 0, PROVE_DIGEST, digest);
    prove_say_wide(g, "q42m:seed", 0, f->seed);
    if (f->prompt_mac != NULL) {
        prove_say_digest(g, "q42m:promptMac", 0, PROVE_MAC, f->prompt_mac);
    }
    if (f->context_mac != NULL) {
        prove_say_digest(g, "q42m:contextMac", 0, PROVE_MAC, f->context_mac);
    }
    if (f->prompt != NULL) {
        say_prompt(g, f->prompt, f->n_prompt);
    }
    return QN_OK;
}

static qn_status say_answer(prove_graph *g, const generation_facts *f, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    if (!prove_tokens_digest(f->tokens, f->n_tokens, digest)) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory to hash %u tokens", f->n_tokens);
    }
    prove_say_digest(g, "q42m:tokensSha256", 0, PROVE_DIGEST, digest);
    if (f->output_sha256 == NULL && !sha256_digest(f->output.data, f->output.size, digest)) {
        return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    prove_say_digest(g, "q42m:outputSha256", 0, PROVE_DIGEST, f->output_sha256 != NULL ? f->output_sha256 : digest);
    prove_say_integer(g, "q42m:tokenCount", 0, f->n_tokens);
    prove_say_word(g, "q42m:stopReason", 0, f->stop_reason);
    prove_say_boolean(g, "q42m:partial", 0, f->is_partial);
    return QN_OK;
}

static void say_parties(prove_graph *g, const generation_facts *f) {
    prove_say_word(g, "q42m:agent", 0, f->agent);
    prove_say_word(g, Q42M_ON_BEHALF, 0, f->principal);
    if (f->has_intent) {
        prove_say_object(g, "q42m:intent", 0, f->intent);
    }
    prove_say_integer(g, Q42M_STARTED, 0, f->started_ms);
    prove_say_integer(g, Q42M_ENDED, 0, f->ended_ms);
}

static void say_judgement(prove_graph *g, const generation_facts *f) {
    prove_say_word(g, "q42m:groundingVerdict", 0, f->verdict);
    if (f->has_score) {
        prove_say_float(g, "q42m:groundingScore", 0, f->score);
    }
    for (uint32_t i = 0; i < f->n_cites; i++) {
        prove_say_wide(g, "q42m:cites", i, f->cites[i]);
    }
    if (f->gate_trace != NULL) {
        prove_say_digest(g, "q42m:gateTrace", 0, PROVE_DIGEST, f->gate_trace);
    }
    for (uint32_t i = 0; i < f->n_emitted; i++) {
        prove_say_object(g, "q42m:claimSubject", i, f->emitted[i].subject);
        prove_say_object(g, "q42m:claimPredicate", i, f->emitted[i].predicate);
        prove_say_object(g, "q42m:claimObject", i, f->emitted[i].object);
    }
}

qn_status prove_generation(const generation_facts *f, prove_graph *out, uint8_t out_name[SHA256_BYTES], error_context *err) {
    prove_begin(out, GENERATION_TIER, err);
    prove_about_record(out);
    prove_say_word(out, Q42M_TYPE, 0, "q42m:Generation");
    prove_say_digest(out, "q42m:usedModel", 0, f->is_source ? PROVE_SOURCE : PROVE_P64, f->model);
    say_machine(out, f->runtime);
    if (f->adapter != NULL) {
        prove_say_digest(out, "q42m:usedAdapter", 0, PROVE_ADAPTER, f->adapter);
    }
    QN_TRY(say_settings(out, f, err), err, "recording the settings");
    QN_TRY(say_answer(out, f, err), err, "recording the answer");
    say_parties(out, f);
    say_judgement(out, f);
    QN_TRY(prove_settle(out), err, "recording a generation");
    QN_TRY(prove_rename(out, PROVE_GENERATION, out_name), err, "recording a generation");
    out->tier = 0;
    prove_say_runtime(out, f->runtime);
    return prove_settle(out);
}

qn_status prove_generation_add(wal *log, const prove_graph *record, error_context *err) {
    for (uint64_t i = 0; i < record->volume.n_terms; i++) {
        uint64_t hash;
        QN_TRY(wal_add_term(log, small_volume_term(&record->volume, i, &hash), err), err, "recording a generation");
    }
    for (uint64_t i = 0; i < record->volume.n_quins; i++) {
        QN_TRY(wal_add_quin(log, &record->volume.quins[i], err), err, "recording a generation");
    }
    return QN_OK;
}

qn_status prove_generation_commit(wal *log, const prove_graph *record, const signing_key *key, wal_receipt *out_receipt,
                                  error_context *err) {
    wal_begin(log);
    QN_TRY(prove_generation_add(log, record, err), err, "recording a generation");
    return key != NULL ? wal_commit(log, key, out_receipt, err) : wal_commit_unsigned(log, out_receipt, err);
}
