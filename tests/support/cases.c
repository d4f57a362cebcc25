/* cases.c — running a case generator and reading its manifest. */
#include "cases.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

/* Joins into a path buffer; a path that does not fit is a broken test machine. */
static void join_path(char out[CORPUS_PATH_SIZE], const char *folder, const char *name) {
    const int size = snprintf(out, CORPUS_PATH_SIZE, "%s/%s", folder, name);
    assert_true(size > 0 && size < CORPUS_PATH_SIZE);
}

static int run_generator(const char *script, const char *folder) {
    const pid_t child = fork();
    if (child == 0) {
        const int quiet = open("/dev/null", O_WRONLY);
        dup2(quiet, STDOUT_FILENO);
        setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
        execlp("python3", "python3", script, folder, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void copy_field(json_t *entry, const char *field, char *out, size_t size) {
    const char *text = json_string_value(json_object_get(entry, field));
    assert_non_null(text);
    snprintf(out, size, "%s", text);
}

static void read_manifest(const char *folder, test_cases *out_cases) {
    char path[CORPUS_PATH_SIZE], file[256];
    join_path(path, folder, "manifest.json");
    json_error_t error;
    json_t *manifest = json_load_file(path, 0, &error);
    if (manifest == NULL) {
        fail_msg("%s: %s", path, error.text);
    }
    out_cases->count = json_array_size(manifest);
    assert_true(out_cases->count > 0);
    out_cases->items = calloc(out_cases->count, sizeof *out_cases->items);
    assert_non_null(out_cases->items);
    for (size_t i = 0; i < out_cases->count; i++) {
        json_t *entry = json_array_get(manifest, i);
        test_case *item = &out_cases->items[i];
        copy_field(entry, "id", item->id, sizeof item->id);
        copy_field(entry, "expect", item->expect, sizeof item->expect);
        copy_field(entry, "rule", item->rule, sizeof item->rule);
        copy_field(entry, "file", file, sizeof file);
        join_path(item->path, folder, file);
    }
    json_decref(manifest);
}

void cases_make(const char *family, test_cases *out_cases) {
    char script[CORPUS_PATH_SIZE], relative[256], folder[CORPUS_PATH_SIZE];
    memset(out_cases, 0, sizeof *out_cases);
    snprintf(relative, sizeof relative, "tests/cases/gen_%s.py", family);
    source_require(relative, script);
    test_make_folder(out_cases->folder);
    const int status = run_generator(script, out_cases->folder);
    if (status == 127) {
        test_remove_tree(out_cases->folder);
        print_message("python3 is absent: the cases of family %s are skipped\n", family);
        skip();
    }
    assert_int_equal(status, 0);
    snprintf(relative, sizeof relative, "dev/%s", family);
    join_path(folder, out_cases->folder, relative);
    read_manifest(folder, out_cases);
}

void cases_free(test_cases *cases) {
    test_remove_tree(cases->folder);
    free(cases->items);
    memset(cases, 0, sizeof *cases);
}

fmt_span test_map_file(const char *path) {
    struct stat info;
    const int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &info) != 0) {
        fail_msg("cannot open %s", path);
    }
    fmt_span span = {NULL, (uint64_t)info.st_size};
    if (span.size > 0) {
        void *map = mmap(NULL, (size_t)span.size, PROT_READ, MAP_PRIVATE, file, 0);
        assert_true(map != MAP_FAILED);
        span.data = map;
    }
    close(file);
    return span;
}

void test_unmap_file(fmt_span span) {
    if (span.size > 0) {
        union {
            const uint8_t *read_only;
            void *any;
        } address = {span.data};
        munmap(address.any, (size_t)span.size);
    }
}
