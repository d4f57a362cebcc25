/* gguf_get.c — typed values of keys and arrays. Integers widen into integers and floats into doubles; nothing else
 * converts, so that a file that stores scores as bytes is noticed instead of read. */
#include <stdio.h>
#include <string.h>

#include "common/endian.h"
#include "gguf_internal.h"

/* An integer of any width: its bits sign-extended to 64, and whether the type is signed and the value below zero. */
typedef struct wide_int {
    uint64_t bits;
    bool is_negative;
} wide_int;

static uint64_t load_bits(const uint8_t *at, uint32_t size) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < size; i++) {
        bits |= (uint64_t)at[i] << (8 * i);
    }
    return bits;
}

static bool is_signed_type(gguf_type type) {
    return type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64;
}

static bool load_int(gguf_type type, const uint8_t *at, wide_int *out) {
    if (gguf_type_class(type) != GGUF_INTEGERS) {
        return false;
    }
    const uint32_t size = gguf_type_size(type);
    const uint64_t sign = UINT64_C(1) << (8 * size - 1);
    out->bits = load_bits(at, size);
    out->is_negative = is_signed_type(type) && (out->bits & sign) != 0;
    if (out->is_negative) {
        out->bits |= ~(sign - 1);
    }
    return true;
}

static bool load_u64_of(gguf_type type, const uint8_t *at, uint64_t *out) {
    wide_int value;
    if (!load_int(type, at, &value) || value.is_negative) {
        return false;
    }
    *out = value.bits;
    return true;
}

static bool load_i64_of(gguf_type type, const uint8_t *at, int64_t *out) {
    wide_int value;
    if (!load_int(type, at, &value) || (!value.is_negative && value.bits > INT64_MAX)) {
        return false;
    }
    memcpy(out, &value.bits, sizeof *out);
    return true;
}

static bool load_f64_of(gguf_type type, const uint8_t *at, double *out) {
    if (type == GGUF_F32) {
        const uint32_t bits = load_u32(at);
        float value;
        memcpy(&value, &bits, sizeof value);
        *out = value;
        return true;
    }
    if (type == GGUF_F64) {
        const uint64_t bits = load_u64(at);
        memcpy(out, &bits, sizeof *out);
        return true;
    }
    return false;
}

static bool load_bool_of(gguf_type type, const uint8_t *at, bool *out) {
    if (type != GGUF_BOOL) {
        return false;
    }
    *out = at[0] != 0;
    return true;
}

/* ---------------------------------------------------------------- keys */

bool gguf_kv_u64(const gguf_kv *kv, uint64_t *out) {
    return load_u64_of(kv->type, kv->value.data, out);
}

bool gguf_kv_i64(const gguf_kv *kv, int64_t *out) {
    return load_i64_of(kv->type, kv->value.data, out);
}

bool gguf_kv_f64(const gguf_kv *kv, double *out) {
    return load_f64_of(kv->type, kv->value.data, out);
}

bool gguf_kv_bool(const gguf_kv *kv, bool *out) {
    return load_bool_of(kv->type, kv->value.data, out);
}

bool gguf_kv_string(const gguf_kv *kv, fmt_str *out) {
    if (kv->type != GGUF_STRING) {
        return false;
    }
    out->data = (const char *)kv->value.data + GGUF_STRING_MIN;
    out->size = load_u64(kv->value.data);
    return true;
}

bool gguf_kv_array(const gguf_kv *kv, gguf_array *out) {
    if (kv->type != GGUF_ARRAY) {
        return false;
    }
    out->type = load_u32(kv->value.data);
    out->count = load_u64(kv->value.data + 4);
    out->elements.data = kv->value.data + GGUF_ARRAY_MIN;
    out->elements.size = kv->value.size - GGUF_ARRAY_MIN;
    return true;
}

/* ---------------------------------------------------------------- keys by name, with a diagnosis */

static fmt_status find_or_refuse(const gguf_file *file, const char *key, const gguf_kv **out_kv, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const fmt_str name = {key, strlen(key)};
    *out_kv = gguf_find_kv(file, key);
    if (*out_kv != NULL) {
        return FMT_OK;
    }
    const diag_place here = {GGUF_HEADER_SIZE, FMT_NO_INDEX, 0, 0};
    return gguf_refuse(diag, FMT_NOT_FOUND, GGUF_R_KEY_MISSING, here, "there is no key %s", diag_quote(quoted, name));
}

static diag_place place_of(const gguf_file *file, const gguf_kv *kv) {
    const diag_place place = {(uint64_t)(kv->value.data - file->span.data), (uint64_t)(kv - file->kvs), 0, 0};
    return place;
}

static fmt_status refuse_type(const gguf_file *file, const gguf_kv *kv, const char *wanted, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    diag_place here = place_of(file, kv);
    here.got = kv->type;
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_KEY_TYPE, here, "key %s is of type %s where %s is wanted",
                       diag_quote(quoted, kv->key), gguf_type_name(kv->type), wanted);
}

/* An integer key that did not convert: a negative number, one too large, or no integer at all. */
static fmt_status refuse_int(const gguf_file *file, const gguf_kv *kv, const char *wanted, uint64_t most,
                             fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE], value[24];
    int64_t negative = 0;
    wide_int wide;
    if (!load_int(kv->type, kv->value.data, &wide)) {
        return refuse_type(file, kv, wanted, diag);
    }
    memcpy(&negative, &wide.bits, sizeof negative);
    if (wide.is_negative) {
        snprintf(value, sizeof value, "%lld", (long long)negative);
    } else {
        snprintf(value, sizeof value, "%llu", (unsigned long long)wide.bits);
    }
    diag_place here = place_of(file, kv);
    here.expected = most;
    here.got = wide.bits;
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_KEY_RANGE, here, "key %s is %s where %s is wanted",
                       diag_quote(quoted, kv->key), value, wanted);
}

