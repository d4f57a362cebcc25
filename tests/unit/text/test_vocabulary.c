/* test_vocabulary.c — the facts of a tokenizer out of GGUF keys and out of a P64's own section. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "corpus.h"
#include "text_fixture.h"

/* A GGUF file in memory, written key by key. */
typedef struct gguf_builder {
    uint8_t bytes[65536];
    uint64_t size;
    gguf_writer writer;
    uint64_t scratch[8192];
    gguf_file file;
} gguf_builder;

static bool take_bytes(void *ctx, const void *bytes, uint64_t size) {
    gguf_builder *b = ctx;
    if (size > sizeof b->bytes - b->size) {
        return false;
    }
    memcpy(b->bytes + b->size, bytes, (size_t)size);
    b->size += size;
    return true;
}

static void begin(gguf_builder *b, uint64_t n_kv) {
    memset(b, 0, sizeof *b);
    assert_int_equal(gguf_write_begin(&b->writer, take_bytes, b, 32, n_kv, NULL, 0), FMT_OK);
}

static void add_strings(gguf_builder *b, const char *key, const char *const *strings, uint64_t count) {
    gguf_write_array_begin(&b->writer, key, GGUF_STRING, count);
    for (uint64_t i = 0; i < count; i++) {
        gguf_write_element_string(&b->writer, (fmt_str){strings[i], strlen(strings[i])});
    }
}

static void add_floats(gguf_builder *b, const char *key, uint64_t count) {
    const float zeros[16] = {0};
    gguf_write_array_begin(&b->writer, key, GGUF_F32, count);
    gguf_write_elements(&b->writer, zeros, count);
}

