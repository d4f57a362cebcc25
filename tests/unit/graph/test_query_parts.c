/* test_query_parts.c — what queries are made of: patterns, sets of rows, counting of ids, sorting of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "graph/id_counter.h"
#include "graph/line_sort.h"
#include "graph/pattern.h"
#include "graph/row_set.h"

static void a_pattern_of_three_places_gets_a_graph_of_its_own(void **state) {
    (void)state;
    static query_text query;
    error_context err = {.code = QN_OK};
    assert_int_equal(query_add_prefix(&query, "e=http://e.example/", &err), QN_OK);
    assert_int_equal(query_add_pattern(&query, "?s a e:C", &err), QN_OK);
    assert_int_equal(query_add_pattern(&query, "?s e:n \"a\\u0062\"@en DEFAULT .", &err), QN_OK);
    assert_int_equal(query.n_variables, 2);
    assert_string_equal(query.variables[0], "s");
    assert_null(query.variables[1]);
    const pattern_slot *object = &query.patterns[1].slots[NTRIPLES_OBJECT];
    assert_int_equal(object->term.size, 7);
    assert_memory_equal(object->term.text, "\"ab\"@en", 7);
    assert_int_equal(query.patterns[1].slots[NTRIPLES_GRAPH].kind, SLOT_DEFAULT_GRAPH);
    assert_int_equal(query.patterns[1].slots[NTRIPLES_SUBJECT].variable, query.patterns[0].slots[NTRIPLES_SUBJECT].variable);
    query_text_free(&query);
}

static void a_refusal_points_into_a_long_pattern(void **state) {
    (void)state;
    static query_text query;
    error_context err = {.code = QN_OK};
    char pattern[400];
    snprintf(pattern, sizeof pattern, "?s <http://e.example/%0200d> x", 7);
    assert_int_equal(query_add_pattern(&query, pattern, &err), QN_BAD_INPUT);
    const char *caret = strrchr(error_text(&err), '\n') + 1, *shown = strchr(error_text(&err), '\n') + 1;
    assert_non_null(strstr(error_text(&err), "column 224"));
    assert_int_equal(shown[strlen(caret) - 1], 'x');
    query_text_free(&query);
}

static void a_comparison_with_the_number_first_is_turned_round(void **state) {
    (void)state;
    static query_text query;
    error_context err = {.code = QN_OK};
    assert_int_equal(query_add_pattern(&query, "?s ?p ?o", &err), QN_OK);
    assert_int_equal(query_add_filter(&query, " 10<=?o ", &err), QN_OK);
    assert_int_equal(query.filters[0].op, COMPARE_AT_LEAST);
    assert_int_equal(query.filters[0].left, query_find_variable(&query, "?o", 2));
    query_text_free(&query);
}

static void a_row_is_new_once(void **state) {
    (void)state;
    row_set set;
    error_context err = {.code = QN_OK};
    bool is_new;
    assert_int_equal(row_set_init(&set, 2, 1 << 20, &err), QN_OK);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_int_equal(row_set_add(&set, (const uint64_t[]){i % 5000, i % 5000 / 7}, &is_new, &err), QN_OK);
        assert_int_equal(is_new, i < 5000);
    }
    row_set_deinit(&set);
}

static void rows_that_do_not_fit_are_an_error(void **state) {
    (void)state;
    row_set set;
    error_context err = {.code = QN_OK};
    bool is_new;
    qn_status status = QN_OK;
    assert_int_equal(row_set_init(&set, 1, 4096, &err), QN_OK);
    for (uint64_t i = 0; i < 4096 && status == QN_OK; i++) {
        status = row_set_add(&set, &i, &is_new, &err);
    }
    assert_int_equal(status, QN_LIMIT);
    row_set_deinit(&set);
}

static void ids_are_counted_exactly_in_little_memory(void **state) {
    (void)state;
    static const uint64_t counts[] = {0, 1, 700, 3000, 100000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        id_counter counter;
        error_context err = {.code = QN_OK};
        uint32_t n_passes = 0;
        assert_int_equal(id_counter_init(&counter, 1 << 16, &err), QN_OK);
        do {
            for (uint64_t j = 0; j < 3 * counts[i]; j++) {
                id_counter_add(&counter, j % counts[i] * 4096);
            }
            n_passes++;
        } while (id_counter_next_pass(&counter));
        assert_int_equal(id_counter_total(&counter), counts[i]);
        assert_true(counts[i] < 5000 || n_passes > 1);
        id_counter_deinit(&counter);
    }
}

static void lines_come_back_sorted_and_once_from_runs_as_from_memory(void **state) {
    (void)state;
    for (uint32_t n = 0; n <= 60000; n = n == 0 ? 100 : n * 600) {
        line_sort *sort;
        error_context err = {.code = QN_OK};
        fmt_str line;
        char text[128], before[128] = "";
        uint32_t n_lines = 0;
        qn_status status;
        assert_int_equal(line_sort_create("/tmp", 1 << 20, &sort, &err), QN_OK);
        for (uint32_t i = 0; i < n; i++) {
            const int size = snprintf(text, sizeof text, "%010u %0*u", (uint32_t)(i % (n / 2) * 2654435761u), (int)(i % 60 + 1), i % (n / 2));
            assert_int_equal(line_sort_add(sort, text, (uint64_t)size, &err), QN_OK);
        }
        assert_int_equal(line_sort_begin(sort, &err), QN_OK);
        while ((status = line_sort_next(sort, &line, &err)) == QN_OK) {
            snprintf(text, sizeof text, "%.*s", (int)line.size, line.data);
            assert_true(n_lines == 0 || strcmp(before, text) < 0);
            memcpy(before, text, sizeof text);
            n_lines++;
        }
        assert_int_equal(status, QN_NOT_FOUND);
        assert_int_equal(n_lines + line_sort_n_repeated(sort), n);
        line_sort_destroy(sort);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_of_three_places_gets_a_graph_of_its_own),
        cmocka_unit_test(a_refusal_points_into_a_long_pattern),
        cmocka_unit_test(a_comparison_with_the_number_first_is_turned_round),
        cmocka_unit_test(a_row_is_new_once),
        cmocka_unit_test(rows_that_do_not_fit_are_an_error),
        cmocka_unit_test(ids_are_counted_exactly_in_little_memory),
        cmocka_unit_test(lines_come_back_sorted_and_once_from_runs_as_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
