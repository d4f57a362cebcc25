/* test_q42_write_vectors.c — the vectors of the format's document, byte by byte: what the writer makes of the same facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/endian.h"
#include "common/sha.h"
#include "q42_write_fixture.h"

#define TIME_MS UINT64_C(1717286400000)

static const char v5_head[] =
    "000000000000000000000000000000000100000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000584f69a88e520d0c715469a88e550d0cbc6369a88e5e0d0c0000000000000000"
    "0000000000000000957869a88e590d0c";
static const char v6_tagged[] =
    "5134324c45580000030000000000000050000000000000000100000000000000584f69a88e520d0c0000000000000000"
    "715469a88e550d0c0e00000000000000bc6369a88e5e0d0c1c00000000000000010b00687474703a2f2f65782f73010b"
    "00687474703a2f2f65782f70010b00687474703a2f2f65782f6f";
static const char v6_paged[] =
    "5134324c455800000300000000000000200000000000000002000000000000000100000000000000584f69a88e520d0c"
    "48000000000000006a00000000000000030000000000000003000000000000004000000000000000584f69a88e520d0c"
    "0000000000000000715469a88e550d0c0e00000000000000bc6369a88e5e0d0c1c00000000000000010b00687474703a"
    "2f2f65782f73010b00687474703a2f2f65782f70010b00687474703a2f2f65782f6f";
static const char v6_empty[] =
    "5134324c455800000000000000000000200000000000000002000000000000000000000000000000";
static const char v7_bidx[] =
    "42494458010000000100000000000000bc6369a88e5e0d0cbc6369a88e5e0d0c";
static const char v7_fidx[] =
    "46494458010000000100000000000000584f69a88e520d0c584f69a88e520d0c715469a88e550d0c715469a88e550d0c"
    "00000000000000000000000000000000";
static const char v7_pidx[] =
    "50494458010000000100000000000000000000001c000000000100d89ea5c3ead1d4860c000100f1a8a5c3eab1d5860c"
    "00010000";
static const char v7_pidx_three[] =
    "5049445801000000010000000000000000000000100000000002000a0a0002000101000300640101";
static const char v9_dag[] =
    "01000000000000000000000000000000000000000000000000000000000000000000000000000000a9d14c606ae2f566"
    "b1e7b9c8604521211903f9d6884b21077b5747eea9fa9c0d000000000000000000f03ed68f010000f846690a02000000";
static const char v11_header[] =
    "5134320003001b000001000000000000b200000000000000b20100000000000020000000000000004602000000000000"
    "10000000000000005602000000000000a6a0000000000000010000000000000000a00000520300000000000000000000"
    "0000000000000000262583b665eaee90747521df6d8c848b02abd0ad5b4ec37ebb3170bf7982f2fc00f03ed68f010000"
    "fca200000000000060000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "d20100000000000040000000000000001202000000000000340000000000000000000000000000000000000000000000"
    "00000000000000000000000000000000";
static const char v14_manifest[] =
    "513432564f4c000002000000010000000700000000000000010000000000000064000000000000000100000000000000"
    "090000000000000003000000000000001111111111111111111111111111111111111111111111111111111111111111"
    "0500612e7134323200000000000000020000000000000008000000000000002222222222222222222222222222222222"
    "2222222222222222222222222222220900612e6c65782e713432";

enum { LEXICON_AT = 8, BIDX_AT = 24, DIRECTORY_AT = 40, DAG_AT = 144, FIDX_AT = 192, PIDX_AT = 208 };

static uint8_t room[Q42_BLOCK_BYTES];
static q42_built_block block;
static fmt_diag diag;

static void build(const q42_quin *quins, uint32_t n) {
    assert_int_equal(q42_build_block_literal(quins, n, 0, room, &block, &diag), FMT_OK);
}

/* V11: three terms, one quin, a DAG. */
static void write_example(written *w, const q42_write_options *options) {
    const q42_quin quin = example_quin();
    written_begin(w, options);
    static const char *const terms[] = {"http://ex/s", "http://ex/p", "http://ex/o"};
    for (size_t i = 0; i < 3; i++) {
        written_add_text(w, terms[i]);
        assert_int_equal(w->status, FMT_OK);
    }
    written_add_block(w, &quin, 1, 0);
    assert_int_equal(w->status, FMT_OK);
    written_finish(w);
    assert_int_equal(w->status, FMT_OK);
}

static void assert_section(const written *w, uint64_t field, const char *expected) {
    const fmt_span section = written_section(w, field);
    assert_hex(section.data, section.size, expected);
}

