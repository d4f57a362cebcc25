/* companion_keys.c — what a companion says about one key becomes the bytes that it has in a GGUF file. */
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "model/companion_map.h"

typedef unsigned long long ull;

static const fmt_rule rule_type = {"companion-type", "19", "each key has one type, a number of GGUF"};
static const fmt_rule rule_value = {"companion-value", "19", "the value must be of the key's type"};
static const fmt_rule rule_missing = {"companion-value", "19", "every element that has no default must be there"};
static const fmt_rule rule_extra = {"companion-value", "19", "nothing else may be said about the key's value"};
static const fmt_rule rule_length = {"companion-length", "19", "an array has one length, below 2^32"};
static const fmt_rule rule_image = {"companion-size", "19", "all keys together have at most 1 GiB"};
static const fmt_rule rule_memory = {"companion-memory", "19", "work memory for the keys is needed"};

/* ------------------------------------------------------------------------------------------------------ the image */

fmt_status companion_append(text_buffer *out, const void *bytes, uint64_t size, fmt_diag *diag) {
    if (size > COMPANION_MAX_IMAGE || out->size > COMPANION_MAX_IMAGE - size) {
        return diag_refuse(diag, FMT_LIMIT, &rule_image, (diag_place){0, FMT_NO_INDEX, COMPANION_MAX_IMAGE, out->size},
                           "the keys of the model are too large");
    }
    if (!text_buffer_append(out, bytes, (size_t)size)) {
        return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, out->size},
                           "no memory after %zu bytes", out->size);
    }
    return FMT_OK;
}

fmt_status companion_append_number(text_buffer *out, uint64_t value, uint32_t bytes, fmt_diag *diag) {
    uint8_t at[8];
    store_u64(at, value);
    return companion_append(out, at, bytes, diag);
}

fmt_status companion_append_string(text_buffer *out, fmt_str text, fmt_diag *diag) {
    const fmt_status status = companion_append_number(out, text.size, 8, diag);
    return status == FMT_OK ? companion_append(out, text.data, text.size, diag) : status;
}

/* ------------------------------------------------------------------------------------------------------- one key */

typedef struct key_reader {
    const companion_key *key;
    gguf_type type; /* of the elements */
    bool is_array;
    uint64_t count;
    uint64_t n_used; /* statements of value families that were looked at */
    const companion_texts *texts;
    text_buffer *out;
    fmt_diag *diag;
} key_reader;

static fmt_status refuse(const key_reader *r, const fmt_rule *rule, uint64_t index, const char *finding) {
    char quoted[DIAG_QUOTE_SIZE];
    diag_quote(quoted, r->key->key);
    const diag_place place = {0, index, 0, 0};
    if (index == FMT_NO_INDEX) {
        return diag_refuse(r->diag, FMT_BAD_FILE, rule, place, "key %s %s", quoted, finding);
    }
    return diag_refuse(r->diag, FMT_BAD_FILE, rule, place, "key %s %s at element %llu", quoted, finding, (ull)index);
}

/* The object that a family has under this metadata. */
static bool find_value(key_reader *r, companion_family family, uint64_t metadata, uint64_t *out_object) {
    const companion_value *values = r->key->said[family].values;
    uint64_t low = 0, high = r->key->said[family].count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (values[middle].metadata < metadata) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == r->key->said[family].count || values[low].metadata != metadata) {
        return false;
    }
    *out_object = values[low].object;
    r->n_used++;
    return true;
}

