/* test_ntr_w3c.c — the test suites of the W3C for N-Triples and N-Quads 1.1, as their manifests say; and what their
 * canonicalisation tests of RDF 1.2 can say about terms of 1.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "nt_fixture.h"

typedef struct manifest_entry {
    char path[CORPUS_PATH_SIZE + 260], result[CORPUS_PATH_SIZE + 260]; /* result: "" when there is none */
    bool is_positive;
} manifest_entry;

/* Copies what stands between the next < and > behind `word` inside the entry; false when it is not there. */
static bool take_file(const char *entry, const char *entry_end, const char *word, char *out, size_t room, const char *folder) {
    const char *at = strstr(entry, word);
    if (at == NULL || at >= entry_end) {
        return false;
    }
    const char *from = strchr(at, '<'), *to = strchr(from, '>');
    assert_true(from != NULL && to != NULL);
    snprintf(out, room, "%s/%.*s", folder, (int)(to - from - 1), from + 1);
    return true;
}

static bool is_comment(const char *text, const char *at) {
    while (at > text && at[-1] != '\n') {
        at--;
    }
    return *at == '#';
}

/* The next entry at or behind *io_at: from its class (rdft:Test…) to the empty line that ends it. */
static bool next_entry(const char **io_at, const char *folder, manifest_entry *out) {
    const char *at = strstr(*io_at, " rdft:Test");
    while (at != NULL && is_comment(*io_at, at)) {
        at = strstr(at + 1, " rdft:Test");
    }
    if (at == NULL) {
        return false;
    }
    const char *end = strstr(at, "\n\n");
    end = end == NULL ? at + strlen(at) : end;
    out->is_positive = strncmp(strstr(at, "rdft:TestN") + 10, "TriplesPositive", 15) == 0 ||
                       strncmp(strstr(at, "rdft:TestN") + 10, "QuadsPositive", 13) == 0;
    out->result[0] = '\0';
    assert_true(take_file(at, end, "mf:action", out->path, sizeof out->path, folder));
    take_file(at, end, "mf:result", out->result, sizeof out->result, folder);
    *io_at = end;
    return true;
}

/* Calls `check` for each entry of the manifest; returns their number. */
static size_t for_each_entry(const char *relative_folder, void (*check)(const manifest_entry *entry)) {
    char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 20];
    size_t size, n = 0;
    manifest_entry entry;
    corpus_require(relative_folder, folder);
    snprintf(path, sizeof path, "%s/manifest.ttl", folder);
    char *text = (char *)test_read_file(path, &size);
    for (const char *at = text; next_entry(&at, folder, &entry); n++) {
        check(&entry);
    }
    free(text);
    return n;
}

static size_t n_positive, n_negative;

static void check_syntax(const manifest_entry *entry) {
    nt_result result = nt_parse_file(entry->path);
    if (entry->is_positive && result.status != FMT_NOT_FOUND) {
        fail_msg("%s is right, but: %s", entry->path, result.diag.text);
    }
    if (!entry->is_positive && result.status != FMT_BAD_FILE) {
        fail_msg("%s is wrong, but status %d", entry->path, result.status);
    }
    n_positive += entry->is_positive;
    n_negative += !entry->is_positive;
    nt_free(&result);
}

static void check_suite(const char *folder, size_t positive, size_t negative) {
    n_positive = n_negative = 0;
    const size_t n = for_each_entry(folder, check_syntax);
    print_message("%s: %zu positive, %zu negative\n", folder, n_positive, n_negative);
    assert_int_equal(n, positive + negative);
    assert_int_equal(n_positive, positive);
    assert_int_equal(n_negative, negative);
}

static void every_n_triples_test_behaves_as_its_manifest_says(void **state) {
    (void)state;
    check_suite("data/rdf-tests/rdf/rdf11/rdf-n-triples", 41, 29);
}

static void every_n_quads_test_behaves_as_its_manifest_says(void **state) {
    (void)state;
    check_suite("data/rdf-tests/rdf/rdf11/rdf-n-quads", 53, 34);
}

