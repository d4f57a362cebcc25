/* p64_plan.c — sections 6, 7 and 12 for a writer: the order of the tensors, their types, and every offset. */
#include <string.h>

#include <quoin/blocks.h>

#include "common/checked.h"
#include "common/diag.h"
#include "common/fnv.h"
#include "common/utf8.h"
#include "p64_write.h"

typedef unsigned long long ull;

enum { DEFAULT_PAGE_LOG2 = 14, MIN_PAGE_LOG2 = 8, MAX_PAGE_LOG2 = 30 };

/* Diagnoses of a writer have a rule of their own: they speak of the source or of what was asked for. */
#define PLAN_RULE(name, id, section, sentence) static const fmt_rule rule_##name = {id, section, sentence}
PLAN_RULE(option, "write-option", "12", "page_log2 is 8 to 30, layout and form are among those named");
PLAN_RULE(empty, "write-empty", "12", "a container holds at least one tensor");
PLAN_RULE(name, "write-name", "8", "a tensor name has bytes, is UTF-8 and holds no NUL");
PLAN_RULE(shape, "write-shape", "6", "a tensor has 1 to 4 dimensions of 1 to 2^32 - 1, and the bytes that they need");
PLAN_RULE(type, "write-type", "13", "only element types of known size can be stored");
PLAN_RULE(layers, "write-layers", "6.2", "a tensor's layer is below n_layer and below 65536");
PLAN_RULE(tokenizer, "write-tokenizer", "10",
          "at most 1000000 tokens and 5000000 merges of two sides that have bytes and no NUL");
PLAN_RULE(size, "write-size", "2",
          "a P64 container holds at most 4 GiB: quantise the model further, or run the source file directly");

static fmt_status refuse(fmt_diag *diag, fmt_status status, const fmt_rule *rule, uint64_t index, uint64_t got,
                         const char *what, fmt_str name) {
    char quoted[DIAG_QUOTE_SIZE];
    return diag_refuse(diag, status, rule, (diag_place){0, index, 0, got}, "tensor %s %s (%llu)",
                       diag_quote(quoted, name), what, (ull)got);
}

static fmt_status check_options(const p64_write_options *o, fmt_diag *diag) {
    const uint32_t log2 = o->page_log2 == 0 ? DEFAULT_PAGE_LOG2 : o->page_log2;
    if (log2 < MIN_PAGE_LOG2 || log2 > MAX_PAGE_LOG2 || o->layout > P64_LAYOUT_PANEL ||
        o->form > P64_FORM_FFN_TERNARY) {
        return diag_refuse(diag, FMT_BAD_ARG, &rule_option, (diag_place){0, FMT_NO_INDEX, 0, log2},
                           "page_log2 %u, layout %u, form %u", log2, o->layout, o->form);
    }
    return FMT_OK;
}

/* Section 6: what an entry can hold. */
static fmt_status check_tensor(const p64_source *source, uint32_t index, const p64_source_tensor *t, fmt_diag *diag) {
    const bool has_nul = t->name.size > 0 && memchr(t->name.data, 0, t->name.size) != NULL;
    if (t->name.size == 0 || has_nul || utf8_first_invalid(t->name.data, t->name.size) != UTF8_ALL_VALID) {
        return refuse(diag, FMT_BAD_FILE, &rule_name, index, t->name.size, "has a name that cannot be stored", t->name);
    }
    if (t->rank < 1 || t->rank > 4) {
        return refuse(diag, FMT_BAD_FILE, &rule_shape, index, t->rank, "has a rank that cannot be stored", t->name);
    }
    for (uint32_t k = 0; k < t->rank; k++) {
        if (t->dims[k] == 0 || t->dims[k] > UINT32_MAX) {
            return refuse(diag, FMT_LIMIT, &rule_shape, index, t->dims[k], "has a dimension that cannot be stored",
                          t->name);
        }
    }
    uint64_t bytes = 0;
    const fmt_status sized = t->dtype > UINT16_MAX
                                 ? FMT_NOT_FOUND
                                 : blk_tensor_bytes_padded(t->dtype, t->rank, t->dims, &bytes);
    if (sized == FMT_NOT_FOUND) {
        return refuse(diag, FMT_UNSUPPORTED, &rule_type, index, t->dtype, "has an element type of unknown size",
                      t->name);
    }
    if (sized != FMT_OK || bytes != t->bytes) {
        return refuse(diag, FMT_BAD_FILE, &rule_shape, index, t->bytes, "has not the bytes that its shape needs",
                      t->name);
    }
    const bool has_layer_role = p64_layer_role_rank(t->role) != UINT32_MAX;
    if (has_layer_role && (t->layer >= source->hparams.n_layer || t->layer > UINT16_MAX)) {
        return refuse(diag, FMT_LIMIT, &rule_layers, index, t->layer, "belongs to a layer that cannot be stored",
                      t->name);
    }
    return FMT_OK;
}

