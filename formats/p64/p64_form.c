/* p64_form.c — section 14: one tensor in the form that was asked for.
 *
 * A conversion goes in chunks of rows, from the source's bytes over f32 to the target's, so that it needs little
 * memory. Ternary is the exception: its one scale is the mean of the whole tensor.
 */
#include <math.h>
#include <string.h>

#include <quoin/blocks.h>

#include "common/diag.h"
#include "p64_write.h"

typedef unsigned long long ull;

static const fmt_rule rule_read = {"write-read", "14", "every byte of the source must be readable"};
static const fmt_rule rule_finite = {"write-finite", "14.2", "ternary weights are made of finite numbers only"};
static const fmt_rule rule_kept = {"write-kept", "14", "it is stored as it is"};
static const fmt_rule rule_cancelled = {"write-cancelled", "14", "nothing is left behind"};

static bool is_weight_matrix(const p64_source_tensor *t) {
    const bool is_weight = t->role <= P64_ROLE_FFN_DOWN || t->role == P64_ROLE_TOKEN_EMBD || t->role == P64_ROLE_OUTPUT;
    return is_weight && t->rank >= 2;
}

static bool is_ffn_matrix(const p64_source_tensor *t) {
    return t->role >= P64_ROLE_FFN_GATE && t->role <= P64_ROLE_FFN_DOWN && t->rank >= 2;
}

uint32_t p64_form_type(p64_form form, const p64_source_tensor *t) {
    if (form == P64_FORM_Q4_K_SOA && is_weight_matrix(t) && t->dtype == BLK_Q4_K) {
        return BLK_Q4_K_SOA;
    }
    if (form == P64_FORM_F16 && is_weight_matrix(t) && t->dtype != BLK_F32) {
        return BLK_F16;
    }
    if (form == P64_FORM_FFN_Q4_0 && is_ffn_matrix(t)) {
        return BLK_Q4_0;
    }
    if (form == P64_FORM_FFN_TERNARY && is_ffn_matrix(t)) {
        return BLK_TERNARY;
    }
    return t->dtype;
}

static uint64_t row_elements(const p64_plan *plan, const p64_source_tensor *t) {
    return t->dims[plan->options.is_raw ? t->rank - 1 : 0];
}

static uint64_t count_elements(const p64_source_tensor *t) {
    uint64_t count = 1;
    for (uint32_t k = 0; k < t->rank; k++) {
        count *= t->dims[k]; /* the bytes of the tensor fit in 64 bits, so this does too but for types below a byte */
    }
    return count;
}

/* Why a tensor cannot even be tried; null when it can. */
static const char *find_obstacle(const p64_plan *plan, const p64_source_tensor *t, uint32_t target) {
    const uint64_t row = row_elements(plan, t);
    if (!blk_get_info(t->dtype)->can_decode) {
        return "has an element type that cannot be decoded";
    }
    if (target != BLK_TERNARY && row % blk_get_info(target)->block_elems != 0) {
        return "has rows that are no multiple of the block";
    }
    if (row % blk_get_info(t->dtype)->block_elems != 0) {
        return "has rows that end in a short block";
    }
    return NULL;
}

uint64_t p64_form_work_bytes(p64_form form, const p64_source_tensor *t) {
    const uint32_t target = p64_form_type(form, t);
    if (target == t->dtype) {
        return P64_WORK_MIN_BYTES;
    }
    const uint64_t values = target == BLK_TERNARY ? count_elements(t) : P64_CHUNK_ELEMENTS;
    return P64_ROOM_BYTES + 8 * (values + 16); /* f32 values, and no output form needs more than 4 bytes an element */
}

/* ------------------------------------------------------------------------------------------------------- one tensor */

typedef struct stream {
    const p64_plan *plan;
    uint32_t source;
    p64_source_tensor t;
    uint32_t target;
    uint8_t *room;
    float *values;
    uint8_t *out;
    p64_emit_fn *emit; /* null: only try */
    void *ctx;
    fmt_diag *diag;
} stream;

static stream open_stream(const p64_plan *plan, uint32_t source, p64_emit_fn *emit, void *ctx, fmt_diag *diag) {
    stream s = {.plan = plan, .source = source, .emit = emit, .ctx = ctx, .diag = diag};
    plan->source->get_tensor(plan->source->ctx, source, &s.t);
    s.room = plan->work;
    s.values = (float *)(plan->work + P64_ROOM_BYTES);
    return s;
}

