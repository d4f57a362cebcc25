/* test_q42_address.c — content identifiers, UnixFS trees and archives: published values, vectors of an independent script, and what is
 * refused. */
#include <stdlib.h>

#include "common/sha.h"
#include "files_fixture.h"

static void raw_identifiers_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *data, *text;
    } rows[] = {
        {"hello-q42", "bafkreibxgyoh67vbbzu33meslhslmhtmiihwvjisycuq4vdvzwllz4epbq"},
        {"q42-superblock-bytes", "bafkreifehpcat23cj3ihkvndi3izxdcj4mwekb2u6bhuvkvgcno2fialka"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_cid cid, back;
        fmt_diag diag;
        char text[Q42_CID_TEXT_SIZE];
        assert_true(q42_cid_of(Q42_CODEC_RAW, rows[i].data, strlen(rows[i].data), &cid));
        assert_string_equal(q42_cid_text(&cid, Q42_CID_BASE32, text), rows[i].text);
        assert_int_equal(q42_cid_parse(text_of(text), &back, &diag), FMT_OK);
        assert_true(q42_cid_equal(&cid, &back));
    }
}

static void hexadecimal_text_is_the_published_one(void **state) {
    (void)state;
    q42_cid cid;
    char text[Q42_CID_TEXT_SIZE];
    assert_true(q42_cid_of(Q42_CODEC_RAW, "hello-q42", 9, &cid));
    assert_string_equal(q42_cid_text(&cid, Q42_CID_HEX, text),
                        "f0155122037361c7f7ea10e69bdb09259e4b61e6c420f6aa512c0a90e5475cd96bcf08f0c");
}

static void every_text_form_reads_back(void **state) {
    (void)state;
    q42_cid cid;
    assert_true(q42_cid_of(Q42_CODEC_DAG_PB, "x", 1, &cid));
    for (uint32_t version = 0; version < 2; version++) {
        for (q42_cid_base base = Q42_CID_BASE32; base <= Q42_CID_HEX; base++) {
            q42_cid back;
            fmt_diag diag;
            char text[Q42_CID_TEXT_SIZE];
            cid.version = version;
            q42_cid_text(&cid, base, text);
            assert_int_equal(q42_cid_parse(text_of(text), &back, &diag), FMT_OK);
            assert_true(q42_cid_equal(&cid, &back));
            assert_int_equal(back.version, version);
        }
    }
}

/* The empty UnixFS directory's and file's addresses, which every IPFS node knows. */
static void addresses_that_every_node_knows_are_computed(void **state) {
    (void)state;
    static const uint8_t directory[] = {0x0a, 0x02, 0x08, 0x01}, file[] = {0x0a, 0x04, 0x08, 0x02, 0x18, 0x00};
    q42_cid cid;
    char text[Q42_CID_TEXT_SIZE];
    assert_true(q42_cid_of(Q42_CODEC_DAG_PB, directory, sizeof directory, &cid));
    assert_string_equal(q42_cid_text(&cid, Q42_CID_BASE32, text),
                        "bafybeiczsscdsbs7ffqz55asqdf3smv6klcw3gofszvwlyarci47bgf354");
    cid.version = 0;
    assert_string_equal(q42_cid_text(&cid, Q42_CID_BASE32, text), "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn");
    assert_true(q42_cid_of(Q42_CODEC_DAG_PB, file, sizeof file, &cid));
    cid.version = 0;
    assert_string_equal(q42_cid_text(&cid, Q42_CID_BASE32, text), "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH");
}

static void texts_that_are_no_identifier_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *rule;
    } rows[] = {
        {"", "cid-text"},
        {"b", "cid-text"},
        {"x123", "cid-text"},
        {"bafkreibxgyoh67vbbzu33meslhslmhtmiihwvjisycuq4vdvzwllz4epb1", "cid-text"},
        {"bafkreibxgyoh67vbbzu33meslhslmhtmiihwvjisycuq4vdvzwllz4epbr", "cid-text"},
        {"bafkreibxgyoh67vbbzu33meslhslmhtmiihwvjisycuq4vdvzwllz4", "cid-text"},
        {"f01551220e6d7ddd8f414a22d8935148498c32ce0acdcf5c0c71db2455033f9be0a6cbc", "cid-bytes"},
        {"QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3N0", "cid-text"},
        {"f01551220", "cid-bytes"},
        {"f02551220", "cid-bytes"},
        {"f01551120", "cid-hash"},
        {"f01551221", "cid-hash"},
        {"f1220e6d7ddd8f414a22d8935148498c32ce0acdcf5c0c71db2455033f9be0a6cbc0a", "cid-bytes"},
        {"f01551220e6d7ddd8f414a22d8935148498c32ce0acdcf5c0c71db2455033f9be0a6cbc0a00", "cid-bytes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_cid cid;
        fmt_diag diag;
        assert_refused(q42_cid_parse(text_of(rows[i].text), &cid, &diag), &diag, rows[i].rule, "");
    }
}

/* ---------------------------------------------------------------- trees */

