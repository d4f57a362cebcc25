/* verify_report.h — what verifying a volume found: one list of checks for each file.
 *
 * Threading: one thread at a time.
 * Memory:    a report owns its array and paths until verify_report_free.
 */
#ifndef HOST_GRAPH_VERIFY_REPORT_H
#define HOST_GRAPH_VERIFY_REPORT_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"

#define VERIFY_MAX_CHECKS 20u

/* One line of a list. */
typedef struct verify_check {
    const char *name;    /* static: "blocks.decode" */
    q42_verdict verdict;
    bool has_diag;       /* for a failure, and for what is incomplete */
    fmt_diag diag;
} verify_check;

typedef uint32_t verify_role;
enum { VERIFY_STANDALONE = 0, VERIFY_ROOT, VERIFY_CHILD, VERIFY_SHARD };

typedef struct verify_file_report {
    char *path;
    verify_role role;
    q42_verdict verdict;     /* of all checks */
    uint32_t n_checks;
    verify_check checks[VERIFY_MAX_CHECKS];
    uint64_t bytes, n_blocks, n_quins, n_duplicates;
    uint64_t n_terms;        /* the mark is none */
} verify_file_report;

typedef struct volume_report_list {
    verify_file_report *files; /* the volume, or root, data children, shards */
    uint32_t n_files, capacity;
    q42_verdict verdict;
    double seconds;
} volume_report_list;

/* Adds a file without checks; QN_NO_HOST_MEM. The pointer is good until the next call. */
qn_status verify_report_add_file(volume_report_list *list, const char *path, verify_role role,
                                 verify_file_report **out_file, error_context *err);
void verify_report_free(volume_report_list *list); /* a zeroed list is legal */

/* Adds a check; `diag` may be null. */
void verify_add(verify_file_report *file, const char *name, q42_verdict verdict, const fmt_diag *diag);
/* PASS, or FAIL with the finding's diagnosis. */
void verify_add_finding(verify_file_report *file, const char *name, const q42_finding *finding);
/* With words of the host's own; `offset` and `index` as in a diagnosis. */
void verify_add_words(verify_file_report *file, const char *name, q42_verdict verdict, const char *format, ...)
    ERROR_PRINTF(4, 5);

/* Folds the checks of all files into their verdicts and the list's. A check that was not made counts as incomplete. */
void verify_report_fold(volume_report_list *list);

const char *verify_verdict_name(
    q42_verdict verdict); /* "pass", "fail", "incomplete", "not_applicable", "not_checked" */
const char *verify_role_name(verify_role role);       /* "standalone", "root", "child", "shard" */

/* The first failure, or the first incomplete check when nothing failed; null when everything passed. */
const verify_check *verify_report_first(const volume_report_list *list, const verify_file_report **out_file);

#endif
