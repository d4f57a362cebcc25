/* test_p64_reader.c — what the vectors do not show: decisions of this project, look-ups, hostile counts, damage
 * everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/crc32c.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "p64_fixture.h"

enum { TENSORS_AT = 12, TOKENIZER_AT = 16, ENTRY = 64, ENTRY_HASH = 48 };

static uint64_t entry_at(const fixture *f, uint32_t index) {
    return fixture_u32(f, TENSORS_AT) + (uint64_t)ENTRY * index;
}

/* --------------------------------------------------------------------------------------------- decisions of our own */

static void two_tensors_of_one_name_are_refused_at_the_second_in_both_modes(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "two_layer.seed.p64");
    fixture_poke_u32(&f, entry_at(&f, 9), fixture_u32(&f, entry_at(&f, 4)));
    fixture_poke(&f, entry_at(&f, 9) + ENTRY_HASH, f.bytes + entry_at(&f, 4) + ENTRY_HASH, 8);
    for (fmt_mode mode = FMT_MODE_DEFAULT; mode <= FMT_MODE_STRICT; mode++) {
        fixture_open(&f, mode);
        fixture_assert_refused(&f, "name-duplicate", entry_at(&f, 9));
        assert_int_equal(f.diag.index, 9);
        assert_int_equal(f.diag.expected, 4);
        assert_non_null(strstr(f.diag.text, "Tensors 4 and 9 are both named"));
    }
    fixture_free(&f);
}

/* one_matrix ends its section with merge ("a", "b"): 4 + 1 + 4 + 1 bytes. */
static void a_merge_side_without_bytes_is_refused_at_its_length(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "one_matrix.seed.p64");
    const uint64_t end = fixture_u32(&f, TOKENIZER_AT) + 69;
    fixture_poke_u32(&f, end - 10, 0);
    fixture_open(&f, FMT_MODE_DEFAULT);
    fixture_assert_refused(&f, "tokenizer-merge", end - 10);
    fixture_load(&f, "one_matrix.seed.p64");
    fixture_poke_u32(&f, end - 5, 0);
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_refused(&f, "tokenizer-merge", end - 5);
    assert_int_equal(f.diag.index, 0);
    fixture_free(&f);
}

static void a_token_that_stands_twice_is_a_note_in_both_modes(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "two_layer.seed.p64");
    fixture_open(&f, FMT_MODE_DEFAULT);
    const uint64_t at = f.file.token_at[7];
    const fmt_str other = p64_get_token(&f.file, 5);
    assert_int_equal(other.size, p64_get_token(&f.file, 7).size);
    fixture_poke(&f, at + 4, other.data, other.size);
    for (fmt_mode mode = FMT_MODE_DEFAULT; mode <= FMT_MODE_STRICT; mode++) {
        fixture_open(&f, mode);
        fixture_assert_open(&f);
        assert_true(fixture_has_note(&f, "tokenizer-repeat"));
        assert_int_equal(f.notes[0].index, 7);
        assert_int_equal(f.file.tokenizer.n_repeated, 1);
    }
    fixture_free(&f);
}

static void a_file_of_both_faults_is_refused_by_the_rule_that_stands_first(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "two_layer.seed.p64");
    fixture_poke_u32(&f, 64 + 28, 16); /* hparams-extension, strict only */
    fixture_poke_u32(&f, 64 + 60, 1);  /* hparams-reserved */
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_refused(&f, "hparams-reserved", 64 + 60);
    fixture_free(&f);
}

/* ---------------------------------------------------------------------------------------------- a container by hand */

/* `count` F32 tensors of one element, on pages of 256 bytes; `names` is the whole string table, `offsets` where
 * names begin. */
