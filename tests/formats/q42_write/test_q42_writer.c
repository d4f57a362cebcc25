/* test_q42_writer.c — what the writer refuses, where it stops, and what many terms make of the lexicon's pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/endian.h"
#include "q42_write_fixture.h"

static uint8_t room[Q42_BLOCK_BYTES];
static q42_built_block block;
static fmt_diag diag;

static fmt_status build(const q42_quin *quins, uint32_t n) {
    return q42_build_block(quins, n, 0, room, &block, &diag);
}

/* ------------------------------------------------------------------------------------------------------------ blocks */

static void test_a_block_has_1_to_850_quins(void **state) {
    static q42_quin quins[851];
    (void)state;
    make_quins(quins, 851, 3);
    assert_int_equal(build(quins, 0), FMT_BAD_ARG);
    assert_int_equal(build(quins, 851), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "write-count");
    assert_int_equal(build(quins, 850), FMT_OK);
}

static void test_a_wrong_parity_is_refused_with_its_slot(void **state) {
    q42_quin quins[3];
    (void)state;
    make_quins(quins, 3, 1);
    quins[2].parity ^= 4;
    assert_int_equal(build(quins, 3), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "write-parity");
    assert_int_equal(diag.index, 2);
    assert_int_equal(diag.expected ^ diag.got, 4);
}

static void test_every_field_takes_part_in_the_order(void **state) {
    const q42_quin low = q42_quin_make(5, 5, 5, 5, 5);
    (void)state;
    for (unsigned field = 0; field < 5; field++) {
        uint64_t words[5] = {5, 5, 5, 5, 5};
        words[field] = 4;
        const q42_quin pair[2] = {low, q42_quin_make(words[0], words[1], words[2], words[3], words[4])};
        assert_int_equal(build(pair, 2), FMT_BAD_ARG);
        assert_string_equal(diag.rule, "write-order");
        assert_int_equal(diag.index, 1);
    }
}

static void test_a_repetition_is_no_fault_of_order(void **state) {
    const q42_quin pair[2] = {example_quin(), example_quin()};
    (void)state;
    assert_int_equal(build(pair, 2), FMT_OK);
    assert_int_equal(block.n_quins, 2);
}

static void test_both_encoders_tell_the_same_facts(void **state) {
    static q42_quin quins[850];
    static q42_built_block literal;
    (void)state;
    make_quins(quins, 850, 1u << 20);
    assert_int_equal(build(quins, 850), FMT_OK);
    assert_int_equal(q42_build_block_literal(quins, 850, 0, room, &literal, &diag), FMT_OK);
    assert_true(block.payload_size < literal.payload_size);
    assert_int_equal(block.postings_size, literal.postings_size);
    assert_memory_equal(block.postings, literal.postings, literal.postings_size);
    assert_memory_equal(block.quins_digest, literal.quins_digest, 32);
    assert_memory_equal(block.fields, literal.fields, sizeof block.fields);
}

/* Random fields: nothing to find for a compressor. */
static void test_a_block_that_does_not_compress_still_fits(void **state) {
    static q42_quin quins[850];
    uint64_t seed = 1;
    (void)state;
    for (uint32_t i = 0; i < 850; i++) {
        uint64_t words[4];
        for (unsigned k = 0; k < 4; k++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            words[k] = seed ^ seed >> 33;
        }
        quins[i] = q42_quin_make(words[0], words[1], (uint64_t)i << 32 | words[2] >> 32, words[3], 0);
    }
    assert_int_equal(build(quins, 850), FMT_OK);
    assert_true(block.payload_size <= Q42_MAX_PAYLOAD);
}

/* ------------------------------------------------------------------------------------------------------------- terms */

static void test_keys_rise(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add_text(&w, "a"); /* 0f63... */
    assert_int_equal(w.status, FMT_OK);
    written_add_text(&w, "Bob"); /* 0656... */
    assert_int_equal(w.status, FMT_BAD_ARG);
    assert_string_equal(w.diag.rule, "write-key-order");
    written_free(&w);
}

static void test_a_key_that_is_not_the_hash_of_its_text_is_refused(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add(&w, 5, "a");
    assert_int_equal(w.status, FMT_BAD_ARG);
    assert_string_equal(w.diag.rule, "write-key");
    written_free(&w);
}

static void test_a_did_may_stand_under_its_pointer(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add(&w, q42_hash("abc", 3) | Q42_POINTER_BIT, "did:q42:abc");
    assert_int_equal(w.status, FMT_OK);
    written_free(&w);
}

static void test_a_term_has_at_most_65535_bytes(void **state) {
    char *text = malloc(65537);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', 65536);
    text[65536] = 0;
    for (unsigned size = 65535; size <= 65536; size++) {
        written w;
        written_begin(&w, &(q42_write_options){0});
        written_add_text(&w, text + (65536 - size));
        assert_int_equal(w.status, size == 65535 ? FMT_OK : FMT_BAD_ARG);
        written_free(&w);
    }
    free(text);
}

