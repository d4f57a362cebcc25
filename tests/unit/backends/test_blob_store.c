/* test_blob_store.c — what plugins keep comes back whole or not at all, under its own name, within the bound, and never as an error. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/blob_store.h"
#include "backends/plugin_host.h"
#include "corpus.h"

#define SCOPE "opencl 0123 device driver"
#define HEAD_BYTES 24

static char root[CORPUS_PATH_SIZE], folder[CORPUS_PATH_SIZE + 16];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(root);
    snprintf(folder, sizeof folder, "%s/new/blobs", root);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(root);
    return 0;
}

static void open_store(blob_store *store, uint64_t most_bytes) {
    blob_store_open(store, folder, most_bytes);
}

static qn_status put(const char *key, const char *text) {
    blob_store store;
    open_store(&store, 1u << 20);
    return blob_store_put(&store, SCOPE, key, text, strlen(text));
}

/* In a store that is opened anew: what lies on disk. */
static void require_blob(const char *scope, const char *key, const char *want) {
    char data[256] = "";
    blob_store store;
    open_store(&store, 1u << 20);
    const uint64_t bytes = blob_store_get(&store, scope, key, data, sizeof data - 1);
    assert_int_equal(bytes, strlen(want));
    assert_string_equal(data, want);
}

static uint32_t count_files(char *last, size_t room) {
    uint32_t count = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        if (e->d_name[0] != '.') {
            count++;
            if (last != NULL) {
                snprintf(last, room, "%s/%.31s", folder, e->d_name);
            }
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return count;
}

static void a_blob_comes_back_under_its_scope_and_key_alone(void **state) {
    (void)state;
    require_blob(SCOPE, "kernel/a", "");
    assert_int_equal(put("kernel/a", "binary of a"), QN_OK);
    assert_int_equal(put("kernel/b", "binary of b"), QN_OK);
    require_blob(SCOPE, "kernel/a", "binary of a");
    require_blob(SCOPE, "kernel/b", "binary of b");
    require_blob(SCOPE, "kernel/c", "");
    require_blob("opencl 0123 device other-driver", "kernel/a", "");
    require_blob("", SCOPE "\nkernel/a", "");
}

static void a_blob_takes_the_place_of_the_one_before(void **state) {
    (void)state;
    assert_int_equal(put("k", "first, and longer"), QN_OK);
    assert_int_equal(put("k", "second"), QN_OK);
    require_blob(SCOPE, "k", "second");
    assert_int_equal(count_files(NULL, 0), 1);
}

static void the_size_is_told_without_room_and_only_the_room_is_written(void **state) {
    char data[8] = "xxxxxxx";
    blob_store store;
    (void)state;
    open_store(&store, 1u << 20);
    put("k", "0123456789");
    assert_int_equal(blob_store_get(&store, SCOPE, "k", NULL, 0), 10);
    assert_int_equal(blob_store_get(&store, SCOPE, "k", data, 4), 10);
    assert_string_equal(data, "0123xxx");
}

static void blobs_are_for_this_user_alone(void **state) {
    struct stat info;
    char path[CORPUS_PATH_SIZE + 64];
    (void)state;
    put("k", "data");
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(count_files(path, sizeof path), 1);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0622), 0); /* others could have written it */
    require_blob(SCOPE, "k", "");
}

/* Breaks one thing in the only file. */
static void damage(const char *path, long at, long cut, long grow) {
    size_t size;
    uint8_t *bytes = test_read_file(path, &size);
    if (at >= 0) {
        bytes[at] ^= 1;
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size - (size_t)cut, file), size - (size_t)cut);
    for (long i = 0; i < grow; i++) {
        fputc(0, file);
    }
    fclose(file);
    free(bytes);
}

