/* weight_check.h — one parallel pass over all tensors: checksums where the format has them, and weights that are no
 * numbers.
 *
 * Threading: uses the team; one check at a time.
 * Memory:    a table with one entry a MiB of weights, freed before return.
 */
#ifndef HOST_WEIGHT_CHECK_H
#define HOST_WEIGHT_CHECK_H
#include <stdbool.h>

#include "base/progress.h"
#include "base/team.h"
#include "model/model.h"

typedef struct weight_check {
    bool check_values;      /* also look for NaN and infinity; checksums are always compared */
    const bool *is_wanted;  /* [n_tensors] by position in m->tensors; null = all */
    progress_fn *progress;  /* pieces done; may be null; called by the calling thread */
    void *ctx;
} weight_check;

/* P64: every blob against its CRC-32C, ternary rules, and values when asked. GGUF: values only. The fault reported is
 * the first in the order of the rules, then of the tensors, whatever thread met it. `workers` may be null. QN_CANCELLED
 * when progress said so; QN_IO when the file was cut meanwhile. */
qn_status weight_check_run(const model *m, const weight_check *check, team *workers, error_context *err);

#endif
