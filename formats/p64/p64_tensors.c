/* p64_tensors.c — section 6: the tensor table, entry by entry, and looking tensors up. */
#include <stdio.h>
#include <string.h>

#include <quoin/blocks.h>

#include "common/checked.h"
#include "common/diag.h"
#include "common/endian.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "p64_layout.h"

typedef unsigned long long ull;

/* The entry under test, and what the entries before it left behind. */
typedef struct walk {
    uint32_t index;
    uint64_t at; /* byte offset of the entry */
    p64_tensor t;
    uint32_t blob_size;
    char name[DIAG_QUOTE_SIZE];
    uint64_t previous_end;
    uint32_t previous_manifold;
} walk;

static p64_at place(const walk *w, uint64_t offset, uint64_t expected, uint64_t got) {
    return (p64_at){w->at + offset, w->index, expected, got};
}

static void set_dims(p64_tensor *t, bool is_raw) {
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t from = is_raw && k < t->rank ? t->rank - 1 - k : k;
        t->dims[k] = k < t->rank ? t->file_dims[from] : 1;
    }
}

/* All of an entry but its name: nothing here is believed yet. */
static p64_tensor load_entry(const p64_file *file, uint32_t index) {
    const uint8_t *e = file->span.data + p64_entry_at(file, index);
    p64_tensor t = {0};
    t.index = index;
    t.role = load_u16(e + P64_ENT_ROLE_AT);
    t.dtype = load_u16(e + P64_ENT_DTYPE_AT);
    t.manifold_index = load_u32(e + P64_ENT_MANIFOLD_AT);
    t.layer = t.manifold_index == file->hparams.n_layer ? P64_NO_LAYER : t.manifold_index;
    t.rank = load_u32(e + P64_ENT_RANK_AT);
    for (uint32_t k = 0; k < 4; k++) {
        t.file_dims[k] = load_u32(e + P64_ENT_DIMS_AT + 4 * k);
    }
    t.blob_offset = load_u32(e + P64_ENT_BLOB_OFFSET_AT);
    t.blob.size = load_u32(e + P64_ENT_BLOB_SIZE_AT);
    t.source_offset = load_u64(e + P64_ENT_SOURCE_OFFSET_AT);
    t.source_name_hash = load_u64(e + P64_ENT_SOURCE_HASH_AT);
    t.crc = load_u32(file->span.data + file->header.checksum_at + 4 + 4 * (uint64_t)index);
    return t;
}

static fmt_str load_name(const p64_file *file, uint32_t index) {
    const uint32_t offset = load_u32(file->span.data + p64_entry_at(file, index));
    const uint64_t begin = (uint64_t)file->header.string_table_at + offset;
    const uint64_t end = file->header.manifold_at;
    const uint8_t *stop = begin < end ? memchr(file->span.data + begin, 0, end - begin) : NULL;
    if (stop == NULL) {
        return (fmt_str){NULL, 0};
    }
    return (fmt_str){(const char *)file->span.data + begin, (uint64_t)(stop - file->span.data) - begin};
}

p64_tensor p64_get_tensor(const p64_file *file, uint32_t index) {
    p64_tensor t = load_entry(file, index);
    t.name = load_name(file, index);
    t.blob.data = file->span.data + t.blob_offset;
    set_dims(&t, (file->header.flags & P64_FLAG_RAW) != 0);
    for (uint32_t k = t.rank; k < 4; k++) {
        t.file_dims[k] = 1;
    }
    return t;
}

static fmt_status check_rank_and_layer(const p64_reader *r, const walk *w) {
    if (w->t.rank < 1 || w->t.rank > 4) {
        return p64_refuse(r, P64_R_RANK, place(w, P64_ENT_RANK_AT, 4, w->t.rank),
                          "Tensor %u has rank %u; 1 to 4 are possible", w->index, w->t.rank);
    }
    if (w->t.manifold_index > r->file->hparams.n_layer) {
        return p64_refuse(r, P64_R_MANIFOLD_INDEX,
                          place(w, P64_ENT_MANIFOLD_AT, r->file->hparams.n_layer, w->t.manifold_index),
                          "Tensor %u has manifold_idx %u; the model has %u layers", w->index, w->t.manifold_index,
                          r->file->hparams.n_layer);
    }
    return FMT_OK;
}