static void a_file_that_is_not_whole_is_none_and_is_taken_away(void **state) {
    static const char data[] = "0123456789 the data";
    static const struct {
        const char *name;
        long at, cut, grow;
    } cases[] = {
        {"magic", 0, 0, 0}, {"length of the name", 8, 0, 0}, {"checksum", 12, 0, 0}, {"length of the data", 16, 0, 0},
        {"high byte of the length", 23, 0, 0}, {"name", HEAD_BYTES, 0, 0}, {"key", HEAD_BYTES + sizeof SCOPE, 0, 0},
        {"first byte of the data", HEAD_BYTES + sizeof SCOPE + 1, 0, 0}, {"last byte", HEAD_BYTES + sizeof SCOPE + sizeof data - 1, 0, 0},
        {"short by one", -1, 1, 0}, {"only the head", -1, sizeof SCOPE + sizeof data, 0}, {"half the head", -1, sizeof SCOPE + sizeof data + 12, 0},
        {"empty", -1, HEAD_BYTES + sizeof SCOPE + sizeof data, 0}, {"a byte more", -1, 0, 1},
    };
    char path[CORPUS_PATH_SIZE + 64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(put("k", data), QN_OK);
        assert_int_equal(count_files(path, sizeof path), 1);
        damage(path, cases[i].at, cases[i].cut, cases[i].grow);
        char got[64] = "";
        blob_store store;
        open_store(&store, 1u << 20);
        if (blob_store_get(&store, SCOPE, "k", got, sizeof got) != 0) {
            fail_msg("%s: given back all the same", cases[i].name);
        }
        if (count_files(NULL, 0) != 0) {
            fail_msg("%s: still there", cases[i].name);
        }
    }
}

static void a_link_in_place_of_a_file_is_not_followed(void **state) {
    char path[CORPUS_PATH_SIZE + 64], elsewhere[CORPUS_PATH_SIZE + 64];
    (void)state;
    put("k", "data");
    assert_int_equal(count_files(path, sizeof path), 1);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", root);
    assert_int_equal(rename(path, elsewhere), 0);
    assert_int_equal(symlink(elsewhere, path), 0);
    require_blob(SCOPE, "k", "");
}

static void set_age(const char *path, long days) {
    const struct timespec then[2] = {{time(NULL) - days * 86400, 0}, {time(NULL) - days * 86400, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, then, 0), 0);
}

static void those_not_used_for_the_longest_time_go_first(void **state) {
    char data[1000], path[CORPUS_PATH_SIZE + 64], key[8];
    blob_store store;
    (void)state;
    memset(data, 'x', sizeof data);
    open_store(&store, 8 * sizeof data);
    for (unsigned i = 0; i < 6; i++) {
        snprintf(key, sizeof key, "%u", i);
        assert_int_equal(blob_store_put(&store, SCOPE, key, data, sizeof data), QN_OK);
    }
    DIR *entries = opendir(folder);
    for (struct dirent *e; (e = readdir(entries)) != NULL;) {
        snprintf(path, sizeof path, "%s/%.31s", folder, e->d_name);
        if (e->d_name[0] != '.') {
            set_age(path, 5);
        }
    }
    closedir(entries);
    assert_int_equal(blob_store_get(&store, SCOPE, "2", data, sizeof data), sizeof data); /* used: young again */
    for (unsigned i = 6; i < 8; i++) { /* the second of them is one too many */
        snprintf(key, sizeof key, "%u", i);
        assert_int_equal(blob_store_put(&store, SCOPE, key, data, sizeof data), QN_OK);
    }
    assert_in_range(count_files(NULL, 0), 3, 6);
    assert_int_equal(blob_store_get(&store, SCOPE, "2", data, sizeof data), sizeof data);
    assert_int_equal(blob_store_get(&store, SCOPE, "6", data, sizeof data), sizeof data);
    assert_int_equal(blob_store_get(&store, SCOPE, "7", data, sizeof data), sizeof data);
}

static void what_a_writer_left_half_made_goes_after_an_hour(void **state) {
    char old[CORPUS_PATH_SIZE + 64], young[CORPUS_PATH_SIZE + 64];
    (void)state;
    put("k", "data");
    snprintf(old, sizeof old, "%s/new-1-1", folder);
    snprintf(young, sizeof young, "%s/new-2-2", folder);
    for (unsigned i = 0; i < 2; i++) {
        FILE *file = fopen(i == 0 ? old : young, "wb");
        assert_non_null(file);
        fclose(file);
    }
    set_age(old, 1);
    put("k", "data");
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(young, F_OK), 0);
}

