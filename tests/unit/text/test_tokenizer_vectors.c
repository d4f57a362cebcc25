/* test_tokenizer_vectors.c — published tokenizations of real vocabularies: texts in NAME.gguf.inp, ids in NAME.gguf.out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "corpus.h"
#include "text_fixture.h"

static const char separator[] = "\n__ggml_vocab_test__\n";

/* Parses one line of ids; returns how many and leaves *at behind its line feed. */
static size_t parse_ids(const char **at, uint32_t *ids, size_t room) {
    size_t n = 0;
    while (**at != '\n' && **at != '\0') {
        char *end;
        const unsigned long id = strtoul(*at, &end, 10);
        if (end == *at) {
            *at += 1;
            continue;
        }
        assert_true(n + 1 < room);
        ids[n++] = (uint32_t)id;
        *at = end;
    }
    *at += **at == '\n' ? 1 : 0;
    ids[n] = TOKEN_NONE;
    return n;
}

static void run_vectors(void **state) {
    const char *name = *state;
    char relative[128], path[CORPUS_PATH_SIZE];
    text_fixture f;
    size_t size;
    snprintf(relative, sizeof relative, "data/tokenizers/ggml-vocab-%s.gguf", name);
    corpus_require(relative, path);
    text_fixture_open(path, &f);
    snprintf(relative, sizeof relative, "data/tokenizers/ggml-vocab-%s.gguf.inp", name);
    corpus_require(relative, path);
    char *texts = (char *)test_read_file(path, &size);
    snprintf(relative, sizeof relative, "data/tokenizers/ggml-vocab-%s.gguf.out", name);
    corpus_require(relative, path);
    char *outputs = (char *)test_read_file(path, &size);
    uint32_t ids[4096];
    size_t n_texts = 0;
    const char *output = outputs;
    for (const char *text = texts; text != NULL && *output != '\0'; n_texts++) {
        const char *end = strstr(text, separator);
        parse_ids(&output, ids, sizeof ids / sizeof ids[0]);
        assert_encodes(f.tok, text, end != NULL ? (size_t)(end - text) : strlen(text), 0, ids);
        text = end != NULL ? end + strlen(separator) : NULL;
    }
    assert_true(n_texts > 40);
    free(texts);
    free(outputs);
    text_fixture_close(&f);
}

static void stories260k_tokenizes_as_recorded(void **state) {
    char path[CORPUS_PATH_SIZE];
    text_fixture f;
    (void)state;
    corpus_require("data/stories260k/golden.json", path);
    json_t *golden = json_load_file(path, 0, NULL);
    assert_non_null(golden);
    corpus_require("data/stories260k/stories260k-f32.gguf", path);
    text_fixture_open(path, &f);
    size_t i, k;
    json_t *item, *id;
    json_array_foreach(json_object_get(golden, "tokenize"), i, item) {
        const char *text = json_string_value(json_object_get(item, "text"));
        uint32_t ids[64];
        json_array_foreach(json_object_get(item, "ids"), k, id) {
            ids[k] = (uint32_t)json_integer_value(id);
        }
        ids[json_array_size(json_object_get(item, "ids"))] = TOKEN_NONE;
        assert_encodes(f.tok, text, strlen(text), ENCODE_ADD_BOS, ids);
        assert_round_trip(f.tok, text, strlen(text));
    }
    assert_true(i >= 7);
    json_decref(golden);
    text_fixture_close(&f);
}

int main(void) {
#define VECTORS(vocabulary) {"vectors_of_" vocabulary, run_vectors, NULL, NULL, (void *)vocabulary}
    const struct CMUnitTest tests[] = {
        VECTORS("llama-spm"),    VECTORS("phi-3"),  VECTORS("gpt-2"),     VECTORS("starcoder"), VECTORS("refact"),
        VECTORS("falcon"),       VECTORS("mpt"),    VECTORS("deepseek-llm"), VECTORS("deepseek-coder"),
        cmocka_unit_test(stories260k_tokenizes_as_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
