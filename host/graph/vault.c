/* vault.c — walking a manifest's files. */
#include "graph/vault.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "graph/file_digest.h"
#include "graph/volume_check.h"

#define PROC_PATH_SIZE 40

/* ---------------------------------------------------------------- the manifest */

static qn_status open_folder(const char *path, int *out_folder, error_context *err) {
    const char *slash = strrchr(path, '/');
    const size_t size = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *folder = malloc(size + 2);
    if (folder == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    memcpy(folder, size > 0 ? path : ".", size > 0 ? size : 1);
    folder[size > 0 ? size : 1] = '\0';
    *out_folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const qn_status status = *out_folder >= 0 ? QN_OK : error_from_errno(err, errno, folder, "cannot open the folder");
    free(folder);
    return status;
}

static qn_status read_name(vault_file *v, error_context *err) {
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    fmt_diag diag;
    while (q42_vault_next(&v->vault, &walk, &entry)) {
        if (entry.term == Q42_VAULT_NAME && v->name[0] == '\0') {
            const fmt_status status = q42_vault_text(&entry, v->name, &diag);
            if (status != FMT_OK) {
                return error_from_diag(err, status, &diag, v->file.path);
            }
        }
    }
    return QN_OK;
}

qn_status vault_open(const char *path, vault_file *out_vault, error_context *err) {
    vault_file v = {.file = {.fd = -1}, .folder = -1};
    fmt_diag diag;
    qn_status status = mapped_file_open(path, &v.file, err);
    if (status < 0) {
        return status;
    }
    const fmt_status found = q42_vault_open(v.file.span, &v.vault, &diag);
    status = found == FMT_OK ? mapped_file_check(&v.file, err) : error_from_diag(err, found, &diag, path);
    status = status < 0 ? status : read_name(&v, err);
    status = status < 0 ? status : open_folder(path, &v.folder, err);
    if (status < 0) {
        vault_close(&v);
        return status;
    }
    *out_vault = v;
    return QN_OK;
}

void vault_close(vault_file *vault) {
    if (vault->file.path != NULL) {
        mapped_file_close(&vault->file);
    }
    if (vault->folder >= 0) {
        close(vault->folder);
    }
    memset(vault, 0, sizeof *vault);
    vault->folder = -1;
}

/* ---------------------------------------------------------------- opening below the folder */

/* One part after another; a symbolic link among them ends it with ELOOP (or, where a folder is wanted, ENOTDIR). */
static int open_below(int folder, const char *path) {
    int at = dup(folder);
    while (at >= 0) {
        char part[Q42_VAULT_PATH_SIZE];
        path += strspn(path, "/");
        const size_t size = strcspn(path, "/");
        const char *rest = path + size + strspn(path + size, "/");
        memcpy(part, path, size);
        part[size] = '\0';
        const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (*rest != '\0' ? O_DIRECTORY : 0);
        const int next = openat(at, size > 0 ? part : ".", flags);
        const int number = errno;
        close(at);
        errno = number;
        at = next;
        path = rest;
        if (*rest == '\0') {
            break;
        }
    }
    return at;
}

/* Maps the file. The descriptor is opened again by its number, which no name can redirect. */
static qn_status map_below(const vault_file *v, const char *path, mapped_file *out_file, error_context *err) {
    char descriptor[PROC_PATH_SIZE];
    const int fd = open_below(v->folder, path);
    if (fd < 0) {
        const bool is_link = errno == ELOOP || errno == ENOTDIR;
        return is_link ? FAIL(err, QN_DENIED, "%s: a part of the path is a symbolic link or no folder", path)
                       : error_from_errno(err, errno, path, "cannot open it");
    }
    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fd);
    qn_status status = mapped_file_open(descriptor, out_file, err);
    close(fd);
    if (status < 0) {
        error_clear(err);
        return FAIL(err, status, "%s: it cannot be mapped: %s", path, status_meaning(status));
    }
    char *name = strdup(path);
    if (name != NULL) {
        free(out_file->path);
        out_file->path = name;
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- one file */

typedef struct vault_walker {
    vault_file *vault;
    bool is_deep;
    progress_fn *progress;
    void *progress_ctx;
    vault_item_fn *take;
    void *take_ctx;
} vault_walker;

static qn_status check_volume(const vault_walker *w, const mapped_file *file, q42_volume *out_volume,
                              error_context *err) {
    fmt_diag diag;
    const fmt_status found = q42_open(file->span, FMT_MODE_DEFAULT, out_volume, NULL, NULL, &diag);
    if (found != FMT_OK) {
        return error_from_diag(err, found, &diag, file->path);
    }
    const qn_status status = w->is_deep ? volume_check(out_volume, file->path, w->progress, w->progress_ctx, err) : QN_OK;
    return status < 0 ? status : mapped_file_check(file, err);
}

static qn_status check_content(const vault_walker *w, const mapped_file *file, vault_item *item,
                               q42_volume *out_volume, error_context *err) {
    q42_envelope envelope;
    fmt_diag diag;
    item->is_there = true;
    item->bytes = file->span.size;
    item->kind = q42_detect(file->span);
    if (item->term == Q42_VAULT_DATA_FILE) {
        return item->kind == Q42_FILE_VOLUME ? check_volume(w, file, out_volume, err)
                                             : FAIL(err, QN_BAD_FILE, "%s: is %s, and a vault's data are Q42 volumes",
                                                    file->path, q42_file_kind_name(item->kind));
    }
    if (item->term == Q42_VAULT_ENVELOPE) {
        const fmt_status status = q42_envelope_open(file->span, FMT_MODE_DEFAULT, &envelope, NULL, NULL, &diag);
        return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, file->path);
    }
    return QN_OK;
}

static void settle(vault_item *item, qn_status status, const error_context *err) {
    item->is_right = status >= 0;
    if (status < 0) {
        snprintf(item->text, sizeof item->text, "%s", error_text(err));
    }
}

static qn_status take_item(const vault_walker *w, vault_item *item, qn_status status, const error_context *fault,
                           error_context *err) {
    settle(item, status, fault);
    if (status == QN_CANCELLED) {
        return FAIL(err, QN_CANCELLED, "interrupted");
    }
    return w->take(w->take_ctx, item);
}

static qn_status check_record(const q42_segment *record, const mapped_file *file, const vault_walker *w,
                              error_context *err) {
    uint8_t digest[Q42_DIGEST_BYTES];
    if (file->span.size != record->bytes) {
        return FAIL(err, QN_BAD_FILE, "%s: has %llu bytes, the set's manifest says %llu", file->path,
                    (unsigned long long)file->span.size, (unsigned long long)record->bytes);
    }
    const qn_status status = w->is_deep ? span_digest(file->span, file->path, w->progress, w->progress_ctx, digest, err)
                                        : QN_OK;
    if (status >= 0 && w->is_deep && memcmp(digest, record->digest, sizeof digest) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: is another file than the set's manifest means: its SHA-256 differs",
                    file->path);
    }
    return status;
}

