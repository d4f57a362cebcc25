/* gguf_open.c — the two steps of opening: prove and measure, then index. What needs more than one entry to be judged
 * (duplicates, alignment, overlap) is judged here.
 *
 * Scratch:   kvs gguf_kv[n_kv] | tensors gguf_tensor[n_tensors] | kv_order u32[n_kv] | tensor_order u32[n_tensors]
 *            | tensors_by_offset u32[n_tensors] | room for sorting u32[max(n_kv, n_tensors)]
 */
#include <string.h>

#include "common/checked.h"
#include "gguf_internal.h"

static uint64_t scratch_bytes_for(const gguf_file *file) {
    const uint64_t most = file->n_kv > file->n_tensors ? file->n_kv : file->n_tensors;
    /* Counts are below 2^31 (GGUF_MAX_ENTRIES), so nothing here can wrap. */
    return file->n_kv * sizeof(gguf_kv) + file->n_tensors * sizeof(gguf_tensor) +
           (file->n_kv + 2 * file->n_tensors + most) * sizeof(uint32_t);
}

static gguf_walk start_walk(fmt_span span, uint64_t at, fmt_diag *diag) {
    const gguf_walk walk = {cursor_make(span, at), 0, {"", 0}, diag};
    return walk;
}

fmt_status gguf_scratch_size(fmt_span span, uint64_t *out_bytes, fmt_diag *diag) {
    gguf_file file;
    fmt_status status = gguf_read_header(span, &file, diag);
    if (status != FMT_OK) {
        return status;
    }
    gguf_walk walk = start_walk(span, GGUF_HEADER_SIZE, diag);
    for (uint64_t i = 0; i < file.n_kv; i++) {
        gguf_kv kv;
        status = gguf_walk_kv(&walk, &kv);
        if (status != FMT_OK) {
            return status;
        }
    }
    walk.index = 0;
    for (uint64_t i = 0; i < file.n_tensors; i++) {
        gguf_tensor tensor;
        status = gguf_walk_tensor(&walk, &tensor);
        if (status != FMT_OK) {
            return status;
        }
    }
    *out_bytes = scratch_bytes_for(&file);
    return FMT_OK;
}

/* ---------------------------------------------------------------- order and duplicates */

static bool is_kv_before(const void *ctx, uint32_t a, uint32_t b) {
    const gguf_kv *kvs = ctx;
    return gguf_compare_names(kvs[a].hash, kvs[a].key, kvs[b].hash, kvs[b].key) < 0;
}

static bool is_tensor_before(const void *ctx, uint32_t a, uint32_t b) {
    const gguf_tensor *tensors = ctx;
    return gguf_compare_names(tensors[a].hash, tensors[a].name, tensors[b].hash, tensors[b].name) < 0;
}

static bool is_offset_before(const void *ctx, uint32_t a, uint32_t b) {
    const gguf_tensor *tensors = ctx;
    return tensors[a].at < tensors[b].at;
}

/* First entry of the file whose name stood before; false when all differ. Sorting is stable, so of two equal neighbours
 * the left one stands first in the file. */
static bool find_duplicate(const uint32_t *order, uint64_t n, gguf_before_fn *is_before, const void *ctx,
                           uint32_t *out_first, uint32_t *out_second) {
    bool found = false;
    for (uint64_t i = 1; i < n; i++) {
        if (!is_before(ctx, order[i - 1], order[i]) && (!found || order[i] < *out_second)) {
            *out_first = order[i - 1];
            *out_second = order[i];
            found = true;
        }
    }
    return found;
}

static uint64_t offset_in(fmt_span span, const void *pointer) {
    return (uint64_t)((const uint8_t *)pointer - span.data);
}

static fmt_status refuse_duplicate_kv(const gguf_file *file, uint32_t first, uint32_t second, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint64_t first_at = offset_in(file->span, file->kvs[first].key.data) - 8;
    const uint64_t second_at = offset_in(file->span, file->kvs[second].key.data) - 8;
    const diag_place here = {second_at, second, 0, first_at};
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_KEY_DUPLICATE, here,
                       "key %s stands at byte %llu and again at byte %llu", diag_quote(quoted, file->kvs[second].key),
                       (unsigned long long)first_at, (unsigned long long)second_at);
}

