/* prove_fixture.c — opening the toy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prove_fixture.h"

const char *toy_path(const char *name) {
    static char rooms[4][512];
    static unsigned next;
    char *room = rooms[next++ % 4];
    snprintf(room, sizeof rooms[0], "%s/tests/vectors/prov/%s", getenv("QUOIN_SOURCE"), name);
    return room;
}

text_buffer toy_read(const char *path) {
    mapped_file file;
    text_buffer out = {0};
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    assert_true(text_buffer_append(&out, (const char *)file.span.data, file.span.size));
    mapped_file_close(&file);
    return out;
}

static fmt_status take_bytes(void *ctx, const void *data, uint64_t size, fmt_diag *diag) {
    (void)diag;
    return text_buffer_append(ctx, data, (size_t)size) ? FMT_OK : FMT_NO_SPACE;
}

text_buffer toy_bytes(prove_graph *g) {
    text_buffer out = {0};
    q42_write_report report;
    fmt_diag diag;
    const q42_sink sink = {&out, take_bytes};
    assert_int_equal(small_volume_write(&g->volume, TOY_TIME, &sink, &report, &diag), FMT_OK);
    return out;
}

void toy_digest(const char *word, uint8_t out[SHA256_BYTES]) {
    assert_true(sha256_digest(word, strlen(word), out));
}

void toy_runtime(prove_runtime *out) {
    static const char plugin[] = "a plugin";
    const fmt_span bytes = {(const uint8_t *)plugin, strlen(plugin)};
    *out = (prove_runtime){.name = "quoin", .version = "1", .build = "vector", .backend = "cpu", .device = "CPU, 1 worker",
                           .driver = "cpu 1: none", .numeric = "f32acc", .n_threads = 1};
    toy_digest("a program", out->digest);
    assert_int_equal(prove_add_kernel(out, "cpu", "matmul", "f32acc", bytes, NULL), QN_OK);
    assert_int_equal(prove_add_kernel(out, "cpu", "add", "f32acc", bytes, NULL), QN_OK);
    assert_int_equal(prove_add_kernel(out, "cpu", "matmul", "f32acc", bytes, NULL), QN_OK);
    assert_int_equal(out->n_kernels, 2);
}

static void open_container(toy *t) {
    fmt_diag diag;
    uint64_t bytes;
    snprintf(t->path, sizeof t->path, "%s", toy_path("toy.p64"));
    assert_int_equal(mapped_file_open(t->path, &t->file, NULL), QN_OK);
    assert_int_equal(p64_scratch_size(t->file.span, FMT_MODE_STRICT, &bytes, &diag), FMT_OK);
    t->scratch = malloc(bytes + 1);
    assert_int_equal(p64_open(t->file.span, FMT_MODE_STRICT, t->scratch, bytes, &t->p64, NULL, NULL, &diag), FMT_OK);
}

void toy_open(toy *t) {
    static const char *const urls[] = {"https://maker.example/toy.gguf"};
    memset(t, 0, sizeof *t);
    open_container(t);
    assert_int_equal(prove_source_open(toy_path("toy.gguf"), NULL, NULL, &t->source, NULL), QN_OK);
    assert_int_equal(mapped_file_open(toy_path("toy.licence.txt"), &t->licence_file, NULL), QN_OK);
    t->licence = (prove_licence){.text = t->licence_file.span, .spdx = "0BSD", .url = "https://maker.example/licence",
                                 .permits = {true, false, true, false}};
    assert_int_equal(prove_consent_read(toy_path("toy.consent.txt"), &t->consent, NULL), QN_OK);
    t->tool = (prove_runtime){.name = "quoin", .version = "1", .build = "vector"};
    toy_digest("a program", t->tool.digest);
    t->facts = (prove_model_facts){.p64 = &t->p64, .source = &t->source, .policy = "byte-preserving", .is_byte_equal = true,
                                   .ended_ms = TOY_TIME, .licence = &t->licence, .consents = &t->consent, .n_consents = 1, .urls = urls,
                                   .n_urls = 1, .tool = &t->tool, .is_full = true};
}

void toy_close(toy *t) {
    prove_consent_free(&t->consent);
    prove_source_close(&t->source);
    mapped_file_close(&t->licence_file);
    mapped_file_close(&t->file);
    free(t->scratch);
}
