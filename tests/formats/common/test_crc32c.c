/* test_crc32c.c — every path this CPU can run against the vectors of P64 section 20, V1, against a bit-by-bit CRC, and
 * against each other on random lengths, offsets and beginnings. */
#include "common/crc32c.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The definition: one bit at a time. */
static uint32_t crc_by_bits(uint32_t crc, const uint8_t *bytes, uint64_t size) {
    crc = ~crc;
    for (uint64_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78u : 0);
        }
    }
    return ~crc;
}

static uint64_t seed;

/* splitmix64 */
static uint64_t draw(void) {
    uint64_t z = seed += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

/* A buffer whose last byte is the last of its allocation, so that a sanitizer sees a read beyond it. */
static uint8_t *make_random_bytes(size_t size) {
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)draw();
    }
    return bytes;
}

typedef void check_fn(const crc32c_path *path);

static void for_each_usable_path(check_fn *check) {
    for (const crc32c_path *path = crc32c_paths; path->name != NULL; path++) {
        print_message("           %s: %s\n", path->name, path->is_usable() ? "checked" : "not on this CPU");
        if (path->is_usable()) {
            check(path);
        }
    }
}

static void check_vectors(const crc32c_path *path) {
    uint8_t zeros[32] = {0}, ones[32], ascending[32];
    for (size_t i = 0; i < 32; i++) {
        ones[i] = 0xFF;
        ascending[i] = (uint8_t)i;
    }
    assert_int_equal(path->extend(0, NULL, 0), 0);
    assert_true(path->extend(0, "a", 1) == 0xC1D04330u);
    assert_true(path->extend(0, "123456789", 9) == 0xE3069283u);
    assert_true(path->extend(0, "p64", 4) == 0x9313B240u);
    assert_true(path->extend(0, zeros, 32) == 0x8A9136AAu);
    assert_true(path->extend(0, ones, 32) == 0x62A8AB43u);
    assert_true(path->extend(0, ascending, 32) == 0x46DD794Eu);
}

static void vectors_hold_on_every_path(void **state) {
    (void)state;
    for_each_usable_path(check_vectors);
}

static void check_short_lengths(const crc32c_path *path) {
    enum { LONGEST = 1200 };
    for (size_t size = 0; size <= LONGEST; size++) {
        uint8_t *bytes = make_random_bytes(size + 1);
        if (path->extend(0x12345678u, bytes + 1, size) != crc_by_bits(0x12345678u, bytes + 1, size)) {
            fail_msg("%s, %zu bytes", path->name, size);
        }
        free(bytes);
    }
}

static void every_length_to_1200_agrees_with_the_definition_on_every_path(void **state) {
    (void)state;
    seed = 1;
    for_each_usable_path(check_short_lengths);
}

static void check_random_pieces(const crc32c_path *path) {
    enum { SIZE = 100000, ROUNDS = 300 };
    uint8_t *bytes = make_random_bytes(SIZE);
    for (int round = 0; round < ROUNDS; round++) {
        const uint64_t offset = draw() % SIZE;
        const uint64_t size = draw() % (SIZE - offset + 1);
        const uint32_t begin = (uint32_t)draw();
        if (path->extend(begin, bytes + offset, size) != crc32c_paths[0].extend(begin, bytes + offset, size)) {
            fail_msg("%s, %zu bytes at offset %zu", path->name, (size_t)size, (size_t)offset);
        }
    }
    assert_true(crc32c_paths[0].extend(0, bytes, SIZE) == crc_by_bits(0, bytes, SIZE));
    free(bytes);
}

static void random_lengths_and_offsets_agree_on_every_path(void **state) {
    (void)state;
    seed = 2;
    for_each_usable_path(check_random_pieces);
}

static void chosen_path_is_the_last_usable_one(void **state) {
    (void)state;
    const crc32c_path *last = NULL;
    for (const crc32c_path *path = crc32c_paths; path->name != NULL; path++) {
        last = path->is_usable() ? path : last;
    }
    assert_ptr_equal(crc32c_chosen_path(), last);
    assert_string_equal(crc32c_paths[0].name, "table");
    assert_true(crc32c("123456789", 9) == 0xE3069283u);
}

static void extension_by_pieces_gives_the_crc_of_the_whole(void **state) {
    (void)state;
    seed = 3;
    uint8_t *bytes = make_random_bytes(5000);
    uint32_t crc = 0;
    for (size_t at = 0; at < 5000;) {
        const size_t size = draw() % 700;
        const size_t piece = size < 5000 - at ? size : 5000 - at;
        crc = crc32c_extend(crc, bytes + at, piece);
        at += piece;
    }
    assert_true(crc == crc_by_bits(0, bytes, 5000));
    free(bytes);
}

static void combination_gives_the_crc_of_both_parts_in_order(void **state) {
    (void)state;
    seed = 4;
    uint8_t *bytes = make_random_bytes(20000);
    for (int round = 0; round < 200; round++) {
        const uint64_t size = draw() % 20001;
        const uint64_t cut = round == 0 ? 0 : round == 1 ? size : draw() % (size + 1);
        const uint32_t a = crc32c(bytes, cut);
        const uint32_t b = crc32c(bytes + cut, size - cut);
        assert_true(crc32c_combine(a, b, size - cut) == crc32c(bytes, size));
    }
    free(bytes);
}

/* x^(8n) for lengths that no test can allocate: appending 2^40 zeros in one step or as two halves is the same. */
static void combination_of_huge_lengths_is_consistent(void **state) {
    (void)state;
    const uint64_t half = UINT64_C(1) << 39;
    const uint32_t crc = 0xDEADBEEFu;
    const uint32_t in_two = crc32c_combine(crc32c_combine(crc, 0, half), 0, half);
    assert_true(crc32c_combine(crc, 0, 2 * half) == in_two);
    assert_true(crc32c_combine(crc, 0, UINT64_MAX) == crc32c_combine(crc32c_combine(crc, 0, UINT64_MAX - 1), 0, 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_hold_on_every_path),
        cmocka_unit_test(every_length_to_1200_agrees_with_the_definition_on_every_path),
        cmocka_unit_test(random_lengths_and_offsets_agree_on_every_path),
        cmocka_unit_test(chosen_path_is_the_last_usable_one),
        cmocka_unit_test(extension_by_pieces_gives_the_crc_of_the_whole),
        cmocka_unit_test(combination_gives_the_crc_of_both_parts_in_order),
        cmocka_unit_test(combination_of_huge_lengths_is_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
