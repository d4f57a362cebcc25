/* test_key_lists.c — whose key is whose, and which keys count no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/q42.h>

#include "corpus.h"
#include "keys/trusted_keys.h"

#define KEY_A "ed25519:8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"
#define KEY_B "ed25519:8139770EA87D175F56A35466C34C7ECCCB8D8A91B4EE37A25DF60F5B8FC9B394"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/keys", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void write_text(const char *text, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static public_key key_of(const char *text) {
    public_key key;
    assert_int_equal(public_key_parse(text, strlen(text), &key, NULL), QN_OK);
    return key;
}

static void each_key_has_its_name_and_the_hash_of_it(void **state) {
    (void)state;
    static const char text[] = "# who may sign\n\n" KEY_A "  did:example:alice \r\n" KEY_B "\tdid:example:bob";
    trusted_keys keys;
    write_text(text, sizeof text - 1);
    assert_int_equal(trusted_keys_read(path, &keys, NULL), QN_OK);
    assert_int_equal(keys.n_items, 2);
    const public_key b = key_of(KEY_B);
    const trusted_key *found = trusted_keys_find(&keys, b.id);
    assert_non_null(found);
    assert_string_equal(found->name, "did:example:bob");
    assert_int_equal(found->signer, q42_hash("did:example:bob", 15));
    assert_string_equal(keys.items[0].name, "did:example:alice");
    trusted_keys_free(&keys);
}

static void a_wrong_line_is_told_by_its_number(void **state) {
    static const struct {
        const char *text, *line, *words;
    } rows[] = {
        {KEY_A " a\nhello b\n", "line 2", "64 hexadecimal"},
        {KEY_A "0 a\n", "line 1", "64 hexadecimal"},
        {KEY_A "\n", "line 1", "one name"},
        {KEY_A " two words\n", "line 1", "one name"},
        {KEY_A " a\n# x\n" KEY_A " b\n", "line 3", "already, as a"},
        {KEY_A " \xFF\n", "line 1", "UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        trusted_keys keys;
        error_context err = {0};
        write_text(rows[i].text, strlen(rows[i].text));
        assert_int_equal(trusted_keys_read(path, &keys, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[i].line));
        assert_non_null(strstr(error_text(&err), rows[i].words));
    }
}

static void a_revoked_key_is_found_and_revoked_only_once(void **state) {
    (void)state;
    const public_key a = key_of(KEY_A), b = key_of(KEY_B);
    revocations list;
    assert_int_equal(revocations_read(path, &list, NULL), QN_OK);
    assert_int_equal(list.n_items, 0);
    assert_int_equal(revocations_add(path, &a, UINT64_C(1750000000000), "lost at sea", NULL), QN_OK);
    assert_int_equal(revocations_add(path, &a, UINT64_C(1760000000000), NULL, NULL), QN_NOTE_END);
    assert_int_equal(revocations_read(path, &list, NULL), QN_OK);
    assert_int_equal(list.n_items, 1);
    assert_string_equal(revocations_find(&list, a.id)->text, "2025-06-15T15:06:40Z lost at sea");
    assert_null(revocations_find(&list, b.id));
    revocations_free(&list);
}

static void a_reason_is_one_line_of_text(void **state) {
    static const char *const reasons[] = {"two\nlines", "bell\a", "\xFF"};
    (void)state;
    const public_key a = key_of(KEY_A);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        assert_int_equal(revocations_add(path, &a, 0, reasons[i], NULL), QN_BAD_INPUT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_key_has_its_name_and_the_hash_of_it, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_wrong_line_is_told_by_its_number, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_revoked_key_is_found_and_revoked_only_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_reason_is_one_line_of_text, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