static fmt_status check_name(p64_reader *r, walk *w) {
    const p64_header *h = &r->file->header;
    const uint32_t offset = load_u32(r->span.data + w->at);
    w->t.name = load_name(r->file, w->index);
    if (w->t.name.data == NULL) {
        return p64_refuse(
            r, P64_R_NAME_BOUNDS, place(w, 0, h->manifold_at - h->string_table_at, offset),
            "The name of tensor %u begins at offset %u of a string table of %u bytes and has no end there", w->index,
            offset, h->manifold_at - h->string_table_at);
    }
    if (w->t.name.size == 0) {
        return p64_refuse(r, P64_R_NAME_EMPTY, place(w, 0, 0, offset), "The name of tensor %u has no bytes", w->index);
    }
    /* Names may overlap. Without this bound a file of n entries could ask for n hashes of n bytes each. */
    if (w->t.name.size > P64_FREE_NAME_BYTES) {
        if (w->t.name.size > r->names_left) {
            return p64_refuse(r, P64_R_NAME_LIMIT, place(w, 0, P64_FREE_NAME_BYTES, w->t.name.size),
                              "The name of tensor %u has %llu bytes and shares them with other names", w->index,
                              (ull)w->t.name.size);
        }
        r->names_left -= w->t.name.size;
    }
    const uint64_t begin = (uint64_t)h->string_table_at + offset;
    const uint64_t bad = utf8_first_invalid(w->t.name.data, w->t.name.size);
    if (bad != UTF8_ALL_VALID) {
        return p64_refuse(r, P64_R_NAME_UTF8, (p64_at){begin + bad, w->index, 0, r->span.data[begin + bad]},
                          "The name of tensor %u is not UTF-8: byte %llu of it is %02x", w->index, (ull)bad,
                          r->span.data[begin + bad]);
    }
    if (begin + w->t.name.size + 1 > r->strings_end) {
        r->strings_end = begin + w->t.name.size + 1;
    }
    diag_quote(w->name, w->t.name);
    return FMT_OK;
}

static fmt_status check_shape_fields(const p64_reader *r, const walk *w) {
    for (uint32_t k = 0; k < 4; k++) {
        const bool is_used = k < w->t.rank;
        if ((w->t.file_dims[k] != 0) != is_used) {
            return p64_refuse(r, P64_R_DIMENSIONS, place(w, P64_ENT_DIMS_AT + 4 * k, 0, w->t.file_dims[k]),
                              "Tensor %u (%s) has rank %u, but its dimension %u is %u", w->index, w->name, w->t.rank, k,
                              w->t.file_dims[k]);
        }
    }
    return p64_require_zero(r, P64_R_ENTRY_RESERVED, w->at + P64_ENT_RESERVED_AT, w->at + P64_RECORD_BYTES,
                            "Reserved bytes of a tensor entry");
}

static fmt_status check_role_and_type(const p64_reader *r, const walk *w) {
    const uint32_t n_layer = r->file->hparams.n_layer;
    const bool is_global = p64_global_role_rank(w->t.role) != UINT32_MAX;
    const bool is_known = is_global || p64_layer_role_rank(w->t.role) != UINT32_MAX;
    if (is_known && (w->t.manifold_index == n_layer) != is_global) {
        return p64_refuse(r, P64_R_ROLE_LAYER, place(w, P64_ENT_MANIFOLD_AT, n_layer, w->t.manifold_index),
                          "Tensor %u (%s) is the %s and has manifold_idx %u of a model of %u layers", w->index, w->name,
                          p64_role_name(w->t.role), w->t.manifold_index, n_layer);
    }
    const uint16_t flags = r->file->header.flags;
    const uint32_t type = p64_base_type(w->t.dtype);
    const bool lacks_soa = type == BLK_Q4_K_SOA && (flags & P64_FLAG_SOA) == 0;
    const bool lacks_ternary = type == BLK_TERNARY && (flags & P64_FLAG_TERNARY) == 0;
    if (lacks_soa || lacks_ternary) {
        return p64_refuse(r, P64_R_DTYPE_FLAG, place(w, P64_ENT_DTYPE_AT, flags, w->t.dtype),
                          "Tensor %u (%s) has dtype %u, but flag bit %u of 0x%04x is clear", w->index, w->name,
                          w->t.dtype, lacks_soa ? 3u : 2u, flags);
    }
    return FMT_OK;
}

