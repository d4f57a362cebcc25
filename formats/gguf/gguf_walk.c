/* gguf_walk.c — reading keys and tensor entries one after another. Everything that can be said of an entry without
 * knowing another one is proved here; the cursor never passes the end of the span, and no loop runs longer than the
 * bytes that it passes over. */
#include <string.h>

#include "common/checked.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "gguf_internal.h"

static fmt_status refuse_truncated(gguf_walk *walk, const char *what) {
    const uint64_t size = walk->at.span.size;
    char quoted[DIAG_QUOTE_SIZE];
    const diag_place here = {walk->at.at, walk->index, 0, size};
    return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TRUNCATED, here,
                       "the end of the file, byte %llu, stands inside %s %s", (unsigned long long)size, what,
                       diag_quote(quoted, walk->name));
}

/* ---------------------------------------------------------------- names */

typedef struct name_kind {
    const char *what;
    gguf_rule_no length_rule, text_rule;
} name_kind;

static const name_kind key_kind = {"key", GGUF_R_KEY_LENGTH, GGUF_R_KEY_TEXT};
static const name_kind tensor_kind = {"tensor", GGUF_R_TENSOR_NAME, GGUF_R_TENSOR_NAME_TEXT};

static fmt_status check_text(gguf_walk *walk, const name_kind *kind, uint64_t text_at) {
    const fmt_str name = walk->name;
    const char *zero = memchr(name.data, 0, (size_t)name.size);
    uint64_t bad = utf8_first_invalid(name.data, name.size);
    if (zero != NULL && (uint64_t)(zero - name.data) < bad) {
        bad = (uint64_t)(zero - name.data);
    }
    if (bad == UTF8_ALL_VALID) {
        return FMT_OK;
    }
    char quoted[DIAG_QUOTE_SIZE];
    const uint8_t value = (uint8_t)name.data[bad];
    const diag_place here = {text_at + bad, walk->index, 0, value};
    return gguf_refuse(walk->diag, FMT_BAD_FILE, kind->text_rule, here,
                       "%s %llu, %s, has byte 0x%02x at its position %llu", kind->what, (unsigned long long)walk->index,
                       diag_quote(quoted, name), value, (unsigned long long)bad);
}

static fmt_status read_name(gguf_walk *walk, const name_kind *kind, uint64_t *out_hash) {
    const uint64_t start = walk->at.at;
    const fmt_str none = {"", 0};
    walk->name = none;
    const uint64_t size = cursor_u64(&walk->at);
    if (!cursor_ok(&walk->at)) {
        const diag_place here = {start, walk->index, 0, walk->at.span.size};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TRUNCATED, here,
                           "the end of the file, byte %llu, stands inside %s number %llu",
                           (unsigned long long)walk->at.span.size, kind->what, (unsigned long long)walk->index);
    }
    const uint64_t left = cursor_left(&walk->at);
    if (size == 0 || size > GGUF_MAX_NAME || size > left) {
        const uint64_t most = left < GGUF_MAX_NAME ? left : GGUF_MAX_NAME;
        const diag_place here = {start, walk->index, most, size};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, kind->length_rule, here,
                           "the name of %s number %llu is %llu bytes long with %llu left", kind->what,
                           (unsigned long long)walk->index, (unsigned long long)size, (unsigned long long)left);
    }
    walk->name.data = (const char *)cursor_bytes(&walk->at, size);
    walk->name.size = size;
    *out_hash = fnv1a64(walk->name.data, size);
    return check_text(walk, kind, start + 8);
}

/* ---------------------------------------------------------------- values */

static fmt_status check_bools(gguf_walk *walk, const uint8_t *bytes, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        if (bytes[i] > 1) {
            char quoted[DIAG_QUOTE_SIZE];
            const diag_place here = {(uint64_t)(bytes - walk->at.span.data) + i, walk->index, 1, bytes[i]};
            return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_BOOL_VALUE, here, "key %s has a bool of value %u",
                               diag_quote(quoted, walk->name), bytes[i]);
        }
    }
    return FMT_OK;
}

/* Passes over `count` strings, each a length and its bytes. */
static fmt_status read_strings(gguf_walk *walk, uint64_t count) {
    const fmt_span span = walk->at.span;
    uint64_t at = walk->at.at;
    for (uint64_t i = 0; i < count; i++) {
        if (span.size - at < GGUF_STRING_MIN) {
            walk->at.at = at;
            return refuse_truncated(walk, "the value of key");
        }
        const uint64_t size = load_u64(span.data + at);
        const uint64_t left = span.size - at - GGUF_STRING_MIN;
        if (size > left) {
            char quoted[DIAG_QUOTE_SIZE];
            const diag_place here = {at, walk->index, left, size};
            return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_STRING_LENGTH, here,
                               "key %s has a string of %llu bytes with %llu left in the file",
                               diag_quote(quoted, walk->name), (unsigned long long)size, (unsigned long long)left);
        }
        at += GGUF_STRING_MIN + size;
    }
    walk->at.at = at;
    return FMT_OK;
}

