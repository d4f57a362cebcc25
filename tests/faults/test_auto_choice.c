/* test_auto_choice.c — what the choice of a backend costs: children that are spawned and plugins that are loaded, counted. Six plugins
 * are installed beside the program's own cpu: sound, slow, broken and without a driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "backends/choose.h"
#include "backends/probe.h"
#include "base/log.h"
#include "base/machine.h"
#include "corpus.h"

#define N_PLUGINS 6u

static const char *const names[N_PLUGINS] = {"computes_wrong", "forgets_terminators", "has_no_driver",
                                             "is_slow",        "is_software",         "prints_a_banner"};
static char cache[CORPUS_PATH_SIZE], paths[N_PLUGINS][1024];
static registry reg; /* large */
static host_services services;
static team *workers;

static int start(void **state) {
    qn_machine machine;
    const char *build = getenv("QUOIN_BINARY");
    (void)state;
    log_set_level(QN_LOG_ERROR);
    for (uint32_t i = 0; i < N_PLUGINS; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/tests/bad_plugins/%s.quoin.so", build != NULL ? build : "build/dev", names[i]);
    }
    return machine_detect(&machine, NULL) < 0 || team_create(1, &workers, NULL) < 0
               ? -1
               : (host_services_init(&services, &machine, workers), 0);
}

static int stop(void **state) {
    (void)state;
    team_destroy(workers);
    return 0;
}

/* An empty cache for each test. */
static int make_cache(void **state) {
    (void)state;
    test_make_folder(cache);
    setenv("XDG_CACHE_HOME", cache, 1);
    setenv("HOME", "/dev/null/home", 1);
    setenv("QUOIN_BACKENDS_DISABLE", "cuda,opencl,vulkan", 1); /* those of this tree would be probed as well */
    unsetenv("QUOIN_PLUGIN_DIR");
    return 0;
}

static int remove_cache(void **state) {
    (void)state;
    test_remove_tree(cache);
    return 0;
}

/* Chooses among all of them; how many children that took. Skips the test where they are not built or nothing can be spawned. */
static uint32_t choose(const char *request, backend *out) {
    const char *files[N_PLUGINS];
    char program[1024];
    bool was_named;
    error_context err = {0};
    for (uint32_t i = 0; i < N_PLUGINS; i++) {
        files[i] = paths[i];
    }
    const registry_options options = {.plugin_files = files, .n_plugin_files = N_PLUGINS};
    const backend_request wanted = {.text = request, .probe_timeout = 60.0};
    registry_discover(&options, &reg);
    if (registry_find(&reg, names[0]) < 0 || registry_find(&reg, "cpu") < 0 || !probe_find_program(program, sizeof program)) {
        skip();
    }
    const uint32_t before = probe_count_children();
    if (backend_choose(&reg, &services, &wanted, out, &was_named, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    return probe_count_children() - before;
}

/* Plugin files that are loaded in this process; the reference is none. */
static uint32_t count_loaded(void) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < reg.n_entries; i++) {
        n += reg.entries[i].query != NULL && reg.entries[i].origin != REGISTRY_BUILT_IN;
    }
    return n;
}

static void the_first_choice_probes_each_plugin_once_and_loads_one(void **state) {
    (void)state;
    backend on;
    assert_int_equal(choose("auto", &on), N_PLUGINS + 1); /* and the cpu, because there are rivals */
    assert_string_equal(on.spec.name, "cpu");
    assert_int_equal(count_loaded(), 1);
    backend_close(&on);
}

static void with_a_warm_cache_nothing_is_spawned_and_one_plugin_is_loaded(void **state) {
    (void)state;
    backend on;
    (void)choose("auto", &on);
    backend_close(&on);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(choose("auto", &on), 0);
        assert_string_equal(on.spec.name, "cpu");
        assert_int_equal(count_loaded(), 1);
        backend_close(&on);
    }
}

static void a_backend_of_the_program_itself_spawns_nothing_and_loads_no_other(void **state) {
    (void)state;
    backend on;
    assert_int_equal(choose("cpu", &on), 0);
    assert_int_equal(count_loaded(), 1);
    backend_close(&on);
    assert_int_equal(choose("reference", &on), 0);
    assert_int_equal(count_loaded(), 0);
    backend_close(&on);
}

static void another_plugin_that_is_named_is_probed_alone(void **state) {
    (void)state;
    backend on;
    assert_int_equal(choose("is_slow", &on), 1);
    assert_int_equal(count_loaded(), 1);
    backend_close(&on);
    assert_int_equal(choose("is_slow", &on), 0); /* it was sound */
    backend_close(&on);
    assert_int_equal(choose("has_no_driver;cpu", &on), 1);
    assert_string_equal(on.spec.name, "cpu");
    assert_int_equal(count_loaded(), 1);
    backend_close(&on);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_choice_probes_each_plugin_once_and_loads_one, make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(with_a_warm_cache_nothing_is_spawned_and_one_plugin_is_loaded, make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(a_backend_of_the_program_itself_spawns_nothing_and_loads_no_other, make_cache, remove_cache),
        cmocka_unit_test_setup_teardown(another_plugin_that_is_named_is_probed_alone, make_cache, remove_cache),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
