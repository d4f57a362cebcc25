/* wal_open.c — the lock, recovery, and new files. */
#define _DEFAULT_SOURCE /* flock */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/whole_io.h"
#include "wal/wal_internal.h"

#define LOCK_NAME "lock"
#define NEW_NAME "new"

static uint64_t read_clock(void *ctx) {
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

uint64_t wal_now(const wal *log) {
    return log->now(log->now_ctx);
}

const wal_state *wal_get_state(const wal *log) {
    return &log->state;
}

const char *wal_directory(const wal *log) {
    return log->directory;
}

qn_status wal_check_usable(const wal *log, error_context *err) {
    return log->is_failed ? FAIL(err, QN_IO, "%s: an earlier write failed and could not be undone; open the log again", log->directory)
                          : QN_OK;
}

/* ---------------------------------------------------------------- the folder */

static qn_status refuse_working_directory(const char *directory, error_context *err) {
    struct stat one, other;
    if (directory == NULL || directory[0] == '\0') {
        return FAIL(err, QN_BAD_INPUT, "no directory is given for the log");
    }
    if (stat(directory, &one) == 0 && stat(".", &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino) {
        return FAIL(err, QN_BAD_INPUT, "%s: is the working directory; a log has a directory of its own", directory);
    }
    return QN_OK;
}

static qn_status sync_parent(const char *directory, error_context *err) {
    char *copy = strdup(directory);
    size_t size = copy != NULL ? strlen(copy) : 0;
    while (size > 1 && copy[size - 1] == '/') {
        copy[--size] = '\0';
    }
    char *slash = copy != NULL ? strrchr(copy, '/') : NULL;
    const char *parent = copy == NULL || slash == NULL ? "." : slash == copy ? "/" : copy;
    if (slash != NULL && slash != copy) {
        *slash = '\0';
    }
    const int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_synced = fd >= 0 && fsync(fd) == 0;
    const int number = errno;
    if (fd >= 0) {
        close(fd);
    }
    free(copy);
    return is_synced ? QN_OK : error_from_errno(err, number, directory, "the folder that holds it cannot be synced");
}

static qn_status open_folder(wal *log, bool may_create, error_context *err) {
    if (may_create && mkdir(log->directory, 0700) == 0) {
        QN_TRY(sync_parent(log->directory, err), err, "making the directory of the log");
    } else if (may_create && errno != EEXIST) {
        return error_from_errno(err, errno, log->directory, "cannot be made");
    }
    log->folder = open(log->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return log->folder >= 0 ? QN_OK : error_from_errno(err, errno, log->directory, "cannot be opened");
}

static qn_status take_lock(wal *log, error_context *err) {
    log->lock = openat(log->folder, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log->lock < 0) {
        return error_from_errno(err, errno, log->directory, "its lock cannot be opened");
    }
    if (flock(log->lock, LOCK_EX | LOCK_NB) != 0) {
        return errno == EWOULDBLOCK ? FAIL(err, QN_BUSY, "%s: another process is writing this log", log->directory)
                                    : error_from_errno(err, errno, log->directory, "cannot be locked");
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- files */

static bool write_header(int fd, const qwal_header *header) {
    uint8_t bytes[QWAL_HEADER_BYTES];
    qwal_encode_header(header, bytes);
    return io_write_all(fd, bytes, sizeof bytes) && fsync(fd) == 0;
}

/* The file is there as a whole, with its name on disk, or under a name that nobody reads. */
static bool make_file(wal *log, const char *path, const qwal_header *header, int *out_fd) {
    const char *name = strrchr(path, '/') + 1;
    const int fd = openat(log->folder, NEW_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    const bool is_free = faccessat(log->folder, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0; /* under the lock nobody else makes it */
    errno = is_free ? 0 : EEXIST;
    const bool is_named = is_free && write_header(fd, header) && renameat(log->folder, NEW_NAME, log->folder, name) == 0;
    if (!is_named || fsync(log->folder) != 0) {
        const int number = errno;
        log->is_failed = log->is_failed || is_named; /* it may be there: nothing can be added to the file before it */
        close(fd);
        errno = number;
        return false;
    }
    *out_fd = fd;
    return true;
}

qn_status wal_start_file(wal *log, error_context *err) {
    const uint64_t first = log->state.last_sequence + 1;
    qwal_header header = {.created_ms = wal_now(log)};
    char *path = wal_path_of_log(log->directory, first);
    int fd = -1;
    if (path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    memcpy(header.checkpoint, log->state.carried, sizeof header.checkpoint);
    if (!make_file(log, path, &header, &fd)) {
        const qn_status status = error_from_errno(err, errno, path, "cannot be made");
        free(path);
        return status;
    }
    if (log->fd >= 0) {
        close(log->fd);
    }
    free(log->path);
    log->path = path;
    log->fd = fd;
    log->first = first;
    log->end = QWAL_HEADER_BYTES;
    return QN_OK;
}

/* What a crash left is cut off; the rest was whole, and therefore acknowledged or about to be. */
static qn_status cut_tail(wal *log, uint64_t n_torn_bytes, error_context *err) {
    if (n_torn_bytes > 0 && (ftruncate(log->fd, (off_t)log->end) != 0 || fsync(log->fd) != 0)) {
        return error_from_errno(err, errno, log->path, "what a crash left cannot be cut off");
    }
    return QN_OK;
}

static qn_status continue_file(wal *log, const wal_file *last, error_context *err) {
    struct stat info;
    log->path = strdup(last->path);
    if (log->path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    log->fd = open(last->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (log->fd < 0 || fstat(log->fd, &info) != 0) {
        return error_from_errno(err, errno, last->path, "cannot be written");
    }
    if ((uint64_t)info.st_dev != last->file.device || (uint64_t)info.st_ino != last->file.inode ||
        (uint64_t)info.st_size != last->file.span.size) {
        return FAIL(err, QN_BUSY, "%s: was changed by another process; run the command again", last->path);
    }
    log->first = last->first;
    log->end = last->log.end;
    return QN_OK;
}

static qn_status recover(wal *log, wal_recovery *recovery, error_context *err) {
    wal_set set = {0};
    qn_status status = wal_set_open(log->directory, FMT_MODE_DEFAULT, NULL, NULL, &set, err);
    if (status < 0) {
        return status;
    }
    const wal_file *last = &set.files[set.n_files - 1];
    recovery->n_torn_bytes = last->log.n_torn_bytes;
    status = wal_state_build(&set, &log->state, err);
    status = status < 0 ? status : continue_file(log, last, err);
    wal_set_close(&set); /* before the file is cut below its mapping */
    return status < 0 ? status : cut_tail(log, recovery->n_torn_bytes, err);
}

/* ---------------------------------------------------------------- opening */

static qn_status open_files(wal *log, const wal_options *options, wal_recovery *recovery, error_context *err) {
    bool is_there = false;
    QN_TRY(open_folder(log, options->may_create, err), err, "opening the log");
    QN_TRY(wal_set_exists(log->directory, &is_there, err), err, "opening the log");
    if (!is_there && !options->may_create) { /* a wrong directory gets no lock */
        return FAIL(err, QN_NOT_FOUND, "%s: holds no log (no file wal-*.qwal)", log->directory);
    }
    QN_TRY(take_lock(log, err), err, "opening the log");
    QN_TRY(wal_set_exists(log->directory, &is_there, err), err, "opening the log"); /* now nobody else can make one */
    return is_there ? recover(log, recovery, err) : wal_start_file(log, err);
}

qn_status wal_open(const wal_options *options, wal **out_log, wal_recovery *out_recovery, error_context *err) {
    wal_recovery recovery = {0};
    const uint64_t rotate = options->rotate_bytes != 0 ? options->rotate_bytes : WAL_DEFAULT_ROTATE;
    QN_TRY(refuse_working_directory(options->directory, err), err, "opening the log");
    if (rotate < WAL_LEAST_ROTATE) {
        return FAIL(err, QN_BAD_INPUT, "a log file has at least %" PRIu64 " bytes, not %" PRIu64, WAL_LEAST_ROTATE, rotate);
    }
    wal *log = calloc(1, sizeof *log);
    if (log == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    log->lock = log->folder = log->fd = -1;
    log->rotate_bytes = rotate;
    log->now = options->now != NULL ? options->now : read_clock;
    log->now_ctx = options->now_ctx;
    log->directory = strdup(options->directory);
    qn_status status = log->directory != NULL ? open_files(log, options, &recovery, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    status = status < 0 ? status : wal_expire(log, &recovery.n_expired, err);
    if (status < 0) {
        wal_close(log);
        return status;
    }
    if (out_recovery != NULL) {
        *out_recovery = recovery;
    }
    *out_log = log;
    return QN_OK;
}

void wal_close(wal *log) {
    if (log == NULL) {
        return;
    }
    const int fds[] = {log->fd, log->folder, log->lock}; /* the lock goes last */
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    wal_state_free(&log->state);
    text_buffer_free(&log->unit);
    text_buffer_free(&log->quins);
    term_marks_free(&log->terms);
    free(log->path);
    free(log->directory);
    free(log);
}
