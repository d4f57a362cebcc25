/* write_behind.h — bytes for a large new file, gathered into windows that a thread of its own writes.
 *
 * Windows end at multiples of their size. So large files stand in the page cache in large pages, which are mapped later with a
 * few faults instead of one for every 4 KiB, and the disk begins to write while the next window is filled.
 *
 * Threading: one thread at a time per object; the object's own thread writes. Without a thread the caller's writes.
 * Memory:    two windows of 8 MiB, from begin to end.
 * Errors:    the first failure is kept and given by every later call.
 *
 *     status = write_behind_begin(&out, &file, &diag);
 *     ... write_behind_put(&out, at, bytes, size) ...
 *     status = write_behind_end(&out, &diag);
 */
#ifndef HOST_WRITE_BEHIND_H
#define HOST_WRITE_BEHIND_H
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomic_file.h"

typedef struct write_window {
    uint8_t *bytes;
    uint64_t at, used; /* offset in the file of bytes[0]; bytes filled */
} write_window;

typedef struct write_behind {
    atomic_file *file; /* borrowed until end; touched by the writing thread alone */
    write_window windows[2];
    uint32_t filling; /* the window that put fills; the other one is being written or is empty */
    bool has_thread, has_failed, is_ending;
    bool is_busy; /* the other window waits or is being written; this and below under the lock */
    fmt_diag failure;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
} write_behind;

/* FMT_NO_SPACE: no memory for the windows; nothing has begun. */
fmt_status write_behind_begin(write_behind *out, atomic_file *file, fmt_diag *diag);

/* The bytes at this offset of the file; quickest when offsets go on where the last call ended. Small gaps become zeros.
 * FMT_IO: an earlier window could not be written; end tells why. */
fmt_status write_behind_put(write_behind *w, uint64_t offset, const void *data, uint64_t size);

/* Writes what is left and lets go of thread and memory, also after a failure. FMT_IO: what atomic_file_write said. */
fmt_status write_behind_end(write_behind *w, fmt_diag *diag);

#endif