static uint64_t entry_bytes(uint32_t n_tensors) {
    return ((uint64_t)n_tensors * sizeof(p64_plan_entry) + 7) / 8 * 8;
}

static uint64_t sort_bytes(uint32_t n_tensors) {
    return (uint64_t)n_tensors * sizeof(p64_plan_entry);
}

/* Room for the panels of any tensor, once all of them are known to be sound. */
static uint64_t panel_bytes(const p64_source *source, const p64_write_options *options) {
    uint64_t most = 0;
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        p64_source_tensor t;
        source->get_tensor(source->ctx, i, &t);
        const uint64_t need = p64_panels_work_bytes(options, &t);
        most = need > most ? need : most;
    }
    return most;
}

fmt_status p64_plan_memory(const p64_source *source, const p64_write_options *options, uint64_t *out_bytes,
                           fmt_diag *diag) {
    fmt_status status = check_options(options, diag);
    uint64_t work = P64_WORK_MIN_BYTES;
    if (status == FMT_OK && source->n_tensors == 0) {
        status = diag_refuse(diag, FMT_BAD_FILE, &rule_empty, (diag_place){0, FMT_NO_INDEX, 1, 0},
                             "the source has no tensors");
    }
    for (uint32_t i = 0; status == FMT_OK && i < source->n_tensors; i++) {
        p64_source_tensor t;
        source->get_tensor(source->ctx, i, &t);
        status = check_tensor(source, i, &t, diag);
        const uint64_t need = status == FMT_OK ? p64_form_work_bytes(options->form, &t) : 0;
        work = need > work ? need : work;
    }
    if (status == FMT_OK) {
        const uint64_t sorting = sort_bytes(source->n_tensors);
        *out_bytes = entry_bytes(source->n_tensors) + panel_bytes(source, options) + (work > sorting ? work : sorting);
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- order and names */

static bool goes_first(const p64_plan *plan, const p64_plan_entry *a, const p64_plan_entry *b) {
    if (plan->options.layout == P64_LAYOUT_PLAIN || plan->options.is_raw) {
        return a->source_offset <= b->source_offset;
    }
    const uint32_t in_layer_a = p64_layer_role_rank(a->role), in_layer_b = p64_layer_role_rank(b->role);
    const uint32_t global_a = p64_global_role_rank(a->role), global_b = p64_global_role_rank(b->role);
    const int class_a = in_layer_a != UINT32_MAX ? 0 : global_a != UINT32_MAX ? 1 : 2;
    const int class_b = in_layer_b != UINT32_MAX ? 0 : global_b != UINT32_MAX ? 1 : 2;
    if (class_a != class_b) {
        return class_a < class_b;
    }
    if (class_a == 0) {
        return a->layer_index != b->layer_index ? a->layer_index < b->layer_index : in_layer_a <= in_layer_b;
    }
    return class_a == 1 ? global_a <= global_b : a->source_offset <= b->source_offset;
}

/* Stable merge sort; `room` has as many entries. */
static void sort_entries(const p64_plan *plan, p64_plan_entry *entries, p64_plan_entry *room, uint32_t count) {
    if (count < 2) {
        return;
    }
    const uint32_t half = count / 2;
    sort_entries(plan, entries, room, half);
    sort_entries(plan, entries + half, room, count - half);
    uint32_t left = 0, right = half;
    for (uint32_t at = 0; at < count; at++) {
        const bool is_left =
            right >= count || (left < half && goes_first(plan, &entries[left], &entries[right]));
        room[at] = is_left ? entries[left++] : entries[right++];
    }
    memcpy(entries, room, count * sizeof entries[0]);
}

static void list_entries(p64_plan *plan) {
    const p64_source *source = plan->source;
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        p64_source_tensor t;
        source->get_tensor(source->ctx, i, &t);
        const uint64_t hash = fnv1a64(t.name.data, t.name.size);
        plan->entries[i] = (p64_plan_entry){
            .source = i,
            .role = t.role,
            .dtype = t.dtype,
            .layer_index = p64_layer_role_rank(t.role) != UINT32_MAX ? t.layer : source->hparams.n_layer,
            .blob_size = t.bytes,
            .source_offset = t.source_offset,
            .name_hash = plan->options.is_raw ? hash & FNV_Q_MASK : hash,
        };
    }
    sort_entries(plan, plan->entries, (p64_plan_entry *)plan->work, source->n_tensors);
}

/* ------------------------------------------------------------------------------------------------------------ sizes */

static fmt_status size_tokenizer(p64_plan *plan, fmt_diag *diag) {
    const p64_source *source = plan->source;
    const p64_source_tokenizer *t = &source->tokenizer;
    uint64_t bytes = P64_TOK_HEAD_BYTES + 4 + t->pre.size + 4 + 4;
    if (!t->is_present) {
        plan->tokenizer_bytes = 0;
        return FMT_OK;
    }
    if (t->n_tokens > P64_TOK_MAX_TOKENS || t->n_merges > P64_TOK_MAX_MERGES) {
        return diag_refuse(diag, FMT_LIMIT, &rule_tokenizer, (diag_place){0, FMT_NO_INDEX, 0, t->n_tokens},
                           "the tokenizer has %u tokens and %u merges", t->n_tokens, t->n_merges);
    }
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        bytes += 4 + source->get_token(source->ctx, id).size;
    }
    for (uint32_t i = 0; i < t->n_merges; i++) {
        fmt_str left, right;
        source->get_merge(source->ctx, i, &left, &right);
        if (!p64_is_merge_side(left) || !p64_is_merge_side(right)) {
            return diag_refuse(diag, FMT_BAD_FILE, &rule_tokenizer, (diag_place){0, i, 0, 0},
                               "merge %u has a side without bytes or with a NUL", i);
        }
        bytes += 8 + left.size + right.size;
    }
    plan->tokenizer_bytes = bytes + (plan->options.is_extended ? P64_TOK_TRAILER_BYTES : 0);
    return FMT_OK;
}

