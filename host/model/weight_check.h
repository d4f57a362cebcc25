/* weight_check.h — one parallel pass over all tensors: checksums where the format has them, and weights that are no
 * numbers.
 *
 * Threading: uses the team; one check at a time.
 * Memory:    a table with one entry a tensor, freed before return.
 */
#ifndef HOST_WEIGHT_CHECK_H
#define HOST_WEIGHT_CHECK_H
#include <stdbool.h>

#include "base/team.h"
#include "model/model.h"

/* P64: every blob against its CRC-32C, ternary rules, and (with `check_values`) NaN and infinity. GGUF: values only.
 * is_wanted: [n_tensors] by position in m->tensors, or null for all. The fault reported is the first in the order of
 * the rules, then of the tensors, whatever thread met it. */
qn_status weight_check_run(const model *m, bool check_values, const bool *is_wanted, team *workers, error_context *err);

#endif
