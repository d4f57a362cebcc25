/* hf_fixture.c — see hf_fixture.h. */
#include "hf_fixture.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIG                                                                                                         \
    "{'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'hidden_size': 32, 'intermediate_size': 48, "     \
    "'num_hidden_layers': 2, 'num_attention_heads': 4, 'num_key_value_heads': 2, 'max_position_embeddings': 128, "    \
    "'rms_norm_eps': 0.00001, 'vocab_size': 16, 'hidden_act': 'silu', 'tie_word_embeddings': true}"
#define TOKENIZER                                                                                                      \
    "{'added_tokens': [{'id': 0, 'content': '<|end|>', 'special': true}, {'id': 1, 'content': '<note>', "              \
    "'special': false}], 'normalizer': null, 'pre_tokenizer': {'type': 'ByteLevel', 'add_prefix_space': false}, "      \
    "'post_processor': null, 'model': {'type': 'BPE', 'vocab': {'<|end|>': 0, 'a': 2, 'b': 3, 'c': 4, 'ab': 5, "       \
    "'abc': 6}, 'merges': ['a b', 'ab c']}}"
#define TOKENIZER_CONFIG "{'bos_token': '<|end|>', 'eos_token': {'content': '<|end|>'}, 'chat_template': 'hello'}"

json_t *fixture_json(const char *text) {
    json_error_t error;
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c != '\0'; c++) {
        *c = *c == '\'' ? '"' : *c;
    }
    json_t *value = json_loads(copy, JSON_DECODE_ANY, &error);
    if (value == NULL) {
        fail_msg("%s: %s", copy, error.text);
    }
    free(copy);
    return value;
}

void fixture_begin(hf_fixture *f) {
    *f = (hf_fixture){.config = fixture_json(CONFIG),
                      .tokenizer = fixture_json(TOKENIZER),
                      .tokenizer_config = fixture_json(TOKENIZER_CONFIG)};
    test_make_folder(f->folder);
    fixture_put_weights(f, 16, 32);
}

void fixture_end(hf_fixture *f) {
    json_decref(f->config);
    json_decref(f->tokenizer);
    json_decref(f->tokenizer_config);
    json_decref(f->generation);
    test_remove_tree(f->folder);
}

void fixture_change(json_t *document, const char *changes) {
    if (changes == NULL) {
        return;
    }
    json_t *members = fixture_json(changes);
    const char *key;
    json_t *value;
    json_object_foreach(members, key, value) {
        if (json_is_null(value)) {
            json_object_del(document, key);
        } else {
            json_object_set(document, key, value);
        }
    }
    json_decref(members);
}

void fixture_put(const hf_fixture *f, const char *name, const void *bytes, size_t size) {
    char path[CORPUS_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *stream = fopen(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
}

static void put_json(const hf_fixture *f, const char *name, const json_t *document) {
    if (document != NULL) {
        char *text = json_dumps(document, 0);
        assert_non_null(text);
        fixture_put(f, name, text, strlen(text));
        free(text);
    }
}

void fixture_write(const hf_fixture *f) {
    put_json(f, "config.json", f->config);
    put_json(f, "tokenizer.json", f->tokenizer);
    put_json(f, "tokenizer_config.json", f->tokenizer_config);
    put_json(f, "generation_config.json", f->generation);
}

void fixture_put_tensors(const hf_fixture *f, const fixture_tensor *tensors, size_t count) {
    char header[4000];
    size_t used = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t begin = bytes;
        char shape[40];
        snprintf(shape, sizeof shape, tensors[i].width > 0 ? "%u,%u" : "%u", tensors[i].rows, tensors[i].width);
        bytes += (size_t)tensors[i].rows * (tensors[i].width > 0 ? tensors[i].width : 1) * 4;
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 "%c\"%s\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", i == 0 ? '{' : ',',
                                 tensors[i].name, shape, begin, bytes);
        assert_true(used + 2 < sizeof header);
    }
    header[used++] = '}';
    uint8_t *file = calloc(1, 8 + used + bytes);
    assert_non_null(file);
    file[0] = (uint8_t)used;
    file[1] = (uint8_t)(used >> 8);
    memcpy(file + 8, header, used);
    fixture_put(f, "model.safetensors", file, 8 + used + bytes);
    free(file);
}

void fixture_put_weights(const hf_fixture *f, uint32_t rows, uint32_t width) {
    const fixture_tensor table = {"model.embed_tokens.weight", rows, width};
    fixture_put_tensors(f, &table, 1);
}

/* ------------------------------------------------------------------------------------------------------- printing */

static int print_element(const gguf_array *array, uint64_t index, char *text, size_t room) {
    double real;
    int64_t whole;
    bool flag;
    if (gguf_array_f64(array, index, &real)) {
        return snprintf(text, room, " %.7g", real);
    }
    if (gguf_array_i64(array, index, &whole)) {
        return snprintf(text, room, " %" PRId64, whole);
    }
    return gguf_array_bool(array, index, &flag) ? snprintf(text, room, flag ? " true" : " false") : 0;
}

static void print_array(const gguf_array *array, char text[FIXTURE_TEXT_SIZE]) {
    gguf_iter iter = gguf_iterate(array);
    fmt_str element;
    size_t used = (size_t)snprintf(text, FIXTURE_TEXT_SIZE, "[%" PRIu64 "]", array->count);
    for (uint64_t i = 0; i < array->count && used < FIXTURE_TEXT_SIZE; i++) {
        used += gguf_next_string(&iter, &element)
                    ? (size_t)snprintf(text + used, FIXTURE_TEXT_SIZE - used, " %.*s", (int)element.size, element.data)
                    : (size_t)print_element(array, i, text + used, FIXTURE_TEXT_SIZE - used);
    }
}

static void print_key(const gguf_file *file, const char *key, char text[FIXTURE_TEXT_SIZE]) {
    const gguf_kv *kv = gguf_find_kv(file, key);
    uint64_t whole;
    double real;
    bool flag;
    fmt_str string;
    gguf_array array;
    if (kv == NULL) {
        snprintf(text, FIXTURE_TEXT_SIZE, "absent");
    } else if (gguf_kv_u64(kv, &whole)) {
        snprintf(text, FIXTURE_TEXT_SIZE, "u32 %" PRIu64, whole);
    } else if (gguf_kv_f64(kv, &real)) {
        snprintf(text, FIXTURE_TEXT_SIZE, "f32 %.7g", real);
    } else if (gguf_kv_bool(kv, &flag)) {
        snprintf(text, FIXTURE_TEXT_SIZE, "bool %s", flag ? "true" : "false");
    } else if (gguf_kv_string(kv, &string)) {
        snprintf(text, FIXTURE_TEXT_SIZE, "str %.*s", (int)string.size, string.data);
    } else if (gguf_kv_array(kv, &array)) {
        print_array(&array, text);
    }
}

void fixture_translate(const hf_fixture *f, const char *key, char text[FIXTURE_TEXT_SIZE]) {
    hf_folder *folder = NULL;
    key_image image = {.bytes = NULL};
    error_context err = {0};
    fixture_write(f);
    if (hf_folder_open(f->folder, &folder, &err) < 0 || key_image_from_folder(folder, &image, &err) < 0) {
        snprintf(text, FIXTURE_TEXT_SIZE, "refused: %s", error_text(&err));
    } else {
        assert_string_equal(image.rope_type, "half");
        print_key(&image.file, key, text);
    }
    key_image_free(&image);
    hf_folder_close(folder);
}
