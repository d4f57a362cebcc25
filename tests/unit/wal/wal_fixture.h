/* wal_fixture.h — a log in a folder of its own, with a clock that stands still. */
#ifndef WAL_FIXTURE_H
#define WAL_FIXTURE_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "wal/wal.h"
#include "wal/wal_replay.h"

#define FIXTURE_START UINT64_C(1750000000000)

extern char fixture_folder[CORPUS_PATH_SIZE], fixture_directory[CORPUS_PATH_SIZE + 8]; /* the log's is below the folder */
extern uint64_t fixture_time;      /* what the clock says */
extern uint64_t fixture_rotate;    /* rotate_bytes; 0 as usual */

int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Opens or makes the log; fails the test when it cannot. */
wal *fixture_open(void);
qn_status fixture_try_open(wal **out_log, error_context *err);

/* Commits one quin with this subject, unsigned, with the term "http://e.example/SUBJECT". */
void fixture_commit(wal *log, uint64_t subject);

/* The path of the log's last file; its bytes (the caller frees); writes bytes as that file. */
const char *fixture_last_file(void);
uint8_t *fixture_read(const char *path, size_t *out_size);
void fixture_write(const char *path, const void *data, size_t size);

/* Subjects of all committed quins in order, read as any other process would. Answers how many. */
size_t fixture_subjects(uint64_t *out, size_t room);
#define assert_subjects(...)                                                                  \
    do {                                                                                      \
        const uint64_t wanted_[] = {0, __VA_ARGS__};                                          \
        uint64_t found_[64];                                                                  \
        const size_t n_ = fixture_subjects(found_, 64);                                       \
        assert_int_equal(n_, sizeof wanted_ / sizeof wanted_[0] - 1);                         \
        for (size_t i_ = 0; i_ < n_; i_++) {                                                  \
            assert_int_equal(found_[i_], wanted_[i_ + 1]);                                    \
        }                                                                                     \
    } while (0)

#endif