static void finish(gguf_builder *b) {
    fmt_diag diag;
    assert_int_equal(gguf_write_end(&b->writer), FMT_OK);
    if (gguf_open((fmt_span){b->bytes, b->size}, b->scratch, sizeof b->scratch, &b->file, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

static const char *const llama_tokens[] = {"<unk>", "<s>", "</s>", "a"};

static void missing_keys_of_a_llama_vocabulary_get_their_usual_values(void **state) {
    static gguf_builder b;
    vocabulary *v = NULL;
    (void)state;
    begin(&b, 3);
    gguf_write_string(&b.writer, "tokenizer.ggml.model", "llama");
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    add_floats(&b, "tokenizer.ggml.scores", 4);
    finish(&b);
    assert_int_equal(vocabulary_from_gguf(&b.file, "x.gguf", &v, NULL), QN_OK);
    assert_int_equal(v->facts.n_tokens, 4);
    assert_int_equal(v->facts.unk, 0);
    assert_int_equal(v->facts.bos, 1);
    assert_int_equal(v->facts.eos, 2);
    assert_int_equal(v->facts.eot, TOKEN_NONE);
    assert_true(v->facts.add_bos && v->facts.add_space_prefix);
    assert_false(v->facts.add_eos || v->facts.remove_extra_whitespaces || v->facts.strips_after_special);
    assert_null(v->facts.kinds);
    assert_null(v->facts.merges);
    assert_int_equal(v->chat_template.size, 0);
    vocabulary_end_build(v);
    assert_null(v->facts.scores);
    vocabulary_free(v);
}

static void keys_that_are_there_are_read(void **state) {
    static gguf_builder b;
    static const char *const tokens[] = {"a", "b", "ab", "<e>"}, *const merges[] = {"a b"};
    const int32_t kinds[] = {1, 1, 1, 3};
    vocabulary *v = NULL;
    (void)state;
    begin(&b, 14);
    gguf_write_string(&b.writer, "tokenizer.ggml.model", "gpt2");
    gguf_write_string(&b.writer, "tokenizer.ggml.pre", "gpt-2");
    gguf_write_string(&b.writer, "tokenizer.chat_template", "{{ x }}");
    add_strings(&b, "tokenizer.ggml.tokens", tokens, 4);
    add_strings(&b, "tokenizer.ggml.merges", merges, 1);
    gguf_write_array_begin(&b.writer, "tokenizer.ggml.token_type", GGUF_I32, 4);
    gguf_write_elements(&b.writer, kinds, 4);
    gguf_write_uint(&b.writer, "tokenizer.ggml.bos_token_id", GGUF_U32, 3);
    gguf_write_uint(&b.writer, "tokenizer.ggml.eos_token_id", GGUF_U16, 2);
    gguf_write_int(&b.writer, "tokenizer.ggml.eot_token_id", GGUF_I32, 1);
    gguf_write_uint(&b.writer, "tokenizer.ggml.eom_token_id", GGUF_U64, 0);
    gguf_write_uint(&b.writer, "tokenizer.ggml.padding_token_id", GGUF_U32, 3);
    gguf_write_bool(&b.writer, "tokenizer.ggml.add_bos_token", true);
    gguf_write_bool(&b.writer, "tokenizer.ggml.add_eos_token", true);
    gguf_write_bool(&b.writer, "tokenizer.ggml.add_space_prefix", false);
    finish(&b);
    assert_int_equal(vocabulary_from_gguf(&b.file, "x.gguf", &v, NULL), QN_OK);
    const tokenizer_facts *f = &v->facts;
    assert_true(f->bos == 3 && f->eos == 2 && f->eot == 1 && f->eom == 0 && f->pad == 3 && f->unk == TOKEN_NONE);
    assert_true(f->add_bos && f->add_eos && !f->add_space_prefix);
    assert_int_equal(f->kinds[3], TOKEN_KIND_CONTROL);
    assert_int_equal(f->n_merges, 1);
    assert_memory_equal(f->merges[0].left.data, "a", 1);
    assert_memory_equal(f->merges[0].right.data, "b", 1);
    assert_int_equal(v->chat_template.size, 7);
    vocabulary_free(v);
}

static void bos_is_off_by_default_for_byte_level_vocabularies(void **state) {
    static gguf_builder b;
    vocabulary *v = NULL;
    (void)state;
    begin(&b, 2);
    gguf_write_string(&b.writer, "tokenizer.ggml.model", "gpt2");
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    finish(&b);
    assert_int_equal(vocabulary_from_gguf(&b.file, "x.gguf", &v, NULL), QN_OK);
    assert_false(v->facts.add_bos || v->facts.add_space_prefix);
    assert_int_equal(v->facts.bos, TOKEN_NONE);
    vocabulary_free(v);
}

static void assert_refused(gguf_builder *b, qn_status status, const char *words) {
    vocabulary *v = NULL;
    error_context err = {0};
    finish(b);
    assert_int_equal(vocabulary_from_gguf(&b->file, "x.gguf", &v, &err), status);
    assert_null(v);
    if (strstr(error_text(&err), words) == NULL || strstr(error_text(&err), "x.gguf") == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error_text(&err), words);
    }
}

static void keys_that_contradict_each_other_are_refused(void **state) {
    static gguf_builder b;
    static const char *const merges[] = {"ab"}, *const empty_side[] = {"a "};
    (void)state;
    begin(&b, 1);
    gguf_write_string(&b.writer, "tokenizer.ggml.model", "llama");
    assert_refused(&b, QN_NOT_FOUND, "tokenizer.ggml.tokens is missing");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    add_floats(&b, "tokenizer.ggml.scores", 3);
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.scores has 3 elements for 4 tokens");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    add_strings(&b, "tokenizer.ggml.scores", llama_tokens, 4);
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.scores");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    add_strings(&b, "tokenizer.ggml.merges", merges, 1);
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.merges[0] is \"ab\"");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    add_strings(&b, "tokenizer.ggml.merges", empty_side, 1);
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.merges[0] is \"a \"");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    gguf_write_bool(&b.writer, "tokenizer.ggml.add_bos_token", true);
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.bos_token_id");
    begin(&b, 2);
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    gguf_write_string(&b.writer, "tokenizer.ggml.eos_token_id", "2");
    assert_refused(&b, QN_BAD_FILE, "tokenizer.ggml.eos_token_id");
}

