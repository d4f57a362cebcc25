/* test_hf_tokenizer.c — tokenizer.json and its neighbours become the keys tokenizer.*; what is not known is refused by
 * name. Each row changes one file of a sound folder and looks at one key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hf_fixture.h"

typedef enum place { IN_FILE, IN_MODEL, IN_CONFIG, IN_TOKENIZER_CONFIG, IN_GENERATION } place;

typedef struct row {
    place where;
    const char *changes, *key, *wanted; /* key null: refused, and `wanted` is a part of the message */
} row;

static json_t *find_document(hf_fixture *f, place where) {
    switch (where) {
    case IN_FILE:
        return f->tokenizer;
    case IN_MODEL:
        return json_object_get(f->tokenizer, "model");
    case IN_CONFIG:
        return f->config;
    case IN_TOKENIZER_CONFIG:
        return f->tokenizer_config;
    default:
        f->generation = json_object();
        return f->generation;
    }
}

static void check_row(hf_fixture *f, const row *r) {
    char text[FIXTURE_TEXT_SIZE];
    fixture_change(find_document(f, r->where), r->changes);
    fixture_translate(f, r->key == NULL ? "general.architecture" : r->key, text);
    const bool is_right = r->key == NULL ? strncmp(text, "refused: ", 9) == 0 && strstr(text, r->wanted) != NULL
                                         : strcmp(text, r->wanted) == 0;
    if (!is_right) {
        fail_msg("%s, key %s: %s, wanted %s", r->changes, r->key, text, r->wanted);
    }
}

static void check(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hf_fixture f;
        fixture_begin(&f);
        check_row(&f, &rows[i]);
        fixture_end(&f);
    }
}

/* Turns the sound folder into one with a SentencePiece vocabulary. */
#define PIECES                                                                                                         \
    "{'type': 'BPE', 'unk_token': '<unk>', 'byte_fallback': true, 'vocab': {'<unk>': 0, '<s>': 1, '<0x41>': 2, "        \
    "'a': 3, 'b': 4, 'c': 5, 'ab': 6, 'abc': 7, 'bc': 8}, 'merges': [['b', 'c'], ['a', 'b'], ['a', 'bc'], "             \
    "['ab', 'c']]}"
#define TO_SPACES "{'type': 'Replace', 'pattern': {'String': ' '}, 'content': '\xE2\x96\x81'}"
#define PREFIX "{'type': 'Prepend', 'prepend': '\xE2\x96\x81'}"

static void check_pieces(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        hf_fixture f;
        fixture_begin(&f);
        fixture_change(f.tokenizer, "{'pre_tokenizer': null, 'added_tokens': [{'id': 1, 'content': '<s>', 'special': "
                                    "true}], 'normalizer': " TO_SPACES ", 'model': " PIECES "}");
        fixture_change(f.tokenizer_config, "{'bos_token': '<s>', 'eos_token': null}");
        check_row(&f, &rows[i]);
        fixture_end(&f);
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))
#define CHECK_PIECES(rows) check_pieces(rows, sizeof(rows) / sizeof((rows)[0]))

static void a_byte_level_vocabulary_keeps_tokens_kinds_and_merges(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.ggml.model", "str gpt2"},
        {IN_FILE, NULL, "tokenizer.ggml.tokens",
         "[16] <|end|> <note> a b c ab abc [PAD7] [PAD8] [PAD9] [PAD10] [PAD11] [PAD12] [PAD13] [PAD14] [PAD15]"},
        {IN_FILE, NULL, "tokenizer.ggml.token_type", "[16] 3 4 1 1 1 1 1 5 5 5 5 5 5 5 5 5"},
        {IN_FILE, NULL, "tokenizer.ggml.merges", "[2] a b ab c"},
        {IN_MODEL, "{'merges': [['a', 'b'], ['ab', 'c']]}", "tokenizer.ggml.merges", "[2] a b ab c"},
        {IN_MODEL, "{'merges': []}", "tokenizer.ggml.merges", "[0]"},
        {IN_FILE, NULL, "tokenizer.ggml.scores", "absent"},
        {IN_FILE, NULL, "tokenizer.ggml.add_space_prefix", "absent"},
        {IN_FILE, "{'added_tokens': [{'id': 1, 'content': '<unused9>', 'special': false}]}", "tokenizer.ggml.token_type",
         "[16] 1 3 1 1 1 1 1 5 5 5 5 5 5 5 5 5"},
        {IN_CONFIG, "{'vocab_size': 7}", "tokenizer.ggml.tokens", "[7] <|end|> <note> a b c ab abc"},
    };
    (void)state;
    CHECK(rows);
}