static fmt_status check_blob_begin(const p64_reader *r, const walk *w) {
    const bool is_packed = (r->file->header.flags & P64_FLAG_LAYER_PACK) != 0 && w->index > 0 &&
                           w->t.manifold_index == w->previous_manifold;
    const uint32_t step = is_packed ? P64_PACK_ALIGNMENT : r->file->header.page_size;
    const uint64_t begin = w->t.blob_offset;
    if (begin % step != 0) {
        return p64_refuse(r, P64_R_BLOB_ALIGNMENT, place(w, P64_ENT_BLOB_OFFSET_AT, step, begin),
                          "The blob of tensor %u (%s) begins at byte %llu, no multiple of %u", w->index, w->name,
                          (ull)begin, step);
    }
    if (begin < r->file->blob_floor) {
        return p64_refuse(r, P64_R_BLOB_FLOOR, place(w, P64_ENT_BLOB_OFFSET_AT, r->file->blob_floor, begin),
                          "The blob of tensor %u (%s) begins at byte %llu; blobs begin at %llu", w->index, w->name,
                          (ull)begin, (ull)r->file->blob_floor);
    }
    if (begin < w->previous_end) {
        return p64_refuse(r, P64_R_BLOB_ORDER, place(w, P64_ENT_BLOB_OFFSET_AT, w->previous_end, begin),
                          "The blob of tensor %u (%s) begins at byte %llu; the one before it ends at %llu", w->index,
                          w->name, (ull)begin, (ull)w->previous_end);
    }
    return FMT_OK;
}

static fmt_status check_blob_size(const p64_reader *r, const walk *w) {
    const uint64_t end = w->t.blob_offset + w->t.blob.size;
    if (end > r->span.size) {
        return p64_refuse(r, P64_R_BLOB_BOUNDS, place(w, P64_ENT_BLOB_SIZE_AT, r->span.size, end),
                          "The blob of tensor %u (%s) ends at byte %llu; the file ends at %llu", w->index, w->name,
                          (ull)end, (ull)r->span.size);
    }
    if (w->t.blob.size == 0) {
        return p64_refuse(r, P64_R_BLOB_EMPTY, place(w, P64_ENT_BLOB_SIZE_AT, 0, 0),
                          "The blob of tensor %u (%s) has no bytes", w->index, w->name);
    }
    uint64_t wanted = 0;
    const fmt_status sized = p64_tensor_bytes(w->t.dtype, w->t.rank, w->t.dims, &wanted);
    if (sized == FMT_NOT_FOUND || (sized == FMT_OK && wanted == w->t.blob.size)) {
        return FMT_OK;
    }
    if (sized == FMT_BAD_ARG) {
        return p64_refuse(r, P64_R_PANEL_SHAPE, place(w, P64_ENT_DIMS_AT, 0, w->t.dims[0]),
                          "Tensor %u (%s) [%u, %u, %u, %u] cannot be %s", w->index, w->name, w->t.dims[0], w->t.dims[1],
                          w->t.dims[2], w->t.dims[3], p64_dtype_name(w->t.dtype));
    }
    char needs[40];
    snprintf(needs, sizeof needs, sized == FMT_OK ? "%llu bytes" : "more than 2^64 bytes", (ull)wanted);
    return p64_refuse(r, P64_R_BLOB_SIZE, place(w, P64_ENT_BLOB_SIZE_AT, wanted, w->t.blob.size),
                      "The blob of tensor %u (%s) has %llu bytes; %s [%u, %u, %u, %u] needs %s", w->index, w->name,
                      (ull)w->t.blob.size, p64_dtype_name(w->t.dtype), w->t.dims[0], w->t.dims[1], w->t.dims[2],
                      w->t.dims[3], needs);
}

static fmt_status check_hash(const p64_reader *r, const walk *w) {
    if (!p64_name_matches_hash(r->file->header.flags, w->t.role, w->t.name, w->t.source_name_hash)) {
        return p64_refuse(
            r, P64_R_NAME_HASH,
            place(w, P64_ENT_SOURCE_HASH_AT, fnv1a64(w->t.name.data, w->t.name.size), w->t.source_name_hash),
            "Tensor %u is named %s, but its source_name_hash %016llx is that of another name", w->index, w->name,
            (ull)w->t.source_name_hash);
    }
    return FMT_OK;
}

static fmt_status check_entry(p64_reader *r, walk *w) {
    fmt_status status = check_rank_and_layer(r, w);
    if (status == FMT_OK) {
        status = check_name(r, w);
    }
    if (status == FMT_OK) {
        status = check_shape_fields(r, w);
    }
    if (status == FMT_OK) {
        set_dims(&w->t, (r->file->header.flags & P64_FLAG_RAW) != 0);
        status = check_role_and_type(r, w);
    }
    if (status == FMT_OK) {
        status = check_blob_begin(r, w);
    }
    if (status == FMT_OK) {
        status = check_blob_size(r, w);
    }
    return status == FMT_OK ? check_hash(r, w) : status;
}

