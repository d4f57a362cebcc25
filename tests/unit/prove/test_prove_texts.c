/* test_prove_texts.c — what comes as text from outside: Unicode forms, consents, settings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prove/nfc.h"
#include "prove/prove_consent.h"
#include "prove/settings_text.h"
#include "prove_fixture.h"

static void a_text_is_taken_only_when_it_is_surely_in_nfc(void **state) {
    static const struct {
        const char *text;
        uint64_t at;
    } rows[] = {{"", NFC_ALL}, {"plain", NFC_ALL}, {"\xc3\xa9t\xc3\xa9", NFC_ALL}, {"\xed\x95\x9c", NFC_ALL},
                {"e\xcc\x81", 1},                /* e and an accent that would melt into it */
                {"\xe2\x84\xab", 0},             /* the sign of angstrom is another letter */
                {"a\xcc\xb4\xcc\xb5", NFC_ALL},  /* two overlays, in order */
                {"a\xd6\xb0\xcc\xb4", 3},        /* classes 10 and 1: out of order */
                {"ab\xff", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(nfc_first_unsure(rows[i].text, strlen(rows[i].text)) == rows[i].at);
    }
}

static void a_graph_refuses_what_the_profile_forbids(void **state) {
    char *longest = malloc(PROVE_MAX_TEXT + 1);
    prove_graph g;
    error_context err = {0};
    (void)state;
    memset(longest, 'a', PROVE_MAX_TEXT + 1);
    prove_begin(&g, 0, &err);
    prove_about(&g, "urn:x");
    prove_say_text(&g, "q42m:name", 0, (fmt_str){longest, PROVE_MAX_TEXT});
    assert_int_equal(prove_settle(&g), QN_OK);
    prove_say_text(&g, "q42m:name", 0, (fmt_str){longest, PROVE_MAX_TEXT + 1});
    prove_say_word(&g, "q42m:name", 1, "after a failure nothing is taken");
    assert_int_equal(prove_settle(&g), QN_LIMIT);
    prove_end(&g);
    prove_begin(&g, 0, &err);
    prove_say_word(&g, "q42m:name", 0, "e\xcc\x81");
    assert_int_equal(prove_settle(&g), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "byte 1"));
    prove_end(&g);
    prove_begin(&g, 0, NULL);
    prove_say_integer(&g, "q42m:seed", 0, UINT64_C(1) << 60);
    assert_int_equal(prove_settle(&g), QN_LIMIT);
    prove_end(&g);
    free(longest);
}

static qn_status parse_consent(const char *text, error_context *err) {
    prove_consent consent;
    const qn_status status = prove_consent_parse((fmt_str){text, strlen(text)}, "file", &consent, err);
    if (status >= 0) {
        prove_consent_free(&consent);
    }
    return status;
}

#define WHOLE "granted_by = did:web:a\ngranted_to = did:web:b\nvalid_from = 1\nvalid_until = 2\n"

static void a_consent_says_where_it_is_wrong(void **state) {
    static const struct {
        const char *text, *words;
    } rows[] = {{"granted_by = a\n", "granted_to"},
                {"granted_by\n", "line 1"},
                {WHOLE "colour = red\n", "line 5"},
                {WHOLE "granted_by = c\n", "twice"},
                {"granted_by = a\ngranted_to = b\nvalid_from = 2\nvalid_until = 2\n", "never be valid"},
                {"granted_by = a\ngranted_to = b\nvalid_from = -2\n", "line 3"},
                {"granted_by = a\ngranted_to = b\nvalid_from = 99999999999999999999\n", "milliseconds"},
                {WHOLE "key = ed25519:12\n", "public key"},
                {WHOLE "signature = ed25519:12\n", "128"}};
    (void)state;
    assert_int_equal(parse_consent("# a comment\n\n" WHOLE "scope = x\r\n", NULL), QN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        assert_int_equal(parse_consent(rows[i].text, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), rows[i].words));
    }
}

static const char settings_example[] = "bias=3:-inf,4:0.25\nbos=1\nchat=1\nchunk=16\nconstraint=grammar:sha256:0123\ncontext=0\nctx=64\nkv=f16\nmax_tokens=3\nmin_p=0\nnumeric=f32acc\n"
                                       "prompt=text\nrepeat_last=64\nrepeat_penalty=1.10000002\nsentinel=sha256:45\nspecial=0\nsystem=0\ntemperature=0.5\n"
                                       "template=chatml\ntop_k=40\ntop_p=0.899999976\n";

static void settings_are_read_as_they_were_written(void **state) {
    run_settings s;
    char text[PROVE_MAX_TEXT];
    (void)state;
    assert_int_equal(settings_parse((fmt_str){settings_example, sizeof settings_example - 1}, &s, NULL), QN_OK);
    assert_int_equal(s.sampler.n_biases, 2);
    assert_string_equal(s.constraint, "grammar:sha256:0123");
    assert_string_equal(s.sentinel, "sha256:45");
    assert_int_equal(s.sampler.biases[1].id, 4);
    assert_true(s.is_chat && s.has_bos && !s.is_special && s.sampler.top_p == 0.9f && s.sampler.repeat_penalty == 1.1f);
    assert_string_equal(s.family, "chatml");
    assert_int_equal(settings_print(&s, text), sizeof settings_example - 1);
    assert_memory_equal(text, settings_example, sizeof settings_example - 1);
}

static void settings_that_are_no_settings_are_refused(void **state) {
    static const struct {
        const char *find, *put;
        qn_status status;
    } rows[] = {{"bos=1\n", "", QN_BAD_INPUT},          {"bos=1", "bos=2", QN_BAD_INPUT},    {"ctx=64", "ctx=", QN_BAD_INPUT},
                {"top_p=0.899999976\n", "", QN_BAD_INPUT}, {"ctx=64\n", "ctx=64\nctx=64\n", QN_BAD_INPUT}, {"kv=f16", "kv", QN_BAD_INPUT},
                {"top_k=40", "top_k=4000000000000", QN_BAD_INPUT}, {"kv=f16\n", "grammar=x\nkv=f16\n", QN_UNSUPPORTED}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[PROVE_MAX_TEXT];
        run_settings s;
        const char *at = strstr(settings_example, rows[i].find);
        const int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - settings_example), settings_example, rows[i].put,
                               at + strlen(rows[i].find));
        assert_int_equal(settings_parse((fmt_str){text, (uint64_t)n}, &s, NULL), rows[i].status);
    }
}

static void provenance_stands_beside_the_model_by_its_stem(void **state) {
    static const char *const rows[][2] = {{"a/b.p64", "a/b.prov.q42"}, {"a.b/c", "a.b/c.prov.q42"}, {"m.q8.p64", "m.q8.prov.q42"},
                                          {"a/.p64", "a/.p64.prov.q42"}};
    char path[PROVE_PATH_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_true(prove_path_of(rows[i][0], path));
        assert_string_equal(path, rows[i][1]);
    }
    assert_true(prove_signature_path_of("a/b.prov.q42", path));
    assert_string_equal(path, "a/b.prov.sig");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_taken_only_when_it_is_surely_in_nfc),
        cmocka_unit_test(a_graph_refuses_what_the_profile_forbids),
        cmocka_unit_test(a_consent_says_where_it_is_wrong),
        cmocka_unit_test(settings_are_read_as_they_were_written),
        cmocka_unit_test(settings_that_are_no_settings_are_refused),
        cmocka_unit_test(provenance_stands_beside_the_model_by_its_stem),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
