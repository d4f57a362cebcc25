/* blob_store.c — one file for each blob. */
#define _GNU_SOURCE
#include "backends/blob_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache_folder.h"
#include "base/log.h"
#include "base/whole_io.h"
#include "common/crc32c.h"
#include "common/fnv.h"

#define MAGIC "QNBLOB1\n"
#define PART 65536u
#define HOUR 3600
#define DAY (24 * HOUR)
#define HALF_MADE "new-" /* begins the names of files that are being written */

typedef struct blob_head {
    char magic[8];
    uint32_t name_bytes;
    uint32_t crc;
    uint64_t data_bytes;
} blob_head;

/* What a blob is called, and where it lies. */
typedef struct blob_name {
    char text[BLOB_NAME_SIZE]; /* scope, zero, key, zero */
    uint32_t bytes;            /* of the text that is written: without the last zero */
    char path[1100];
} blob_name;

void blob_store_open(blob_store *store, const char *folder, uint64_t most_bytes) {
    memset(store, 0, sizeof *store);
    store->most_bytes = most_bytes;
    if (folder != NULL) {
        snprintf(store->folder, sizeof store->folder, "%s", folder);
        return;
    }
    cache_folder_find(store->folder, sizeof store->folder - sizeof "/blobs");
    if (store->folder[0] != '\0') {
        strncat(store->folder, "/blobs", sizeof store->folder - strlen(store->folder) - 1);
    }
}

static bool make_name(const blob_store *store, const char *scope, const char *key, blob_name *out) {
    const size_t scope_bytes = strlen(scope) + 1, key_bytes = strlen(key);
    if (scope_bytes + key_bytes >= sizeof out->text) {
        return false;
    }
    memcpy(out->text, scope, scope_bytes);
    memcpy(out->text + scope_bytes, key, key_bytes + 1);
    out->bytes = (uint32_t)(scope_bytes + key_bytes);
    snprintf(out->path, sizeof out->path, "%s/%016" PRIx64, store->folder, fnv1a64(out->text, out->bytes));
    return true;
}

/* --- Reading ---------------------------------------------------------------------------------------------------------- */