static void only_phi3_strips_behind_special_tokens(void **state) {
    static gguf_builder b;
    vocabulary *v = NULL;
    (void)state;
    begin(&b, 3);
    gguf_write_string(&b.writer, "general.architecture", "phi3");
    gguf_write_string(&b.writer, "tokenizer.ggml.model", "llama");
    add_strings(&b, "tokenizer.ggml.tokens", llama_tokens, 4);
    finish(&b);
    assert_int_equal(vocabulary_from_gguf(&b.file, "x.gguf", &v, NULL), QN_OK);
    assert_true(v->facts.strips_after_special);
    vocabulary_free(v);
}

/* ---------------------------------------------------------------- P64 */

typedef struct p64_fixture {
    fmt_span span;
    void *scratch;
    p64_file file;
} p64_fixture;

static void open_p64(const char *name, p64_fixture *f) {
    char relative[256], path[CORPUS_PATH_SIZE];
    uint64_t need;
    fmt_diag diag;
    snprintf(relative, sizeof relative, "tests/vectors/p64/%s", name);
    source_require(relative, path);
    f->span = test_map_file(path);
    if (p64_scratch_size(f->span, FMT_MODE_DEFAULT, &need, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
    f->scratch = malloc((size_t)need + 8);
    assert_non_null(f->scratch);
    if (p64_open(f->span, FMT_MODE_DEFAULT, f->scratch, need, &f->file, NULL, NULL, &diag) != FMT_OK) {
        fail_msg("%s", diag.text);
    }
}

static void close_p64(p64_fixture *f) {
    free(f->scratch);
    test_unmap_file(f->span);
}

static void a_p64_keeps_the_vocabulary_of_its_source(void **state) {
    char path[CORPUS_PATH_SIZE];
    text_fixture source;
    p64_fixture f;
    vocabulary *v = NULL;
    tokenizer *tok = NULL;
    error_context err = {0};
    token_list from_source = {0}, from_p64 = {0};
    static const char text[] = "hello";
    (void)state;
    source_require("tests/vectors/p64/two_layer.gguf", path);
    text_fixture_open(path, &source);
    open_p64("two_layer.seed.p64", &f);
    assert_int_equal(vocabulary_from_p64(&f.file, "x.p64", &v, &err), QN_OK);
    assert_int_equal(v->facts.n_tokens, tokenizer_size(source.tok));
    assert_int_equal(v->facts.bos, source.words->facts.bos);
    assert_int_equal(v->facts.eos, source.words->facts.eos);
    assert_int_equal(v->facts.add_bos, source.words->facts.add_bos);
    if (tokenizer_create(&v->facts, &tok, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    assert_int_equal(tokenizer_encode(source.tok, text, sizeof text - 1, ENCODE_ADD_BOS, &from_source, NULL), QN_OK);
    assert_int_equal(tokenizer_encode(tok, text, sizeof text - 1, ENCODE_ADD_BOS, &from_p64, NULL), QN_OK);
    assert_true(from_source.count > 0);
    assert_int_equal(from_p64.count, from_source.count);
    for (size_t i = 0; i < from_p64.count; i++) {
        assert_int_equal(from_p64.ids[i], from_source.ids[i]);
    }
    token_list_free(&from_source);
    token_list_free(&from_p64);
    tokenizer_destroy(tok);
    vocabulary_free(v);
    close_p64(&f);
    text_fixture_close(&source);
}

static void a_p64_without_tokenizer_says_so(void **state) {
    p64_fixture f;
    vocabulary *v = NULL;
    error_context err = {0};
    (void)state;
    open_p64("raw_matrix.seed.p64", &f);
    assert_int_equal(vocabulary_from_p64(&f.file, "x.p64", &v, &err), QN_NOT_FOUND);
    assert_null(v);
    assert_non_null(strstr(error_text(&err), "x.p64"));
    close_p64(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_keys_of_a_llama_vocabulary_get_their_usual_values),
        cmocka_unit_test(keys_that_are_there_are_read),
        cmocka_unit_test(bos_is_off_by_default_for_byte_level_vocabularies),
        cmocka_unit_test(keys_that_contradict_each_other_are_refused),
        cmocka_unit_test(only_phi3_strips_behind_special_tokens),
        cmocka_unit_test(a_p64_keeps_the_vocabulary_of_its_source),
        cmocka_unit_test(a_p64_without_tokenizer_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