static fmt_status refuse_duplicate_tensor(const gguf_file *file, uint32_t first, uint32_t second, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const gguf_tensor *a = &file->tensors[first], *b = &file->tensors[second];
    const diag_place here = {b->entry_at, second, 0, a->entry_at};
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_TENSOR_DUPLICATE, here,
                       "tensor %s stands in the list at byte %llu and again at byte %llu", diag_quote(quoted, b->name),
                       (unsigned long long)a->entry_at, (unsigned long long)b->entry_at);
}

/* ---------------------------------------------------------------- keys */

static fmt_status read_alignment(gguf_file *file, fmt_diag *diag) {
    const gguf_kv *kv = gguf_find_kv(file, "general.alignment");
    uint64_t value = 0;
    if (kv == NULL) {
        return FMT_OK;
    }
    const uint64_t at = offset_in(file->span, kv->value.data);
    const uint64_t index = (uint64_t)(kv - file->kvs);
    if (kv->type != GGUF_U32) {
        const diag_place here = {at, index, GGUF_U32, kv->type};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_ALIGNMENT_TYPE, here, "key \"general.alignment\" is of type %s",
                           gguf_type_name(kv->type));
    }
    gguf_kv_u64(kv, &value);
    if (value == 0 || (value & (value - 1)) != 0) {
        const diag_place here = {at, index, GGUF_DEFAULT_ALIGNMENT, value};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_ALIGNMENT, here, "key \"general.alignment\" is %llu",
                           (unsigned long long)value);
    }
    file->alignment = (uint32_t)value;
    return FMT_OK;
}

static fmt_status read_kvs(gguf_file *file, gguf_walk *walk, gguf_kv *kvs, uint32_t *order, uint32_t *aux) {
    uint32_t first = 0, second = 0;
    for (uint64_t i = 0; i < file->n_kv; i++) {
        const fmt_status status = gguf_walk_kv(walk, &kvs[i]);
        if (status != FMT_OK) {
            return status;
        }
    }
    gguf_sort(order, aux, (uint32_t)file->n_kv, is_kv_before, kvs);
    if (find_duplicate(order, file->n_kv, is_kv_before, kvs, &first, &second)) {
        return refuse_duplicate_kv(file, first, second, walk->diag);
    }
    return read_alignment(file, walk->diag);
}

/* ---------------------------------------------------------------- tensors */

/* Alignment and bounds of one tensor; sets its place in the file. */
static fmt_status place_tensor(const gguf_file *file, gguf_tensor *tensor, fmt_diag *diag) {
    char quoted[DIAG_QUOTE_SIZE];
    const uint64_t index = (uint64_t)(tensor - file->tensors);
    uint64_t end = 0;
    if (tensor->offset % file->alignment != 0) {
        const diag_place here = {tensor->entry_at, index, file->alignment, tensor->offset};
        return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_TENSOR_ALIGNMENT, here,
                           "tensor %s has offset %llu, the alignment is %lu", diag_quote(quoted, tensor->name),
                           (unsigned long long)tensor->offset, (unsigned long)file->alignment);
    }
    if (checked_add(file->data_at, tensor->offset, &tensor->at) && checked_add(tensor->at, tensor->size, &end) &&
        end <= file->span.size) {
        return FMT_OK;
    }
    const diag_place here = {tensor->entry_at, index, file->span.size, end};
    return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_TENSOR_BOUNDS, here,
                       "tensor %s has %llu bytes at offset %llu of the data, which starts at byte %llu "
                       "of a file of %llu bytes",
                       diag_quote(quoted, tensor->name), (unsigned long long)tensor->size,
                       (unsigned long long)tensor->offset, (unsigned long long)file->data_at,
                       (unsigned long long)file->span.size);
}

