/* golden.c — reading of golden files. */
#include "golden.h"

#include "corpus.h"
#include "common/endian.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAD_BYTES 16
#define FOOT_BYTES 16

static float *elems;
static uint8_t *bytes;

static void drop_copies(void) {
    free(elems);
    free(bytes);
    elems = NULL;
    bytes = NULL;
}

golden_file golden_open(const char *name) {
    char relative[256];
    char path[CORPUS_PATH_SIZE];
    snprintf(relative, sizeof relative, "tests/formats/blocks/golden/%s", name);
    source_require(relative, path);
    golden_file file = {NULL, 0, 0};
    file.data = test_read_file(path, &file.size);
    return file;
}

static double load_double(const uint8_t *at) {
    const uint64_t bits = load_u64(at);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool golden_next(golden_file *file, golden_record *out_record) {
    drop_copies();
    if (file->at == file->size) {
        return false;
    }
    assert_true(file->size - file->at >= HEAD_BYTES);
    const uint8_t *head = file->data + file->at;
    const uint32_t n_elems = load_u32(head + 8);
    const uint32_t n_bytes = load_u32(head + 12);
    const uint64_t whole = HEAD_BYTES + 4 * (uint64_t)n_elems + n_bytes + FOOT_BYTES;
    assert_true(file->size - file->at >= whole);
    elems = malloc(4 * (size_t)n_elems);
    bytes = malloc(n_bytes + (n_bytes == 0));
    assert_non_null(elems);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < n_elems; i++) {
        const uint32_t bits = load_u32(head + HEAD_BYTES + 4 * (size_t)i);
        memcpy(&elems[i], &bits, sizeof bits);
    }
    memcpy(bytes, head + HEAD_BYTES + 4 * (size_t)n_elems, n_bytes);
    const uint8_t *foot = head + whole - FOOT_BYTES;
    *out_record = (golden_record){load_u32(head), n_elems, n_bytes, elems, bytes, load_double(foot),
                                  load_double(foot + 8)};
    file->at += whole;
    return true;
}

void golden_close(golden_file *file) {
    drop_copies();
    free(file->data);
    file->data = NULL;
}

const char *golden_type_name(blk_type type) {
    const blk_info *info = blk_get_info(type);
    return info != NULL ? info->name : "unknown";
}
