/* proof.h — a claim out of what rules derive, with the steps that lead to it. Internal to grounding.
 *
 * Threading: one thread at a time per call. Memory: half a MiB during the call.
 */
#ifndef HOST_GROUND_PROOF_H
#define HOST_GROUND_PROOF_H
#include "ground/grounding.h"

/* Asks the deriver; when the claim is among what it gives, fills result->proof and n_steps. QN_BAD_INPUT for premises that do not come
 * before what follows from them, QN_LIMIT for a proof that is too long. */
qn_status proof_search(const grounding_claim *claim, const fact_deriver *deriver, const q42_quin *facts, uint32_t n_facts,
                       grounding_result *result, bool *out_found, error_context *err);

#endif
