/* test_lora_rules.c — each rule of an adapter file broken alone: which rule is told, and at which byte. */
#include "lora_builder.h"

#include "common/endian.h"

static built_lora b;

static int free_pairs(void **state) {
    (void)state;
    build_free();
    return 0;
}

/* ---------------------------------------------------------------- version 1: rank 2, 3 -> 5, 128 bytes */

static const struct v1_row {
    const char *name, *rule;
    uint64_t at; /* where it is changed and told */
    uint32_t value;
} v1_rows[] = {
    {"another magic", "magic", 0, 0x41524F4B},
    {"version 0", "version", 4, 0},
    {"version 3", "version", 4, 3},
    {"rank 0", "rank", 12, 0},
    {"alpha infinite", "alpha", 16, 0x7F800000},
    {"alpha NaN", "alpha", 16, 0x7FC00000},
    {"n_in 0", "dims", 20, 0},
    {"n_out 0", "dims", 24, 0},
};

static void each_rule_of_version_1_is_told_with_its_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof v1_rows / sizeof v1_rows[0]; i++) {
        const struct v1_row *row = &v1_rows[i];
        const lora_pair pair = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
        lora_file file;
        fmt_diag diag = {.rule = ""};
        build_v1(&b, 7, &pair);
        store_u32(b.bytes + row->at, row->value);
        assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_BAD_FILE);
        if (strcmp(diag.rule, row->rule) != 0 || diag.offset != row->at) {
            fail_msg("%s: rule %s at %llu", row->name, diag.rule, (unsigned long long)diag.offset);
        }
    }
}

static void sizes_that_overflow_are_refused(void **state) {
    (void)state;
    static const struct {
        uint32_t rank, n_in, n_out;
        const char *rule;
    } rows[] = {{UINT32_MAX, UINT32_MAX, 1, "size"},
                {UINT32_MAX, 1, UINT32_MAX, "size"},
                {0x80000000u, 0x40000000u, 0x40000000u, "size"}, /* each fits, their sum does not */
                {0x40000000u, 0x40000000u, 4, "length"},
                {0x80000000u, 0x80000000u, 5, "size"}, /* the product is 0 in 64 bits */
                {0x10000u, 0x10000u, 0x10000u, "length"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const lora_pair pair = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
        lora_file file;
        fmt_diag diag = {.rule = ""};
        build_v1(&b, 7, &pair);
        store_u32(b.bytes + 12, rows[i].rank);
        store_u32(b.bytes + 20, rows[i].n_in);
        store_u32(b.bytes + 24, rows[i].n_out);
        assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, rows[i].rule);
    }
}

static void refuse_cuts(const built_lora *whole) {
    lora_file file;
    fmt_diag diag;
    for (uint64_t size = 0; size < whole->size; size++) {
        /* A copy without a byte more, so that a sanitizer sees a read behind the end. */
        uint8_t *copy = test_malloc(size + (size == 0));
        memcpy(copy, whole->bytes, size);
        diag.rule = "";
        if (lora_open((fmt_span){copy, size}, &file, &diag) != FMT_BAD_FILE || diag.rule[0] == '\0') {
            fail_msg("%llu of %llu bytes are accepted", (unsigned long long)size, (unsigned long long)whole->size);
        }
        test_free(copy);
    }
}

static void a_file_cut_at_any_byte_is_refused(void **state) {
    (void)state;
    lora_pair pairs[16];
    const lora_pair pair = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
    build_v1(&b, 7, &pair);
    refuse_cuts(&b);
    build_v2(&b, pairs, build_all_pairs(pairs));
    refuse_cuts(&b);
}

static void a_byte_more_is_refused(void **state) {
    (void)state;
    lora_file file;
    fmt_diag diag;
    lora_pair pairs[16];
    const lora_pair pair = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
    build_v1(&b, 7, &pair);
    b.bytes[b.size++] = 0;
    assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "length");
    build_v2(&b, pairs, build_all_pairs(pairs));
    b.bytes[b.size++] = 0;
    assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "file-size");
}

/* Structure and payload together, as a program reads. */
static fmt_status read_all(const built_lora *built, fmt_diag *diag) {
    lora_file file;
    const fmt_status status = lora_open(built_span(built), &file, diag);
    return status == FMT_OK ? lora_check_payload(&file, diag) : status;
}

