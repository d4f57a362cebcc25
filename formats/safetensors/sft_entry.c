/* sft_entry.c — one member of the header: the metadata, or a tensor's type, shape and place. */
#include <string.h>

#include "common/checked.h"
#include "sft_internal.h"

diag_place sft_place(const sft_reading *r, uint64_t expected, uint64_t got) {
    const diag_place place = {r->entry_at, r->index, expected, got};
    return place;
}

fmt_status sft_read_metadata(sft_reading *r, json_t *metadata) {
    char quoted[DIAG_QUOTE_SIZE];
    const char *key;
    json_t *value;
    if (!json_is_object(metadata)) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_METADATA, sft_place(r, 0, 0), "__metadata__ is no object");
    }
    r->memory->metadata = sft_allocate(json_object_size(metadata), sizeof *r->memory->metadata);
    if (r->memory->metadata == NULL) {
        return sft_refuse(r->diag, FMT_NO_SPACE, SFT_R_MEMORY, sft_place(r, 0, 0), "memory ran out in __metadata__");
    }
    json_object_foreach(metadata, key, value) {
        const fmt_str name = {key, strlen(key)};
        if (!json_is_string(value)) {
            return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_METADATA, sft_place(r, 0, 0),
                              "the value of %s in __metadata__ is no string", diag_quote(quoted, name));
        }
        sft_meta *meta = &r->memory->metadata[r->file->n_metadata++];
        meta->key = name;
        meta->value.data = json_string_value(value);
        meta->value.size = json_string_length(value);
    }
    return FMT_OK;
}

static fmt_status refuse_entry(const sft_reading *r, const char *what) {
    char quoted[DIAG_QUOTE_SIZE];
    return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_TENSOR_ENTRY, sft_place(r, 0, 0), "the entry of tensor %s %s",
                      diag_quote(quoted, r->name), what);
}

static fmt_status read_dtype(const sft_reading *r, json_t *entry, sft_tensor *tensor) {
    char quoted[2][DIAG_QUOTE_SIZE];
    const json_t *dtype = json_object_get(entry, "dtype");
    if (!json_is_string(dtype)) {
        return refuse_entry(r, dtype == NULL ? "has no dtype" : "has a dtype that is no string");
    }
    const fmt_str text = {json_string_value(dtype), json_string_length(dtype)};
    tensor->dtype = sft_find_dtype(text.data);
    if (tensor->dtype == SFT_N_DTYPES) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_DTYPE, sft_place(r, 0, 0), "tensor %s has dtype %s",
                          diag_quote(quoted[0], r->name), diag_quote(quoted[1], text));
    }
    return FMT_OK;
}

/* A JSON integer that is not negative; jansson has refused what does not fit in 63 bits. */
static bool read_natural(const json_t *value, uint64_t *out) {
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return false;
    }
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static fmt_status read_shape(sft_reading *r, json_t *entry, sft_tensor *tensor) {
    char quoted[DIAG_QUOTE_SIZE];
    const json_t *shape = json_object_get(entry, "shape");
    if (!json_is_array(shape)) {
        return refuse_entry(r, shape == NULL ? "has no shape" : "has a shape that is no list");
    }
    uint64_t *dims = r->memory->dims + r->dims_used;
    tensor->rank = (uint32_t)json_array_size(shape);
    tensor->shape = dims;
    tensor->n_elements = 1;
    bool fits = true, has_zero = false;
    for (uint32_t d = 0; d < tensor->rank; d++) {
        if (!read_natural(json_array_get(shape, d), &dims[d])) {
            return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_SHAPE, sft_place(r, 0, d),
                              "number %lu of the shape of tensor %s is none", (unsigned long)d,
                              diag_quote(quoted, r->name));
        }
        has_zero = has_zero || dims[d] == 0;
        fits = fits && checked_mul(tensor->n_elements, dims[d], &tensor->n_elements);
    }
    r->dims_used += tensor->rank;
    uint64_t bits = 0;
    tensor->n_elements = has_zero ? 0 : tensor->n_elements;
    if ((!fits && !has_zero) || !checked_mul(tensor->n_elements, sft_dtype_bits(tensor->dtype), &bits)) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_SHAPE_SIZE, sft_place(r, 0, 0),
                          "the shape of tensor %s is too large", diag_quote(quoted, r->name));
    }
    return FMT_OK;
}

static fmt_status check_size(const sft_reading *r, const sft_tensor *tensor) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint64_t bits = tensor->n_elements * sft_dtype_bits(tensor->dtype); /* proved to fit by read_shape */
    if (bits % 8 != 0 || bits / 8 != tensor->size) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_OFFSETS_SIZE, sft_place(r, bits / 8, tensor->size),
                          "tensor %s has %llu elements of %s, %llu bits, and %llu bytes", diag_quote(quoted, r->name),
                          (unsigned long long)tensor->n_elements, sft_dtype_name(tensor->dtype),
                          (unsigned long long)bits, (unsigned long long)tensor->size);
    }
    return FMT_OK;
}

static fmt_status read_offsets(const sft_reading *r, json_t *entry, sft_tensor *tensor) {
    char quoted[DIAG_QUOTE_SIZE];
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *first = json_array_get(offsets, 0), *second = json_array_get(offsets, 1);
    const uint64_t data_size = r->file->span.size - r->file->data_at;
    uint64_t end = 0;
    if (!json_is_array(offsets)) {
        return refuse_entry(r, offsets == NULL ? "has no data_offsets" : "has data_offsets that are no list");
    }
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(second)) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_OFFSETS, sft_place(r, 2, json_array_size(offsets)),
                          "tensor %s has a list of %lu data_offsets, not all integers or not two",
                          diag_quote(quoted, r->name), (unsigned long)json_array_size(offsets));
    }
    if (!read_natural(first, &tensor->begin) || !read_natural(second, &end) || tensor->begin > end) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_OFFSETS, sft_place(r, 0, 0),
                          "tensor %s has data_offsets %lld and %lld", diag_quote(quoted, r->name),
                          (long long)json_integer_value(first), (long long)json_integer_value(second));
    }
    if (end > data_size) {
        return sft_refuse(r->diag, FMT_BAD_FILE, SFT_R_OFFSETS_BOUNDS, sft_place(r, data_size, end),
                          "tensor %s ends at byte %llu of %llu bytes of data", diag_quote(quoted, r->name),
                          (unsigned long long)end, (unsigned long long)data_size);
    }
    tensor->at = r->file->data_at + tensor->begin;
    tensor->size = end - tensor->begin;
    return FMT_OK;
}

/* Offsets are looked at before the type: a file whose type is not known still says whether it is cut short. */
fmt_status sft_read_tensor(sft_reading *r, json_t *entry) {
    sft_tensor *tensor = &r->memory->tensors[r->file->n_tensors];
    tensor->name = r->name;
    tensor->entry_at = r->entry_at;
    if (!json_is_object(entry)) {
        return refuse_entry(r, "is no object");
    }
    fmt_status status = read_offsets(r, entry, tensor);
    if (status == FMT_OK) {
        status = read_dtype(r, entry, tensor);
    }
    if (status == FMT_OK) {
        status = read_shape(r, entry, tensor);
    }
    if (status == FMT_OK) {
        status = check_size(r, tensor);
    }
    r->file->n_tensors += status == FMT_OK;
    return status;
}
