/* wal_set.c — a directory of log files. */
#include "wal/wal_set.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_DIGITS 16u

static char *make_path(const char *directory, const char *stem, uint64_t number, const char *ending) {
    const size_t size = strlen(directory) + WAL_NAME_SIZE + 2;
    char *path = malloc(size);
    if (path != NULL) {
        snprintf(path, size, "%s/%s-%016" PRIx64 ".%s", directory, stem, number, ending);
    }
    return path;
}

char *wal_path_of_log(const char *directory, uint64_t first) {
    return make_path(directory, "wal", first, "qwal");
}

char *wal_path_of_checkpoint(const char *directory, uint64_t last) {
    return make_path(directory, "checkpoint", last, "q42");
}

/* wal-, sixteen lower-case digits, .qwal. */
static bool read_name(const char *name, uint64_t *out_first) {
    uint64_t value = 0;
    if (strlen(name) != 4 + NAME_DIGITS + 5 || memcmp(name, "wal-", 4) != 0 || strcmp(name + 4 + NAME_DIGITS, ".qwal") != 0) {
        return false;
    }
    for (size_t i = 4; i < 4 + NAME_DIGITS; i++) {
        const char c = name[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    *out_first = value;
    return value != 0;
}

qn_status wal_set_exists(const char *directory, bool *out_exists, error_context *err) {
    DIR *folder = opendir(directory);
    const struct dirent *entry;
    uint64_t first;
    bool is_there = false;
    if (folder == NULL) {
        return error_from_errno(err, errno, directory, "cannot be listed");
    }
    errno = 0;
    while (!is_there && (entry = readdir(folder)) != NULL) {
        is_there = read_name(entry->d_name, &first);
    }
    const int number = errno;
    closedir(folder);
    *out_exists = is_there;
    return is_there || number == 0 ? QN_OK : error_from_errno(err, number, directory, "cannot be listed");
}

/* ---------------------------------------------------------------- listing */

static int compare_files(const void *a, const void *b) {
    const wal_file *one = a, *other = b;
    return one->first < other->first ? -1 : one->first > other->first;
}

static qn_status add_file(wal_set *set, uint64_t first, error_context *err) {
    wal_file *grown = realloc(set->files, (set->n_files + 1) * sizeof *grown);
    if (grown == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    set->files = grown;
    set->files[set->n_files] = (wal_file){.first = first, .file = {.fd = -1}, .path = wal_path_of_log(set->directory, first)};
    return set->files[set->n_files++].path != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status list_files(wal_set *set, error_context *err) {
    DIR *folder = opendir(set->directory);
    if (folder == NULL) {
        return error_from_errno(err, errno, set->directory, "cannot be listed");
    }
    qn_status status = QN_OK;
    const struct dirent *entry;
    uint64_t first;
    errno = 0;
    while (status >= 0 && (entry = readdir(folder)) != NULL) {
        status = read_name(entry->d_name, &first) ? add_file(set, first, err) : QN_OK;
    }
    if (status >= 0 && errno != 0) {
        status = error_from_errno(err, errno, set->directory, "cannot be listed");
    }
    closedir(folder);
    if (set->n_files > 0) {
        qsort(set->files, set->n_files, sizeof set->files[0], compare_files);
    }
    return status;
}

/* ---------------------------------------------------------------- opening */

static qn_status open_file(wal_file *f, fmt_mode mode, fmt_note_fn *note, void *note_ctx, error_context *err) {
    fmt_diag diag;
    QN_TRY(mapped_file_open(f->path, &f->file, err), err, "reading the log");
    const fmt_status found = qwal_open(f->file.span, mode, &f->log, note, note_ctx, &diag);
    if (found != FMT_OK) {
        return error_from_diag(err, found, &diag, f->path);
    }
    if (f->log.n_records > 0 && f->log.first_sequence != f->first) {
        return FAIL(err, QN_BAD_FILE, "%s: begins with record %" PRIu64 ", its name says %" PRIu64 "; give it its own name again", f->path,
                    f->log.first_sequence, f->first);
    }
    return mapped_file_check(&f->file, err);
}

/* The next file goes on where this one ends. */
static qn_status check_next(const wal_file *f, const wal_file *next, error_context *err) {
    const uint64_t wanted = f->log.n_records > 0 ? f->log.last_sequence + 1 : f->first;
    if (f->log.n_torn_bytes > 0) {
        return FAIL(err, QN_BAD_FILE, "%s: byte %" PRIu64 ": the log ends here, but %s goes on: this is damage and no crash; restore the "
                    "file from a copy", f->path, f->log.end, next->path);
    }
    if (next->first != wanted) {
        return FAIL(err, QN_BAD_FILE, "%s: goes on with record %" PRIu64 " where %s ends before %" PRIu64 "; a file is missing or there "
                    "is one too many", next->path, next->first, f->path, wanted);
    }
    return QN_OK;
}

static qn_status open_files(wal_set *set, fmt_mode mode, fmt_note_fn *note, void *note_ctx, error_context *err) {
    qn_status status = QN_OK;
    for (size_t i = 0; status >= 0 && i < set->n_files; i++) {
        status = open_file(&set->files[i], mode, note, note_ctx, err);
        if (status >= 0 && i > 0) {
            status = check_next(&set->files[i - 1], &set->files[i], err);
        }
    }
    return status;
}

qn_status wal_set_open(const char *directory, fmt_mode mode, fmt_note_fn *note, void *note_ctx, wal_set *out_set,
                       error_context *err) {
    wal_set set = {.directory = strdup(directory)};
    qn_status status = set.directory != NULL ? list_files(&set, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status >= 0 && set.n_files == 0) {
        status = FAIL(err, QN_NOT_FOUND, "%s: holds no log (no file wal-*.qwal)", directory);
    }
    status = status < 0 ? status : open_files(&set, mode, note, note_ctx, err);
    if (status < 0) {
        wal_set_close(&set);
        return status;
    }
    *out_set = set;
    return QN_OK;
}

void wal_set_close(wal_set *set) {
    for (size_t i = 0; i < set->n_files; i++) {
        mapped_file_close(&set->files[i].file);
        free(set->files[i].path);
    }
    free(set->files);
    free(set->directory);
    memset(set, 0, sizeof *set);
}

bool wal_set_next(const wal_set *set, wal_set_walk *walk, qwal_record *out_record) {
    while (walk->file < set->n_files) {
        if (qwal_next(&set->files[walk->file].log, &walk->at, out_record)) {
            return true;
        }
        walk->file++;
        walk->at = (qwal_walk){0};
    }
    return false;
}

const wal_file *wal_set_find(const wal_set *set, uint64_t first) {
    for (size_t i = 0; i < set->n_files; i++) {
        if (set->files[i].first == first) {
            return &set->files[i];
        }
    }
    return NULL;
}