static void every_changed_bit_of_a_payload_or_header_is_seen(void **state) {
    (void)state;
    lora_pair pairs[16];
    fmt_diag diag;
    build_v2(&b, pairs, build_all_pairs(pairs));
    assert_int_equal(read_all(&b, &diag), FMT_OK);
    for (uint64_t at = 0; at < b.size; at++) {
        b.bytes[at] ^= 0x10;
        if (read_all(&b, &diag) == FMT_OK) {
            fail_msg("a change of byte %llu is not seen", (unsigned long long)at);
        }
        b.bytes[at] ^= 0x10;
    }
}

static void a_payload_of_version_1_has_its_checksum(void **state) {
    (void)state;
    fmt_diag diag;
    const lora_pair pair = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
    build_v1(&b, 7, &pair);
    assert_int_equal(read_all(&b, &diag), FMT_OK);
    for (uint64_t at = 32; at < b.size; at++) {
        b.bytes[at] ^= 1;
        assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
        assert_string_equal(diag.rule, "digest");
        b.bytes[at] ^= 1;
    }
}

static void values_that_are_no_numbers_are_refused_with_their_byte(void **state) {
    (void)state;
    lora_pair pairs[16];
    fmt_diag diag;
    lora_file file;
    const uint32_t n = build_all_pairs(pairs);
    build_v2(&b, pairs, n);
    assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_OK);
    const lora_entry entry = lora_get_entry(&file, 3);
    store_u16(b.bytes + entry.b_at + 4, 0x7C00);
    build_seal(&b);
    assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "value");
    assert_int_equal(diag.offset, entry.b_at + 4);
    assert_int_equal(diag.index, 3);
}

/* ---------------------------------------------------------------- version 2: changed, then sealed again */

#define ENTRY(i) (LORA_V2_HEADER_BYTES + (i) * LORA_ENTRY_BYTES)

static const struct v2_row {
    const char *name, *rule;
    uint64_t at;
    uint32_t value;
    uint64_t told;
    bool is_unsealed;
} v2_rows[] = {
    {"a header that does not fit its sum", "header-crc", 16, 1, 124, true},
    {"reserved bytes in front", "header-zero", 12, 1, 12, false},
    {"reserved bytes behind", "header-zero", 120, 1, 100, false},
    {"no entry", "count", 8, 0, 8, false},
    {"too many entries", "count", 8, 65537, 8, false},
    {"more entries than bytes", "table", 8, 60000, 24, false},
    {"another length", "file-size", 16, 5, 16, false},
    {"data elsewhere", "table", 24, 0, 24, false},
    {"a role that is none", "role", ENTRY(0), 7, ENTRY(0), false},
    {"a role of no layer with one", "layer", ENTRY(9) + 4, 3, ENTRY(9) + 4, false},
    {"a role of a layer with none", "layer", ENTRY(0) + 4, LORA_NO_LAYER, ENTRY(0) + 4, false},
    {"a layer that no model has", "layer", ENTRY(0) + 4, 65536, ENTRY(0) + 4, false},
    {"a place twice", "order", ENTRY(1), LORA_ATTN_K, ENTRY(1), false},
    {"a place too late", "order", ENTRY(4) + 4, 2, ENTRY(5), false},
    {"another element type", "dtype", ENTRY(0) + 24, BLK_Q8_0, ENTRY(0) + 24, false},
    {"reserved bytes of an entry", "entry-zero", ENTRY(2) + 28, 1, ENTRY(2) + 28, false},
    {"rank 0", "rank", ENTRY(2) + 8, 0, ENTRY(2) + 8, false},
    {"alpha infinite", "alpha", ENTRY(2) + 12, 0xFF800000, ENTRY(2) + 12, false},
    {"n_in 0", "dims", ENTRY(2) + 16, 0, ENTRY(2) + 16, false},
    {"n_out 0", "dims", ENTRY(2) + 20, 0, ENTRY(2) + 20, false},
    {"A elsewhere", "offset", ENTRY(1) + 32, 64, ENTRY(1) + 32, false},
    {"B elsewhere", "offset", ENTRY(0) + 40, 64, ENTRY(0) + 40, false},
    {"a last matrix that is larger", "bounds", ENTRY(11) + 20, 4000, ENTRY(11) + 40, false},
    {"a last matrix that is smaller", "length", ENTRY(11) + 20, 1, 0, false},
};

