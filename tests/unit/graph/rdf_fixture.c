/* rdf_fixture.c — see rdf_fixture.h. */
#include "rdf_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lz4frame.h>
#include <zlib.h>
#include <zstd.h>

const char *rdf_write(const rdf_folder *folder, const char *name, const void *bytes, size_t size) {
    static char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder->path, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    return path;
}

static size_t compress_gzip(const void *bytes, size_t size, uint8_t *out, size_t room) {
    z_stream stream;
    union {
        const void *read_only;
        uint8_t *any;
    } in = {bytes};
    memset(&stream, 0, sizeof stream);
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = in.any;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)room;
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    deflateEnd(&stream);
    return stream.total_out;
}

uint8_t *rdf_compress(const char *extension, const void *bytes, size_t size, size_t *out_size) {
    const size_t room = size + size / 2 + 4096;
    uint8_t *out = malloc(room);
    assert_non_null(out);
    if (strcmp(extension, ".gz") == 0) {
        *out_size = compress_gzip(bytes, size, out, room);
    } else if (strcmp(extension, ".zst") == 0) {
        *out_size = ZSTD_compress(out, room, bytes, size, 3);
        assert_false(ZSTD_isError(*out_size));
    } else {
        LZ4F_preferences_t preferences;
        memset(&preferences, 0, sizeof preferences);
        preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
        *out_size = LZ4F_compressFrame(out, room, bytes, size, &preferences);
        assert_false(LZ4F_isError(*out_size));
    }
    return out;
}

static qn_status keep_statement(void *ctx, const ntriples_statement *statement, error_context *err) {
    rdf_result *result = ctx;
    fmt_str terms[4];
    size_t room = 3;
    (void)err;
    for (uint32_t i = 0; i < statement->n_terms; i++) {
        terms[i] = (fmt_str){statement->terms[i].text, statement->terms[i].size};
        room += terms[i].size + 1;
    }
    if (result->size + room > result->room) {
        result->room = 2 * (result->size + room);
        result->text = realloc(result->text, result->room);
        assert_non_null(result->text);
    }
    result->size += ntriples_write_statement(terms, statement->n_terms, result->text + result->size);
    result->text[result->size] = '\0';
    result->n_statements++;
    result->last_line = statement->line;
    return QN_OK;
}

static qn_status keep_reject(void *ctx, const rdf_reject *reject, error_context *err) {
    rdf_result *result = ctx;
    const size_t used = strlen(result->rejects);
    (void)err;
    snprintf(result->rejects + used, sizeof result->rejects - used, "%llu: %s %.*s\n", (unsigned long long)reject->line,
             reject->diag->rule, (int)(reject->text.size < 100 ? reject->text.size : 100), reject->text.data);
    result->n_rejects++;
    return QN_OK;
}

rdf_result rdf_read(const char *path, const rdf_options *options, int is_lenient) {
    static const rdf_options none = {.format = RDF_AUTO};
    rdf_result result;
    rdf_reader *reader;
    error_context err;
    memset(&result, 0, sizeof result);
    error_clear(&err);
    result.text = calloc(1, 1);
    assert_non_null(result.text);
    result.status = rdf_reader_open(path, options == NULL ? &none : options, &reader, &err);
    if (result.status == QN_OK) {
        result.status = rdf_reader_each(reader, keep_statement, &result, is_lenient ? keep_reject : NULL, &err);
        rdf_reader_close(reader);
    }
    if (result.status < 0) {
        assert_int_equal(err.code, result.status);
        snprintf(result.message, sizeof result.message, "%s", error_text(&err));
    }
    return result;
}

rdf_result rdf_read_text(const rdf_folder *folder, const char *name, const char *text, const rdf_options *options) {
    return rdf_read(rdf_write(folder, name, text, strlen(text)), options, 0);
}

void rdf_free(rdf_result *result) {
    free(result->text);
    result->text = NULL;
}
