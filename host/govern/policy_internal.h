/* policy_internal.h — what the files of a policy share.
 *
 * Threading: as policy.h.
 */
#ifndef HOST_POLICY_INTERNAL_H
#define HOST_POLICY_INTERNAL_H
#include "govern/policy.h"

/* Hash of a name; 0x and sixteen digits are the number itself. */
uint64_t policy_name_id(const char *name);
uint64_t policy_name_term(const char *name); /* of <name> */

/* What no key says alone: a version, a log, signers that can reach their threshold, bands that do not overlap. */
qn_status policy_check(const policy *p, error_context *err);

qn_status policy_compute_digest(policy *p, bool with_files, error_context *err);

#endif