static const uint8_t *read_bytes(const stream *s, uint64_t offset, uint64_t size) {
    const uint8_t *bytes = s->plan->source->get_bytes(s->plan->source->ctx, s->source, offset, size, s->room);
    if (bytes == NULL) {
        char name[DIAG_QUOTE_SIZE];
        diag_refuse(s->diag, FMT_IO, &rule_read, (diag_place){s->t.source_offset + offset, s->source, size, 0},
                    "tensor %s cannot be read: %llu bytes at %llu of it", diag_quote(name, s->t.name), (ull)size,
                    (ull)offset);
    }
    return bytes;
}

static fmt_status copy_tensor(const stream *s) {
    for (uint64_t at = 0; at < s->t.bytes; at += P64_COPY_BYTES) {
        const uint64_t size = s->t.bytes - at < P64_COPY_BYTES ? s->t.bytes - at : P64_COPY_BYTES;
        const uint8_t *bytes = read_bytes(s, at, size);
        const fmt_status status = bytes == NULL ? FMT_IO : s->emit(s->ctx, bytes, size);
        if (status != FMT_OK) {
            return status;
        }
    }
    return FMT_OK;
}

static uint64_t bytes_of(uint32_t dtype, uint64_t elements) {
    const blk_info *info = blk_get_info(dtype);
    return elements / info->block_elems * info->block_bytes;
}

/* Only asks whether blk_encode would take these values: the same answer for a small part of the work. A half is
 * finite up to 65520; the scale of a Q4_0 block is an eighth of its largest value. NaN is below no limit. */
static fmt_status try_values(uint32_t target, const float *values, uint64_t count, uint64_t *out_bad) {
    const float limit = target == BLK_Q4_0 ? 8.0f * 65520.0f : 65520.0f;
    bool fits = true;
    for (uint64_t i = 0; i < count; i++) {
        fits &= fabsf(values[i]) < limit;
    }
    for (uint64_t i = 0; !fits && i < count; i++) {
        if (!(fabsf(values[i]) < limit)) {
            const uint32_t block = blk_get_info(target)->block_elems;
            *out_bad = i / block * block;
            return FMT_LIMIT;
        }
    }
    return FMT_OK;
}

/* Elements [first, first + count) as f32, or as Q4_K_SOA straight from Q4_K. */
static fmt_status convert_chunk(const stream *s, uint64_t first, uint64_t count, uint64_t *out_bad) {
    const uint8_t *bytes = read_bytes(s, bytes_of(s->t.dtype, first), bytes_of(s->t.dtype, count));
    if (bytes == NULL) {
        return FMT_IO;
    }
    if (s->target == BLK_Q4_K_SOA) {
        return blk_q4_k_to_soa(bytes, count, s->out, out_bad);
    }
    const fmt_status status = blk_decode(s->t.dtype, bytes, 0, count, s->values);
    if (status != FMT_OK || s->emit == NULL) {
        return status == FMT_OK ? try_values(s->target, s->values, count, out_bad) : status;
    }
    return blk_encode(s->target, s->values, count, s->out, out_bad);
}

static fmt_status convert_in_chunks(stream *s, uint64_t *out_bad) {
    const uint64_t total = count_elements(&s->t);
    s->out = (uint8_t *)(s->values + P64_CHUNK_ELEMENTS + 16);
    for (uint64_t first = 0; first < total; first += P64_CHUNK_ELEMENTS) {
        const uint64_t count = total - first < P64_CHUNK_ELEMENTS ? total - first : P64_CHUNK_ELEMENTS;
        uint64_t bad = 0;
        fmt_status status = convert_chunk(s, first, count, &bad);
        if (status == FMT_OK && s->emit != NULL) {
            status = s->emit(s->ctx, s->out, bytes_of(s->target, count));
        }
        if (status != FMT_OK) {
            *out_bad = first + bad;
            return status;
        }
    }
    return FMT_OK;
}

/* All of a tensor as f32. */
static fmt_status decode_whole(const stream *s, uint64_t total) {
    for (uint64_t first = 0; first < total; first += P64_CHUNK_ELEMENTS) {
        const uint64_t count = total - first < P64_CHUNK_ELEMENTS ? total - first : P64_CHUNK_ELEMENTS;
        const uint8_t *bytes = read_bytes(s, bytes_of(s->t.dtype, first), bytes_of(s->t.dtype, count));
        const fmt_status status = bytes == NULL ? FMT_IO : blk_decode(s->t.dtype, bytes, 0, count, s->values + first);
        if (status != FMT_OK) {
            return status;
        }
    }
    return FMT_OK;
}

