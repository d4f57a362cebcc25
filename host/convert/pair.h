/* pair.h — a container and its companion become visible together: the companion first, the container last, so that a
 * container that is there has its companion.
 *
 * What stands at the companion's place is replaced only when it is a model helper, and only by force. When the
 * container cannot be put in place after all, a companion that was new is taken away again.
 *
 * Threading: one thread at a time.
 * Memory:    the volume is made in memory; see small_volume.h.
 * Errors:    fmt_status and a diagnosis; the container's temporary file is left to the caller in every case but
 *            success.
 */
#ifndef HOST_PAIR_H
#define HOST_PAIR_H
#include <stdbool.h>

#include "base/atomic_file.h"
#include "base/progress.h"
#include "base/side_digest.h"
#include "convert/companion_write.h"

typedef struct pair_request {
    const key_image *keys;
    const char *p64_path;
    const char *companion_path;
    uint32_t metadata_crc;
    p64_form form;
    uint32_t page_log2;
    uint64_t timestamp_ms;
    bool is_forced;
    bool is_checked;       /* read the companion back and compare its keys with the source's, byte for byte */
    side_digest *digest;   /* of pair_begin_digest; null: begun and ended here */
    progress_fn *progress; /* of hashing the container; may be null */
    void *progress_ctx;
} pair_request;

/* May a companion be written there? FMT_IO: a file stands there that is no model helper, or one without force, or it
 * is the container's own place. To be asked before long work. */
fmt_status pair_check_target(const char *companion_path, const char *p64_path, bool is_forced, fmt_diag *diag);

/* Begins to hash a container that is written, beside what its caller does meanwhile. */
fmt_status pair_begin_digest(atomic_file *container, side_digest *out, fmt_diag *diag);

/* Hashes the written container, writes and checks its companion, then puts both in place. */
fmt_status pair_commit(const pair_request *request, atomic_file *container, q42_write_report *out_report,
                       fmt_diag *diag);

#endif
