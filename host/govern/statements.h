/* statements.h — statements that the text of an answer makes in Notation3, as claims of the request.
 *
 * They lie in the graph of the first scope, or in the one without a name when there is none. Rules in the text are proposals: counted, and
 * never installed.
 *
 * Threading: as request.h.
 */
#ifndef HOST_STATEMENTS_H
#define HOST_STATEMENTS_H
#include "govern/request.h"

/* QN_BAD_INPUT with line and column for what is no Notation3; QN_LIMIT for too many. */
qn_status statements_read(request *r, uint32_t *out_proposals, error_context *err);

#endif
