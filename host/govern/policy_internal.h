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

/* Files that rows of kind KEY_FILE name. QN_NOT_FOUND and others with the row. */
qn_status policy_load_files(policy *p, error_context *err);
void policy_free_files(policy *p);
const policy_file *policy_find_file(const policy *p, const char *path); /* null: none */

qn_status policy_compute_digest(policy *p, bool with_files, error_context *err);

#endif
