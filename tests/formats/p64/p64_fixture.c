/* p64_fixture.c — containers in memory for the tests of this folder. */
#include "p64_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "corpus.h"

enum { CHECKSUM_AT = 28 };

void fixture_free(fixture *f) {
    free(f->bytes);
    free(f->scratch);
    *f = (fixture){0};
}

void fixture_load(fixture *f, const char *name) {
    char relative[256], path[CORPUS_PATH_SIZE];
    fixture_free(f);
    snprintf(relative, sizeof relative, "tests/vectors/p64/%s", name);
    source_require(relative, path);
    f->bytes = test_read_file(path, &f->size);
}

void fixture_take(fixture *f, const void *bytes, size_t size) {
    fixture_free(f);
    f->bytes = malloc(size > 0 ? size : 1);
    assert_non_null(f->bytes);
    memcpy(f->bytes, bytes, size);
    f->size = size;
}

uint32_t fixture_u32(const fixture *f, uint64_t at) {
    return load_u32(f->bytes + at);
}

void fixture_seal(fixture *f) {
    const uint32_t at = fixture_u32(f, CHECKSUM_AT);
    assert_true(at + 4u <= f->size);
    store_u32(f->bytes + at, crc32c(f->bytes, at));
}

void fixture_poke(fixture *f, uint64_t at, const void *data, size_t size) {
    assert_true(at + size <= f->size);
    memcpy(f->bytes + at, data, size);
    fixture_seal(f);
}

void fixture_poke_u32(fixture *f, uint64_t at, uint32_t value) {
    uint8_t raw[4];
    store_u32(raw, value);
    fixture_poke(f, at, raw, sizeof raw);
}

static void keep_note(void *ctx, const fmt_diag *note) {
    fixture *f = ctx;
    if (f->n_notes < FIXTURE_MAX_NOTES) {
        f->notes[f->n_notes] = *note;
    }
    f->n_notes++;
}

void fixture_open(fixture *f, fmt_mode mode) {
    const fmt_span span = {f->bytes, f->size};
    free(f->scratch);
    f->scratch = NULL;
    f->n_notes = 0;
    memset(&f->diag, 0, sizeof f->diag);
    f->status = p64_scratch_size(span, mode, &f->scratch_bytes, &f->diag);
    if (f->status == FMT_OK) {
        f->scratch = malloc(f->scratch_bytes);
        assert_non_null(f->scratch);
        memset(f->scratch, 0xA5, f->scratch_bytes);
        f->status = p64_open(span, mode, f->scratch, f->scratch_bytes, &f->file, keep_note, f, &f->diag);
    }
}

bool fixture_has_note(const fixture *f, const char *rule) {
    for (uint32_t i = 0; i < f->n_notes && i < FIXTURE_MAX_NOTES; i++) {
        if (strcmp(f->notes[i].rule, rule) == 0) {
            return true;
        }
    }
    return false;
}

void fixture_assert_refused(const fixture *f, const char *rule, uint64_t offset) {
    assert_int_equal(f->status, FMT_BAD_FILE);
    assert_string_equal(f->diag.rule, rule);
    assert_int_equal(f->diag.offset, offset);
    assert_true(strlen(f->diag.text) > 20);
}

void fixture_assert_open(const fixture *f) {
    if (f->status != FMT_OK) {
        fail_msg("refused by %s at byte %llu: %s", f->diag.rule, (unsigned long long)f->diag.offset, f->diag.text);
    }
}
