/* test_verify_report.c — how checks fold into verdicts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "graph/verify_report.h"

static void the_worst_check_decides(void **state) {
    static const struct {
        q42_verdict checks[3], verdict;
    } table[] = {
        {{Q42_PASS, Q42_PASS, Q42_PASS}, Q42_PASS},
        {{Q42_PASS, Q42_NOT_APPLICABLE, Q42_PASS}, Q42_PASS},
        {{Q42_PASS, Q42_INCOMPLETE, Q42_PASS}, Q42_INCOMPLETE},
        {{Q42_PASS, Q42_PASS, Q42_NOT_CHECKED}, Q42_INCOMPLETE},
        {{Q42_INCOMPLETE, Q42_FAIL, Q42_PASS}, Q42_FAIL},
        {{Q42_FAIL, Q42_NOT_CHECKED, Q42_INCOMPLETE}, Q42_FAIL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        volume_report_list list = {0};
        verify_file_report *file;
        assert_int_equal(verify_report_add_file(&list, "a", VERIFY_STANDALONE, &file, NULL), QN_OK);
        for (size_t k = 0; k < 3; k++) {
            verify_add(file, "check", table[i].checks[k], NULL);
        }
        verify_report_fold(&list);
        assert_int_equal(list.verdict, table[i].verdict);
        assert_int_equal(list.files[0].verdict, table[i].verdict);
        verify_report_free(&list);
    }
}

static void the_first_failure_of_all_files_is_told_before_what_is_missing(void **state) {
    volume_report_list list = {0};
    verify_file_report *file;
    const verify_file_report *told = NULL;
    (void)state;
    assert_int_equal(verify_report_add_file(&list, "root", VERIFY_ROOT, &file, NULL), QN_OK);
    verify_add_words(file, "structure.merkle", Q42_INCOMPLETE, "no %s", "root");
    assert_int_equal(verify_report_add_file(&list, "child", VERIFY_CHILD, &file, NULL), QN_OK);
    verify_report_fold(&list);
    assert_string_equal(verify_report_first(&list, &told)->name, "structure.merkle");
    assert_string_equal(told->path, "root");
    verify_add(&list.files[1], "blocks.decode", Q42_FAIL, NULL);
    verify_report_fold(&list);
    assert_string_equal(verify_report_first(&list, &told)->name, "blocks.decode");
    assert_string_equal(told->path, "child");
    verify_report_free(&list);
    assert_null(verify_report_first(&list, &told));
}

static void a_full_list_of_checks_takes_no_more(void **state) {
    volume_report_list list = {0};
    verify_file_report *file;
    (void)state;
    assert_int_equal(verify_report_add_file(&list, "a", VERIFY_STANDALONE, &file, NULL), QN_OK);
    for (uint32_t i = 0; i < VERIFY_MAX_CHECKS + 5; i++) {
        verify_add(file, "check", Q42_PASS, NULL);
    }
    assert_int_equal(file->n_checks, VERIFY_MAX_CHECKS);
    verify_report_free(&list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worst_check_decides),
        cmocka_unit_test(the_first_failure_of_all_files_is_told_before_what_is_missing),
        cmocka_unit_test(a_full_list_of_checks_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
