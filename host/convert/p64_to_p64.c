/* p64_to_p64.c — an opened container as a source for the container's writer. */
#include "convert/p64_to_p64.h"

#include "common/diag.h"
#include "common/fnv.h"
#include "convert/standard_bytes.h"

static const fmt_rule rule_name = {"convert-name", "8", "convert the source that the container was made of"};

typedef struct p64_as_source {
    const p64_file *file;
    const mapped_file *mapping;
    p64_source source;
    standard_bytes standard;
    uint32_t n_merges_read;
    uint64_t merge_at;
} p64_as_source;

static void get_tensor(void *ctx, uint32_t index, p64_source_tensor *out) {
    const p64_as_source *s = ctx;
    const p64_tensor t = p64_get_tensor(s->file, index);
    const uint32_t kind = blk_panel_of_dtype(t.dtype);
    *out = (p64_source_tensor){.name = t.name,
                               .role = t.role,
                               .layer = t.layer,
                               .dtype = kind != BLK_NO_PANELS ? blk_panel_kinds[kind].type : t.dtype,
                               .rank = t.rank,
                               .dims = {t.file_dims[0], t.file_dims[1], t.file_dims[2], t.file_dims[3]},
                               .source_offset = t.source_offset,
                               .bytes = standard_bytes_size(&t)};
}

static const uint8_t *get_bytes(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room) {
    p64_as_source *s = ctx;
    const p64_tensor t = p64_get_tensor(s->file, index);
    const uint8_t *bytes = standard_bytes_of(&s->standard, &t);
    (void)room;
    (void)size;
    return bytes != NULL ? bytes + offset : NULL;
}

static fmt_str get_token(void *ctx, uint32_t id) {
    return p64_get_token(((const p64_as_source *)ctx)->file, id);
}

static void get_merge(void *ctx, uint32_t index, fmt_str *out_left, fmt_str *out_right) {
    p64_as_source *s = ctx;
    if (index < s->n_merges_read || index == 0) {
        s->n_merges_read = 0;
        s->merge_at = s->file->tokenizer.merges_at;
    }
    while (s->n_merges_read <= index) {
        p64_next_merge(s->file, &s->merge_at, out_left, out_right);
        s->n_merges_read++;
    }
}

/* The writer makes hashes of names, so names must be there. */
static fmt_status check_names(const p64_file *file, fmt_diag *diag) {
    const bool is_raw = (file->header.flags & P64_FLAG_RAW) != 0;
    for (uint32_t i = 0; i < file->header.tensor_count; i++) {
        const p64_tensor t = p64_get_tensor(file, i);
        const uint64_t hash = fnv1a64(t.name.data, t.name.size);
        if ((is_raw ? hash & FNV_Q_MASK : hash) != t.source_name_hash) {
            char name[DIAG_QUOTE_SIZE];
            return diag_refuse(diag, FMT_UNSUPPORTED, &rule_name, (diag_place){0, i, 0, 0},
                               "tensor %u (%s) has no name of its own, as in the extended profile", i, diag_quote(name, t.name));
        }
    }
    return FMT_OK;
}

static void init_source(p64_as_source *out, const p64_file *file, const mapped_file *mapping) {
    const p64_tokenizer *t = &file->tokenizer;
    *out = (p64_as_source){.file = file, .mapping = mapping, .merge_at = t->merges_at};
    standard_bytes_init(&out->standard);
    out->source = (p64_source){.ctx = out,
                               .hparams = file->hparams,
                               .n_tensors = file->header.tensor_count,
                               .tokenizer = {.is_present = t->is_present,
                                             .bos = t->bos,
                                             .eos = t->eos,
                                             .add_bos = t->add_bos,
                                             .pre = t->pre,
                                             .n_tokens = t->n_tokens,
                                             .n_merges = t->n_merges},
                               .get_tensor = get_tensor,
                               .get_bytes = get_bytes,
                               .get_token = get_token,
                               .get_merge = get_merge};
}

static const char *find_difference(const p64_tensor *t, const p64_tensor *from) {
    if (t->rank != from->rank || t->role != from->role || t->manifold_index != from->manifold_index) {
        return "it has another rank, role or layer";
    }
    for (uint32_t k = 0; k < 4; k++) {
        if (t->file_dims[k] != from->file_dims[k]) {
            return "it has other dimensions";
        }
    }
    return t->source_offset != from->source_offset ? "it has another source_offset" : NULL;
}

static fmt_status compare(void *ctx, const p64_file *p64, uint32_t index, convert_parity_report *report, fmt_diag *diag) {
    p64_as_source *s = ctx;
    const p64_tensor t = p64_get_tensor(p64, index);
    p64_tensor from;
    p64_source_tensor wanted;
    if (!p64_find_name(s->file, t.name.data, t.name.size, &from)) {
        return convert_refuse_tensor(p64, index, "no tensor of the source has its name", diag);
    }
    const char *difference = find_difference(&t, &from);
    if (difference != NULL) {
        return convert_refuse_tensor(p64, index, difference, diag);
    }
    const uint8_t *bytes = standard_bytes_of(&s->standard, &from);
    if (bytes == NULL) {
        return convert_refuse_tensor(p64, index, "out of memory for its standard blocks", diag);
    }
    get_tensor(s, from.index, &wanted);
    return convert_parity_bytes(p64, index, wanted.dtype, bytes, report, diag);
}

static bool is_intact(void *ctx) {
    return mapped_file_check(((const p64_as_source *)ctx)->mapping, NULL) >= 0;
}

static bool is_own_file(void *ctx, uint64_t device, uint64_t inode) {
    const mapped_file *mapping = ((const p64_as_source *)ctx)->mapping;
    return mapping->device == device && mapping->inode == inode;
}

fmt_status convert_p64(const convert_request *request, const p64_file *from, const mapped_file *mapping,
                       convert_report *out_report, fmt_diag *diag) {
    p64_as_source source;
    convert_request own = *request;
    own.options.is_raw = (from->header.flags & P64_FLAG_RAW) != 0;
    own.options.is_extended = own.options.is_extended || (from->has_extension && !own.options.is_raw);
    fmt_status status = check_names(from, diag);
    if (status == FMT_OK) {
        status = p64_check_blobs(from, P64_CHECK_CRC, diag);
    }
    if (status != FMT_OK) {
        return status;
    }
    init_source(&source, from, mapping);
    const convert_weights weights = {source.source, compare, is_intact, is_own_file, NULL};
    status = convert_weights_to_p64(&own, &weights, out_report, diag);
    standard_bytes_free(&source.standard);
    return status;
}
