/* wal_fixture.c — logs for tests. */
#include "wal_fixture.h"

char fixture_folder[CORPUS_PATH_SIZE], fixture_directory[CORPUS_PATH_SIZE + 8];
uint64_t fixture_time, fixture_rotate;

static char last_path[CORPUS_PATH_SIZE + 64];

static uint64_t read_time(void *ctx) {
    (void)ctx;
    return fixture_time;
}

int fixture_setup(void **state) {
    (void)state;
    test_make_folder(fixture_folder);
    snprintf(fixture_directory, sizeof fixture_directory, "%s/log", fixture_folder);
    fixture_time = FIXTURE_START;
    fixture_rotate = 0;
    return 0;
}

int fixture_teardown(void **state) {
    (void)state;
    test_remove_tree(fixture_folder);
    return 0;
}

qn_status fixture_try_open(wal **out_log, error_context *err) {
    const wal_options options = {.directory = fixture_directory, .may_create = true, .rotate_bytes = fixture_rotate, .now = read_time};
    return wal_open(&options, out_log, NULL, err);
}

wal *fixture_open(void) {
    wal *log = NULL;
    error_context err = {0};
    if (fixture_try_open(&log, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    return log;
}

void fixture_commit(wal *log, uint64_t subject) {
    char text[64];
    const q42_quin quin = q42_quin_make(subject, 2, 3, 4, 5);
    error_context err = {0};
    snprintf(text, sizeof text, "http://e.example/%llu", (unsigned long long)subject);
    wal_begin(log);
    qn_status status = wal_add_term(log, (fmt_str){text, strlen(text)}, &err);
    status = status < 0 ? status : wal_add_quin(log, &quin, &err);
    status = status < 0 ? status : wal_commit_unsigned(log, NULL, &err);
    if (status != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
}

const char *fixture_last_file(void) {
    wal_set set = {0};
    assert_int_equal(wal_set_open(fixture_directory, FMT_MODE_DEFAULT, NULL, NULL, &set, NULL), QN_OK);
    snprintf(last_path, sizeof last_path, "%s", set.files[set.n_files - 1].path);
    wal_set_close(&set);
    return last_path;
}

uint8_t *fixture_read(const char *path, size_t *out_size) {
    return test_read_file(path, out_size);
}

void fixture_write(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

typedef struct subject_list {
    uint64_t *out;
    size_t n, room;
} subject_list;

static qn_status take_quin(void *ctx, const q42_quin *quin, error_context *err) {
    subject_list *list = ctx;
    (void)err;
    assert_true(list->n < list->room);
    list->out[list->n++] = quin->subject;
    return QN_OK;
}

size_t fixture_subjects(uint64_t *out, size_t room) {
    wal_set set = {0};
    wal_state state = {0};
    subject_list list = {out, 0, room};
    const wal_visitor visitor = {&list, NULL, take_quin, NULL};
    error_context err = {0};
    qn_status status = wal_set_open(fixture_directory, FMT_MODE_DEFAULT, NULL, NULL, &set, &err);
    status = status < 0 ? status : wal_state_build(&set, &state, &err);
    status = status < 0 ? status : wal_replay(&set, &state, 0, &visitor, &err);
    if (status < 0) {
        fail_msg("%s", error_text(&err));
    }
    wal_state_free(&state);
    wal_set_close(&set);
    return list.n;
}
