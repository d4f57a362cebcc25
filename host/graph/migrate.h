/* migrate.h — version 2 volumes become version 3: a new header before the same bytes.
 *
 * The new file is opened before it takes the old one's place; a volume that would not open is left alone.
 *
 * Threading: reentrant.
 */
#ifndef HOST_GRAPH_MIGRATE_H
#define HOST_GRAPH_MIGRATE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"

typedef struct migrate_report {
    uint16_t version_before, flags_before, flags_after;
    bool is_changed; /* false for a volume of version 3 or 4, which is left as it is */
    uint64_t bytes;
} migrate_report;

/* `output` may be `path` itself. A dry run writes nothing, but checks everything that can be. */
qn_status migrate_header(const char *path, const char *output, bool is_forced, bool is_dry, progress_fn *progress,
                         void *progress_ctx, migrate_report *out_report, error_context *err);

#endif
