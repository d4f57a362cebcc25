/* test_q42_vectors.c — the vectors of the format's document, read: V1 to V14. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/sha.h"
#include "q42/q42_layout.h"
#include "q42_fixture.h"

#define S UINT64_C(0x0c0d528ea8694f58)
#define P UINT64_C(0x0c0d558ea8695471)
#define O UINT64_C(0x0c0d5e8ea86963bc)

static fmt_diag diag;
static uint8_t room[Q42_BLOCK_BYTES];

/* A vector that stays in memory while it is read. */
typedef struct opened {
    uint8_t *bytes;
    size_t size;
    q42_volume volume;
    note_log notes;
} opened;

static void open_vector(const char *name, opened *o) {
    memset(o, 0, sizeof *o);
    o->bytes = read_vector(name, &o->size);
    const fmt_span span = {o->bytes, o->size};
    const fmt_status status = q42_open(span, FMT_MODE_DEFAULT, &o->volume, log_note, &o->notes, &diag);
    if (status != FMT_OK) {
        fail_msg("%s: %s", name, diag.text);
    }
}

static void everything_agrees(const char *name) {
    size_t size;
    uint8_t *bytes = read_vector(name, &size);
    note_log notes;
    if (check_all((fmt_span){bytes, size}, FMT_MODE_DEFAULT, &notes, &diag) != FMT_OK) {
        fail_msg("%s: %s", name, diag.text);
    }
    free(bytes);
}