fmt_status gguf_get_u64(const gguf_file *file, const char *key, uint64_t *out, fmt_diag *diag) {
    const gguf_kv *kv;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    if (status != FMT_OK || gguf_kv_u64(kv, out)) {
        return status;
    }
    return refuse_int(file, kv, "an integer that is not negative", UINT64_MAX, diag);
}

fmt_status gguf_get_u32(const gguf_file *file, const char *key, uint32_t *out, fmt_diag *diag) {
    const gguf_kv *kv;
    uint64_t value = 0;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (!gguf_kv_u64(kv, &value) || value > UINT32_MAX) {
        return refuse_int(file, kv, "an integer from 0 to 4294967295", UINT32_MAX, diag);
    }
    *out = (uint32_t)value;
    return FMT_OK;
}

fmt_status gguf_get_i64(const gguf_file *file, const char *key, int64_t *out, fmt_diag *diag) {
    const gguf_kv *kv;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    if (status != FMT_OK || gguf_kv_i64(kv, out)) {
        return status;
    }
    return refuse_int(file, kv, "an integer below 2^63", INT64_MAX, diag);
}

fmt_status gguf_get_f64(const gguf_file *file, const char *key, double *out, fmt_diag *diag) {
    const gguf_kv *kv;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    return status != FMT_OK || gguf_kv_f64(kv, out) ? status : refuse_type(file, kv, "a float", diag);
}

fmt_status gguf_get_bool(const gguf_file *file, const char *key, bool *out, fmt_diag *diag) {
    const gguf_kv *kv;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    return status != FMT_OK || gguf_kv_bool(kv, out) ? status : refuse_type(file, kv, "a bool", diag);
}

fmt_status gguf_get_string(const gguf_file *file, const char *key, fmt_str *out, fmt_diag *diag) {
    const gguf_kv *kv;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    return status != FMT_OK || gguf_kv_string(kv, out) ? status : refuse_type(file, kv, "a string", diag);
}

fmt_status gguf_get_array(const gguf_file *file, const char *key, gguf_class elements, gguf_array *out,
                          fmt_diag *diag) {
    static const char *const class_names[] = {"anything", "integers", "floats", "bools", "strings", "arrays"};
    char quoted[DIAG_QUOTE_SIZE];
    const gguf_kv *kv;
    gguf_array array;
    const fmt_status status = find_or_refuse(file, key, &kv, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (!gguf_kv_array(kv, &array)) {
        return refuse_type(file, kv, "an array", diag);
    }
    if (elements == GGUF_ANY || gguf_type_class(array.type) == elements) {
        *out = array;
        return FMT_OK;
    }
    diag_place here = place_of(file, kv);
    here.got = array.type;
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_KEY_TYPE, here, "key %s is an array of %s where %s are wanted",
                       diag_quote(quoted, kv->key), gguf_type_name(array.type),
                       elements <= GGUF_ARRAYS ? class_names[elements] : "other elements");
}

/* ---------------------------------------------------------------- elements */

static const uint8_t *element_at(const gguf_array *array, uint64_t index) {
    const uint32_t size = gguf_type_size(array->type);
    return size == 0 || index >= array->count ? NULL : array->elements.data + index * size;
}

bool gguf_array_u64(const gguf_array *array, uint64_t index, uint64_t *out) {
    const uint8_t *at = element_at(array, index);
    return at != NULL && load_u64_of(array->type, at, out);
}

bool gguf_array_i64(const gguf_array *array, uint64_t index, int64_t *out) {
    const uint8_t *at = element_at(array, index);
    return at != NULL && load_i64_of(array->type, at, out);
}

bool gguf_array_f64(const gguf_array *array, uint64_t index, double *out) {
    const uint8_t *at = element_at(array, index);
    return at != NULL && load_f64_of(array->type, at, out);
}

bool gguf_array_bool(const gguf_array *array, uint64_t index, bool *out) {
    const uint8_t *at = element_at(array, index);
    return at != NULL && load_bool_of(array->type, at, out);
}

gguf_iter gguf_iterate(const gguf_array *array) {
    const gguf_iter iter = {*array, 0, 0};
    return iter;
}

bool gguf_next_string(gguf_iter *iter, fmt_str *out) {
    if (iter->array.type != GGUF_STRING || iter->index >= iter->array.count) {
        return false;
    }
    const uint8_t *at = iter->array.elements.data + iter->at;
    out->data = (const char *)at + GGUF_STRING_MIN;
    out->size = load_u64(at);
    iter->at += GGUF_STRING_MIN + out->size;
    iter->index++;
    return true;
}

bool gguf_next_array(gguf_iter *iter, gguf_array *out) {
    if (iter->array.type != GGUF_ARRAY || iter->index >= iter->array.count) {
        return false;
    }
    gguf_walk walk = {cursor_make(iter->array.elements, iter->at), 0, {"", 0}, NULL};
    const uint8_t *at = iter->array.elements.data + iter->at;
    if (gguf_walk_array(&walk) != FMT_OK) {
        return false;
    }
    out->type = load_u32(at);
    out->count = load_u64(at + 4);
    out->elements.data = at + GGUF_ARRAY_MIN;
    out->elements.size = walk.at.at - iter->at - GGUF_ARRAY_MIN;
    iter->at = walk.at.at;
    iter->index++;
    return true;
}
