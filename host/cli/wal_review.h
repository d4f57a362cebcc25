/* wal_review.h — governed runs in a log whose statements somebody has to look at.
 *
 * Threading: the command line is one thread.
 */
#ifndef HOST_WAL_REVIEW_H
#define HOST_WAL_REVIEW_H
#include <jansson.h>

#include "base/error.h"
#include "wal/wal_set.h"

/* As lines, or with a list as objects {sequence, time_ms, policy, policy_version, token, reasons, statements} into that. QN_IO without words
 * when standard output is closed. */
qn_status wal_review(const wal_set *set, json_t *list, error_context *err);

#endif