static void v1_texts_have_their_hashes(void **state) {
    static const struct {
        const char *text;
        uint64_t hash;
    } table[] = {
        {"", UINT64_C(0x0bf29ce484222325)},        {"a", UINT64_C(0x0f63dc4c8601ec8c)},
        {"Alice", UINT64_C(0x023909cb9f15d167)},   {"http://ex/s", S},
        {"http://ex/o", O},                        {"_:b0", UINT64_C(0x05d5f344f9308e5e)},
        {"hello@en", UINT64_C(0x0b10c0c7537ca116)},
        {"na\xc3\xafve\xe2\x80\x94pri\xc3\xa8re\xe2\x80\x94\xe6\xaf\x8d\xe8\xaa\x9e", UINT64_C(0x0497f9c6c7e90072)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(q42_hash(table[i].text, strlen(table[i].text)), table[i].hash);
    }
}

static void v2_objects_hold_their_values(void **state) {
    static const struct {
        uint64_t object;
        unsigned tag;
        int64_t value;
    } table[] = {
        {UINT64_C(0x1000000000000000), Q42_TAG_INTEGER, 0},
        {UINT64_C(0x1000000000000063), Q42_TAG_INTEGER, 99},
        {UINT64_C(0x1fffffffffffffd6), Q42_TAG_INTEGER, -42},
        {UINT64_C(0x17ffffffffffffff), Q42_TAG_INTEGER, (INT64_C(1) << 59) - 1},
        {UINT64_C(0x1800000000000000), Q42_TAG_INTEGER, -(INT64_C(1) << 59)},
        {UINT64_C(0x20000000002fefd8), Q42_TAG_DECIMAL, 3141592},
        {UINT64_C(0x2fffffffffd01028), Q42_TAG_DECIMAL, -3141592},
        {UINT64_C(0x3000000000000001), Q42_TAG_BOOLEAN, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_true(q42_object_is_inline(table[i].object));
        assert_int_equal(q42_object_tag(table[i].object), table[i].tag);
        assert_int_equal(q42_object_value(table[i].object), table[i].value);
    }
    assert_int_equal(q42_triple_id(1, 2, 3), UINT64_C(0x1a2bfb225e0d1f05));
    assert_false(q42_object_is_inline(O));
}

static void v3_and_v4_quins_fold_five_fields(void **state) {
    (void)state;
    assert_int_equal(q42_quin_make(11, 22, 33, 44, 55).parity, 0x27);
    assert_int_equal(q42_quin_make(S, P, O, 0, 0).parity, UINT64_C(0x0c0d598ea8697895));
}

static void v5_a_block_decodes_to_its_bytes(void **state) {
    static const char wanted[] = "94bbc933e0e7ab30b921da23415c357c156826ca2d2789cccf87566306e5a88f";
    opened o;
    q42_block block;
    uint8_t digest[SHA256_BYTES];
    char hex[SHA256_HEX_SIZE];
    (void)state;
    open_vector("v10-stream.q42", &o);
    assert_int_equal(q42_read_block(&o.volume, 0, Q42_CHECK_READ | Q42_CHECK_TAIL, room, &block, &diag), FMT_OK);
    assert_int_equal(block.n_quins, 1);
    assert_int_equal(block.sequence, 0);
    assert_true(sha256_digest(room, sizeof room, digest));
    sha256_to_hex(digest, hex);
    assert_string_equal(hex, wanted);
    free(o.bytes);
}

static void a_page_with_more_shared_prefixes_than_entries_is_refused(void **state) {
    size_t size;
    uint8_t *bytes = read_vector("v6-named.lex", &size);
    q42_lexicon lexicon;
    (void)state;
    bytes[72 + 4] = 4; /* the page's second word, for three entries */
    assert_int_equal(q42_lexicon_open((fmt_span){bytes, size}, 0, &lexicon, &diag), FMT_OK);
    assert_int_equal(q42_lexicon_check_page(&lexicon, 0, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "lexicon.page");
    assert_int_equal(diag.offset, 76);
    assert_int_equal(diag.got, 4);
    free(bytes);
}

enum { MANY = 65536, PREFIX = 6 };

typedef struct prefixed_term {
    uint64_t key;
    uint32_t prefix;
} prefixed_term;

static int compare_keys(const void *a, const void *b) {
    const uint64_t x = ((const prefixed_term *)a)->key, y = ((const prefixed_term *)b)->key;
    return x < y ? -1 : x > y;
}

static uint8_t *put_number(uint8_t *at, uint64_t value, unsigned n_bytes) {
    for (unsigned i = 0; i < n_bytes; i++) {
        at[i] = (uint8_t)(value >> 8 * i);
    }
    return at + n_bytes;
}

/* A lexicon of one page with as many prefixes as can be told apart, "00000:" and so on, and one term "ppppp:x" for each. */
static uint8_t *make_many_prefixes(prefixed_term *terms, size_t *out_size) {
    const uint64_t names = (uint64_t)MANY * (2 + PREFIX), keys = 16u * MANY, blob = names + (uint64_t)MANY * 6;
    char text[16];
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "%05u:x", i);
        terms[i] = (prefixed_term){q42_hash(text, PREFIX + 1), i};
    }
    qsort(terms, MANY, sizeof *terms, compare_keys);
    *out_size = 40 + 32 + 16 + keys + blob;
    uint8_t *bytes = malloc(*out_size);
    assert_non_null(bytes);
    memcpy(bytes, "Q42LEX\0", 8);
    const uint64_t head[] = {MANY, 32, 4, 1, terms[0].key, 72, 16 + keys + blob};
    uint8_t *at = bytes + 8;
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) {
        at = put_number(at, head[i], 8);
    }
    at = put_number(put_number(put_number(put_number(put_number(at, MANY, 4), 0, 4), MANY, 4), MANY, 4), 16 + keys, 8);
    for (uint32_t i = 0; i < MANY; i++) {
        at = put_number(put_number(at, terms[i].key, 8), names + 6u * i, 8);
    }
    for (uint32_t i = 0; i < MANY; i++) {
        snprintf(text, sizeof text, "%05u:", i);
        at = put_number(at, PREFIX, 2);
        memcpy(at, text, PREFIX);
        at += PREFIX;
    }
    for (uint32_t i = 0; i < MANY; i++) {
        at = put_number(put_number(put_number(put_number(at, 4, 1), terms[i].prefix, 2), 1, 2), 'x', 1);
    }
    assert_ptr_equal(at, bytes + *out_size);
    return bytes;
}

/* Walking and checking such a page must not read all prefixes again for each of its entries. */
static void a_page_of_65536_shared_prefixes_gives_each_term_its_own(void **state) {
    size_t size;
    prefixed_term *terms = malloc(MANY * sizeof *terms);
    q42_lexicon lexicon;
    q42_lexicon_walk walk = {0};
    q42_term term;
    char text[16];
    (void)state;
    assert_non_null(terms);
    uint8_t *bytes = make_many_prefixes(terms, &size);
    assert_int_equal(q42_lexicon_open((fmt_span){bytes, size}, 0, &lexicon, &diag), FMT_OK);
    assert_int_equal(q42_lexicon_check_page(&lexicon, 0, &diag), FMT_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_OK);
        snprintf(text, sizeof text, "%05u:", terms[i].prefix);
        assert_int_equal(term.prefix.size, PREFIX);
        assert_memory_equal(term.prefix.data, text, PREFIX);
    }
    assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_NOT_FOUND);
    assert_int_equal(q42_lexicon_find(&lexicon, terms[MANY - 1].key, &term, &diag), FMT_OK);
    bytes[72 + 16 + 16u * MANY + (uint64_t)MANY * (2 + PREFIX) + 1] ^= 1; /* the first entry names another prefix */
    assert_int_equal(q42_lexicon_check_page(&lexicon, 0, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "lexicon.keys");
    free(bytes);
    free(terms);
}