/* Place in the layer-major order; compared field by field. */
static void make_key(const p64_tensor *t, uint64_t key[3]) {
    const uint32_t in_layer = p64_layer_role_rank(t->role);
    const uint32_t in_globals = p64_global_role_rank(t->role);
    key[0] = in_layer != UINT32_MAX ? 0 : in_globals != UINT32_MAX ? 1 : 2;
    key[1] = key[0] == 0 ? t->manifold_index : 0;
    key[2] = key[0] == 0 ? in_layer : key[0] == 1 ? in_globals : t->source_offset;
}

static bool key_is_less(const uint64_t a[3], const uint64_t b[3]) {
    for (int i = 0; i < 3; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i];
        }
    }
    return false;
}

static fmt_status check_table_order(const p64_reader *r) {
    uint64_t previous[3] = {0}, key[3];
    for (uint32_t i = 0; i < r->file->header.tensor_count; i++) {
        const p64_tensor t = load_entry(r->file, i);
        make_key(&t, key);
        if (i > 0 && key_is_less(key, previous)) {
            char name[DIAG_QUOTE_SIZE];
            diag_quote(name, load_name(r->file, i));
            return p64_refuse(r, P64_R_TABLE_ORDER, (p64_at){p64_entry_at(r->file, i) + P64_ENT_ROLE_AT, i, 0, t.role},
                              "Tensor %u (%s, %s) belongs before the entry in front of it", i, name,
                              p64_role_name(t.role));
        }
        memcpy(previous, key, sizeof previous);
    }
    return FMT_OK;
}

