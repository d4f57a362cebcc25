/* test_iri.c — resolving relative IRIs: the examples of RFC 3986, section 5.4, and the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "graph/iri.h"

static fmt_str str(const char *text) {
    return (fmt_str){text, strlen(text)};
}

static const struct {
    const char *base, *reference, *whole;
} rows[] = {
#define RFC "http://a/b/c/d;p?q"
    {RFC, "g:h", "g:h"},
    {RFC, "g", "http://a/b/c/g"},
    {RFC, "./g", "http://a/b/c/g"},
    {RFC, "g/", "http://a/b/c/g/"},
    {RFC, "/g", "http://a/g"},
    {RFC, "//g", "http://g"},
    {RFC, "?y", "http://a/b/c/d;p?y"},
    {RFC, "g?y", "http://a/b/c/g?y"},
    {RFC, "#s", "http://a/b/c/d;p?q#s"},
    {RFC, "g#s", "http://a/b/c/g#s"},
    {RFC, "g?y#s", "http://a/b/c/g?y#s"},
    {RFC, ";x", "http://a/b/c/;x"},
    {RFC, "", "http://a/b/c/d;p?q"},
    {RFC, ".", "http://a/b/c/"},
    {RFC, "./", "http://a/b/c/"},
    {RFC, "..", "http://a/b/"},
    {RFC, "../", "http://a/b/"},
    {RFC, "../g", "http://a/b/g"},
    {RFC, "../..", "http://a/"},
    {RFC, "../../g", "http://a/g"},
    {RFC, "../../../g", "http://a/g"},
    {RFC, "../../../../g", "http://a/g"},
    {RFC, "/./g", "http://a/g"},
    {RFC, "/../g", "http://a/g"},
    {RFC, "g.", "http://a/b/c/g."},
    {RFC, ".g", "http://a/b/c/.g"},
    {RFC, "g..", "http://a/b/c/g.."},
    {RFC, "..g", "http://a/b/c/..g"},
    {RFC, "./../g", "http://a/b/g"},
    {RFC, "./g/.", "http://a/b/c/g/"},
    {RFC, "g/./h", "http://a/b/c/g/h"},
    {RFC, "g/../h", "http://a/b/c/h"},
    {RFC, "g;x=1/./y", "http://a/b/c/g;x=1/y"},
    {RFC, "g;x=1/../y", "http://a/b/c/y"},
    {RFC, "g?y/../x", "http://a/b/c/g?y/../x"},
    {RFC, "g#s/../x", "http://a/b/c/g#s/../x"},
    {RFC, "http:g", "http:g"},
    {"http://a", "b", "http://a/b"},
    {"http://a", "", "http://a"},
    {"http://a?q", "?r", "http://a?r"},
    {"http://a/b#f", "", "http://a/b"},
    {"http://a/b#f", "#g", "http://a/b#g"},
    {"urn:x:y", "#f", "urn:x:y#f"},
    {"urn:x:y", "z", "urn:z"},
    {"file:///a/b", "../../c", "file:///c"},
    {"file:///a/b", "c", "file:///a/c"},
    {"http://a/b/", "\303\251", "http://a/b/\303\251"},
    {"http://a/b/..", "c", "http://a/b/c"},
    {"http://a/b/c", "//x/../y", "http://x/y"},
    {"http://a/b", "x:", "x:"},
    {"http://a/b", "./x:y", "http://a/x:y"},
};

static void references_resolve_as_rfc_3986_says(void **state) {
    text_buffer out = {NULL, 0, 0};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(iri_resolve(str(rows[i].base), str(rows[i].reference), &out));
        if (out.size != strlen(rows[i].whole) || memcmp(out.text, rows[i].whole, out.size) != 0) {
            fail_msg("<%s> against <%s> became <%.*s>", rows[i].reference, rows[i].base, (int)out.size, out.text);
        }
    }
    text_buffer_free(&out);
}

static void only_a_scheme_with_a_colon_makes_an_iri_absolute(void **state) {
    static const char *const absolute[] = {"a:", "http://x", "a+b.c-1:x"};
    static const char *const relative[] = {"", ":", "a", "1a:b", "+a:b", "a b:c", "/a:b", "#a:b", "\303\251:b"};
    (void)state;
    for (size_t i = 0; i < sizeof absolute / sizeof absolute[0]; i++) {
        assert_true(iri_is_absolute(str(absolute[i])));
    }
    for (size_t i = 0; i < sizeof relative / sizeof relative[0]; i++) {
        assert_false(iri_is_absolute(str(relative[i])));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_resolve_as_rfc_3986_says),
        cmocka_unit_test(only_a_scheme_with_a_colon_makes_an_iri_absolute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
