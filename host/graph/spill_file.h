/* spill_file.h — what does not fit into memory, in a file without a name beside the target.
 *
 * The file has no name, or loses it right after it was made, so it vanishes with the process however that ends.
 *
 * Threading: one thread at a time per file; reading may go on on several threads while nobody appends.
 * Memory:    the struct.
 * Errors:    QN_IO with the folder and the system's words.
 */
#ifndef HOST_GRAPH_SPILL_FILE_H
#define HOST_GRAPH_SPILL_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

typedef struct spill_file {
    const char *target; /* borrowed: the path beside which it lies */
    int fd;             /* -1 until the first append */
    uint64_t end;       /* bytes appended */
} spill_file;

/* Makes nothing yet. */
void spill_file_init(spill_file *file, const char *target);
qn_status spill_file_append(spill_file *file, const void *data, uint64_t size, error_context *err);
/* [offset, offset + size) lies inside what was appended. */
qn_status spill_file_read(const spill_file *file, uint64_t offset, void *room, uint64_t size, error_context *err);
/* These bytes are not needed any more: gives their space back where the file system can. */
void spill_file_discard(const spill_file *file, uint64_t offset, uint64_t size);
void spill_file_close(spill_file *file);

#endif
