/* p64_write.c — the container's bytes: blobs first, because their checksums stand in front of them, then the metadata
 * in one pass through a small buffer.
 */
#include "p64_write.h"

#include <string.h>

#include "common/crc32c.h"
#include "common/diag.h"
#include "common/endian.h"

typedef unsigned long long ull;

static const fmt_rule rule_sink = {"write-sink", "12", "every byte must be written"};
static const fmt_rule rule_cancelled = {"write-cancelled", "12", "nothing is left behind"};

/* ------------------------------------------------------------------------------------------------------------ blobs */

typedef struct blob_out {
    const p64_plan *plan;
    const p64_sink *sink;
    p64_progress_fn *progress;
    void *progress_ctx;
    fmt_diag *diag;
    uint64_t at;   /* next byte in the file */
    uint32_t crc;  /* of the blob so far */
    uint64_t done; /* bytes of all blobs so far */
    uint64_t total;
} blob_out;

static fmt_status refuse_sink(fmt_diag *diag, uint64_t at) {
    return diag_refuse(diag, FMT_IO, &rule_sink, (diag_place){at, FMT_NO_INDEX, 0, 0},
                       "writing fails at byte %llu of the container", (ull)at);
}

static fmt_status put_blob(void *ctx, const void *data, uint64_t size) {
    blob_out *o = ctx;
    if (o->sink->write(o->sink->ctx, o->at, data, size) != FMT_OK) {
        return refuse_sink(o->diag, o->at);
    }
    o->crc = crc32c_extend(o->crc, data, size);
    o->at += size;
    o->done += size;
    if (o->progress != NULL && !o->progress(o->progress_ctx, o->done, o->total)) {
        return diag_refuse(o->diag, FMT_CANCELLED, &rule_cancelled,
                           (diag_place){o->at, FMT_NO_INDEX, o->total, o->done}, "stopped on request");
    }
    return FMT_OK;
}

static fmt_status write_blobs(p64_plan *plan, blob_out *o) {
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        o->total += plan->entries[i].blob_size;
    }
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        p64_plan_entry *e = &plan->entries[i];
        o->at = e->blob_offset;
        o->crc = 0;
        const fmt_status status = p64_panels_stream(plan, e, put_blob, o, o->diag);
        if (status != FMT_OK) {
            return status;
        }
        e->crc = o->crc;
    }
    /* The last bytes give the file its length. */
    static const uint8_t zeros[64];
    const uint64_t padding = plan->size - o->at;
    if (padding > 0 && o->sink->write(o->sink->ctx, o->at, zeros, padding) != FMT_OK) {
        return refuse_sink(o->diag, o->at);
    }
    return FMT_OK;
}

/* --------------------------------------------------------------------------------------------------------- metadata */

enum { META_BUFFER_BYTES = 64 * 1024 };

typedef struct meta_out {
    const p64_sink *sink;
    uint8_t *buffer; /* META_BUFFER_BYTES, in the plan's work memory */
    uint64_t used;
    uint64_t at;  /* file offset of buffer[0] */
    uint32_t crc; /* of all before it */
    fmt_status status;
} meta_out;

static void flush(meta_out *o) {
    if (o->status == FMT_OK && o->used > 0) {
        o->crc = crc32c_extend(o->crc, o->buffer, o->used);
        o->status = o->sink->write(o->sink->ctx, o->at, o->buffer, o->used);
        o->at += o->used;
        o->used = 0;
    }
}

static void put(meta_out *o, const void *data, uint64_t size) {
    const uint8_t *from = data;
    while (size > 0 && o->status == FMT_OK) {
        const uint64_t room = META_BUFFER_BYTES - o->used;
        const uint64_t part = size < room ? size : room;
        memcpy(o->buffer + o->used, from, part);
        o->used += part;
        from += part;
        size -= part;
        if (o->used == META_BUFFER_BYTES) {
            flush(o);
        }
    }
}

static void put_u32(meta_out *o, uint32_t value) {
    uint8_t raw[4];
    store_u32(raw, value);
    put(o, raw, sizeof raw);
}

/* Zeros up to byte `end` of the file. */
static void pad_to(meta_out *o, uint64_t end) {
    static const uint8_t zeros[256];
    while (o->status == FMT_OK && o->at + o->used < end) {
        const uint64_t left = end - o->at - o->used;
        put(o, zeros, left < sizeof zeros ? left : sizeof zeros);
    }
}

static void store_f32(uint8_t *at, float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    store_u32(at, bits);
}

