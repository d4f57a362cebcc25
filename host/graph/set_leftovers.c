/* set_leftovers.c — lists of dead processes, and the files that they name. */
#define _GNU_SOURCE /* flock with O_NOFOLLOW */
#include "graph/set_leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <quoin/q42.h>

#include "base/log.h"
#include "base/mapped_file.h"
#include "graph/file_digest.h"
#include "graph/set_members.h"

enum { MOST_DIGITS = 10, MAGIC_BYTES = 4 };

typedef struct cleaning {
    const char *root;
    int folder_size;     /* of the root's path, with its slash */
    set_members present; /* what the root lists now */
} cleaning;

/* ---------------------------------------------------------------- names */

static bool skip_digits(fmt_str *text, uint64_t *out_number) {
    uint64_t n = 0;
    *out_number = 0;
    for (; n < text->size && n < MOST_DIGITS && text->data[n] >= '0' && text->data[n] <= '9'; n++) {
        *out_number = *out_number * 10 + (uint64_t)(text->data[n] - '0');
    }
    text->data += n;
    text->size -= n;
    return n > 0;
}

/* NAME.PID-N.tmp, as atomic_file.c makes them: which NAME, and which process. */
static bool split_temporary(const char *name, fmt_str *out_target, uint64_t *out_process) {
    uint64_t number;
    const size_t size = strlen(name);
    if (size < 8 || memcmp(name + size - 4, ".tmp", 4) != 0) {
        return false;
    }
    size_t dot = size - 4;
    do {
        dot--;
    } while (dot > 0 && name[dot] != '.');
    fmt_str tail = {name + dot + 1, size - 4 - dot - 1};
    *out_target = (fmt_str){name, dot};
    if (!skip_digits(&tail, out_process) || tail.size == 0 || *tail.data != '-') {
        return false;
    }
    tail = (fmt_str){tail.data + 1, tail.size - 1};
    return dot > 0 && skip_digits(&tail, &number) && tail.size == 0;
}

static bool is_root_name(const cleaning *c, fmt_str name) {
    const char *base = c->root + c->folder_size;
    return strlen(base) == name.size && memcmp(base, name.data, name.size) == 0;
}

static bool make_path(const cleaning *c, fmt_str name, char out[ATOMIC_PATH_SIZE]) {
    const int size = snprintf(out, ATOMIC_PATH_SIZE, "%.*s%.*s", c->folder_size, c->root, (int)name.size, name.data);
    return size > 0 && size < ATOMIC_PATH_SIZE;
}

