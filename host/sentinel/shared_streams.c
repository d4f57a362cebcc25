/* shared_streams.c — memfd, seals, link, lock. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include "sentinel/shared_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static qn_status fail_open(shared_streams *s, const char *path, const char *doing, error_context *err) {
    const int number = errno;
    shared_streams_close(s);
    return error_from_errno(err, number, path, doing);
}

static bool make_memory(shared_streams *s) {
    s->bytes = streams_size(QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES);
    s->fd = memfd_create("quoin-observer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (s->fd < 0 || ftruncate(s->fd, (off_t)s->bytes) != 0 || fchmod(s->fd, S_IRUSR | S_IWUSR) != 0
        || fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return false;
    }
    void *block = mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    s->block = block == MAP_FAILED ? NULL : block;
    return s->block != NULL;
}

/* Takes away a link of ours whose run is gone. */
static void remove_dead_link(const char *path) {
    char target[64];
    struct stat there;
    const ssize_t n = readlink(path, target, sizeof target);
    if (n > 6 && memcmp(target, "/proc/", 6) == 0 && stat(path, &there) != 0 && errno == ENOENT) {
        unlink(path);
    }
}

static qn_status make_link(shared_streams *s, const char *path, error_context *err) {
    char target[64];
    snprintf(target, sizeof target, "/proc/%ld/fd/%d", (long)getpid(), s->fd);
    remove_dead_link(path);
    if (symlink(target, path) != 0) {
        const int number = errno;
        shared_streams_close(s);
        return number == EEXIST ? FAIL(err, QN_BUSY, "%s: is there already; choose another name for --observe, or remove it", path)
                                : error_from_errno(err, number, path, "cannot make the link");
    }
    s->path = strdup(path);
    return QN_OK;
}

qn_status shared_streams_publish(const char *path, shared_streams *out, run_streams *run, error_context *err) {
    *out = (shared_streams){.fd = -1};
    if (!make_memory(out)) {
        return fail_open(out, path, "cannot make shared memory", err);
    }
    run_streams_begin(run, out->block, QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES);
    return make_link(out, path, err);
}

/* Only what has the size of a block is mapped: a file that could be cut while it is read is none of ours, and the seals are asked for. */
static bool is_sealed(int fd) {
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

static qn_status map_theirs(shared_streams *s, const char *path, error_context *err) {
    struct stat about;
    if (fstat(s->fd, &about) != 0) {
        return fail_open(s, path, "cannot look at it", err);
    }
    if (!S_ISREG(about.st_mode) || !is_sealed(s->fd)) {
        shared_streams_close(s);
        return FAIL(err, QN_BAD_FILE, "%s: is no memory that quoin run --observe made", path);
    }
    if (flock(s->fd, LOCK_EX | LOCK_NB) != 0) {
        const int number = errno;
        shared_streams_close(s);
        return number == EWOULDBLOCK ? FAIL(err, QN_BUSY, "%s: another observer reads this run; one can", path)
                                     : error_from_errno(err, number, path, "cannot lock it");
    }
    s->bytes = (size_t)about.st_size;
    void *block = s->bytes > 0 ? mmap(NULL, s->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0) : MAP_FAILED;
    s->block = block == MAP_FAILED ? NULL : block;
    return s->block != NULL ? QN_OK : fail_open(s, path, "cannot map it", err);
}

qn_status shared_streams_attach(const char *path, shared_streams *out, observer_streams *observer, error_context *err) {
    *out = (shared_streams){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
    if (out->fd < 0) {
        return error_from_errno(err, errno, path, "cannot open it");
    }
    QN_TRY(map_theirs(out, path, err), err, "attaching to a run");
    const qn_status status = observer_streams_attach(observer, out->block, out->bytes, err);
    if (status < 0) {
        shared_streams_close(out);
        return error_put_path(err, status, path);
    }
    return QN_OK;
}

void shared_streams_close(shared_streams *s) {
    if (s->path != NULL) {
        unlink(s->path);
    }
    if (s->block != NULL) {
        munmap(s->block, s->bytes);
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    free(s->path);
    *s = (shared_streams){.fd = -1};
}