static void test_a_term_that_is_no_utf8_is_refused(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add_text(&w, "\xff");
    assert_int_equal(w.status, FMT_BAD_ARG);
    assert_string_equal(w.diag.rule, "write-term-text");
    written_free(&w);
}

static void test_a_page_takes_no_triple(void **state) {
    const q42_term triple = {.hash = 5, .kind = Q42_TERM_TRIPLE};
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    assert_int_equal(q42_writer_add_term(w.writer, &triple, &w.diag), FMT_BAD_ARG);
    assert_string_equal(w.diag.rule, "write-kind");
    written_free(&w);
}

static void test_the_mark_is_written_and_not_counted(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add_text(&w, Q42_SURFACE_MARK);
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    assert_int_equal(w.report.n_terms, 0);
    assert_int_equal(load_u64(written_section(&w, 8).data + 8), 1);
    written_free(&w);
}

typedef struct numbered {
    uint64_t key;
    char text[16];
} numbered;

static int by_key(const void *a, const void *b) {
    const uint64_t x = ((const numbered *)a)->key, y = ((const numbered *)b)->key;
    return (x > y) - (x < y);
}

static void write_numbered(written *w, uint32_t n) {
    numbered *terms = calloc(n + 1, sizeof *terms);
    assert_non_null(terms);
    for (uint32_t i = 0; i < n; i++) {
        const int size = snprintf(terms[i].text, sizeof terms[i].text, "term%u", i);
        terms[i].key = q42_hash(terms[i].text, (uint64_t)size);
    }
    qsort(terms, n, sizeof *terms, by_key);
    written_begin(w, &(q42_write_options){0});
    for (uint32_t i = 0; i < n; i++) {
        written_add_text(w, terms[i].text);
        assert_int_equal(w->status, FMT_OK);
    }
    free(terms);
    const uint64_t foretold = q42_writer_size(w->writer);
    written_finish(w);
    assert_int_equal(w->status, FMT_OK);
    assert_int_equal(w->file.size, foretold);
}

/* Walks a page as a reader would; returns its entries. */
static uint32_t check_page(fmt_span lexicon, uint64_t record) {
    const uint8_t *page = lexicon.data + load_u64(record + lexicon.data + 8);
    const uint32_t n = load_u32(lexicon.data + record + 24);
    const uint64_t strings = load_u64(page + 8);
    uint64_t at = 0;
    assert_int_equal(load_u32(page), n);
    assert_int_equal(strings, 16 + 16 * (uint64_t)n);
    assert_int_equal(load_u64(page + 16), load_u64(lexicon.data + record));
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *entry = page + strings + at;
        assert_int_equal(load_u64(page + 16 + 16 * (uint64_t)i + 8), at);
        assert_int_equal(entry[0], 1);
        assert_int_equal(q42_hash(entry + 3, load_u16(entry + 1)), load_u64(page + 16 + 16 * (uint64_t)i));
        at += 3 + (uint64_t)load_u16(entry + 1);
    }
    assert_int_equal(strings + at, load_u64(lexicon.data + record + 16));
    return n;
}

static void test_pages_hold_4096_entries_each(void **state) {
    static const struct {
        uint32_t n_terms, n_pages;
    } cases[] = {{0, 0}, {1, 1}, {4095, 1}, {4096, 1}, {4097, 2}, {12288, 3}, {12300, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        written w;
        uint32_t n = 0;
        write_numbered(&w, cases[i].n_terms);
        const fmt_span lexicon = written_section(&w, 8);
        assert_int_equal(load_u64(lexicon.data + 32), cases[i].n_pages);
        for (uint32_t page = 0; page < cases[i].n_pages; page++) {
            n += check_page(lexicon, 40 + 32 * (uint64_t)page);
        }
        assert_int_equal(n, cases[i].n_terms);
        written_free(&w);
    }
}

/* ------------------------------------------------------------------------------------------------------------ writer */

static void test_blocks_come_in_order_of_their_objects(void **state) {
    const q42_quin late = q42_quin_make(1, 1, 9, 0, 0), early = q42_quin_make(1, 1, 8, 0, 0);
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){0});
    written_add_block(&w, &late, 1, 0);
    assert_int_equal(w.status, FMT_OK);
    written_add_block(&w, &late, 1, 1); /* an equal border is legal */
    assert_int_equal(w.status, FMT_OK);
    written_add_block(&w, &early, 1, 2);
    assert_int_equal(w.status, FMT_BAD_ARG);
    assert_string_equal(w.diag.rule, "write-block-order");
    written_free(&w);
}

