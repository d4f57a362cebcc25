/* fuzz_hf_folder.c — the JSON files of a model folder with any content. The data is config.json, tokenizer.json,
 * tokenizer_config.json, generation_config.json and the template, split by zero bytes; what is no JSON object is not there.
 *
 * What is demanded: a refusal has words; and what was translated opens as a GGUF whose vocabulary is taken or refused. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/log.h"
#include "convert/hf_config.h"
#include "convert/hf_tokenizer.h"
#include "model/vocabulary.h"

#define REQUIRE(condition) \
    do { \
        if (!(condition)) { \
            abort(); \
        } \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 16, WIDTH = 32 };

/* Weights of one matrix: a header, then zeros. */
static fmt_span make_weights(void) {
    static const char header[] =
        "{\"model.embed_tokens.weight\":{\"dtype\":\"F32\",\"shape\":[16,32],\"data_offsets\":[0,2048]}}";
    static uint8_t bytes[8 + sizeof header - 1 + 4 * ROWS * WIDTH];
    bytes[0] = sizeof header - 1;
    memcpy(bytes + 8, header, sizeof header - 1);
    return (fmt_span){bytes, sizeof bytes};
}

/* Takes the part up to the next zero byte. */
static fmt_str next_part(const uint8_t **at, const uint8_t *end) {
    const uint8_t *zero = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;
    const uint8_t *stop = zero != NULL ? zero : end;
    const fmt_str part = {(const char *)*at, (uint64_t)(stop - *at)};
    *at = zero != NULL ? zero + 1 : end;
    return part;
}

static void parse(fmt_str text, const char *name, hf_json *out) {
    json_t *root = json_loadb(text.data, (size_t)text.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    if (json_is_object(root)) {
        *out = (hf_json){strdup(name), root};
        REQUIRE(out->path != NULL);
    } else {
        json_decref(root);
    }
}

static void read_vocabulary(const gguf_file *file) {
    error_context err = {0};
    vocabulary *words = NULL;
    tokenizer *tok = NULL;
    if (vocabulary_from_gguf(file, "image", &words, &err) == QN_OK) {
        if (tokenizer_create(&words->facts, &tok, &err) == QN_OK) {
            tokenizer_destroy(tok);
        } else {
            REQUIRE(err.n_frames > 0);
        }
        vocabulary_free(words);
    } else {
        REQUIRE(err.n_frames > 0);
    }
}

static void translate(const hf_folder *folder) {
    error_context err = {0};
    const char *arch = NULL;
    uint32_t n_vocab = 0;
    key_list list;
    void *bytes = NULL, *scratch = NULL;
    gguf_file file;
    qn_status status = hf_find_arch(folder, &arch, &err);
    if (status == QN_OK) {
        key_list_init(&list, arch);
        status = hf_translate_config(folder, &list, &n_vocab, &err);
        if (status == QN_OK) {
            REQUIRE(n_vocab > 0 && n_vocab <= ROWS);
            status = hf_translate_tokenizer(folder, n_vocab, &list, &err);
        }
        if (status == QN_OK) {
            status = key_list_write(&list, &bytes, &scratch, &file, &err);
        }
        key_list_free(&list);
    }
    REQUIRE(status == QN_OK || err.n_frames > 0);
    if (status == QN_OK) {
        read_vocabulary(&file);
    }
    free(bytes);
    free(scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"config.json", "tokenizer.json", "tokenizer_config.json",
                                        "generation_config.json"};
    hf_shard shard = {.is_open = true};
    hf_folder folder = {.path = "folder", .shards = &shard, .n_shards = 1, .n_tensors = 1};
    hf_json *const documents[] = {&folder.config, &folder.tokenizer, &folder.tokenizer_config, &folder.generation};
    const uint8_t *at = data;
    log_set_level(QN_LOG_ERROR);
    shard.file.span = make_weights();
    REQUIRE(sft_open(shard.file.span, &shard.weights, NULL) == FMT_OK);
    hf_tensor tensor = {shard.weights.tensors, 0};
    folder.tensors = &tensor;
    for (size_t i = 0; i < 4; i++) {
        parse(next_part(&at, data + size), names[i], documents[i]);
    }
    folder.template_size = (uint64_t)(data + size - at);
    folder.template_text = folder.template_size > 0 ? (char *)(uintptr_t)at : NULL;
    if (folder.config.root != NULL) {
        translate(&folder);
    }
    for (size_t i = 0; i < 4; i++) {
        hf_json_free(documents[i]);
    }
    sft_close(&shard.weights);
    return 0;
}
