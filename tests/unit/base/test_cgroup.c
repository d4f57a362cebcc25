/* test_cgroup.c — limits of control groups, in folders made for the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/cgroup.h"
#include "corpus.h"

static char root[CORPUS_PATH_SIZE], list[CORPUS_PATH_SIZE + 16];

static int make_root(void **state) {
    (void)state;
    test_make_folder(root);
    snprintf(list, sizeof list, "%s/list", root);
    return 0;
}

static int remove_root(void **state) {
    (void)state;
    test_remove_tree(root);
    return 0;
}

static void put(const char *relative, const char *text) {
    char path[CORPUS_PATH_SIZE + 128];
    snprintf(path, sizeof path, "%s/%s", root, relative);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void nothing_limits_a_process_without_groups(void **state) {
    (void)state;
    const cgroup_limits limits = cgroup_read("/nonexistent", root);
    assert_true(limits.cores == CGROUP_UNLIMITED);
    assert_true(limits.memory_bytes == CGROUP_UNLIMITED);
    assert_true(limits.memory_free == CGROUP_UNLIMITED);
}

static void quotas_are_rounded_up_to_cores(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t cores;
    } rows[] = {{"200000 100000\n", 2}, {"150000 100000\n", 2},
                {"10000 100000\n", 1},  {"max 100000\n", CGROUP_UNLIMITED},
                {"0 100000\n", 1},      {"100000 0\n", CGROUP_UNLIMITED},
                {"", CGROUP_UNLIMITED}, {"word\n", CGROUP_UNLIMITED}};
    put("list", "0::/box\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put("box/cpu.max", rows[i].text);
        if (cgroup_read(list, root).cores != rows[i].cores) {
            fail_msg("%s", rows[i].text);
        }
    }
}

static void the_tightest_limit_on_the_way_up_counts(void **state) {
    (void)state;
    put("list", "0::/outer/inner\n");
    put("outer/inner/cpu.max", "800000 100000\n");
    put("outer/cpu.max", "300000 100000\n");
    put("cpu.max", "max 100000\n");
    put("outer/inner/memory.max", "max\n");
    put("outer/memory.max", "4096000\n");
    put("outer/memory.current", "1096000\n");
    put("outer/memory.stat", "anon 96000\nfile_mapped 5\nfile 1000000\n");
    const cgroup_limits limits = cgroup_read(list, root);
    assert_int_equal(limits.cores, 3);
    assert_int_equal(limits.memory_bytes, 4096000);
    assert_int_equal(limits.memory_free, 4000000); /* page cache can be given back */
}

static void a_full_group_has_nothing_left(void **state) {
    (void)state;
    put("list", "0::/full\n");
    put("full/memory.max", "1000\n");
    put("full/memory.current", "1500\n");
    const cgroup_limits limits = cgroup_read(list, root);
    assert_int_equal(limits.memory_bytes, 1000);
    assert_int_equal(limits.memory_free, 0);
}

static void version_1_has_a_folder_a_controller(void **state) {
    (void)state;
    put("list", "12:pids:/p\n4:memory:/m/n\n2:cpu,cpuacct:/c\n0::/\n");
    put("cpu/c/cpu.cfs_quota_us", "250000\n");
    put("cpu/c/cpu.cfs_period_us", "100000\n");
    put("memory/m/n/memory.limit_in_bytes", "9223372036854771712\n");
    put("memory/m/memory.limit_in_bytes", "1000000\n");
    put("memory/m/memory.usage_in_bytes", "600000\n");
    put("memory/m/memory.stat", "cache 1\ntotal_cache 100000\n");
    const cgroup_limits limits = cgroup_read(list, root);
    assert_int_equal(limits.cores, 3);
    assert_int_equal(limits.memory_bytes, 1000000);
    assert_int_equal(limits.memory_free, 500000);
}

static void a_quota_of_minus_one_is_none(void **state) {
    (void)state;
    put("list", "2:cpu:/d\n");
    put("cpu/d/cpu.cfs_quota_us", "-1\n");
    put("cpu/d/cpu.cfs_period_us", "100000\n");
    assert_true(cgroup_read(list, root).cores == CGROUP_UNLIMITED);
}

static void a_similar_controller_is_another_one(void **state) {
    (void)state;
    put("list", "2:cpuset:/e\n3:name=cpu:/e\n");
    put("cpu/e/cpu.cfs_quota_us", "100000\n");
    put("cpu/e/cpu.cfs_period_us", "100000\n");
    assert_true(cgroup_read(list, root).cores == CGROUP_UNLIMITED);
}

static void a_path_of_another_namespace_leaves_the_root_s_limits(void **state) {
    (void)state;
    put("list", "0::/../elsewhere/box7\n");
    put("cpu.max", "100000 100000\n");
    assert_int_equal(cgroup_read(list, root).cores, 1);
}

static void lines_that_are_none_are_passed_over(void **state) {
    (void)state;
    put("list", "\nnonsense\n0:\n0::\n0::box\n");
    assert_true(cgroup_read(list, root).memory_bytes == CGROUP_UNLIMITED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define IN_FOLDER(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
        IN_FOLDER(nothing_limits_a_process_without_groups),
        IN_FOLDER(quotas_are_rounded_up_to_cores),
        IN_FOLDER(the_tightest_limit_on_the_way_up_counts),
        IN_FOLDER(a_full_group_has_nothing_left),
        IN_FOLDER(version_1_has_a_folder_a_controller),
        IN_FOLDER(a_quota_of_minus_one_is_none),
        IN_FOLDER(a_similar_controller_is_another_one),
        IN_FOLDER(a_path_of_another_namespace_leaves_the_root_s_limits),
        IN_FOLDER(lines_that_are_none_are_passed_over),
#undef IN_FOLDER
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
