/* gguf_write.c — writing a GGUF file front to back, without memory of its own. */
#include <stdio.h>
#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/utf8.h"
#include "gguf_internal.h"

static const char alignment_key[] = "general.alignment";

static fmt_status fail_with(gguf_writer *writer, fmt_status status) {
    if (writer->status == FMT_OK) {
        writer->status = status;
    }
    return writer->status;
}

static void put(gguf_writer *writer, const void *bytes, uint64_t size) {
    if (writer->status == FMT_OK && size > 0) {
        writer->at += size;
        if (!writer->sink(writer->ctx, bytes, size)) {
            writer->status = FMT_IO;
        }
    }
}

static void put_u32(gguf_writer *writer, uint32_t value) {
    uint8_t bytes[4];
    store_u32(bytes, value);
    put(writer, bytes, sizeof bytes);
}

static void put_u64(gguf_writer *writer, uint64_t value) {
    uint8_t bytes[8];
    store_u64(bytes, value);
    put(writer, bytes, sizeof bytes);
}

static void put_string(gguf_writer *writer, fmt_str text) {
    put_u64(writer, text.size);
    put(writer, text.data, text.size);
}

static void put_padding(gguf_writer *writer) {
    static const uint8_t zeros[64];
    uint64_t left = (writer->alignment - writer->at % writer->alignment) % writer->alignment;
    while (left > 0 && writer->status == FMT_OK) {
        const uint64_t part = left < sizeof zeros ? left : sizeof zeros;
        put(writer, zeros, part);
        left -= part;
    }
}

static bool is_name(fmt_str name) {
    return name.size >= 1 && name.size <= GGUF_MAX_NAME && memchr(name.data, 0, (size_t)name.size) == NULL &&
           utf8_first_invalid(name.data, name.size) == UTF8_ALL_VALID;
}

static fmt_str to_str(const char *text) {
    const fmt_str str = {text, strlen(text)};
    return str;
}

static bool is_spec(const gguf_tensor_spec *spec) {
    uint64_t size;
    return is_name(to_str(spec->name)) && spec->rank >= 1 && spec->rank <= GGUF_MAX_RANK &&
           spec->type != BLK_Q4_K_SOA && spec->type != BLK_TERNARY &&
           blk_tensor_bytes(spec->type, spec->rank, spec->dims, &size) == FMT_OK && size <= INT64_MAX;
}

static void put_key(gguf_writer *writer, fmt_str key, gguf_type type) {
    put_string(writer, key);
    put_u32(writer, type);
}

fmt_status gguf_write_begin(gguf_writer *writer, gguf_sink_fn *sink, void *ctx, uint32_t alignment, uint64_t n_kv,
                            const gguf_tensor_spec *specs, uint64_t n_specs) {
    memset(writer, 0, sizeof *writer);
    writer->sink = sink;
    writer->ctx = ctx;
    writer->specs = specs;
    writer->n_specs = n_specs;
    writer->n_kv_left = n_kv;
    writer->spec = UINT64_MAX;
    writer->alignment = alignment;
    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    for (uint64_t i = 0; i < n_specs; i++) {
        if (!is_spec(&specs[i])) {
            return fail_with(writer, FMT_BAD_ARG);
        }
    }
    const bool has_alignment = alignment != GGUF_DEFAULT_ALIGNMENT;
    put(writer, "GGUF", GGUF_MAGIC_SIZE);
    put_u32(writer, 3);
    put_u64(writer, n_specs);
    put_u64(writer, n_kv + has_alignment);
    if (has_alignment) {
        put_key(writer, to_str(alignment_key), GGUF_U32);
        put_u32(writer, alignment);
    }
    return writer->status;
}

/* Opens the next key; false (and the writer failed) when no key may be written now. */
static bool open_key(gguf_writer *writer, fmt_str key, gguf_type type) {
    const bool is_alignment = key.size == sizeof alignment_key - 1 && memcmp(key.data, alignment_key, key.size) == 0;
    if (writer->status == FMT_OK &&
        (!is_name(key) || is_alignment || writer->n_kv_left == 0 || writer->elements_left > 0)) {
        writer->status = FMT_BAD_ARG;
    }
    if (writer->status != FMT_OK) {
        return false;
    }
    writer->n_kv_left--;
    put_key(writer, key, type);
    return true;
}

static bool is_signed_type(gguf_type type) {
    return type == GGUF_I8 || type == GGUF_I16 || type == GGUF_I32 || type == GGUF_I64;
}

static fmt_status put_integer(gguf_writer *writer, const char *key, gguf_type type, uint64_t bits) {
    uint8_t bytes[8];
    store_u64(bytes, bits);
    if (open_key(writer, to_str(key), type)) {
        put(writer, bytes, gguf_type_size(type));
    }
    return writer->status;
}

fmt_status gguf_write_uint(gguf_writer *writer, const char *key, gguf_type type, uint64_t value) {
    const uint32_t bits = 8 * gguf_type_size(type) - is_signed_type(type);
    if (gguf_type_class(type) != GGUF_INTEGERS || (bits < 64 && value >> bits != 0)) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    return put_integer(writer, key, type, value);
}

fmt_status gguf_write_int(gguf_writer *writer, const char *key, gguf_type type, int64_t value) {
    if (value >= 0) {
        return gguf_write_uint(writer, key, type, (uint64_t)value);
    }
    if (!is_signed_type(type) || value < -(INT64_C(1) << (8 * gguf_type_size(type) - 2)) * 2) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    return put_integer(writer, key, type, (uint64_t)value);
}