static void build_plain(fixture *f, const char *names, uint32_t names_size, const uint32_t *offsets, uint32_t count) {
    const uint32_t strings = 128 + 64 * count;
    const uint32_t manifold = (strings + names_size + 63) / 64 * 64;
    const uint32_t checksum = manifold + 64;
    const uint32_t first = (checksum + 4 * (count + 1) + 255) / 256 * 256;
    const size_t size = first + 256u * count;
    uint8_t *b = calloc(1, size);
    assert_non_null(b);
    memcpy(b, "p64", 4);
    store_u16(b + 4, 4);
    store_u16(b + 6, 1);
    const uint32_t header[] = {0, 128, checksum, 64, strings, checksum, manifold, count, 256};
    for (size_t i = 0; i < sizeof header / sizeof header[0]; i++) {
        store_u32(b + 8 + 4 * i, header[i]);
    }
    memcpy(b + strings, names, names_size);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *e = b + 128 + 64 * (size_t)i;
        store_u32(e, offsets[i]);
        store_u16(e + 4, P64_ROLE_UNKNOWN);
        store_u32(e + 12, 1);
        store_u32(e + 16, 1);
        store_u32(e + 32, first + 256 * i);
        store_u32(e + 36, 4);
        store_u64(e + 48, fnv1a64(names + offsets[i], strlen(names + offsets[i])));
        store_u32(b + checksum + 4 + 4 * (size_t)i, crc32c(b + first + 256 * (size_t)i, 4));
    }
    fixture_take(f, b, size);
    free(b);
    fixture_seal(f);
}

static void names_that_share_their_bytes_cannot_make_the_reader_crawl(void **state) {
    enum { COUNT = 1000, LENGTH = 200000 };
    static char names[LENGTH + 2];
    static uint32_t offsets[COUNT];
    fixture f = {0};
    (void)state;
    memset(names + 1, 'x', LENGTH);
    for (uint32_t i = 0; i < COUNT; i++) {
        offsets[i] = 1 + i;
    }
    build_plain(&f, names, sizeof names, offsets, COUNT);
    fixture_open(&f, FMT_MODE_DEFAULT);
    fixture_assert_refused(&f, "name-limit", entry_at(&f, 1));
    fixture_free(&f);
}

static void short_names_may_share_their_bytes(void **state) {
    static const uint32_t offsets[] = {1, 3, 5};
    fixture f = {0};
    p64_tensor t;
    (void)state;
    build_plain(&f, "\0a.b.c", 7, offsets, 3);
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_open(&f);
    assert_true(p64_find_name(&f.file, "b.c", 3, &t));
    assert_int_equal(t.index, 1);
    fixture_free(&f);
}

static void many_tensors_of_one_name_are_found_without_comparing_each_with_each(void **state) {
    enum { COUNT = 50000 };
    static uint32_t offsets[COUNT];
    fixture f = {0};
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        offsets[i] = 1;
    }
    build_plain(&f, "\0same", 6, offsets, COUNT);
    fixture_open(&f, FMT_MODE_DEFAULT);
    fixture_assert_refused(&f, "name-duplicate", entry_at(&f, 1));
    fixture_free(&f);
}

/* --------------------------------------------------------------------------------------------------------- look-ups */

static void each_of_many_tensors_is_found_by_its_name(void **state) {
    enum { COUNT = 3000, STEP = 12 };
    static char names[1 + STEP * COUNT];
    static uint32_t offsets[COUNT];
    fixture f = {0};
    p64_tensor t;
    (void)state;
    for (uint32_t i = 0; i < COUNT; i++) {
        offsets[i] = 1 + STEP * i;
        snprintf(names + offsets[i], STEP, "tensor%05u", i * 7919 % 100000);
    }
    build_plain(&f, names, sizeof names, offsets, COUNT);
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_open(&f);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_true(p64_find_name(&f.file, names + offsets[i], STEP - 1, &t));
        assert_int_equal(t.index, i);
        assert_true(p64_find_source_name(&f.file, names + offsets[i], STEP - 1, &t));
        assert_int_equal(t.index, i);
    }
    fixture_free(&f);
}

