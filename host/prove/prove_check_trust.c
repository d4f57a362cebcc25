/* prove_check_trust.c — signature and consent, runtime and kernels. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mapped_file.h"
#include "prove/prove_check_parts.h"
#include "prove/prove_consent.h"
#include "prove/prove_model.h"
#include "prove/prove_signature.h"

/* ------------------------------------------------------------------------------------------------------------ signature */

/* What the lists say about a key whose signature is right. */
static prove_verdict judge_key(const prove_checking *c, const public_key *key, const char **out_code, const char **out_why,
                               const char **out_name) {
    const trusted_keys *keys = c->options->keys;
    const trusted_key *trusted = keys != NULL ? trusted_keys_find(keys, key->id) : NULL;
    *out_name = trusted != NULL ? trusted->name : "";
    if (keys != NULL && revocations_find(&keys->revoked, key->id) != NULL) {
        *out_code = "BAD_SIGNATURE";
        *out_why = "the key is revoked";
        return PROVE_FAIL;
    }
    *out_code = trusted != NULL ? "" : "UNSIGNED";
    *out_why = keys == NULL ? "no list of trusted keys is given (--trusted-keys FILE)" : "the key is in no list of trusted keys";
    return trusted != NULL ? PROVE_PASS : PROVE_NOT_CHECKED;
}

static void judge_signature(const prove_checking *c, prove_answer *a, const prove_signature *s, const uint8_t digest[SHA256_BYTES]) {
    const char *code, *why, *name;
    char key[KEY_TEXT_SIZE];
    if (memcmp(s->digest, digest, sizeof s->digest) != 0) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "the signature is of another volume: the canonical digest differs");
        return;
    }
    if (!prove_verify_digest(&s->key, s->digest, s->signature)) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "the signature is not that of %s", public_key_text(&s->key, key));
        return;
    }
    const prove_verdict verdict = judge_key(c, &s->key, &code, &why, &name);
    public_key_text(&s->key, key);
    if (verdict == PROVE_PASS) {
        prove_answer_set(a, verdict, code, "signed by %s (%s)", name, key);
    } else {
        prove_answer_set(a, verdict, code, "signed by %s: %s", key, why);
    }
}

/* The signature beside a volume with this digest. */
static void ask_signature_file(const prove_checking *c, prove_answer *a, const char *volume, const uint8_t digest[SHA256_BYTES]) {
    char path[PROVE_PATH_SIZE];
    mapped_file file;
    prove_signature signature;
    error_context local = {0};
    if (!prove_signature_path_of(volume, path)) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "UNSIGNED", "the path of a signature would be too long");
        return;
    }
    const qn_status status = mapped_file_open(path, &file, &local);
    if (status < 0) {
        prove_answer_set(a, status == QN_NOT_FOUND ? PROVE_NOT_CHECKED : PROVE_FAIL, status == QN_NOT_FOUND ? "UNSIGNED" : "BAD_SIGNATURE",
                         "%s", status == QN_NOT_FOUND ? "unsigned" : error_text(&local));
        return;
    }
    if (prove_signature_parse(file.span, path, &signature, &local) < 0) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "%s", error_text(&local));
    } else {
        judge_signature(c, a, &signature, digest);
    }
    mapped_file_close(&file);
}

/* -------------------------------------------------------------------------------------------------------------- consent */

/* A scope that names a container or a source binds the consent to it. */
static bool is_about_another(const prove_checking *c, const prove_consent *consent) {
    char p64[PROVE_URN_SIZE], source[PROVE_URN_SIZE] = "";
    uint8_t digest[SHA256_BYTES];
    bool is_bound = false;
    prove_urn(PROVE_P64, c->p64_digest, p64);
    if (prove_get_digest(c->volume, c->container, Q42M_DERIVED, 0, PROVE_SOURCE, digest)) {
        prove_urn(PROVE_SOURCE, digest, source);
    }
    for (uint32_t i = 0; i < consent->n_scopes; i++) {
        const char *scope = consent->scopes[i];
        if (strcmp(scope, p64) == 0 || strcmp(scope, source) == 0) {
            return false;
        }
        is_bound = is_bound || strncmp(scope, PROVE_P64, strlen(PROVE_P64)) == 0 || strncmp(scope, PROVE_SOURCE, strlen(PROVE_SOURCE)) == 0;
    }
    return is_bound;
}

