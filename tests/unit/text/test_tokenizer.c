/* test_tokenizer.c — small vocabularies by hand: merging, bytes, special tokens, and what is refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text/stop_set.h"
#include "text_fixture.h"

#define IDS(...) ((const uint32_t[]){__VA_ARGS__, TOKEN_NONE})
#define NO_IDS ((const uint32_t[]){TOKEN_NONE})
enum { BYTES_AT = 3 }; /* id of <0x00> in a small SentencePiece-style vocabulary */

/* ---------------------------------------------------------------- SentencePiece-style */

static void spm_joins_the_best_score_first_and_of_equals_the_leftmost(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    v.facts.add_space_prefix = false;
    const uint32_t a = small_add(&v, "a", TOKEN_KIND_NORMAL, -1);
    const uint32_t b = small_add(&v, "b", TOKEN_KIND_NORMAL, -1);
    const uint32_t aa = small_add(&v, "aa", TOKEN_KIND_NORMAL, -5);
    const uint32_t ab = small_add(&v, "ab", TOKEN_KIND_NORMAL, -2);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "aab", 3, 0, IDS(a, ab));
    assert_encodes(tok, "aaa", 3, 0, IDS(aa, a));
    assert_encodes(tok, "aaaa", 4, 0, IDS(aa, aa));
    assert_encodes(tok, "ba", 2, 0, IDS(b, a));
    tokenizer_destroy(tok);
}

static void spm_adds_a_space_in_front_and_reads_spaces_as_markers(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    const uint32_t space = small_add(&v, "\xe2\x96\x81", TOKEN_KIND_NORMAL, -1);
    const uint32_t a = small_add(&v, "a", TOKEN_KIND_NORMAL, -1);
    const uint32_t space_a = small_add(&v, "\xe2\x96\x81" "a", TOKEN_KIND_NORMAL, -2);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "a", 1, ENCODE_ADD_BOS, IDS(1, space_a));
    assert_encodes(tok, " aa", 3, 0, IDS(space, space_a, a));
    assert_encodes(tok, "\xe2\x96\x81", 3, 0, IDS(space, space));
    assert_encodes(tok, "", 0, ENCODE_ADD_BOS, IDS(1));
    assert_encodes(tok, "", 0, 0, NO_IDS);
    tokenizer_destroy(tok);
}

static void spm_falls_back_to_bytes_or_to_unknown(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    v.facts.add_space_prefix = false;
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "\xc3\xa9", 2, 0, IDS(BYTES_AT + 0xc3, BYTES_AT + 0xa9));
    assert_encodes(tok, "a\0b", 3, 0, IDS(BYTES_AT + 'a', BYTES_AT, BYTES_AT + 'b'));
    tokenizer_destroy(tok);
    v.kinds[BYTES_AT + 0xa9] = TOKEN_KIND_NORMAL; /* one of the two bytes is no byte token any more */
    tok = small_create(&v);
    assert_encodes(tok, "\xc3\xa9", 2, 0, IDS(0));
    tokenizer_destroy(tok);
}

static void a_byte_that_is_spelled_out_is_no_byte(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    v.facts.add_space_prefix = false;
    small_add(&v, "<0", TOKEN_KIND_NORMAL, 0); /* so that merging could lead there */
    small_add(&v, "<0x", TOKEN_KIND_NORMAL, 0);
    small_add(&v, "<0x0", TOKEN_KIND_NORMAL, 0);
    small_add(&v, "<0x0A", TOKEN_KIND_NORMAL, 0);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "<0x0A>", 6, 0, IDS(v.facts.n_tokens - 1, BYTES_AT + '>'));
    assert_encodes(tok, "<0x0A>", 6, ENCODE_SPECIAL, IDS(v.facts.n_tokens - 1, BYTES_AT + '>'));
    assert_round_trip(tok, "<0x0A>", 6);
    tokenizer_destroy(tok);
}

static void spm_collapses_spaces_when_the_model_does(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    v.facts.remove_extra_whitespaces = true;
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "  a   b  ", 9, 0, IDS(BYTES_AT + ' ', BYTES_AT + 'a', BYTES_AT + ' ', BYTES_AT + 'b'));
    tokenizer_destroy(tok);
}

