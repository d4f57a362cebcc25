/* test_probe_cache.c — what is remembered of earlier probes, for how long, and what a broken file is worth. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/probe_cache.h"
#include "corpus.h"

#define NOW 1000000u
#define KEY "0123456789abcdef"

static char root[CORPUS_PATH_SIZE], folder[CORPUS_PATH_SIZE + 16], file[CORPUS_PATH_SIZE + 32];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(root);
    snprintf(folder, sizeof folder, "%s/new/quoin", root);
    snprintf(file, sizeof file, "%s/probe", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(root);
    return 0;
}

static probe_answer make_answer(qn_status status) {
    probe_answer made = {.version = "1", .n_devices = 1};
    made.devices[0].info.size = sizeof(qn_device_info);
    snprintf(made.devices[0].info.id, sizeof made.devices[0].info.id, "uuid=1");
    made.devices[0].end.status = status;
    return made;
}

static void store(const char *key, const char *name, qn_status status) {
    probe_cache cache;
    const probe_answer answer = make_answer(status);
    probe_cache_open(&cache, folder);
    probe_cache_store(&cache, key, name, NOW, &answer);
    probe_cache_close(&cache);
}

/* In a cache that is opened anew: what lies on disk. */
static bool find(const char *key, uint64_t now, bool is_named) {
    probe_cache cache;
    probe_answer got;
    uint64_t age = 0;
    probe_cache_open(&cache, folder);
    const bool is_found = probe_cache_find(&cache, key, now, is_named, &got, &age);
    probe_cache_close(&cache);
    if (is_found) {
        assert_int_equal(age, now - NOW);
        assert_string_equal(got.devices[0].info.id, "uuid=1");
    }
    return is_found;
}

static void an_answer_is_found_again_under_its_key_alone(void **state) {
    (void)state;
    assert_false(find(KEY, NOW, false));
    store(KEY, "cuda", QN_OK);
    store("fedcba9876543210", "vulkan", QN_OK);
    assert_true(find(KEY, NOW, false));
    assert_true(find("fedcba9876543210", NOW, false));
    assert_false(find("0000000000000000", NOW, false));
}

static void a_success_holds_until_its_key_changes(void **state) {
    (void)state;
    store(KEY, "cuda", QN_OK);
    assert_true(find(KEY, NOW + 1000 * PROBE_CACHE_DAY, false));
    assert_true(find(KEY, NOW, true));
}

static void a_refusal_is_asked_again_after_a_day_or_when_named(void **state) {
    (void)state;
    store(KEY, "cuda", QN_CORRUPT);
    assert_true(find(KEY, NOW + PROBE_CACHE_DAY - 1, false));
    assert_false(find(KEY, NOW + PROBE_CACHE_DAY, false));
    assert_false(find(KEY, NOW, true));
    assert_false(find(KEY, NOW - 1, false)); /* the clock was set back */
}

static void a_refusal_loses_its_force_with_the_next_start_of_the_system(void **state) {
    (void)state;
    probe_cache cache;
    probe_answer got;
    uint64_t age;
    store(KEY, "cuda", QN_CORRUPT);
    probe_cache_open(&cache, folder);
    assert_true(probe_cache_find(&cache, KEY, NOW, false, &got, &age));
    snprintf(cache.boot, sizeof cache.boot, "another");
    assert_false(probe_cache_find(&cache, KEY, NOW, false, &got, &age));
    probe_cache_close(&cache);
}

