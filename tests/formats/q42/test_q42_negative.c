/* test_q42_negative.c — one thing broken in a frozen volume, and the rule that says so; the list of section 18 of the
 * format's document and what else a header, an index, a manifest or a lexicon can get wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/endian.h"
#include "q42_fixture.h"

/* In V10: lexicon 0x100, BIDX 0x1b2, FIDX 0x1d2, PIDX 0x212, directory 0x246, data 0x256; its one quin lies 160 bytes
 * into the block. */
enum { LEXICON = 0x100, BIDX = 0x1b2, FIDX = 0x1d2, PIDX = 0x212, DIRECTORY = 0x246, DATA = 0x256 };
enum { QUIN = RAW_AT(DATA) + 160 };

typedef struct breakage {
    const char *vector;
    uint64_t at;
    unsigned size;       /* bytes that are written; 0: the file is cut to `at` bytes */
    uint64_t value;
    const char *rule;
    bool is_found_at_open;
} breakage;

static const breakage table[] = {
    /* section 18 */
    {"v10-stream.q42", 4, 1, 2, "header.version_old", true},
    {"v10-stream.q42", 6, 1, 0x3a, "header.lz4", true},
    {"v10-stream.q42", 6, 1, 0x39, "header.object_sorted", true},
    {"v10-stream.q42", 48, 8, 0, "header.directory_length", true},
    {"v10-stream.q42", DATA, 1, 1, "blocks.size_word", false},
    {"v10-stream.q42", QUIN, 1, 0x59, "blocks.parity", false},
    {"v10-stream.q42", QUIN + 47, 1, 0x0d, "blocks.parity", false},
    {"v10-stream.q42", BIDX + 16, 1, 0xbb, "blocks.bidx", false},
    {"v10-stream.q42", 41723, 0, 0, "section.bounds", true},
    {"v10-stream.q42", LEXICON + 0x48 + 0x40, 1, 5, "lexicon.kind", false},
    {"v6-tagged.lex", 80, 1, 5, "lexicon.kind", true},
    {"v10-stream.q42", PIDX + 16, 4, 0x1d, "pidx.table", true},
    {"v10-stream.q42", RAW_AT(DATA) + 16, 8, 0, "blocks.count", false},
    {"v10-stream.q42", RAW_AT(DATA) + 16, 8, 851, "blocks.count", false},
    /* header */
    {"v10-stream.q42", 255, 0, 0, "header.size", true},
    {"v10-stream.q42", 0, 0, 0, "header.size", true},
    {"v10-stream.q42", 3, 1, 1, "header.magic", true},
    {"v10-stream.q42", 0, 4, 0x4b484351, "header.other_kind", true},
    {"v10-stream.q42", 4, 2, 5, "header.version", true},
    {"v10-stream.q42", 32, 8, 0, "header.bidx_absent", true},
    {"v10-stream.q42", 200, 8, 0, "header.section_absent", true},
    {"v10-stream.q42", 216, 8, 0, "header.section_absent", true},
    {"v10-stream.q42", 6, 1, 0x3f, "header.section_absent", true},
    {"v10-stream.q42", 160, 8, 41725, "header.did_offset", true},
    {"v10-stream.q42", 72, 8, UINT64_C(1) << 60, "header.directory_length", true},
    {"v10-stream.q42", 24, 8, LEXICON, "section.overlap", true},
    {"v10-stream.q42", 96, 8, 1, "section.bounds", true},
    {"v14-root.q42", 64, 8, 1, "header.data_length", true},
    /* indexes */
    {"v10-stream.q42", BIDX, 1, 'C', "bidx.header", true},
    {"v10-stream.q42", BIDX + 4, 1, 2, "bidx.header", true},
    {"v10-stream.q42", 32, 8, 31, "bidx.header", true},
    {"v12-two-blocks.q42", 0x128 + 32, 8, 0, "bidx.order", true},
    {"v12-two-blocks.q42", 0x128 + 32, 8, 900, "bidx.range", true},
    {"v10-stream.q42", FIDX + 8, 1, 2, "fidx.header", true},
    {"v10-stream.q42", FIDX + 16 + 7, 1, 0xff, "fidx.range", true},
    {"v10-stream.q42", FIDX + 16, 1, 0, "indexes.fidx_content", false},
    {"v10-stream.q42", PIDX + 4, 1, 9, "pidx.header", true},
    {"v10-stream.q42", PIDX + 20, 4, 0x1b, "pidx.table", true},
    {"v10-stream.q42", PIDX + 24, 1, 2, "pidx.list", false},
    {"v10-stream.q42", PIDX + 25, 1, 2, "pidx.list", false},
    {"v10-stream.q42", PIDX + 27, 1, 0xd9, "indexes.pidx_content", false},
    {"v12-two-blocks.q42", 0x1c8 + 28 + 1, 1, 0xff, "indexes.pidx_content", false},
    {"v10-stream.q42", DIRECTORY, 8, 1, "directory.offset", true},
    {"v10-stream.q42", DIRECTORY + 8, 4, 3, "directory.size", true},
    {"v10-stream.q42", DIRECTORY + 8, 4, 41125, "directory.total", true},
    {"v10-stream.q42", DIRECTORY + 12, 4, 40961, "directory.decoded_size", true},
    /* block, DAG, root */
    {"v10-stream.q42", RAW_AT(DATA) + 40, 1, 1, "blocks.tail", false},
    {"v10-stream.q42", QUIN + 48, 1, 1, "blocks.tail", false},
    {"v10-stream.q42", 104, 1, 0x9b, "merkle.value", false},
    {"v11-dag.q42", 104, 1, 0x27, "merkle.value", false},
    {"v11-dag.q42", 41820 - 96, 8, 2, "dag.section", false},
    {"v11-dag.q42", 41820 - 88, 1, 1, "dag.chain", false},
    {"v11-dag.q42", 41820 - 56, 1, 0, "dag.chain", false},
    /* lexicon */
    {"v10-stream.q42", LEXICON, 1, 'q', "lexicon.header", true},
    {"v10-stream.q42", LEXICON + 8, 8, UINT64_C(1) << 60, "lexicon.count", true},
    {"v10-stream.q42", LEXICON + 8, 8, 4, "lexicon.directory", true},
    {"v10-stream.q42", LEXICON + 16, 8, 33, "lexicon.strings", true},
    {"v10-stream.q42", LEXICON + 24, 8, 3, "lexicon.format", true},
    {"v10-stream.q42", LEXICON + 32, 8, UINT64_C(1) << 59, "lexicon.directory", true},
    {"v10-stream.q42", LEXICON + 48, 8, 73, "lexicon.directory", true},
    {"v10-stream.q42", LEXICON + 40, 1, 0, "lexicon.order", false},
    {"v10-stream.q42", LEXICON + 72, 4, 2, "lexicon.page", false},
    {"v10-stream.q42", LEXICON + 76, 4, 1, "lexicon.page", false},
    {"v10-stream.q42", LEXICON + 80, 8, 63, "lexicon.page", false},
    {"v10-stream.q42", LEXICON + 88 + 24, 8, 15, "lexicon.entry", false},
    {"v10-stream.q42", LEXICON + 88 + 24, 8, UINT64_MAX, "lexicon.entry", false},
    {"v10-stream.q42", LEXICON + 137, 2, 12, "lexicon.entry", false},
    {"v10-stream.q42", LEXICON + 139, 1, 0xff, "lexicon.text", false},
    {"v10-stream.q42", LEXICON + 139, 1, 'H', "lexicon.keys", false},
    /* manifest of V14, at 0x128 */
    {"v14-root.q42", 0x128, 1, 'q', "manifest.header", true},
    {"v14-root.q42", 0x128 + 8, 2, 3, "manifest.header", true},
    {"v14-root.q42", 0x128 + 8, 2, 1, "manifest.size", true},
    {"v14-root.q42", 0x128 + 12, 4, 0, "manifest.count", true},
    {"v14-root.q42", 0x128 + 24, 8, UINT64_C(1) << 32, "manifest.count", true},
    {"v14-root.q42", 0x128 + 24, 8, 2, "manifest.size", true},
    {"v14-root.q42", 0x128 + 32, 8, 0, "manifest.record", true},
    {"v14-root.q42", 0x128 + 48, 8, 0, "manifest.record", true},
    {"v14-root.q42", 0x128 + 56, 8, 0, "manifest.record", true},
    {"v14-root.q42", 0x128 + 98, 1, '/', "manifest.locator", true},
    {"v14-root.q42", 0x128 + 98, 5, UINT64_C(0x342f2e2e2f), "manifest.locator", true}, /* /../4 */
    {"v14-root.q42", 0x128 + 98, 3, 0x2f2e2e, "manifest.locator", true},               /* ../42 */
    {"v14-root.q42", 0x128 + 98, 2, 0x3a61, "manifest.locator", true},                 /* a:q42 */
    {"v14-root.q42", 0x128 + 99, 1, 0, "manifest.locator", true},
    {"v14-root.q42", 176 + 8, 8, 31, "manifest.size", true},
};