static void a_token_that_reaches_over_a_space_is_found(void **state) {
    small_vocabulary v;
    (void)state;
    small_sentencepiece(&v);
    v.facts.add_space_prefix = false;
    small_add(&v, ">", TOKEN_KIND_NORMAL, 0);
    small_add(&v, "\xe2\x96\x81<", TOKEN_KIND_NORMAL, -1);
    const uint32_t both = small_add(&v, ">\xe2\x96\x81<", TOKEN_KIND_NORMAL, -2);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "> <", 3, 0, IDS(both));
    tokenizer_destroy(tok);
}

/* ---------------------------------------------------------------- byte-level BPE */

static void bpe_joins_the_lowest_rank_first(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    const uint32_t bc = small_merge(&v, "b", "c", "bc");
    const uint32_t ab = small_merge(&v, "a", "b", "ab");
    const uint32_t abc = small_merge(&v, "a", "bc", "abc");
    const uint32_t space_a = small_merge(&v, "\xc4\xa0", "a", "\xc4\xa0" "a");
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "abc", 3, 0, IDS(abc));
    assert_encodes(tok, "bcbc", 4, 0, IDS(bc, bc));
    assert_encodes(tok, "ab abc ax", 9, 0, IDS(ab, ' ', abc, space_a, 'x'));
    tokenizer_destroy(tok);
}

static void bpe_gives_merge_strings_that_are_no_tokens_as_bytes(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "x", "y", "unrelated");
    const uint32_t xyz = small_merge(&v, "xy", "z", "xyz");
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "xy xyz", 6, 0, IDS('x', 'y', ' ', xyz));
    tokenizer_destroy(tok);
}

static void whole_words_go_before_merges_where_the_rule_says_so(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "q", "q", "qq");
    const uint32_t word = small_add(&v, "abc", TOKEN_KIND_NORMAL, 0); /* no merge leads to it */
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "abc", 3, 0, IDS('a', 'b', 'c'));
    tokenizer_destroy(tok);
    v.facts.pre = (fmt_str){"llama-bpe", 9};
    tok = small_create(&v);
    assert_encodes(tok, "abc", 3, 0, IDS(word));
    tokenizer_destroy(tok);
}

static void of_a_token_that_stands_twice_the_lowest_id_is_used(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    const uint32_t first = small_merge(&v, "a", "b", "ab");
    small_add(&v, "ab", TOKEN_KIND_NORMAL, 0);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "ab", 2, 0, IDS(first));
    tokenizer_destroy(tok);
}

static void a_byte_without_token_needs_an_unknown_token(void **state) {
    small_vocabulary v;
    token_list ids = {0};
    error_context err = {0};
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "a", "b", "ab");
    v.tokens['Z'] = (fmt_str){"gone", 4};
    tokenizer *tok = small_create(&v);
    token_list_push(&ids, 7, NULL);
    assert_int_equal(tokenizer_encode(tok, "aZ", 2, 0, &ids, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "byte 1 of the text is 0x5a"));
    assert_int_equal(ids.count, 1); /* as before the call */
    tokenizer_destroy(tok);
    v.facts.unk = 0;
    v.kinds[0] = TOKEN_KIND_UNKNOWN;
    tok = small_create(&v);
    assert_encodes(tok, "aZ", 2, 0, IDS('a', 0));
    tokenizer_destroy(tok);
    v.kinds[0] = TOKEN_KIND_CONTROL; /* "unknown" and "end of text" in one: not to be forged */
    tok = small_create(&v);
    assert_int_equal(tokenizer_encode(tok, "aZ", 2, 0, &ids, &err), QN_BAD_INPUT);
    tokenizer_destroy(tok);
    token_list_free(&ids);
}

/* ---------------------------------------------------------------- special tokens */

static void control_tokens_are_read_only_when_asked_and_added_tokens_always(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "q", "q", "qq");
    const uint32_t added = small_add(&v, "<b>", TOKEN_KIND_USER_DEFINED, 0);
    const uint32_t longer = small_add(&v, "<b>!", TOKEN_KIND_USER_DEFINED, 0);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "x<b>y", 5, 0, IDS('x', added, 'y'));
    assert_encodes(tok, "<b>!", 4, 0, IDS(longer));
    assert_encodes(tok, "<|end|>", 7, ENCODE_SPECIAL, IDS(256));
    assert_encodes(tok, "<|end|>", 7, 0, IDS('<', '|', 'e', 'n', 'd', '|', '>'));
    assert_encodes(tok, "<|end", 5, ENCODE_SPECIAL, IDS('<', '|', 'e', 'n', 'd'));
    tokenizer_destroy(tok);
}

