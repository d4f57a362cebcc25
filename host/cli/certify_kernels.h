/* certify_kernels.h — the conformance suite, run as a program of its own on the backend's plugin: every op against scalar code in 64 bits.
 *
 * It is another program because the suite shares no line with the engine and should not begin to, and because a kernel that crashes then takes
 * nothing else with it.
 *
 * Threading: one thread at a time; waits for the child.
 */
#ifndef HOST_CLI_CERTIFY_KERNELS_H
#define HOST_CLI_CERTIFY_KERNELS_H
#include "base/text_buffer.h"
#include "cli/command.h"
#include "prove/prove_runtime.h"

typedef struct certify_kernels_options {
    const char *program; /* null: quoin-conform beside this program */
    const char *device;  /* id */
    const char *numeric;
    uint64_t seed;
    bool is_quick;
} certify_kernels_options;

typedef struct certify_kernels_result {
    bool has_passed;
    char reason[512];     /* the first test that failed, or the first kernel that no test is about; "" when it passed */
    uint64_t n_tests, n_cases;
    text_buffer vectors;  /* a line for each test that passed: id and cases */
    json_t *report;       /* the suite's whole report */
} certify_kernels_result;

/* certify_kernels_free is right whatever it answers. QN_NOT_FOUND when the suite is not there; QN_CANCELLED. */
qn_status certify_kernels(command_context *c, const prove_runtime *running, const certify_kernels_options *options,
                          certify_kernels_result *out, error_context *err);
void certify_kernels_free(certify_kernels_result *result);

#endif