/* Written canonically, a parsed file is parsed into itself. */
static void check_round_trip(const manifest_entry *entry) {
    nt_result first = nt_parse_file(entry->path);
    if (entry->is_positive) {
        const bool is_quads = strstr(entry->path, ".nq") != NULL;
        nt_result second = nt_parse((fmt_span){(const uint8_t *)first.text, first.size}, is_quads);
        assert_int_equal(second.status, FMT_NOT_FOUND);
        assert_int_equal(second.n_statements, first.n_statements);
        assert_int_equal(second.size, first.size);
        assert_true(first.size == 0 || memcmp(first.text, second.text, first.size) == 0);
        nt_free(&second);
    }
    nt_free(&first);
}

static void what_is_written_is_read_back_the_same(void **state) {
    (void)state;
    assert_true(for_each_entry("data/rdf-tests/rdf/rdf11/rdf-n-triples", check_round_trip) > 0);
    assert_true(for_each_entry("data/rdf-tests/rdf/rdf11/rdf-n-quads", check_round_trip) > 0);
}

static size_t n_equal, n_other;

/* Both spellings of each pair are the same statements. Not so: tags, which RDF 1.2 makes lower case, and its triple
 * terms and base directions, which are refused by name. */
static void check_pair(const manifest_entry *entry) {
    nt_result action = nt_parse_file(entry->path), wanted = nt_parse_file(entry->result);
    if (strstr(entry->path, "triple-term") != NULL || strstr(entry->path, "dirlang") != NULL) {
        assert_int_equal(action.status, FMT_UNSUPPORTED);
        n_other++;
    } else if (strstr(entry->path, "/langtagged") == NULL) {
        assert_int_equal(action.status, FMT_NOT_FOUND);
        assert_int_equal(wanted.status, FMT_NOT_FOUND);
        assert_int_equal(action.size, wanted.size);
        assert_memory_equal(action.text, wanted.text, action.size);
        n_equal++;
    }
    nt_free(&action);
    nt_free(&wanted);
}

static void both_spellings_of_the_canonicalisation_tests_are_the_same_statements(void **state) {
    (void)state;
    n_equal = n_other = 0;
    for_each_entry("data/rdf-tests/rdf/rdf12/rdf-n-triples/c14n", check_pair);
    for_each_entry("data/rdf-tests/rdf/rdf12/rdf-n-quads/c14n", check_pair);
    print_message("%zu pairs are equal, %zu are refused as RDF 1.2\n", n_equal, n_other);
    assert_true(n_equal >= 60);
    assert_true(n_other >= 10);
}

/* The grammar of 1.1 takes any datatype and tags of any length. */
static bool is_known_looser(const char *path) {
    static const char *const names[] = {"langdir-bad-3.nt", "langdir-bad-4.nt", "langdir-bad-5.nt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strstr(path, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* What is right only in RDF 1.2 is refused, and never as if it were merely wrong. */
static void check_version_1_2(const manifest_entry *entry) {
    nt_result result = nt_parse_file(entry->path);
    if (entry->is_positive) {
        assert_int_equal(result.status, FMT_UNSUPPORTED);
        assert_non_null(strstr(result.diag.text, "not supported yet"));
        assert_int_equal(strncmp(result.diag.text, "line ", 5), 0);
        n_positive++;
    } else if (!is_known_looser(entry->path)) {
        assert_int_not_equal(result.status, FMT_NOT_FOUND);
        n_negative++;
    }
    nt_free(&result);
}

static void triple_terms_and_directions_of_rdf_1_2_are_refused_by_name_and_line(void **state) {
    (void)state;
    n_positive = n_negative = 0;
    for_each_entry("data/rdf-tests/rdf/rdf12/rdf-n-triples/syntax", check_version_1_2);
    for_each_entry("data/rdf-tests/rdf/rdf12/rdf-n-quads/syntax", check_version_1_2);
    print_message("%zu positive, %zu negative\n", n_positive, n_negative);
    assert_true(n_positive >= 10 && n_negative >= 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_n_triples_test_behaves_as_its_manifest_says),
        cmocka_unit_test(every_n_quads_test_behaves_as_its_manifest_says),
        cmocka_unit_test(what_is_written_is_read_back_the_same),
        cmocka_unit_test(both_spellings_of_the_canonicalisation_tests_are_the_same_statements),
        cmocka_unit_test(triple_terms_and_directions_of_rdf_1_2_are_refused_by_name_and_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