static void what_is_too_large_empty_or_has_too_long_a_name_is_not_kept(void **state) {
    static char key[BLOB_NAME_SIZE + 1], data[600];
    blob_store store;
    (void)state;
    memset(key, 'k', sizeof key - 1);
    open_store(&store, 1000);
    assert_int_equal(blob_store_put(&store, SCOPE, "k", data, sizeof data), QN_UNAVAILABLE);
    assert_int_equal(blob_store_put(&store, SCOPE, "k", data, 0), QN_UNAVAILABLE);
    assert_int_equal(blob_store_put(&store, SCOPE, key, data, 10), QN_BAD_ARG);
    assert_int_equal(blob_store_get(&store, SCOPE, key, data, 10), 0);
    assert_int_equal(count_files(NULL, 0), 0);
}

static void a_folder_that_cannot_be_made_is_no_error(void **state) {
    static const char *const folders[] = {"/proc/none/of/this", "", "/dev/null/blobs"};
    (void)state;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        char data[8];
        blob_store store;
        blob_store_open(&store, folders[i], 1000);
        assert_int_equal(blob_store_put(&store, SCOPE, "k", "data", 4), QN_UNAVAILABLE);
        assert_int_equal(blob_store_get(&store, SCOPE, "k", data, sizeof data), 0);
        blob_store_clear(&store);
    }
}

static void a_full_disk_leaves_nothing_behind(void **state) {
    static char data[1u << 16];
    blob_store store;
    int status = 0;
    (void)state;
    open_store(&store, 1u << 20);
    put("k", "before");
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        const struct rlimit limit = {4096, 4096};
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(blob_store_put(&store, SCOPE, "k", data, sizeof data) == QN_UNAVAILABLE ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(NULL, 0), 1);
    require_blob(SCOPE, "k", "before");
}

/* Each writes the same few names with data of its own; whoever reads meets the whole of one. */
static void write_and_read(unsigned writer) {
    char data[3000], got[3000], key[8];
    blob_store store;
    open_store(&store, 1u << 20);
    memset(data, (int)('a' + writer), sizeof data);
    for (unsigned i = 0; i < 200; i++) {
        snprintf(key, sizeof key, "%u", i % 3);
        const uint64_t bytes = 1000 + writer * 500;
        if (blob_store_put(&store, SCOPE, key, data, bytes) != QN_OK) {
            _exit(1);
        }
        const uint64_t n = blob_store_get(&store, SCOPE, key, got, sizeof got);
        if (n == 0 || n != 1000 + (uint64_t)(got[0] - 'a') * 500 || got[0] != got[n - 1]) {
            _exit(2);
        }
    }
    _exit(0);
}

