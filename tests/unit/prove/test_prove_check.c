/* test_prove_check.c — the six answers: each level with one wrong thing, signatures, consents, kernels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "prove/prove_signature.h"
#include "prove_fixture.h"

typedef struct fixture {
    toy t;
    char folder[64], volume[96], signature[96];
    trusted_keys keys;
    prove_runtime running;
    prove_check_options how;
} fixture;

static void write_file(const char *path, text_buffer bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes.text, 1, bytes.size, file), bytes.size);
    fclose(file);
    text_buffer_free(&bytes);
}

/* The key that signed the vectors, as a list. */
static void trust(fixture *f, const char *name) {
    char line[KEY_TEXT_SIZE + 64], key[KEY_TEXT_SIZE];
    trusted_keys_free(&f->keys);
    snprintf(line, sizeof line, "%s %s\n", public_key_text(&f->t.consent.key, key), name);
    assert_int_equal(trusted_keys_parse((fmt_span){(const uint8_t *)line, strlen(line)}, "list", &f->keys, NULL), QN_OK);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    toy_open(&f->t);
    snprintf(f->folder, sizeof f->folder, "/tmp/quoin-prove-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->volume, sizeof f->volume, "%s/toy.prov.q42", f->folder);
    snprintf(f->signature, sizeof f->signature, "%s/toy.prov.sig", f->folder);
    write_file(f->volume, toy_read(toy_path("toy.prov.q42")));
    write_file(f->signature, toy_read(toy_path("toy.prov.sig")));
    trust(f, "maker");
    f->running = (prove_runtime){.backend = "cpu", .device = "CPU, 1 worker", .driver = "cpu 1: none", .numeric = "f32acc"};
    memcpy(f->running.digest, f->t.tool.digest, SHA256_BYTES);
    f->how = (prove_check_options){.p64 = &f->t.p64, .p64_path = f->t.path, .volume_path = f->volume, .source = &f->t.source,
                                   .keys = &f->keys, .now_ms = TOY_TIME, .running = &f->running};
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    unlink(f->volume);
    unlink(f->signature);
    rmdir(f->folder);
    trusted_keys_free(&f->keys);
    toy_close(&f->t);
    free(f);
    return 0;
}

static prove_report check(fixture *f) {
    prove_report report;
    assert_int_equal(prove_check(&f->how, &report, NULL, NULL), QN_OK);
    return report;
}

static void expect(const prove_report *r, prove_question question, prove_verdict verdict, const char *code) {
    assert_int_equal(r->answers[question].verdict, verdict);
    assert_string_equal(r->answers[question].code, code);
    assert_true(strlen(r->answers[question].text) > 0);
}

/* Replaces the object of the first statement with this predicate about a subject that begins so; the volume then is unsigned. */
static void change(fixture *f, const char *beginning, const char *predicate, const char *word, uint64_t object) {
    prove_reading r;
    fmt_str subject;
    const uint64_t key = q42_hash(predicate, strlen(predicate));
    bool is_changed = false;
    assert_int_equal(prove_read_file(f->volume, &r, NULL), QN_OK);
    for (uint64_t i = 0; i < r.graph.volume.n_quins && !is_changed; i++) {
        q42_quin *q = &r.graph.volume.quins[i];
        is_changed = q->predicate == key && prove_find_text(&r, q->subject, &subject) && subject.size > strlen(beginning) &&
                     memcmp(subject.data, beginning, strlen(beginning)) == 0;
        if (is_changed) {
            *q = q42_quin_make(q->subject, q->predicate, word != NULL ? q42_hash(word, strlen(word)) : object, q->context, q->metadata);
        }
    }
    assert_true(is_changed);
    if (word != NULL) {
        uint64_t hash;
        fmt_diag diag;
        assert_int_equal(small_volume_add_term(&r.graph.volume, (fmt_str){word, strlen(word)}, &hash, &diag), FMT_OK);
    }
    r.graph.volume.is_literal = true;
    write_file(f->volume, toy_bytes(&r.graph));
    unlink(f->signature);
    prove_read_close(&r);
}

/* ------------------------------------------------------------------------------------------------------------- levels */

static void all_that_was_made_and_signed_passes(void **state) {
    fixture *f = *state;
    const prove_report r = check(f);
    const char *why;
    for (prove_question q = PROVE_Q_CONTAINER; q <= PROVE_Q_SIGNATURE; q++) {
        expect(&r, q, PROVE_PASS, "");
    }
    expect(&r, PROVE_Q_RUNTIME, PROVE_NOT_CHECKED, "");
    assert_int_equal(r.level, 4);
    assert_true(r.is_authenticated && r.is_full && r.has_volume);
    assert_true(prove_meets(&r, 4, true, &why));
    assert_false(prove_meets(&r, 5, false, &why));
    assert_non_null(why);
}

#define OTHER "sha256:0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER_SOURCE PROVE_SOURCE "0000000000000000000000000000000000000000000000000000000000000000"
#define OTHER_PROGRAM PROVE_RUNTIME "0000000000000000000000000000000000000000000000000000000000000000"
#define NUMBER ((uint64_t)Q42_TAG_INTEGER << 60 | 77)

static void each_level_falls_with_one_wrong_thing(void **state) {
    static const struct {
        const char *beginning, *predicate, *word;
        uint64_t object;
        prove_question question;
        const char *code;
        uint32_t level;
    } rows[] = {
        {PROVE_P64, "q42m:sha256", OTHER, 0, PROVE_Q_CONTAINER, "DIGEST_MISMATCH", 0},
        {PROVE_P64, "q42m:byteLength", NULL, NUMBER, PROVE_Q_CONTAINER, "DIGEST_MISMATCH", 0},
        {PROVE_P64, "q42m:p64Version", NULL, NUMBER, PROVE_Q_CONTAINER, "DIGEST_MISMATCH", 0},
        {PROVE_P64, "q42m:p64Flags", NULL, NUMBER, PROVE_Q_CONTAINER, "DIGEST_MISMATCH", 0},
        {PROVE_P64, "q42m:type", "q42m:Nothing", 0, PROVE_Q_CONTAINER, "PARSE", 0},
        {PROVE_P64, "q42m:pageSize", NULL, NUMBER, PROVE_Q_TABLES, "DIGEST_MISMATCH", 1},
        {PROVE_P64, "q42m:tensorCount", NULL, NUMBER, PROVE_Q_TABLES, "DIGEST_MISMATCH", 1},
        {PROVE_P64, "q42m:metadataCrc32c", NULL, NUMBER, PROVE_Q_TABLES, "DIGEST_MISMATCH", 1},
        {PROVE_P64, "q42m:tensorTableSha256", OTHER, 0, PROVE_Q_TABLES, "DIGEST_MISMATCH", 1},
        {PROVE_P64, "q42m:hparamsSha256", "no digest", 0, PROVE_Q_TABLES, "PARSE", 1},
        {PROVE_P64, "q42m:tokenizerSha256", OTHER, 0, PROVE_Q_TABLES, "DIGEST_MISMATCH", 1},
        {PROVE_TENSOR, "q42m:tensorBlob", NULL, UINT64_C(9) << 60 | 64, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:tensorBlob", NULL, NUMBER, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:tensorBytes", NULL, NUMBER, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:tensorDim", NULL, NUMBER, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:tensorName", "blk.9.attn_q.weight", 0, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:sourceNameHash", NULL, NUMBER, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:sourceTensorOffset", NULL, NUMBER, PROVE_Q_TENSORS, "POINTER_MISMATCH", 2},
        {PROVE_TENSOR, "q42m:tensorSha256", OTHER, 0, PROVE_Q_TENSORS, "DIGEST_MISMATCH", 2},
        {PROVE_P64, Q42M_DERIVED, OTHER_SOURCE, 0, PROVE_Q_SOURCE, "DIGEST_MISMATCH", 3},
        {PROVE_TRANSCODE, "q42m:toolRuntime", OTHER_PROGRAM, 0, PROVE_Q_RUNTIME, "DIGEST_MISMATCH", 4},
        {PROVE_LICENCE, "q42m:sha256", OTHER, 0, PROVE_Q_SIGNATURE, "LICENCE_MISSING", 4},
        {PROVE_CONSENT, "q42m:grantedTo", "did:web:thief.example", 0, PROVE_Q_SIGNATURE, "BAD_SIGNATURE", 4},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *one;
        set_up(&one);
        change(one, rows[i].beginning, rows[i].predicate, rows[i].word, rows[i].object);
        const prove_report r = check(one);
        expect(&r, rows[i].question, PROVE_FAIL, rows[i].code);
        assert_int_equal(r.level, rows[i].level);
        assert_false(r.is_authenticated);
        tear_down(&one);
    }
}

static void another_container_has_no_level(void **state) {
    fixture *f = *state;
    char path[512];
    mapped_file file;
    p64_file other;
    fmt_diag diag;
    uint64_t bytes;
    snprintf(path, sizeof path, "%s/tests/vectors/p64/one_matrix.seed.p64", getenv("QUOIN_SOURCE"));
    assert_int_equal(mapped_file_open(path, &file, NULL), QN_OK);
    assert_int_equal(p64_scratch_size(file.span, FMT_MODE_DEFAULT, &bytes, &diag), FMT_OK);
    void *scratch = malloc(bytes + 1);
    assert_int_equal(p64_open(file.span, FMT_MODE_DEFAULT, scratch, bytes, &other, NULL, NULL, &diag), FMT_OK);
    f->how.p64 = &other;
    const prove_report r = check(f);
    expect(&r, PROVE_Q_CONTAINER, PROVE_FAIL, "DIGEST_MISMATCH");
    assert_int_equal(r.level, 0);
    free(scratch);
    mapped_file_close(&file);
}

static void what_is_not_at_hand_is_not_checked(void **state) {
    fixture *f = *state;
    f->how.source = NULL;
    f->how.keys = NULL;
    f->how.running = NULL;
    const prove_report r = check(f);
    const char *why;
    expect(&r, PROVE_Q_SOURCE, PROVE_NOT_CHECKED, "MISSING");
    expect(&r, PROVE_Q_SIGNATURE, PROVE_NOT_CHECKED, "UNSIGNED");
    expect(&r, PROVE_Q_RUNTIME, PROVE_NOT_CHECKED, "");
    assert_int_equal(r.level, 3);
    assert_true(prove_meets(&r, 3, false, &why));
    assert_false(prove_meets(&r, 3, true, &why));
}

static void without_a_volume_nothing_is_checked(void **state) {
    fixture *f = *state;
    unlink(f->volume);
    const prove_report r = check(f);
    const char *why;
    for (prove_question q = 0; q < PROVE_N_QUESTIONS; q++) {
        expect(&r, q, PROVE_NOT_CHECKED, "MISSING");
    }
    assert_false(prove_meets(&r, 1, false, &why));
    assert_true(prove_meets(&r, 0, false, &why));
}

static void a_broken_volume_fails_the_container(void **state) {
    fixture *f = *state;
    assert_int_equal(truncate(f->volume, 1000), 0);
    const prove_report r = check(f);
    expect(&r, PROVE_Q_CONTAINER, PROVE_FAIL, "PARSE");
    assert_int_equal(r.level, 0);
}

static void a_compact_volume_is_checked_by_checksums_and_says_so(void **state) {
    fixture *f = *state;
    write_file(f->volume, toy_read(toy_path("toy.compact.q42")));
    unlink(f->signature);
    const prove_report r = check(f);
    expect(&r, PROVE_Q_TENSORS, PROVE_PASS, "");
    assert_non_null(strstr(r.answers[PROVE_Q_TENSORS].text, "compact"));
    assert_false(r.is_full);
    assert_int_equal(r.level, 4);
}

/* --------------------------------------------------------------------------------------------------- signature, consent */

static void flip(const char *path, long at) {
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void a_wrong_signature_fails_at_every_level(void **state) {
    static const long places[] = {0, 8, 12, 16, 48, 80, 112, 175}; /* magic, version, zero, id, key, digest, signature */
    fixture *f = *state;
    const char *why;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        flip(f->signature, places[i]);
        const prove_report r = check(f);
        expect(&r, PROVE_Q_SIGNATURE, PROVE_FAIL, "BAD_SIGNATURE");
        expect(&r, PROVE_Q_TENSORS, PROVE_PASS, "");
        assert_int_equal(r.level, 0);
        assert_false(prove_meets(&r, 1, false, &why));
        flip(f->signature, places[i]);
    }
}

static void a_signature_of_another_volume_is_a_wrong_one(void **state) {
    fixture *f = *state;
    write_file(f->volume, toy_read(toy_path("toy.compact.q42")));
    const prove_report r = check(f);
    expect(&r, PROVE_Q_SIGNATURE, PROVE_FAIL, "BAD_SIGNATURE");
}

static void a_key_in_no_list_authenticates_nothing(void **state) {
    fixture *f = *state;
    trusted_keys none = {0};
    f->how.keys = &none;
    const prove_report r = check(f);
    expect(&r, PROVE_Q_SIGNATURE, PROVE_NOT_CHECKED, "UNSIGNED");
    assert_int_equal(r.level, 4);
    assert_false(r.is_authenticated);
}

static void a_revoked_key_is_a_wrong_signature(void **state) {
    fixture *f = *state;
    char path[128];
    snprintf(path, sizeof path, "%s/revoked", f->folder);
    assert_int_equal(revocations_add(path, &f->t.consent.key, 1, "lost", NULL), QN_OK);
    assert_int_equal(revocations_read(path, &f->keys.revoked, NULL), QN_OK);
    const prove_report r = check(f);
    expect(&r, PROVE_Q_SIGNATURE, PROVE_FAIL, "BAD_SIGNATURE");
    assert_int_equal(r.level, 0);
    unlink(path);
}

static void a_consent_holds_from_its_first_millisecond_to_before_its_last(void **state) {
    fixture *f = *state;
    static const struct {
        uint64_t now;
        prove_verdict verdict;
        const char *code;
    } rows[] = {{TOY_TIME - 1001, PROVE_FAIL, "CONSENT_EXPIRED"}, {TOY_TIME - 1000, PROVE_PASS, ""}, {TOY_TIME + 999, PROVE_PASS, ""},
                {TOY_TIME + 1000, PROVE_FAIL, "CONSENT_EXPIRED"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        f->how.now_ms = rows[i].now;
        const prove_report r = check(f);
        expect(&r, PROVE_Q_SIGNATURE, rows[i].verdict, rows[i].code);
    }
}

/* -------------------------------------------------------------------------------------------------------------- kernels */

/* A volume that says of the toy's kernels that this certificate is about them. */
static void certify(prove_reading *out, const prove_runtime *r, const char *device, bool has_passed) {
    prove_graph g;
    char urn[PROVE_URN_SIZE];
    const char *certificate = PROVE_CERT "1";
    prove_begin(&g, 0, NULL);
    prove_about(&g, certificate);
    prove_say_word(&g, Q42M_TYPE, 0, "q42m:Certification");
    prove_say_word(&g, "q42m:device", 0, device);
    prove_say_word(&g, "q42m:driver", 0, r->driver);
    prove_say_boolean(&g, "q42m:passed", 0, has_passed);
    for (uint32_t i = 0; i < r->n_kernels; i++) {
        prove_about(&g, prove_urn(PROVE_KERNEL, r->kernels[i].digest, urn));
        prove_say_word(&g, "q42m:certifiedBy", 0, certificate);
    }
    assert_int_equal(prove_read_graph(&g, out, NULL), QN_OK);
}

static void kernels_are_certified_for_the_very_device_by_a_certificate_that_passed(void **state) {
    fixture *f = *state;
    static const struct {
        const char *device;
        bool has_passed;
        prove_verdict verdict;
        const char *code;
    } rows[] = {{"CPU, 1 worker", true, PROVE_PASS, ""}, {"another", true, PROVE_FAIL, "KERNEL_UNCERTIFIED"},
                {"CPU, 1 worker", false, PROVE_FAIL, "KERNEL_UNCERTIFIED"}};
    toy_runtime(&f->running);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        prove_reading certificates;
        certify(&certificates, &f->running, rows[i].device, rows[i].has_passed);
        f->how.certificates = &certificates;
        f->how.certificates_path = f->folder; /* no signature is there */
        f->how.keys = NULL;
        const prove_report r = check(f);
        expect(&r, PROVE_Q_RUNTIME, rows[i].verdict, rows[i].code);
        f->how.keys = &f->keys; /* whoever has trusted keys wants one of them under a certificate */
        const prove_report strict = check(f);
        expect(&strict, PROVE_Q_RUNTIME, i == 0 ? PROVE_NOT_CHECKED : PROVE_FAIL, i == 0 ? "UNSIGNED" : "KERNEL_UNCERTIFIED");
        prove_read_close(&certificates);
    }
    f->how.certificates = NULL;
    const prove_report r = check(f);
    expect(&r, PROVE_Q_RUNTIME, PROVE_FAIL, "KERNEL_UNCERTIFIED");
}

#define WITH_FILES(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_FILES(all_that_was_made_and_signed_passes),
        cmocka_unit_test(each_level_falls_with_one_wrong_thing),
        WITH_FILES(another_container_has_no_level),
        WITH_FILES(what_is_not_at_hand_is_not_checked),
        WITH_FILES(without_a_volume_nothing_is_checked),
        WITH_FILES(a_broken_volume_fails_the_container),
        WITH_FILES(a_compact_volume_is_checked_by_checksums_and_says_so),
        WITH_FILES(a_wrong_signature_fails_at_every_level),
        WITH_FILES(a_signature_of_another_volume_is_a_wrong_one),
        WITH_FILES(a_key_in_no_list_authenticates_nothing),
        WITH_FILES(a_revoked_key_is_a_wrong_signature),
        WITH_FILES(a_consent_holds_from_its_first_millisecond_to_before_its_last),
        WITH_FILES(kernels_are_certified_for_the_very_device_by_a_certificate_that_passed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
