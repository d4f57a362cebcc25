/* test_key_files.c — keys in files: made for one user, refused when others can read them, and what they sign. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "corpus.h"
#include "keys/mac_key.h"
#include "keys/private_file.h"
#include "keys/signing_key.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/agent.key", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static mode_t mode_of(const char *file) {
    struct stat info;
    assert_int_equal(stat(file, &info), 0);
    return info.st_mode & 07777;
}

static public_key make_key(const char *passphrase) {
    public_key shown;
    assert_int_equal(signing_key_create(path, passphrase, &shown, NULL), QN_OK);
    return shown;
}

static void write_text(const char *text, mode_t mode) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
    close(fd);
}

static void a_key_file_is_for_its_owner_alone_whatever_the_mask(void **state) {
    (void)state;
    const mode_t before = umask(0);
    make_key(NULL);
    umask(before);
    assert_int_equal(mode_of(path), 0600);
}

static void what_a_key_signs_its_public_half_accepts_and_nothing_else(void **state) {
    (void)state;
    signing_key *key;
    uint8_t signature[SIGNATURE_BYTES];
    const public_key shown = make_key(NULL);
    assert_int_equal(signing_key_open(path, NULL, &key, NULL), QN_OK);
    assert_memory_equal(signing_key_public(key), &shown, sizeof shown);
    assert_int_equal(signing_key_sign(key, "tide", 4, signature, NULL), QN_OK);
    signing_key_close(key);
    assert_true(public_key_verify(&shown, "tide", 4, signature));
    assert_false(public_key_verify(&shown, "tidf", 4, signature));
    signature[17] ^= 1;
    assert_false(public_key_verify(&shown, "tide", 4, signature));
}

static void a_file_that_is_there_is_not_replaced(void **state) {
    (void)state;
    public_key shown;
    error_context err = {0};
    write_text("mine", 0600);
    assert_int_equal(signing_key_create(path, NULL, &shown, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "not replaced"));
    size_t size;
    uint8_t *text = test_read_file(path, &size);
    assert_memory_equal(text, "mine", 4);
    free(text);
}

static void a_key_that_others_can_read_is_refused_by_its_mode(void **state) {
    static const mode_t modes[] = {0640, 0604, 0660, 0610, 0601, 0644};
    (void)state;
    make_key(NULL);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        signing_key *key;
        error_context err = {0};
        assert_int_equal(chmod(path, modes[i]), 0);
        assert_int_equal(signing_key_open(path, NULL, &key, &err), QN_DENIED);
        assert_non_null(strstr(error_text(&err), "chmod 600"));
    }
}

static void a_sealed_key_opens_with_its_passphrase_alone(void **state) {
    (void)state;
    signing_key *key;
    error_context err = {0};
    make_key("spring tide");
    size_t size;
    uint8_t *text = test_read_file(path, &size);
    assert_non_null(strstr((char *)text, "BEGIN ENCRYPTED PRIVATE KEY"));
    free(text);
    assert_int_equal(signing_key_open(path, NULL, &key, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "--passphrase-file"));
    error_clear(&err);
    assert_int_equal(signing_key_open(path, "neap tide", &key, &err), QN_BAD_INPUT);
    assert_int_equal(signing_key_open(path, "spring tide", &key, NULL), QN_OK);
    signing_key_close(key);
}

static void what_is_no_key_is_refused_by_name(void **state) {
    static const char *const texts[] = {
        "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        /* a key of another kind: X25519 */
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI\n-----END PRIVATE KEY-----\n"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        signing_key *key;
        error_context err = {0};
        write_text(texts[i], 0600);
        assert_int_equal(signing_key_open(path, NULL, &key, &err), QN_BAD_FILE);
        assert_non_null(strstr(error_text(&err), "Ed25519"));
    }
}

/* The first test of RFC 8032, section 7.1. */
static void a_published_signature_is_accepted(void **state) {
    (void)state;
    static const char key_text[] = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    static const char hex[] = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
                              "d25bf5f0595bbe24655141438e7a100b";
    public_key key;
    uint8_t signature[SIGNATURE_BYTES];
    char text[KEY_TEXT_SIZE];
    assert_int_equal(public_key_parse(key_text, strlen(key_text), &key, NULL), QN_OK);
    assert_true(key_parse_hex(hex, sizeof signature, signature));
    assert_true(public_key_verify(&key, "", 0, signature));
    assert_string_equal(public_key_text(&key, text), key_text);
}

static void mac_keys_read_back_and_tell_texts_apart(void **state) {
    (void)state;
    mac_key made, read;
    uint8_t mac[MAC_BYTES];
    assert_int_equal(mac_key_create(path, &made, NULL), QN_OK);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mac_key_open(path, &read, NULL), QN_OK);
    assert_memory_equal(&made, &read, sizeof made);
    assert_true(mac_key_compute(&made, "tide", 4, mac));
    assert_true(mac_key_verify(&read, "tide", 4, mac));
    assert_false(mac_key_verify(&read, "tidf", 4, mac));
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(mac_key_open(path, &read, NULL), QN_DENIED);
}

/* RFC 4231, test case 1 has a key of 20 bytes; padded with zeros HMAC gives the same. */
static void hmac_gives_the_published_value(void **state) {
    (void)state;
    static const char hex[] = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
    mac_key key = {.bytes = {0}};
    uint8_t mac[MAC_BYTES], wanted[MAC_BYTES];
    memset(key.bytes, 0x0b, 20);
    assert_true(key_parse_hex(hex, sizeof wanted, wanted));
    assert_true(mac_key_compute(&key, "Hi There", 8, mac));
    assert_memory_equal(mac, wanted, sizeof mac);
}

static void a_passphrase_is_the_first_line_of_a_private_file(void **state) {
    (void)state;
    char passphrase[PASSPHRASE_SIZE];
    write_text("spring tide\nsecond line\n", 0600);
    assert_int_equal(private_file_passphrase(path, passphrase, NULL), QN_OK);
    assert_string_equal(passphrase, "spring tide");
    write_text("spring tide\n", 0644);
    assert_int_equal(private_file_passphrase(path, passphrase, NULL), QN_DENIED);
    write_text("\n", 0600);
    assert_int_equal(private_file_passphrase(path, passphrase, NULL), QN_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_file_is_for_its_owner_alone_whatever_the_mask, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_a_key_signs_its_public_half_accepts_and_nothing_else, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_is_not_replaced, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_key_that_others_can_read_is_refused_by_its_mode, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_sealed_key_opens_with_its_passphrase_alone, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_key_is_refused_by_name, make_folder, remove_folder),
        cmocka_unit_test(a_published_signature_is_accepted),
        cmocka_unit_test_setup_teardown(mac_keys_read_back_and_tell_texts_apart, make_folder, remove_folder),
        cmocka_unit_test(hmac_gives_the_published_value),
        cmocka_unit_test_setup_teardown(a_passphrase_is_the_first_line_of_a_private_file, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