static void scores_of_pieces_are_the_order_of_their_merges(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.ggml.model", "str llama"},
        {IN_FILE, NULL, "tokenizer.ggml.pre", "str default"},
        /* unknown, control and byte tokens have none; a, b, c come behind all merges; the first merge of abc counts */
        {IN_CONFIG, "{'vocab_size': 9}", "tokenizer.ggml.scores", "[9] 0 0 0 -7 -8 -9 -1 -2 0"},
        {IN_CONFIG, "{'vocab_size': 9}", "tokenizer.ggml.token_type", "[9] 2 3 6 1 1 1 1 1 1"},
        {IN_FILE, NULL, "tokenizer.ggml.merges", "absent"},
        {IN_FILE, NULL, "tokenizer.ggml.add_space_prefix", "bool false"},
        {IN_FILE, "{'normalizer': {'type': 'Sequence', 'normalizers': [" PREFIX ", " TO_SPACES "]}}",
         "tokenizer.ggml.add_space_prefix", "bool true"},
        {IN_FILE, "{'normalizer': null, 'pre_tokenizer': {'type': 'Metaspace', 'prepend_scheme': 'first', 'split': false}}",
         "tokenizer.ggml.add_space_prefix", "bool true"},
        {IN_FILE, "{'normalizer': null, 'pre_tokenizer': {'type': 'Metaspace', 'prepend_scheme': 'never', 'split': false}}",
         "tokenizer.ggml.add_space_prefix", "bool false"},
        {IN_FILE, "{'normalizer': null, 'pre_tokenizer': {'type': 'Metaspace', 'add_prefix_space': false, 'split': false}}",
         "tokenizer.ggml.add_space_prefix", "bool false"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'Split', 'pattern': {'String': ' '}, 'behavior': 'MergedWithPrevious'}}",
         "tokenizer.ggml.add_space_prefix", "bool false"},
        {IN_FILE, NULL, "tokenizer.ggml.bos_token_id", "u32 1"},
        {IN_FILE, NULL, "tokenizer.ggml.add_bos_token", "absent"},
        {IN_FILE, NULL, "tokenizer.ggml.eos_token_id", "absent"},
    };
    (void)state;
    CHECK_PIECES(rows);
}

#define SPLIT(pattern)                                                                                                 \
    "{'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{'type': 'Split', 'behavior': 'Isolated', 'invert': "   \
    "false, 'pattern': {'Regex': '" pattern "'}}, {'type': 'ByteLevel', 'add_prefix_space': false, 'use_regex': "     \
    "false}]}}"

static void pre_tokenizers_are_recognised_by_their_stages(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.ggml.pre", "str gpt-2"},
        {IN_FILE, "{'normalizer': {'type': 'NFC'}}", "tokenizer.ggml.pre", "str gpt-2"},
        {IN_FILE, "{'normalizer': {'type': 'Sequence', 'normalizers': []}}", "tokenizer.ggml.pre", "str gpt-2"},
        {IN_FILE,
         "{'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{'type': 'Digits', 'individual_digits': true}, "
         "{'type': 'ByteLevel', 'add_prefix_space': false, 'use_regex': true}]}}",
         "tokenizer.ggml.pre", "str smollm"},
        {IN_FILE,
         "{'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{'type': 'Digits', 'individual_digits': false}, "
         "{'type': 'ByteLevel', 'add_prefix_space': false}]}}",
         NULL, "key pre_tokenizer cuts texts by a rule that this program does not know"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'ByteLevel', 'add_prefix_space': true}}", NULL, "key pre_tokenizer cuts"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'ByteLevel', 'use_regex': false}}", NULL, "key pre_tokenizer cuts"},
        {IN_FILE, SPLIT("[a-z]+"), NULL, "key pre_tokenizer cuts"},
        {IN_FILE, "{'normalizer': {'type': 'Lowercase'}}", NULL, "key normalizer is \"Lowercase\""},
        {IN_FILE, "{'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': [{}, {}, {}, {}, {}]}}", NULL, "has 5 stages"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'Whitespace'}}", NULL, "key model.byte_fallback is not true"},
        {IN_FILE, "{'pre_tokenizer': 7}", NULL, "key model.byte_fallback is not true"},
    };
    (void)state;
    CHECK(rows);
}