/* ------------------------------------------------------------------------------------------------------------ blocks */

static void test_a_block_of_one_quin_is_vector_5(void **state) {
    const q42_quin quin = example_quin();
    (void)state;
    build(&quin, 1);
    assert_hex(room, 208, v5_head);
    assert_sha256(room, sizeof room, "94bbc933e0e7ab30b921da23415c357c156826ca2d2789cccf87566306e5a88f");
    assert_int_equal(block.payload_size, 41126);
    assert_hex(block.payload, 8, "00a00000f0ffffff");
    assert_sha256(block.payload, block.payload_size, "30e7029f848312c6896c9fff5fdd1b60ba67f6c266444e0b8ff5fd4ed46f0f02");
}

static void test_the_postings_of_many_subjects_are_the_filter_of_vector_8(void **state) {
    static q42_quin quins[400];
    (void)state;
    for (uint32_t i = 0; i < 400; i++) {
        quins[i] = q42_quin_make((uint64_t)i * 1000003 + 17, 7, i, 0, 0);
    }
    build(quins, 400);
    assert_int_equal(block.postings[0], 1);
    assert_sha256(block.postings, 257, "642d60d44f8d91b6dc29dfca85b71691c2f3ae746c1fe9cdd68d6707b8112589");
}

static void test_a_list_gives_way_to_a_filter_at_the_thresholds_of_vector_8(void **state) {
    static const struct {
        uint32_t n;
        uint8_t kind;
    } cases[] = {{8, 0}, {31, 0}, {32, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        q42_quin quins[32];
        for (uint32_t k = 0; k < cases[i].n; k++) {
            quins[k] = q42_quin_make((uint64_t)(k + 1) << 54, 7, k, 0, 0);
        }
        build(quins, cases[i].n);
        assert_int_equal(block.postings[0], cases[i].kind);
    }
}

static void test_a_list_may_be_as_long_as_a_filter_but_no_longer(void **state) {
    static q42_quin quins[256];
    (void)state;
    for (uint32_t n = 255; n <= 256; n++) {
        for (uint32_t k = 0; k < n; k++) {
            quins[k] = q42_quin_make(k + 1, 7, k, 0, 0);
        }
        build(quins, n);
        assert_int_equal(block.postings[0], n == 255 ? 0 : 1); /* 2 + 255 bytes are 257 */
    }
}

static void test_nine_values_that_fit_a_list_are_listed_in_order(void **state) {
    q42_quin quins[9];
    (void)state;
    for (uint32_t k = 0; k < 9; k++) {
        quins[k] = q42_quin_make(9 - k, 7, k, 0, 0);
    }
    build(quins, 9);
    assert_hex(block.postings, 12, "000900010101010101010101");
}

static void test_the_postings_of_three_quins_are_those_of_vector_7(void **state) {
    const q42_quin quins[3] = {q42_quin_make(10, 1, 5, 100, 0), q42_quin_make(20, 1, 6, 101, 0),
                               q42_quin_make(10, 2, 7, 102, 0)};
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){.has_dag = true});
    written_add_block(&w, quins, 3, 0);
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    assert_section(&w, PIDX_AT, v7_pidx_three);
    written_free(&w);
}

/* ----------------------------------------------------------------------------------------------------------- volumes */

static void test_a_whole_volume_is_vector_11(void **state) {
    written w;
    (void)state;
    write_example(&w, &(q42_write_options){.timestamp_ms = TIME_MS, .has_dag = true});
    assert_int_equal(w.file.size, 41820);
    assert_hex(w.file.bytes, 256, v11_header);
    assert_sha256(w.file.bytes, w.file.size, "5965385efe9569cecd2eb6fce5641acaef8dbfd3af8a0472df4ce71037021935");
    assert_int_equal(w.report.bytes, w.file.size);
    assert_int_equal(w.report.n_terms, 3);
    assert_int_equal(w.report.n_quins, 1);
    written_free(&w);
}

static void test_the_sections_of_that_volume_are_vectors_6_7_and_9(void **state) {
    written w;
    (void)state;
    write_example(&w, &(q42_write_options){.timestamp_ms = TIME_MS, .has_dag = true});
    assert_section(&w, LEXICON_AT, v6_paged);
    assert_section(&w, BIDX_AT, v7_bidx);
    assert_section(&w, FIDX_AT, v7_fidx);
    assert_section(&w, PIDX_AT, v7_pidx);
    assert_section(&w, DAG_AT, v9_dag);
    assert_hex(w.report.merkle_root, 32, "262583b665eaee90747521df6d8c848b02abd0ad5b4ec37ebb3170bf7982f2fc");
    written_free(&w);
}

