/* key_list.h — GGUF keys that are gathered one by one, and become a GGUF file in memory that holds nothing else.
 *
 * A key that begins with a dot is one of the architecture: ".block_count" is written as "llama.block_count".
 *
 * Threading: one thread at a time.
 * Memory:    the list owns its entries and what key_list_take was given; strings and arrays are borrowed until
 *            key_list_write. The first failure sticks: key_list_write tells it.
 *
 *     key_list list;
 *     key_list_init(&list, "llama");
 *     key_list_uint(&list, ".block_count", 30);
 *     QN_TRY(key_list_write(&list, &bytes, &scratch, &file, err), err, "writing the keys");
 *     key_list_free(&list);
 */
#ifndef HOST_KEY_LIST_H
#define HOST_KEY_LIST_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/gguf.h>

#include "base/error.h"

#define KEY_LIST_NAME_SIZE 96
#define KEY_LIST_MAX_TAKEN 16

typedef struct key_entry {
    char key[KEY_LIST_NAME_SIZE];
    gguf_type type;       /* GGUF_ARRAY: of `element` */
    gguf_type element;
    uint64_t number;      /* of U32 and BOOL; elements of an array */
    double real;          /* of F32 */
    fmt_str text;         /* of STRING */
    const void *elements; /* [number] fmt_str, float, int32_t or bool */
} key_entry;

typedef struct key_list {
    const char *arch; /* borrowed */
    key_entry *entries;
    key_entry spare; /* written to when memory ran out */
    uint32_t count, capacity;
    void *taken[KEY_LIST_MAX_TAKEN];
    uint32_t n_taken;
    bool is_failed; /* out of memory */
} key_list;

void key_list_init(key_list *list, const char *arch);
void key_list_free(key_list *list);

void key_list_uint(key_list *list, const char *key, uint32_t value);
void key_list_float(key_list *list, const char *key, double value);
void key_list_bool(key_list *list, const char *key, bool value);
void key_list_string(key_list *list, const char *key, fmt_str value);
void key_list_word(key_list *list, const char *key, const char *value);
void key_list_strings(key_list *list, const char *key, const fmt_str *values, uint64_t count);
void key_list_floats(key_list *list, const char *key, const float *values, uint64_t count);
void key_list_ints(key_list *list, const char *key, const int32_t *values, uint64_t count);
void key_list_bools(key_list *list, const char *key, const bool *values, uint64_t count);

/* Memory of `count` things of `size` bytes, zeroed, that lives as long as the list; null when there is none. */
void *key_list_take(key_list *list, uint64_t count, uint64_t size);

/* The file: *out_bytes and *out_scratch are malloc'ed and the caller's, *out_file looks into both. Untouched on error. */
qn_status key_list_write(const key_list *list, void **out_bytes, void **out_scratch, gguf_file *out_file,
                         error_context *err);

#endif
