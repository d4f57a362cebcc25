/* migrate.c — a header's migration through a temporary file. */
#include "graph/migrate.h"

#include <string.h>

#include <quoin/q42_files.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "common/endian.h"
#include "graph/model_helper.h"

#define PIECE_BYTES (UINT64_C(4) << 20)

static fmt_status copy_rest(atomic_file *out, fmt_span span, progress_fn *progress, void *progress_ctx,
                            fmt_diag *diag) {
    fmt_status status = FMT_OK;
    for (uint64_t at = Q42_HEADER_BYTES; status == FMT_OK && at < span.size; at += PIECE_BYTES) {
        const uint64_t left = span.size - at;
        status = atomic_file_write(out, at, span.data + at, left < PIECE_BYTES ? left : PIECE_BYTES, diag);
        if (status == FMT_OK && progress != NULL && !progress(progress_ctx, at, span.size)) {
            status = FMT_CANCELLED;
        }
    }
    return status;
}

/* Whether the new file is a volume that opens. */
static fmt_status try_open(atomic_file *out, fmt_diag *diag) {
    fmt_span span;
    q42_volume volume;
    const fmt_status status = atomic_file_map(out, &span, diag);
    return status == FMT_OK ? q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, diag) : status;
}

static qn_status write_migrated(fmt_span span, const uint8_t header[Q42_HEADER_BYTES], const char *path,
                                const char *output, bool is_forced, bool is_dry, progress_fn *progress,
                                void *progress_ctx, error_context *err) {
    atomic_file out = {.fd = -1};
    fmt_diag diag = {.rule = "file"};
    bool is_tried = false;
    if (is_forced && model_helper_refuse(output, err) != QN_OK) {
        return QN_BAD_INPUT;
    }
    fmt_status status = atomic_file_create(&out, output, is_forced, span.size, &diag);
    status = status == FMT_OK ? atomic_file_write(&out, 0, header, Q42_HEADER_BYTES, &diag) : status;
    status = status == FMT_OK ? copy_rest(&out, span, progress, progress_ctx, &diag) : status;
    if (status == FMT_OK) {
        is_tried = true;
        status = try_open(&out, &diag);
    }
    const bool is_openable = status == FMT_OK;
    if (status == FMT_OK && !is_dry) {
        status = atomic_file_commit(&out, &diag);
    } else {
        atomic_file_abort(&out);
    }
    if (status == FMT_CANCELLED) {
        return FAIL(err, QN_CANCELLED, "interrupted; nothing was written");
    }
    if (is_tried && !is_openable) {
        return FAIL(err, QN_BAD_FILE, "%s: it is left alone, since after its migration it would not open: byte %llu: %s", path,
                    (unsigned long long)diag.offset, diag.text);
    }
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, output);
}

static qn_status migrate_mapped(const mapped_file *file, const char *output, bool is_forced, bool is_dry,
                                progress_fn *progress, void *progress_ctx, migrate_report *report,
                                error_context *err) {
    uint8_t header[Q42_HEADER_BYTES];
    fmt_diag diag;
    if (file->span.size < sizeof header) {
        return FAIL(err, QN_BAD_FILE, "%s: has %llu bytes, and a volume's header has %u", file->path,
                    (unsigned long long)file->span.size, Q42_HEADER_BYTES);
    }
    memcpy(header, file->span.data, sizeof header);
    report->bytes = file->span.size;
    report->version_before = load_u16(header + 4);
    report->flags_before = load_u16(header + 6);
    const fmt_status status = q42_migrate_header(header, &report->is_changed, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, file->path);
    }
    report->flags_after = load_u16(header + 6);
    if (!report->is_changed) {
        return QN_OK;
    }
    return write_migrated(file->span, header, file->path, output, is_forced, is_dry, progress, progress_ctx, err);
}

qn_status migrate_header(const char *path, const char *output, bool is_forced, bool is_dry, progress_fn *progress,
                         void *progress_ctx, migrate_report *out_report, error_context *err) {
    mapped_file file = {.fd = -1};
    migrate_report report = {0};
    qn_status status = mapped_file_open(path, &file, err);
    if (status < 0) {
        return status;
    }
    const bool is_in_place = strcmp(path, output) == 0;
    status = migrate_mapped(&file, output, is_forced || is_in_place, is_dry, progress, progress_ctx, &report, err);
    mapped_file_close(&file);
    if (status >= 0) {
        *out_report = report;
    }
    return status;
}
