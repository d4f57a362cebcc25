/* facts.h — the key/value facts of a model, whatever file holds them.
 *
 * Keys are GGUF's ("llama.block_count", "tokenizer.ggml.model"). A source answers FACT_FOUND, FACT_ABSENT, or
 * FACT_WRONG when the key is there with a type or value that cannot be what was asked for; the error then names key,
 * value and place.
 *
 * Threading: immutable after it was made; thread-safe.
 * Memory:    strings point into the source.
 */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/span.h>

#include "base/error.h"

typedef int fact_result;
enum { FACT_WRONG = -1, FACT_ABSENT = 0, FACT_FOUND = 1 };

typedef struct facts facts;
struct facts {
    const void *ctx;
    const char *path; /* of the file, for messages */
    fact_result (*get_uint)(const facts *f, const char *key, uint64_t *out, error_context *err);
    fact_result (*get_float)(const facts *f, const char *key, double *out, error_context *err);
    fact_result (*get_bool)(const facts *f, const char *key, bool *out, error_context *err);
    fact_result (*get_string)(const facts *f, const char *key, fmt_str *out, error_context *err);
    /* Element `index` of an array of integers or booleans; FACT_ABSENT when the key is absent or no array. */
    fact_result (*get_uint_at)(const facts *f, const char *key, uint64_t index, uint64_t *out, error_context *err);
    /* Likewise of an array of floats; FACT_ABSENT also behind its end. */
    fact_result (*get_float_at)(const facts *f, const char *key, uint64_t index, double *out, error_context *err);
};

#endif
