/* test_constrain_memory.c — masks and tokens of a constraint ask nobody for memory, however much it has to find out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "constrain/constraint.h"
#include "constrain/json_schema.h"
#include "constrain/sieve.h"
#include "counting_malloc.h"
#include "text_fixture.h"

#define N_STEPS 400u

/* Goes on with the token that `random` chooses among those that are left; true when the text is whole or stuck. */
static bool step(const token_constraint *hook, uint32_t n, uint64_t *random) {
    static float row[TEXT_MAX_TOKENS];
    uint32_t n_left = 0;
    bool is_complete = false;
    memset(row, 0, sizeof row);
    assert_int_equal(hook->mask(hook->ctx, row, n, &n_left, NULL), QN_OK);
    if (n_left == 0) {
        return true;
    }
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t skip = (uint32_t)(*random >> 33) % n_left;
    for (uint32_t id = 0; id < n; id++) {
        if (row[id] == 0.0f && skip-- == 0) {
            assert_int_equal(hook->accept(hook->ctx, id, &is_complete, NULL), QN_OK);
            return is_complete;
        }
    }
    return true;
}

static tokenizer *open_tokenizer(small_vocabulary *words) {
    small_byte_level(words);
    small_merge(words, "a", "b", "ab");
    return small_create(words);
}

static void a_language_is_walked_without_memory(void **state) {
    (void)state;
    static small_vocabulary words;
    tokenizer *tok = open_tokenizer(&words);
    const constraint_target target = {.tok = tok};
    const char *schema = "{\"type\":\"array\",\"items\":{}}";
    grammar g;
    constraint *c;
    uint64_t random = 1;
    assert_int_equal(json_schema_parse((fmt_str){schema, strlen(schema)}, "s", &g, NULL), QN_OK);
    assert_int_equal(constraint_create(&g, "json-schema", &target, &c, NULL), QN_OK);
    const token_constraint hook = constraint_hook(c);
    const uint64_t before = counting_malloc_calls();
    for (uint32_t i = 0; i < N_STEPS; i++) {
        if (step(&hook, tokenizer_size(tok), &random)) {
            assert_int_equal(constraint_reset(c, NULL), QN_OK);
        }
    }
    assert_int_equal(counting_malloc_calls(), before);
    assert_true(constraint_count(c).n_walks > 10);
    constraint_destroy(c);
    tokenizer_destroy(tok);
}

static void a_sieve_is_walked_without_memory(void **state) {
    (void)state;
    static small_vocabulary words;
    tokenizer *tok = open_tokenizer(&words);
    const constraint_target target = {.tok = tok};
    const char *text = "[subject]\nterm = <e:a>\nterm = <e:ab>\n[predicate]\nterm = <e:p>\n[object]\nterm = <e:x>\nterm = \"y\"\n";
    sieve_spec spec;
    sieve *s;
    uint64_t random = 1;
    assert_int_equal(sieve_spec_parse((fmt_str){text, strlen(text)}, "s", &spec, NULL), QN_OK);
    assert_int_equal(sieve_create(&spec, &target, &s, NULL), QN_OK);
    sieve_spec_free(&spec);
    const token_constraint hook = sieve_hook(s);
    const uint64_t before = counting_malloc_calls();
    for (uint32_t i = 0; i < N_STEPS; i++) {
        if (step(&hook, tokenizer_size(tok), &random)) {
            sieve_result result;
            assert_int_equal(sieve_get_result(s, &result, NULL), QN_OK);
            sieve_reset(s);
        }
    }
    assert_int_equal(counting_malloc_calls(), before);
    sieve_destroy(s);
    tokenizer_destroy(tok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_language_is_walked_without_memory),
        cmocka_unit_test(a_sieve_is_walked_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
