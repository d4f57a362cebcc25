/* p64_panels.c — matrices on their way into a container as panels: which of them, and sixteen rows at a time.
 *
 * The stage stands behind the conversion of p64_form.c and takes its bytes as they come: standard blocks, row after row. A group
 * of sixteen rows becomes a panel as soon as it is whole. Ternary digits run on over rows, so there the group is the tensor.
 */
#include <string.h>

#include <quoin/panels.h>

#include "common/diag.h"
#include "common/endian.h"
#include "p64_write.h"

static const fmt_rule rule_kept = {"write-kept", "13", "it is stored as it is"};

static void ggml_dims(const p64_write_options *options, const p64_source_tensor *t, uint64_t dims[4]) {
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t from = options->is_raw && k < t->rank ? t->rank - 1 - k : k;
        dims[k] = k < t->rank ? t->dims[from] : 1;
    }
}

/* A matrix whose type has panels. An embedding is read a row at a time and gains nothing, unless it is the output too. */
static bool is_wanted(const p64_source_tensor *t, uint32_t type, bool has_output) {
    return t->rank == 2 && blk_panel_find(type) != BLK_NO_PANELS && !(t->role == P64_ROLE_TOKEN_EMBD && has_output);
}

static bool lay_out(const p64_write_options *options, const p64_source_tensor *t, uint32_t type, blk_panels *out) {
    uint64_t dims[4];
    ggml_dims(options, t, dims);
    return p64_lay_out_panels(BLK_PANEL_DTYPE + type, t->rank, dims, out);
}

static bool finds_output(const p64_source *source) {
    for (uint32_t i = 0; i < source->n_tensors; i++) {
        p64_source_tensor t;
        source->get_tensor(source->ctx, i, &t);
        if (t.role == P64_ROLE_OUTPUT) {
            return true;
        }
    }
    return false;
}

/* Standard bytes of `n_rows` rows; of a ternary matrix, of all. */
static uint64_t standard_bytes(const blk_panels *p, uint32_t n_rows) {
    const blk_info *info = blk_get_info(blk_panel_kinds[p->kind].type);
    return info->type == BLK_TERNARY ? 4 + ((uint64_t)p->n_rows * p->n_cols + 4) / 5
                                     : p->n_cols / info->block_elems * (uint64_t)info->block_bytes * n_rows;
}

static bool is_ternary(const blk_panels *p) {
    return blk_panel_kinds[p->kind].type == BLK_TERNARY;
}

static uint64_t group_bytes(const blk_panels *p) {
    return (standard_bytes(p, BLK_PANEL_ROWS) + BLK_PANEL_ALIGN - 1) / BLK_PANEL_ALIGN * BLK_PANEL_ALIGN;
}

static uint64_t stage_bytes(const p64_write_options *options, const p64_source_tensor *t, uint32_t type) {
    blk_panels p;
    if (!is_wanted(t, type, false) || !lay_out(options, t, type, &p)) {
        return 0;
    }
    return group_bytes(&p) + (is_ternary(&p) ? blk_panels_bytes(&p) : p.panel_bytes);
}

uint64_t p64_panels_work_bytes(const p64_write_options *options, const p64_source_tensor *t) {
    if (options->layout != P64_LAYOUT_PANEL) {
        return 0;
    }
    const uint64_t as_it_is = stage_bytes(options, t, t->dtype);
    const uint64_t converted = stage_bytes(options, t, p64_form_type(options->form, t));
    return as_it_is > converted ? as_it_is : converted;
}

/* ------------------------------------------------------------------------------------------------------------ which */

/* Ternary bytes above 242, and digits behind the last element, have no place in panels. */
static bool is_plain_ternary(const p64_plan *plan, uint32_t source, const p64_source_tensor *t, uint64_t count) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    for (uint64_t at = 0; at < t->bytes; at += P64_COPY_BYTES) {
        const uint64_t size = t->bytes - at < P64_COPY_BYTES ? t->bytes - at : P64_COPY_BYTES;
        const uint8_t *bytes = plan->source->get_bytes(plan->source->ctx, source, at, size, plan->work);
        for (uint64_t i = at == 0 ? 4 : 0; bytes != NULL && i < size; i++) {
            if (bytes[i] > 242 || (at + i + 1 == t->bytes && count % 5 != 0 && bytes[i] / power[count % 5] != 0)) {
                return false;
            }
        }
        if (bytes == NULL) {
            return false;
        }
    }
    return true;
}

static const char *find_obstacle(const p64_plan *plan, const p64_plan_entry *e, const p64_source_tensor *t, blk_panels *out) {
    if (!lay_out(&plan->options, t, e->dtype, out)) {
        return "has rows that are no multiple of the block";
    }
    if (e->dtype == BLK_TERNARY && t->dtype == BLK_TERNARY &&
        !is_plain_ternary(plan, e->source, t, (uint64_t)out->n_rows * out->n_cols)) {
        return "has ternary digits that no element uses";
    }
    return NULL;
}

