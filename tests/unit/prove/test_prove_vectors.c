/* test_prove_vectors.c — volumes, signature and record are those that an independent encoder made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "prove/prove_signature.h"
#include "prove_fixture.h"

static void expect_file(text_buffer made, const char *name) {
    text_buffer frozen = toy_read(toy_path(name));
    assert_int_equal(made.size, frozen.size);
    assert_memory_equal(made.text, frozen.text, made.size);
    text_buffer_free(&made);
    text_buffer_free(&frozen);
}

static void expect_volume(bool is_full, const char *name) {
    toy t;
    prove_graph g;
    toy_open(&t);
    t.facts.is_full = is_full;
    prove_begin(&g, 0, NULL);
    assert_int_equal(prove_say_model(&g, &t.facts, NULL), QN_OK);
    expect_file(toy_bytes(&g), name);
    prove_end(&g);
    toy_close(&t);
}

static void the_full_volume_of_the_toy_has_the_frozen_bytes(void **state) {
    (void)state;
    expect_volume(true, "toy.prov.q42");
}

static void the_compact_volume_of_the_toy_has_the_frozen_bytes(void **state) {
    (void)state;
    expect_volume(false, "toy.compact.q42");
}

static void the_policy_and_the_parity_of_the_toy_are_found_from_its_source(void **state) {
    toy t;
    convert_parity_report parity;
    (void)state;
    toy_open(&t);
    assert_string_equal(prove_source_policy(&t.source, &t.p64), "byte-preserving");
    assert_int_equal(prove_source_parity(&t.source, &t.p64, t.path, &parity, NULL), QN_OK);
    assert_int_equal(parity.n_equal, 2);
    toy_close(&t);
}

static void the_frozen_signature_is_of_the_frozen_volume(void **state) {
    prove_reading reading;
    prove_signature signature;
    uint8_t digest[SHA256_BYTES];
    text_buffer file = toy_read(toy_path("toy.prov.sig"));
    (void)state;
    assert_int_equal(prove_read_file(toy_path("toy.prov.q42"), &reading, NULL), QN_OK);
    assert_int_equal(prove_digest(&reading.graph, digest, NULL), QN_OK);
    assert_int_equal(prove_signature_parse((fmt_span){(const uint8_t *)file.text, file.size}, "sig", &signature, NULL), QN_OK);
    assert_memory_equal(signature.digest, digest, sizeof digest);
    assert_true(prove_verify_digest(&signature.key, digest, signature.signature));
    digest[0] ^= 1;
    assert_false(prove_verify_digest(&signature.key, digest, signature.signature));
    prove_read_close(&reading);
    text_buffer_free(&file);
}

/* ---------------------------------------------------------------------------------------------------------- the record */

static const uint32_t prompt[] = {1, 2, 300}, answer[] = {7, 8, 70000};

static generation_facts make_facts(const prove_runtime *runtime, uint8_t model[SHA256_BYTES], uint8_t rest[4][SHA256_BYTES]) {
    static const uint64_t cites[] = {UINT64_C(0x0FEDCBA987654321), 5};
    static const char sampler[] = "bos=1\nchat=0\nchunk=16\ncontext=1\nctx=64\nkv=f16\nmax_tokens=3\nmin_p=0\nnumeric=f32acc\nprompt=text\nrepeat_last=64\n"
                                  "repeat_penalty=1\nspecial=0\nsystem=0\ntemperature=0.5\ntop_k=40\ntop_p=0.899999976\n";
    static q42_quin claim;
    claim = (q42_quin){.subject = q42_hash("urn:example:s", 13), .predicate = q42_hash("urn:example:p", 13),
                       .object = (uint64_t)Q42_TAG_INTEGER << 60 | 12};
    return (generation_facts){.model = model, .runtime = runtime, .adapter = rest[0], .sampler = {sampler, sizeof sampler - 1},
                              .seed = UINT64_C(0x123456789ABCDEF0), .prompt_mac = rest[1], .context_mac = rest[2], .prompt = prompt,
                              .n_prompt = 3, .tokens = answer, .n_tokens = 3, .output = {"\xc3\x84pfel!", 7}, .stop_reason = "length",
                              .agent = "did:web:agent.example", .principal = "did:web:user.example", .has_intent = true,
                              .intent = q42_hash("urn:example:ask", 15), .started_ms = TOY_TIME, .ended_ms = TOY_TIME + 5,
                              .verdict = "SUPPORTED", .has_score = true, .score = 0.75f, .cites = cites, .n_cites = 2,
                              .gate_trace = rest[3], .emitted = &claim, .n_emitted = 1};
}

