/* atomic_file.c — temporary file in the same folder, sync, rename, sync of the folder. */
#define _GNU_SOURCE /* O_TMPFILE, madvise, realpath, sync_file_range */
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/whole_io.h"

#define PROC_LINK_SIZE 40

typedef unsigned long long ull;

static fmt_status refuse(fmt_diag *diag, fmt_status status, const char *path, const char *what, const char *why) {
    if (diag != NULL) {
        *diag = (fmt_diag){.rule = "file", .section = "", .index = FMT_NO_INDEX};
        /* The reason comes first: a long path may be cut, the reason may not. */
        snprintf(diag->text, sizeof diag->text, "%s: %s: %.200s", what, why, path);
    }
    return status;
}

static fmt_status refuse_errno(fmt_diag *diag, int number, const char *path, const char *what) {
    return refuse(diag, FMT_IO, path, what, strerror(number));
}

/* The folder of a path, for statvfs and for syncing it. */
static void find_folder(const char *path, char out[ATOMIC_PATH_SIZE]) {
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (length == 0) {
        memcpy(out, ".", 2);
        return;
    }
    memcpy(out, path, length);
    out[length] = '\0';
}

/* A symbolic link is followed, so that what it points to is replaced, not the link. A path that does not exist yet
 * stays. */
static fmt_status set_target(atomic_file *file, const char *path, fmt_diag *diag) {
    struct stat info;
    char *real = lstat(path, &info) == 0 && S_ISLNK(info.st_mode) ? realpath(path, NULL) : NULL;
    const char *target = real != NULL ? real : path;
    const size_t length = strlen(target);
    const bool fits = length > 0 && length + 48 < ATOMIC_PATH_SIZE;
    if (fits) {
        memcpy(file->path, target, length + 1);
    }
    free(real);
    return fits ? FMT_OK : refuse(diag, FMT_IO, path, "Cannot write", "the path is empty or too long");
}

static fmt_status check_target(atomic_file *file, fmt_diag *diag) {
    struct stat info;
    if (lstat(file->path, &info) != 0) {
        return FMT_OK; /* a missing folder shows when the temporary file is made */
    }
    if (S_ISDIR(info.st_mode)) {
        return refuse(diag, FMT_IO, file->path, "Cannot write", "it is a folder");
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse(diag, FMT_IO, file->path, "Cannot write", "it is no regular file");
    }
    if (!file->is_forced) {
        return refuse(diag, FMT_IO, file->path, "Will not write", "the file exists; use --force to replace it");
    }
    file->mode = (uint32_t)info.st_mode & 0777;
    return FMT_OK;
}

static fmt_status check_space(const char *path, uint64_t size_needed, fmt_diag *diag) {
    char folder[ATOMIC_PATH_SIZE], why[96];
    struct statvfs info;
    find_folder(path, folder);
    if (statvfs(folder, &info) != 0) {
        return refuse_errno(diag, errno, folder, "Cannot write");
    }
    const uint64_t unit = info.f_frsize != 0 ? info.f_frsize : info.f_bsize;
    const uint64_t free_bytes = unit != 0 && info.f_bavail > UINT64_MAX / unit ? UINT64_MAX : unit * info.f_bavail;
    if (size_needed > free_bytes) {
        snprintf(why, sizeof why, "%llu bytes are needed on this disk, %llu are free", (ull)size_needed,
                 (ull)free_bytes);
        return refuse(diag, FMT_LIMIT, path, "Will not write", why);
    }
    return FMT_OK;
}

static void link_to_descriptor(int fd, char out[PROC_LINK_SIZE]) {
    snprintf(out, PROC_LINK_SIZE, "/proc/self/fd/%d", fd);
}

/* A file without a name vanishes with the process, whatever ends it. Not every file system has them, and giving such a
 * file its name later needs /proc: -1 then. */
static int open_unnamed(const atomic_file *file) {
    char folder[ATOMIC_PATH_SIZE], descriptor[PROC_LINK_SIZE];
    find_folder(file->path, folder);
    const int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    if (fd >= 0) {
        link_to_descriptor(fd, descriptor);
        if (access(descriptor, F_OK) == 0) {
            return fd;
        }
        close(fd);
    }
    return -1;
}

static void make_temporary_name(atomic_file *file, unsigned attempt) {
    snprintf(file->temporary, sizeof file->temporary, "%.*s.%ld-%u.tmp", ATOMIC_PATH_SIZE - 48, file->path, (long)getpid(), attempt);
}

/* A name that nobody has: the process and a counter. O_EXCL makes a file that exists already, or a link laid as a
 * trap, fail. */
static int open_temporary(atomic_file *file) {
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        make_temporary_name(file, attempt);
        const int fd = open(file->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) {
            return fd;
        }
    }
    return -1;
}