static bool read_all(int fd, void *data, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = read(fd, (char *)data + done, bytes - done);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* The head and the name are as they must be, and the file is as long as they say. */
static bool read_head(int fd, const blob_name *name, blob_head *head, struct stat *info) {
    char text[BLOB_NAME_SIZE];
    return fstat(fd, info) == 0 && S_ISREG(info->st_mode) && info->st_uid == geteuid() && (info->st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           read_all(fd, head, sizeof *head) && memcmp(head->magic, MAGIC, sizeof head->magic) == 0 && head->name_bytes == name->bytes &&
           (uint64_t)info->st_size >= sizeof *head + name->bytes &&
           head->data_bytes == (uint64_t)info->st_size - sizeof *head - name->bytes && read_all(fd, text, name->bytes) &&
           memcmp(text, name->text, name->bytes) == 0;
}

/* All of the data goes through the checksum, what fits into the room to the caller. */
static bool read_data(int fd, const blob_name *name, const blob_head *head, char *data, uint64_t room) {
    char part[PART];
    uint32_t crc = crc32c(name->text, name->bytes);
    for (uint64_t at = 0; at < head->data_bytes;) {
        const uint64_t left = head->data_bytes - at;
        const uint64_t n = left < sizeof part ? left : sizeof part;
        if (!read_all(fd, part, (size_t)n)) {
            return false;
        }
        if (at < room) {
            memcpy(data + at, part, (size_t)(n < room - at ? n : room - at));
        }
        crc = crc32c_extend(crc, part, n);
        at += n;
    }
    return crc == head->crc;
}

uint64_t blob_store_get(blob_store *store, const char *scope, const char *key, void *data, uint64_t room) {
    blob_name name;
    blob_head head;
    struct stat info;
    if (store->folder[0] == '\0' || !make_name(store, scope, key, &name)) {
        return 0;
    }
    const int fd = open(name.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return 0;
    }
    const bool is_sound = read_head(fd, &name, &head, &info) && (room == 0 || read_data(fd, &name, &head, data, room));
    if (!is_sound) {
        (void)unlink(name.path);
    } else if (room > 0 && time(NULL) - info.st_mtime > DAY) {
        (void)futimens(fd, NULL); /* used today: it goes later than others */
    }
    close(fd);
    return is_sound ? head.data_bytes : 0;
}

/* --- The bound -------------------------------------------------------------------------------------------------------- */

typedef struct blob_file {
    char name[32];
    uint64_t bytes;
    struct timespec used;
} blob_file;

static int compare_ages(const void *a, const void *b) {
    const blob_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) {
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    }
    return x->used.tv_nsec != y->used.tv_nsec ? (x->used.tv_nsec < y->used.tv_nsec ? -1 : 1) : strcmp(x->name, y->name);
}

/* Makes room for one more at the end of the list; null without memory. */
static blob_file *grow_list(blob_file **files, size_t count, size_t *capacity) {
    if (count == *capacity) {
        const size_t more = *capacity > 0 ? 2 * *capacity : 64;
        blob_file *grown = realloc(*files, more * sizeof **files);
        if (grown == NULL) {
            return NULL;
        }
        *files = grown;
        *capacity = more;
    }
    return &(*files)[count];
}

/* Lists the blobs; takes away what a writer left half made an hour ago. */
static size_t list_files(DIR *folder, blob_file **files, uint64_t *total) {
    size_t count = 0, capacity = 0;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        struct stat info;
        if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof (*files)->name ||
            fstatat(dirfd(folder), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (strncmp(e->d_name, HALF_MADE, strlen(HALF_MADE)) == 0) {
            if (time(NULL) - info.st_mtime > HOUR) {
                (void)unlinkat(dirfd(folder), e->d_name, 0);
            }
            continue;
        }
        blob_file *file = grow_list(files, count, &capacity);
        if (file == NULL) {
            break;
        }
        snprintf(file->name, sizeof file->name, "%s", e->d_name);
        file->bytes = (uint64_t)info.st_size;
        file->used = info.st_mtim;
        *total += file->bytes;
        count++;
    }
    return count;
}

/* Above the bound, the oldest go until a quarter of it is free: so that not every put has to look for some. */
void blob_store_trim(const blob_store *store) {
    DIR *folder = opendir(store->folder);
    blob_file *files = NULL;
    uint64_t total = 0;
    if (folder == NULL) {
        return;
    }
    const size_t count = list_files(folder, &files, &total);
    if (total > store->most_bytes) {
        qsort(files, count, sizeof *files, compare_ages);
        for (size_t i = 0; i < count && total > store->most_bytes / 4 * 3; i++) {
            total -= unlinkat(dirfd(folder), files[i].name, 0) == 0 ? files[i].bytes : 0;
        }
    }
    free(files);
    closedir(folder);
}

/* --- Writing ---------------------------------------------------------------------------------------------------------- */

/* A new file beside the others, then its name: no reader meets half of it. Not synced: what a lost machine leaves is told by the
 * checksum, and waiting for the disk at each kernel would cost more than compiling it. */
static bool write_file(const blob_store *store, const blob_name *name, const void *data, uint64_t bytes) {
    static atomic_uint number;
    char path[1100];
    blob_head head = {.name_bytes = name->bytes, .data_bytes = bytes};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    head.crc = crc32c_extend(crc32c(name->text, name->bytes), data, bytes);
    snprintf(path, sizeof path, "%s/" HALF_MADE "%ld-%u", store->folder, (long)getpid(), atomic_fetch_add(&number, 1));
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return false;
    }
    bool is_written = io_write_all(fd, &head, sizeof head) && io_write_all(fd, name->text, name->bytes) && io_write_all(fd, data, bytes);
    is_written = close(fd) == 0 && is_written && rename(path, name->path) == 0;
    if (!is_written) {
        const int reason = errno;
        (void)unlink(path);
        errno = reason;
    }
    return is_written;
}

static void tell_once(blob_store *store, const char *reason) {
    if (!atomic_exchange(&store->is_told, true)) {
        log_line(QN_LOG_DEBUG, "compiled kernels are not kept in %s: %s", store->folder[0] != '\0' ? store->folder : "a cache folder", reason);
    }
}

qn_status blob_store_put(blob_store *store, const char *scope, const char *key, const void *data, uint64_t bytes) {
    blob_name name;
    if (!make_name(store, scope, key, &name)) {
        return QN_BAD_ARG;
    }
    if (store->folder[0] == '\0') {
        tell_once(store, "there is none");
        return QN_UNAVAILABLE;
    }
    if (bytes == 0 || bytes > store->most_bytes / 2) {
        tell_once(store, bytes == 0 ? "it is empty" : "it is larger than half of the store");
        return QN_UNAVAILABLE;
    }
    if (!cache_folder_make(store->folder) || !write_file(store, &name, data, bytes)) {
        tell_once(store, strerror(errno));
        return QN_UNAVAILABLE;
    }
    blob_store_trim(store);
    return QN_OK;
}

void blob_store_clear(const blob_store *store) {
    DIR *folder = store->folder[0] != '\0' ? opendir(store->folder) : NULL;
    for (struct dirent *e; folder != NULL && (e = readdir(folder)) != NULL;) {
        if (e->d_name[0] != '.') {
            (void)unlinkat(dirfd(folder), e->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}