static void make_record(prove_graph *g, uint8_t name[SHA256_BYTES]) {
    toy t;
    prove_runtime runtime;
    uint8_t model[SHA256_BYTES], rest[4][SHA256_BYTES];
    const char *hex = "";
    text_buffer frozen = toy_read(toy_path("generation.q42"));
    prove_reading reading;
    generation_record record;
    toy_open(&t);
    toy_runtime(&runtime);
    assert_true(sha256_digest(t.file.span.data, t.file.span.size, model));
    toy_digest("an adapter", rest[0]);
    toy_digest("gates", rest[3]);
    /* HMAC needs a key in a file; the two MACs are taken from the frozen record. */
    assert_int_equal(prove_read_span((fmt_span){(const uint8_t *)frozen.text, frozen.size}, hex, &reading, NULL), QN_OK);
    assert_int_equal(prove_generation_find(&reading, NULL, &record, NULL), QN_OK);
    memcpy(rest[1], record.prompt_mac, SHA256_BYTES);
    memcpy(rest[2], record.context_mac, SHA256_BYTES);
    const generation_facts facts = make_facts(&runtime, model, rest);
    assert_int_equal(prove_generation(&facts, g, name, NULL), QN_OK);
    prove_read_close(&reading);
    text_buffer_free(&frozen);
    toy_close(&t);
}

static void the_record_of_an_answer_has_the_frozen_bytes_and_name(void **state) {
    prove_graph g;
    uint8_t name[SHA256_BYTES];
    char hex[SHA256_HEX_SIZE];
    text_buffer digests = toy_read(toy_path("digests.txt"));
    (void)state;
    make_record(&g, name);
    sha256_to_hex(name, hex);
    assert_memory_equal(hex, digests.text + digests.size - 65, 64);
    expect_file(toy_bytes(&g), "generation.q42");
    prove_end(&g);
    text_buffer_free(&digests);
}

static void a_record_is_read_back_with_all_that_a_replay_needs(void **state) {
    prove_reading reading;
    generation_record record;
    uint32_t *ids, n;
    (void)state;
    assert_int_equal(prove_read_file(toy_path("generation.q42"), &reading, NULL), QN_OK);
    assert_int_equal(prove_generation_find(&reading, NULL, &record, NULL), QN_OK);
    assert_true(record.is_name_right && record.has_adapter && record.has_prompt_mac && record.has_context_mac && !record.is_source);
    assert_int_equal(record.n_tokens, 3);
    assert_int_equal(record.n_threads, 1);
    assert_true(record.seed == UINT64_C(0x123456789ABCDEF0));
    assert_true(prove_text_is(record.backend, "cpu") && prove_text_is(record.stop_reason, "length"));
    assert_true(prove_generation_prompt(&reading, record.subject, &ids, &n));
    assert_int_equal(n, 3);
    assert_memory_equal(ids, prompt, sizeof prompt);
    free(ids);
    assert_int_equal(prove_generation_find(&reading, record.name, &record, NULL), QN_OK);
    assert_int_equal(prove_generation_find(&reading, "00", &record, NULL), QN_NOT_FOUND);
    prove_read_close(&reading);
}

/* Reads the record, changes its statement `predicate` to `object`, and finds it again. */
static qn_status find_changed(const char *predicate, uint64_t object, generation_record *record) {
    prove_reading first, second;
    prove_graph changed;
    const uint64_t key = q42_hash(predicate, strlen(predicate));
    assert_int_equal(prove_read_file(toy_path("generation.q42"), &first, NULL), QN_OK);
    for (uint64_t i = 0; i < first.graph.volume.n_quins; i++) {
        q42_quin *q = &first.graph.volume.quins[i];
        *q = q->predicate == key ? q42_quin_make(q->subject, q->predicate, object, q->context, q->metadata) : *q;
    }
    changed = first.graph;
    memset(&first.graph, 0, sizeof first.graph);
    prove_read_close(&first);
    assert_int_equal(prove_read_graph(&changed, &second, NULL), QN_OK);
    const qn_status status = prove_generation_find(&second, NULL, record, NULL);
    prove_read_close(&second);
    return status;
}

static void a_record_that_was_changed_has_lost_its_name(void **state) {
    static const char *const predicates[] = {"q42m:tokenCount", "q42m:threads", "q42m:intent", "q42m:claimObject"};
    generation_record record;
    (void)state;
    for (size_t i = 0; i < sizeof predicates / sizeof predicates[0]; i++) {
        assert_int_equal(find_changed(predicates[i], (uint64_t)Q42_TAG_INTEGER << 60 | 99, &record), QN_OK);
        assert_false(record.is_name_right);
    }
    assert_int_equal(find_changed("q42m:samplerSha256", q42_hash("SUPPORTED", 9), &record), QN_BAD_FILE);
    assert_int_equal(find_changed("q42m:seed", q42_hash("SUPPORTED", 9), &record), QN_BAD_FILE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_full_volume_of_the_toy_has_the_frozen_bytes),
        cmocka_unit_test(the_compact_volume_of_the_toy_has_the_frozen_bytes),
        cmocka_unit_test(the_policy_and_the_parity_of_the_toy_are_found_from_its_source),
        cmocka_unit_test(the_frozen_signature_is_of_the_frozen_volume),
        cmocka_unit_test(the_record_of_an_answer_has_the_frozen_bytes_and_name),
        cmocka_unit_test(a_record_is_read_back_with_all_that_a_replay_needs),
        cmocka_unit_test(a_record_that_was_changed_has_lost_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