static void tensors_are_found_by_role_name_and_source_name(void **state) {
    static const char unknown[] = "rope_freqs.weight";
    fixture f = {0};
    p64_tensor t = {0};
    (void)state;
    fixture_load(&f, "two_layer.extended.p64");
    fixture_open(&f, FMT_MODE_DEFAULT);
    fixture_assert_open(&f);
    assert_true(p64_find_role(&f.file, P64_ROLE_FFN_DOWN, 1, &t));
    assert_int_equal(t.layer, 1);
    assert_memory_equal(t.name.data, "blk.1.ffn_down.weight", t.name.size);
    assert_true(p64_find_role(&f.file, P64_ROLE_TOKEN_EMBD, P64_NO_LAYER, &t));
    assert_int_equal(t.layer, P64_NO_LAYER);
    assert_int_equal(t.dims[0], 2);
    assert_int_equal(t.dims[1], 40);
    assert_int_equal(t.dims[2], 1);
    assert_false(p64_find_role(&f.file, P64_ROLE_MOE_ROUTER, 0, &t));
    assert_false(p64_find_role(&f.file, P64_ROLE_FFN_DOWN, 7, &t));
    assert_false(p64_find_name(&f.file, unknown, sizeof unknown - 1, &t)); /* the extended profile renames it */
    assert_true(p64_find_source_name(&f.file, unknown, sizeof unknown - 1, &t));
    assert_memory_equal(t.name.data, "tensor.0fbc2aa2ac6d1ee1", t.name.size);
    assert_false(p64_find_source_name(&f.file, "nothing", 7, &t));
    fixture_free(&f);
}

static void raw_dimensions_are_turned_into_ggml_order(void **state) {
    static const char name[] = "lm_head.weight";
    fixture f = {0};
    p64_tensor t;
    (void)state;
    fixture_load(&f, "hf_names.seed.p64");
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_open(&f);
    assert_true(p64_find_source_name(&f.file, name, sizeof name - 1, &t));
    assert_int_equal(t.file_dims[0], 5);
    assert_int_equal(t.file_dims[1], 4);
    assert_int_equal(t.dims[0], 4);
    assert_int_equal(t.dims[1], 5);
    fixture_free(&f);
}

static void tokens_merges_schedule_and_manifold_are_given_as_stored(void **state) {
    fixture f = {0};
    fmt_str left, right;
    (void)state;
    fixture_load(&f, "two_layer.seed.p64");
    fixture_open(&f, FMT_MODE_STRICT);
    fixture_assert_open(&f);
    assert_memory_equal(p64_get_token(&f.file, 2).data, "<|eot_id|>", 10);
    uint64_t at = f.file.tokenizer.merges_at;
    for (uint32_t i = 0; i < f.file.tokenizer.n_merges; i++) {
        p64_next_merge(&f.file, &at, &left, &right);
    }
    assert_int_equal(left.size, 5);
    assert_memory_equal(left.data, "\xC4\xA0wor", 5);
    assert_memory_equal(right.data, "ld", 2);
    assert_int_equal(at, f.file.header.tokenizer_at + f.file.tokenizer.bytes);
    assert_true(f.file.has_schedule);
    const p64_schedule_record record = p64_get_schedule(&f.file, 1);
    assert_int_equal(record.blob_begin, 0x2000);
    assert_int_equal(record.blob_end, 0x2f20);
    assert_int_equal(record.tensor_count, 9);
    assert_int_equal(record.roles_mask, 0x01ff);
    const p64_manifold m = p64_get_manifold(&f.file, 2);
    assert_true(m.scale == 1.0f && m.attention_depth == 0.0f);
    fixture_free(&f);
}

static void the_manifold_is_computed_bit_for_bit(void **state) {
    static const struct {
        uint32_t layer, n_layer, spin, phase;
    } rows[] = {{0, 4, 0, 0x3f800000},          {1, 4, 0x3f3504f3, 0xb33bbd2e}, {2, 4, 0x3f800000, 0xbf800000},
                {3, 4, 0x3f3504f3, 0x324cde2e}, {4, 4, 0xb3bbbd2e, 0x3f800000}, {1, 1, 0xb3bbbd2e, 0x3f800000}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const p64_manifold m = p64_manifold_project(rows[i].layer, rows[i].n_layer);
        uint32_t spin, phase;
        memcpy(&spin, &m.topological_spin, 4);
        memcpy(&phase, &m.spatial_phase, 4);
        assert_int_equal(spin, rows[i].spin);
        assert_int_equal(phase, rows[i].phase);
    }
    assert_true(p64_manifold_project(0, 0).attention_depth == 1.0f);
}

