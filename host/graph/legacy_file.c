/* legacy_file.c — opening and walking files of older writers. */
#include "graph/legacy_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_ROOM 4096

/* Path of the sidecar: X.q42 or X.c.q42 -> X.q42.lex. */
static bool make_sidecar(const char *path, const char *ending, char out[PATH_ROOM]) {
    static const char framed[] = ".c.q42";
    const size_t size = strlen(path), tail = sizeof framed - 1;
    const bool is_framed = size > tail && strcmp(path + size - tail, framed) == 0;
    const size_t stem = is_framed ? size - tail : size;
    const int n = snprintf(out, PATH_ROOM, "%.*s%s%s", (int)stem, path, is_framed ? ".q42" : "", ending);
    return n > 0 && n < PATH_ROOM;
}

/* A sidecar that is not there is no error. */
static qn_status open_sidecar(const char *path, const char *ending, mapped_file *out_file, error_context *err) {
    char name[PATH_ROOM];
    error_context quiet = {0};
    if (!make_sidecar(path, ending, name)) {
        return FAIL(err, QN_BAD_INPUT, "%s: the path is too long", path);
    }
    const qn_status status = mapped_file_open(name, out_file, &quiet);
    if (status < 0 && status != QN_NOT_FOUND) {
        return FAIL(err, status, "%s", error_text(&quiet));
    }
    return QN_OK;
}

static qn_status open_lexicon(legacy_file *f, error_context *err) {
    fmt_diag diag;
    const fmt_span span = f->lexicon_file.span;
    if (span.size == 0) {
        return QN_OK;
    }
    const fmt_status status = q42_lexicon_open(span, 0, &f->lexicon, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, f->lexicon_file.path);
}

static qn_status check_pages(const legacy_file *f, error_context *err) {
    for (uint64_t page = 0; page < f->lexicon.n_pages; page++) {
        fmt_diag diag;
        const fmt_status status = q42_lexicon_check_page(&f->lexicon, page, &diag);
        if (status != FMT_OK) {
            return error_from_diag(err, status, &diag, f->lexicon_file.path);
        }
    }
    return QN_OK;
}

/* The index's own rules are about its own file. */
static const char *name_of_fault(const legacy_file *f, const fmt_diag *diag) {
    return strcmp(diag->rule, "raw-index") == 0 ? f->bidx_file.path : f->file.path;
}

static qn_status open_blocks(legacy_file *f, error_context *err) {
    const fmt_span none = {NULL, 0};
    fmt_diag diag;
    const fmt_status status = q42_raw_open(f->file.span, none, f->bidx_file.span, &f->raw, &diag);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, name_of_fault(f, &diag));
}

static qn_status open_parts(const char *path, legacy_file *f, error_context *err) {
    qn_status status = mapped_file_open(path, &f->file, err);
    if (status >= 0 && f->kind != Q42_FILE_FLAT) {
        status = open_sidecar(path, ".lex", &f->lexicon_file, err);
    }
    if (status >= 0 && f->kind == Q42_FILE_RAW) {
        status = open_sidecar(path, ".bidx", &f->bidx_file, err);
    }
    status = status < 0 ? status : open_lexicon(f, err);
    status = status < 0 ? status : check_pages(f, err);
    return status < 0 || f->kind != Q42_FILE_RAW ? status : open_blocks(f, err);
}

qn_status legacy_file_open(const char *path, q42_file_kind kind, legacy_file *out_file, error_context *err) {
    legacy_file file = {.kind = kind, .file = {.fd = -1}, .lexicon_file = {.fd = -1}, .bidx_file = {.fd = -1}};
    const qn_status status = open_parts(path, &file, err);
    if (status < 0) {
        legacy_file_close(&file);
        return status;
    }
    *out_file = file;
    return QN_OK;
}

static void close_part(mapped_file *file) {
    if (file->path != NULL) {
        mapped_file_close(file);
    }
}

void legacy_file_close(legacy_file *file) {
    close_part(&file->file);
    close_part(&file->lexicon_file);
    close_part(&file->bidx_file);
    memset(file, 0, sizeof *file);
}

/* ---------------------------------------------------------------- walking */

static qn_status take_quins(const uint8_t *quins, uint64_t n_quins, quin_place place, quin_take_fn *take, void *ctx,
                            error_context *err) {
    qn_status status = QN_OK;
    for (place.slot = 0; status >= 0 && place.slot < n_quins; place.slot++) {
        const q42_quin quin = q42_quin_load(quins + place.slot * Q42_QUIN_BYTES);
        status = take(ctx, &quin, &place, err);
    }
    return status;
}

static qn_status walk_blocks(const legacy_file *f, quin_take_fn *take, void *ctx, error_context *err) {
    qn_status status = QN_OK;
    for (uint64_t i = 0; status >= 0 && i < f->raw.n_blocks; i++) {
        q42_block block;
        fmt_diag diag;
        const fmt_status found = q42_raw_read_block(&f->raw, i, &block, &diag);
        if (found != FMT_OK) {
            return error_from_diag(err, found, &diag, f->file.path);
        }
        status = take_quins(block.quins, block.n_quins, (quin_place){f->file.path, i, 0}, take, ctx, err);
    }
    return status;
}

static qn_status walk_frames(const legacy_file *f, uint8_t *room, quin_take_fn *take, void *ctx, error_context *err) {
    uint64_t at = 0, chunk = 0;
    uint32_t n_quins = 0;
    fmt_diag diag;
    fmt_status found;
    while ((found = q42_framed_next(f->file.span, &at, room, &n_quins, &diag)) == FMT_OK) {
        const qn_status status = take_quins(room, n_quins, (quin_place){f->file.path, chunk++, 0}, take, ctx, err);
        if (status < 0) {
            return status;
        }
    }
    return found == FMT_NOT_FOUND ? QN_OK : error_from_diag(err, found, &diag, f->file.path);
}

qn_status legacy_file_each(const legacy_file *file, quin_take_fn *take, void *ctx, error_context *err) {
    qn_status status = QN_OK;
    if (file->kind == Q42_FILE_RAW) {
        status = walk_blocks(file, take, ctx, err);
    } else if (file->kind == Q42_FILE_FRAMED) {
        uint8_t *room = malloc(Q42_CHUNK_BYTES);
        status = room != NULL ? walk_frames(file, room, take, ctx, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
        free(room);
    } else {
        uint64_t n_quins = 0;
        fmt_diag diag;
        const fmt_status found = q42_flat_count(file->file.span, &n_quins, &diag);
        status = found != FMT_OK ? error_from_diag(err, found, &diag, file->file.path)
                                 : take_quins(file->file.span.data, n_quins,
                                              (quin_place){file->file.path, FMT_NO_INDEX, 0}, take, ctx, err);
    }
    return status < 0 ? status : mapped_file_check(&file->file, err);
}