static void settle_entry(p64_plan *plan, p64_plan_entry *e, bool has_output, fmt_note_fn *note, void *note_ctx) {
    p64_source_tensor t;
    blk_panels panels;
    plan->source->get_tensor(plan->source->ctx, e->source, &t);
    if (!is_wanted(&t, e->dtype, has_output)) {
        return;
    }
    const char *obstacle = find_obstacle(plan, e, &t, &panels);
    if (obstacle == NULL) {
        e->dtype += BLK_PANEL_DTYPE;
        e->blob_size = blk_panels_bytes(&panels);
        plan->n_panels++;
        return;
    }
    plan->n_kept++;
    if (note != NULL) {
        fmt_diag diag;
        char name[DIAG_QUOTE_SIZE];
        diag_refuse(&diag, FMT_OK, &rule_kept, (diag_place){t.source_offset, e->source, 0, 0},
                    "tensor %s (%s) does not become panels because it %s", diag_quote(name, t.name), p64_dtype_name(e->dtype),
                    obstacle);
        note(note_ctx, &diag);
    }
}

void p64_panels_settle(p64_plan *plan, fmt_note_fn *note, void *note_ctx) {
    if (plan->options.layout != P64_LAYOUT_PANEL) {
        return;
    }
    const bool has_output = finds_output(plan->source);
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        settle_entry(plan, &plan->entries[i], has_output, note, note_ctx);
    }
}

/* ------------------------------------------------------------------------------------------------------------ stage */

typedef struct panel_stage {
    blk_panels whole;
    uint32_t next_row;  /* of the matrix: the first of the group */
    uint64_t used;      /* bytes of the group that wait in `rows` */
    uint8_t *rows, *out;
    p64_emit_fn *emit;
    void *ctx;
} panel_stage;

static uint32_t rows_of_group(const panel_stage *s) {
    const uint32_t left = s->whole.n_rows - s->next_row;
    return is_ternary(&s->whole) || left < BLK_PANEL_ROWS ? left : BLK_PANEL_ROWS;
}

/* A whole group becomes panels. */
static fmt_status pack_group(panel_stage *s, const uint8_t *rows) {
    blk_panels group = s->whole;
    const uint64_t head = blk_panels_head(&group);
    group.n_rows = rows_of_group(s);
    group.n_panels = (group.n_rows + BLK_PANEL_ROWS - 1) / BLK_PANEL_ROWS;
    memset(s->out, 0, (size_t)head);
    if (head != 0) {
        memcpy(s->out, rows, sizeof(float)); /* the scale */
    }
    blk_panels_pack(&group, s->out + head, 0, group.n_panels, rows, 0);
    s->next_row += group.n_rows;
    return s->emit(s->ctx, s->out, blk_panels_bytes(&group));
}

/* The next bytes of standard blocks. Groups that lie in them whole are not copied. */
static fmt_status take_bytes(void *ctx, const void *data, uint64_t size) {
    panel_stage *s = ctx;
    const uint8_t *bytes = data;
    fmt_status status = FMT_OK;
    while (size > 0 && status == FMT_OK) {
        const uint64_t need = standard_bytes(&s->whole, rows_of_group(s)) - s->used;
        const uint64_t n = need < size ? need : size;
        const bool is_whole = s->used == 0 && n == need;
        if (!is_whole) {
            memcpy(s->rows + s->used, bytes, (size_t)n);
        }
        s->used = n == need ? 0 : s->used + n;
        status = n == need ? pack_group(s, is_whole ? bytes : s->rows) : FMT_OK;
        bytes += n;
        size -= n;
    }
    return status;
}

fmt_status p64_panels_stream(const p64_plan *plan, const p64_plan_entry *e, p64_emit_fn *emit, void *ctx, fmt_diag *diag) {
    if (blk_panel_of_dtype(e->dtype) == BLK_NO_PANELS) {
        return p64_form_stream(plan, e, emit, ctx, diag);
    }
    p64_source_tensor t;
    p64_plan_entry standard = *e;
    panel_stage s = {.rows = plan->panel_room, .emit = emit, .ctx = ctx};
    standard.dtype = p64_base_type(e->dtype);
    plan->source->get_tensor(plan->source->ctx, e->source, &t);
    if (!lay_out(&plan->options, &t, standard.dtype, &s.whole)) {
        return FMT_BAD_ARG;
    }
    s.out = s.rows + group_bytes(&s.whole);
    return p64_form_stream(plan, &standard, take_bytes, &s, diag);
}