static void judge_consent(prove_checking *c, prove_answer *a, const prove_consent *consent) {
    const char *code = "", *why = "", *name = "";
    const uint64_t now = c->options->now_ms;
    if (now < consent->valid_from || now >= consent->valid_until) {
        prove_answer_set(a, PROVE_FAIL, "CONSENT_EXPIRED", "the consent of %.200s is valid from %" PRIu64 " to %" PRIu64 " ms, now is %" PRIu64,
                         consent->granted_by, consent->valid_from, consent->valid_until, now);
    } else if (is_about_another(c, consent)) {
        prove_answer_set(a, PROVE_FAIL, "CONSENT_EXPIRED", "the consent of %.200s is about another model", consent->granted_by);
    } else if (consent->is_signed && !prove_verify_digest(&consent->key, consent->digest, consent->signature)) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "the signature of the consent of %.200s is wrong", consent->granted_by);
    } else if (!consent->is_signed) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "UNSIGNED", "the consent of %.200s is unsigned", consent->granted_by);
    } else {
        const prove_verdict verdict = judge_key(c, &consent->key, &code, &why, &name);
        prove_answer_set(a, verdict, code, "the consent of %.200s: %s", consent->granted_by, verdict == PROVE_PASS ? "valid" : why);
    }
}

static void ask_consent(prove_checking *c, prove_answer *a, uint64_t subject) {
    prove_consent consent;
    error_context local = {0};
    if (prove_consent_load(c->volume, subject, &consent, &local) < 0) {
        prove_answer_set(a, PROVE_FAIL, "BAD_SIGNATURE", "%s", error_text(&local));
        return;
    }
    judge_consent(c, a, &consent);
    prove_consent_free(&consent);
}

/* FAIL beats NOT CHECKED beats PASS; of two of a kind the first stays. */
static void take_worse(prove_answer *all, const prove_answer *one) {
    static const uint32_t weight[] = {1, 0, 2};
    if (weight[one->verdict] > weight[all->verdict]) {
        *all = *one;
    }
}

static void ask_licence(prove_checking *c, prove_answer *all) {
    uint8_t digest[SHA256_BYTES], said[SHA256_BYTES];
    char urn[PROVE_URN_SIZE];
    uint64_t object;
    if (!prove_get_object(c->volume, c->container, "q42m:licence", 0, &object)) {
        return;
    }
    const bool is_whole = prove_get_digest(c->volume, c->container, "q42m:licence", 0, PROVE_LICENCE, digest);
    const uint64_t subject = is_whole ? q42_hash(prove_urn(PROVE_LICENCE, digest, urn), strlen(prove_urn(PROVE_LICENCE, digest, urn))) : 0;
    if (!is_whole || !prove_get_digest(c->volume, subject, Q42M_SHA256, 0, PROVE_DIGEST, said) || memcmp(said, digest, sizeof said) != 0) {
        prove_answer missing;
        prove_answer_set(&missing, PROVE_FAIL, "LICENCE_MISSING", "the container names a licence that the volume does not describe");
        take_worse(all, &missing);
    }
}

qn_status prove_ask_signature(prove_checking *c) {
    prove_answer *all = &c->report->answers[PROVE_Q_SIGNATURE];
    uint64_t consent;
    ask_signature_file(c, all, c->options->volume_path, c->report->digest);
    c->report->is_authenticated = all->verdict == PROVE_PASS;
    c->report->has_bad_signature = all->verdict == PROVE_FAIL;
    for (uint32_t i = 0; prove_get_object(c->volume, c->container, "q42m:consent", i, &consent); i++) {
        prove_answer one;
        ask_consent(c, &one, consent);
        take_worse(all, &one);
    }
    ask_licence(c, all);
    return QN_OK;
}

/* -------------------------------------------------------------------------------------------------------------- runtime */

/* A certificate that passed, on this device with this driver. */
static bool is_certificate_for(const prove_reading *r, uint64_t certificate, const prove_runtime *running) {
    fmt_str device, driver;
    bool has_passed = false;
    return prove_get_boolean(r, certificate, "q42m:passed", 0, &has_passed) && has_passed &&
           prove_get_text(r, certificate, "q42m:device", 0, &device) && prove_text_is(device, running->device) &&
           prove_get_text(r, certificate, "q42m:driver", 0, &driver) && prove_text_is(driver, running->driver);
}