static void apply(const breakage *b, uint8_t *bytes, size_t *size) {
    if (b->size == 0) {
        *size = (size_t)b->at;
    }
    for (unsigned i = 0; i < b->size; i++) {
        bytes[b->at + i] = (uint8_t)(b->value >> 8 * i);
    }
}

static fmt_status open_broken(const breakage *b, fmt_span span, fmt_diag *diag) {
    q42_volume volume;
    q42_lexicon lexicon;
    return strstr(b->vector, ".lex") != NULL ? q42_lexicon_open(span, 0, &lexicon, diag)
                                             : q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, diag);
}

static void each_broken_byte_is_found_by_its_rule(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t size;
        uint8_t *bytes = read_vector(table[i].vector, &size);
        fmt_diag diag = {.rule = "none", .text = ""};
        note_log log;
        apply(&table[i], bytes, &size);
        const fmt_span span = {bytes, size};
        const fmt_status at_open = open_broken(&table[i], span, &diag);
        if (at_open == FMT_OK) {
            assert_int_not_equal(check_all(span, FMT_MODE_DEFAULT, &log, &diag), FMT_OK);
        }
        if (strcmp(diag.rule, table[i].rule) != 0 || (at_open != FMT_OK) != table[i].is_found_at_open) {
            fail_msg("%s, byte %llu := %llx: %s instead of %s (%s, status %d): %s", table[i].vector,
                     (unsigned long long)table[i].at, (unsigned long long)table[i].value, diag.rule, table[i].rule,
                     at_open != FMT_OK ? "at open" : "later", at_open, diag.text);
        }
        assert_true(diag.offset <= size || strcmp(diag.rule, "header.size") == 0);
        free(bytes);
    }
}