/* In order of offset, no tensor is empty, so looking at neighbours finds an overlap if there is any. */
static fmt_status check_overlap(const gguf_file *file, const uint32_t *by_offset, fmt_diag *diag) {
    char quoted[2][DIAG_QUOTE_SIZE];
    for (uint64_t i = 1; i < file->n_tensors; i++) {
        const gguf_tensor *a = &file->tensors[by_offset[i - 1]], *b = &file->tensors[by_offset[i]];
        if (a->at + a->size > b->at) {
            const diag_place here = {b->at, by_offset[i], a->at + a->size, b->at};
            return gguf_refuse(diag, FMT_BAD_FILE, GGUF_R_TENSOR_OVERLAP, here,
                               "tensor %s starts at byte %llu, tensor %s at byte %llu ends at byte %llu",
                               diag_quote(quoted[0], b->name), (unsigned long long)b->at,
                               diag_quote(quoted[1], a->name), (unsigned long long)a->at,
                               (unsigned long long)(a->at + a->size));
        }
    }
    return FMT_OK;
}

static fmt_status read_tensors(gguf_file *file, gguf_walk *walk, gguf_tensor *tensors, uint32_t *order,
                               uint32_t *by_offset, uint32_t *aux) {
    uint32_t first = 0, second = 0;
    fmt_status status = FMT_OK;
    walk->index = 0;
    for (uint64_t i = 0; i < file->n_tensors && status == FMT_OK; i++) {
        status = gguf_walk_tensor(walk, &tensors[i]);
    }
    if (status != FMT_OK) {
        return status;
    }
    gguf_sort(order, aux, (uint32_t)file->n_tensors, is_tensor_before, tensors);
    if (find_duplicate(order, file->n_tensors, is_tensor_before, tensors, &first, &second)) {
        return refuse_duplicate_tensor(file, first, second, walk->diag);
    }
    /* The list ends inside the span and an alignment has 32 bits: this sum cannot wrap in any real mapping, but is
     * asked. */
    if (!checked_align(walk->at.at, file->alignment, &file->data_at)) {
        file->data_at = UINT64_MAX;
    }
    for (uint64_t i = 0; i < file->n_tensors && status == FMT_OK; i++) {
        status = place_tensor(file, &tensors[i], walk->diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    gguf_sort(by_offset, aux, (uint32_t)file->n_tensors, is_offset_before, tensors);
    return check_overlap(file, by_offset, walk->diag);
}

fmt_status gguf_open(fmt_span span, void *scratch, uint64_t scratch_bytes, gguf_file *out_file, fmt_diag *diag) {
    gguf_file file;
    fmt_status status = gguf_read_header(span, &file, diag);
    if (status != FMT_OK) {
        return status;
    }
    const uint64_t need = scratch_bytes_for(&file);
    const bool is_aligned = (uintptr_t)scratch % sizeof(uint64_t) == 0;
    if (scratch_bytes < need || !is_aligned) {
        const diag_place here = {0, FMT_NO_INDEX, need, scratch_bytes};
        return gguf_refuse(diag, is_aligned ? FMT_NO_SPACE : FMT_BAD_ARG, GGUF_R_SCRATCH, here,
                           "%llu bytes of scratch were given, %llu are needed", (unsigned long long)scratch_bytes,
                           (unsigned long long)need);
    }
    gguf_kv *kvs = scratch;
    gguf_tensor *tensors = (gguf_tensor *)(void *)(kvs + file.n_kv);
    uint32_t *kv_order = (uint32_t *)(void *)(tensors + file.n_tensors);
    uint32_t *tensor_order = kv_order + file.n_kv;
    uint32_t *by_offset = tensor_order + file.n_tensors;
    uint32_t *aux = by_offset + file.n_tensors;
    file.kvs = kvs;
    file.tensors = tensors;
    file.kv_order = kv_order;
    file.tensor_order = tensor_order;
    file.tensors_by_offset = by_offset;
    gguf_walk walk = start_walk(span, GGUF_HEADER_SIZE, diag);
    status = read_kvs(&file, &walk, kvs, kv_order, aux);
    if (status == FMT_OK) {
        status = read_tensors(&file, &walk, tensors, tensor_order, by_offset, aux);
    }
    if (status == FMT_OK) {
        *out_file = file;
    }
    return status;
}