/* Reads type and count of an array and proves that as many of the smallest elements fit. */
static fmt_status read_array_head(gguf_walk *walk, gguf_type *out_type, uint64_t *out_count) {
    const uint64_t start = walk->at.at;
    char quoted[DIAG_QUOTE_SIZE];
    const gguf_type type = cursor_u32(&walk->at);
    const uint64_t count = cursor_u64(&walk->at);
    if (!cursor_ok(&walk->at)) {
        return refuse_truncated(walk, "the value of key");
    }
    if (type > GGUF_F64) {
        const diag_place here = {start, walk->index, GGUF_F64, type};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_ARRAY_TYPE, here, "key %s is an array of element type %lu",
                           diag_quote(quoted, walk->name), (unsigned long)type);
    }
    const uint64_t smallest = type == GGUF_STRING  ? GGUF_STRING_MIN
                              : type == GGUF_ARRAY ? GGUF_ARRAY_MIN
                                                   : gguf_type_size(type);
    const uint64_t most = cursor_left(&walk->at) / smallest;
    if (count > most) {
        const diag_place here = {start + 4, walk->index, most, count};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_ARRAY_LENGTH, here,
                           "key %s is an array of %llu elements of type %s, the file has room for %llu",
                           diag_quote(quoted, walk->name), (unsigned long long)count, gguf_type_name(type),
                           (unsigned long long)most);
    }
    *out_type = type;
    *out_count = count;
    return FMT_OK;
}

/* Passes over the elements of an array that holds no arrays. */
static fmt_status read_elements(gguf_walk *walk, gguf_type type, uint64_t count) {
    if (type == GGUF_STRING) {
        return read_strings(walk, count);
    }
    const uint8_t *bytes = cursor_bytes(&walk->at, count * gguf_type_size(type));
    if (bytes == NULL) {
        return refuse_truncated(walk, "the value of key");
    }
    return type == GGUF_BOOL ? check_bools(walk, bytes, count) : FMT_OK;
}

/* Arrays of arrays are walked with a small stack of "how many are left at this level": the depth is ours, not the
 * file's. */
fmt_status gguf_walk_array(gguf_walk *walk) {
    uint64_t left[GGUF_MAX_ARRAY_DEPTH - 1];
    unsigned depth = 0;
    for (;;) {
        gguf_type type = GGUF_U8;
        uint64_t count = 0;
        const uint64_t start = walk->at.at;
        fmt_status status = read_array_head(walk, &type, &count);
        if (status == FMT_OK && type != GGUF_ARRAY) {
            status = read_elements(walk, type, count);
        } else if (status == FMT_OK && depth < GGUF_MAX_ARRAY_DEPTH - 1) {
            left[depth++] = count;
        } else if (status == FMT_OK) {
            char quoted[DIAG_QUOTE_SIZE];
            const diag_place here = {start, walk->index, GGUF_MAX_ARRAY_DEPTH, depth + 2};
            status = gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_ARRAY_DEPTH, here, "key %s holds arrays at level %u",
                                 diag_quote(quoted, walk->name), depth + 2);
        }
        if (status != FMT_OK) {
            return status;
        }
        while (depth > 0 && left[depth - 1] == 0) {
            depth--;
        }
        if (depth == 0) {
            return FMT_OK;
        }
        left[depth - 1]--;
    }
}

fmt_status gguf_walk_kv(gguf_walk *walk, gguf_kv *out_kv) {
    fmt_status status = read_name(walk, &key_kind, &out_kv->hash);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t type_at = walk->at.at;
    const gguf_type type = cursor_u32(&walk->at);
    if (!cursor_ok(&walk->at)) {
        return refuse_truncated(walk, "the value of key");
    }
    if (type > GGUF_F64) {
        char quoted[DIAG_QUOTE_SIZE];
        const diag_place here = {type_at, walk->index, GGUF_F64, type};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_VALUE_TYPE, here, "key %s has value type %lu",
                           diag_quote(quoted, walk->name), (unsigned long)type);
    }
    const uint64_t value_at = walk->at.at;
    status = type == GGUF_ARRAY ? gguf_walk_array(walk) : read_elements(walk, type, 1);
    if (status != FMT_OK) {
        return status;
    }
    out_kv->key = walk->name;
    out_kv->type = type;
    out_kv->value.data = walk->at.span.data + value_at;
    out_kv->value.size = walk->at.at - value_at;
    walk->index++;
    return FMT_OK;
}