/* Regular expressions hold the sign that stands for quotes in the other rows. */
static void check_pattern(const char *pattern, bool takes_whole_words, const char *wanted) {
    hf_fixture f;
    char text[FIXTURE_TEXT_SIZE];
    fixture_begin(&f);
    json_t *pre = json_pack("{s:s, s:[{s:s, s:s, s:b, s:{s:s}}, {s:s, s:b, s:b}]}", "type", "Sequence", "pretokenizers",
                            "type", "Split", "behavior", "Isolated", "invert", 0, "pattern", "Regex", pattern, "type",
                            "ByteLevel", "add_prefix_space", 0, "use_regex", 0);
    assert_non_null(pre);
    json_object_set_new(f.tokenizer, "pre_tokenizer", pre);
    json_object_set_new(json_object_get(f.tokenizer, "model"), "ignore_merges", json_boolean(takes_whole_words));
    fixture_translate(&f, "tokenizer.ggml.pre", text);
    assert_string_equal(text, wanted);
    fixture_end(&f);
}

static void the_patterns_of_known_models_have_names(void **state) {
    static const char llama3[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const char qwen2[] =
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    static const char gpt4o[] =
        "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+"
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+"
        "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|"
        "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    (void)state;
    check_pattern(llama3, true, "str llama-bpe");
    check_pattern(llama3, false, "str smaug-bpe");
    check_pattern(qwen2, false, "str qwen2");
    check_pattern(gpt4o, false, "str gpt-4o");
}

static void special_ids_come_by_text_and_else_by_number(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.ggml.bos_token_id", "u32 0"},
        {IN_FILE, NULL, "tokenizer.ggml.eos_token_id", "u32 0"},
        {IN_FILE, NULL, "tokenizer.ggml.unknown_token_id", "absent"},
        {IN_TOKENIZER_CONFIG, "{'unk_token': '<note>'}", "tokenizer.ggml.unknown_token_id", "u32 1"},
        {IN_TOKENIZER_CONFIG, "{'pad_token': 'abc'}", "tokenizer.ggml.padding_token_id", "u32 6"},
        {IN_CONFIG, "{'pad_token_id': 5}", "tokenizer.ggml.padding_token_id", "u32 5"},
        {IN_CONFIG, "{'eos_token_id': [5, 6]}", "tokenizer.ggml.eos_token_id", "u32 0"},
        {IN_CONFIG, "{'pad_token_id': 16}", NULL, "config.json: key pad_token_id is 16, which is outside the vocabulary: must be an id from 0 to 15"},
        {IN_CONFIG, "{'pad_token_id': 'a'}", NULL, "key pad_token_id must be an id"},
        {IN_GENERATION, "{'pad_token_id': 4}", "tokenizer.ggml.padding_token_id", "u32 4"},
        {IN_GENERATION, "{'eos_token_id': 0}", "tokenizer.ggml.eot_token_id", "absent"},
        {IN_GENERATION, "{'eos_token_id': [0, 2, 3]}", "tokenizer.ggml.eot_token_id", "u32 2"},
        {IN_GENERATION, "{'eos_token_id': [0, 2, 3]}", "tokenizer.ggml.eom_token_id", "u32 3"},
        {IN_GENERATION, "{'eos_token_id': [0, -2]}", NULL, "generation_config.json: key eos_token_id is -2, which is outside"},
        /* also where tokenizer_config.json has a text that goes before the number */
        {IN_CONFIG, "{'eos_token_id': 16}", NULL, "config.json: key eos_token_id is 16, which is outside the vocabulary"},
        {IN_CONFIG, "{'eos_token_id': [0, 5, 99]}", NULL, "config.json: key eos_token_id is 99"},
        {IN_CONFIG, "{'bos_token_id': -1}", NULL, "config.json: key bos_token_id is -1"},
        {IN_CONFIG, "{'bos_token_id': 15}", "tokenizer.ggml.bos_token_id", "u32 0"},
        {IN_CONFIG, "{'bos_token_id': 1.5}", NULL, "config.json: key bos_token_id must be an id"},
        {IN_GENERATION, "{'bos_token_id': 16}", NULL, "generation_config.json: key bos_token_id is 16"},
        {IN_TOKENIZER_CONFIG, "{'bos_token': 7}", NULL, "tokenizer_config.json: key bos_token is 7, must be a string"},
    };
    (void)state;
    CHECK(rows);
}

