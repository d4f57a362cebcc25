/* text_output.c — one way for text to leave, whatever it ends in. */
#include "cli/text_output.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>
#include <zstd.h>

#include "cli/command.h"
#include "graph/model_helper.h"

#define GZIP_WINDOW (15 + 16) /* largest window, with the header of gzip */
#define CHUNK (64u << 10)

static bool has_ending(const char *path, const char *ending) {
    const size_t size = strlen(path), n = strlen(ending);
    return size > n && strcmp(path + size - n, ending) == 0;
}

static qn_status begin_compression(text_output *o, error_context *err) {
    if (has_ending(o->path, ".gz")) {
        o->gzip = calloc(1, sizeof *o->gzip);
        if (o->gzip == NULL ||
            deflateInit2(o->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
    } else if (has_ending(o->path, ".zst")) {
        o->zstd = ZSTD_createCCtx();
        if (o->zstd == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
    }
    return QN_OK;
}

qn_status text_output_begin(text_output *output, const char *path, bool is_forced, error_context *err) {
    memset(output, 0, sizeof *output);
    output->file.fd = -1;
    output->is_open = true;
    if (path == NULL || strcmp(path, "-") == 0) {
        return QN_OK;
    }
    fmt_diag diag;
    if (is_forced && model_helper_refuse(path, err) != QN_OK) {
        output->is_open = false;
        return QN_BAD_INPUT;
    }
    output->path = path;
    const fmt_status status = atomic_file_create(&output->file, path, is_forced, 0, &diag);
    if (status != FMT_OK) {
        output->is_open = false;
        return error_from_diag(err, status, &diag, path);
    }
    return begin_compression(output, err);
}

static bool write_file(text_output *o, const void *data, size_t size, error_context *err) {
    fmt_diag diag;
    const fmt_status status = size > 0 ? atomic_file_write(&o->file, o->at, data, size, &diag) : FMT_OK;
    if (status != FMT_OK) {
        error_from_diag(err, status, &diag, o->path);
        return false;
    }
    o->at += size;
    return true;
}

static bool write_gzip(text_output *o, const char *text, size_t size, bool is_end, error_context *err) {
    unsigned char out[CHUNK];
    o->gzip->next_in = (unsigned char *)(uintptr_t)text;
    o->gzip->avail_in = (uInt)size; /* callers write chunks of far less than 4 GiB */
    do {
        o->gzip->next_out = out;
        o->gzip->avail_out = sizeof out;
        deflate(o->gzip, is_end ? Z_FINISH : Z_NO_FLUSH);
        if (!write_file(o, out, sizeof out - o->gzip->avail_out, err)) {
            return false;
        }
    } while (o->gzip->avail_out == 0);
    return true;
}

static bool write_zstd(text_output *o, const char *text, size_t size, bool is_end, error_context *err) {
    unsigned char out[CHUNK];
    ZSTD_inBuffer in = {text, size, 0};
    size_t left;
    do {
        ZSTD_outBuffer written = {out, sizeof out, 0};
        left = ZSTD_compressStream2(o->zstd, &written, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left)) {
            FAIL(err, QN_IO, "%s: compressing it failed: %s", o->path, ZSTD_getErrorName(left));
            return false;
        }
        if (!write_file(o, out, written.pos, err)) {
            return false;
        }
    } while (in.pos < in.size || (is_end && left > 0));
    return true;
}

bool text_output_write(void *output, const char *text, size_t size, error_context *err) {
    text_output *o = output;
    if (o->path == NULL) {
        o->is_broken = !command_write(text, size);
        return !o->is_broken || FAIL(err, QN_IO, "standard output cannot be written") == QN_OK;
    }
    return o->gzip != NULL   ? write_gzip(o, text, size, false, err)
           : o->zstd != NULL ? write_zstd(o, text, size, false, err)
                             : write_file(o, text, size, err);
}

qn_status text_output_end(text_output *output, error_context *err) {
    fmt_diag diag;
    if (output->path == NULL) {
        return QN_OK;
    }
    if ((output->gzip != NULL && !write_gzip(output, "", 0, true, err)) ||
        (output->zstd != NULL && !write_zstd(output, "", 0, true, err))) {
        return QN_IO;
    }
    const fmt_status status = atomic_file_commit(&output->file, &diag);
    output->is_open = false;
    text_output_abort(output);
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, output->path);
}

void text_output_abort(text_output *output) {
    if (output->is_open && output->path != NULL) {
        atomic_file_abort(&output->file);
    }
    if (output->gzip != NULL) {
        deflateEnd(output->gzip);
        free(output->gzip);
        output->gzip = NULL;
    }
    ZSTD_freeCCtx(output->zstd);
    output->zstd = NULL;
    output->is_open = false;
}
