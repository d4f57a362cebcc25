/* q42_write_fixture.c — spools and a sink in memory. */
#include "q42_write_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/endian.h"
#include "common/sha.h"

static fmt_status append(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    grown *g = ctx;
    if (g->limit != 0 && g->size + size > g->limit) {
        *diag = (fmt_diag){.rule = "test", .section = "", .text = "full"};
        return FMT_IO;
    }
    g->bytes = realloc(g->bytes, g->size + size + 1);
    assert_non_null(g->bytes);
    memcpy(g->bytes + g->size, data, size);
    g->size += size;
    return FMT_OK;
}

static fmt_status read_back(void *ctx, uint64_t offset, void *room, uint64_t size, fmt_diag *diag) {
    const grown *g = ctx;
    (void)diag;
    assert_true(offset <= g->size && size <= g->size - offset);
    memcpy(room, g->bytes + offset, size);
    return FMT_OK;
}

void written_begin(written *w, const q42_write_options *options) {
    q42_spool spools[Q42_N_SPOOLS];
    memset(w, 0, sizeof *w);
    w->writer = aligned_alloc(16, (q42_writer_bytes() + 15) / 16 * 16);
    assert_non_null(w->writer);
    for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
        spools[i] = (q42_spool){&w->spools[i], append, read_back};
    }
    q42_writer_begin(w->writer, options, spools);
}

void written_add(written *w, uint64_t key, const char *text) {
    const q42_term term = {.hash = key, .kind = Q42_TERM_STRING, .text = {text, strlen(text)}};
    w->status = q42_writer_add_term(w->writer, &term, &w->diag);
}

void written_add_text(written *w, const char *text) {
    written_add(w, q42_hash(text, strlen(text)), text);
}

void written_add_block(written *w, const q42_quin *quins, uint32_t n, uint64_t sequence) {
    static uint8_t room[Q42_BLOCK_BYTES];
    static q42_built_block block;
    w->status = q42_build_block_literal(quins, n, sequence, room, &block, &w->diag);
    if (w->status == FMT_OK) {
        w->status = q42_writer_add_block(w->writer, &block, &w->diag);
    }
}

void written_finish(written *w) {
    const q42_sink sink = {&w->file, append};
    w->status = q42_writer_finish(w->writer, &sink, &w->report, &w->diag);
}

void written_free(written *w) {
    free(w->writer);
    free(w->file.bytes);
    for (uint32_t i = 0; i < Q42_N_SPOOLS; i++) {
        free(w->spools[i].bytes);
    }
}

fmt_span written_section(const written *w, uint64_t field) {
    const uint64_t offset = load_u64(w->file.bytes + field), size = load_u64(w->file.bytes + field + 8);
    assert_true(offset <= w->file.size && size <= w->file.size - offset);
    return (fmt_span){w->file.bytes + offset, size};
}

void hex_of(const void *data, uint64_t size, char *out) {
    const uint8_t *bytes = data;
    out[0] = 0;
    for (uint64_t i = 0; i < size; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

void assert_hex(const void *data, uint64_t size, const char *expected) {
    char *hex = malloc(2 * size + 1);
    assert_non_null(hex);
    hex_of(data, size, hex);
    assert_string_equal(hex, expected);
    free(hex);
}

void assert_sha256(const void *data, uint64_t size, const char *expected) {
    uint8_t digest[SHA256_BYTES];
    assert_true(sha256_digest(data, size, digest));
    assert_hex(digest, sizeof digest, expected);
}

q42_quin example_quin(void) {
    return q42_quin_make(q42_hash("http://ex/s", 11), q42_hash("http://ex/p", 11), q42_hash("http://ex/o", 11), 0, 0);
}

void make_quins(q42_quin *out, uint32_t n, uint64_t step) {
    for (uint32_t i = 0; i < n; i++) {
        out[i] = q42_quin_make(i * step, 7, i + 1, 0, 0);
    }
}