#define TEMPLATE                                                                                                       \
    "{'type': 'TemplateProcessing', 'single': [{'SpecialToken': {'id': '<|end|>'}}, {'Sequence': {'id': 'A'}}]}"

static void bos_is_added_when_the_config_or_the_post_processor_says_so(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.ggml.add_bos_token", "bool false"},
        {IN_TOKENIZER_CONFIG, "{'add_bos_token': true}", "tokenizer.ggml.add_bos_token", "bool true"},
        {IN_FILE, "{'post_processor': " TEMPLATE "}", "tokenizer.ggml.add_bos_token", "bool true"},
        {IN_FILE, "{'post_processor': " TEMPLATE "}", "tokenizer.ggml.add_eos_token", "bool false"},
        {IN_FILE, "{'post_processor': {'type': 'Sequence', 'processors': [{'type': 'ByteLevel'}, " TEMPLATE "]}}",
         "tokenizer.ggml.add_bos_token", "bool true"},
        {IN_TOKENIZER_CONFIG, "{'add_eos_token': true}", "tokenizer.ggml.add_eos_token", "bool true"},
        {IN_TOKENIZER_CONFIG, "{'bos_token': null}", "tokenizer.ggml.add_bos_token", "bool false"},
        {IN_TOKENIZER_CONFIG, "{'add_bos_token': 'yes'}", NULL, "key add_bos_token is \"yes\", must be true or false"},
    };
    (void)state;
    CHECK(rows);
}

static void the_template_is_the_default_one_and_a_file_goes_first(void **state) {
    static const row rows[] = {
        {IN_FILE, NULL, "tokenizer.chat_template", "str hello"},
        {IN_TOKENIZER_CONFIG,
         "{'chat_template': [{'name': 'tool', 'template': 'a'}, {'name': 'default', 'template': 'b'}]}",
         "tokenizer.chat_template", "str b"},
        {IN_TOKENIZER_CONFIG, "{'chat_template': null}", "tokenizer.chat_template", "absent"},
        {IN_TOKENIZER_CONFIG, "{'chat_template': 3}", NULL, "key chat_template is 3"},
    };
    hf_fixture f;
    char text[FIXTURE_TEXT_SIZE];
    (void)state;
    CHECK(rows);
    fixture_begin(&f);
    fixture_put(&f, "chat_template.jinja", "from a file", 11);
    fixture_translate(&f, "tokenizer.chat_template", text);
    assert_string_equal(text, "str from a file");
    fixture_end(&f);
}