typedef struct block_log {
    uint64_t n_blocks, n_nodes, bytes;
    q42_cid last;
} block_log;

static fmt_status log_block(void *ctx, const q42_cid *cid, const uint8_t *data, uint64_t size, fmt_diag *diag) {
    block_log *log = ctx;
    q42_cid own;
    (void)diag;
    assert_true(q42_cid_of(cid->codec, data, size, &own));
    assert_true(q42_cid_equal(&own, cid));
    log->n_blocks++;
    log->n_nodes += cid->codec == Q42_CODEC_DAG_PB;
    log->bytes += size;
    log->last = *cid;
    return FMT_OK;
}

/* Byte i of the file is bits 16..23 of step i + 1 of a linear congruence from 1. */
static void fill(uint8_t *data, uint64_t size, uint32_t *x) {
    for (uint64_t i = 0; i < size; i++) {
        *x = *x * 1103515245u + 12345u;
        data[i] = (uint8_t)(*x >> 16);
    }
}

static void address_file(uint64_t size, q42_cid *out_root, block_log *log) {
    q42_file_dag *dag = calloc(1, sizeof *dag);
    uint8_t *leaf = malloc(Q42_LEAF_BYTES);
    uint32_t x = 1;
    fmt_diag diag;
    assert_non_null(dag);
    assert_non_null(leaf);
    dag->sink = (q42_block_sink){log, log_block};
    for (uint64_t left = size; left > 0;) {
        const uint64_t n = left < Q42_LEAF_BYTES ? left : Q42_LEAF_BYTES;
        fill(leaf, n, &x);
        assert_int_equal(q42_file_dag_add(dag, leaf, n, &diag), FMT_OK);
        left -= n;
    }
    assert_int_equal(q42_file_dag_finish(dag, out_root, &diag), FMT_OK);
    free(leaf);
    free(dag);
}

/* Roots from make_unixfs.py, which knows nothing of this code. */
static void roots_of_files_are_those_of_an_independent_script(void **state) {
    (void)state;
    static const struct {
        uint64_t size, n_blocks, n_nodes;
        const char *root;
    } rows[] = {
#include "unixfs_roots.inc"
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_cid root;
        block_log log = {0};
        char text[Q42_CID_TEXT_SIZE];
        address_file(rows[i].size, &root, &log);
        assert_string_equal(q42_cid_text(&root, Q42_CID_BASE32, text), rows[i].root);
        assert_int_equal(log.n_blocks, rows[i].n_blocks);
        assert_int_equal(log.n_nodes, rows[i].n_nodes);
        assert_true(q42_cid_equal(&log.last, &root));
    }
}

/* More leaves than one node has links: equal leaves, so that it does not take long to make them. */
static void a_second_level_begins_at_the_1025th_leaf(void **state) {
    (void)state;
    static const struct {
        uint32_t n_leaves;
        const char *root;
    } rows[] = {
#include "unixfs_levels.inc"
    };
    uint8_t *leaf = calloc(1, Q42_LEAF_BYTES);
    q42_file_dag *dag = calloc(1, sizeof *dag), *copy = malloc(sizeof *copy);
    assert_non_null(leaf);
    assert_non_null(dag);
    assert_non_null(copy);
    uint32_t n_leaves = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        q42_cid root;
        fmt_diag diag;
        char text[Q42_CID_TEXT_SIZE];
        for (; n_leaves < rows[i].n_leaves; n_leaves++) {
            assert_int_equal(q42_file_dag_add(dag, leaf, Q42_LEAF_BYTES, &diag), FMT_OK);
        }
        memcpy(copy, dag, sizeof *copy);
        assert_int_equal(q42_file_dag_finish(copy, &root, &diag), FMT_OK);
        assert_string_equal(q42_cid_text(&root, Q42_CID_BASE32, text), rows[i].root);
    }
    free(copy);
    free(dag);
    free(leaf);
}