static void put_header(meta_out *o, const p64_header *h) {
    uint8_t raw[P64_RECORD_BYTES] = P64_MAGIC_BYTES;
    store_u16(raw + P64_HDR_VERSION_AT, h->version);
    store_u16(raw + P64_HDR_FLAGS_AT, h->flags);
    store_u32(raw + P64_HDR_ROLE_TABLE_AT, h->role_table_at);
    store_u32(raw + P64_HDR_TENSOR_TABLE_AT, h->tensor_table_at);
    store_u32(raw + P64_HDR_TOKENIZER_AT, h->tokenizer_at);
    store_u32(raw + P64_HDR_HPARAMS_AT, h->hparams_at);
    store_u32(raw + P64_HDR_STRING_TABLE_AT, h->string_table_at);
    store_u32(raw + P64_HDR_CHECKSUM_AT, h->checksum_at);
    store_u32(raw + P64_HDR_MANIFOLD_AT, h->manifold_at);
    store_u32(raw + P64_HDR_TENSOR_COUNT_AT, h->tensor_count);
    store_u32(raw + P64_HDR_PAGE_SIZE_AT, h->page_size);
    put(o, raw, sizeof raw);
}

static void put_hparams(meta_out *o, const p64_hparams *hp, bool is_extended) {
    uint8_t raw[P64_RECORD_BYTES] = {0};
    const uint32_t head[5] = {hp->n_layer, hp->n_embd, hp->n_head, hp->n_kv_head, hp->vocab_size};
    const uint32_t sizes[4] = {hp->head_dim, hp->head_dim_swa, hp->sliding_window, hp->shared_kv_layers};
    for (size_t i = 0; i < 5; i++) {
        store_u32(raw + 4 * i, head[i]);
    }
    store_f32(raw + 20, hp->rope_freq_base);
    store_f32(raw + 24, hp->rope_scale);
    if (is_extended) {
        for (size_t i = 0; i < 4; i++) {
            store_u32(raw + P64_HP_EXTENSION_AT + 4 * i, sizes[i]);
        }
        store_f32(raw + 44, hp->logit_softcap);
        store_u32(raw + 48, hp->architecture);
        store_u32(raw + 52, hp->arch_flags);
    }
    put(o, raw, sizeof raw);
}

/* Entries of one layer follow each other in the layer-major order that a schedule goes with. */
static void put_schedule(meta_out *o, const p64_plan *plan) {
    uint32_t next = 0;
    for (uint32_t layer = 0; layer < plan->hparams.n_layer; layer++) {
        uint8_t raw[P64_RECORD_BYTES] = {0};
        p64_schedule_record record = {.layer = layer};
        for (; next < plan->header.tensor_count && plan->entries[next].layer_index == layer; next++) {
            const p64_plan_entry *e = &plan->entries[next];
            p64_schedule_add(&record, e->role, e->blob_offset, e->blob_size);
        }
        store_u32(raw + P64_SCH_LAYER_AT, layer);
        store_u32(raw + P64_SCH_BEGIN_AT, record.blob_begin);
        store_u32(raw + P64_SCH_END_AT, record.blob_end);
        store_u16(raw + P64_SCH_COUNT_AT, record.tensor_count);
        store_u16(raw + P64_SCH_ROLES_AT, record.roles_mask);
        put(o, raw, sizeof raw);
    }
}

static void put_tensors(meta_out *o, const p64_plan *plan) {
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        const p64_plan_entry *e = &plan->entries[i];
        uint8_t raw[P64_RECORD_BYTES] = {0};
        p64_source_tensor t;
        plan->source->get_tensor(plan->source->ctx, e->source, &t);
        store_u32(raw + P64_ENT_NAME_AT, e->name_offset);
        store_u16(raw + P64_ENT_ROLE_AT, (uint16_t)e->role);
        store_u16(raw + P64_ENT_DTYPE_AT, (uint16_t)e->dtype);
        store_u32(raw + P64_ENT_MANIFOLD_AT, e->layer_index);
        store_u32(raw + P64_ENT_RANK_AT, t.rank);
        for (uint32_t k = 0; k < t.rank; k++) {
            store_u32(raw + P64_ENT_DIMS_AT + 4 * k, (uint32_t)t.dims[k]);
        }
        store_u32(raw + P64_ENT_BLOB_OFFSET_AT, (uint32_t)e->blob_offset);
        store_u32(raw + P64_ENT_BLOB_SIZE_AT, (uint32_t)e->blob_size);
        store_u64(raw + P64_ENT_SOURCE_OFFSET_AT, e->source_offset);
        store_u64(raw + P64_ENT_SOURCE_HASH_AT, e->name_hash);
        put(o, raw, sizeof raw);
    }
}