static uint64_t size_strings(p64_plan *plan) {
    uint64_t bytes = 1; /* the table begins with a zero byte */
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        p64_plan_entry *e = &plan->entries[i];
        p64_source_tensor t;
        plan->source->get_tensor(plan->source->ctx, e->source, &t);
        e->name_offset = (uint32_t)bytes;
        bytes += (p64_writes_hex_name(plan, e) ? P64_HEX_NAME_BYTES : t.name.size) + 1;
    }
    return bytes;
}

/* 64-bit offsets of everything; judged at the end, so that the message can say how large the file would be. */
typedef struct extents {
    uint64_t tensors, strings, manifold, tokenizer, checksum, floor, size;
} extents;

static uint64_t align_up(uint64_t value, uint64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

static extents lay_out_sections(p64_plan *plan) {
    const uint64_t n_layer = plan->hparams.n_layer, count = plan->header.tensor_count;
    extents x = {.tensors = 2 * P64_RECORD_BYTES};
    if (plan->header.role_table_at != 0) {
        x.tensors += P64_RECORD_BYTES * n_layer;
    }
    x.strings = x.tensors + P64_RECORD_BYTES * count;
    x.manifold = align_up(x.strings + plan->string_bytes, 64);
    x.tokenizer = x.manifold + P64_RECORD_BYTES * (n_layer + 1);
    x.checksum = align_up(x.tokenizer + plan->tokenizer_bytes, 64);
    x.floor = align_up(x.checksum + 4 * (count + 1), plan->header.page_size);
    return x;
}

/* Sections and blobs. Sums stay far below 2^64: each blob was proved to be in memory or in a file of that size. */
static fmt_status place_all(p64_plan *plan, fmt_diag *diag) {
    p64_header *h = &plan->header;
    extents x = lay_out_sections(plan);
    uint64_t cursor = x.floor;
    bool fits = true;
    for (uint32_t i = 0; fits && i < h->tensor_count; i++) {
        p64_plan_entry *e = &plan->entries[i];
        const bool is_packed = (h->flags & P64_FLAG_LAYER_PACK) != 0 && i > 0 &&
                               e->layer_index == plan->entries[i - 1].layer_index;
        e->blob_offset = align_up(cursor, is_packed ? P64_PACK_ALIGNMENT : h->page_size);
        fits = checked_add(e->blob_offset, e->blob_size, &cursor) && cursor < UINT64_MAX - UINT32_MAX;
    }
    x.size = align_up(cursor, 64);
    if (!fits || x.size > P64_MAX_FILE) {
        return diag_refuse(diag, FMT_LIMIT, &rule_size, (diag_place){0, FMT_NO_INDEX, P64_MAX_FILE, x.size},
                           "the container would have %llu bytes; %llu are possible", (ull)x.size, (ull)P64_MAX_FILE);
    }
    h->tensor_table_at = (uint32_t)x.tensors;
    h->string_table_at = (uint32_t)x.strings;
    h->manifold_at = (uint32_t)x.manifold;
    h->tokenizer_at = (uint32_t)x.tokenizer;
    h->checksum_at = (uint32_t)x.checksum;
    plan->blob_floor = x.floor;
    plan->size = x.size;
    return FMT_OK;
}

static void set_header(p64_plan *plan) {
    const p64_write_options *o = &plan->options;
    uint16_t flags = P64_FLAG_LITTLE_ENDIAN;
    if (o->is_raw) {
        flags |= P64_FLAG_RAW;
    } else if (o->layout != P64_LAYOUT_PLAIN) {
        flags |= P64_FLAG_LAYER_MAJOR | P64_FLAG_LAYER_PACK | P64_FLAG_SCHEDULE;
    }
    plan->header = (p64_header){
        .version = 4,
        .flags = flags,
        .role_table_at = (flags & P64_FLAG_SCHEDULE) != 0 ? 2 * P64_RECORD_BYTES : 0,
        .hparams_at = P64_RECORD_BYTES,
        .tensor_count = plan->source->n_tensors,
        .page_size = UINT32_C(1) << (o->page_log2 == 0 ? DEFAULT_PAGE_LOG2 : o->page_log2),
    };
}

static void set_type_flags(p64_plan *plan) {
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        const uint32_t type = p64_base_type(plan->entries[i].dtype);
        plan->header.flags |= type == BLK_Q4_K_SOA ? P64_FLAG_SOA : 0;
        plan->header.flags |= type == BLK_TERNARY ? P64_FLAG_TERNARY : 0;
    }
}

