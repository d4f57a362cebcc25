/* test_constraint.c — masks and tokens: what may come, on real and on made-up vocabularies, held against trying each token. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "constrain/constraint.h"
#include "constrain/gbnf.h"
#include "constrain/json_schema.h"
#include "corpus.h"
#include "text_fixture.h"

static constraint *create(const char *text, bool is_schema, const constraint_target *target) {
    grammar g = {.n_nodes = 0};
    constraint *c = NULL;
    error_context err = {0};
    qn_status status = (is_schema ? json_schema_parse : gbnf_parse)((fmt_str){text, strlen(text)}, "g", &g, &err);
    if (status < 0 || constraint_create(&g, is_schema ? "json-schema" : "grammar", target, &c, &err) < 0) {
        fail_msg("%s\n%s", text, error_text(&err));
    }
    return c;
}

/* A row of zeros, masked. */
static uint32_t mask(constraint *c, float *row, uint32_t n) {
    const token_constraint hook = constraint_hook(c);
    uint32_t n_left = 0;
    error_context err = {0};
    memset(row, 0, n * sizeof *row);
    if (hook.mask(hook.ctx, row, n, &n_left, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    uint32_t n_finite = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_finite += row[i] == 0.0f;
    }
    assert_int_equal(n_finite, n_left);
    return n_left;
}

static bool accept(constraint *c, uint32_t id) {
    const token_constraint hook = constraint_hook(c);
    bool is_complete = false;
    error_context err = {0};
    if (hook.accept(hook.ctx, id, &is_complete, &err) < 0) {
        fail_msg("token %u: %s", id, error_text(&err));
    }
    return is_complete;
}

static uint32_t draw(uint64_t *random, uint32_t n) {
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((*random >> 33) % n);
}

static uint32_t choose(const float *row, uint32_t n, uint32_t skip) {
    for (uint32_t id = 0; id < n; id++) {
        if (row[id] == 0.0f && skip-- == 0) {
            return id;
        }
    }
    return n;
}

static const struct {
    const char *text;
    bool is_schema;
} languages[] = {
    {"root ::= [a-z]+ (\" \" [a-z]+)* \".\" | (\"\xe2\x82\xac\" | [\xc3\xa0-\xc3\xbf\xf0\x9f\x98\x80-\xf0\x9f\x99\x8f]){2,5}", false},
    {"root ::= \"(\" root \")\" | \"x\" | [^()]{0,3}", false},
    {"{\"properties\":{\"name\":{\"maxLength\":4},\"n\":{\"type\":\"integer\",\"minimum\":3,\"maximum\":1234}},\"required\":[\"n\"]}", true},
    {"{}", true},
};

/* Every token, tried as text behind what stands there; the mask must say the same. */
static void compare(constraint *c, const tokenizer *tok, const float *row, char *text, size_t size) {
    for (uint32_t id = 0; id < tokenizer_size(tok); id += 1 + id % 7) {
        bool is_complete;
        size_t accepted;
        const size_t more = tokenizer_token_bytes(tok, id, false, text + size, 512);
        assert_true(more <= 512);
        assert_int_equal(constraint_try_text(c, text, size + more, &is_complete, &accepted, NULL), QN_OK);
        const bool is_allowed = more > 0 && accepted == size + more;
        if (is_allowed != (row[id] == 0.0f)) {
            fail_msg("token %u behind \"%.*s\": %s", id, (int)size, text, is_allowed ? "is missing" : "is too much");
        }
    }
}

static void walk(const char *file, const char *language, bool is_schema) {
    char path[CORPUS_PATH_SIZE];
    text_fixture f;
    corpus_require(file, path);
    text_fixture_open(path, &f);
    const uint32_t n = tokenizer_size(f.tok);
    const constraint_target target = {.tok = f.tok};
    constraint *c = create(language, is_schema, &target);
    float *row = malloc(n * sizeof *row);
    static char text[1 << 16];
    uint64_t random = 7;
    size_t size = 0;
    for (uint32_t i = 0; i < 24; i++) {
        const uint32_t n_left = mask(c, row, n);
        if (i % 6 == 0) {
            compare(c, f.tok, row, text, size);
        }
        if (n_left == 0) {
            assert_true(constraint_is_complete(c));
            break;
        }
        const uint32_t id = choose(row, n, draw(&random, n_left));
        size += tokenizer_token_bytes(f.tok, id, false, text + size, 512);
        if (accept(c, id)) {
            assert_true(constraint_is_complete(c));
            break;
        }
    }
    free(row);
    constraint_destroy(c);
    text_fixture_close(&f);
}

static void a_mask_allows_just_the_tokens_whose_bytes_may_come(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
        walk("data/tokenizers/ggml-vocab-gpt-2.gguf", languages[i].text, languages[i].is_schema);
        walk("data/stories260k/stories260k-f32.gguf", languages[i].text, languages[i].is_schema);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- by hand */

typedef struct hand {
    small_vocabulary words;
    tokenizer *tok;
    uint32_t yes, no, end;
} hand;

static void make(hand *h) {
    small_byte_level(&h->words);
    small_merge(&h->words, "y", "e", "ye");
    h->yes = small_merge(&h->words, "ye", "s", "yes");
    h->no = small_merge(&h->words, "n", "o", "no");
    h->end = h->words.facts.eos;
    h->tok = small_create(&h->words);
}

static void a_stop_token_may_come_only_where_the_text_may_end(void **state) {
    (void)state;
    hand h;
    float row[TEXT_MAX_TOKENS];
    make(&h);
    const uint32_t n = tokenizer_size(h.tok), stops[] = {h.end, h.end, 100000};
    const constraint_target target = {.tok = h.tok, .stops = stops, .n_stops = 3};
    constraint *c = create("root ::= \"no\" \"yes\"?", false, &target);
    assert_int_equal(mask(c, row, n), 2); /* n, no */
    assert_true(row[h.no] == 0.0f && row[h.end] == -INFINITY && !constraint_is_complete(c));
    assert_false(accept(c, h.no));
    assert_true(constraint_is_complete(c));
    assert_int_equal(mask(c, row, n), 4); /* y, ye, yes, and the stop token once */
    assert_true(row[h.end] == 0.0f && row[h.yes] == 0.0f);
    assert_true(accept(c, h.yes));
    assert_int_equal(mask(c, row, n), 1);
    assert_true(row[h.end] == 0.0f);
    constraint_destroy(c);
    tokenizer_destroy(h.tok);
}

static void control_tokens_never_come_and_a_wrong_token_is_an_error(void **state) {
    (void)state;
    hand h;
    float row[TEXT_MAX_TOKENS];
    make(&h);
    const uint32_t n = tokenizer_size(h.tok);
    const constraint_target target = {.tok = h.tok};
    constraint *c = create("root ::= .*", false, &target);
    const token_constraint hook = constraint_hook(c);
    bool is_complete;
    error_context err = {0};
    mask(c, row, n);
    assert_true(row[h.end] == -INFINITY);
    assert_int_equal(hook.accept(hook.ctx, h.end, &is_complete, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "may not come here"));
    assert_int_equal(hook.accept(hook.ctx, n + 5, &is_complete, &err), QN_BAD_INPUT);
    assert_false(accept(c, h.yes));
    constraint_destroy(c);
    tokenizer_destroy(h.tok);
}

static void a_vocabulary_without_the_next_byte_is_a_dead_end(void **state) {
    (void)state;
    small_vocabulary words;
    float row[TEXT_MAX_TOKENS];
    small_sentencepiece(&words);
    words.facts.n_tokens = 3 + 'b'; /* no byte from b on */
    tokenizer *tok = small_create(&words);
    const constraint_target target = {.tok = tok};
    constraint *c = create("root ::= \"ab\"", false, &target);
    assert_int_equal(mask(c, row, tokenizer_size(tok)), 1);
    assert_false(accept(c, 3 + 'a'));
    assert_int_equal(mask(c, row, tokenizer_size(tok)), 0);
    assert_false(constraint_is_complete(c));
    constraint_destroy(c);
    tokenizer_destroy(tok);
}

static void a_space_that_will_not_be_printed_is_allowed_once(void **state) {
    (void)state;
    small_vocabulary words;
    float row[TEXT_MAX_TOKENS];
    small_sentencepiece(&words);
    words.facts.add_space_prefix = true;
    const uint32_t spaced = small_add(&words, "\xe2\x96\x81" "a", TOKEN_KIND_NORMAL, -1.0f);
    tokenizer *tok = small_create(&words);
    const uint32_t n = tokenizer_size(tok);
    for (int at_start = 0; at_start < 2; at_start++) {
        const constraint_target target = {.tok = tok, .at_start = at_start != 0};
        constraint *c = create("root ::= \"a\" \"a\" | \" ?\"", false, &target);
        assert_int_equal(mask(c, row, n), at_start ? 3 - 1 : 2); /* a, and with the space: that token; without: the space of " ?" */
        assert_true((row[spaced] == 0.0f) == (at_start != 0));
        if (at_start) {
            assert_false(accept(c, spaced));
            assert_int_equal(mask(c, row, n), 1);
            assert_true(row[3 + 'a'] == 0.0f);
        }
        constraint_destroy(c);
    }
    tokenizer_destroy(tok);
}

static void reset_begins_the_same_text_again(void **state) {
    (void)state;
    hand h;
    float row[TEXT_MAX_TOKENS];
    make(&h);
    const uint32_t n = tokenizer_size(h.tok);
    const constraint_target target = {.tok = h.tok};
    constraint *c = create("root ::= \"yes\" | \"no\"", false, &target);
    const uint32_t before = mask(c, row, n);
    assert_true(accept(c, h.yes));
    assert_int_equal(constraint_reset(c, NULL), QN_OK);
    assert_int_equal(mask(c, row, n), before);
    assert_true(accept(c, h.no));
    assert_int_equal(constraint_count(c).n_walks, 1);
    constraint_destroy(c);
    tokenizer_destroy(h.tok);
}

/* Brackets of two kinds at random: every round makes hundreds of stacks that were not there before, until they do not fit any more. */
static void forgetting_on_the_way_changes_nothing(void **state) {
    (void)state;
    enum { DEPTH = 700, ROUNDS = 60 };
    hand h;
    float row[TEXT_MAX_TOKENS];
    static uint32_t closing[DEPTH];
    uint64_t random = 3;
    make(&h);
    const uint32_t n = tokenizer_size(h.tok);
    const uint32_t open[] = {tokenizer_find(h.tok, "("), tokenizer_find(h.tok, "[")};
    const uint32_t close[] = {tokenizer_find(h.tok, ")"), tokenizer_find(h.tok, "]")};
    const constraint_target target = {.tok = h.tok};
    constraint *c = create("root ::= pair*\npair ::= \"(\" pair? \")\" | \"[\" pair? \"]\"", false, &target);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < DEPTH; i++) {
            const uint32_t kind = draw(&random, 2);
            accept(c, open[kind]);
            closing[i] = close[kind];
        }
        for (uint32_t i = DEPTH; i > 0; i--) {
            assert_false(constraint_is_complete(c));
            assert_int_equal(mask(c, row, n), i == DEPTH ? 3 : 1);
            assert_true(row[closing[i - 1]] == 0.0f);
            accept(c, closing[i - 1]);
        }
        assert_true(constraint_is_complete(c));
    }
    assert_true(constraint_count(c).n_compactions > 0);
    assert_int_equal(mask(c, row, n), 2);
    constraint_destroy(c);
    tokenizer_destroy(h.tok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_mask_allows_just_the_tokens_whose_bytes_may_come),
        cmocka_unit_test(a_stop_token_may_come_only_where_the_text_may_end),
        cmocka_unit_test(control_tokens_never_come_and_a_wrong_token_is_an_error),
        cmocka_unit_test(a_vocabulary_without_the_next_byte_is_a_dead_end),
        cmocka_unit_test(a_space_that_will_not_be_printed_is_allowed_once),
        cmocka_unit_test(reset_begins_the_same_text_again),
        cmocka_unit_test(forgetting_on_the_way_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
