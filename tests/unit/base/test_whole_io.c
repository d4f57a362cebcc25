/* test_whole_io.c — all of it or an error with a reason. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/whole_io.h"

#define PIECE (1u << 20) /* more than a pipe holds */

static int make_file(void) {
    char path[] = "/tmp/quoin-io-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    return fd;
}

static void what_is_written_at_a_place_is_read_there(void **state) {
    (void)state;
    char room[6] = "";
    const int fd = make_file();
    assert_true(io_write_all_at(fd, "world", 5, 6));
    assert_true(io_write_all_at(fd, "hello ", 6, 0));
    assert_true(io_read_all_at(fd, room, 5, 6));
    assert_string_equal(room, "world");
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    close(fd);
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    const int fd = open("/dev/full", O_WRONLY);
    if (fd < 0) {
        skip();
    }
    errno = 0;
    assert_false(io_write_all(fd, "x", 1));
    assert_int_equal(errno, ENOSPC);
    errno = 0;
    assert_false(io_write_all_at(fd, "x", 1, 0));
    assert_int_equal(errno, ENOSPC);
    close(fd);
}

static void a_file_that_ends_too_early_is_told(void **state) {
    (void)state;
    char room[8];
    const int fd = make_file();
    assert_true(io_write_all(fd, "abc", 3));
    errno = 0;
    assert_false(io_read_all_at(fd, room, 4, 0));
    assert_int_equal(errno, EIO);
    close(fd);
}

static char seen[PIECE];

static void *drain(void *end) {
    for (size_t n = 0; n < PIECE;) {
        const ssize_t got = read(*(int *)end, seen + n, 4093 < PIECE - n ? 4093 : PIECE - n);
        if (got <= 0) {
            break;
        }
        n += (size_t)got;
    }
    return NULL;
}

static void a_reader_that_takes_little_at_a_time_gets_all(void **state) {
    (void)state;
    int ends[2];
    pthread_t reader;
    char *data = malloc(PIECE);
    assert_non_null(data);
    for (uint32_t i = 0; i < PIECE; i++) {
        data[i] = (char)(i * 7 + i / 251);
    }
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pthread_create(&reader, NULL, drain, &ends[0]), 0);
    assert_true(io_write_all(ends[1], data, PIECE));
    close(ends[1]);
    pthread_join(reader, NULL);
    assert_memory_equal(seen, data, PIECE);
    close(ends[0]);
    free(data);
}

static void nothing_is_always_written(void **state) {
    (void)state;
    assert_true(io_write_all(-1, NULL, 0));
    assert_true(io_read_all_at(-1, NULL, 0, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_at_a_place_is_read_there),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_file_that_ends_too_early_is_told),
        cmocka_unit_test(a_reader_that_takes_little_at_a_time_gets_all),
        cmocka_unit_test(nothing_is_always_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
