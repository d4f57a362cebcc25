/* test_q42_kinds.c — telling files apart, and the hashes that the format names. */
#include "common/endian.h"
#include "files_fixture.h"

static void well_known_hashes_are_the_published_ones(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t hash;
    } rows[] = {
        {"urn:qualia:context:temporal", UINT64_C(0x069af47f098f3bda)},
        {"urn:qualia:context:agent", UINT64_C(0x06dbd7b36ba90505)},
        {"urn:qualia:context:branches", UINT64_C(0x06eb9640df4ff050)},
        {"urn:qualia:dag:branchTip", UINT64_C(0x03b82cf63dc74a9a)},
        {"urn:qualia:dag:parent", UINT64_C(0x0267c1c4baac382d)},
        {"http://www.w3.org/ns/prov#generatedAtTime", UINT64_C(0x0c41834021edb398)},
        {"http://www.w3.org/ns/prov#startedAtTime", UINT64_C(0x009ff313e17ff470)},
        {"http://www.w3.org/ns/prov#endedAtTime", UINT64_C(0x06315649d8f5aa89)},
        {"http://www.w3.org/ns/prov#wasAttributedTo", UINT64_C(0x078297987623244d)},
        {"http://www.w3.org/ns/prov#wasInvalidatedBy", UINT64_C(0x0fc437f871287262)},
        {"http://www.w3.org/ns/prov#invalidatedAtTime", UINT64_C(0x0322356edafc5ae6)},
    };
    static const struct {
        const char *name;
        uint64_t hash;
    } profiles[] = {
        {"general", UINT64_C(0x00f695169ebf1574)},  {"health", UINT64_C(0x04810dcb7f5365ba)},
        {"chemistry", UINT64_C(0x09daf5298b1dc432)}, {"research", UINT64_C(0x01ed322de2b67331)},
        {"legal", UINT64_C(0x04d2f48955db7695)},    {"financial", UINT64_C(0x06270578d898c1db)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(q42_hash(rows[i].text, strlen(rows[i].text)) == rows[i].hash);
    }
    for (size_t i = 0; i < sizeof profiles / sizeof profiles[0]; i++) {
        assert_true(q42_envelope_profile(profiles[i].name, strlen(profiles[i].name)) == profiles[i].hash);
    }
}

static void a_magic_is_final(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        uint64_t size;
        q42_file_kind kind;
    } rows[] = {
        {"Q42\0\3\0", 6, Q42_FILE_VOLUME},    {"Q42LEX\0\0", 8, Q42_FILE_LEXICON}, {"BIDX", 4, Q42_FILE_BIDX},
        {"Q42J", 4, Q42_FILE_JOURNAL},        {"QCHK", 4, Q42_FILE_ENVELOPE},      {"p64\0", 4, Q42_FILE_WEIGHTS},
        {"Q42W", 4, Q42_FILE_OLD_WEIGHTS},    {"QKVP", 4, Q42_FILE_KV_PAGE},       {"QWAL", 4, Q42_FILE_WAL},
        {"", 0, Q42_FILE_UNKNOWN},
        {"Q42", 3, Q42_FILE_UNKNOWN},         {"<a> <b> <c> .\n", 14, Q42_FILE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(q42_detect(span_of(rows[i].bytes, rows[i].size)), rows[i].kind);
        assert_true(strlen(q42_file_kind_name(rows[i].kind)) > 0);
    }
}

static void version_word_tells_old_volumes(void **state) {
    (void)state;
    uint8_t header[Q42_HEADER_BYTES] = "Q42";
    static const q42_file_kind kinds[] = {Q42_FILE_VOLUME, Q42_FILE_OLD_VOLUME, Q42_FILE_OLD_VOLUME, Q42_FILE_VOLUME,
                                          Q42_FILE_VOLUME, Q42_FILE_VOLUME};
    for (uint16_t version = 0; version < 6; version++) {
        store_u16(header + 4, version);
        assert_int_equal(q42_detect(span_of(header, sizeof header)), kinds[version]);
    }
}

static void an_early_import_is_told_by_its_blocks(void **state) {
    (void)state;
    uint8_t file[Q42_HEADER_BYTES + 16] = "Q42";
    store_u16(file + 4, 3);
    store_u64(file + 40, Q42_HEADER_BYTES); /* directory */
    store_u64(file + 72, 1);                /* blocks */
    store_u32(file + Q42_HEADER_BYTES + 12, 393216);
    assert_int_equal(q42_detect(span_of(file, sizeof file)), Q42_FILE_EARLY_VOLUME);
    assert_non_null(strstr(q42_file_kind_name(Q42_FILE_EARLY_VOLUME), "early import"));
    store_u32(file + Q42_HEADER_BYTES + 12, Q42_BLOCK_BYTES);
    assert_int_equal(q42_detect(span_of(file, sizeof file)), Q42_FILE_VOLUME);
    store_u64(file + 40, UINT64_MAX - 8);
    assert_int_equal(q42_detect(span_of(file, sizeof file)), Q42_FILE_VOLUME);
}

static void files_without_a_magic_are_told_by_their_structure(void **state) {
    (void)state;
    static uint8_t raw[2 * Q42_BLOCK_BYTES];
    store_u64(raw + 16, 850);
    store_u64(raw + Q42_BLOCK_BYTES, 1);
    store_u64(raw + Q42_BLOCK_BYTES + 16, 1);
    assert_int_equal(q42_detect(span_of(raw, sizeof raw)), Q42_FILE_RAW);
    store_u64(raw + Q42_BLOCK_BYTES + 16, 851);
    assert_int_equal(q42_detect(span_of(raw, sizeof raw)), Q42_FILE_UNKNOWN);
    assert_int_equal(q42_detect(span_of(raw, 96)), Q42_FILE_FLAT);
    static const char car[] = "\x11\xa2\x67version\x01\x65roots\x80";
    assert_int_equal(q42_detect(span_of(car, sizeof car - 1)), Q42_FILE_CAR);
}

static void every_rule_has_a_sentence_and_an_id_of_its_own(void **state) {
    (void)state;
    uint32_t n_rules = 0;
    const fmt_rule *rules = q42_files_rules(&n_rules);
    for (uint32_t i = 0; i < n_rules; i++) {
        assert_true(strlen(rules[i].sentence) > 10);
        for (uint32_t k = 0; k < i; k++) {
            assert_string_not_equal(rules[i].id, rules[k].id);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(well_known_hashes_are_the_published_ones),
        cmocka_unit_test(a_magic_is_final),
        cmocka_unit_test(version_word_tells_old_volumes),
        cmocka_unit_test(an_early_import_is_told_by_its_blocks),
        cmocka_unit_test(files_without_a_magic_are_told_by_their_structure),
        cmocka_unit_test(every_rule_has_a_sentence_and_an_id_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