/* A container that cannot fit whatever its tensors become is refused before a tensor is read: only conversions
 * shrink. */
static fmt_status place_early(p64_plan *plan, fmt_diag *diag) {
    const bool may_shrink = plan->options.form == P64_FORM_FFN_Q4_0 || plan->options.form == P64_FORM_FFN_TERNARY;
    return may_shrink ? FMT_OK : place_all(plan, diag);
}

fmt_status p64_plan_make(const p64_source *source, const p64_write_options *options, void *memory,
                         uint64_t memory_bytes, p64_plan *out_plan, fmt_note_fn *note, void *note_ctx,
                         p64_progress_fn *progress, void *progress_ctx, fmt_diag *diag) {
    uint64_t need = 0;
    fmt_status status = p64_plan_memory(source, options, &need, diag);
    if (status != FMT_OK) {
        return status;
    }
    if (memory_bytes < need) {
        return FMT_NO_SPACE;
    }
    p64_plan plan = {.source = source, .options = *options, .hparams = source->hparams, .entries = memory};
    const uint64_t panels = panel_bytes(source, options);
    plan.panel_room = (uint8_t *)memory + entry_bytes(source->n_tensors);
    plan.work = plan.panel_room + panels;
    plan.work_bytes = memory_bytes - entry_bytes(source->n_tensors) - panels;
    set_header(&plan);
    list_entries(&plan);
    status = size_tokenizer(&plan, diag);
    if (status == FMT_OK) {
        plan.string_bytes = size_strings(&plan);
        status = place_early(&plan, diag);
    }
    if (status == FMT_OK) {
        status = p64_form_settle(&plan, note, note_ctx, progress, progress_ctx, diag);
    }
    if (status == FMT_OK) {
        p64_panels_settle(&plan, note, note_ctx);
        set_type_flags(&plan);
        status = place_all(&plan, diag);
    }
    if (status == FMT_OK) {
        *out_plan = plan;
    }
    return status;
}
