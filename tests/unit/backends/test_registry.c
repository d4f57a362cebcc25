/* test_registry.c — discovery in folders made for the test; judging what a plugin says of itself. Nothing here is
 * loaded. */
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

#include <quoin/glue.h>

#include "backends/builtin.h"
#include "backends/registry.h"
#include "corpus.h"

static char root[CORPUS_PATH_SIZE], first[CORPUS_PATH_SIZE + 8], second[CORPUS_PATH_SIZE + 8],
    empty[CORPUS_PATH_SIZE + 8];
static registry reg; /* large */

static int make_folders(void **state) {
    (void)state;
    test_make_folder(root);
    snprintf(first, sizeof first, "%s/first", root);
    snprintf(second, sizeof second, "%s/second", root);
    snprintf(empty, sizeof empty, "%s/empty", root);
    setenv("QUOIN_PLUGIN_DIR", empty, 1);
    return mkdir(first, 0755) | mkdir(second, 0755) | mkdir(empty, 0755);
}

static int remove_folders(void **state) {
    (void)state;
    test_remove_tree(root);
    return 0;
}

static void make_file(const char *folder, const char *name, mode_t mode) {
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static void discover_in(const char *one, const char *two) {
    const char *dirs[] = {one, two};
    const registry_options options = {.plugin_dirs = dirs, .n_plugin_dirs = two != NULL ? 2 : 1};
    registry_discover(&options, &reg);
}

/* The refusal of the path with this ending, or "". */
static const char *find_refusal(const char *ending) {
    for (uint32_t i = 0; i < reg.n_refusals; i++) {
        const size_t length = strlen(reg.refusals[i].path), wanted = strlen(ending);
        if (length >= wanted && strcmp(reg.refusals[i].path + length - wanted, ending) == 0) {
            return reg.refusals[i].reason;
        }
    }
    return "";
}

static void the_reference_is_there_without_any_folder(void **state) {
    (void)state;
    registry_discover(NULL, &reg);
    assert_int_equal(reg.n_entries, 1);
    assert_int_equal(registry_find(&reg, "reference"), 0);
    assert_int_equal(registry_find(&reg, "cpu"), -1);
}

static void plugins_are_found_in_the_order_of_folders_and_names(void **state) {
    (void)state;
    make_file(second, "abel.quoin.so", 0644);
    make_file(first, "mars.quoin.so", 0644);
    make_file(first, "luna.quoin.so", 0644);
    make_file(first, "notes.txt", 0644);
    discover_in(first, second);
    assert_int_equal(reg.n_entries, 4);
    assert_string_equal(reg.entries[1].name, "luna");
    assert_string_equal(reg.entries[2].name, "mars");
    assert_string_equal(reg.entries[3].name, "abel");
    assert_int_equal(reg.n_refusals, 0);
}

static void the_second_of_equal_names_is_refused_with_the_first_one_s_path(void **state) {
    (void)state;
    make_file(second, "mars.quoin.so", 0644);
    discover_in(first, second);
    assert_non_null(strstr(find_refusal("second/mars.quoin.so"), "first/mars.quoin.so"));
    make_file(first, "reference.quoin.so", 0644);
    discover_in(first, NULL);
    assert_non_null(strstr(find_refusal("first/reference.quoin.so"), "built in"));
}

static void a_file_that_everyone_may_write_is_refused(void **state) {
    (void)state;
    make_file(first, "open.quoin.so", 0666);
    discover_in(first, NULL);
    assert_int_equal(registry_find(&reg, "open"), -1);
    assert_non_null(strstr(find_refusal("open.quoin.so"), "writable by everyone"));
}

static void a_folder_that_everyone_may_write_is_refused_as_a_whole(void **state) {
    (void)state;
    assert_int_equal(chmod(second, 0777), 0);
    discover_in(second, NULL);
    assert_int_equal(reg.n_entries, 1);
    assert_non_null(strstr(find_refusal("/second"), "writable by everyone"));
    assert_int_equal(chmod(second, 0755), 0);
}

static void a_file_of_a_stranger_is_refused(void **state) {
    (void)state;
    char path[CORPUS_PATH_SIZE + 64];
    if (geteuid() != 0) {
        skip();
    }
    make_file(second, "alien.quoin.so", 0644);
    snprintf(path, sizeof path, "%s/alien.quoin.so", second);
    assert_int_equal(chown(path, 12345, 12345), 0);
    discover_in(second, NULL); /* root owns the folder and is the user: the file's owner is neither */
    assert_non_null(strstr(find_refusal("alien.quoin.so"), "neither to root nor to you"));
}

static void a_relative_folder_is_refused(void **state) {
    (void)state;
    discover_in("plugins", NULL);
    assert_non_null(strstr(find_refusal("plugins"), "absolute"));
}

static void a_named_file_must_have_the_ending(void **state) {
    (void)state;
    char path[CORPUS_PATH_SIZE + 64];
    const char *files[] = {path};
    snprintf(path, sizeof path, "%s/notes.txt", first);
    const registry_options options = {.plugin_files = files, .n_plugin_files = 1};
    registry_discover(&options, &reg);
    assert_int_equal(reg.n_entries, 1);
    assert_non_null(strstr(find_refusal("notes.txt"), ".quoin.so"));
}

static void the_environment_names_folders_instead_of_the_usual_ones(void **state) {
    (void)state;
    setenv("QUOIN_PLUGIN_DIR", first, 1);
    registry_discover(NULL, &reg);
    assert_true(registry_find(&reg, "luna") > 0);
    assert_int_equal(reg.n_searched, 1);
    setenv("QUOIN_PLUGIN_DIR", empty, 1);
}

static void a_backend_that_is_disabled_is_named_among_the_refused(void **state) {
    (void)state;
    setenv("QUOIN_BACKENDS_DISABLE", "x*,lu?a", 1);
    discover_in(first, NULL);
    assert_int_equal(registry_find(&reg, "luna"), -1);
    assert_true(registry_find(&reg, "mars") > 0);
    assert_non_null(strstr(find_refusal("luna.quoin.so"), "QUOIN_BACKENDS_DISABLE"));
    unsetenv("QUOIN_BACKENDS_DISABLE");
}

static void one_file_under_two_names_is_taken_once(void **state) {
    (void)state;
    char from[CORPUS_PATH_SIZE + 64], to[CORPUS_PATH_SIZE + 64];
    snprintf(from, sizeof from, "%s/luna.quoin.so", first);
    snprintf(to, sizeof to, "%s/zeta.quoin.so", first);
    assert_int_equal(link(from, to), 0);
    discover_in(first, NULL);
    assert_true(registry_find(&reg, "luna") > 0);
    assert_int_equal(registry_find(&reg, "zeta"), -1);
    assert_non_null(strstr(find_refusal("zeta.quoin.so"), "the same file was found before: luna"));
    assert_int_equal(unlink(to), 0);
}

static void elevated_privileges_leave_the_program_s_folder_alone(void **state) {
    (void)state;
    char path[CORPUS_PATH_SIZE + 64];
    const char *dirs[] = {first}, *files[] = {path};
    snprintf(path, sizeof path, "%s/mars.quoin.so", first);
    const registry_options options = {
        .plugin_dirs = dirs, .n_plugin_dirs = 1, .plugin_files = files, .n_plugin_files = 1, .is_elevated = true};
    setenv("QUOIN_PLUGIN_DIR_ADD", first, 1);
    registry_discover(&options, &reg);
    unsetenv("QUOIN_PLUGIN_DIR_ADD");
    assert_true(reg.is_elevated);
    assert_int_equal(registry_find(&reg, "mars"), -1);
    for (uint32_t i = 0; i < reg.n_searched; i++) {
        assert_string_not_equal(reg.searched[i], first);
    }
}

static void a_file_that_is_no_library_is_refused_before_it_is_loaded(void **state) {
    (void)state;
    const qn_machine machine = {.size = sizeof machine};
    error_context err = {0};
    discover_in(first, NULL);
    registry_entry *entry = &reg.entries[registry_find(&reg, "luna")];
    assert_int_equal(registry_load(entry, &machine, &err), QN_UNSUPPORTED);
    assert_non_null(strstr(error_text(&err), "backend luna refused at note: UNSUPPORTED: "));
    assert_non_null(strstr(error_text(&err), "no ELF file"));
    assert_null(entry->query);
}

static void the_reference_loads_and_loads_again(void **state) {
    (void)state;
    const qn_machine machine = {.size = sizeof machine};
    registry_discover(NULL, &reg);
    assert_int_equal(registry_load(&reg.entries[0], &machine, NULL), QN_OK);
    assert_int_equal(registry_load(&reg.entries[0], &machine, NULL), QN_OK);
    assert_string_equal(reg.entries[0].facts.name, "reference");
}

/* ------------------------------------------------------------------------ what a plugin says of itself */

static qn_query_out ask_reference(void) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "test"};
    qn_query_out out = {.size = sizeof out};
    assert_int_equal(quoin_reference_query(&in, &out), QN_OK);
    return out;
}

