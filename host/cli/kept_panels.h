/* kept_panels.h — panels of a model that are made once and kept: $XDG_CACHE_HOME/quoin/panels/HASH.p64.
 *
 * The file is a container in the panel layout, made of the model by the same code as `convert --layout panel`, and is checked as
 * any container is each time: every rule, every checksum. HASH stands for the model's file as it lies on this machine: device,
 * inode, size, and the times of its last changes, so a file that was touched gets panels of its own. When all of them are
 * more than KEPT_PANELS_BYTES, those that were not used for the longest time go.
 *
 * Whatever fails here, a full disk or a model beyond the 4 GiB of a container, costs time and nothing else: it is told, and the
 * model is used as it is.
 *
 * Threading: one thread; the team checks and the caller's thread makes.
 * Memory:    what converting takes.
 */
#ifndef HOST_KEPT_PANELS_H
#define HOST_KEPT_PANELS_H
#include "cli/command.h"
#include "model/model.h"

#define KEPT_PANELS_BYTES (UINT64_C(16) << 30)

/* `m` was opened with skip_integrity. Afterwards its weights are checked, unless is_lazy, and are panels where that was possible.
 * QN_CANCELLED: progress said so; otherwise as model_check_weights. */
qn_status kept_panels_use(command_context *c, model *m, const model_options *options, bool is_lazy, error_context *err);

#endif
