/* prove_consent.h — what somebody with rights in a model allowed, in a small text file, signed or not.
 *
 *     # one `name = value` a line
 *     granted_by  = did:web:maker.example
 *     granted_to  = did:web:user.example
 *     scope       = local-inference                          any number of them
 *     scope       = urn:qualia:p64:sha256:…                   binds it to this container (or source: urn:qualia:source:…)
 *     valid_from  = 1767225600000                            ms since 1970
 *     valid_until = 1798761600000
 *     key         = ed25519:…                                 these two by `quoin prove --sign-consent`
 *     signature   = ed25519:…
 *
 * The consent's name is the digest of its statements with subject 0 and without the signature, by the rule of generation records; the
 * signature is over that digest. So a volume holds all that is needed to check it.
 *
 * Threading: pure; a consent owns its text.
 * Errors:    QN_BAD_INPUT with path, line, and what is wrong.
 */
#ifndef HOST_PROVE_CONSENT_H
#define HOST_PROVE_CONSENT_H
#include "keys/signing_key.h"
#include "prove/prove_graph.h"
#include "prove/prove_read.h"

#define CONSENT_MAX_SCOPES 64u
#define CONSENT_MAX_BYTES 65536u

typedef struct prove_consent {
    char *text;                 /* owned: what the words point into */
    const char *granted_by, *granted_to;
    const char *scopes[CONSENT_MAX_SCOPES];
    uint32_t n_scopes;
    uint64_t valid_from, valid_until; /* ms */
    bool is_keyed, is_signed;
    public_key key;
    uint8_t signature[SIGNATURE_BYTES];
    uint8_t digest[SHA256_BYTES]; /* the consent's name */
} prove_consent;

qn_status prove_consent_parse(fmt_str text, const char *path, prove_consent *out, error_context *err);
qn_status prove_consent_read(const char *path, prove_consent *out, error_context *err);
void prove_consent_free(prove_consent *consent); /* a zeroed one is legal */

/* Signs the consent in the file: its two last lines are set anew. The file appears whole or stays as it was. */
qn_status prove_consent_sign(const char *path, const signing_key *key, prove_consent *out, error_context *err);

/* Says everything about it, the signature too; its subject is its digest. */
void prove_say_consent(prove_graph *g, const prove_consent *consent);

/* What a volume says about a consent. QN_BAD_FILE: a statement is missing, or the name is not the digest of the statements. */
qn_status prove_consent_load(const prove_reading *r, uint64_t subject, prove_consent *out, error_context *err);

#endif
