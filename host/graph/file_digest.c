/* file_digest.c — a mapped file through SHA-256, piece by piece. */
#include "graph/file_digest.h"

#include "base/mapped_file.h"
#include "common/sha.h"

#define PIECE_BYTES (UINT64_C(4) << 20)

qn_status span_digest(fmt_span span, const char *path, progress_fn *progress, void *progress_ctx,
                      uint8_t out[Q42_DIGEST_BYTES], error_context *err) {
    sha256_stream stream;
    if (!sha256_begin(&stream)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto refuses to compute SHA-256", path);
    }
    for (uint64_t at = 0; at < span.size; at += PIECE_BYTES) {
        const uint64_t left = span.size - at;
        sha256_add(&stream, span.data + at, left < PIECE_BYTES ? left : PIECE_BYTES);
        if (progress != NULL && !progress(progress_ctx, at, span.size)) {
            sha256_abandon(&stream);
            return FAIL(err, QN_CANCELLED, "%s: interrupted", path);
        }
    }
    if (!sha256_end(&stream, out)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto refuses to compute SHA-256", path);
    }
    return QN_OK;
}

qn_status file_digest(const char *path, progress_fn *progress, void *progress_ctx, uint8_t out[Q42_DIGEST_BYTES],
                      error_context *err) {
    mapped_file file = {.fd = -1};
    qn_status status = mapped_file_open(path, &file, err);
    if (status < 0) {
        return status;
    }
    status = span_digest(file.span, path, progress, progress_ctx, out, err);
    status = status < 0 ? status : mapped_file_check(&file, err);
    mapped_file_close(&file);
    return status;
}