static void test_a_flat_lexicon_is_vector_6_with_kind_bytes(void **state) {
    written w;
    (void)state;
    write_example(&w, &(q42_write_options){.is_flat = true, .has_dag = true});
    assert_section(&w, LEXICON_AT, v6_tagged);
    written_free(&w);
}

static void test_a_flat_lexicon_holds_triples_and_identities(void **state) {
    /* a string "s" under its hash, a triple, an identity; written out by hand */
    const q42_term triple = {.hash = q42_triple_id(1, 2, 3), .kind = Q42_TERM_TRIPLE, .triple = {1, 2, 3}};
    const q42_term identity = {.hash = 9, .kind = Q42_TERM_WEBIZEN, .text = {"w", 1}};
    static const char strings[] = "03010077" "01010073" "02010000000000000002000000000000000300000000000000";
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){.is_flat = true});
    assert_int_equal(q42_writer_add_term(w.writer, &identity, &w.diag), FMT_OK);
    written_add_text(&w, "s");
    assert_int_equal(w.status, FMT_OK);
    assert_int_equal(q42_writer_add_term(w.writer, &triple, &w.diag), FMT_OK);
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    const fmt_span lexicon = written_section(&w, LEXICON_AT);
    assert_int_equal(load_u64(lexicon.data + 16), 80);
    assert_hex(lexicon.data + 80, lexicon.size - 80, strings);
    assert_int_equal(load_u64(lexicon.data + 32), 9);
    assert_int_equal(load_u64(lexicon.data + 64 + 8), 8); /* the triple's offset */
    written_free(&w);
}

static void test_an_empty_volume_has_empty_indexes_and_no_chain(void **state) {
    written w;
    (void)state;
    written_begin(&w, &(q42_write_options){.has_dag = true});
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    assert_section(&w, LEXICON_AT, v6_empty);
    assert_section(&w, BIDX_AT, "42494458010000000000000000000000");
    assert_section(&w, FIDX_AT, "46494458010000000000000000000000");
    assert_section(&w, PIDX_AT, "5049445801000000000000000000000000000000");
    assert_section(&w, DAG_AT, "");
    assert_hex(w.report.merkle_root, 32, "0000000000000000000000000000000000000000000000000000000000000000");
    assert_int_equal(w.report.flags, 0x001b);
    written_free(&w);
}

static void test_two_blocks_have_the_indexes_of_vector_12(void **state) {
    static q42_quin quins[851];
    written w;
    (void)state;
    for (uint32_t i = 0; i < 851; i++) {
        quins[i] = q42_quin_make(i + 1, 7, i + 1, 0, 0);
    }
    written_begin(&w, &(q42_write_options){.has_dag = true});
    written_add_block(&w, quins, 850, 0);
    written_add_block(&w, quins + 850, 1, 1);
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    assert_section(&w, BIDX_AT, "42494458010000000200000000000000"
                                "0100000000000000520300000000000053030000000000005303000000000000");
    const fmt_span pidx = written_section(&w, PIDX_AT), dag = written_section(&w, DAG_AT);
    assert_int_equal(pidx.size, 306);
    assert_sha256(pidx.data, pidx.size, "faf09cf8726c889ce0bd46943474e1a274e74f2f8062a60c35bcf0737d20b95c");
    assert_int_equal(dag.size, 8 + 2 * 88);
    assert_int_equal(load_u32(dag.data + 8 + 84), Q42_DAG_GENESIS);
    assert_int_equal(load_u32(dag.data + 96 + 84), 0);
    uint8_t digest[32];
    assert_true(sha256_digest(dag.data + 8, 88, digest));
    assert_memory_equal(dag.data + 96, digest, 32); /* the second node's parent */
    written_free(&w);
}

/* --------------------------------------------------------------------------------------------------------- sanctuary */

static uint16_t flags_of(q42_quin quin, bool is_resolved) {
    written w;
    written_begin(&w, &(q42_write_options){.is_commons = true, .has_dag = true});
    build(&quin, 1);
    assert_int_equal(q42_writer_add_block(w.writer, &block, &w.diag), FMT_OK);
    if (block.has_label_byte && !is_resolved) {
        q42_writer_need_sanctuary(w.writer);
    }
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    const uint16_t flags = w.report.flags;
    assert_int_equal(load_u16(w.file.bytes + 6), flags);
    written_free(&w);
    return flags;
}

