/* prove_certificate.h — a certificate as statements: what a backend was compared with, how far it was off, and the kernels that this is about.
 *
 * The certificate's name is the digest of its statements, as that of a generation record. Each kernel has q42m:certifiedBy. A certificate
 * that did not pass is written as well and certifies nothing.
 *
 * Threading: pure.
 */
#ifndef HOST_PROVE_CERTIFICATE_H
#define HOST_PROVE_CERTIFICATE_H
#include "prove/prove_runtime.h"

typedef struct certificate_facts {
    const prove_runtime *running; /* program, kernels, device, driver, numeric */
    const char *oracle;           /* what it was compared with */
    fmt_str vectors;              /* canonical text of what was computed: tests and cases, shapes, tokens; its digest is q42m:vectorSha256 */
    fmt_str shapes;               /* `key=value` lines */
    const uint8_t *model;         /* [32] of the container; null: none */
    uint64_t seed, n_compared, time_ms;
    float tol_abs, tol_rel, max_abs, max_rel;
    bool has_passed;
} certificate_facts;

/* Begins `out`, which holds the certificate, its kernels and the program afterwards, settled. `out_name` is the certificate's digest. */
qn_status prove_certificate(const certificate_facts *facts, prove_graph *out, uint8_t out_name[SHA256_BYTES], error_context *err);

#endif