static void roles_come_from_exact_names_only(void **state) {
    static const struct {
        const char *name;
        p64_role role;
        uint32_t layer;
    } rows[] = {
        {"token_embd.weight", P64_ROLE_TOKEN_EMBD, P64_NO_LAYER},
        {"output.weight", P64_ROLE_OUTPUT, P64_NO_LAYER},
        {"output_norm.weight", P64_ROLE_OUTPUT_NORM, P64_NO_LAYER},
        {"blk.0.attn_q.weight", P64_ROLE_ATTN_Q, 0},
        {"blk.11.ffn_down_shexp.weight", P64_ROLE_MOE_SHARED_DOWN, 11},
        {"blk.12.attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER}, /* layers are 0..11 here */
        {"blk.01.attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk..attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.4294967296.attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.18446744073709551616.attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.0.attn_q.bias", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.0.attn_q_norm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.0.attn_sub_norm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.0.attn_q.weight2", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"xblk.0.attn_q.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"blk.0", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"", P64_ROLE_UNKNOWN, P64_NO_LAYER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t layer = 77;
        const p64_role role = p64_role_of_gguf_name(rows[i].name, strlen(rows[i].name), 12, &layer);
        if (role != rows[i].role || layer != rows[i].layer) {
            fail_msg("%s: role %u, layer %u", rows[i].name, role, layer);
        }
    }
}

static fmt_str pick_token(void *ctx, uint32_t id) {
    const char *const *tokens = ctx;
    return (fmt_str){tokens[id], strlen(tokens[id])};
}

static void the_stop_set_begins_with_eos_then_words_then_special_then_marked_tokens(void **state) {
    static const char *tokens[] = {"a",     "my_im_end", "<|END_OF_TURN|>", "</s>",       "<|im_end|>", "<|eot_id|>",
                                   "</S>", "<|eom|>",    "x",              "<|im_end|>", "end_of_turn"};
    static const uint32_t wanted[] = {8, 5, 4, 3, 2, 6, 9, 1};
    uint32_t ids[P64_MAX_STOPS];
    (void)state;
    const uint32_t count = p64_derive_stops(pick_token, tokens, 11, 8, ids);
    assert_int_equal(count, 8);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(ids[i], wanted[i]);
    }
    assert_int_equal(p64_derive_stops(pick_token, tokens, 1, 0, ids), 1);
}

/* ------------------------------------------------------------------------------------------------ scratch and rules */

static void too_little_scratch_is_told_and_nothing_is_filled_in(void **state) {
    fixture f = {0};
    p64_file file;
    fmt_diag diag;
    (void)state;
    fixture_load(&f, "two_layer.seed.p64");
    fixture_open(&f, FMT_MODE_DEFAULT);
    memset(&file, 0x5A, sizeof file);
    const p64_file before = file;
    const fmt_span span = {f.bytes, f.size};
    assert_int_equal(p64_open(span, 0, f.scratch, f.scratch_bytes - 1, &file, NULL, NULL, &diag), FMT_NO_SPACE);
    assert_int_equal(p64_open(span, 0, NULL, 0, &file, NULL, NULL, NULL), FMT_NO_SPACE);
    f.bytes[0] = 'q';
    assert_int_equal(p64_open(span, 0, f.scratch, f.scratch_bytes, &file, NULL, NULL, NULL), FMT_BAD_FILE);
    assert_memory_equal(&file, &before, sizeof file);
    fixture_free(&f);
}

static void rules_have_different_ids_and_can_be_looked_up(void **state) {
    uint32_t count;
    const p64_rule_info *rules = p64_rules(&count);
    (void)state;
    for (uint32_t i = 0; i < count; i++) {
        assert_ptr_equal(p64_find_rule(rules[i].id), &rules[i]);
        assert_true(strlen(rules[i].sentence) > 0 && strlen(rules[i].section) > 0);
    }
    assert_null(p64_find_rule("no-such-rule"));
}

/* ------------------------------------------------------------------------------------------------ damage everywhere */

static bool is_whole(fixture *f) {
    fixture_open(f, FMT_MODE_STRICT);
    return f->status == FMT_OK && p64_check_blobs(&f->file, P64_CHECK_CRC, &f->diag) == FMT_OK;
}

static void every_flipped_bit_is_refused_in_strict_mode(void **state) {
    fixture f = {0};
    (void)state;
    fixture_load(&f, "one_matrix.seed.p64");
    assert_true(is_whole(&f));
    for (uint64_t at = 0; at < f.size; at++) {
        /* Padding is zeros for 3400 bytes: one bit of each of its bytes is enough. */
        const unsigned bits = at >= 600 && at < 4096 ? 1 : 8;
        for (unsigned bit = 0; bit < bits; bit++) {
            f.bytes[at] ^= (uint8_t)(1u << bit);
            if (is_whole(&f)) {
                fail_msg("bit %u of byte %llu does not matter", bit, (unsigned long long)at);
            }
            f.bytes[at] ^= (uint8_t)(1u << bit);
        }
    }
    fixture_free(&f);
}

static void every_shortened_file_is_refused_in_strict_mode(void **state) {
    fixture whole = {0}, part = {0};
    (void)state;
    fixture_load(&whole, "two_layer.seed.p64");
    for (size_t size = 0; size < whole.size; size += size > 2900 ? 61 : 1) {
        fixture_take(&part, whole.bytes, size);
        if (is_whole(&part)) {
            fail_msg("%zu bytes of %zu are accepted", size, whole.size);
        }
    }
    fixture_free(&whole);
    fixture_free(&part);
}

/* Valid checksums around random damage: what comes out does not matter here, only that nothing is read out of
 * bounds. */
static void random_metadata_with_right_checksums_is_read_without_harm(void **state) {
    uint64_t seed = 20261130;
    fixture whole = {0}, f = {0};
    (void)state;
    fixture_load(&whole, "two_layer.extended.p64");
    const uint32_t checksum = fixture_u32(&whole, 28);
    for (int round = 0; round < 20000; round++) {
        fixture_take(&f, whole.bytes, whole.size);
        for (int k = 0; k < 1 + round % 3; k++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
            f.bytes[(seed >> 33) % checksum] = (uint8_t)((seed >> 20) & 1 ? seed >> 25 : 0xFF);
        }
        if (fixture_u32(&f, 28) + 4u <= f.size) {
            fixture_seal(&f);
        }
        fixture_open(&f, FMT_MODE_DEFAULT);
        if (f.status == FMT_OK) {
            (void)p64_check_blobs(&f.file, P64_CHECK_ALL, &f.diag);
        }
    }
    fixture_free(&whole);
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tensors_of_one_name_are_refused_at_the_second_in_both_modes),
        cmocka_unit_test(a_merge_side_without_bytes_is_refused_at_its_length),
        cmocka_unit_test(a_token_that_stands_twice_is_a_note_in_both_modes),
        cmocka_unit_test(a_file_of_both_faults_is_refused_by_the_rule_that_stands_first),
        cmocka_unit_test(names_that_share_their_bytes_cannot_make_the_reader_crawl),
        cmocka_unit_test(short_names_may_share_their_bytes),
        cmocka_unit_test(many_tensors_of_one_name_are_found_without_comparing_each_with_each),
        cmocka_unit_test(each_of_many_tensors_is_found_by_its_name),
        cmocka_unit_test(tensors_are_found_by_role_name_and_source_name),
        cmocka_unit_test(raw_dimensions_are_turned_into_ggml_order),
        cmocka_unit_test(tokens_merges_schedule_and_manifold_are_given_as_stored),
        cmocka_unit_test(the_manifold_is_computed_bit_for_bit),
        cmocka_unit_test(roles_come_from_exact_names_only),
        cmocka_unit_test(the_stop_set_begins_with_eos_then_words_then_special_then_marked_tokens),
        cmocka_unit_test(too_little_scratch_is_told_and_nothing_is_filled_in),
        cmocka_unit_test(rules_have_different_ids_and_can_be_looked_up),
        cmocka_unit_test(every_flipped_bit_is_refused_in_strict_mode),
        cmocka_unit_test(every_shortened_file_is_refused_in_strict_mode),
        cmocka_unit_test(random_metadata_with_right_checksums_is_read_without_harm),
    };
    return cmocka_run_group_tests_name("p64 reader", tests, NULL, NULL);
}