static bool is_present(const cleaning *c, const char *path) {
    for (uint32_t i = 0; i < c->present.n; i++) {
        if (strcmp(c->present.paths[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* ---------------------------------------------------------------- temporary files */

static bool has_ended(uint64_t process) {
    return process > 0 && process <= INT32_MAX && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* Opens it when it is a regular file that nobody holds and that is a volume, or empty. The descriptor, or -1. */
static int take_temporary(const char *path) {
    struct stat facts;
    char magic[MAGIC_BYTES] = {0};
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) {
        return -1;
    }
    if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        (facts.st_size == 0 ||
         (pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, "Q42", sizeof magic) == 0))) {
        return fd;
    }
    close(fd);
    return -1;
}

static bool has_bytes(const char *path, const q42_segment *record) {
    uint8_t digest[Q42_DIGEST_BYTES];
    struct stat facts;
    error_context ignored = {0};
    return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode) && (uint64_t)facts.st_size == record->bytes &&
           file_digest(path, NULL, NULL, digest, &ignored) == QN_OK && memcmp(digest, record->digest, sizeof digest) == 0;
}

/* The members that a list names. False when one cannot be removed, so that the list is still needed. */
static bool remove_listed(const cleaning *c, const q42_manifest *manifest) {
    q42_manifest_walk walk = {0};
    q42_segment record;
    char path[ATOMIC_PATH_SIZE];
    bool is_clean = true;
    while (q42_manifest_next(manifest, &walk, &record)) {
        uint32_t number;
        if (!set_member_number(c->root, record.locator, &number) || !make_path(c, record.locator, path) ||
            access(path, F_OK) != 0 || is_present(c, path)) {
            continue;
        }
        if (!has_bytes(path, &record)) {
            log_line(QN_LOG_INFO, "note: %s: it has the name of a file that a killed load left, but other bytes: it is kept", path);
        } else if (unlink(path) != 0) {
            is_clean = false;
        }
    }
    return is_clean;
}

/* A temporary name of a root: takes away what it lists, then itself. */
static void remove_list(const cleaning *c, const char *path) {
    error_context ignored = {0};
    mapped_file file;
    q42_volume volume;
    fmt_diag diag;
    bool is_clean = true;
    if (mapped_file_open(path, &file, &ignored) == QN_OK) {
        if (q42_open(file.span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) == FMT_OK &&
            (volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0) {
            is_clean = remove_listed(c, &volume.manifest);
        }
        mapped_file_close(&file);
    }
    if (is_clean) {
        unlink(path);
    }
}

static void clean_temporary(const cleaning *c, const char *name, fmt_str target) {
    char path[ATOMIC_PATH_SIZE];
    if (!make_path(c, (fmt_str){name, strlen(name)}, path)) {
        return;
    }
    const int fd = take_temporary(path);
    if (fd < 0) {
        log_line(QN_LOG_INFO, "note: %s: it has the name of a temporary file, but is in use or no volume: it is kept", path);
        return;
    }
    if (is_root_name(c, target)) {
        remove_list(c, path);
    } else {
        unlink(path);
    }
    close(fd);
}

/* ---------------------------------------------------------------- the folder */

static void tell_kept(const cleaning *c, const char *name) {
    char path[ATOMIC_PATH_SIZE];
    if (make_path(c, (fmt_str){name, strlen(name)}, path) && !is_present(c, path)) {
        log_line(QN_LOG_INFO, "note: %s: it has the name of a member of this set, but no root lists it: it is kept", path);
    }
}

static void visit(const cleaning *c, const char *name, bool is_telling) {
    fmt_str target;
    uint64_t process;
    uint32_t number;
    if (is_telling) {
        if (set_member_number(c->root, (fmt_str){name, strlen(name)}, &number)) {
            tell_kept(c, name);
        }
    } else if (split_temporary(name, &target, &process) && has_ended(process) &&
               (is_root_name(c, target) || set_member_number(c->root, target, &number))) {
        clean_temporary(c, name, target);
    }
}

static void visit_all(const cleaning *c, bool is_telling) {
    char folder[ATOMIC_PATH_SIZE];
    snprintf(folder, sizeof folder, "%.*s", c->folder_size > 0 ? c->folder_size : 1, c->folder_size > 0 ? c->root : ".");
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        visit(c, entry->d_name, is_telling);
    }
    closedir(entries);
}

void set_leftovers_remove(const char *root) {
    const char *slash = strrchr(root, '/');
    cleaning c = {.root = root, .folder_size = slash != NULL ? (int)(slash - root) + 1 : 0};
    /* Of a root that cannot be read nobody knows the members. */
    const bool is_known = access(root, F_OK) != 0 || set_members_is_volume(root);
    if (is_known && set_members_read(root, &c.present)) {
        visit_all(&c, false);
        visit_all(&c, true);
        set_members_free(&c.present);
    }
}

/* ---------------------------------------------------------------- a root that is replaced */

void set_aside_begin(const char *root, set_aside *out_aside) {
    *out_aside = (set_aside){.fd = open(root, O_RDONLY | O_CLOEXEC)};
    if (out_aside->fd >= 0) {
        (void)flock(out_aside->fd, LOCK_SH | LOCK_NB);
    }
    for (unsigned attempt = 0; out_aside->fd >= 0 && attempt < 1000; attempt++) {
        const int size = snprintf(out_aside->path, sizeof out_aside->path, "%s.%ld-%u.tmp", root, (long)getpid(), attempt);
        if (size >= (int)sizeof out_aside->path || link(root, out_aside->path) == 0) {
            break;
        }
        const bool is_taken = errno == EEXIST;
        out_aside->path[0] = '\0';
        if (!is_taken) {
            break;
        }
    }
}

void set_aside_end(set_aside *aside) {
    if (aside->path[0] != '\0') {
        unlink(aside->path);
        aside->path[0] = '\0';
    }
    if (aside->fd >= 0) {
        close(aside->fd);
        aside->fd = -1;
    }
}
