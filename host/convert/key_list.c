/* key_list.c — keys gathered, then written as a GGUF file in memory and opened. */
#include "convert/key_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_buffer.h"
#include "common/endian.h"

void key_list_init(key_list *list, const char *arch) {
    *list = (key_list){.arch = arch};
}

void key_list_free(key_list *list) {
    for (uint32_t i = 0; i < list->n_taken; i++) {
        free(list->taken[i]);
    }
    free(list->entries);
    *list = (key_list){0};
}

void *key_list_take(key_list *list, uint64_t count, uint64_t size) {
    void *memory = list->n_taken < KEY_LIST_MAX_TAKEN ? calloc((size_t)count + 1, (size_t)size) : NULL;
    if (memory == NULL) {
        list->is_failed = true;
        return NULL;
    }
    list->taken[list->n_taken++] = memory;
    return memory;
}

/* A new entry with its full name, or a place that nobody looks at when memory ran out. */
static key_entry *add(key_list *list, const char *key, gguf_type type) {
    if (list->count == list->capacity) {
        const uint32_t capacity = list->capacity * 2 + 32;
        key_entry *grown = realloc(list->entries, capacity * sizeof *grown);
        if (grown == NULL) {
            list->is_failed = true;
            return &list->spare;
        }
        list->entries = grown;
        list->capacity = capacity;
    }
    key_entry *entry = &list->entries[list->count++];
    *entry = (key_entry){.type = type};
    snprintf(entry->key, sizeof entry->key, "%s%s", key[0] == '.' ? list->arch : "", key);
    return entry;
}

void key_list_uint(key_list *list, const char *key, uint32_t value) {
    add(list, key, GGUF_U32)->number = value;
}

void key_list_float(key_list *list, const char *key, double value) {
    add(list, key, GGUF_F32)->real = value;
}

void key_list_bool(key_list *list, const char *key, bool value) {
    add(list, key, GGUF_BOOL)->number = value;
}

void key_list_string(key_list *list, const char *key, fmt_str value) {
    add(list, key, GGUF_STRING)->text = value;
}

void key_list_word(key_list *list, const char *key, const char *value) {
    key_list_string(list, key, (fmt_str){value, strlen(value)});
}

static void add_array(key_list *list, const char *key, gguf_type element, const void *elements, uint64_t count) {
    key_entry *entry = add(list, key, GGUF_ARRAY);
    entry->element = element;
    entry->elements = elements;
    entry->number = count;
}

void key_list_strings(key_list *list, const char *key, const fmt_str *values, uint64_t count) {
    add_array(list, key, GGUF_STRING, values, count);
}

void key_list_floats(key_list *list, const char *key, const float *values, uint64_t count) {
    add_array(list, key, GGUF_F32, values, count);
}

void key_list_ints(key_list *list, const char *key, const int32_t *values, uint64_t count) {
    add_array(list, key, GGUF_I32, values, count);
}

void key_list_bools(key_list *list, const char *key, const bool *values, uint64_t count) {
    add_array(list, key, GGUF_BOOL, values, count);
}

/* ---------------------------------------------------------------------------------------------------------- writing */

static void write_element(gguf_writer *w, const key_entry *entry, uint64_t index) {
    uint8_t raw[4];
    uint32_t bits;
    switch (entry->element) {
    case GGUF_STRING:
        gguf_write_element_string(w, ((const fmt_str *)entry->elements)[index]);
        break;
    case GGUF_BOOL:
        raw[0] = ((const bool *)entry->elements)[index];
        gguf_write_elements(w, raw, 1);
        break;
    default: /* F32 and I32: four bytes each */
        memcpy(&bits, (const uint8_t *)entry->elements + 4 * index, 4);
        store_u32(raw, bits);
        gguf_write_elements(w, raw, 1);
        break;
    }
}

static void write_entry(gguf_writer *w, const key_entry *entry) {
    switch (entry->type) {
    case GGUF_U32:
        gguf_write_uint(w, entry->key, GGUF_U32, entry->number);
        break;
    case GGUF_F32:
        gguf_write_float(w, entry->key, GGUF_F32, entry->real);
        break;
    case GGUF_BOOL:
        gguf_write_bool(w, entry->key, entry->number != 0);
        break;
    case GGUF_STRING:
        gguf_write_string_n(w, entry->key, entry->text);
        break;
    default:
        gguf_write_array_begin(w, entry->key, entry->element, entry->number);
        for (uint64_t i = 0; i < entry->number; i++) {
            write_element(w, entry, i);
        }
        break;
    }
}

static bool append(void *ctx, const void *bytes, uint64_t size) {
    return text_buffer_append(ctx, bytes, (size_t)size);
}

static fmt_status write_all(const key_list *list, text_buffer *buffer) {
    gguf_writer w;
    gguf_write_begin(&w, append, buffer, GGUF_DEFAULT_ALIGNMENT, list->count, NULL, 0);
    for (uint32_t i = 0; i < list->count; i++) {
        write_entry(&w, &list->entries[i]);
    }
    return gguf_write_end(&w);
}

/* Opens what was written: a key that stands twice, say, is found here. */
static qn_status open_image(fmt_span span, void **out_scratch, gguf_file *out_file, error_context *err) {
    fmt_diag diag;
    uint64_t bytes = 0;
    fmt_status status = gguf_scratch_size(span, &bytes, &diag);
    if (status != FMT_OK) {
        return error_from_diag(err, status, &diag, "translated keys");
    }
    void *scratch = malloc((size_t)bytes + 1);
    if (scratch == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for an index of %u keys", (unsigned)(bytes / sizeof(gguf_kv)));
    }
    status = gguf_open(span, scratch, bytes, out_file, &diag);
    if (status != FMT_OK) {
        free(scratch);
        return error_from_diag(err, status, &diag, "translated keys");
    }
    *out_scratch = scratch;
    return QN_OK;
}

qn_status key_list_write(const key_list *list, void **out_bytes, void **out_scratch, gguf_file *out_file,
                         error_context *err) {
    text_buffer buffer = {0};
    const fmt_status written = list->is_failed ? FMT_NO_SPACE : write_all(list, &buffer);
    qn_status status = written == FMT_OK ? QN_OK
                                         : FAIL(err, QN_NO_HOST_MEM, "out of memory for %u translated keys",
                                                list->count);
    if (status == QN_OK) {
        status = open_image((fmt_span){(const uint8_t *)buffer.text, buffer.size}, out_scratch, out_file, err);
    }
    if (status < 0) {
        text_buffer_free(&buffer);
        return status;
    }
    *out_bytes = buffer.text;
    return QN_OK;
}