fmt_status atomic_file_create(atomic_file *file, const char *path, bool is_forced, uint64_t size_needed,
                              fmt_diag *diag) {
    *file = (atomic_file){.fd = -1, .is_forced = is_forced};
    fmt_status status = set_target(file, path, diag);
    if (status == FMT_OK) {
        status = check_target(file, diag);
    }
    if (status == FMT_OK) {
        status = check_space(file->path, size_needed, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    file->fd = open_unnamed(file);
    file->is_unnamed = file->fd >= 0;
    if (!file->is_unnamed) {
        file->fd = open_temporary(file);
    }
    if (file->fd < 0) {
        const int number = errno;
        file->temporary[0] = '\0';
        return refuse_errno(diag, number, file->path, "Cannot write");
    }
    (void)flock(file->fd, LOCK_EX | LOCK_NB);
    return FMT_OK;
}

fmt_status atomic_file_write(atomic_file *file, uint64_t offset, const void *data, uint64_t size, fmt_diag *diag) {
    if (!io_write_all_at(file->fd, data, size, offset)) {
        return refuse_errno(diag, errno, file->path, "Cannot write");
    }
    if (offset + size > file->end) {
        file->end = offset + size;
    }
    return FMT_OK;
}

void atomic_file_start_sync(const atomic_file *file, uint64_t offset, uint64_t size) {
    (void)sync_file_range(file->fd, (off_t)offset, (off_t)size, SYNC_FILE_RANGE_WRITE); /* only a hint: commit syncs the file */
}

fmt_status atomic_file_map(atomic_file *file, fmt_span *out_span, fmt_diag *diag) {
    if (file->map == NULL && file->end > 0) {
        void *map = mmap(NULL, file->end, PROT_READ, MAP_SHARED, file->fd, 0);
        if (map == MAP_FAILED) {
            return refuse_errno(diag, errno, file->path, "Cannot read back");
        }
        file->map = map;
        file->map_size = file->end;
    }
    *out_span = (fmt_span){file->map, file->map_size};
    return FMT_OK;
}

void atomic_file_release(const atomic_file *file, uint64_t offset, uint64_t size) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t begin = offset / page * page;
    if (file->map != NULL && offset + size <= file->map_size) {
        /* A file's pages, shared and clean as far as this process goes: they come back when they are read again. */
        (void)madvise((uint8_t *)file->map + begin, offset + size - begin, MADV_DONTNEED);
    }
}

static void unmap(atomic_file *file) {
    if (file->map != NULL) {
        munmap(file->map, file->map_size);
        file->map = NULL;
    }
}

/* Without force an existing target must survive even when it came into being a moment ago: a hard link refuses it. File
 * systems without hard links get a last look instead. */
static int put_in_place(const atomic_file *file) {
    struct stat info;
    if (file->is_forced) {
        return rename(file->temporary, file->path);
    }
    if (link(file->temporary, file->path) == 0) {
        return unlink(file->temporary);
    }
    if (errno == EEXIST) {
        return -1;
    }
    if (lstat(file->path, &info) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(file->temporary, file->path);
}

/* A temporary name for a file that has none. */
static int give_temporary_name(atomic_file *file) {
    char descriptor[PROC_LINK_SIZE];
    int result = -1;
    link_to_descriptor(file->fd, descriptor);
    for (unsigned attempt = 0; attempt < 1000 && result != 0; attempt++) {
        make_temporary_name(file, attempt);
        result = linkat(AT_FDCWD, descriptor, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW);
        if (result != 0 && errno != EEXIST) {
            break;
        }
    }
    if (result != 0) {
        file->temporary[0] = '\0'; /* not ours */
    }
    return result;
}

/* The target's name for a file that has none. Replacing needs a name for the moment between link and rename. */
static int give_name(atomic_file *file) {
    char descriptor[PROC_LINK_SIZE];
    if (file->is_forced) {
        return give_temporary_name(file) == 0 ? rename(file->temporary, file->path) : -1;
    }
    link_to_descriptor(file->fd, descriptor);
    return linkat(AT_FDCWD, descriptor, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW);
}

/* A rename is on disk when its folder is. Folders that cannot be synced (some network disks) are let be. */
void atomic_file_sync_folder(const char *path) {
    char folder[ATOMIC_PATH_SIZE];
    find_folder(path, folder);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

static int sync_file(atomic_file *file) {
    unmap(file);
    if (!file->is_synced &&
        ((file->mode != 0 && fchmod(file->fd, (mode_t)file->mode) != 0) || fsync(file->fd) != 0)) {
        return errno;
    }
    file->is_synced = true;
    return 0;
}

fmt_status atomic_file_sync(atomic_file *file, fmt_diag *diag) {
    const int number = sync_file(file);
    return number == 0 ? FMT_OK : refuse_errno(diag, number, file->path, "Cannot write");
}

fmt_status atomic_file_stage(atomic_file *file, fmt_diag *diag) {
    if (file->is_unnamed) {
        if (give_temporary_name(file) != 0) {
            return refuse_errno(diag, errno, file->path, "Cannot write");
        }
        file->is_unnamed = false;
    }
    atomic_file_sync_folder(file->path);
    return FMT_OK;
}

fmt_status atomic_file_commit(atomic_file *file, fmt_diag *diag) {
    int number = sync_file(file);
    if (number == 0 && file->is_unnamed && give_name(file) != 0) {
        number = errno;
    }
    if (close(file->fd) != 0 && number == 0) {
        number = errno; /* network disks report a full quota here */
    }
    file->fd = -1;
    if (number == 0 && !file->is_unnamed && put_in_place(file) != 0) {
        number = errno;
    }
    file->is_unnamed = false;
    if (number != 0) {
        atomic_file_abort(file);
        return refuse_errno(diag, number, file->path, "Cannot write");
    }
    file->temporary[0] = '\0';
    if (!file->is_lazy) {
        atomic_file_sync_folder(file->path);
    }
    return FMT_OK;
}

void atomic_file_abort(atomic_file *file) {
    unmap(file);
    if (file->fd >= 0 && (file->is_unnamed || file->temporary[0] != '\0')) {
        close(file->fd);
    }
    if (file->temporary[0] != '\0') {
        unlink(file->temporary);
        file->temporary[0] = '\0';
    }
    file->is_unnamed = false;
    file->fd = -1;
}
