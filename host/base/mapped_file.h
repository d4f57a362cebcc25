/* mapped_file.h — a file mapped read-only, and what happens when somebody cuts it while it is in use.
 *
 * Reading a page that lies behind the new end of a truncated file raises SIGBUS. The first mapping installs a handler
 * that puts a page of zeros there and remembers it; mapped_file_check then answers QN_IO, and a step that read such a
 * page is thrown away. A SIGBUS that is not ours goes to whoever handled it before.
 *
 * Threading: open and close are serialised inside; a mapping may be read from any thread.
 * Memory:    owned by the mapped_file until close.
 */
#ifndef HOST_MAPPED_FILE_H
#define HOST_MAPPED_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

typedef struct mapped_file {
    fmt_span span;        /* whole file; data is null for an empty file */
    int fd;
    char *path;           /* owned copy, for messages */
    uint64_t device, inode;
    int64_t modified_ns;
    uint32_t slot;        /* in the table of mappings */
} mapped_file;

/* Maps `path` read-only. Refuses what is no regular file. QN_NOT_FOUND, QN_DENIED or QN_IO with path and reason. */
qn_status mapped_file_open(const char *path, mapped_file *out_file, error_context *err);

/* Unmaps; null and a zeroed struct are legal. */
void mapped_file_close(mapped_file *file);

/* QN_OK, or QN_IO when a page of it could not be read since it was opened, or the file is shorter now. */
qn_status mapped_file_check(const mapped_file *file, error_context *err);

/* Tells the kernel what is coming; errors are ignored. */
void mapped_file_will_need(const mapped_file *file, uint64_t offset, uint64_t size);
void mapped_file_dont_need(const mapped_file *file, uint64_t offset, uint64_t size);

/* Gives the pages that lie wholly in [data, data + size) back, when they belong to any mapping of this module; memory of other
 * kinds is left alone. They are read from the file again when somebody wants them. [any-thread] */
void mapped_file_forget(const void *data, uint64_t size);

#endif
