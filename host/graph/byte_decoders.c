/* byte_decoders.c — zlib, zstd and LZ4 behind one interface. */
#include <stdlib.h>
#include <string.h>

#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

#include "byte_decoder.h"

#define GZIP_WINDOW_BITS (15 + 16) /* the largest window, a gzip header */

typedef struct gzip_state {
    z_stream stream;
    bool is_over; /* a member has ended: the next byte begins another */
} gzip_state;

static void *create_gzip(void) {
    gzip_state *state = calloc(1, sizeof *state);
    if (state != NULL && inflateInit2(&state->stream, GZIP_WINDOW_BITS) != Z_OK) {
        free(state);
        state = NULL;
    }
    return state;
}

static void destroy_gzip(void *memory) {
    gzip_state *state = memory;
    inflateEnd(&state->stream);
    free(state);
}

static const char *step_gzip(void *memory, byte_window *io, bool *out_is_over) {
    gzip_state *state = memory;
    z_stream *stream = &state->stream;
    union {
        const uint8_t *read_only;
        uint8_t *any;
    } in = {io->in}; /* zlib does not write to its input */
    if (state->is_over && io->in_size > 0) {
        inflateReset(stream);
        state->is_over = false;
    }
    stream->next_in = in.any;
    stream->avail_in = (uInt)io->in_size;
    stream->next_out = io->out;
    stream->avail_out = io->out_size > INT32_MAX ? INT32_MAX : (uInt)io->out_size;
    const uInt room = stream->avail_out;
    const int status = state->is_over ? Z_BUF_ERROR : inflate(stream, Z_NO_FLUSH);
    io->in += io->in_size - stream->avail_in;
    io->in_size = stream->avail_in;
    io->out += room - stream->avail_out;
    io->out_size -= room - stream->avail_out;
    state->is_over = state->is_over || status == Z_STREAM_END;
    *out_is_over = state->is_over;
    if (status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR) {
        return NULL;
    }
    return stream->msg != NULL ? stream->msg : zError(status);
}

static void *create_zstd(void) {
    return ZSTD_createDStream();
}

static void destroy_zstd(void *state) {
    ZSTD_freeDStream(state);
}

static const char *step_zstd(void *state, byte_window *io, bool *out_is_over) {
    ZSTD_inBuffer in = {io->in, io->in_size, 0};
    ZSTD_outBuffer out = {io->out, io->out_size, 0};
    const size_t status = ZSTD_decompressStream(state, &out, &in);
    io->in += in.pos;
    io->in_size -= in.pos;
    io->out += out.pos;
    io->out_size -= out.pos;
    /* Nothing moved: nothing is said about where a frame ends, either. */
    if (in.pos > 0 || out.pos > 0) {
        *out_is_over = status == 0;
    }
    return ZSTD_isError(status) ? ZSTD_getErrorName(status) : NULL;
}

static void *create_lz4(void) {
    LZ4F_dctx *context = NULL;
    return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL : context;
}

static void destroy_lz4(void *state) {
    LZ4F_freeDecompressionContext(state);
}

static const char *step_lz4(void *state, byte_window *io, bool *out_is_over) {
    size_t in_size = io->in_size, out_size = io->out_size;
    const size_t status = LZ4F_decompress(state, io->out, &out_size, io->in, &in_size, NULL);
    if (LZ4F_isError(status)) {
        return LZ4F_getErrorName(status);
    }
    io->in += in_size;
    io->in_size -= in_size;
    io->out += out_size;
    io->out_size -= out_size;
    if (in_size > 0 || out_size > 0) {
        *out_is_over = status == 0;
    }
    return NULL;
}

const byte_decoder byte_decoder_gzip = {"gzip", create_gzip, destroy_gzip, step_gzip};
const byte_decoder byte_decoder_zstd = {"zstd", create_zstd, destroy_zstd, step_zstd};
const byte_decoder byte_decoder_lz4 = {"LZ4", create_lz4, destroy_lz4, step_lz4};
