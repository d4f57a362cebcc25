/* test_q42_envelope.c — envelopes: the published bytes, and each rule. */
#include "common/endian.h"
#include "files_fixture.h"

static uint64_t make_envelope(const char *payload, uint64_t size, uint8_t *out) {
    q42_envelope_encode_header(q42_envelope_profile("health", 6), (uint32_t)size, out);
    memcpy(out + Q42_ENVELOPE_HEADER_BYTES, payload, size);
    return Q42_ENVELOPE_HEADER_BYTES + size;
}

static void health_envelope_is_the_published_bytes(void **state) {
    (void)state;
    uint8_t bytes[64];
    q42_envelope envelope;
    const uint64_t size = make_envelope("{}", 2, bytes);
    assert_bytes(bytes, size, "5143484bba65537fcb0d8104020000007b7d");
    assert_int_equal(q42_envelope_open(span_of(bytes, size), FMT_MODE_STRICT, &envelope, NULL, NULL, NULL), FMT_OK);
    assert_string_equal(envelope.profile_name, "health");
    assert_memory_equal(envelope.payload.data, "{}", 2);
}

static void an_unknown_profile_has_no_name(void **state) {
    (void)state;
    uint8_t bytes[64];
    q42_envelope envelope;
    const uint64_t size = make_envelope("{}", 2, bytes);
    bytes[4] ^= 1;
    assert_int_equal(q42_envelope_open(span_of(bytes, size), FMT_MODE_STRICT, &envelope, NULL, NULL, NULL), FMT_OK);
    assert_null(envelope.profile_name);
}

static void each_broken_rule_is_refused_by_its_name(void **state) {
    (void)state;
    static const struct {
        const char *payload, *rule, *words;
        uint64_t at; /* the diagnosis's offset */
    } rows[] = {
        {"", "envelope-json", "JSON", 16},          {"{", "envelope-json", "JSON", 17},
        {"[1]", "envelope-json", "no object", 16},  {"{\"a\":1,\"a\":2}", "envelope-json", "duplicate", 26},
        {"{} x", "envelope-json", "JSON", 20},      {"{\"a\":\"\xff\"}", "envelope-text", "UTF-8", 22},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t bytes[64];
        q42_envelope envelope;
        fmt_diag diag;
        const uint64_t size = make_envelope(rows[i].payload, strlen(rows[i].payload), bytes);
        assert_refused(q42_envelope_open(span_of(bytes, size), FMT_MODE_DEFAULT, &envelope, NULL, NULL, &diag), &diag,
                       rows[i].rule, rows[i].words);
        assert_int_equal(diag.offset, rows[i].at);
    }
}

static void a_file_that_is_cut_anywhere_is_refused(void **state) {
    (void)state;
    uint8_t bytes[64];
    const uint64_t whole = make_envelope("{\"a\": [1, 2]}", 13, bytes);
    for (uint64_t size = 0; size < whole; size++) {
        q42_envelope envelope;
        fmt_diag diag;
        assert_refused(q42_envelope_open(span_of(bytes, size), FMT_MODE_DEFAULT, &envelope, NULL, NULL, &diag), &diag,
                       size < 16 ? "envelope-size" : "envelope-length", "bytes");
    }
}

static void trailing_bytes_are_a_note_and_strict_refuses_them(void **state) {
    (void)state;
    uint8_t bytes[64];
    q42_envelope envelope;
    fmt_diag diag;
    note_count notes = {0};
    const uint64_t size = make_envelope("{}ab", 4, bytes);
    store_u32(bytes + 12, 2);
    assert_int_equal(q42_envelope_open(span_of(bytes, size), FMT_MODE_DEFAULT, &envelope, count_note, &notes, &diag),
                     FMT_OK);
    assert_int_equal(notes.n, 1);
    assert_int_equal(envelope.n_trailing, 2);
    assert_refused(q42_envelope_open(span_of(bytes, size), FMT_MODE_STRICT, &envelope, NULL, NULL, &diag), &diag,
                   "envelope-trailing", "2 bytes");
}

static void text_of_another_format_named_chk_is_told_so(void **state) {
    (void)state;
    q42_envelope envelope;
    fmt_diag diag;
    assert_refused(q42_envelope_open(span_of("word dog {}\n", 12), FMT_MODE_DEFAULT, &envelope, NULL, NULL, &diag),
                   &diag, "envelope-magic", "another format");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(health_envelope_is_the_published_bytes),
        cmocka_unit_test(an_unknown_profile_has_no_name),
        cmocka_unit_test(each_broken_rule_is_refused_by_its_name),
        cmocka_unit_test(a_file_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(trailing_bytes_are_a_note_and_strict_refuses_them),
        cmocka_unit_test(text_of_another_format_named_chk_is_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