static void merging_never_leads_to_a_control_token(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    const uint32_t control = small_merge(&v, "g", "o", "go");
    v.kinds[control] = TOKEN_KIND_CONTROL;
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "go", 2, 0, IDS('g', 'o'));
    assert_encodes(tok, "go", 2, ENCODE_SPECIAL, IDS(control));
    tokenizer_destroy(tok);
    small_sentencepiece(&v);
    v.facts.add_space_prefix = false;
    small_add(&v, "</", TOKEN_KIND_NORMAL, 0);
    small_add(&v, "s>", TOKEN_KIND_NORMAL, 0);
    tok = small_create(&v);
    assert_encodes(tok, "</s>", 4, 0, IDS(v.facts.n_tokens - 2, v.facts.n_tokens - 1));
    assert_encodes(tok, "</s>", 4, ENCODE_SPECIAL, IDS(2));
    tokenizer_destroy(tok);
}

static void kinds_that_the_file_does_not_give_come_from_the_spelling(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "<", "i", "<i");
    const uint32_t word = small_merge(&v, "<i", ">", "<i>"); /* looks special, but a merge makes it */
    const uint32_t mark = small_add(&v, "<|mark|>", TOKEN_KIND_NORMAL, 0);
    v.facts.kinds = NULL;
    tokenizer *tok = small_create(&v);
    assert_int_equal(tokenizer_kind(tok, word), TOKEN_KIND_NORMAL);
    assert_int_equal(tokenizer_kind(tok, mark), TOKEN_KIND_CONTROL);
    assert_int_equal(tokenizer_kind(tok, 256), TOKEN_KIND_CONTROL);
    assert_encodes(tok, "<|mark|>", 8, ENCODE_SPECIAL, IDS(mark));
    tokenizer_destroy(tok);
    small_sentencepiece(&v);
    v.facts.kinds = NULL;
    tok = small_create(&v);
    assert_int_equal(tokenizer_kind(tok, 0), TOKEN_KIND_UNKNOWN);
    assert_int_equal(tokenizer_kind(tok, 1), TOKEN_KIND_CONTROL);
    assert_int_equal(tokenizer_kind(tok, BYTES_AT), TOKEN_KIND_BYTE);
    tokenizer_destroy(tok);
}

static void bos_and_eos_are_added_as_the_facts_say_and_bos_only_once(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "q", "q", "qq");
    const uint32_t bos = v.facts.bos = small_add(&v, "<s>", TOKEN_KIND_CONTROL, 0);
    tokenizer *tok = small_create(&v);
    assert_encodes(tok, "a", 1, ENCODE_ADD_BOS, IDS('a'));
    tokenizer_destroy(tok);
    v.facts.add_bos = v.facts.add_eos = true;
    tok = small_create(&v);
    assert_encodes(tok, "a", 1, ENCODE_ADD_BOS, IDS(bos, 'a', 256));
    assert_encodes(tok, "a", 1, 0, IDS('a'));
    assert_encodes(tok, "<s>a", 4, ENCODE_ADD_BOS | ENCODE_SPECIAL, IDS(bos, 'a', 256));
    tokenizer_destroy(tok);
}

static void a_repeated_word_is_encoded_like_the_first(void **state) {
    small_vocabulary v;
    char text[4096];
    uint32_t ids[4096];
    size_t n = 0, size = 0;
    (void)state;
    small_byte_level(&v);
    const uint32_t ab = small_merge(&v, "a", "b", "ab");
    tokenizer *tok = small_create(&v);
    while (size + 4 < sizeof text) { /* long enough for words to be remembered */
        memcpy(text + size, " aba", 4);
        size += 4;
        ids[n++] = ' ';
        ids[n++] = ab;
        ids[n++] = 'a';
    }
    ids[n] = TOKEN_NONE;
    assert_encodes(tok, text, size, 0, ids);
    tokenizer_destroy(tok);
}

/* ---------------------------------------------------------------- text that is refused */

static void text_that_is_no_utf8_is_refused_with_its_position(void **state) {
    small_vocabulary v;
    token_list ids = {0};
    error_context err = {0};
    (void)state;
    small_sentencepiece(&v);
    tokenizer *tok = small_create(&v);
    assert_int_equal(tokenizer_encode(tok, "abc\xff" "def", 7, 0, &ids, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "byte 3 "));
    assert_non_null(strstr(error_text(&err), "0xff"));
    assert_int_equal(tokenizer_encode(tok, "ab\xc3", 3, 0, &ids, &err), QN_BAD_INPUT);
    assert_int_equal(ids.count, 0);
    token_list_free(&ids);
    tokenizer_destroy(tok);
}

