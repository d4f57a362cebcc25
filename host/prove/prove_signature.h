/* prove_signature.h — STEM.prov.sig: who says that the provenance volume beside it is right.
 *
 *     byte     bytes
 *        0         8   "Q42PSIG" and a zero
 *        8         4   version 1, little-endian
 *       12         4   zero
 *       16        32   key id: SHA-256 of the public key
 *       48        32   the public key of Ed25519
 *       80        32   D, the canonical digest of the volume
 *      112        64   signature of "q42.model-provenance.v1", a zero byte, and D
 *      176             the end
 *
 * The public key makes a wrong signature known as wrong to everybody; whether the key counts, only a list of trusted keys says.
 *
 * Threading: pure.
 * Errors:    QN_BAD_FILE with what is wrong.
 */
#ifndef HOST_PROVE_SIGNATURE_H
#define HOST_PROVE_SIGNATURE_H
#include <quoin/span.h>

#include "common/sha.h"
#include "keys/signing_key.h"

#define PROVE_SIGNATURE_BYTES 176u

typedef struct prove_signature {
    public_key key;
    uint8_t digest[SHA256_BYTES];
    uint8_t signature[SIGNATURE_BYTES];
} prove_signature;

/* Signs a digest as this profile does. */
qn_status prove_sign_digest(const signing_key *key, const uint8_t digest[SHA256_BYTES], uint8_t out[SIGNATURE_BYTES],
                            error_context *err);
bool prove_verify_digest(const public_key *key, const uint8_t digest[SHA256_BYTES], const uint8_t signature[SIGNATURE_BYTES]);

qn_status prove_signature_make(const signing_key *key, const uint8_t digest[SHA256_BYTES], uint8_t out[PROVE_SIGNATURE_BYTES],
                               error_context *err);
/* Reads the layout; nothing about it is believed yet but that the key has that id. */
qn_status prove_signature_parse(fmt_span bytes, const char *path, prove_signature *out, error_context *err);

#endif