/* Each block agrees with its own BIDX entry, and the entries rise as they should; but the second block begins below the
 * end of the first. */
static void objects_that_fall_between_blocks_are_found(void **state) {
    enum { BIDX_2 = 0x128 + 32, BLOCK_2 = RAW_AT(0x31a + 41126) };
    static uint8_t room[Q42_BLOCK_BYTES];
    static q42_block_facts facts;
    static q42_chain chain;
    size_t size;
    uint8_t *bytes = read_vector("v12-two-blocks.q42", &size);
    const q42_quin quins[2] = {q42_quin_make(851, 7, 800, 0, 0), q42_quin_make(851, 7, 860, 0, 0)};
    fmt_diag diag;
    q42_volume volume;
    (void)state;
    store_u64(bytes + BIDX_2, 800);
    store_u64(bytes + BIDX_2 + 8, 860);
    store_u64(bytes + BLOCK_2 + 16, 2);
    q42_quin_store(bytes + BLOCK_2 + 160, &quins[0]);
    q42_quin_store(bytes + BLOCK_2 + 160 + 48, &quins[1]);
    assert_int_equal(q42_open((fmt_span){bytes, size}, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag), FMT_OK);
    q42_chain_begin(&volume, &chain);
    for (uint64_t i = 0; i < 2; i++) {
        q42_verify_block(&volume, i, 0, room, &facts);
        assert_int_equal(facts.decode.status, FMT_OK);
        q42_chain_join(&chain, &facts);
    }
    assert_int_equal(chain.order.status, FMT_BAD_FILE);
    assert_string_equal(chain.order.diag.rule, "blocks.order");
    assert_int_equal(chain.order.diag.index, 1);
    assert_int_equal(chain.n_quins, 852);
    free(bytes);
}

