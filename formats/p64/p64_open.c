/* p64_open.c — section 17: the order of the rules, the scratch, and the rules about the end of the file. */
#include <string.h>

#include "common/checked.h"
#include "p64_layout.h"

typedef unsigned long long ull;

/* Scratch, in this order; every part is a multiple of 8 bytes:
 *     by_name   [tensor_count]                      index items, kept
 *     by_source [tensor_count]                      index items, kept
 *     work_a    [max(tensor_count, n_tokens)]       index items
 *     work_b    [the same]                          index items
 *     layers    [n_layer]                           schedule records
 *     token_at  [n_tokens]                          u32, kept */
typedef struct scratch_sizes {
    uint64_t n_tensors, n_work, n_layer, n_tokens, bytes;
} scratch_sizes;

/* The counts were proved to fit into the file, so none of these sums can wrap. */
static scratch_sizes size_scratch(const p64_reader *r) {
    scratch_sizes s = {r->file->header.tensor_count, 0, r->file->hparams.n_layer, p64_count_tokens(r), 0};
    s.n_work = s.n_tensors > s.n_tokens ? s.n_tensors : s.n_tokens;
    s.bytes = (2 * s.n_tensors + 2 * s.n_work) * sizeof(p64_index_item) + s.n_layer * sizeof(p64_schedule_record) +
              s.n_tokens * sizeof(uint32_t);
    s.bytes = (s.bytes + 7) / 8 * 8 + 8;
    return s;
}

static void place_scratch(p64_reader *r, const scratch_sizes *s, void *scratch) {
    r->by_name = scratch;
    r->by_source = r->by_name + s->n_tensors;
    r->work_a = r->by_source + s->n_tensors;
    r->work_b = r->work_a + s->n_work;
    r->layers = (p64_schedule_record *)(r->work_b + s->n_work);
    r->token_at = (uint32_t *)(r->layers + s->n_layer);
    memset(r->layers, 0, s->n_layer * sizeof r->layers[0]);
    r->file->by_name = r->by_name;
    r->file->by_source = r->by_source;
}

static fmt_status check_bounds(p64_reader *r) {
    const fmt_status status = p64_check_header(r);
    return status == FMT_OK ? p64_check_section_bounds(r) : status;
}

fmt_status p64_scratch_size(fmt_span span, fmt_mode mode, uint64_t *out_bytes, fmt_diag *diag) {
    p64_file file = {0};
    p64_reader r = {.span = span, .mode = mode, .diag = diag, .file = &file};
    const fmt_status status = check_bounds(&r);
    if (status == FMT_OK) {
        *out_bytes = size_scratch(&r).bytes;
    }
    return status;
}

fmt_status p64_open(fmt_span span, fmt_mode mode, void *scratch, uint64_t scratch_bytes, p64_file *out_file,
                    fmt_note_fn *note, void *note_ctx, fmt_diag *diag) {
    static fmt_status (*const groups[])(p64_reader *) = {p64_check_metadata, p64_check_tensors,  p64_check_schedule,
                                                         p64_check_strings,  p64_check_manifold, p64_check_tokenizer,
                                                         p64_check_file_end};
    p64_file file = {0};
    p64_reader r = {.span = span, .mode = mode, .note = note, .note_ctx = note_ctx, .diag = diag, .file = &file};
    fmt_status status = check_bounds(&r);
    if (status != FMT_OK) {
        return status;
    }
    const scratch_sizes sizes = size_scratch(&r);
    if (scratch == NULL || scratch_bytes < sizes.bytes) {
        return FMT_NO_SPACE;
    }
    place_scratch(&r, &sizes, scratch);
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        status = groups[i](&r);
        if (status != FMT_OK) {
            return status;
        }
    }
    *out_file = file;
    return FMT_OK;
}

/* A run of bytes that something owns; what lies between two of them is padding. */
static fmt_status check_gap(const p64_reader *r, uint64_t *last, uint64_t begin, uint64_t end, bool *is_found) {
    if (!*is_found && begin > *last && p64_first_nonzero(r->span, *last, begin) != UINT64_MAX) {
        *is_found = true;
        return p64_strictly_zero(r, P64_R_PADDING, *last, begin, "Padding");
    }
    *last = end > *last ? end : *last;
    return FMT_OK;
}

/* The sections follow each other (section-order) and so do the blobs (blob-order): no sorting is needed. */
static fmt_status check_padding(const p64_reader *r) {
    const p64_header *h = &r->file->header;
    const uint64_t n_layer = r->file->hparams.n_layer;
    const bool has_schedule = (h->flags & P64_FLAG_SCHEDULE) != 0;
    const uint64_t spans[][2] = {
        {h->hparams_at, P64_RECORD_BYTES},
        {has_schedule ? h->role_table_at : h->tensor_table_at, has_schedule ? P64_RECORD_BYTES * n_layer : 0},
        {h->tensor_table_at, (uint64_t)P64_RECORD_BYTES * h->tensor_count},
        {h->string_table_at, r->strings_end - h->string_table_at},
        {h->manifold_at, P64_RECORD_BYTES * (n_layer + 1)},
        {h->tokenizer_at, h->checksum_at - h->tokenizer_at},
        {h->checksum_at, 4 * ((uint64_t)h->tensor_count + 1)},
    };
    uint64_t last = P64_RECORD_BYTES;
    bool is_found = false;
    fmt_status status = FMT_OK;
    for (size_t i = 0; status == FMT_OK && i < sizeof spans / sizeof spans[0]; i++) {
        status = check_gap(r, &last, spans[i][0], spans[i][0] + spans[i][1], &is_found);
    }
    for (uint32_t i = 0; status == FMT_OK && i < h->tensor_count; i++) {
        const p64_tensor t = p64_get_tensor(r->file, i);
        status = check_gap(r, &last, t.blob_offset, t.blob_offset + t.blob.size, &is_found);
    }
    return status == FMT_OK ? check_gap(r, &last, r->span.size, r->span.size, &is_found) : status;
}

fmt_status p64_check_file_end(p64_reader *r) {
    const uint64_t page = r->file->header.page_size;
    const uint64_t limit = (r->blobs_end + page - 1) & ~(page - 1);
    const uint64_t size = r->span.size;
    if (size > limit) {
        return p64_refuse(r, P64_R_FILE_TAIL, (p64_at){limit, FMT_NO_INDEX, limit, size},
                          "The file goes on for %llu bytes behind the page of its last blob, which ends at byte %llu",
                          (ull)(size - limit), (ull)limit);
    }
    if (size % 64 != 0) {
        const fmt_status status = p64_strictly(r, P64_R_FILE_PADDING, (p64_at){size, FMT_NO_INDEX, 64, size},
                                               "The file has %llu bytes, no multiple of 64", (ull)size);
        if (status != FMT_OK) {
            return status;
        }
    }
    return check_padding(r);
}
