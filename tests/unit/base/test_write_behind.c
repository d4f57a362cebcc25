/* test_write_behind.c — what is put arrives, at its place, and a disk that fails is told at the end. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/write_behind.h"
#include "corpus.h"

#define SIZE (UINT64_C(21) << 20) /* more than two windows, and no multiple of one */

typedef struct place {
    char folder[CORPUS_PATH_SIZE];
    char path[CORPUS_PATH_SIZE + 16];
    atomic_file file;
} place;

static void open_place(place *p) {
    test_make_folder(p->folder);
    snprintf(p->path, sizeof p->path, "%s/target", p->folder);
    assert_int_equal(atomic_file_create(&p->file, p->path, false, 0, NULL), FMT_OK);
}

static void close_place(place *p) {
    atomic_file_abort(&p->file);
    rmdir(p->folder);
}

static uint8_t *make_bytes(void) {
    uint8_t *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (uint64_t i = 0; i < SIZE; i++) {
        bytes[i] = (uint8_t)(i * 2654435761u >> 13);
    }
    return bytes;
}

static void bytes_arrive_in_order_whatever_their_portions(void **state) {
    place p;
    write_behind out;
    uint8_t *bytes = make_bytes(), *seen = malloc(SIZE);
    (void)state;
    open_place(&p);
    assert_int_equal(write_behind_begin(&out, &p.file, NULL), FMT_OK);
    for (uint64_t at = 0, size = 1; at < SIZE; at += size, size = size * 3 % 5000011) {
        size = SIZE - at < size ? SIZE - at : size;
        assert_int_equal(write_behind_put(&out, at, bytes + at, size), FMT_OK);
    }
    assert_int_equal(write_behind_end(&out, NULL), FMT_OK);
    assert_int_equal(p.file.end, SIZE);
    assert_int_equal(pread(p.file.fd, seen, SIZE, 0), (ssize_t)SIZE);
    assert_memory_equal(seen, bytes, SIZE);
    free(bytes);
    free(seen);
    close_place(&p);
}

static void gaps_are_zeros_and_what_lies_before_may_come_last(void **state) {
    static const uint64_t places[] = {70000, 80000, 9000000, 30000000, 100};
    place p;
    write_behind out;
    uint8_t seen[8], zero[8] = {0};
    (void)state;
    open_place(&p);
    assert_int_equal(write_behind_begin(&out, &p.file, NULL), FMT_OK);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(write_behind_put(&out, places[i], &places[i], sizeof places[i]), FMT_OK);
    }
    assert_int_equal(write_behind_end(&out, NULL), FMT_OK);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(pread(p.file.fd, seen, sizeof seen, (off_t)places[i]), sizeof seen);
        assert_memory_equal(seen, &places[i], sizeof seen);
        assert_int_equal(pread(p.file.fd, seen, sizeof seen, (off_t)places[i] - 8), sizeof seen);
        assert_memory_equal(seen, zero, sizeof seen);
    }
    close_place(&p);
}

static void a_failure_is_told_at_the_end_at_the_latest(void **state) {
    place p;
    write_behind out;
    fmt_diag diag = {.rule = ""};
    uint8_t *bytes = make_bytes();
    (void)state;
    open_place(&p);
    const int own = p.file.fd;
    p.file.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(p.file.fd >= 0);
    assert_int_equal(write_behind_begin(&out, &p.file, NULL), FMT_OK);
    fmt_status status = FMT_OK;
    for (uint64_t at = 0; at < SIZE && status == FMT_OK; at += SIZE / 16) {
        status = write_behind_put(&out, at, bytes + at, SIZE / 16);
    }
    assert_int_equal(write_behind_end(&out, &diag), FMT_IO);
    assert_string_equal(diag.rule, "file");
    assert_non_null(strstr(diag.text, "Cannot write"));
    close(p.file.fd);
    p.file.fd = own;
    free(bytes);
    close_place(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_arrive_in_order_whatever_their_portions),
        cmocka_unit_test(gaps_are_zeros_and_what_lies_before_may_come_last),
        cmocka_unit_test(a_failure_is_told_at_the_end_at_the_latest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
