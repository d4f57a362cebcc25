/* companion_say.c — a key of a model becomes statements. */
#include <string.h>

#include "common/diag.h"
#include "common/endian.h"
#include "common/utf8.h"
#include "model/companion_map.h"

#define MAX_PREFIX_BYTES 10u /* "gguf-type:" */
#define MAX_INLINE (UINT64_C(1) << 60)

static const fmt_rule rule_nested = {
    "companion-key", "19",
    "a companion volume cannot keep an array of arrays; --no-companion writes the container without it"};
static const fmt_rule rule_name = {"companion-key", "19", "a term of a volume has at most 65,535 bytes"};
static const fmt_rule rule_count = {"companion-key", "19",
                                    "an array in a companion volume has at most 2^32 - 1 elements"};

typedef struct sayer {
    fmt_str key;
    bool is_array;
    companion_put_fn *put;
    void *ctx;
    fmt_diag *diag;
} sayer;

static fmt_status say_object(const sayer *s, companion_family family, uint64_t metadata, uint64_t object) {
    const companion_statement statement = {
        .family = family, .key = s->key, .metadata = metadata, .object = object};
    return s->put(s->ctx, &statement, s->diag);
}

static fmt_status say_text(const sayer *s, companion_family family, uint64_t metadata, fmt_str text) {
    const companion_statement statement = {
        .family = family, .key = s->key, .metadata = metadata, .is_text = true, .text = text};
    return s->put(s->ctx, &statement, s->diag);
}

static fmt_status say_number(const sayer *s, uint64_t index, const char *text) {
    return say_text(s, COMPANION_TXT, index, (fmt_str){text, strlen(text)});
}

/* ---------------------------------------------------------------------------------------------------------- numbers */

static companion_whole whole_at(const gguf_array *array, uint64_t index) {
    companion_whole value = {0, false};
    int64_t negative = 0;
    if (!gguf_array_u64(array, index, &value.magnitude) && gguf_array_i64(array, index, &negative)) {
        value = (companion_whole){UINT64_C(0) - (uint64_t)negative, true};
    }
    return value;
}

static bool fits_inline(const gguf_array *array) {
    for (uint64_t i = 0; i < array->count; i++) {
        const companion_whole value = whole_at(array, i);
        if (value.is_negative || value.magnitude >= MAX_INLINE) {
            return false;
        }
    }
    return true;
}

static fmt_status say_integers(const sayer *s, const gguf_array *array) {
    char text[COMPANION_NUMBER_SIZE];
    uint64_t omitted = 0;
    const bool is_inline = fits_inline(array);
    const bool omits = s->is_array && is_inline && companion_get_omitted(s->key, array->type, &omitted);
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < array->count && status == FMT_OK; i++) {
        const companion_whole value = whole_at(array, i);
        if (!is_inline) {
            status = say_number(s, i, companion_print_whole(value, text));
        } else if (!omits || value.magnitude != omitted) {
            status = say_object(s, COMPANION_VALUE, i, companion_integer(value.magnitude));
        }
    }
    return status;
}

static fmt_status say_bools(const sayer *s, const gguf_array *array) {
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < array->count && status == FMT_OK; i++) {
        bool value = false;
        gguf_array_bool(array, i, &value);
        status = say_object(s, COMPANION_VALUE, i, companion_boolean(value));
    }
    return status;
}

