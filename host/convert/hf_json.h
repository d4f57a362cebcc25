/* hf_json.h — the JSON files of a model folder: read with a limit, and asked with a type and a range.
 *
 * An object's first failure sticks in its `status`, so that a translation reads as straight lines and looks once at the
 * end. Every refusal names file and key, with the value that was found. A member that is null counts as absent, as the
 * writers of these files mean it.
 *
 * Threading: one thread at a time per document.
 * Memory:    the tree is the document's until hf_json_free; texts and members are borrowed from it.
 *
 *     hf_json config;
 *     QN_TRY(hf_json_load("model/config.json", HF_CONFIG_LIMIT, "sizes", &config, err), err, "reading the folder");
 *     hf_object o = hf_json_object(&config, err);
 *     const uint32_t width = hf_uint(&o, "hidden_size", 1, 1u << 24, HF_REQUIRED);
 *     if (o.status < 0) { ... }
 *     hf_json_free(&config);
 */
#ifndef HOST_HF_JSON_H
#define HOST_HF_JSON_H
#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>
#include <quoin/span.h>

#include "base/error.h"

#define HF_CONFIG_LIMIT (UINT64_C(16) << 20)     /* bytes of a config, a template */
#define HF_TOKENIZER_LIMIT (UINT64_C(256) << 20) /* bytes of a tokenizer.json */
#define HF_REQUIRED UINT32_MAX
#define HF_KEY_SIZE 128

typedef struct hf_json {
    char *path;   /* owned, for messages; null: there is no such file */
    json_t *root; /* an object */
} hf_json;

/* Reads a file that holds one JSON object. QN_NOT_FOUND when it is not there; QN_BAD_FILE with line and column for what is
 * no JSON, has a key twice or is deeper than the parser goes; QN_LIMIT above `limit` bytes. `content` says what the object is
 * for, where the file is empty. [may block] */
qn_status hf_json_load(const char *path, uint64_t limit, const char *content, hf_json *out, error_context *err);
void hf_json_free(hf_json *document);

/* The whole of a text file, terminated, malloc'ed. Errors as above. [may block] */
qn_status hf_text_load(const char *path, uint64_t limit, char **out_text, uint64_t *out_size, error_context *err);

/* A JSON object that is being read. */
typedef struct hf_object {
    const json_t *members;   /* null: nothing is there, every question finds it absent */
    const char *path;        /* of the file */
    char where[HF_KEY_SIZE]; /* "" or the keys that lead to it, each with a dot behind: "text_config." */
    error_context *err;
    qn_status status;        /* QN_OK until a question failed */
} hf_object;

hf_object hf_json_object(const hf_json *document, error_context *err);

/* The object that is a member of this one; without members when it is absent. */
hf_object hf_member(hf_object *from, const char *key);

/* The member, null when it is absent or JSON's null. */
const json_t *hf_get(const hf_object *o, const char *key);

/* `fallback` when absent; HF_REQUIRED as fallback makes absence a failure. After a failure: 0. */
uint32_t hf_uint(hf_object *o, const char *key, uint32_t least, uint32_t most, uint32_t fallback);

/* An integer counts as well. NAN as fallback makes absence a failure. After a failure: 0. */
double hf_float(hf_object *o, const char *key, double least, double most, double fallback);
bool hf_bool(hf_object *o, const char *key, bool fallback);

/* Size 0 and data "" when absent. */
fmt_str hf_string(hf_object *o, const char *key);

/* An array, null when absent. */
const json_t *hf_array(hf_object *o, const char *key);

bool hf_equals(fmt_str text, const char *word);

/* Text of a file made safe to print, with quotes: diag_quote. `room` is the caller's. */
#define HF_QUOTE_SIZE 120
const char *hf_quote(char room[HF_QUOTE_SIZE], fmt_str text);

/* Fails once: the text says what is wrong with `key`. Returns the object's status. */
qn_status hf_refuse(hf_object *o, qn_status status, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