/* ---------------------------------------------------------------- facts that are refused */

typedef struct refusal {
    const char *name;
    void (*spoil)(small_vocabulary *v);
    bool is_byte_level;
    qn_status status;
    const char *words; /* that the message must have */
} refusal;

static void spoil_nothing(small_vocabulary *v) { (void)v; }
static void spoil_model(small_vocabulary *v) { v->facts.model = (fmt_str){"bert", 4}; }
static void spoil_no_model(small_vocabulary *v) { v->facts.model = (fmt_str){NULL, 0}; }
static void spoil_pre(small_vocabulary *v) { v->facts.pre = (fmt_str){"nobody-knows", 12}; }
static void spoil_no_pre(small_vocabulary *v) { v->facts.pre = (fmt_str){"", 0}; }
static void spoil_no_merges(small_vocabulary *v) { v->facts.n_merges = 0; }
static void spoil_no_scores(small_vocabulary *v) { v->facts.scores = NULL; }
static void spoil_score(small_vocabulary *v) { v->scores[5] = NAN; }
static void spoil_eos(small_vocabulary *v) { v->facts.eos = v->facts.n_tokens; }
static void spoil_bos(small_vocabulary *v) { v->facts.bos = 100000; }
static void spoil_kind(small_vocabulary *v) { v->kinds[9] = 7; }
static void spoil_no_tokens(small_vocabulary *v) { v->facts.n_tokens = 0; }
static void spoil_left(small_vocabulary *v) { v->merges[0].left.size = 0; }
static void spoil_right(small_vocabulary *v) { v->merges[0].right = (fmt_str){"a b", 3}; }

static const refusal refusals[] = {
    {"model", spoil_model, false, QN_UNSUPPORTED, "\"bert\""},
    {"no model", spoil_no_model, false, QN_BAD_FILE, "tokenizer.ggml.model is missing"},
    {"unknown pre", spoil_pre, true, QN_UNSUPPORTED, "\"nobody-knows\", a pre-tokenizer that is not known here. Known: gpt-2"},
    {"no pre", spoil_no_pre, true, QN_UNSUPPORTED, "tokenizer.ggml.pre is missing"},
    {"no merges", spoil_no_merges, true, QN_BAD_FILE, "tokenizer.ggml.merges"},
    {"no scores", spoil_no_scores, false, QN_BAD_FILE, "tokenizer.ggml.scores"},
    {"score", spoil_score, false, QN_BAD_FILE, "tokenizer.ggml.scores[5]"},
    {"eos", spoil_eos, false, QN_BAD_FILE, "tokenizer.ggml.eos_token_id is 259, but the vocabulary ends at 258"},
    {"bos", spoil_bos, true, QN_BAD_FILE, "tokenizer.ggml.bos_token_id is 100000"},
    {"kind", spoil_kind, true, QN_BAD_FILE, "tokenizer.ggml.token_type[9] is 7"},
    {"no tokens", spoil_no_tokens, true, QN_BAD_FILE, "tokenizer.ggml.tokens"},
    {"left side", spoil_left, true, QN_BAD_FILE, "tokenizer.ggml.merges[0]"},
    {"right side", spoil_right, true, QN_BAD_FILE, "tokenizer.ggml.merges[0]: \"a b\""},
    {"nothing", spoil_nothing, true, QN_OK, ""},
    {"nothing", spoil_nothing, false, QN_OK, ""},
};

static void contradictory_facts_are_refused_by_key_and_value(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const refusal *r = &refusals[i];
        small_vocabulary v;
        tokenizer *tok = NULL;
        error_context err = {0};
        if (r->is_byte_level) {
            small_byte_level(&v);
            small_merge(&v, "a", "b", "ab");
        } else {
            small_sentencepiece(&v);
        }
        r->spoil(&v);
        const qn_status status = tokenizer_create(&v.facts, &tok, &err);
        if (status != r->status || (status < 0 && strstr(error_text(&err), r->words) == NULL)) {
            fail_msg("%s: status %d, \"%s\"", r->name, (int)status, error_text(&err));
        }
        assert_true((tok == NULL) == (status < 0));
        tokenizer_destroy(tok);
    }
}