static void v6_every_form_of_lexicon_gives_its_terms(void **state) {
    static const struct {
        const char *name;
        q42_lexicon_form form;
    } table[] = {{"v6-untagged.lex", Q42_LEXICON_UNTAGGED},
                 {"v6-tagged.lex", Q42_LEXICON_TAGGED},
                 {"v6-paged.lex", Q42_LEXICON_PAGED},
                 {"v6-named.lex", Q42_LEXICON_NAMED}};
    static const uint64_t keys[] = {S, P, O};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        size_t size;
        uint8_t *bytes = read_vector(table[i].name, &size);
        q42_lexicon lexicon;
        q42_lexicon_walk walk = {0};
        q42_term term, found;
        assert_int_equal(q42_lexicon_open((fmt_span){bytes, size}, 0, &lexicon, &diag), FMT_OK);
        assert_int_equal(lexicon.form, table[i].form);
        assert_int_equal(lexicon.n_entries, 3);
        assert_int_equal(q42_lexicon_check_page(&lexicon, 0, &diag), FMT_OK);
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_OK);
            assert_int_equal(term.hash, keys[k]);
            assert_int_equal(term.prefix.size + term.text.size, 11);
            assert_int_equal(term.text.data[term.text.size - 1], "spo"[k]);
            assert_int_equal(q42_lexicon_find(&lexicon, keys[k], &found, &diag), FMT_OK);
            assert_int_equal(found.offset, term.offset);
        }
        assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_NOT_FOUND);
        assert_int_equal(q42_lexicon_find(&lexicon, S + 1, &found, &diag), FMT_NOT_FOUND);
        assert_int_equal(q42_lexicon_find(&lexicon, 1, &found, &diag), FMT_NOT_FOUND);
        free(bytes);
    }
}

static void v6_an_empty_lexicon_has_no_terms(void **state) {
    size_t size;
    uint8_t *bytes = read_vector("v6-empty.lex", &size);
    q42_lexicon lexicon;
    q42_lexicon_walk walk = {0};
    q42_term term;
    (void)state;
    assert_int_equal(q42_lexicon_open((fmt_span){bytes, size}, 0, &lexicon, &diag), FMT_OK);
    assert_int_equal(lexicon.n_entries + lexicon.n_pages, 0);
    assert_int_equal(q42_lexicon_find(&lexicon, S, &term, &diag), FMT_NOT_FOUND);
    assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_NOT_FOUND);
    free(bytes);
}