static void two_quins_in_the_wrong_order_are_found(void **state) {
    enum { FIRST = RAW_AT(0x31a) + 160 };
    uint8_t keep[48];
    size_t size;
    uint8_t *bytes = read_vector("v12-two-blocks.q42", &size);
    fmt_diag diag;
    note_log log;
    (void)state;
    memcpy(keep, bytes + FIRST + 48, 48);
    memcpy(bytes + FIRST + 48, bytes + FIRST + 96, 48);
    memcpy(bytes + FIRST + 96, keep, 48);
    assert_int_equal(check_all((fmt_span){bytes, size}, FMT_MODE_DEFAULT, &log, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "blocks.order");
    assert_int_equal(diag.index, 0);
    assert_non_null(strstr(diag.text, "slot 2"));
    free(bytes);
}

static void strict_mode_refuses_what_default_mode_notes(void **state) {
    static const struct {
        const char *vector;
        uint64_t at;
        uint8_t value;
        const char *rule;
    } findings[] = {{"v10-stream.q42", 7, 0x01, "header.flags"},
                    {"v10-stream.q42", 224, 1, "header.reserved"},
                    {"v10-version4.q42", 4, 4, "header.version_4"},
                    {"v14-root.q42", 7, 0, "file.gap"}};
    (void)state;
    for (size_t i = 0; i < sizeof findings / sizeof findings[0]; i++) {
        size_t size;
        uint8_t *bytes = read_vector(findings[i].vector, &size);
        fmt_diag diag;
        note_log log;
        bytes[findings[i].at] = findings[i].value;
        assert_int_equal(check_all((fmt_span){bytes, size}, FMT_MODE_DEFAULT, &log, &diag), FMT_OK);
        assert_true(has_note(&log, findings[i].rule));
        assert_int_equal(check_all((fmt_span){bytes, size}, FMT_MODE_STRICT, &log, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, findings[i].rule);
        free(bytes);
    }
}

static void early_imports_are_refused_by_name(void **state) {
    uint8_t bytes[256 + 16 + 64] = "Q42\0\3\0\1\0";
    fmt_diag diag;
    q42_volume volume;
    (void)state;
    store_u64(bytes + 40, 256 + 64);
    store_u64(bytes + 48, 16);
    store_u64(bytes + 56, 256);
    store_u64(bytes + 64, 64);
    store_u64(bytes + 72, 1);
    store_u32(bytes + 80, 40960);
    store_u32(bytes + 84, 850);
    store_u32(bytes + 256 + 64 + 8, 64);
    store_u32(bytes + 256 + 64 + 12, 393216);
    assert_int_equal(q42_open((fmt_span){bytes, sizeof bytes}, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag),
                     FMT_UNSUPPORTED);
    assert_string_equal(diag.rule, "header.early_import");
}

static void every_prefix_of_a_volume_is_refused(void **state) {
    size_t size;
    uint8_t *bytes = read_vector("v10-stream.q42", &size);
    fmt_diag diag;
    q42_volume volume;
    (void)state;
    for (size_t cut = 0; cut < size; cut += cut < 700 ? 1 : 997) {
        uint8_t *piece = malloc(cut + 1); /* exactly as long as told, so that a read behind the end is seen by tools */
        assert_non_null(piece);
        memcpy(piece, bytes, cut);
        assert_int_equal(q42_open((fmt_span){piece, cut}, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag), FMT_BAD_FILE);
        free(piece);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_byte_is_found_by_its_rule),
        cmocka_unit_test(objects_that_fall_between_blocks_are_found),
        cmocka_unit_test(two_quins_in_the_wrong_order_are_found),
        cmocka_unit_test(strict_mode_refuses_what_default_mode_notes),
        cmocka_unit_test(early_imports_are_refused_by_name),
        cmocka_unit_test(every_prefix_of_a_volume_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
