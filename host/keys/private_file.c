/* private_file.c — files for their owner alone. */
#define _DEFAULT_SOURCE /* explicit_bzero */
#include "keys/private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/whole_io.h"

#define MODE_OF_OTHERS 077

void private_file_forget(void *data, size_t size) {
    explicit_bzero(data, size);
}

qn_status private_file_create(const char *path, const void *data, size_t size, error_context *err) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return errno == EEXIST ? FAIL(err, QN_BAD_INPUT, "%s: is there already and is not replaced; choose another name", path)
                               : error_from_errno(err, errno, path, "cannot be made");
    }
    bool is_right = fchmod(fd, 0600) == 0 && io_write_all(fd, data, size) && fsync(fd) == 0;
    int number = errno;
    if (close(fd) != 0 && is_right) {
        is_right = false;
        number = errno;
    }
    if (!is_right) {
        unlink(path);
        return error_from_errno(err, number, path, "cannot be written");
    }
    atomic_file_sync_folder(path);
    return QN_OK;
}

static qn_status check_private(int fd, const char *path, error_context *err) {
    struct stat info;
    if (fstat(fd, &info) != 0) {
        return error_from_errno(err, errno, path, "cannot be looked at");
    }
    if (!S_ISREG(info.st_mode)) {
        return FAIL(err, QN_BAD_INPUT, "%s: is no regular file", path);
    }
    if ((info.st_mode & MODE_OF_OTHERS) != 0) {
        return FAIL(err, QN_DENIED, "%s: has mode %04o, so others can reach this secret; chmod 600 it, and think of making a new one",
                    path, (unsigned)(info.st_mode & 07777));
    }
    if (info.st_uid != geteuid() && info.st_uid != 0) {
        return FAIL(err, QN_DENIED, "%s: belongs to user %u, not to the one who runs this", path, (unsigned)info.st_uid);
    }
    return QN_OK;
}

static qn_status read_all(int fd, const char *path, char *out, size_t room, size_t *out_size, error_context *err) {
    size_t size = 0;
    for (;;) {
        const ssize_t n = read(fd, out + size, room - size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return error_from_errno(err, errno, path, "cannot be read");
        }
        if (n == 0) {
            break;
        }
        size += (size_t)n;
        if (size == room) {
            return FAIL(err, QN_LIMIT, "%s: has more than %zu bytes and is no file of this kind", path, room - 1);
        }
    }
    *out_size = size;
    return QN_OK;
}

qn_status private_file_read(const char *path, char out[PRIVATE_FILE_SIZE], size_t *out_size, error_context *err) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_from_errno(err, errno, path, "cannot be opened");
    }
    qn_status status = check_private(fd, path, err);
    status = status < 0 ? status : read_all(fd, path, out, PRIVATE_FILE_SIZE, out_size, err);
    close(fd);
    return status;
}

static qn_status open_passphrase(const char *path, int *out_fd, error_context *err) {
    struct stat info;
    *out_fd = STDIN_FILENO;
    if (strcmp(path, "-") == 0) {
        return QN_OK;
    }
    *out_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*out_fd < 0 || fstat(*out_fd, &info) != 0) {
        return error_from_errno(err, errno, path, "cannot be opened");
    }
    return S_ISREG(info.st_mode) ? check_private(*out_fd, path, err) : QN_OK;
}

qn_status private_file_passphrase(const char *path, char out[PASSPHRASE_SIZE], error_context *err) {
    char text[PRIVATE_FILE_SIZE];
    size_t size = 0;
    int fd = -1;
    qn_status status = open_passphrase(path, &fd, err);
    status = status < 0 ? status : read_all(fd, path, text, sizeof text, &size, err);
    if (fd > STDIN_FILENO) {
        close(fd);
    }
    if (status >= 0) {
        const char *end = memchr(text, '\n', size);
        const size_t length = end != NULL ? (size_t)(end - text) : size;
        if (length == 0 || length >= PASSPHRASE_SIZE) {
            status = FAIL(err, QN_BAD_INPUT, "%s: the passphrase on its first line has %zu bytes; 1 to 1023 are right", path, length);
        } else {
            memcpy(out, text, length);
            out[length] = '\0';
        }
    }
    private_file_forget(text, sizeof text);
    return status;
}