/* ---------------------------------------------------------------- stop set */

static void the_stop_set_holds_eos_first_then_special_end_markers(void **state) {
    small_vocabulary v;
    stop_set set;
    (void)state;
    small_byte_level(&v);
    small_merge(&v, "q", "q", "qq");
    const uint32_t odd = small_add(&v, "<|My_IM_END|>", TOKEN_KIND_CONTROL, 0);
    const uint32_t im_end = small_add(&v, "<|im_end|>", TOKEN_KIND_USER_DEFINED, 0);
    const uint32_t text_end = small_add(&v, "<|endoftext|>", TOKEN_KIND_CONTROL, 0);
    small_add(&v, "trim_end", TOKEN_KIND_NORMAL, 0);   /* a word of program text */
    small_add(&v, "</s>", TOKEN_KIND_USER_DEFINED, 0); /* an HTML tag */
    v.facts.eot = small_add(&v, "<|bye|>", TOKEN_KIND_CONTROL, 0);
    tokenizer *tok = small_create(&v);
    stop_set_from_vocabulary(tok, &set);
    const uint32_t expected[] = {256, v.facts.eot, text_end, im_end, odd};
    assert_int_equal(set.count, 5);
    assert_memory_equal(set.ids, expected, sizeof expected);
    stop_set_add(&set, 256);
    stop_set_add(&set, TOKEN_NONE);
    assert_int_equal(set.count, 5);
    for (uint32_t id = 0; id < 100; id++) {
        stop_set_add(&set, id);
    }
    assert_int_equal(set.count, STOP_SET_MAX);
    assert_true(stop_set_has(&set, odd));
    assert_false(stop_set_has(&set, 99));
    tokenizer_destroy(tok);
}

static void tokens_are_found_by_their_exact_spelling(void **state) {
    small_vocabulary v;
    (void)state;
    small_byte_level(&v);
    const uint32_t word = small_merge(&v, "\xc4\xa0", "a", "\xc4\xa0" "a");
    tokenizer *tok = small_create(&v);
    assert_int_equal(tokenizer_size(tok), v.facts.n_tokens);
    assert_int_equal(tokenizer_find(tok, "<|end|>"), 256);
    assert_int_equal(tokenizer_find(tok, "\xc4\xa0" "a"), word);
    assert_int_equal(tokenizer_find(tok, " a"), TOKEN_NONE);
    assert_int_equal(tokenizer_find_special(tok, "\xc4\xa0" "a"), TOKEN_NONE);
    assert_null(tokenizer_get_facts(tok)->merges);
    tokenizer_destroy(tok);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spm_joins_the_best_score_first_and_of_equals_the_leftmost),
        cmocka_unit_test(spm_adds_a_space_in_front_and_reads_spaces_as_markers),
        cmocka_unit_test(spm_falls_back_to_bytes_or_to_unknown),
        cmocka_unit_test(a_byte_that_is_spelled_out_is_no_byte),
        cmocka_unit_test(spm_collapses_spaces_when_the_model_does),
        cmocka_unit_test(a_token_that_reaches_over_a_space_is_found),
        cmocka_unit_test(bpe_joins_the_lowest_rank_first),
        cmocka_unit_test(bpe_gives_merge_strings_that_are_no_tokens_as_bytes),
        cmocka_unit_test(whole_words_go_before_merges_where_the_rule_says_so),
        cmocka_unit_test(of_a_token_that_stands_twice_the_lowest_id_is_used),
        cmocka_unit_test(a_byte_without_token_needs_an_unknown_token),
        cmocka_unit_test(control_tokens_are_read_only_when_asked_and_added_tokens_always),
        cmocka_unit_test(merging_never_leads_to_a_control_token),
        cmocka_unit_test(kinds_that_the_file_does_not_give_come_from_the_spelling),
        cmocka_unit_test(bos_and_eos_are_added_as_the_facts_say_and_bos_only_once),
        cmocka_unit_test(a_repeated_word_is_encoded_like_the_first),
        cmocka_unit_test(text_that_is_no_utf8_is_refused_with_its_position),
        cmocka_unit_test(contradictory_facts_are_refused_by_key_and_value),
        cmocka_unit_test(the_stop_set_holds_eos_first_then_special_end_markers),
        cmocka_unit_test(tokens_are_found_by_their_exact_spelling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
