/* atomic_file.h — a file that appears whole, or not at all.
 *
 *     create   a file without a name in the target's folder, which vanishes with the process however that ends; on file systems
 *              that have no such files a temporary file beside the target
 *     write    at any offset; bytes never written read as zero
 *     commit   sync, link or rename onto the target, sync the folder
 *     abort    take the temporary file away; also what a caller does after any failure
 *
 * While it is written a file is locked (flock), which tells it from what a killed process has left.
 *
 * Without force the target is not replaced: `create` refuses an existing one, and `commit` refuses one that appeared
 * meanwhile.
 *
 * Threading: one thread at a time per file; writes to disjoint ranges may run on several threads.
 * Memory:    fixed storage in the struct; a mapping is taken away by commit and abort.
 * Errors:    FMT_IO with the system's words and the path in diag->text (rule "file"); FMT_LIMIT when the disk has too
 * little
 *            free space. After a failed create there is nothing to abort; abort may be called all the same.
 */
#ifndef HOST_ATOMIC_FILE_H
#define HOST_ATOMIC_FILE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>

#define ATOMIC_PATH_SIZE 4096

typedef struct atomic_file {
    int fd; /* -1 when closed */
    bool is_forced;
    bool is_unnamed;  /* fd has no name yet */
    bool is_synced;   /* all of it is on disk */
    bool is_lazy;     /* set by a caller who commits several files: calls atomic_file_sync_folder behind the last */
    uint32_t mode;    /* permissions of the file that is replaced; 0 without one */
    uint64_t end;     /* one past the last byte written */
    void *map;        /* null when not mapped */
    uint64_t map_size;
    char path[ATOMIC_PATH_SIZE]; /* the target, a symbolic link already followed */
    char temporary[ATOMIC_PATH_SIZE]; /* "" when there is none */
} atomic_file;

/* Makes the temporary file. `size_needed` bytes must be free on that disk (0: not asked). */
fmt_status atomic_file_create(atomic_file *file, const char *path, bool is_forced, uint64_t size_needed,
                              fmt_diag *diag);

/* Writes all of `size` bytes at `offset`. */
fmt_status atomic_file_write(atomic_file *file, uint64_t offset, const void *data, uint64_t size, fmt_diag *diag);

/* The disk may begin to write this part, because nothing of it changes any more. */
void atomic_file_start_sync(const atomic_file *file, uint64_t offset, uint64_t size);

/* Maps what was written so far, read-only, until commit or abort. */
fmt_status atomic_file_map(atomic_file *file, fmt_span *out_span, fmt_diag *diag);

/* The pages of this part of the mapping are not needed for a while: keeps a check of a large file out of memory. */
void atomic_file_release(const atomic_file *file, uint64_t offset, uint64_t size);

/* For several files that have to appear together: everything that can fail or takes long is done before the first appears.
 * After sync nothing may be written. */
fmt_status atomic_file_sync(atomic_file *file, fmt_diag *diag);
/* Gives a file without a name the name of a temporary file, TARGET.PID-N.tmp, and syncs the folder. */
fmt_status atomic_file_stage(atomic_file *file, fmt_diag *diag);
void atomic_file_sync_folder(const char *path); /* the one that holds `path` */

/* The target is there, complete and on disk, or nothing has changed and the temporary file is gone. */
fmt_status atomic_file_commit(atomic_file *file, fmt_diag *diag);

/* Nothing is left of it. Does nothing on a committed or zeroed file. */
void atomic_file_abort(atomic_file *file);

#endif
