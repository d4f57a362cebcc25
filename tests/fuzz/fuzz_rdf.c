/* fuzz_rdf.c — any bytes as RDF input of every format, plain or whatever compression they look like.
 *
 * Whatever a format gives is canonical; lenient reading gives at least as many statements; a fault has a message.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "graph/rdf_reader.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static qn_status take(void *ctx, const ntriples_statement *statement, error_context *err) {
    uint64_t *n = ctx;
    ntriples_term same;
    (void)err;
    for (uint32_t i = 0; i < statement->n_terms; i++) {
        const ntriples_term *term = &statement->terms[i];
        REQUIRE(ntriples_is_canonical((fmt_str){term->text, term->size}, &same) && same.kind == term->kind);
    }
    REQUIRE(statement->line > 0);
    *n += 1;
    return QN_OK;
}

static qn_status take_reject(void *ctx, const rdf_reject *reject, error_context *err) {
    (void)ctx;
    (void)err;
    REQUIRE(strlen(reject->diag->text) > 10 && reject->line > 0);
    return QN_OK;
}

static void read_all(const char *path, rdf_format format, bool is_lenient, uint64_t *out_n) {
    const rdf_options options = {.format = format, .base = is_lenient ? "http://e/a/b" : NULL, .blank_prefix = "s1_"};
    rdf_reader *reader;
    error_context err;
    error_clear(&err);
    *out_n = 0;
    qn_status status = rdf_reader_open(path, &options, &reader, &err);
    if (status == QN_OK) {
        status = rdf_reader_each(reader, take, out_n, is_lenient ? take_reject : NULL, &err);
        rdf_reader_close(reader);
    }
    REQUIRE(status == QN_OK || strlen(error_text(&err)) > 10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[40];
    const int fd = memfd_create("fuzz", 0);
    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    for (rdf_format format = RDF_NTRIPLES; format <= RDF_TRIG; format++) {
        uint64_t first, second;
        read_all(path, format, true, &first);
        if (format == 1 + size % RDF_TRIG) { /* one of the four: it costs time */
            read_all(path, format, false, &second);
            REQUIRE(second <= first);
        }
    }
    close(fd);
    return 0;
}
