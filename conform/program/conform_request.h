/* conform_request.h — what the user asked for, checked.
 *
 * Threading: one thread.
 * Memory:    texts point into argv; a value otherwise.
 * Errors:    QN_BAD_INPUT with one sentence that names the option and the value.
 */
#ifndef CONFORM_REQUEST_H
#define CONFORM_REQUEST_H
#include "base/error.h"
#include "cli/options.h"
#include "conform.h"

#define CONFORM_LEVELS 8u
#define CONFORM_PATH_SIZE 4096
#define CONFORM_KEY_SIZE 64

/* Exit statuses: documented in quoin-conform(1) and stable. */
enum {
    CONFORM_PASSED = 0,
    CONFORM_FAILED = 1,
    CONFORM_USAGE = 2,
    CONFORM_NOT_HERE = 3, /* no such device, class or CPU level on this machine */
    CONFORM_IO = 6,
    CONFORM_INTERRUPTED = 130
};

typedef struct conform_request {
    const char *device, *profile, *levels, *filter, *repro, *compare, *report, *waivers, *numeric, *mask;
    option_list options;
    uint64_t seed;
    uint32_t workers;
    double timeout;             /* seconds for one test */
    double percent;             /* with compare: what counts as a difference */
    bool bench, coverage, list, json, in_process, quick, quiet, verbose, help, version;
    bool has_levels, has_seed, has_percent;
    /* worked out from these */
    char path[CONFORM_PATH_SIZE]; /* absolute; "" for the linked-in reference backend */
    const char *name;           /* as the user gave it */
    uint32_t must;              /* CF_MUST_* of the profile; 0 for none */
    uint32_t level_mask;        /* bit n: level n */
    uint64_t features;
    uint32_t numeric_class;     /* QN_NUMERIC_* */
    char repro_id[256];         /* id of the one test that is repeated; "" for none */
    uint64_t repro_case;        /* 0: all of its cases */
    qn_option pairs[OPTION_LIST_MAX];
    char keys[OPTION_LIST_MAX][CONFORM_KEY_SIZE];
} conform_request;

/* Reads argv[0 .. argc). Sets *out_status to the exit status that a refusal deserves. */
qn_status conform_request_read(conform_request *out, int argc, char *const *argv, int *out_status, error_context *err);

void conform_print_help(void);

#endif
