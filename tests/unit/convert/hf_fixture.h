/* hf_fixture.h — model folders for tests: a sound small one, of which a test changes one thing, and what it is translated
 * into. JSON is written with ' instead of ".
 */
#ifndef TEST_HF_FIXTURE_H
#define TEST_HF_FIXTURE_H
#include <jansson.h>

#include "convert/key_image.h"
#include "corpus.h"

#define FIXTURE_TEXT_SIZE 1200

typedef struct hf_fixture {
    char folder[CORPUS_PATH_SIZE];
    json_t *config, *tokenizer, *tokenizer_config, *generation; /* written by fixture_write; null: no such file */
} hf_fixture;

/* A llama of 2 layers, 32 wide, 16 tokens, with a byte-level tokenizer of GPT-2's rule. */
void fixture_begin(hf_fixture *f);
void fixture_end(hf_fixture *f);

/* Members of `changes` (an object, or null for none) replace those of *document; null as value takes a member away. */
void fixture_change(json_t *document, const char *changes);

/* The value of such a text. */
json_t *fixture_json(const char *text);

/* Writes all files but the weights into the folder. */
void fixture_write(const hf_fixture *f);

/* A file of the folder, byte for byte. */
void fixture_put(const hf_fixture *f, const char *name, const void *bytes, size_t size);

typedef struct fixture_tensor {
    const char *name;
    uint32_t rows, width; /* width 0: a vector */
} fixture_tensor;

/* Writes model.safetensors with these tensors, all F32 and zero. */
void fixture_put_tensors(const hf_fixture *f, const fixture_tensor *tensors, size_t count);

/* The same with one matrix model.embed_tokens.weight. */
void fixture_put_weights(const hf_fixture *f, uint32_t rows, uint32_t width);

/* Writes everything and translates: the value of `key` in `text` as "u32 2", "f32 0.5", "bool true", "str abc",
 * "[f32 2] 1 2" or "absent"; a refusal as "refused: MESSAGE". */
void fixture_translate(const hf_fixture *f, const char *key, char text[FIXTURE_TEXT_SIZE]);

#endif
