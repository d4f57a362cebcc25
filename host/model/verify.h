/* verify.h — is this file what it says? Structure, checksums and weights of P64 and GGUF, a P64's companion volume;
 * the header of Safetensors.
 * Nothing about whether the model can be run.
 *
 * Threading: uses the team; one verification at a time.
 */
#ifndef HOST_VERIFY_H
#define HOST_VERIFY_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>

#include "base/error.h"
#include "base/progress.h"
#include "base/team.h"
#include "model/companion.h"

typedef struct verify_options_set {
    fmt_mode mode;
    bool check_values;  /* also look for NaN and infinity */
    const char *companion; /* of a P64; null = beside it, by its name */
    fmt_note_fn *note;  /* may be null */
    void *note_ctx;
    progress_fn *progress; /* may be null; false ends it with QN_CANCELLED */
    void *progress_ctx;
} verify_options_set;

typedef struct verify_report {
    const char *format; /* "P64", "GGUF", "Safetensors", "Safetensors index", "unknown" */
    uint64_t n_tensors;
    uint64_t bytes;     /* of the file */
    companion_state companion; /* of a P64; when it is bound, its keys and the SHA-256 of the container were checked */
    double seconds;
    double check_seconds, digest_seconds; /* of it: reading checksums and weights; beside it, the SHA-256 that a companion names */
} verify_report;

/* QN_OK, or the first broken rule in *err. *out_report is always filled as far as it came. */
qn_status verify_file(const char *path, const verify_options_set *options, team *workers, verify_report *out_report,
                      error_context *err);

#endif