static void impossible_vocabularies_are_refused_with_file_and_key(void **state) {
    static const row rows[] = {
        {IN_FILE, "{'model': null}", NULL, "tokenizer.json: key model is missing"},
        {IN_MODEL, "{'type': 'Unigram'}", NULL, "key model.type is \"Unigram\"; this program knows BPE"},
        {IN_MODEL, "{'vocab': {}}", NULL, "key model.vocab is missing or empty"},
        {IN_MODEL, "{'vocab': [1]}", NULL, "key model.vocab is missing or empty"},
        {IN_MODEL, "{'vocab': {'a': 16}}", NULL, "key model.vocab gives \"a\" no id from 0 to 15"},
        {IN_MODEL, "{'vocab': {'a': -1}}", NULL, "gives \"a\" no id"},
        {IN_MODEL, "{'vocab': {'a': 'b'}}", NULL, "gives \"a\" no id"},
        {IN_MODEL, "{'vocab': {'a': 2, 'b': 2}}", NULL, "gives the id 2 to \"a\" and to \"b\""},
        {IN_MODEL, "{'merges': null}", NULL, "key model.merges is missing"},
        {IN_MODEL, "{'merges': {}}", NULL, "key model.merges is {}, must be an array"},
        {IN_MODEL, "{'merges': ['a b', 'ab']}", NULL, "key model.merges[1] is no merge"},
        {IN_MODEL, "{'merges': [['a', 'b', 'c']]}", NULL, "key model.merges[0] is no merge"},
        {IN_MODEL, "{'merges': [['a', '']]}", NULL, "key model.merges[0] is no merge"},
        {IN_MODEL, "{'merges': [7]}", NULL, "key model.merges[0] is no merge"},
        {IN_MODEL, "{'end_of_word_suffix': '</w>'}", NULL, "key model.end_of_word_suffix is \"</w>\""},
        {IN_FILE, "{'added_tokens': [{'id': 16, 'content': 'x'}]}", NULL, "key added_tokens[0].id or content"},
        {IN_FILE, "{'added_tokens': [{'id': 2, 'content': 'x'}]}", NULL,
         "key added_tokens[0].content is \"x\", but id 2 is \"a\" already"},
        {IN_FILE, "{'added_tokens': [7]}", NULL, "key added_tokens[0].id or content"},
        {IN_FILE, "{'added_tokens': 7}", NULL, "key added_tokens is 7, must be an array"},
    };
    (void)state;
    CHECK(rows);
}

static void a_merge_that_makes_no_token_is_refused_where_scores_are_needed(void **state) {
    static const row rows[] = {
        {IN_MODEL, "{'merges': [['a', 'b'], ['c', 'a']]}", NULL, "key model.merges[1] makes a text that is no token"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'Metaspace', 'split': true}}", NULL, "key pre_tokenizer cuts texts at spaces"},
        {IN_FILE, "{'pre_tokenizer': {'type': 'Whitespace'}}", NULL, "key pre_tokenizer is \"Whitespace\""},
        {IN_FILE, "{'normalizer': {'type': 'NFKC'}}", NULL, "key normalizer has stage 0 of type \"NFKC\""},
    };
    (void)state;
    CHECK_PIECES(rows);
}

static void a_folder_without_a_tokenizer_has_no_tokenizer_keys(void **state) {
    hf_fixture f;
    char text[FIXTURE_TEXT_SIZE];
    (void)state;
    fixture_begin(&f);
    json_decref(f.tokenizer);
    f.tokenizer = NULL;
    fixture_translate(&f, "tokenizer.ggml.tokens", text);
    assert_string_equal(text, "absent");
    fixture_translate(&f, "llama.block_count", text);
    assert_string_equal(text, "u32 2");
    fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_byte_level_vocabulary_keeps_tokens_kinds_and_merges),
        cmocka_unit_test(scores_of_pieces_are_the_order_of_their_merges),
        cmocka_unit_test(pre_tokenizers_are_recognised_by_their_stages),
        cmocka_unit_test(the_patterns_of_known_models_have_names),
        cmocka_unit_test(special_ids_come_by_text_and_else_by_number),
        cmocka_unit_test(bos_is_added_when_the_config_or_the_post_processor_says_so),
        cmocka_unit_test(the_template_is_the_default_one_and_a_file_goes_first),
        cmocka_unit_test(impossible_vocabularies_are_refused_with_file_and_key),
        cmocka_unit_test(a_merge_that_makes_no_token_is_refused_where_scores_are_needed),
        cmocka_unit_test(a_folder_without_a_tokenizer_has_no_tokenizer_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