static fmt_status find_text(const key_reader *r, uint64_t object, uint64_t index, fmt_str *out_text) {
    if (object >> 60 != 0) {
        return refuse(r, &rule_value, index, "has an object that is no text");
    }
    return r->texts->find(r->texts->ctx, object, out_text, r->diag);
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

static bool fits(companion_whole value, gguf_type type) {
    const bool is_signed = type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64;
    const uint64_t sign = UINT64_C(1) << (8 * gguf_type_size(type) - 1);
    if (value.is_negative) {
        return is_signed && value.magnitude <= sign;
    }
    return value.magnitude <= (is_signed ? sign - 1 : sign - 1 + sign);
}

static fmt_status find_whole(key_reader *r, uint64_t index, companion_whole *out) {
    uint64_t object;
    fmt_str text;
    *out = (companion_whole){0, false};
    if (find_value(r, COMPANION_VALUE, index, &object)) {
        return companion_get_integer(object, &out->magnitude)
                   ? FMT_OK
                   : refuse(r, &rule_value, index, "has an object that is no integer");
    }
    if (find_value(r, COMPANION_TXT, index, &object)) {
        const fmt_status status = find_text(r, object, index, &text);
        return status != FMT_OK || companion_parse_whole(text, out)
                   ? status
                   : refuse(r, &rule_value, index, "has a text that is no integer");
    }
    return r->is_array && companion_get_omitted(r->key->key, r->type, &out->magnitude)
               ? FMT_OK
               : refuse(r, &rule_missing, index, "has no value");
}

static fmt_status read_integer(key_reader *r, uint64_t index) {
    companion_whole value;
    const fmt_status status = find_whole(r, index, &value);
    if (status != FMT_OK) {
        return status;
    }
    if (!fits(value, r->type)) {
        return refuse(r, &rule_value, index, "has a number beyond its type");
    }
    return companion_append_number(r->out, value.is_negative ? UINT64_C(0) - value.magnitude : value.magnitude,
                                   gguf_type_size(r->type), r->diag);
}

static fmt_status read_bool(key_reader *r, uint64_t index) {
    uint64_t object;
    bool value;
    if (!find_value(r, COMPANION_VALUE, index, &object)) {
        return refuse(r, &rule_missing, index, "has no value");
    }
    return companion_get_boolean(object, &value) ? companion_append_number(r->out, value, 1, r->diag)
                                                 : refuse(r, &rule_value, index, "has an object that is no boolean");
}

static fmt_status read_f32(key_reader *r, uint64_t index) {
    uint64_t object, bits = 0;
    if (find_value(r, COMPANION_F32, index, &object)) {
        if (!companion_get_integer(object, &bits) || bits > UINT32_MAX) {
            return refuse(r, &rule_value, index, "has an object that is no 32-bit float");
        }
    } else if (!r->is_array || !companion_get_omitted(r->key->key, r->type, &bits)) {
        return refuse(r, &rule_missing, index, "has no value");
    }
    return companion_append_number(r->out, bits, 4, r->diag);
}

static fmt_status read_f64(key_reader *r, uint64_t index) {
    uint64_t object, bits;
    fmt_str text;
    if (!find_value(r, COMPANION_TXT, index, &object)) {
        return refuse(r, &rule_missing, index, "has no value");
    }
    const fmt_status status = find_text(r, object, index, &text);
    if (status != FMT_OK) {
        return status;
    }
    return companion_parse_f64(text, &bits) ? companion_append_number(r->out, bits, 8, r->diag)
                                            : refuse(r, &rule_value, index, "has a text that is no 64-bit float");
}

/* ---------------------------------------------------------------------------------------------------------- strings */

static int digit_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static fmt_status append_hex(key_reader *r, fmt_str hex, uint64_t index) {
    uint8_t bytes[512];
    size_t n = 0;
    fmt_status status = hex.size % 2 == 0 ? FMT_OK : refuse(r, &rule_value, index, "has half a byte of hexadecimal");
    for (uint64_t at = 0; at < hex.size && status == FMT_OK; at += 2) {
        const int high = digit_of(hex.data[at]), low = digit_of(hex.data[at + 1]);
        if (high < 0 || low < 0) {
            return refuse(r, &rule_value, index, "has a text that is no lower-case hexadecimal");
        }
        bytes[n++] = (uint8_t)(high << 4 | low);
        if (n == sizeof bytes || at + 2 == hex.size) {
            status = companion_append(r->out, bytes, n, r->diag);
            n = 0;
        }
    }
    return status;
}

/* All pieces of a string, one behind the other. False in *out_found: there is none. */
static fmt_status append_parts(key_reader *r, companion_family family, uint64_t index, bool *out_found) {
    uint64_t object;
    fmt_str text;
    fmt_status status = FMT_OK;
    *out_found = false;
    for (uint64_t part = 0;
         status == FMT_OK && find_value(r, family, r->is_array ? part << 32 | index : part, &object); part++) {
        *out_found = true;
        status = find_text(r, object, index, &text);
        if (status == FMT_OK) {
            status = family == COMPANION_HEX ? append_hex(r, text, index)
                                             : companion_append(r->out, text.data, text.size, r->diag);
        }
    }
    return status;
}

static fmt_status read_string(key_reader *r, uint64_t index) {
    uint64_t object;
    fmt_str text;
    bool is_found = false;
    if (find_value(r, COMPANION_VALUE, index, &object)) {
        const fmt_status status = find_text(r, object, index, &text);
        return status == FMT_OK ? companion_append_string(r->out, text, r->diag) : status;
    }
    const size_t length_at = r->out->size;
    fmt_status status = companion_append_number(r->out, 0, 8, r->diag);
    if (status == FMT_OK) {
        status = append_parts(r, COMPANION_PART, index, &is_found);
    }
    if (status == FMT_OK && !is_found) {
        status = append_parts(r, COMPANION_HEX, index, &is_found);
    }
    if (status == FMT_OK && !is_found) {
        return refuse(r, &rule_missing, index, "has no value");
    }
    if (status == FMT_OK) {
        store_u64((uint8_t *)r->out->text + length_at, r->out->size - length_at - 8);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- keys */

static fmt_status read_element(key_reader *r, uint64_t index) {
    switch (gguf_type_class(r->type)) {
    case GGUF_INTEGERS: return read_integer(r, index);
    case GGUF_BOOLS: return read_bool(r, index);
    case GGUF_FLOATS: return r->type == GGUF_F32 ? read_f32(r, index) : read_f64(r, index);
    default: return read_string(r, index);
    }
}

static uint64_t count_values(const companion_key *key) {
    uint64_t n = 0;
    for (companion_family i = 0; i < COMPANION_N_VALUE_FAMILIES; i++) {
        n += key->said[i].count;
    }
    return n;
}

static fmt_status find_type(key_reader *r) {
    const companion_key *key = r->key;
    uint64_t type = GGUF_ARRAY;
    if (key->said[COMPANION_TYPE].count != 1 ||
        !companion_get_integer(key->said[COMPANION_TYPE].values[0].object, &type) || type > GGUF_F64 ||
        type == GGUF_ARRAY) {
        return refuse(r, &rule_type, FMT_NO_INDEX,
                      key->said[COMPANION_TYPE].count == 0 ? "has no type" : "has no such type");
    }
    r->type = (gguf_type)type;
    return FMT_OK;
}

/* A length is believed when that many elements are said, or may be left out. */
static fmt_status find_count(key_reader *r) {
    const companion_key *key = r->key;
    uint64_t omitted;
    r->count = 1;
    r->is_array = key->said[COMPANION_LEN].count != 0;
    if (!r->is_array) {
        return FMT_OK;
    }
    const companion_value *length = key->said[COMPANION_LEN].values;
    const bool may_omit = companion_get_omitted(key->key, r->type, &omitted);
    if (key->said[COMPANION_LEN].count != 1 || length->metadata != 0 ||
        !companion_get_integer(length->object, &r->count) || r->count > UINT32_MAX) {
        return refuse(r, &rule_length, FMT_NO_INDEX, "has no sound length");
    }
    if (r->count > count_values(key) && !(may_omit && r->count <= COMPANION_MAX_OMITTED)) {
        return refuse(r, &rule_length, FMT_NO_INDEX, "has fewer elements than its length says");
    }
    return FMT_OK;
}

/* Name and type, and of an array the type and count of its elements. */
static fmt_status append_head(key_reader *r) {
    fmt_status status = companion_append_string(r->out, r->key->key, r->diag);
    if (status == FMT_OK) {
        status = companion_append_number(r->out, r->is_array ? GGUF_ARRAY : r->type, 4, r->diag);
    }
    if (status == FMT_OK && r->is_array) {
        status = companion_append_number(r->out, r->type, 4, r->diag);
        status = status == FMT_OK ? companion_append_number(r->out, r->count, 8, r->diag) : status;
    }
    return status;
}

fmt_status companion_read_key(const companion_key *key, const companion_texts *texts, text_buffer *out,
                              fmt_diag *diag) {
    key_reader r = {.key = key, .texts = texts, .out = out, .diag = diag};
    fmt_status status = find_type(&r);
    if (status == FMT_OK) {
        status = find_count(&r);
    }
    if (status == FMT_OK) {
        status = append_head(&r);
    }
    for (uint64_t i = 0; i < r.count && status == FMT_OK; i++) {
        status = read_element(&r, i);
    }
    if (status == FMT_OK && r.n_used != count_values(key)) {
        return refuse(&r, &rule_extra, FMT_NO_INDEX, "has more values than its length and type allow");
    }
    return status;
}