static void an_answer_takes_the_place_of_the_one_before(void **state) {
    (void)state;
    struct stat before, after;
    store(KEY, "cuda", QN_OK);
    assert_int_equal(stat(file, &before), 0);
    store(KEY, "cuda", QN_OK);
    assert_int_equal(stat(file, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
}

static void the_oldest_records_go_first(void **state) {
    (void)state;
    char key[PROBE_KEY_SIZE];
    for (unsigned i = 0; i < 70; i++) {
        snprintf(key, sizeof key, "%016x", i + 1);
        store(key, "cuda", QN_OK);
    }
    assert_false(find("0000000000000001", NOW, false));
    assert_true(find("0000000000000046", NOW, false));
}

static void cut_file(long size) {
    assert_int_equal(truncate(file, size), 0);
}

static void a_broken_file_is_empty_and_can_be_written_again(void **state) {
    (void)state;
    struct stat info;
    store(KEY, "cuda", QN_OK);
    assert_int_equal(stat(file, &info), 0);
    for (long size = 0; size < info.st_size; size += 7) {
        probe_cache cache;
        probe_answer got;
        uint64_t age;
        store(KEY, "cuda", QN_OK);
        cut_file(info.st_size - 1 - size % info.st_size);
        probe_cache_open(&cache, folder);
        (void)probe_cache_find(&cache, KEY, NOW, false, &got, &age);
        probe_cache_close(&cache);
    }
    cut_file(5);
    assert_false(find(KEY, NOW, false));
    store(KEY, "cuda", QN_OK);
    assert_true(find(KEY, NOW, false));
}

static void a_link_in_its_place_is_not_followed(void **state) {
    (void)state;
    char target[CORPUS_PATH_SIZE + 32];
    store(KEY, "cuda", QN_OK);
    snprintf(target, sizeof target, "%s/elsewhere", root);
    assert_int_equal(rename(file, target), 0);
    assert_int_equal(symlink(target, file), 0);
    assert_false(find(KEY, NOW, false));
    assert_int_equal(unlink(file), 0);
}

static void a_probe_under_way_when_the_system_went_down_blocks_until_named(void **state) {
    (void)state;
    probe_cache cache;
    probe_cache_open(&cache, folder);
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", false));
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", false)); /* the host died, not the machine */
    snprintf(cache.boot, sizeof cache.boot, "another");
    assert_false(probe_journal_begin(&cache, "/a.quoin.so", false));
    assert_true(probe_journal_begin(&cache, "/b.quoin.so", false));
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", true));
    probe_journal_end(&cache, "/a.quoin.so");
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", false));
    probe_journal_end(&cache, "/a.quoin.so");
    probe_journal_end(&cache, "/b.quoin.so");
    probe_cache_close(&cache);
}

static void clearing_forgets_answers_and_journal(void **state) {
    (void)state;
    probe_cache cache;
    store(KEY, "cuda", QN_OK);
    probe_cache_open(&cache, folder);
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", false));
    probe_cache_clear(&cache);
    probe_cache_close(&cache);
    assert_false(find(KEY, NOW, false));
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
}

static void without_a_folder_nothing_is_kept_and_nothing_fails(void **state) {
    (void)state;
    probe_cache cache;
    probe_answer got = make_answer(QN_OK);
    uint64_t age;
    probe_cache_open(&cache, "/proc/none/of/this");
    probe_cache_store(&cache, KEY, "cuda", NOW, &got);
    assert_true(probe_journal_begin(&cache, "/a.quoin.so", false));
    probe_cache_close(&cache);
    probe_cache_open(&cache, "");
    probe_cache_store(&cache, KEY, "cuda", NOW, &got);
    assert_false(probe_cache_find(&cache, KEY, NOW, false, &got, &age));
    probe_cache_close(&cache);
}

static void the_key_changes_with_what_it_is_made_of(void **state) {
    (void)state;
    enum { SAME, FILE_TIME, FILE_SIZE, BUILD, OPTION, THREADS, FEATURES, VARIABLE, N_CASES };
    char first[PROBE_KEY_SIZE], key[PROBE_KEY_SIZE];
    for (int which = -1; which < N_CASES; which++) {
        registry_entry entry = {.name = "cuda", .path = "/x/cuda.quoin.so", .bytes = 10, .modified_ns = 5};
        backend_spec spec = {.name = "cuda"};
        qn_machine machine = {.size = sizeof machine, .cpu_features = {1}};
        entry.modified_ns += which == FILE_TIME;
        entry.bytes += which == FILE_SIZE;
        snprintf(entry.elf.build_id, sizeof entry.elf.build_id, "%s", which == BUILD ? "b" : "a");
        machine.cpu_features[0] += which == FEATURES;
        if (which == OPTION) {
            assert_int_equal(backend_spec_add(&spec, "cache", "off", NULL), QN_OK);
        }
        if (which == VARIABLE) {
            setenv("CUDA_VISIBLE_DEVICES", "7", 1);
        }
        probe_key_make(&entry, &spec, &machine, which == THREADS ? 3 : 2, which < 0 ? first : key);
        unsetenv("CUDA_VISIBLE_DEVICES");
        if (which >= 0 && (strcmp(first, key) == 0) != (which == SAME)) {
            fail_msg("case %d", which);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_answer_is_found_again_under_its_key_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_success_holds_until_its_key_changes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_refusal_is_asked_again_after_a_day_or_when_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_refusal_loses_its_force_with_the_next_start_of_the_system, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(an_answer_takes_the_place_of_the_one_before, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_oldest_records_go_first, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_broken_file_is_empty_and_can_be_written_again, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_link_in_its_place_is_not_followed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_probe_under_way_when_the_system_went_down_blocks_until_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(clearing_forgets_answers_and_journal, make_folder, remove_folder),
        cmocka_unit_test(without_a_folder_nothing_is_kept_and_nothing_fails),
        cmocka_unit_test(the_key_changes_with_what_it_is_made_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