static void test_tiers_lanes_and_labels_make_a_sanctuary_as_in_vector_13(void **state) {
    (void)state;
    assert_int_equal(flags_of(q42_quin_make(1, 2, 3, 0, UINT64_C(3) << 56), false), 0x005b);
    assert_int_equal(flags_of(q42_quin_make(1, 2, 3, 0, UINT64_C(2) << 61), false), 0x005b);
    assert_int_equal(flags_of(q42_quin_make(1, 2, 3, UINT64_C(1) << 56, 0), false), 0x005b);
    assert_int_equal(flags_of(q42_quin_make(1, 2, 3, 0, UINT64_C(1) << 56), false), 0x003b);
}

static void test_a_graph_name_whose_hash_looks_like_a_label_makes_none(void **state) {
    (void)state;
    assert_int_equal(flags_of(q42_quin_make(1, 2, 3, UINT64_C(1) << 56 | 5, 0), true), 0x003b);
}

/* ---------------------------------------------------------------------------------------------------------- manifest */

static void make_records(q42_segment records[2]) {
    memset(records, 0, 2 * sizeof records[0]);
    records[0] = (q42_segment){.bytes = 100, .first = 1, .last = 9, .n_quins = 3, .locator = {"a.q42", 5}};
    records[1] = (q42_segment){.bytes = 50, .first = 2, .last = 8, .locator = {"a.lex.q42", 9}};
    memset(records[0].digest, 0x11, 32);
    memset(records[1].digest, 0x22, 32);
}

static void test_a_manifest_is_vector_14(void **state) {
    q42_segment records[2];
    uint8_t manifest[256];
    uint64_t size = 0, needed = 0;
    (void)state;
    make_records(records);
    assert_int_equal(q42_manifest_encode(records, 1, 1, 7, NULL, 0, &needed, &diag), FMT_OK);
    assert_int_equal(q42_manifest_encode(records, 1, 1, 7, manifest, sizeof manifest, &size, &diag), FMT_OK);
    assert_int_equal(size, needed);
    assert_hex(manifest, size, v14_manifest);
    assert_int_equal(q42_manifest_encode(records, 1, 1, 7, manifest, size - 1, &size, &diag), FMT_NO_SPACE);
}

static void test_a_root_holds_its_manifest_and_no_field_indexes(void **state) {
    q42_segment records[2];
    uint8_t manifest[256];
    uint64_t size;
    written w;
    (void)state;
    make_records(records);
    assert_int_equal(q42_manifest_encode(records, 1, 1, 7, manifest, sizeof manifest, &size, &diag), FMT_OK);
    written_begin(&w, &(q42_write_options){.manifest = {manifest, size}, .is_commons = true});
    written_finish(&w);
    assert_int_equal(w.status, FMT_OK);
    assert_int_equal(w.report.flags, 0x0027);
    const fmt_span stored = written_section(&w, 176);
    assert_int_equal(stored.size, size);
    assert_memory_equal(stored.data, manifest, size);
    assert_int_equal(w.file.size, 256 + 40 + size + 16);
    written_free(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_block_of_one_quin_is_vector_5),
        cmocka_unit_test(test_the_postings_of_many_subjects_are_the_filter_of_vector_8),
        cmocka_unit_test(test_a_list_gives_way_to_a_filter_at_the_thresholds_of_vector_8),
        cmocka_unit_test(test_a_list_may_be_as_long_as_a_filter_but_no_longer),
        cmocka_unit_test(test_nine_values_that_fit_a_list_are_listed_in_order),
        cmocka_unit_test(test_the_postings_of_three_quins_are_those_of_vector_7),
        cmocka_unit_test(test_a_whole_volume_is_vector_11),
        cmocka_unit_test(test_the_sections_of_that_volume_are_vectors_6_7_and_9),
        cmocka_unit_test(test_a_flat_lexicon_is_vector_6_with_kind_bytes),
        cmocka_unit_test(test_a_flat_lexicon_holds_triples_and_identities),
        cmocka_unit_test(test_an_empty_volume_has_empty_indexes_and_no_chain),
        cmocka_unit_test(test_two_blocks_have_the_indexes_of_vector_12),
        cmocka_unit_test(test_tiers_lanes_and_labels_make_a_sanctuary_as_in_vector_13),
        cmocka_unit_test(test_a_graph_name_whose_hash_looks_like_a_label_makes_none),
        cmocka_unit_test(test_a_manifest_is_vector_14),
        cmocka_unit_test(test_a_root_holds_its_manifest_and_no_field_indexes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
