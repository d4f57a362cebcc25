/* test_atomic_file.c — the file appears whole or not at all. */
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomic_file.h"
#include "corpus.h"

typedef struct place {
    char folder[CORPUS_PATH_SIZE];
    char path[CORPUS_PATH_SIZE + 16];
} place;

static void make_place(place *p) {
    test_make_folder(p->folder);
    snprintf(p->path, sizeof p->path, "%s/target", p->folder);
}

static uint32_t count_files(const place *p) {
    uint32_t count = 0;
    DIR *dir = opendir(p->folder);
    assert_non_null(dir);
    for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
        count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    }
    closedir(dir);
    return count;
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void assert_content(const place *p, const char *text) {
    size_t size;
    uint8_t *bytes = test_read_file(p->path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void pieces_in_any_order_make_one_file_when_committed(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    fmt_span span;
    (void)state;
    make_place(&p);
    assert_int_equal(atomic_file_create(&f, p.path, false, 10, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&f, 3, "defg", 4, &diag), FMT_OK);
    assert_int_equal(access(p.path, F_OK), -1);
    assert_int_equal(atomic_file_write(&f, 0, "abc", 3, &diag), FMT_OK);
    assert_int_equal(atomic_file_map(&f, &span, &diag), FMT_OK);
    assert_int_equal(span.size, 7);
    assert_memory_equal(span.data, "abcdefg", 7);
    assert_int_equal(atomic_file_commit(&f, &diag), FMT_OK);
    atomic_file_abort(&f); /* of a committed file: nothing */
    assert_content(&p, "abcdefg");
    assert_int_equal(count_files(&p), 1);
    test_remove_tree(p.folder);
}

static void abort_leaves_nothing(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    (void)state;
    make_place(&p);
    assert_int_equal(atomic_file_create(&f, p.path, false, 0, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&f, 0, "abc", 3, &diag), FMT_OK);
    assert_int_equal(count_files(&p), f.is_unnamed ? 0 : 1);
    atomic_file_abort(&f);
    assert_int_equal(count_files(&p), 0);
    test_remove_tree(p.folder);
}

static void an_existing_file_is_replaced_only_with_force_and_keeps_its_permissions(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    struct stat info;
    (void)state;
    make_place(&p);
    put(p.path, "old");
    assert_int_equal(chmod(p.path, 0640), 0);
    assert_int_equal(atomic_file_create(&f, p.path, false, 0, &diag), FMT_IO);
    assert_non_null(strstr(diag.text, "--force"));
    atomic_file_abort(&f);
    assert_content(&p, "old");
    assert_int_equal(atomic_file_create(&f, p.path, true, 0, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&f, 0, "new!", 4, &diag), FMT_OK);
    assert_content(&p, "old");
    assert_int_equal(atomic_file_commit(&f, &diag), FMT_OK);
    assert_content(&p, "new!");
    assert_int_equal(stat(p.path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_files(&p), 1);
    test_remove_tree(p.folder);
}

static void a_file_that_appears_meanwhile_survives(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    (void)state;
    make_place(&p);
    assert_int_equal(atomic_file_create(&f, p.path, false, 0, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&f, 0, "mine", 4, &diag), FMT_OK);
    put(p.path, "theirs");
    assert_int_equal(atomic_file_commit(&f, &diag), FMT_IO);
    assert_content(&p, "theirs");
    assert_int_equal(count_files(&p), 1);
    test_remove_tree(p.folder);
}

static void what_cannot_be_written_is_refused_with_the_reason(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    char missing[CORPUS_PATH_SIZE + 32];
    (void)state;
    make_place(&p);
    assert_int_equal(atomic_file_create(&f, p.folder, true, 0, &diag), FMT_IO);
    assert_non_null(strstr(diag.text, "folder"));
    snprintf(missing, sizeof missing, "%s/no/such/file", p.folder);
    assert_int_equal(atomic_file_create(&f, missing, true, 0, &diag), FMT_IO);
    assert_int_equal(atomic_file_create(&f, "", true, 0, &diag), FMT_IO);
    assert_int_equal(atomic_file_create(&f, p.path, true, UINT64_MAX / 2, &diag), FMT_LIMIT);
    assert_non_null(strstr(diag.text, "free"));
    assert_int_equal(atomic_file_create(&f, "/dev/full", true, 0, &diag), FMT_IO);
    assert_int_equal(count_files(&p), 0);
    test_remove_tree(p.folder);
}

static void a_link_stays_and_what_it_points_to_is_replaced(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    struct stat info;
    char link_path[CORPUS_PATH_SIZE + 16];
    (void)state;
    make_place(&p);
    put(p.path, "old");
    snprintf(link_path, sizeof link_path, "%s/link", p.folder);
    assert_int_equal(symlink("target", link_path), 0);
    assert_int_equal(atomic_file_create(&f, link_path, true, 0, &diag), FMT_OK);
    assert_int_equal(atomic_file_write(&f, 0, "new", 3, &diag), FMT_OK);
    assert_int_equal(atomic_file_commit(&f, &diag), FMT_OK);
    assert_content(&p, "new");
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    test_remove_tree(p.folder);
}

static void a_write_that_fails_half_way_leaves_nothing_after_abort(void **state) {
    place p;
    atomic_file f;
    fmt_diag diag;
    struct rlimit old, small;
    static const uint8_t block[4096];
    fmt_status status = FMT_OK;
    (void)state;
    make_place(&p);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 10000;
    assert_int_equal(atomic_file_create(&f, p.path, false, 0, &diag), FMT_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (uint64_t i = 0; i < 4 && status == FMT_OK; i++) {
        status = atomic_file_write(&f, i * sizeof block, block, sizeof block, &diag);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(status, FMT_IO);
    atomic_file_abort(&f);
    assert_int_equal(count_files(&p), 0);
    test_remove_tree(p.folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_in_any_order_make_one_file_when_committed),
        cmocka_unit_test(abort_leaves_nothing),
        cmocka_unit_test(an_existing_file_is_replaced_only_with_force_and_keeps_its_permissions),
        cmocka_unit_test(a_file_that_appears_meanwhile_survives),
        cmocka_unit_test(what_cannot_be_written_is_refused_with_the_reason),
        cmocka_unit_test(a_link_stays_and_what_it_points_to_is_replaced),
        cmocka_unit_test(a_write_that_fails_half_way_leaves_nothing_after_abort),
    };
    return cmocka_run_group_tests_name("atomic file", tests, NULL, NULL);
}