static qn_status walk_member(const vault_walker *w, const vault_item *root, const q42_segment *record,
                             error_context *err) {
    vault_item item = {.term = Q42_VAULT_DATA_FILE, .is_member = true, .line = root->line};
    mapped_file file = {.fd = -1};
    error_context fault = {0};
    q42_volume volume;
    const char *slash = strrchr(root->path, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - root->path) + 1;
    const int n = snprintf(item.path, sizeof item.path, "%.*s%.*s", folder, root->path, (int)record->locator.size,
                           record->locator.data);
    qn_status status = n >= 0 && (size_t)n < sizeof item.path ? map_below(w->vault, item.path, &file, &fault)
                                                              : FAIL(&fault, QN_LIMIT, "the path is too long");
    if (status >= 0) {
        status = check_content(w, &file, &item, &volume, &fault);
        status = status < 0 ? status : check_record(record, &file, w, &fault);
        mapped_file_close(&file);
    }
    return take_item(w, &item, status, &fault, err);
}

static qn_status walk_members(const vault_walker *w, const vault_item *root, const q42_volume *volume,
                              error_context *err) {
    q42_manifest_walk walk = {0};
    q42_segment record;
    qn_status status = QN_OK;
    while (status >= 0 && q42_manifest_next(&volume->manifest, &walk, &record)) {
        status = walk_member(w, root, &record, err);
    }
    return status;
}

static bool is_file_term(q42_vault_term term) {
    return term == Q42_VAULT_DATA_FILE || term == Q42_VAULT_ENVELOPE || term == Q42_VAULT_LEXICON_FILE ||
           term == Q42_VAULT_INDEX_FILE;
}

static bool is_hint(q42_vault_term term) {
    return term == Q42_VAULT_LEXICON_FILE || term == Q42_VAULT_INDEX_FILE;
}

static qn_status walk_entry(const vault_walker *w, const q42_vault_entry *entry, error_context *err) {
    vault_item item = {.term = entry->term, .line = entry->line};
    mapped_file file = {.fd = -1};
    error_context fault = {0};
    q42_volume volume = {0};
    fmt_diag diag;
    const fmt_status named = q42_vault_path(entry, item.path, &diag);
    if (named != FMT_OK) {
        item.path[0] = '\0';
        return take_item(w, &item, error_from_diag(&fault, named, &diag, w->vault->file.path), &fault, err);
    }
    qn_status status = map_below(w->vault, item.path, &file, &fault);
    if (status >= 0) {
        status = check_content(w, &file, &item, &volume, &fault);
    } else if (status == QN_NOT_FOUND && is_hint(entry->term)) {
        status = QN_OK; /* newer volumes hold what the sidecar held */
    }
    const bool is_root = status >= 0 && (volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0;
    qn_status result = take_item(w, &item, status, &fault, err);
    if (result >= 0 && is_root) {
        result = walk_members(w, &item, &volume, err);
    }
    if (file.path != NULL) {
        mapped_file_close(&file);
    }
    return result;
}

qn_status vault_each(vault_file *vault, bool is_deep, progress_fn *progress, void *progress_ctx, vault_item_fn *take,
                     void *take_ctx, error_context *err) {
    const vault_walker w = {vault, is_deep, progress, progress_ctx, take, take_ctx};
    q42_vault_walk walk = {0};
    q42_vault_entry entry;
    qn_status status = QN_OK;
    while (status >= 0 && q42_vault_next(&vault->vault, &walk, &entry)) {
        if (is_file_term(entry.term)) {
            status = walk_entry(&w, &entry, err);
        }
    }
    return status;
}