static void v6_triples_and_identities_are_told_apart(void **state) {
    static const q42_term_kind kinds[] = {Q42_TERM_STRING, Q42_TERM_WEBIZEN, Q42_TERM_TRIPLE};
    size_t size;
    uint8_t *bytes = read_vector("v6-mixed.lex", &size);
    q42_lexicon lexicon;
    q42_lexicon_walk walk = {0};
    q42_term term;
    (void)state;
    assert_int_equal(q42_lexicon_open((fmt_span){bytes, size}, 0, &lexicon, &diag), FMT_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(q42_lexicon_next(&lexicon, &walk, &term, &diag), FMT_OK);
        assert_int_equal(term.kind, kinds[i]);
    }
    assert_int_equal(term.triple[0] * 100 + term.triple[1] * 10 + term.triple[2], 123);
    /* its string has the made-up key 1 */
    assert_int_equal(q42_lexicon_check_form(&lexicon, 0, &diag), FMT_OK);
    assert_int_equal(q42_lexicon_check_keys(&lexicon, 0, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "lexicon.keys");
    free(bytes);
}

static void v7_indexes_tell_the_block(void **state) {
    opened o;
    (void)state;
    open_vector("v10-stream.q42", &o);
    const q42_range object = q42_object_range(&o.volume, 0);
    const q42_range subject = q42_field_range(&o.volume, 0, Q42_SUBJECT);
    const q42_range context = q42_field_range(&o.volume, 0, Q42_CONTEXT);
    assert_true(object.least == O && object.most == O);
    assert_true(subject.least == S && subject.most == S);
    assert_true(context.least == 0 && context.most == 0);
    bool may_hold;
    assert_int_equal(q42_postings_test(&o.volume, 0, Q42_PREDICATE, P, &may_hold, &diag), FMT_OK);
    assert_true(may_hold);
    assert_int_equal(q42_postings_test(&o.volume, 0, Q42_PREDICATE, P + 1, &may_hold, &diag), FMT_OK);
    assert_false(may_hold);
    free(o.bytes);
}

static void v8_a_value_has_its_four_bits(void **state) {
    static const struct {
        uint64_t value;
        uint32_t bits[4];
    } table[] = {{0, {0, 583, 583, 335}},
                 {1, {1045, 1166, 163, 1675}},
                 {UINT64_C(0x0123456789abcdef), {155, 1424, 1579, 1116}}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        uint32_t bits[4];
        q42_bloom_bits(table[i].value, bits);
        assert_memory_equal(bits, table[i].bits, sizeof bits);
    }
}

static void v9_the_dag_names_its_block(void **state) {
    opened o;
    uint64_t n;
    (void)state;
    open_vector("v11-dag.q42", &o);
    assert_int_equal(q42_dag_count(&o.volume, &n, &diag), FMT_OK);
    assert_int_equal(n, 1);
    const q42_dag_node node = q42_dag_get(&o.volume, 0);
    assert_int_equal(node.flags, Q42_DAG_GENESIS);
    assert_int_equal(node.timestamp_ms, UINT64_C(1717286400000));
    assert_int_equal(node.message_hash, 0x0a6946f8);
    assert_int_equal(node.quins_digest[0], 0xa9);
    free(o.bytes);
}

static void v10_to_v12_agree_with_themselves(void **state) {
    (void)state;
    everything_agrees("v10-stream.q42");
    everything_agrees("v10-version4.q42");
    everything_agrees("v10-untagged.q42");
    everything_agrees("v11-dag.q42");
    everything_agrees("v12-two-blocks.q42");
    everything_agrees("v14-root.q42");
}

static void v10_says_what_it_is(void **state) {
    opened o;
    (void)state;
    open_vector("v10-stream.q42", &o);
    assert_int_equal(o.volume.header.version, 3);
    assert_int_equal(o.volume.header.flags, 0x3b);
    assert_int_equal(o.notes.n, 0);
    free(o.bytes);
    open_vector("v10-version4.q42", &o);
    assert_true(has_note(&o.notes, "header.version_4"));
    assert_int_equal(o.volume.lexicon.form, Q42_LEXICON_NAMED);
    free(o.bytes);
    open_vector("v10-untagged.q42", &o);
    assert_true(has_note(&o.notes, "lexicon.untagged"));
    free(o.bytes);
}

static uint64_t count_matches(const q42_volume *volume, const q42_pattern *pattern, q42_scan_stats *out_stats) {
    q42_scan scan;
    q42_quin quin;
    fmt_status status;
    uint64_t n = 0;
    q42_scan_begin(&scan, volume, pattern, room);
    while ((status = q42_scan_next(&scan, &quin, &diag)) == FMT_OK) {
        n++;
    }
    assert_int_equal(status, FMT_NOT_FOUND);
    *out_stats = scan.stats;
    return n;
}

static void v12_a_scan_decodes_only_what_the_indexes_allow(void **state) {
    static const struct {
        q42_pattern pattern;
        uint64_t n, n_decoded;
    } table[] = {
        {{.bound = 0}, 851, 2},
        {{.bound = Q42_BOUND_OBJECT, .object = {400, 400}}, 1, 1},
        {{.bound = Q42_BOUND_OBJECT, .object = {850, 851}}, 2, 2},
        {{.bound = Q42_BOUND_OBJECT, .object = {0, UINT64_MAX}}, 851, 2},
        {{.bound = Q42_BOUND_OBJECT, .object = {900, 900}}, 0, 0},
        {{.bound = Q42_BOUND_OBJECT, .object = {7, 6}}, 0, 0},
        {{.bound = Q42_BOUND_SUBJECT, .subject = 851}, 1, 1},
        {{.bound = Q42_BOUND_SUBJECT, .subject = 3}, 1, 1},
        {{.bound = Q42_BOUND_PREDICATE, .predicate = 7}, 851, 2},
        {{.bound = Q42_BOUND_PREDICATE, .predicate = 8}, 0, 0},
        {{.bound = Q42_BOUND_CONTEXT | Q42_BOUND_OBJECT, .context = 0, .object = {5, 8}}, 4, 1},
        {{.bound = Q42_BOUND_SUBJECT | Q42_BOUND_OBJECT, .subject = 4, .object = {5, 5}}, 0, 1},
    };
    opened o;
    (void)state;
    open_vector("v12-two-blocks.q42", &o);
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        q42_scan_stats stats;
        assert_int_equal(count_matches(&o.volume, &table[i].pattern, &stats), table[i].n);
        assert_int_equal(stats.n_decoded, table[i].n_decoded);
    }
    free(o.bytes);
}