static void writers_at_the_same_time_leave_whole_files(void **state) {
    pid_t children[4];
    (void)state;
    for (unsigned w = 0; w < 4; w++) {
        children[w] = fork();
        if (children[w] == 0) {
            write_and_read(w);
        }
    }
    for (unsigned w = 0; w < 4; w++) {
        int status = 1;
        assert_int_equal(waitpid(children[w], &status, 0), children[w]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(NULL, 0), 3);
}

static void clearing_takes_all_away(void **state) {
    blob_store store;
    (void)state;
    put("a", "1");
    put("b", "2");
    open_store(&store, 1000);
    blob_store_clear(&store);
    assert_int_equal(count_files(NULL, 0), 0);
}

/* --- Through the table that a plugin sees ------------------------------------------------------------------------------- */

typedef struct plugins {
    team *workers;
    host_services services;
    registry_entry entry;
} plugins;

static void open_plugins(plugins *p) {
    const qn_machine machine = {.size = sizeof machine, .n_workers = 1, .n_cores = 1};
    memset(p, 0, sizeof *p);
    assert_int_equal(team_create(1, &p->workers, NULL), QN_OK);
    host_services_init(&p->services, &machine, p->workers);
    blob_store_open(&p->services.blobs, folder, 1u << 20);
    snprintf(p->entry.name, sizeof p->entry.name, "mine");
}

/* What the plugin of this build meets under "k" on this device. */
static void require_seen(plugins *p, const char *build, const char *id, const char *driver, uint64_t want) {
    qn_device_info info = {.size = sizeof info};
    snprintf(p->entry.elf.build_id, sizeof p->entry.elf.build_id, "%s", build);
    snprintf(info.id, sizeof info.id, "%s", id);
    snprintf(info.driver, sizeof info.driver, "%s", driver);
    plugin_host *host = plugin_host_create(&p->services, &p->entry);
    assert_non_null(host);
    plugin_host_choose_device(host, &info);
    assert_int_equal(host->table.blob_get(host->table.ctx, "k", NULL, 0), want);
    plugin_host_destroy(host);
}

static void a_plugin_meets_only_what_this_build_kept_for_this_device_and_driver(void **state) {
    plugins p;
    qn_device_info info = {.size = sizeof info, .id = "uuid=1", .driver = "driver 5"};
    (void)state;
    open_plugins(&p);
    snprintf(p.entry.elf.build_id, sizeof p.entry.elf.build_id, "b1");
    plugin_host *host = plugin_host_create(&p.services, &p.entry);
    assert_non_null(host);
    plugin_host_choose_device(host, &info);
    assert_int_equal(host->table.blob_put(host->table.ctx, "k", "data", 4), QN_OK);
    plugin_host_destroy(host);
    require_seen(&p, "b1", "uuid=1", "driver 5", 4);
    require_seen(&p, "b2", "uuid=1", "driver 5", 0);
    require_seen(&p, "b1", "uuid=2", "driver 5", 0);
    require_seen(&p, "b1", "uuid=1", "driver 6", 0);
    team_destroy(p.workers);
}

static void memory_of_all_plugins_is_counted_in_one_place(void **state) {
    plugins p;
    (void)state;
    open_plugins(&p);
    plugin_host *one = plugin_host_create(&p.services, &p.entry), *two = plugin_host_create(&p.services, &p.entry);
    void *memory = one->table.mem_alloc(one->table.ctx, QN_MEM_STATE, 100, 64);
    two->table.mem_note(two->table.ctx, QN_MEM_STATE, 50);
    assert_int_equal(atomic_load(&p.services.used[QN_MEM_STATE]), 150);
    one->table.mem_free(one->table.ctx, memory);
    assert_int_equal(atomic_load(&p.services.used[QN_MEM_STATE]), 50);
    plugin_host_destroy(one);
    plugin_host_destroy(two);
    team_destroy(p.workers);
}

/* A folder of whole files that others write is held to a bound in the same way. */
static void trimming_takes_the_oldest_files_of_any_name(void **state) {
    static const char *const names[] = {"133fd49f0b92d7f6b77a72a9.p64", "233fd49f0b92d7f6b77a72a9.p64", "333fd49f0b92d7f6b77a72a9.p64"};
    char path[CORPUS_PATH_SIZE + 64];
    blob_store store;
    (void)state;
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        const int fd = open(path, O_WRONLY | O_CREAT, 0600);
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 1000), 0);
        const struct timespec times[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        assert_int_equal(futimens(fd, times), 0);
        close(fd);
    }
    blob_store_open(&store, root, 4000);
    blob_store_trim(&store);
    assert_int_equal(access(path, F_OK), 0);
    blob_store_open(&store, root, 2000);
    blob_store_trim(&store);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/%s", root, names[1]);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/%s", root, names[0]);
    assert_int_not_equal(access(path, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_blob_comes_back_under_its_scope_and_key_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_blob_takes_the_place_of_the_one_before, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_size_is_told_without_room_and_only_the_room_is_written, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(blobs_are_for_this_user_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_not_whole_is_none_and_is_taken_away, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_link_in_place_of_a_file_is_not_followed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(those_not_used_for_the_longest_time_go_first, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_a_writer_left_half_made_goes_after_an_hour, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_too_large_empty_or_has_too_long_a_name_is_not_kept, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_made_is_no_error, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing_behind, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(writers_at_the_same_time_leave_whole_files, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(trimming_takes_the_oldest_files_of_any_name, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(clearing_takes_all_away, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_plugin_meets_only_what_this_build_kept_for_this_device_and_driver, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(memory_of_all_plugins_is_counted_in_one_place, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
