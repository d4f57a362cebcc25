/* kill_at_call.c — kills the process before its N-th call that changes a file, N from KILL_AT_CALL. For LD_PRELOAD.
 *
 * A call is one of open for writing, write, pwrite, fsync, fdatasync, ftruncate, rename, renameat, unlink, linkat, mkdir, flock and close. With
 * KILL_SHORT a pwrite that is the N-th writes its first KILL_SHORT bytes and then the process ends. Without KILL_AT_CALL nothing happens.
 * With FAIL_SYNC the N-th call, when it is fsync, fails with EIO instead, and the process goes on.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* The C library's function of this name, as a type that is called. */
#define REAL(type, name) ((type)(void *)dlsym(RTLD_NEXT, name))

static atomic_long n_calls;

static long read_number(const char *name) {
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : -1;
}

/* True when this is the call at which the process is to end. */
static bool is_last_call(void) {
    return atomic_fetch_add(&n_calls, 1) + 1 == read_number("KILL_AT_CALL");
}

static void count_call(void) {
    if (is_last_call() && read_number("FAIL_SYNC") < 0) {
        raise(SIGKILL);
    }
}

static int call_open(const char *name, int folder, const char *path, int flags, mode_t mode) {
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0) {
        count_call();
    }
    return REAL(int (*)(int, const char *, int, mode_t), name)(folder, path, flags, mode);
}

int open(const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return call_open("openat", AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
    va_list args;
    va_start(args, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, mode_t) : 0;
    va_end(args);
    return call_open("openat", folder, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size) {
    count_call();
    return REAL(ssize_t (*)(int, const void *, size_t), "write")(fd, data, size);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    ssize_t (*real)(int, const void *, size_t, off_t) = REAL(ssize_t (*)(int, const void *, size_t, off_t), "pwrite");
    const long part = read_number("KILL_SHORT");
    if (is_last_call() && read_number("FAIL_SYNC") < 0) {
        if (part > 0) {
            real(fd, data, (size_t)part < size ? (size_t)part : size, at);
        }
        raise(SIGKILL);
    }
    return real(fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    return pwrite(fd, data, size, at);
}

int fsync(int fd) {
    if (is_last_call()) {
        if (read_number("FAIL_SYNC") >= 0) {
            errno = EIO;
            return -1;
        }
        raise(SIGKILL);
    }
    return REAL(int (*)(int), "fsync")(fd);
}

int fdatasync(int fd) {
    count_call();
    return REAL(int (*)(int), "fdatasync")(fd);
}

int ftruncate(int fd, off_t size) {
    count_call();
    return REAL(int (*)(int, off_t), "ftruncate")(fd, size);
}

int ftruncate64(int fd, off_t size) {
    return ftruncate(fd, size);
}

int rename(const char *from, const char *to) {
    count_call();
    return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    count_call();
    return REAL(int (*)(int, const char *, int, const char *), "renameat")(from_folder, from, to_folder, to);
}

int unlink(const char *path) {
    count_call();
    return REAL(int (*)(const char *), "unlink")(path);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    count_call();
    return REAL(int (*)(int, const char *, int, const char *, int), "linkat")(from_folder, from, to_folder, to, flags);
}

int mkdir(const char *path, mode_t mode) {
    count_call();
    return REAL(int (*)(const char *, mode_t), "mkdir")(path, mode);
}

int flock(int fd, int operation) {
    count_call();
    return REAL(int (*)(int, int), "flock")(fd, operation);
}

int close(int fd) {
    count_call();
    return REAL(int (*)(int), "close")(fd);
}
