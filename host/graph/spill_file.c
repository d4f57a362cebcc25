/* spill_file.c — O_TMPFILE, or a file that is unlinked as soon as it is open. */
#define _GNU_SOURCE /* O_TMPFILE, fallocate */
#include "graph/spill_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_io.h"

#define SPILL_PATH_SIZE 4096

void spill_file_init(spill_file *file, const char *target) {
    *file = (spill_file){.target = target, .fd = -1};
}

/* Folder of the target with its slash; "" for the working folder. */
static int folder_size(const char *target) {
    const char *slash = strrchr(target, '/');
    return slash == NULL ? 0 : (int)(slash - target) + 1;
}

static int open_unlinked(const char *folder) {
    char name[SPILL_PATH_SIZE];
    if (snprintf(name, sizeof name, "%s.quoin-spill-XXXXXX", folder) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        unlink(name);
    }
    return fd;
}

static qn_status refuse(const spill_file *file, const char *doing, error_context *err) {
    const int number = errno != 0 ? errno : ENOSPC;
    char folder[SPILL_PATH_SIZE];
    const int size = folder_size(file->target);
    snprintf(folder, sizeof folder, "%.*s", size > 0 ? size : 1, size > 0 ? file->target : ".");
    (void)error_from_errno(err, number, folder, doing);
    if (err != NULL) {
        err->code = QN_IO;
    }
    return QN_IO;
}

static qn_status open_file(spill_file *file, error_context *err) {
    char folder[SPILL_PATH_SIZE];
    if (snprintf(folder, sizeof folder, "%.*s", folder_size(file->target), file->target) >= (int)sizeof folder) {
        return FAIL(err, QN_IO, "%.200s...: the path is too long", file->target);
    }
    file->fd = open(folder[0] != 0 ? folder : ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (file->fd < 0) {
        file->fd = open_unlinked(folder);
    }
    return file->fd >= 0 ? QN_OK : refuse(file, "making a spill file", err);
}

qn_status spill_file_append(spill_file *file, const void *data, uint64_t size, error_context *err) {
    if (file->fd < 0) {
        const qn_status status = open_file(file, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (!io_write_all_at(file->fd, data, size, file->end)) {
        return refuse(file, "writing a spill file", err);
    }
    file->end += size;
    return QN_OK;
}

qn_status spill_file_read(const spill_file *file, uint64_t offset, void *room, uint64_t size, error_context *err) {
    return io_read_all_at(file->fd, room, size, offset) ? QN_OK : refuse(file, "reading a spill file", err);
}

void spill_file_discard(const spill_file *file, uint64_t offset, uint64_t size) {
    if (file->fd >= 0 && size > 0) {
        (void)fallocate(file->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    }
}

void spill_file_close(spill_file *file) {
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
    file->end = 0;
}