/* Without looking for a NUL again: the items know how long the names are. */
static int compare_names(const void *ctx, const p64_index_item *a, const p64_index_item *b) {
    const p64_file *file = ctx;
    const uint8_t *strings = file->span.data + file->header.string_table_at;
    const uint8_t *x = strings + load_u32(file->span.data + p64_entry_at(file, a->index));
    const uint8_t *y = strings + load_u32(file->span.data + p64_entry_at(file, b->index));
    const int order = memcmp(x, y, a->size < b->size ? a->size : b->size);
    return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* The lowest entry that repeats an earlier one's name. */
static fmt_status check_duplicates(p64_reader *r) {
    const uint32_t count = r->file->header.tensor_count;
    uint32_t first = 0, second = UINT32_MAX;
    p64_index_sort(r->by_name, r->work_a, count, compare_names, r->file);
    for (uint32_t i = 1; i < count; i++) {
        const p64_index_item *a = &r->by_name[i - 1], *b = &r->by_name[i];
        if (a->hash == b->hash && b->index < second && compare_names(r->file, a, b) == 0) {
            first = a->index;
            second = b->index;
        }
    }
    if (second == UINT32_MAX) {
        return FMT_OK;
    }
    char name[DIAG_QUOTE_SIZE];
    diag_quote(name, load_name(r->file, second));
    return p64_refuse(r, P64_R_NAME_DUPLICATE, (p64_at){p64_entry_at(r->file, second), second, first, second},
                      "Tensors %u and %u are both named %s", first, second, name);
}

fmt_status p64_check_tensors(p64_reader *r) {
    const p64_header *h = &r->file->header;
    walk w = {.previous_end = r->file->blob_floor};
    r->strings_end = h->string_table_at;
    r->names_left = h->manifold_at - h->string_table_at;
    for (uint32_t i = 0; i < h->tensor_count; i++) {
        w.index = i;
        w.at = p64_entry_at(r->file, i);
        w.t = load_entry(r->file, i);
        const fmt_status status = check_entry(r, &w);
        if (status != FMT_OK) {
            return status;
        }
        r->by_name[i] = (p64_index_item){fnv1a64(w.t.name.data, w.t.name.size), i, (uint32_t)w.t.name.size};
        r->by_source[i] = (p64_index_item){w.t.source_name_hash & FNV_Q_MASK, i, 0};
        if (w.t.manifold_index < r->file->hparams.n_layer) {
            p64_schedule_add(&r->layers[w.t.manifold_index], w.t.role, w.t.blob_offset, w.t.blob.size);
        }
        r->file->tensor_bytes += w.t.blob.size;
        w.previous_end = w.t.blob_offset + w.t.blob.size;
        w.previous_manifold = w.t.manifold_index;
    }
    r->blobs_end = w.previous_end;
    p64_index_sort(r->by_source, r->work_a, h->tensor_count, NULL, NULL);
    const fmt_status status = check_duplicates(r);
    return status == FMT_OK && (h->flags & P64_FLAG_LAYER_MAJOR) != 0 ? check_table_order(r) : status;
}

const char *p64_dtype_name(uint32_t dtype) {
    const uint32_t kind = blk_panel_of_dtype(dtype);
    const blk_info *info = blk_get_info(dtype);
    return kind != BLK_NO_PANELS ? blk_panel_kinds[kind].name : info != NULL ? info->name : "unknown";
}

bool p64_lay_out_panels(uint32_t dtype, uint32_t rank, const uint64_t *dims, blk_panels *out) {
    const uint32_t kind = blk_panel_of_dtype(dtype);
    uint64_t n_rows = 1;
    for (uint32_t k = 1; k < rank; k++) {
        if (!checked_mul(n_rows, dims[k], &n_rows)) {
            return false;
        }
    }
    return kind != BLK_NO_PANELS && blk_panels_init(out, kind, n_rows, dims[0]);
}

bool p64_tensor_panels(const p64_tensor *t, blk_panels *out) {
    const uint64_t dims[4] = {t->dims[0], t->dims[1], t->dims[2], t->dims[3]};
    if (!p64_lay_out_panels(t->dtype, t->rank, dims, out)) {
        return false;
    }
    blk_panels_attach(out, t->blob.data);
    return true;
}

fmt_status p64_tensor_bytes(uint32_t dtype, uint32_t rank, const uint32_t dims[4], uint64_t *out_bytes) {
    const uint64_t wide[4] = {dims[0], dims[1], dims[2], dims[3]};
    blk_panels panels;
    if (blk_panel_of_dtype(dtype) != BLK_NO_PANELS) {
        if (!p64_lay_out_panels(dtype, rank, wide, &panels)) {
            return FMT_BAD_ARG;
        }
        *out_bytes = blk_panels_bytes(&panels);
        return FMT_OK;
    }
    return blk_tensor_bytes_padded(dtype, rank, wide, out_bytes);
}

static bool ends_in_weight(fmt_str name) {
    return name.size >= 7 && memcmp(name.data + name.size - 7, ".weight", 7) == 0;
}

bool p64_find_role(const p64_file *file, p64_role role, uint32_t layer, p64_tensor *out_tensor) {
    const uint32_t wanted = layer == P64_NO_LAYER ? file->hparams.n_layer : layer;
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < file->header.tensor_count; i++) {
        const uint8_t *e = file->span.data + p64_entry_at(file, i);
        if (load_u16(e + P64_ENT_ROLE_AT) != role || load_u32(e + P64_ENT_MANIFOLD_AT) != wanted) {
            continue;
        }
        if (ends_in_weight(load_name(file, i))) {
            found = i;
            break;
        }
        found = found == UINT32_MAX ? i : found;
    }
    if (found == UINT32_MAX) {
        return false;
    }
    *out_tensor = p64_get_tensor(file, found);
    return true;
}

bool p64_find_name(const p64_file *file, const char *name, uint64_t name_size, p64_tensor *out_tensor) {
    const uint32_t count = file->header.tensor_count;
    const uint64_t hash = fnv1a64(name, name_size);
    const p64_index_item *item = p64_index_find(file->by_name, count, hash);
    for (; item != NULL && item < file->by_name + count && item->hash == hash; item++) {
        const fmt_str stored = load_name(file, item->index);
        if (stored.size == name_size && memcmp(stored.data, name, name_size) == 0) {
            *out_tensor = p64_get_tensor(file, item->index);
            return true;
        }
    }
    return false;
}

bool p64_find_source_hash(const p64_file *file, uint64_t hash, p64_tensor *out_tensor) {
    const p64_index_item *item = p64_index_find(file->by_source, file->header.tensor_count, hash & FNV_Q_MASK);
    if (item == NULL) {
        return false;
    }
    *out_tensor = p64_get_tensor(file, item->index);
    return true;
}

bool p64_find_source_name(const p64_file *file, const char *name, uint64_t name_size, p64_tensor *out_tensor) {
    return p64_find_source_hash(file, fnv1a64(name, name_size), out_tensor);
}