static void each_rule_of_version_2_is_told_with_its_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof v2_rows / sizeof v2_rows[0]; i++) {
        const struct v2_row *row = &v2_rows[i];
        lora_pair pairs[16];
        fmt_diag diag = {.rule = "", .text = ""};
        build_v2(&b, pairs, build_all_pairs(pairs));
        store_u32(b.bytes + row->at, row->value);
        if (!row->is_unsealed) {
            build_seal(&b);
        }
        assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
        if (strcmp(diag.rule, row->rule) != 0 || (row->told != 0 && diag.offset != row->told)) {
            fail_msg("%s: rule %s at %llu: %s", row->name, diag.rule, (unsigned long long)diag.offset, diag.text);
        }
        build_free();
    }
}

static void an_order_that_repeats_is_seen_with_both_names(void **state) {
    (void)state;
    lora_pair pairs[16];
    fmt_diag diag = {.text = ""};
    build_v2(&b, pairs, build_all_pairs(pairs));
    store_u32(b.bytes + ENTRY(1), LORA_ATTN_K);
    build_seal(&b);
    assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
    assert_non_null(strstr(diag.text, "attn_k of layer 0, behind attn_k of layer 0"));
}

static void a_model_of_zeros_is_no_model(void **state) {
    (void)state;
    lora_pair pairs[16];
    fmt_diag diag = {.rule = ""};
    build_v2(&b, pairs, build_all_pairs(pairs));
    memset(b.bytes + 32, 0, LORA_DIGEST_BYTES);
    build_seal(&b);
    assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "base");
    assert_int_equal(diag.offset, 32);
}

static void what_is_between_matrices_must_be_zero(void **state) {
    (void)state;
    lora_pair pairs[16];
    fmt_diag diag = {.rule = ""};
    lora_file file;
    build_v2(&b, pairs, build_all_pairs(pairs));
    assert_int_equal(lora_open(built_span(&b), &file, &diag), FMT_OK);
    const lora_entry entry = lora_get_entry(&file, 1); /* 32 bytes of A, then a gap */
    b.bytes[entry.b_at - 1] = 1;
    build_seal(&b);
    assert_int_equal(read_all(&b, &diag), FMT_BAD_FILE);
    assert_string_equal(diag.rule, "padding");
    assert_int_equal(diag.offset, entry.b_at - 1);
}

static bool take_nothing(void *ctx, const void *bytes, uint64_t size) {
    (void)ctx, (void)bytes, (void)size;
    return false;
}

static void the_writer_refuses_what_the_reader_would(void **state) {
    (void)state;
    const uint8_t base[LORA_DIGEST_BYTES] = {1}, none[LORA_DIGEST_BYTES] = {0};
    fmt_diag diag;
    const lora_pair good = build_pair(LORA_ATTN_Q, 1, 2, 1.0f, 4, 4, BLK_F32, 1);
    lora_pair pairs[2] = {good, good};
    assert_int_equal(lora_write(base, pairs, 0, take_nothing, NULL, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "count");
    assert_int_equal(lora_write(none, pairs, 1, take_nothing, NULL, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "base");
    assert_int_equal(lora_write(base, pairs, 2, take_nothing, NULL, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "order");
    pairs[1].layer = LORA_NO_LAYER;
    assert_int_equal(lora_write(base, pairs, 2, take_nothing, NULL, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "layer");
    assert_int_equal(lora_write(base, &good, 1, take_nothing, NULL, &diag), FMT_IO);
    assert_string_equal(diag.rule, "write");
    assert_int_equal(lora_write_v1(0, &good, take_nothing, NULL, &diag), FMT_BAD_ARG);
    assert_string_equal(diag.rule, "role");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_rule_of_version_1_is_told_with_its_byte, free_pairs),
        cmocka_unit_test_teardown(sizes_that_overflow_are_refused, free_pairs),
        cmocka_unit_test_teardown(a_file_cut_at_any_byte_is_refused, free_pairs),
        cmocka_unit_test_teardown(a_byte_more_is_refused, free_pairs),
        cmocka_unit_test_teardown(every_changed_bit_of_a_payload_or_header_is_seen, free_pairs),
        cmocka_unit_test_teardown(a_payload_of_version_1_has_its_checksum, free_pairs),
        cmocka_unit_test_teardown(values_that_are_no_numbers_are_refused_with_their_byte, free_pairs),
        cmocka_unit_test_teardown(each_rule_of_version_2_is_told_with_its_byte, free_pairs),
        cmocka_unit_test_teardown(an_order_that_repeats_is_seen_with_both_names, free_pairs),
        cmocka_unit_test_teardown(a_model_of_zeros_is_no_model, free_pairs),
        cmocka_unit_test_teardown(what_is_between_matrices_must_be_zero, free_pairs),
        cmocka_unit_test_teardown(the_writer_refuses_what_the_reader_would, free_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
