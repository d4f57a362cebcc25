/* corpus.c — finding test files; reading them; scratch folders. */
#define _XOPEN_SOURCE 700
#include "corpus.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *find_root(void) {
    const char *root = getenv("QUOIN_CORPUS");
    if (root == NULL || root[0] == '\0') {
        root = getenv("QUOIN_CORPUS_DEFAULT");
    }
    return root == NULL || root[0] == '\0' ? "../shared" : root;
}

int corpus_find(const char *relative, char out_path[CORPUS_PATH_SIZE]) {
    struct stat info;
    snprintf(out_path, CORPUS_PATH_SIZE, "%s/%s", find_root(), relative);
    return stat(out_path, &info) == 0;
}

void corpus_require(const char *relative, char out_path[CORPUS_PATH_SIZE]) {
    if (!corpus_find(relative, out_path)) {
        print_message("corpus file %s is absent: skipped\n", out_path);
        skip();
    }
}

void source_require(const char *relative, char out_path[CORPUS_PATH_SIZE]) {
    const char *root = getenv("QUOIN_SOURCE");
    struct stat info;
    snprintf(out_path, CORPUS_PATH_SIZE, "%s/%s", root == NULL ? "." : root, relative);
    if (stat(out_path, &info) != 0) {
        fail_msg("project file %s is absent", out_path);
    }
}

uint8_t *test_read_file(const char *path, size_t *out_size) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    uint8_t *bytes = malloc((size_t)size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, (size_t)size, file), size);
    fclose(file);
    bytes[size] = 0;
    *out_size = (size_t)size;
    return bytes;
}

void test_make_folder(char out_path[CORPUS_PATH_SIZE]) {
    const char *base = getenv("TMPDIR");
    snprintf(out_path, CORPUS_PATH_SIZE, "%s/quoin-test-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(out_path) == NULL) {
        fail_msg("cannot make a folder like %s", out_path);
    }
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk) {
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void test_remove_tree(const char *path) {
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
