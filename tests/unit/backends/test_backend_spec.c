/* test_backend_spec.c — the grammar of one alternative of a backend request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backends/backend_spec.h"

/* Back to one line: name|device|key=value;… */
static const char *print_spec(const backend_spec *spec, char *text, size_t room) {
    size_t used = (size_t)snprintf(text, room, "%s|%s|", spec->name, spec->device);
    for (uint32_t i = 0; i < spec->n_options; i++) {
        used += (size_t)snprintf(text + used, room - used, "%s=%s;", spec->keys[i], spec->values[i]);
    }
    if (spec->wants_help) {
        snprintf(text + used, room - used, "help;");
    }
    return text;
}

static void every_form_is_taken_apart(void **state) {
    (void)state;
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"cpu", "cpu||"},
        {"cpu/avx2", "cpu||isa=avx2;"},
        {"opencl:0", "opencl|0|"},
        {"vulkan:0000:01:00.0", "vulkan|0000:01:00.0|"},
        {"cpu,isa=c,panels=off", "cpu||isa=c;panels=off;"},
        {"cpu/c:cpu,a=b", "cpu|cpu|isa=c;a=b;"},
        {"x:dev/ice,k=v=w", "x|dev/ice|k=v=w;"},
        {"x,path=/a:b", "x||path=/a:b;"},
        {"x:uuid=1-2,k=v", "x|uuid=1-2|k=v;"},
        {"x:#3", "x|#3|"},
        {"x,help", "x||help;"},
        {"x,k=v,help", "x||k=v;help;"},
        {"x,help=me", "x||help=me;"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        backend_spec spec;
        char text[512];
        error_context err = {0};
        if (backend_spec_parse(rows[i].text, strlen(rows[i].text), &spec, &err) != QN_OK) {
            fail_msg("%s: %s", rows[i].text, error_text(&err));
        }
        assert_string_equal(print_spec(&spec, text, sizeof text), rows[i].wanted);
    }
}

static void what_is_missing_is_told_with_its_column(void **state) {
    (void)state;
    static const struct {
        const char *text, *words[2];
    } rows[] = {
        {"", {"a name", "column 1"}},
        {":0", {"a name", "column 1"}},
        {"cpu/", {"an instruction set", "column 5"}},
        {"cpu:", {"a device", "column 5"}},
        {"cpu,", {"a key", "column 5"}},
        {"cpu,=v", {"a key", "column 5"}},
        {"cpu,k", {"\"k\" at column 5", "key=value"}},
        {"cpu,k=", {"a value", "column 7"}},
        {"cpu,k=v,k=w", {"column 9", "second time"}},
        {"cpu/c,isa=avx2", {"isa", "second time"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        backend_spec spec;
        error_context err = {0};
        assert_int_equal(backend_spec_parse(rows[i].text, strlen(rows[i].text), &spec, &err), QN_BAD_INPUT);
        for (size_t w = 0; w < 2; w++) {
            if (strstr(error_text(&err), rows[i].words[w]) == NULL) {
                fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].text, error_text(&err), rows[i].words[w]);
            }
        }
    }
}

static void only_the_given_length_is_read(void **state) {
    (void)state;
    backend_spec spec;
    assert_int_equal(backend_spec_parse("cpu;reference", 3, &spec, NULL), QN_OK);
    assert_string_equal(spec.name, "cpu");
}

static void parts_that_are_too_long_are_refused_with_the_limit(void **state) {
    (void)state;
    char text[BACKEND_VALUE_SIZE * 2];
    backend_spec spec;
    error_context err = {0};
    memset(text, 'a', sizeof text);
    assert_int_equal(backend_spec_parse(text, BACKEND_NAME_SIZE, &spec, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "at most 63"));
    assert_int_equal(backend_spec_parse(text, BACKEND_NAME_SIZE - 1, &spec, &err), QN_OK);
}

static void more_options_than_there_is_room_for_are_refused(void **state) {
    (void)state;
    char text[512];
    size_t used = (size_t)snprintf(text, sizeof text, "cpu");
    for (int i = 0; i <= BACKEND_MAX_OPTIONS; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, ",k%d=v", i);
    }
    backend_spec spec;
    assert_int_equal(backend_spec_parse(text, used, &spec, NULL), QN_BAD_INPUT);
    assert_int_equal(backend_spec_parse(text, used - strlen(",k16=v"), &spec, NULL), QN_OK);
    assert_int_equal(spec.n_options, BACKEND_MAX_OPTIONS);
}

static void an_added_option_never_replaces_a_given_one(void **state) {
    (void)state;
    backend_spec spec;
    assert_int_equal(backend_spec_parse("cpu,isa=c", 9, &spec, NULL), QN_OK);
    assert_int_equal(backend_spec_add(&spec, "isa", "avx2", NULL), QN_OK);
    assert_int_equal(backend_spec_add(&spec, "panels", "off", NULL), QN_OK);
    assert_int_equal(spec.n_options, 2);
    assert_string_equal(spec.values[0], "c");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_taken_apart),
        cmocka_unit_test(what_is_missing_is_told_with_its_column),
        cmocka_unit_test(only_the_given_length_is_read),
        cmocka_unit_test(parts_that_are_too_long_are_refused_with_the_limit),
        cmocka_unit_test(more_options_than_there_is_room_for_are_refused),
        cmocka_unit_test(an_added_option_never_replaces_a_given_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
