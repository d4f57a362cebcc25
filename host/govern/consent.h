/* consent.h — does a consent hold for this request: is it for its agent or principal, valid now, signed by a key that counts, and for this use?
 *
 * A consent is a file as `quoin prove --consent` takes it, or what a model's provenance volume says of one (prove/prove_consent.h).
 *
 * Threading: as request.h.
 * Errors:    QN_DENIED with what is missing; whatever reading the file gives.
 */
#ifndef HOST_CONSENT_H
#define HOST_CONSENT_H
#include "govern/request.h"
#include "prove/prove_read.h"

/* `scope` has to be one of the consent's. */
qn_status consent_judge_file(const request *r, const char *path, const char *scope, const trusted_keys *keys, error_context *err);
/* One of the consents in the volume has to hold. */
qn_status consent_judge_model(const request *r, const prove_reading *reading, const trusted_keys *keys, error_context *err);

#endif