static void test_a_full_spool_or_sink_ends_the_writer(void **state) {
    const q42_quin quin = example_quin();
    (void)state;
    for (uint32_t spool = 0; spool <= Q42_N_SPOOLS; spool++) {
        written w;
        written_begin(&w, &(q42_write_options){.has_dag = true});
        (spool < Q42_N_SPOOLS ? &w.spools[spool] : &w.file)->limit = 1;
        written_add_text(&w, "a");
        if (w.status == FMT_OK) {
            written_add_block(&w, &quin, 1, 0);
        }
        if (w.status == FMT_OK) {
            written_finish(&w);
        }
        assert_int_equal(w.status, FMT_IO);
        assert_string_equal(w.diag.text, "full");
        written_add_text(&w, "b");
        assert_int_equal(w.status, FMT_BAD_ARG);
        written_finish(&w);
        assert_int_equal(w.status, FMT_BAD_ARG);
        written_free(&w);
    }
}

static void test_the_size_is_known_before_the_end(void **state) {
    static q42_quin quins[850];
    written w;
    (void)state;
    make_quins(quins, 850, 77);
    written_begin(&w, &(q42_write_options){.has_dag = true});
    written_add_block(&w, quins, 850, 0);
    const uint64_t one = q42_writer_size(w.writer);
    written_add_block(&w, quins + 849, 1, 1);
    const uint64_t two = q42_writer_size(w.writer);
    written_finish(&w);
    assert_int_equal(w.file.size, two);
    assert_true(two - one <= 41156 + 32 + 914); /* the bound by which volume sets are cut */
    written_free(&w);
}

/* ---------------------------------------------------------------------------------------------------------- manifest */

static q42_segment segment(uint64_t first, uint64_t last, const char *locator) {
    return (q42_segment){.bytes = 10, .first = first, .last = last, .n_quins = 1, .locator = {locator, strlen(locator)}};
}

static void test_members_follow_each_other(void **state) {
    q42_segment records[2] = {segment(1, 5, "a"), segment(5, 9, "b")};
    uint64_t size;
    (void)state;
    assert_int_equal(q42_manifest_encode(records, 2, 0, 1, NULL, 0, &size, &diag), FMT_OK);
    records[1].first = 4;
    assert_int_equal(q42_manifest_encode(records, 2, 0, 1, NULL, 0, &size, &diag), FMT_BAD_ARG);
    assert_int_equal(diag.index, 1);
    assert_int_equal(q42_manifest_encode(records, 0, 1, 1, NULL, 0, &size, &diag), FMT_LIMIT);
    records[0] = segment(3, 9, "lex"); /* as a shard: keys may not meet */
    records[1] = segment(9, 12, "lex");
    assert_int_equal(q42_manifest_encode(records, 0, 2, 1, NULL, 0, &size, &diag), FMT_BAD_ARG);
}

static void test_a_locator_stays_in_its_folder(void **state) {
    static const struct {
        const char *locator;
        fmt_status status;
    } cases[] = {{"a.q42", FMT_OK},         {"d/a.q42", FMT_OK},      {"a..b", FMT_OK},      {"ipfs://bafyA1", FMT_OK},
                 {"", FMT_BAD_ARG},         {"/a", FMT_BAD_ARG},      {"..", FMT_BAD_ARG},   {"d/../../a", FMT_BAD_ARG},
                 {"..\\a", FMT_BAD_ARG},    {"C:a", FMT_BAD_ARG},     {"ipfs://", FMT_BAD_ARG}, {"ipfs://a/b", FMT_BAD_ARG}};
    uint64_t size;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const q42_segment record = segment(1, 2, cases[i].locator);
        assert_int_equal(q42_manifest_encode(&record, 1, 0, 1, NULL, 0, &size, &diag), cases[i].status);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_has_1_to_850_quins),
        cmocka_unit_test(test_a_wrong_parity_is_refused_with_its_slot),
        cmocka_unit_test(test_every_field_takes_part_in_the_order),
        cmocka_unit_test(test_a_repetition_is_no_fault_of_order),
        cmocka_unit_test(test_both_encoders_tell_the_same_facts),
        cmocka_unit_test(test_a_block_that_does_not_compress_still_fits),
        cmocka_unit_test(test_keys_rise),
        cmocka_unit_test(test_a_key_that_is_not_the_hash_of_its_text_is_refused),
        cmocka_unit_test(test_a_did_may_stand_under_its_pointer),
        cmocka_unit_test(test_a_term_has_at_most_65535_bytes),
        cmocka_unit_test(test_a_term_that_is_no_utf8_is_refused),
        cmocka_unit_test(test_a_page_takes_no_triple),
        cmocka_unit_test(test_the_mark_is_written_and_not_counted),
        cmocka_unit_test(test_pages_hold_4096_entries_each),
        cmocka_unit_test(test_blocks_come_in_order_of_their_objects),
        cmocka_unit_test(test_a_full_spool_or_sink_ends_the_writer),
        cmocka_unit_test(test_the_size_is_known_before_the_end),
        cmocka_unit_test(test_members_follow_each_other),
        cmocka_unit_test(test_a_locator_stays_in_its_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
