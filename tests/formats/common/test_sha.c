/* test_sha.c — SHA-256 and SHA-1 against the examples of FIPS 180-4, whole and in pieces. */
#include "common/sha.h"

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void assert_digest(const uint8_t digest[SHA256_BYTES], const char *expected) {
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    assert_string_equal(hex, expected);
}

static void published_examples_give_their_digests(void **state) {
    (void)state;
    static const struct {
        const char *text, *digest;
    } rows[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint8_t digest[SHA256_BYTES];
        assert_true(sha256_digest(rows[i].text, strlen(rows[i].text), digest));
        assert_digest(digest, rows[i].digest);
    }
}

static void a_million_letters_in_uneven_pieces_give_the_published_digest(void **state) {
    (void)state;
    char letters[1009];
    memset(letters, 'a', sizeof letters);
    sha256_stream stream;
    assert_true(sha256_begin(&stream));
    uint64_t left = 1000000;
    for (uint64_t piece = 0; left != 0; piece = (piece + 7) % 1010) {
        const uint64_t size = piece < left ? piece : left;
        sha256_add(&stream, letters, size);
        left -= size;
    }
    uint8_t digest[SHA256_BYTES];
    assert_true(sha256_end(&stream, digest));
    assert_digest(digest, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void empty_input_may_be_null(void **state) {
    (void)state;
    uint8_t digest[SHA256_BYTES];
    assert_true(sha256_digest(NULL, 0, digest));
    assert_digest(digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void abandoned_stream_can_be_abandoned_again_and_gives_no_digest(void **state) {
    (void)state;
    sha256_stream stream;
    assert_true(sha256_begin(&stream));
    sha256_add(&stream, "abc", 3);
    sha256_abandon(&stream);
    sha256_abandon(&stream);
    uint8_t digest[SHA256_BYTES] = {42};
    assert_false(sha256_end(&stream, digest));
    assert_int_equal(digest[0], 42);
}

static void sha1_gives_the_published_digest_whole_and_in_pieces(void **state) {
    (void)state;
    static const uint8_t wanted[SHA1_BYTES] = {0xa9, 0x99, 0x3e, 0x36, 0x47, 0x06, 0x81, 0x6a, 0xba, 0x3e,
                                               0x25, 0x71, 0x78, 0x50, 0xc2, 0x6c, 0x9c, 0xd0, 0xd8, 0x9d};
    uint8_t digest[SHA1_BYTES];
    sha1_stream stream;
    assert_true(sha1_digest("abc", 3, digest));
    assert_memory_equal(digest, wanted, SHA1_BYTES);
    assert_true(sha1_begin(&stream));
    sha1_add(&stream, "a", 1);
    sha1_add(&stream, "bc", 2);
    memset(digest, 0, sizeof digest);
    assert_true(sha1_end(&stream, digest));
    assert_memory_equal(digest, wanted, SHA1_BYTES);
    sha1_abandon(&stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_examples_give_their_digests),
        cmocka_unit_test(a_million_letters_in_uneven_pieces_give_the_published_digest),
        cmocka_unit_test(sha1_gives_the_published_digest_whole_and_in_pieces),
        cmocka_unit_test(empty_input_may_be_null),
        cmocka_unit_test(abandoned_stream_can_be_abandoned_again_and_gives_no_digest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
