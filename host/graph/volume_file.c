/* volume_file.c — spools behind a writer, a buffer and a digest before a file. */
#include "graph/volume_file.h"

#include <stdlib.h>
#include <string.h>

#include "common/sha.h"

enum { SINK_BYTES = 256 * 1024, LEAST_SPOOL = 4096 };

qn_status volume_file_open(volume_file *file, const char *path, const q42_write_options *options, uint64_t memory,
                           error_context *err) {
    q42_spool spools[Q42_N_SPOOLS];
    *file = (volume_file){.path = path, .writer = aligned_alloc(16, (q42_writer_bytes() + 15) / 16 * 16)};
    if (file->writer == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to write a volume", path);
    }
    for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
        /* Blocks are most of a volume, then strings; all indexes together are a few percent. */
        const uint64_t share = i == Q42_SPOOL_DATA ? memory / 2 : i == Q42_SPOOL_LEXICON ? memory / 4 : memory / 32;
        spool_init(&file->spools[i], path, share > LEAST_SPOOL ? share : LEAST_SPOOL);
        spools[i] = spool_as_q42(&file->spools[i]);
    }
    q42_writer_begin(file->writer, options, spools);
    return QN_OK;
}

void volume_file_close(volume_file *file) {
    if (file->writer != NULL) {
        for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
            spool_close(&file->spools[i]);
        }
        free(file->writer);
        file->writer = NULL;
    }
}

static qn_status translate(fmt_status status, const fmt_diag *diag, const char *path, error_context *err) {
    if (status == FMT_OK) {
        return QN_OK;
    }
    return status == FMT_BAD_ARG ? FAIL(err, QN_BAD_INPUT, "%s: %s", path, diag->text)
                                 : error_from_diag(err, status, diag, path);
}

qn_status volume_file_add_term(volume_file *file, const q42_term *term, error_context *err) {
    fmt_diag diag;
    return translate(q42_writer_add_term(file->writer, term, &diag), &diag, file->path, err);
}

qn_status volume_file_add_block(volume_file *file, const q42_built_block *block, error_context *err) {
    fmt_diag diag;
    return translate(q42_writer_add_block(file->writer, block, &diag), &diag, file->path, err);
}

/* --------------------------------------------------------------------------------------------------------- finishing */

typedef struct buffered_sink {
    atomic_file *target;
    sha256_stream sha;
    bool has_sha;
    uint64_t at, used;
    uint8_t buffer[SINK_BYTES];
} buffered_sink;

static fmt_status flush(buffered_sink *s, fmt_diag *diag) {
    const fmt_status status = atomic_file_write(s->target, s->at, s->buffer, s->used, diag);
    if (s->has_sha) {
        sha256_add(&s->sha, s->buffer, s->used);
    }
    s->at += s->used;
    s->used = 0;
    return status;
}

static fmt_status put(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    buffered_sink *s = ctx;
    const uint8_t *from = data;
    while (size > 0) {
        const uint64_t room = SINK_BYTES - s->used, part = size < room ? size : room;
        memcpy(s->buffer + s->used, from, part);
        s->used += part;
        from += part;
        size -= part;
        if (s->used == SINK_BYTES) {
            const fmt_status status = flush(s, diag);
            if (status != FMT_OK) {
                return status;
            }
        }
    }
    return FMT_OK;
}

static qn_status write_out(volume_file *file, buffered_sink *s, q42_write_report *out_report, error_context *err) {
    const q42_sink sink = {s, put};
    fmt_diag diag;
    fmt_status status = q42_writer_finish(file->writer, &sink, out_report, &diag);
    if (status == FMT_OK) {
        status = flush(s, &diag);
    }
    return translate(status, &diag, file->path, err);
}

qn_status volume_file_finish(volume_file *file, atomic_file *target, q42_write_report *out_report,
                             uint8_t digest[Q42_DIGEST_BYTES], error_context *err) {
    buffered_sink *s = malloc(sizeof *s);
    if (s == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to write a volume", file->path);
    }
    s->target = target;
    s->at = s->used = 0;
    s->has_sha = digest != NULL;
    qn_status status = QN_OK;
    if (s->has_sha && !sha256_begin(&s->sha)) {
        status = FAIL(err, QN_UNSUPPORTED, "%s: the cryptographic library refuses to hash", file->path);
        s->has_sha = false;
    }
    status = status == QN_OK ? write_out(file, s, out_report, err) : status;
    if (s->has_sha && (status != QN_OK || !sha256_end(&s->sha, digest))) {
        sha256_abandon(&s->sha);
        status = status != QN_OK ? status : FAIL(err, QN_UNSUPPORTED, "%s: SHA-256 failed", file->path);
    }
    free(s);
    return status;
}
