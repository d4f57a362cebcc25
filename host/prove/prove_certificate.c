/* prove_certificate.c — what is said by a certificate. */
#include "prove/prove_certificate.h"

static qn_status say_comparison(prove_graph *g, const certificate_facts *f, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    if (!sha256_digest(f->vectors.data, f->vectors.size, digest)) {
        return FAIL(err, QN_INTERNAL, "libcrypto gives no SHA-256");
    }
    prove_say_word(g, Q42M_TYPE, 0, "q42m:Certification");
    prove_say_word(g, "q42m:oracle", 0, f->oracle);
    prove_say_digest(g, "q42m:vectorSha256", 0, PROVE_DIGEST, digest);
    prove_say_wide(g, "q42m:seed", 0, f->seed);
    prove_say_float(g, "q42m:tolAbs", 0, f->tol_abs);
    prove_say_float(g, "q42m:tolRel", 0, f->tol_rel);
    prove_say_float(g, "q42m:maxAbsError", 0, f->max_abs);
    prove_say_float(g, "q42m:maxRelError", 0, f->max_rel);
    prove_say_integer(g, "q42m:compared", 0, f->n_compared);
    prove_say_text(g, "q42m:shapes", 0, f->shapes);
    if (f->model != NULL) {
        prove_say_digest(g, "q42m:testedModel", 0, PROVE_P64, f->model);
    }
    return QN_OK;
}

static void say_circumstances(prove_graph *g, const certificate_facts *f) {
    prove_say_word(g, "q42m:device", 0, f->running->device);
    prove_say_word(g, "q42m:driver", 0, f->running->driver);
    prove_say_word(g, "q42m:numeric", 0, f->running->numeric);
    prove_say_boolean(g, "q42m:passed", 0, f->has_passed);
    prove_say_integer(g, "q42m:certifiedUnixMs", 0, f->time_ms);
}

qn_status prove_certificate(const certificate_facts *f, prove_graph *out, uint8_t out_name[SHA256_BYTES], error_context *err) {
    char certificate[PROVE_URN_SIZE], urn[PROVE_URN_SIZE];
    prove_begin(out, 0, err);
    prove_about_record(out);
    QN_TRY(say_comparison(out, f, err), err, "writing a certificate");
    say_circumstances(out, f);
    QN_TRY(prove_settle(out), err, "writing a certificate");
    QN_TRY(prove_rename(out, PROVE_CERT, out_name), err, "writing a certificate");
    prove_say_runtime(out, f->running);
    prove_urn(PROVE_CERT, out_name, certificate);
    for (uint32_t i = 0; i < f->running->n_kernels; i++) {
        prove_about(out, prove_urn(PROVE_KERNEL, f->running->kernels[i].digest, urn));
        prove_say_word(out, "q42m:certifiedBy", 0, certificate);
    }
    return prove_settle(out);
}