static fmt_status convert_to_ternary(stream *s, uint64_t *out_bad) {
    const uint64_t total = count_elements(&s->t);
    fmt_status status = decode_whole(s, total);
    if (status != FMT_OK) {
        return status;
    }
    for (uint64_t i = 0; i < total; i++) {
        if (!isfinite(s->values[i])) {
            *out_bad = i;
            return FMT_LIMIT;
        }
    }
    if (s->emit == NULL) {
        return FMT_OK;
    }
    s->out = (uint8_t *)(s->values + total + 16);
    status = blk_encode(BLK_TERNARY, s->values, total, s->out, out_bad);
    return status == FMT_OK ? s->emit(s->ctx, s->out, 4 + (total + 4) / 5) : status;
}

static fmt_status convert_tensor(stream *s, uint64_t *out_bad) {
    return s->target == BLK_TERNARY ? convert_to_ternary(s, out_bad) : convert_in_chunks(s, out_bad);
}

fmt_status p64_form_stream(const p64_plan *plan, const p64_plan_entry *e, p64_emit_fn *emit, void *ctx,
                           fmt_diag *diag) {
    stream s = open_stream(plan, e->source, emit, ctx, diag);
    uint64_t bad = 0;
    s.target = e->dtype;
    return e->dtype == s.t.dtype ? copy_tensor(&s) : convert_tensor(&s, &bad);
}

/* ------------------------------------------------------------------------------------------------------ all of them */

static void note_kept(p64_plan *plan, const stream *s, uint64_t element, const char *why, fmt_note_fn *note,
                      void *note_ctx) {
    fmt_diag diag;
    char name[DIAG_QUOTE_SIZE];
    plan->n_kept++;
    if (note != NULL) {
        diag_refuse(&diag, FMT_OK, &rule_kept, (diag_place){s->t.source_offset, s->source, s->target, element},
                    "tensor %s (%s) does not become %s because it %s", diag_quote(name, s->t.name),
                    blk_get_info(s->t.dtype)->name, blk_get_info(s->target)->name, why);
        note(note_ctx, &diag);
    }
}

static fmt_status settle_entry(p64_plan *plan, p64_plan_entry *e, fmt_note_fn *note, void *note_ctx, fmt_diag *diag) {
    stream s = open_stream(plan, e->source, NULL, NULL, diag);
    uint64_t bad = 0;
    s.target = p64_form_type(plan->options.form, &s.t);
    if (s.target == s.t.dtype) {
        return FMT_OK;
    }
    const char *obstacle = find_obstacle(plan, &s.t, s.target);
    if (obstacle != NULL) {
        note_kept(plan, &s, 0, obstacle, note, note_ctx);
        return FMT_OK;
    }
    const fmt_status status = convert_tensor(&s, &bad);
    if (status == FMT_LIMIT && s.target == BLK_TERNARY) {
        char name[DIAG_QUOTE_SIZE];
        return diag_refuse(diag, FMT_BAD_FILE, &rule_finite, (diag_place){s.t.source_offset, e->source, 0, bad},
                           "element %llu of tensor %s is NaN or infinite", (ull)bad, diag_quote(name, s.t.name));
    }
    if (status == FMT_LIMIT) {
        note_kept(plan, &s, bad, "holds a value or scale that the new type cannot hold", note, note_ctx);
        return FMT_OK;
    }
    if (status == FMT_OK) {
        const uint64_t total = count_elements(&s.t);
        e->dtype = s.target;
        e->blob_size = s.target == BLK_TERNARY ? 4 + (total + 4) / 5 : bytes_of(s.target, total);
        plan->n_converted++;
    }
    return status;
}

fmt_status p64_form_settle(p64_plan *plan, fmt_note_fn *note, void *note_ctx, p64_progress_fn *progress,
                           void *progress_ctx, fmt_diag *diag) {
    uint64_t total = 0, done = 0;
    if (plan->options.form == P64_FORM_KEEP) {
        return FMT_OK;
    }
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        total += plan->entries[i].blob_size;
    }
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        done += plan->entries[i].blob_size;
        const fmt_status status = settle_entry(plan, &plan->entries[i], note, note_ctx, diag);
        if (status != FMT_OK) {
            return status;
        }
        if (progress != NULL && !progress(progress_ctx, done, total)) {
            return diag_refuse(diag, FMT_CANCELLED, &rule_cancelled, (diag_place){0, i, total, done},
                               "stopped on request");
        }
    }
    return FMT_OK;
}
