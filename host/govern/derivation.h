/* derivation.h — does a statement follow from the facts of the granted scopes by the policy's rules?
 *
 *     QN_TRY(derivation_open(r, &d, err), err, "deriving");
 *     QN_TRY(derivation_find(d, &claim, &n_steps, err), err, "deriving");    n_steps 0: it does not
 *     derivation_close(d);
 *
 * The claims themselves are no facts here: nothing follows from itself.
 *
 * Threading: as request.h. Memory: owned until derivation_close.
 */
#ifndef HOST_DERIVATION_H
#define HOST_DERIVATION_H
#include "govern/request.h"

typedef struct derivation derivation;

/* Null in *out when the policy has no rules or no scope is granted. */
qn_status derivation_open(const request *r, derivation **out, error_context *err);
void derivation_close(derivation *d); /* null is legal */

/* How many facts the proof has, given ones and the claim itself counted. */
qn_status derivation_find(derivation *d, const request_claim *claim, uint32_t *out_steps, error_context *err);

#endif