static fmt_status say_floats(const sayer *s, const gguf_array *array) {
    char text[COMPANION_NUMBER_SIZE];
    uint64_t omitted = 0;
    const bool omits = s->is_array && companion_get_omitted(s->key, array->type, &omitted);
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; i < array->count && status == FMT_OK; i++) {
        if (array->type == GGUF_F64) {
            status = say_number(s, i, companion_print_f64(load_u64(array->elements.data + 8 * i), text));
            continue;
        }
        const uint32_t bits = load_u32(array->elements.data + 4 * i);
        if (!omits || bits != omitted) {
            status = say_object(s, COMPANION_F32, i, companion_integer(bits));
        }
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- strings */

static uint64_t part_metadata(const sayer *s, uint64_t index, uint64_t part) {
    return s->is_array ? part << 32 | index : part;
}

/* Bytes of the next piece: at most COMPANION_PART_BYTES, and no character cut. */
static uint64_t piece_size(fmt_str rest) {
    uint64_t size = rest.size < COMPANION_PART_BYTES ? rest.size : COMPANION_PART_BYTES;
    while (size < rest.size && ((uint8_t)rest.data[size] & 0xC0) == 0x80) {
        size--;
    }
    return size;
}

static fmt_status say_parts(const sayer *s, uint64_t index, fmt_str rest) {
    fmt_status status = FMT_OK;
    for (uint64_t part = 0; rest.size > 0 && status == FMT_OK; part++) {
        const uint64_t size = piece_size(rest);
        status = say_text(s, COMPANION_PART, part_metadata(s, index, part), (fmt_str){rest.data, size});
        rest = (fmt_str){rest.data + size, rest.size - size};
    }
    return status;
}

static fmt_status say_hex(const sayer *s, uint64_t index, fmt_str text) {
    static const char digits[] = "0123456789abcdef";
    char hex[2 * COMPANION_HEX_BYTES];
    fmt_status status = FMT_OK;
    for (uint64_t at = 0; at < text.size && status == FMT_OK; at += COMPANION_HEX_BYTES) {
        uint64_t n = 0;
        for (uint64_t i = at; i < text.size && n < sizeof hex; i++) {
            hex[n++] = digits[(uint8_t)text.data[i] >> 4];
            hex[n++] = digits[text.data[i] & 15];
        }
        status = say_text(s, COMPANION_HEX, part_metadata(s, index, at / COMPANION_HEX_BYTES), (fmt_str){hex, n});
    }
    return status;
}

static fmt_status say_strings(const sayer *s, const gguf_array *array) {
    gguf_iter iter = gguf_iterate(array);
    fmt_str text;
    fmt_status status = FMT_OK;
    for (uint64_t i = 0; status == FMT_OK && gguf_next_string(&iter, &text); i++) {
        if (utf8_first_invalid(text.data, text.size) != UTF8_ALL_VALID) {
            status = say_hex(s, i, text);
        } else if (text.size > COMPANION_PART_BYTES) {
            status = say_parts(s, i, text);
        } else {
            status = say_text(s, COMPANION_VALUE, i, text);
        }
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- keys */

static fmt_status refuse(const sayer *s, fmt_status status, const fmt_rule *rule, uint64_t got) {
    char quoted[DIAG_QUOTE_SIZE];
    return diag_refuse(s->diag, status, rule, (diag_place){0, FMT_NO_INDEX, 0, got}, "key %s",
                       diag_quote(quoted, s->key));
}

fmt_status companion_say_key(const gguf_kv *kv, uint32_t place, bool is_held, companion_put_fn *put, void *ctx,
                             fmt_diag *diag) {
    gguf_array array = {kv->type, 1, kv->value}; /* a single value reads like an array of one */
    const sayer s = {kv->key, gguf_kv_array(kv, &array), put, ctx, diag};
    if (array.type == GGUF_ARRAY) {
        return refuse(&s, FMT_UNSUPPORTED, &rule_nested, array.type);
    }
    if (kv->key.size + MAX_PREFIX_BYTES > Q42_MAX_TERM) {
        return refuse(&s, FMT_LIMIT, &rule_name, kv->key.size);
    }
    if (array.count > UINT32_MAX) {
        return refuse(&s, FMT_LIMIT, &rule_count, array.count);
    }
    fmt_status status = say_object(&s, COMPANION_TYPE, place, companion_integer(array.type));
    if (status == FMT_OK && s.is_array && !is_held) {
        status = say_object(&s, COMPANION_LEN, 0, companion_integer(array.count));
    }
    if (status != FMT_OK || is_held) {
        return status;
    }
    switch (gguf_type_class(array.type)) {
    case GGUF_INTEGERS: return say_integers(&s, &array);
    case GGUF_BOOLS: return say_bools(&s, &array);
    case GGUF_FLOATS: return say_floats(&s, &array);
    default: return say_strings(&s, &array);
    }
}