static void a_copied_scan_goes_on_from_the_same_place(void **state) {
    static uint8_t second_room[Q42_BLOCK_BYTES];
    const q42_pattern all = {.bound = 0};
    opened o;
    q42_scan one, two;
    q42_quin a, b;
    (void)state;
    open_vector("v12-two-blocks.q42", &o);
    q42_scan_begin(&one, &o.volume, &all, room);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(q42_scan_next(&one, &a, &diag), FMT_OK);
    }
    two = one;
    q42_scan_use_room(&two, second_room);
    while (q42_scan_next(&one, &a, &diag) == FMT_OK) {
    }
    assert_int_equal(a.object, 851);
    for (uint64_t object = 101; object <= 851; object++) {
        assert_int_equal(q42_scan_next(&two, &b, &diag), FMT_OK);
        assert_int_equal(b.object, object);
    }
    assert_int_equal(q42_scan_next(&two, &b, &diag), FMT_NOT_FOUND);
    free(o.bytes);
}

static void v14_a_root_names_its_members(void **state) {
    opened o;
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    (void)state;
    open_vector("v14-root.q42", &o);
    assert_true(has_note(&o.notes, "file.gap")); /* 36 bytes of empty indexes that no field names */
    const q42_manifest *m = &o.volume.manifest;
    assert_int_equal(m->version, 2);
    assert_int_equal(m->generation, 7);
    assert_int_equal(m->n_segments, 1);
    assert_int_equal(m->n_shards, 1);
    assert_true(q42_manifest_next(m, &walk, &member));
    assert_true(member.bytes == 100 && member.first == 1 && member.last == 9 && member.n_quins == 3);
    assert_memory_equal(member.locator.data, "a.q42", 5);
    assert_int_equal(member.digest[31], 0x11);
    assert_true(q42_manifest_next(m, &walk, &member));
    assert_true(member.bytes == 50 && member.first == 2 && member.last == 8 && member.n_quins == 0);
    assert_memory_equal(member.locator.data, "a.lex.q42", 9);
    assert_false(q42_manifest_next(m, &walk, &member));
    free(o.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v1_texts_have_their_hashes),
        cmocka_unit_test(v2_objects_hold_their_values),
        cmocka_unit_test(v3_and_v4_quins_fold_five_fields),
        cmocka_unit_test(v5_a_block_decodes_to_its_bytes),
        cmocka_unit_test(v6_every_form_of_lexicon_gives_its_terms),
        cmocka_unit_test(a_page_of_65536_shared_prefixes_gives_each_term_its_own),
        cmocka_unit_test(a_page_with_more_shared_prefixes_than_entries_is_refused),
        cmocka_unit_test(v6_an_empty_lexicon_has_no_terms),
        cmocka_unit_test(v6_triples_and_identities_are_told_apart),
        cmocka_unit_test(v7_indexes_tell_the_block),
        cmocka_unit_test(v8_a_value_has_its_four_bits),
        cmocka_unit_test(v9_the_dag_names_its_block),
        cmocka_unit_test(v10_to_v12_agree_with_themselves),
        cmocka_unit_test(v10_says_what_it_is),
        cmocka_unit_test(v12_a_scan_decodes_only_what_the_indexes_allow),
        cmocka_unit_test(a_copied_scan_goes_on_from_the_same_place),
        cmocka_unit_test(v14_a_root_names_its_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