static bool is_kernel_certified(const prove_reading *r, const prove_kernel *kernel, const prove_runtime *running) {
    char urn[PROVE_URN_SIZE];
    fmt_str text;
    uint64_t certificate;
    const uint64_t subject = q42_hash(prove_urn(PROVE_KERNEL, kernel->digest, urn), strlen(prove_urn(PROVE_KERNEL, kernel->digest, urn)));
    if (!prove_find_text(r, subject, &text) || !prove_text_is(text, urn)) {
        return false;
    }
    for (uint32_t i = 0; prove_get_object(r, subject, "q42m:certifiedBy", i, &certificate); i++) {
        if (is_certificate_for(r, certificate, running)) {
            return true;
        }
    }
    return false;
}

bool prove_kernels_certified(const prove_reading *const *readings, uint32_t n_readings, const prove_runtime *running,
                             const char **out_missing) {
    for (uint32_t k = 0; k < running->n_kernels; k++) {
        bool is_certified = false;
        for (uint32_t i = 0; i < n_readings && !is_certified; i++) {
            is_certified = is_kernel_certified(readings[i], &running->kernels[k], running);
        }
        if (!is_certified) {
            *out_missing = running->kernels[k].id;
            return false;
        }
    }
    *out_missing = NULL;
    return true;
}

/* Certificates in a volume of their own are worth what their signature is. False: the answer is given. */
static bool trust_certificates(const prove_checking *c, prove_answer *a) {
    uint8_t digest[SHA256_BYTES];
    if (c->options->certificates == NULL || prove_digest(&c->options->certificates->graph, digest, NULL) < 0) {
        return c->options->certificates == NULL;
    }
    prove_answer signature;
    ask_signature_file(c, &signature, c->options->certificates_path, digest);
    if (signature.verdict == PROVE_PASS || (signature.verdict == PROVE_NOT_CHECKED && c->options->keys == NULL)) {
        return true;
    }
    prove_answer_set(a, signature.verdict, signature.code, "the certificates: %.360s", signature.text);
    return false;
}

static void ask_kernels(prove_checking *c, prove_answer *a) {
    const prove_runtime *running = c->options->running;
    const prove_reading *readings[2] = {c->volume, c->options->certificates};
    const char *missing;
    if (running->n_kernels == 0) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "the program is the named one; no backend was asked for (--backend NAME), so no kernel");
    } else if (prove_kernels_certified(readings, c->options->certificates != NULL ? 2 : 1, running, &missing)) {
        if (!trust_certificates(c, a)) {
            return;
        }
        prove_answer_set(a, PROVE_PASS, "", "the program is the named one; %u kernels of %s are certified on %.100s", running->n_kernels,
                         running->backend, running->device);
    } else {
        prove_answer_set(a, PROVE_FAIL, "KERNEL_UNCERTIFIED", "kernel %s has no certificate for %.100s, %.100s", missing, running->device,
                         running->driver);
    }
}

/* The runtime that the record of an answer names, or the one that the container was described by. */
static bool find_named_runtime(const prove_checking *c, uint8_t out[SHA256_BYTES]) {
    uint64_t transcode;
    if (c->options->used_runtime != NULL) {
        memcpy(out, c->options->used_runtime, SHA256_BYTES);
        return true;
    }
    return prove_get_object(c->volume, c->container, Q42M_GENERATED_BY, 0, &transcode) &&
           prove_get_digest(c->volume, transcode, "q42m:toolRuntime", 0, PROVE_RUNTIME, out);
}

qn_status prove_ask_runtime(prove_checking *c) {
    prove_answer *a = &c->report->answers[PROVE_Q_RUNTIME];
    uint8_t named[SHA256_BYTES];
    char texts[2][SHA256_HEX_SIZE];
    if (c->options->running == NULL) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "", "the running program was not looked at");
    } else if (!find_named_runtime(c, named)) {
        prove_answer_set(a, PROVE_NOT_CHECKED, "MISSING", "the volume names no program");
    } else if (memcmp(named, c->options->running->digest, sizeof named) != 0) {
        sha256_to_hex(named, texts[0]);
        sha256_to_hex(c->options->running->digest, texts[1]);
        prove_answer_set(a, PROVE_FAIL, "DIGEST_MISMATCH", "%s names the program sha256:%s, this one is sha256:%s",
                         c->options->used_runtime != NULL ? "the record" : "the volume", texts[0], texts[1]);
    } else {
        ask_kernels(c, a);
    }
    return QN_OK;
}