fmt_status gguf_write_float(gguf_writer *writer, const char *key, gguf_type type, double value) {
    uint64_t bits = 0;
    if (type == GGUF_F32) {
        const float narrow = (float)value;
        uint32_t narrow_bits;
        memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
        bits = narrow_bits;
    } else if (type == GGUF_F64) {
        memcpy(&bits, &value, sizeof bits);
    } else {
        return fail_with(writer, FMT_BAD_ARG);
    }
    return put_integer(writer, key, type, bits);
}

fmt_status gguf_write_bool(gguf_writer *writer, const char *key, bool value) {
    return put_integer(writer, key, GGUF_BOOL, value);
}

fmt_status gguf_write_string_n(gguf_writer *writer, const char *key, fmt_str value) {
    if (open_key(writer, to_str(key), GGUF_STRING)) {
        put_string(writer, value);
    }
    return writer->status;
}

fmt_status gguf_write_string(gguf_writer *writer, const char *key, const char *value) {
    return gguf_write_string_n(writer, key, to_str(value));
}

fmt_status gguf_write_kv(gguf_writer *writer, const gguf_kv *kv) {
    if (kv->key.size == sizeof alignment_key - 1 && memcmp(kv->key.data, alignment_key, kv->key.size) == 0) {
        return writer->status;
    }
    if (open_key(writer, kv->key, kv->type)) {
        put(writer, kv->value.data, kv->value.size);
    }
    return writer->status;
}

fmt_status gguf_write_array_begin(gguf_writer *writer, const char *key, gguf_type element_type, uint64_t count) {
    if (element_type > GGUF_F64 || element_type == GGUF_ARRAY) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    if (open_key(writer, to_str(key), GGUF_ARRAY)) {
        put_u32(writer, element_type);
        put_u64(writer, count);
        writer->elements_left = count;
        writer->element_type = element_type;
    }
    return writer->status;
}

fmt_status gguf_write_elements(gguf_writer *writer, const void *little_endian, uint64_t count) {
    const uint32_t size = gguf_type_size(writer->element_type);
    uint64_t bytes = 0;
    if (count > writer->elements_left || size == 0 || !checked_mul(count, size, &bytes)) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    writer->elements_left -= count;
    put(writer, little_endian, bytes);
    return writer->status;
}

fmt_status gguf_write_element_string(gguf_writer *writer, fmt_str value) {
    if (writer->elements_left == 0 || writer->element_type != GGUF_STRING) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    writer->elements_left--;
    put_string(writer, value);
    return writer->status;
}

/* ---------------------------------------------------------------- tensors */

static uint64_t spec_bytes(const gguf_tensor_spec *spec) {
    uint64_t size = 0;
    (void)blk_tensor_bytes(spec->type, spec->rank, spec->dims, &size); /* proved by gguf_write_begin */
    return size;
}

static void put_tensor_list(gguf_writer *writer) {
    uint64_t offset = 0;
    for (uint64_t i = 0; i < writer->n_specs; i++) {
        const gguf_tensor_spec *spec = &writer->specs[i];
        put_string(writer, to_str(spec->name));
        put_u32(writer, spec->rank);
        for (uint32_t d = 0; d < spec->rank; d++) {
            put_u64(writer, spec->dims[d]);
        }
        put_u32(writer, spec->type);
        put_u64(writer, offset);
        if (!checked_add(offset, spec_bytes(spec), &offset) || !checked_align(offset, writer->alignment, &offset)) {
            fail_with(writer, FMT_LIMIT);
            return;
        }
    }
    if (writer->n_specs > 0) {
        put_padding(writer);
    }
}

/* After the last key: the tensor list. False when keys or elements are missing. */
static bool enter_data(gguf_writer *writer) {
    if (writer->status != FMT_OK || writer->spec != UINT64_MAX) {
        return writer->status == FMT_OK;
    }
    if (writer->n_kv_left > 0 || writer->elements_left > 0) {
        writer->status = FMT_BAD_ARG;
        return false;
    }
    writer->spec = 0;
    writer->spec_left = writer->n_specs > 0 ? spec_bytes(&writer->specs[0]) : 0;
    put_tensor_list(writer);
    return writer->status == FMT_OK;
}

fmt_status gguf_write_data(gguf_writer *writer, const void *bytes, uint64_t size) {
    if (!enter_data(writer)) {
        return writer->status;
    }
    if (size > writer->spec_left) {
        return fail_with(writer, FMT_BAD_ARG);
    }
    put(writer, bytes, size);
    writer->spec_left -= size;
    if (writer->spec_left == 0 && writer->spec < writer->n_specs) {
        put_padding(writer);
        writer->spec++;
        writer->spec_left = writer->spec < writer->n_specs ? spec_bytes(&writer->specs[writer->spec]) : 0;
    }
    return writer->status;
}

fmt_status gguf_write_end(gguf_writer *writer) {
    if (enter_data(writer) && writer->spec < writer->n_specs) {
        writer->status = FMT_BAD_ARG;
    }
    return writer->status;
}

bool gguf_write_to_file(void *stream, const void *bytes, uint64_t size) {
    return fwrite(bytes, 1, (size_t)size, stream) == size;
}
