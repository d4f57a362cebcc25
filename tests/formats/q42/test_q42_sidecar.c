/* test_q42_sidecar.c — the real sidecar lexicon of version 1: 6,891 keys of 64 bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "common/fnv.h"
#include "corpus.h"
#include "q42_fixture.h"

static void every_key_of_the_real_lexicon_is_found_again(void **state) {
    char path[CORPUS_PATH_SIZE];
    q42_lexicon lexicon;
    q42_lexicon_walk walk = {0};
    q42_term term, found;
    fmt_diag diag;
    uint64_t n = 0;
    (void)state;
    corpus_require("data/schemaorg-legacy/schemaorg-current-https.q42.lex", path);
    const fmt_span span = test_map_file(path);
    assert_int_equal(q42_lexicon_open(span, 0, &lexicon, &diag), FMT_OK);
    assert_int_equal(lexicon.form, Q42_LEXICON_UNTAGGED);
    assert_int_equal(lexicon.n_entries, 6891);
    assert_int_equal(q42_lexicon_check_page(&lexicon, 0, &diag), FMT_OK);
    while (q42_lexicon_next(&lexicon, &walk, &term, &diag) == FMT_OK) {
        assert_int_equal(term.hash, fnv1a64(term.text.data, term.text.size));
        assert_int_equal(q42_lexicon_find(&lexicon, term.hash, &found, &diag), FMT_OK);
        assert_int_equal(found.offset, term.offset);
        n++;
    }
    assert_int_equal(n, 6891);
    assert_int_equal(q42_lexicon_find(&lexicon, 12345, &found, &diag), FMT_NOT_FOUND);
    test_unmap_file(span);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_the_real_lexicon_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
