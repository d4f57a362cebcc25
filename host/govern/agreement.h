/* agreement.h — whether statements wait for signers, and for which.
 *
 * A statement is asked about by its predicate, and by its scope: the one with the name of its graph, or, in the default graph, every scope
 * that was granted. When several say so, all their signers are named, the highest threshold counts, and the shortest time.
 *
 * Threading: pure.
 */
#ifndef HOST_AGREEMENT_H
#define HOST_AGREEMENT_H
#include "govern/request.h"

/* False when nobody has to sign. The proposal's id is made from the statements and the time. QN_LIMIT in err for more than 8 signers. */
qn_status agreement_find(const request *r, bool *out_suspends, wal_proposal *out, error_context *err);

#endif