static void sound_facts_pass(void **state) {
    (void)state;
    const qn_query_out facts = ask_reference();
    assert_int_equal(registry_check_facts("reference", QN_OK, &facts, NULL), QN_OK);
}

static void a_broken_fact_is_named(void **state) {
    (void)state;
    enum { NO_TABLE, NO_NAME, LATER, OTHER_NAME, NO_STEP, SHORT_TABLE, REFUSED, N_BREAKS };
    static const struct {
        qn_status status;
        const char *words;
    } wanted[N_BREAKS] = {{QN_INTERNAL, "table of verbs"}, {QN_INTERNAL, "no name"}, {QN_TOO_NEW, "ABI 0."},
                          {QN_BAD_ARG, "calls itself other"}, {QN_INTERNAL, "no verb step"},
                          {QN_INTERNAL, "no verb session_new"}, {QN_UNAVAILABLE, "query"}};
    for (int broken = 0; broken < N_BREAKS; broken++) {
        qn_query_out facts = ask_reference();
        qn_plugin table = *facts.plugin;
        error_context err = {0};
        facts.plugin = broken == NO_TABLE ? NULL : &table;
        facts.name = broken == NO_NAME ? NULL : broken == OTHER_NAME ? "other" : facts.name;
        facts.minor += broken == LATER;
        table.step = broken == NO_STEP ? NULL : table.step;
        table.size = broken == SHORT_TABLE ? offsetof(qn_plugin, session_new) : table.size;
        const qn_status status = broken == REFUSED ? QN_UNAVAILABLE : QN_OK;
        assert_int_equal(registry_check_facts("reference", status, &facts, &err), wanted[broken].status);
        if (strstr(error_text(&err), wanted[broken].words) == NULL) {
            fail_msg("break %d: %s", broken, error_text(&err));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reference_is_there_without_any_folder),
        cmocka_unit_test(plugins_are_found_in_the_order_of_folders_and_names),
        cmocka_unit_test(the_second_of_equal_names_is_refused_with_the_first_one_s_path),
        cmocka_unit_test(a_file_that_everyone_may_write_is_refused),
        cmocka_unit_test(a_folder_that_everyone_may_write_is_refused_as_a_whole),
        cmocka_unit_test(a_file_of_a_stranger_is_refused),
        cmocka_unit_test(a_relative_folder_is_refused),
        cmocka_unit_test(a_named_file_must_have_the_ending),
        cmocka_unit_test(the_environment_names_folders_instead_of_the_usual_ones),
        cmocka_unit_test(a_backend_that_is_disabled_is_named_among_the_refused),
        cmocka_unit_test(one_file_under_two_names_is_taken_once),
        cmocka_unit_test(elevated_privileges_leave_the_program_s_folder_alone),
        cmocka_unit_test(a_file_that_is_no_library_is_refused_before_it_is_loaded),
        cmocka_unit_test(the_reference_loads_and_loads_again),
        cmocka_unit_test(sound_facts_pass),
        cmocka_unit_test(a_broken_fact_is_named),
    };
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
