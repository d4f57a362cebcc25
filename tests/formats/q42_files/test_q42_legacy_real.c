/* test_q42_legacy_real.c — the schema.org files that a version 1 writer left: its lexicon and block index, and the blocks rebuilt from the
 * statements as that writer read them: the first three words of a line, brackets taken away, of a literal what stands between its quotes. */
#include <stdlib.h>

#include "cases.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "files_fixture.h"

#define FOLDER "data/schemaorg-legacy/"
#define N_TERMS 6891u
#define N_BLOCKS 22u

static fmt_span lexicon_span, bidx_span, statements;

static fmt_span map_corpus(const char *name) {
    char path[CORPUS_PATH_SIZE];
    corpus_require(name, path);
    return test_map_file(path);
}

/* Before each test, which is skipped when the corpus is not there. */
static void map_files(void) {
    if (statements.data == NULL) {
        lexicon_span = map_corpus(FOLDER "schemaorg-current-https.q42.lex");
        bidx_span = map_corpus(FOLDER "schemaorg-current-https.q42.bidx");
        statements = map_corpus(FOLDER "schema.nt");
    }
}

static int unmap_files(void **state) {
    (void)state;
    if (statements.data != NULL) {
        test_unmap_file(lexicon_span);
        test_unmap_file(bidx_span);
        test_unmap_file(statements);
    }
    return 0;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static uint64_t hash_token(const char *token, size_t size) {
    if (size >= 2 && token[0] == '<' && token[size - 1] == '>') {
        return fnv1a64(token + 1, size - 2);
    }
    if (token[0] == '"') {
        size_t end = 1;
        while (end < size && token[end] != '"') {
            end += token[end] == '\\' ? 2 : 1;
        }
        return fnv1a64(token + 1, (end < size ? end : size) - 1);
    }
    return fnv1a64(token, size);
}

/* Ids of the first three words; false when there are fewer. */
static bool read_line(const char *line, size_t size, uint64_t ids[3]) {
    size_t at = 0;
    for (unsigned i = 0; i < 3; i++) {
        while (at < size && is_blank(line[at])) {
            at++;
        }
        const size_t begin = at;
        while (at < size && !is_blank(line[at])) {
            at++;
        }
        if (at == begin || (i == 0 && line[begin] == '#')) {
            return false;
        }
        ids[i] = hash_token(line + begin, at - begin);
    }
    return true;
}

static int compare_objects(const void *a, const void *b) {
    const q42_quin *x = a, *y = b;
    return x->object < y->object ? -1 : x->object > y->object;
}

/* All statements, sorted by object; the caller frees them. */
static q42_quin *read_statements(uint64_t *out_count) {
    q42_quin *quins = malloc(20000 * sizeof *quins);
    assert_non_null(quins);
    const char *at = (const char *)statements.data, *end = at + statements.size;
    uint64_t n = 0;
    while (at < end) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        uint64_t ids[3];
        if (read_line(at, (size_t)(line_end - at), ids)) {
            assert_true(n < 20000);
            quins[n++] = (q42_quin){ids[0], ids[1], ids[2], 0, 0, 0};
        }
        at = line_end + 1;
    }
    qsort(quins, n, sizeof *quins, compare_objects);
    *out_count = n;
    return quins;
}

static uint8_t *make_blocks(const q42_quin *quins, uint64_t n_quins) {
    uint8_t *blocks = calloc(N_BLOCKS, Q42_BLOCK_BYTES);
    assert_non_null(blocks);
    for (uint64_t i = 0; i < n_quins; i++) {
        uint8_t *block = blocks + i / Q42_BLOCK_QUINS * Q42_BLOCK_BYTES;
        store_u64(block, i / Q42_BLOCK_QUINS);
        store_u64(block + 16, i % Q42_BLOCK_QUINS + 1);
        q42_quin_store(block + 160 + i % Q42_BLOCK_QUINS * Q42_QUIN_BYTES, &quins[i]);
    }
    return blocks;
}

static void all_terms_of_the_lexicon_are_found_by_their_whole_hash(void **state) {
    (void)state;
    map_files();
    q42_lexicon lexicon;
    q42_lexicon_walk walk = {0};
    q42_term term, found;
    fmt_diag diag;
    uint64_t n = 0;
    assert_int_equal(q42_lexicon_open(lexicon_span, 0, &lexicon, &diag), FMT_OK);
    assert_int_equal(lexicon.form, Q42_LEXICON_UNTAGGED);
    while (q42_lexicon_next(&lexicon, &walk, &term, &diag) == FMT_OK) {
        assert_true(fnv1a64(term.text.data, term.text.size) == term.hash);
        assert_int_equal(q42_lexicon_find(&lexicon, term.hash, &found, &diag), FMT_OK);
        assert_ptr_equal(found.text.data, term.text.data);
        n++;
    }
    assert_int_equal(n, N_TERMS);
}

static void rebuilt_blocks_agree_with_all_ranges_of_the_real_index(void **state) {
    (void)state;
    map_files();
    q42_raw raw;
    fmt_diag diag;
    uint64_t n_quins = 0, n_read = 0;
    q42_quin *quins = read_statements(&n_quins);
    uint8_t *blocks = make_blocks(quins, n_quins);
    assert_int_equal((n_quins + Q42_BLOCK_QUINS - 1) / Q42_BLOCK_QUINS, N_BLOCKS);
    assert_int_equal(q42_raw_open(span_of(blocks, (uint64_t)N_BLOCKS * Q42_BLOCK_BYTES), lexicon_span, bidx_span, &raw, &diag),
                     FMT_OK);
    for (uint64_t i = 0; i < N_BLOCKS; i++) {
        q42_block block;
        assert_int_equal(q42_raw_read_block(&raw, i, &block, &diag), FMT_OK);
        for (uint32_t slot = 0; slot < block.n_quins; slot++) {
            const q42_quin quin = q42_block_quin(&block, slot);
            const uint64_t ids[3] = {quin.subject, quin.predicate, quin.object};
            q42_term term;
            uint64_t begin = 0, end = 0;
            for (unsigned k = 0; k < 3; k++) {
                assert_int_equal(q42_lexicon_find(&raw.lexicon, ids[k], &term, &diag), FMT_OK);
            }
            q42_raw_object_blocks(&raw, quin.object, quin.object, &begin, &end);
            assert_true(begin <= i && i < end);
            n_read++;
        }
    }
    assert_int_equal(n_read, n_quins);
    free(blocks);
    free(quins);
}

static void a_block_that_was_moved_is_found_by_the_index(void **state) {
    (void)state;
    map_files();
    q42_raw raw;
    q42_block block;
    fmt_diag diag;
    uint64_t n_quins = 0;
    q42_quin *quins = read_statements(&n_quins);
    quins[0].object++;
    uint8_t *blocks = make_blocks(quins, n_quins);
    assert_int_equal(q42_raw_open(span_of(blocks, (uint64_t)N_BLOCKS * Q42_BLOCK_BYTES), lexicon_span, bidx_span, &raw, &diag),
                     FMT_OK);
    assert_int_equal(q42_raw_read_block(&raw, 0, &block, &diag), FMT_BAD_FILE);
    free(blocks);
    free(quins);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_terms_of_the_lexicon_are_found_by_their_whole_hash),
        cmocka_unit_test(rebuilt_blocks_agree_with_all_ranges_of_the_real_index),
        cmocka_unit_test(a_block_that_was_moved_is_found_by_the_index),
    };
    return cmocka_run_group_tests(tests, NULL, unmap_files);
}
