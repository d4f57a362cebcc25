/* kept_panels.c — find, make, use. */
#define _DEFAULT_SOURCE /* st_ctim */
#include "cli/kept_panels.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backends/blob_store.h"
#include "base/cache_folder.h"
#include "base/log.h"
#include "common/sha.h"
#include "convert/convert.h"
#include "convert/p64_to_p64.h"
#include "model/model_panels.h"

#define FOLDER_SIZE 1000
#define PATH_SIZE 1040
#define NAME_BYTES 12
#define DAY 86400

/* Changes when panels of the same model would have other bytes. */
#define EDITION 0u

static bool find_folder(char folder[FOLDER_SIZE]) {
    cache_folder_find(folder, FOLDER_SIZE - sizeof "/panels");
    if (folder[0] == '\0') {
        return false;
    }
    const size_t used = strlen(folder);
    snprintf(folder + used, FOLDER_SIZE - used, "/panels");
    return true;
}

static bool find_path(const model *m, const char *folder, char path[PATH_SIZE]) {
    struct stat info;
    char identity[256], name[2 * NAME_BYTES + 1];
    uint8_t digest[SHA256_BYTES];
    if (fstat(m->file.fd, &info) != 0) {
        return false;
    }
    const int n = snprintf(identity, sizeof identity, "%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 " %" PRId64 ".%09ld", EDITION,
                           m->file.device, m->file.inode, (uint64_t)m->file.span.size, m->file.modified_ns,
                           (int64_t)info.st_ctim.tv_sec, info.st_ctim.tv_nsec);
    if (!sha256_digest(identity, (uint64_t)n, digest)) {
        return false;
    }
    for (size_t i = 0; i < NAME_BYTES; i++) {
        snprintf(name + 2 * i, 3, "%02x", digest[i]);
    }
    return snprintf(path, PATH_SIZE, "%s/%s.p64", folder, name) < PATH_SIZE;
}

/* Only what this user made and nobody else may write. */
static bool is_own(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Used today: it goes later than others. */
static void touch(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && time(NULL) - info.st_mtime > DAY) {
        (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

static qn_status open_panels(command_context *c, const char *path, const model_options *options, model **out, error_context *err) {
    const model_options settings = {.container_only = true};
    model *panels = NULL;
    QN_TRY(model_open(path, &settings, NULL, &panels, err), err, "opening kept panels");
    const qn_status status = panels->format == MODEL_P64 ? model_check_weights(panels, options, c->workers, err)
                                                         : FAIL(err, QN_BAD_FILE, "%s: is no P64", path);
    if (status < 0) {
        model_close(panels);
        return status;
    }
    *out = panels;
    return QN_OK;
}

/* QN_OK: the model uses the panels at `path`. A file that is no good is taken away. */
static qn_status try_panels(command_context *c, model *m, const char *path, const model_options *options, error_context *err) {
    model *panels = NULL;
    if (!is_own(path)) {
        (void)unlink(path); /* what stands there instead is not to give its mode to the new file */
        return QN_NOT_FOUND;
    }
    qn_status status = open_panels(c, path, options, &panels, err);
    if (status == QN_OK) {
        status = model_take_panels(m, panels, err);
        if (status < 0) {
            model_close(panels);
        }
    }
    if (status == QN_OK) {
        touch(path);
    } else if (status != QN_CANCELLED) {
        log_line(QN_LOG_WARN, "kept panels are not used, and made anew: %s", error_text(err));
        (void)unlink(path);
    }
    return status;
}

static fmt_status make_panels(const model *m, const char *path, const model_options *options, fmt_diag *diag) {
    convert_report report = {0};
    convert_request request = {.output_path = path,
                               .input_path = m->file.path,
                               .gguf = &m->gguf,
                               .mapping = &m->file,
                               .is_forced = true,
                               .is_checked = true,
                               .progress = options->progress,
                               .ctx = options->progress_ctx,
                               .options = {.layout = P64_LAYOUT_PANEL}};
    return m->format == MODEL_GGUF ? convert_gguf(&request, &report, diag) : convert_p64(&request, &m->p64, &m->file, &report, diag);
}

static qn_status keep_panels(command_context *c, model *m, const char *folder, const char *path, const model_options *options,
                             error_context *err) {
    fmt_diag diag = {.text = ""};
    blob_store bound;
    if (!cache_folder_make(folder)) {
        log_line(QN_LOG_INFO, "panels are not kept: %s cannot be made", folder);
        return QN_OK;
    }
    const fmt_status status = make_panels(m, path, options, &diag);
    if (status == FMT_CANCELLED) {
        return FAIL(err, QN_CANCELLED, "%s: interrupted while its panels were made", m->file.path);
    }
    if (status != FMT_OK) {
        log_line(QN_LOG_INFO, "panels are not kept: %s", diag.text);
        return QN_OK;
    }
    const qn_status taken = try_panels(c, m, path, options, err);
    blob_store_open(&bound, folder, KEPT_PANELS_BYTES);
    blob_store_trim(&bound);
    if (taken == QN_OK) {
        log_line(QN_LOG_INFO, "panels are kept in %s: the next start needs no packing", path);
    }
    return taken == QN_CANCELLED ? taken : QN_OK;
}

qn_status kept_panels_use(command_context *c, model *m, const model_options *options, bool is_lazy, error_context *err) {
    char folder[FOLDER_SIZE], path[PATH_SIZE];
    const bool can_keep = model_lacks_panels(m) && find_folder(folder) && find_path(m, folder, path);
    if (can_keep) {
        const qn_status status = try_panels(c, m, path, options, err);
        if (status == QN_OK || status == QN_CANCELLED) {
            return status;
        }
        error_clear(err);
    }
    if (!is_lazy) {
        QN_TRY(model_check_weights(m, options, c->workers, err), err, "checking %s", m->file.path);
    }
    return can_keep ? keep_panels(c, m, folder, path, options, err) : QN_OK;
}