/* ---------------------------------------------------------------- tensor entries */

static fmt_status refuse_dim(gguf_walk *walk, uint64_t at, uint32_t dim, uint64_t value) {
    char quoted[DIAG_QUOTE_SIZE];
    const diag_place here = {at, walk->index, INT64_MAX, value};
    return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TENSOR_DIM, here, "dimension %lu of tensor %s is %llu",
                       (unsigned long)dim, diag_quote(quoted, walk->name), (unsigned long long)value);
}

static fmt_status read_dims(gguf_walk *walk, gguf_tensor *tensor) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint64_t rank_at = walk->at.at;
    tensor->rank = cursor_u32(&walk->at);
    if (!cursor_ok(&walk->at)) {
        return refuse_truncated(walk, "the entry of tensor");
    }
    if (tensor->rank < 1 || tensor->rank > GGUF_MAX_RANK) {
        const diag_place here = {rank_at, walk->index, GGUF_MAX_RANK, tensor->rank};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TENSOR_RANK, here, "tensor %s has %lu dimensions",
                           diag_quote(quoted, walk->name), (unsigned long)tensor->rank);
    }
    for (uint32_t d = 0; d < GGUF_MAX_RANK; d++) {
        const uint64_t dim_at = walk->at.at;
        tensor->dims[d] = d < tensor->rank ? cursor_u64(&walk->at) : 1;
        if (!cursor_ok(&walk->at)) {
            return refuse_truncated(walk, "the entry of tensor");
        }
        if (tensor->dims[d] < 1 || tensor->dims[d] > INT64_MAX) {
            return refuse_dim(walk, dim_at, d, tensor->dims[d]);
        }
    }
    return FMT_OK;
}

/* Two element types exist in P64 only; their numbers mean nothing in a GGUF file. */
static bool is_gguf_type(blk_type type) {
    return type != BLK_Q4_K_SOA && type != BLK_TERNARY;
}

/* Element count and bytes, from dims and type. */
static fmt_status size_tensor(gguf_walk *walk, gguf_tensor *tensor, uint64_t type_at) {
    char quoted[DIAG_QUOTE_SIZE];
    const blk_info *info = is_gguf_type(tensor->type) ? blk_get_info(tensor->type) : NULL;
    const uint64_t *dims = tensor->dims;
    const uint64_t dims_at = type_at - 8 * (uint64_t)tensor->rank;
    if (info == NULL) {
        const diag_place here = {type_at, walk->index, 0, tensor->type};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TENSOR_TYPE, here, "tensor %s has element type %lu",
                           diag_quote(quoted, walk->name), (unsigned long)tensor->type);
    }
    if (dims[0] % info->block_elems != 0) {
        const diag_place here = {dims_at, walk->index, info->block_elems, dims[0]};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TENSOR_ROW, here,
                           "tensor %s is %s with rows of %llu elements, no multiple of %lu",
                           diag_quote(quoted, walk->name), info->name, (unsigned long long)dims[0],
                           (unsigned long)info->block_elems);
    }
    uint64_t elements = dims[0];
    bool fits = true;
    for (uint32_t d = 1; d < GGUF_MAX_RANK; d++) {
        fits = fits && checked_mul(elements, dims[d], &elements) && elements <= INT64_MAX;
    }
    fits = fits && blk_tensor_bytes(tensor->type, tensor->rank, dims, &tensor->size) == FMT_OK &&
           tensor->size <= INT64_MAX;
    if (!fits) {
        const diag_place here = {dims_at, walk->index, INT64_MAX, 0};
        return gguf_refuse(walk->diag, FMT_BAD_FILE, GGUF_R_TENSOR_SIZE, here,
                           "tensor %s of %llu x %llu x %llu x %llu elements is too large",
                           diag_quote(quoted, walk->name), (unsigned long long)dims[0], (unsigned long long)dims[1],
                           (unsigned long long)dims[2], (unsigned long long)dims[3]);
    }
    return FMT_OK;
}

fmt_status gguf_walk_tensor(gguf_walk *walk, gguf_tensor *out_tensor) {
    out_tensor->entry_at = walk->at.at;
    fmt_status status = read_name(walk, &tensor_kind, &out_tensor->hash);
    out_tensor->name = walk->name;
    if (status == FMT_OK) {
        status = read_dims(walk, out_tensor);
    }
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t type_at = walk->at.at;
    out_tensor->type = cursor_u32(&walk->at);
    out_tensor->offset = cursor_u64(&walk->at);
    if (!cursor_ok(&walk->at)) {
        return refuse_truncated(walk, "the entry of tensor");
    }
    status = size_tensor(walk, out_tensor, type_at);
    walk->index++;
    return status;
}