static void a_leaf_after_a_short_one_is_refused(void **state) {
    (void)state;
    q42_file_dag *dag = calloc(1, sizeof *dag);
    fmt_diag diag;
    assert_non_null(dag);
    assert_int_equal(q42_file_dag_add(dag, (const uint8_t *)"abc", 3, &diag), FMT_OK);
    assert_int_equal(q42_file_dag_add(dag, (const uint8_t *)"d", 1, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "dag-leaf");
    free(dag);
}

/* ---------------------------------------------------------------- archives */

#define INTACT_HEX                                                     \
    "11a26776657273696f6e0165726f6f7473802a01551220e6d7ddd8f414a22d89" \
    "35148498c32ce0acdcf5c0c71db2455033f9be0a6cbc0a696e74616374"

static void the_published_archive_reads_with_a_note_about_its_header(void **state) {
    (void)state;
    uint8_t bytes[128];
    q42_car car;
    q42_car_block block;
    fmt_diag diag;
    note_count notes = {0};
    uint64_t at = 0;
    const size_t size = fixture_bytes(INTACT_HEX, bytes, sizeof bytes);
    assert_int_equal(q42_car_open(span_of(bytes, size), FMT_MODE_DEFAULT, &car, count_note, &notes, &diag), FMT_OK);
    assert_int_equal(notes.n, 1);
    assert_false(car.is_canonical);
    assert_int_equal(q42_car_next(&car, &at, &block, &diag), FMT_OK);
    assert_int_equal(block.data.size, 6);
    assert_memory_equal(block.data.data, "intact", 6);
    assert_int_equal(q42_car_next(&car, &at, &block, &diag), FMT_NOT_FOUND);
    assert_refused(q42_car_open(span_of(bytes, size), FMT_MODE_STRICT, &car, NULL, NULL, &diag), &diag, "car-roots",
                   "another order");
}

/* Header and one section; answers the size. */
static uint64_t make_archive(uint8_t *out) {
    q42_cid cid;
    assert_true(q42_cid_of(Q42_CODEC_RAW, "intact", 6, &cid));
    q42_car_encode_header(&cid, out);
    uint64_t size = Q42_CAR_HEADER_BYTES;
    size += q42_car_encode_section(&cid, 6, out + size);
    memcpy(out + size, "intact", 6);
    return size + 6;
}

static void an_archive_that_was_written_is_canonical_and_names_its_root(void **state) {
    (void)state;
    uint8_t bytes[256];
    q42_car car;
    q42_car_block block;
    uint64_t at = 0;
    const uint64_t size = make_archive(bytes);
    assert_bytes(bytes, Q42_CAR_HEADER_BYTES,
                 "3aa265726f6f747381d82a582500"
                 "01551220e6d7ddd8f414a22d8935148498c32ce0acdcf5c0c71db2455033f9be0a6cbc0a"
                 "6776657273696f6e01");
    assert_int_equal(q42_car_open(span_of(bytes, size), FMT_MODE_STRICT, &car, NULL, NULL, NULL), FMT_OK);
    assert_true(car.is_canonical);
    assert_int_equal(car.n_roots, 1);
    assert_int_equal(q42_car_next(&car, &at, &block, NULL), FMT_OK);
    assert_true(q42_cid_equal(&car.root, &block.cid));
}

static void every_byte_of_an_archive_matters(void **state) {
    (void)state;
    uint8_t bytes[256];
    const uint64_t size = make_archive(bytes);
    for (uint64_t i = 0; i < size; i++) {
        q42_car car;
        q42_car_block block;
        uint64_t at = 0;
        bytes[i] ^= 1;
        fmt_status status = q42_car_open(span_of(bytes, size), FMT_MODE_STRICT, &car, NULL, NULL, NULL);
        if (status == FMT_OK) {
            status = q42_car_next(&car, &at, &block, NULL);
        }
        const bool is_of_root = status == FMT_OK && !q42_cid_equal(&block.cid, &car.root);
        assert_true(status != FMT_OK || is_of_root);
        bytes[i] ^= 1;
    }
}

static void a_cut_archive_is_refused(void **state) {
    (void)state;
    uint8_t bytes[256];
    const uint64_t whole = make_archive(bytes);
    for (uint64_t size = 0; size < whole; size++) {
        q42_car car;
        q42_car_block block;
        fmt_diag diag;
        uint64_t at = 0;
        fmt_status status = q42_car_open(span_of(bytes, size), FMT_MODE_DEFAULT, &car, NULL, NULL, &diag);
        if (status == FMT_OK) {
            status = q42_car_next(&car, &at, &block, &diag);
        }
        assert_int_equal(status, size == Q42_CAR_HEADER_BYTES ? FMT_NOT_FOUND : FMT_BAD_FILE);
    }
}

static void version_2_is_refused_by_name(void **state) {
    (void)state;
    static const char bytes[] = "\x0a\xa1\x67version\x02 and more";
    q42_car car;
    fmt_diag diag;
    assert_int_equal(q42_car_open(span_of(bytes, sizeof bytes - 1), FMT_MODE_DEFAULT, &car, NULL, NULL, &diag),
                     FMT_UNSUPPORTED);
    assert_string_equal(diag.rule, "car-version");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_identifiers_are_the_published_ones),
        cmocka_unit_test(hexadecimal_text_is_the_published_one),
        cmocka_unit_test(every_text_form_reads_back),
        cmocka_unit_test(addresses_that_every_node_knows_are_computed),
        cmocka_unit_test(texts_that_are_no_identifier_are_refused),
        cmocka_unit_test(roots_of_files_are_those_of_an_independent_script),
        cmocka_unit_test(a_second_level_begins_at_the_1025th_leaf),
        cmocka_unit_test(a_leaf_after_a_short_one_is_refused),
        cmocka_unit_test(the_published_archive_reads_with_a_note_about_its_header),
        cmocka_unit_test(an_archive_that_was_written_is_canonical_and_names_its_root),
        cmocka_unit_test(every_byte_of_an_archive_matters),
        cmocka_unit_test(a_cut_archive_is_refused),
        cmocka_unit_test(version_2_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
