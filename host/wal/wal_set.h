/* wal_set.h — the files of one log, read: a directory of wal-SEQUENCE.qwal, each named by the sequence of its first record.
 *
 *     wal-0000000000000001.qwal   wal-0000000000000a3f.qwal   checkpoint-0000000000000a3e.q42   lock
 *
 * A file goes on where the one before ended; only the last one may end with what a crash left. Reading takes no lock: a writer may go
 * on meanwhile, and the reader sees the units that were whole when it looked.
 *
 * Threading: immutable once opened.
 * Memory:    owned by the set; views of records live as long as it.
 * Errors:    QN_BAD_FILE with file, byte and rule; QN_NOT_FOUND when there is no such directory or no log in it.
 */
#ifndef HOST_WAL_SET_H
#define HOST_WAL_SET_H
#include <quoin/qwal.h>

#include "base/error.h"
#include "base/mapped_file.h"

#define WAL_NAME_SIZE 40u

typedef struct wal_file {
    char *path;
    uint64_t first; /* sequence that its first record has or will have */
    mapped_file file;
    qwal_log log;
} wal_file;

typedef struct wal_set {
    char *directory;
    wal_file *files; /* [n_files], in the order of time */
    size_t n_files;
} wal_set;

/* `note` may be null. To be closed. */
qn_status wal_set_open(const char *directory, fmt_mode mode, fmt_note_fn *note, void *note_ctx, wal_set *out_set, error_context *err);
void wal_set_close(wal_set *set); /* a zeroed one is legal */

/* Gives every record in order. Start with a zeroed walk; false after the last. */
typedef struct wal_set_walk {
    size_t file;
    qwal_walk at;
} wal_set_walk;
bool wal_set_next(const wal_set *set, wal_set_walk *walk, qwal_record *out_record);

/* The file with this first sequence, or null. */
const wal_file *wal_set_find(const wal_set *set, uint64_t first);

/* Whether a directory holds any file of a log. */
qn_status wal_set_exists(const char *directory, bool *out_exists, error_context *err);

/* DIRECTORY/wal-FIRST.qwal and the like, malloc'ed; null without memory. */
char *wal_path_of_log(const char *directory, uint64_t first);
char *wal_path_of_checkpoint(const char *directory, uint64_t last);

#endif