static void put_strings(meta_out *o, const p64_plan *plan) {
    put(o, "", 1);
    for (uint32_t i = 0; i < plan->header.tensor_count; i++) {
        const p64_plan_entry *e = &plan->entries[i];
        if (p64_writes_hex_name(plan, e)) {
            char hex[P64_HEX_NAME_BYTES + 1];
            p64_hex_name(e->name_hash, hex);
            put(o, hex, sizeof hex);
        } else {
            p64_source_tensor t;
            plan->source->get_tensor(plan->source->ctx, e->source, &t);
            put(o, t.name.data, t.name.size);
            put(o, "", 1);
        }
    }
}

static void put_manifold(meta_out *o, uint32_t n_layer) {
    for (uint64_t layer = 0; layer <= n_layer; layer++) {
        const p64_manifold m = p64_manifold_project((uint32_t)layer, n_layer);
        const float values[P64_MAN_VALUES] = {m.scale,           m.attention_depth,      m.epistemic_weight,
                                              m.topological_spin, m.temporal_decay,      m.entropy_bias,
                                              m.spatial_phase,   m.recurrence_frequency, m.density_threshold,
                                              m.manifold_curvature};
        uint8_t raw[P64_RECORD_BYTES] = {0};
        for (size_t i = 0; i < P64_MAN_VALUES; i++) {
            store_f32(raw + 4 * i, values[i]);
        }
        put(o, raw, sizeof raw);
    }
}

static void put_text(meta_out *o, fmt_str text) {
    put_u32(o, (uint32_t)text.size);
    put(o, text.data, text.size);
}

static void put_stops(meta_out *o, const p64_source *source) {
    uint8_t raw[P64_TOK_TRAILER_BYTES] = {0};
    uint32_t ids[P64_MAX_STOPS];
    const p64_source_tokenizer *t = &source->tokenizer;
    raw[0] = (uint8_t)p64_derive_stops(source->get_token, source->ctx, t->n_tokens, t->eos, ids);
    for (size_t i = 0; i < raw[0]; i++) {
        store_u32(raw + 4 + 4 * i, ids[i]);
    }
    put(o, raw, sizeof raw);
}

static void put_tokenizer(meta_out *o, const p64_plan *plan) {
    const p64_source *source = plan->source;
    const p64_source_tokenizer *t = &source->tokenizer;
    if (!t->is_present) {
        return;
    }
    uint8_t head[P64_TOK_HEAD_BYTES] = {'Q', '4', '2', 'T'};
    store_u16(head + P64_TOK_VERSION_AT, plan->options.is_extended ? 2 : 1);
    store_u32(head + P64_TOK_BOS_AT, t->bos);
    store_u32(head + P64_TOK_EOS_AT, t->eos);
    head[P64_TOK_ADD_BOS_AT] = t->add_bos;
    put(o, head, sizeof head);
    put_text(o, t->pre);
    put_u32(o, t->n_tokens);
    for (uint32_t id = 0; id < t->n_tokens; id++) {
        put_text(o, source->get_token(source->ctx, id));
    }
    put_u32(o, t->n_merges);
    for (uint32_t i = 0; i < t->n_merges; i++) {
        fmt_str left, right;
        source->get_merge(source->ctx, i, &left, &right);
        put_text(o, left);
        put_text(o, right);
    }
    if (plan->options.is_extended) {
        put_stops(o, source);
    }
}

static fmt_status write_metadata(p64_plan *plan, const p64_sink *sink, fmt_diag *diag) {
    const p64_header *h = &plan->header;
    meta_out o = {.sink = sink, .buffer = plan->work, .status = FMT_OK};
    put_header(&o, h);
    put_hparams(&o, &plan->hparams, plan->options.is_extended && !plan->options.is_raw);
    if (h->role_table_at != 0) {
        put_schedule(&o, plan);
    }
    put_tensors(&o, plan);
    put_strings(&o, plan);
    pad_to(&o, h->manifold_at);
    put_manifold(&o, plan->hparams.n_layer);
    put_tokenizer(&o, plan);
    pad_to(&o, h->checksum_at);
    flush(&o);
    plan->metadata_crc = o.crc;
    put_u32(&o, o.crc);
    for (uint32_t i = 0; i < h->tensor_count; i++) {
        put_u32(&o, plan->entries[i].crc);
    }
    flush(&o);
    return o.status == FMT_OK ? FMT_OK : refuse_sink(diag, o.at);
}

fmt_status p64_write(p64_plan *plan, const p64_sink *sink, p64_progress_fn *progress, void *progress_ctx,
                     fmt_diag *diag) {
    blob_out blobs = {.plan = plan, .sink = sink, .progress = progress, .progress_ctx = progress_ctx, .diag = diag};
    const fmt_status status = write_blobs(plan, &blobs);
    return status == FMT_OK ? write_metadata(plan, sink, diag) : status;
}
