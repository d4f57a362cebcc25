/* governed_log.h — the record of a run, and what goes with it into the log.
 *
 *     AUDIT entry       verdict   code            detail
 *     request           0         its token       intent, frame, profile, agent, principal, tier, destination
 *     each gate         its own   its own         its own
 *     claim             3         fact id         the statement in N-Quads; only of a run that somebody has to look at
 *     outcome           0         its code        COMMITTED, BLOCKED, ...
 *
 * The prompt and the text of the answer are in no record.
 *
 * Threading: as request.h.
 */
#ifndef HOST_GOVERNED_LOG_H
#define HOST_GOVERNED_LOG_H
#include "govern/gate.h"

/* Opens r->log unless it is open; waits up to five seconds for another process. */
qn_status governed_log_open(request *r, error_context *err);

/* Adds the results so far to the open unit, and an outcome that this unit will make true. */
qn_status governed_log_add_audit(request *r, governed_outcome outcome, gate_code code, error_context *err);

/* Adds the record of how the answer came to be, when there is one and somebody writes it. *out_is_added: the unit has statements now. */
qn_status governed_log_add_record(request *r, bool *out_is_added, error_context *err);

/* Commits the open unit with the policy's key, or unsigned when it says so. */
qn_status governed_log_commit(request *r, wal_receipt *out_receipt, error_context *err);

/* Takes old files away as the policy says. */
qn_status governed_log_retain(request *r, uint32_t *out_removed, error_context *err);

#endif
