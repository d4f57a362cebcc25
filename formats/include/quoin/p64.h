/* p64.h — the P64 weight container: reader, integrity checks, planner and writer.
 *
 *     0          header, 64 bytes
 *     64         hyper-parameters, 64 bytes
 *     128        layer schedule, 64 bytes a layer        (flag bit 6)
 *                tensor table, 64 bytes a tensor
 *                string table
 *                manifold table, 64 bytes a layer + 1
 *                Q42T tokenizer section                  (may be empty)
 *                checksum table: one CRC-32C of all before it, one a blob
 *     page       blobs, zero padding, end
 *
 * The reader checks the rules of section 17 of the format's document in their order and answers with the first broken
 * one. It runs nothing, loads nothing and prints nothing; what a tensor is good for is the engine's business.
 *
 * Threading: a p64_file is immutable after p64_open: thread-safe. A p64_plan belongs to one thread at a time.
 * Memory:    views point into the span and into the caller's scratch; both must outlive the p64_file. No allocation.
 * Errors:    fmt_status; a refusal fills the diagnosis. Out parameters are untouched on error.
 *
 *     uint64_t bytes;
 *     p64_file file;
 *     fmt_diag diag;
 *     if (p64_scratch_size(span, FMT_MODE_DEFAULT, &bytes, &diag) == FMT_OK &&
 *         p64_open(span, FMT_MODE_DEFAULT, scratch = malloc(bytes), bytes, &file, NULL, NULL, &diag) == FMT_OK &&
 *         p64_check_blobs(&file, P64_CHECK_ALL, &diag) == FMT_OK) {
 *         p64_tensor tensor;
 *         if (p64_find_role(&file, P64_ROLE_ATTN_Q, 0, &tensor)) { use(tensor.blob, tensor.dims); }
 *     } else { puts(diag.text); }
 */
#ifndef QUOIN_P64_H
#define QUOIN_P64_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/panels.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- words of the format */

enum {
    P64_FLAG_LITTLE_ENDIAN = 0x0001, /* always set */
    P64_FLAG_RAW = 0x0002,           /* Safetensors profile: dimensions outermost first, hashes in their 60-bit form */
    P64_FLAG_TERNARY = 0x0004,       /* ternary tensors may be present */
    P64_FLAG_SOA = 0x0008,           /* Q4_K_SOA tensors may be present */
    P64_FLAG_LAYER_MAJOR = 0x0010,   /* the tensor table is ordered by layer and role */
    P64_FLAG_LAYER_PACK = 0x0020,    /* blobs of one layer follow each other at 256 bytes instead of a page */
    P64_FLAG_SCHEDULE = 0x0040       /* the layer schedule is present */
};

typedef uint32_t p64_role;
enum {
    P64_ROLE_ATTN_K = 0, P64_ROLE_ATTN_V = 1, P64_ROLE_ATTN_Q = 2, P64_ROLE_ATTN_OUTPUT = 3, P64_ROLE_FFN_GATE = 4,
    P64_ROLE_FFN_UP = 5, P64_ROLE_FFN_DOWN = 6, P64_ROLE_ATTN_NORM = 7, P64_ROLE_FFN_NORM = 8, P64_ROLE_TOKEN_EMBD = 9,
    P64_ROLE_OUTPUT = 10, P64_ROLE_OUTPUT_NORM = 11, P64_ROLE_ATTN_SUB_NORM = 12, P64_ROLE_FFN_SUB_NORM = 13,
    P64_ROLE_MOE_ROUTER = 0x20, P64_ROLE_MOE_GATE = 0x21, P64_ROLE_MOE_UP = 0x22, P64_ROLE_MOE_DOWN = 0x23,
    P64_ROLE_MOE_SHARED_GATE = 0x24, P64_ROLE_MOE_SHARED_UP = 0x25, P64_ROLE_MOE_SHARED_DOWN = 0x26,
    P64_ROLE_VISION_CONV = 0x80, P64_ROLE_VISION_NORM = 0x81, P64_ROLE_VISION_DENSE = 0x82, P64_ROLE_UNKNOWN = 0xFFFE
};

#define P64_NO_LAYER UINT32_MAX /* the layer of global and unknown tensors */
#define P64_MAX_STOPS 8u
#define P64_MAX_FILE                                                                                                   \
    UINT64_C(0xFFFFFFC0) /* largest size that the writer makes; the reader takes up to 2^32 - 1 bytes */

enum { P64_ARCH_UNKNOWN = 0, P64_ARCH_LLAMA = 1, P64_ARCH_OTHER = 255 }; /* ids of section 5 that have a use here */

/* ------------------------------------------------------------------------------------------------------------ rules */

typedef uint32_t p64_rule_mode;
enum { P64_RULE_BOTH = 0, P64_RULE_STRICT = 1, P64_RULE_NOTE = 2, P64_RULE_WEIGHTS = 3 };

typedef struct p64_rule_info {
    const char *id;       /* "blob-order" */
    const char *section;  /* section of the format's document */
    const char *standard; /* number in section 14 of the standard, or "" */
    p64_rule_mode mode;   /* refused in both modes; in strict mode, a note otherwise; always a note; a weight check */
    const char *sentence; /* what is refused */
    const char *advice;   /* what to do */
} p64_rule_info;

/* All rules, in the order in which they are checked. Static. [any-thread] */
const p64_rule_info *p64_rules(uint32_t *out_count);

/* The rule with this id, or null. [any-thread] */
const p64_rule_info *p64_find_rule(const char *id);

/* ---------------------------------------------------------------------------------------------------------- reading */

typedef struct p64_header {
    uint16_t version; /* 3 or 4 */
    uint16_t flags;   /* P64_FLAG_... */
    uint32_t role_table_at, tensor_table_at, tokenizer_at, hparams_at, string_table_at, checksum_at,
        manifold_at; /* bytes */
    uint32_t tensor_count;
    uint32_t page_size; /* bytes, a power of two >= 256 */
} p64_header;

typedef struct p64_hparams {
    uint32_t n_layer, n_embd, n_head, n_kv_head; /* as stored; 0 in raw transcodes */
    uint32_t vocab_size;                         /* rows of the embedding */
    float rope_freq_base, rope_scale;            /* 0 means unknown (raw transcodes) */
    uint32_t head_dim;         /* from here on the extended profile; 0 means not told */
    uint32_t head_dim_swa;     /* 0 means as head_dim */
    uint32_t sliding_window;   /* 0 means full attention, or not told */
    uint32_t shared_kv_layers; /* the last N layers reuse the KV cache of earlier ones */
    float logit_softcap;       /* final soft cap; 0 means off, or not told */
    uint32_t architecture;     /* id of section 5, P64_ARCH_UNKNOWN when not told */
    uint32_t arch_flags;       /* bit 0 per-layer embeddings, 1 sliding window, 2 shared KV, 3 QK norm, 4 soft cap */
} p64_hparams;

typedef struct p64_tensor {
    uint32_t index;
    fmt_str name;       /* as stored: the source name, or "tensor." and 16 digits of its hash in extended files */
    p64_role role;      /* any number; outside P64_ROLE_... treat it as P64_ROLE_UNKNOWN */
    uint32_t dtype;     /* blk_type, or BLK_PANEL_DTYPE + blk_type; unknown numbers are possible */
    uint32_t manifold_index;
    uint32_t layer;     /* manifold_index, or P64_NO_LAYER when that is n_layer */
    uint32_t rank;      /* 1..4 */
    uint32_t file_dims[4]; /* as stored; 1 past the rank */
    uint32_t dims[4];      /* GGML order: dims[0] is the contiguous row; 1 past the rank */
    uint64_t blob_offset;  /* bytes from the start of the file */
    fmt_span blob;
    uint32_t crc;              /* CRC-32C of the blob, as stored */
    uint64_t source_offset;    /* bytes in the tensor data of the source */
    uint64_t source_name_hash; /* FNV-1a-64 of the source name (60 bits of it with P64_FLAG_RAW) */
} p64_tensor;

typedef struct p64_schedule_record {
    uint32_t layer;
    uint32_t blob_begin, blob_end; /* bytes; both 0 for a layer without tensors */
    uint16_t tensor_count;         /* saturates */
    uint16_t roles_mask;           /* bit r: role r < 16 is there */
} p64_schedule_record;

typedef struct p64_manifold {
    float scale, attention_depth, epistemic_weight, topological_spin, temporal_decay, entropy_bias, spatial_phase,
        recurrence_frequency, density_threshold, manifold_curvature;
} p64_manifold;

typedef struct p64_tokenizer {
    bool is_present;
    uint16_t version; /* 1 or 2 */
    uint32_t bos, eos;
    bool add_bos;
    fmt_str pre; /* pre-tokenizer name, may be empty */
    uint32_t n_tokens, n_merges;
    uint32_t n_stops; /* stored stop ids; 0 in version 1 */
    uint32_t stops[P64_MAX_STOPS];
    uint32_t n_not_utf8; /* strings that are no UTF-8 */
    uint32_t n_repeated; /* tokens equal to an earlier one; the lowest id counts */
    uint64_t merges_at;  /* byte offset of the first merge */
    uint64_t bytes;      /* payload without the zero bytes behind it */
} p64_tokenizer;

typedef struct p64_index_item {
    uint64_t hash;
    uint32_t index; /* of the tensor */
    uint32_t size;  /* bytes of the name, where the item stands for one */
} p64_index_item;

/* An opened container. Its fields may be read; only p64_open writes them. */
typedef struct p64_file {
    fmt_span span;
    p64_header header;
    p64_hparams hparams;
    bool has_extension;    /* bytes 28..55 of the hyper-parameters are in use */
    bool has_schedule;     /* a schedule is present and not blank */
    uint64_t blob_floor;   /* bytes; no blob begins before it */
    uint32_t metadata_crc; /* CRC-32C of [0, checksum_at) */
    uint64_t tensor_bytes; /* sum of the blobs */
    p64_tokenizer tokenizer;
    const p64_index_item *by_name;   /* [tensor_count] sorted by hash; in the scratch */
    const p64_index_item *by_source; /* [tensor_count] sorted by the low 60 bits of source_name_hash; in the scratch */
    const uint32_t *token_at;        /* [n_tokens] byte offset of each token's length field; in the scratch */
} p64_file;

/* Bytes of scratch that p64_open needs for this file, after the rules up to `checksum-bounds` have proved its bounds.
 * FMT_BAD_FILE: one of them is broken, as p64_open would say. [any-thread] [no-alloc] */
fmt_status p64_scratch_size(fmt_span span, fmt_mode mode, uint64_t *out_bytes, fmt_diag *diag);

/* Checks every rule but the three that read blobs, and fills *out_file.
 *
 *   scratch   at least p64_scratch_size bytes, aligned to 8; moved to *out_file until the caller is done with it
 *   note      may be null; receives what the default mode accepts although the letter of the standard does not
 *
 * FMT_BAD_FILE: *diag names the first broken rule. FMT_NO_SPACE: scratch_bytes is too small. [any-thread] [no-alloc] */
fmt_status p64_open(fmt_span span, fmt_mode mode, void *scratch, uint64_t scratch_bytes, p64_file *out_file,
                    fmt_note_fn *note, void *note_ctx, fmt_diag *diag);

/* Tensor `index` (below header.tensor_count, which the caller keeps). [any-thread] */
p64_tensor p64_get_tensor(const p64_file *file, uint32_t index);

/* The first tensor of this role in this layer (P64_NO_LAYER for global roles); one whose name ends in ".weight" goes
 * first. Each answers false when there is none; *out_tensor is then untouched. [any-thread] */
bool p64_find_role(const p64_file *file, p64_role role, uint32_t layer, p64_tensor *out_tensor);
bool p64_find_name(const p64_file *file, const char *name, uint64_t name_size, p64_tensor *out_tensor);

/* The tensor whose *source* name is this, whatever the file calls it: by the low 60 bits of its hash. */
bool p64_find_source_name(const p64_file *file, const char *name, uint64_t name_size, p64_tensor *out_tensor);
bool p64_find_source_hash(const p64_file *file, uint64_t hash, p64_tensor *out_tensor);

/* Layer < n_layer, and has_schedule. */
p64_schedule_record p64_get_schedule(const p64_file *file, uint32_t layer);

/* Record 0..n_layer; the last one is the global record. */
p64_manifold p64_get_manifold(const p64_file *file, uint32_t record);

/* Bytes of token `id` (below tokenizer.n_tokens). */
fmt_str p64_get_token(const p64_file *file, uint32_t id);

/* Walks the merges in rank order: start with *at = tokenizer.merges_at, call n_merges times. */
void p64_next_merge(const p64_file *file, uint64_t *at, fmt_str *out_left, fmt_str *out_right);

/* Name of an element type for people: "Q4_0", "Q4_0 panels", "unknown". Static. */
const char *p64_dtype_name(uint32_t dtype);

/* True when the tensor is kept as panels (panels.h); *out then shows them in the blob. */
bool p64_tensor_panels(const p64_tensor *t, blk_panels *out);

/* Name of a role for people: "attention K"; "unknown" for numbers outside the table. Static. */
const char *p64_role_name(p64_role role);

/* Role and layer of a tensor of a GGUF source, by its exact name (section 6.2). *out_layer is P64_NO_LAYER for
 * global and unknown ones; a layer that is not below n_layer makes the tensor unknown. */
p64_role p64_role_of_gguf_name(const char *name, uint64_t size, uint32_t n_layer, uint32_t *out_layer);

/* The same for a Safetensors source (section 6.4): the names of Hugging Face, perhaps behind "language_model.", or those of
 * GGUF. A name that is not on the list, a bias among them, is unknown; any layer counts. */
p64_role p64_role_of_raw_name(const char *name, uint64_t size, uint32_t *out_layer);

/* True for the name of a tensor that a plain llama graph uses: what has one of the roles 0..11 by its GGUF name, and the
 * RoPE factors of Llama 3 (rope_freqs.weight), which have no role. A container runs alone when it holds nothing else. */
bool p64_is_llama_name(const char *name, uint64_t size, uint32_t n_layer);

/* One token of a vocabulary, by id. */
typedef fmt_str p64_token_fn(void *ctx, uint32_t id);

/* The stop set of section 10: eos first, then well-known end markers of the vocabulary, no id twice; returns how many.
 * A loader uses it when the file stores none, or stores a set without eos. `token` is called with ascending ids. */
uint32_t p64_derive_stops(p64_token_fn *token, void *ctx, uint32_t n_tokens, uint32_t eos,
                          uint32_t out_ids[P64_MAX_STOPS]);

/* -------------------------------------------------------------------------------------------------------- integrity */

/* What a check of blobs looks at; the CRC and the ternary rules always, the weights when asked. */
typedef uint32_t p64_check;
enum {
    P64_CHECK_CRC = 0,
    P64_CHECK_WEIGHTS = 1, /* also: no float element and no block scale is NaN or infinite (rule weight-finite) */
    P64_CHECK_ALL = P64_CHECK_WEIGHTS
};

/* What one piece of a blob gave. Pieces of one tensor, joined in order, give the tensor's. */
typedef struct p64_piece {
    uint64_t size;         /* bytes */
    uint32_t crc;          /* CRC-32C of these bytes */
    uint64_t bad_trits_at; /* offset in the blob of the first ternary byte above 242, or FMT_NO_INDEX */
    uint64_t nonfinite;    /* first element (of its block) that is not finite, or FMT_NO_INDEX */
    uint64_t stray_at;     /* offset in the blob of the first byte of panels that no packing gives, or FMT_NO_INDEX */
} p64_piece;

/* Size for the pieces of tensor `index`: near `wanted` bytes, and cutting no block in two. A work counter hands out
 * pieces begin = 0, size, 2 * size, ... until the blob is used up. [any-thread] */
uint64_t p64_piece_size(const p64_file *file, uint32_t index, uint64_t wanted);

/* Reads bytes [begin, begin + size) of the blob once. `begin` is a multiple of p64_piece_size. [worker] [no-alloc] */
void p64_check_piece(const p64_file *file, uint32_t index, uint64_t begin, uint64_t size, p64_check what,
                     p64_piece *out_piece);

/* *all becomes what `all` followed by `next` gives; begin with an empty piece (p64_piece_empty). */
void p64_join_piece(p64_piece *all, const p64_piece *next);
p64_piece p64_piece_empty(void);

/* Judges a whole tensor by its joined pieces: rules tensor-crc, ternary-scale, ternary-byte, panel-bits,
 * weight-finite. */
fmt_status p64_judge_tensor(const p64_file *file, uint32_t index, const p64_piece *whole, fmt_diag *diag);

/* All of the above for one tensor, on this thread. [any-thread] [no-alloc] */
fmt_status p64_check_tensor(const p64_file *file, uint32_t index, p64_check what, fmt_diag *diag);

/* And for all tensors, on this thread: the first broken rule in the order of the rules, then of the tensors. */
fmt_status p64_check_blobs(const p64_file *file, p64_check what, fmt_diag *diag);

/* True when diagnosis `a` comes before `b` in that order: for teams that check tensors in any order. */
bool p64_diag_precedes(const fmt_diag *a, const fmt_diag *b);

/* ---------------------------------------------------------------------------------------------------------- writing */

typedef uint32_t p64_layout;
enum {
    P64_LAYOUT_PACKED = 0, /* layer-major order, layer-pack alignment, schedule */
    P64_LAYOUT_PLAIN = 1,  /* source order, every blob on a page, no schedule */
    P64_LAYOUT_PANEL = 2   /* packed, and matrices as panels of sixteen rows: what kernels read in place */
};

typedef uint32_t p64_form;
enum {
    P64_FORM_KEEP = 0,       /* every byte as in the source */
    P64_FORM_Q4_K_SOA = 1,   /* Q4_K matrices rearranged */
    P64_FORM_F16 = 2,        /* quantised and BF16 matrices as F16 */
    P64_FORM_FFN_Q4_0 = 3,   /* FFN matrices as Q4_0 */
    P64_FORM_FFN_TERNARY = 4 /* FFN matrices as ternary */
};

typedef struct p64_write_options {
    p64_layout layout;
    p64_form form;
    uint32_t page_log2; /* 8..30; 0 means 14 (pages of 16384 bytes) */
    bool is_extended;   /* extended profile: hparams 28..55, Q42T version 2, unknown tensors by hash */
    bool is_raw;        /* dimensions are given outermost first and hashes have 60 bits (Safetensors profile) */
} p64_write_options;

typedef struct p64_source_tensor {
    fmt_str name;    /* the true source name */
    p64_role role;
    uint32_t layer;  /* of a layer role; other tensors have none */
    uint32_t dtype;  /* blk_type */
    uint32_t rank;   /* 1..4 */
    uint64_t dims[4];
    uint64_t source_offset; /* bytes in the source's tensor data */
    uint64_t bytes;
} p64_source_tensor;

typedef struct p64_source_tokenizer {
    bool is_present;
    uint32_t bos, eos;
    bool add_bos;
    fmt_str pre;
    uint32_t n_tokens, n_merges;
} p64_source_tokenizer;

/* Where a writer finds a model. The calls are made on the writer's thread; tokens and merges are asked for in rounds of
 * ascending indices from 0, so a source that can only walk may keep its place. */
typedef struct p64_source {
    void *ctx;
    p64_hparams hparams; /* the fields of the extended profile are written in that profile only */
    p64_source_tokenizer tokenizer;
    uint32_t n_tensors;
    void (*get_tensor)(void *ctx, uint32_t index, p64_source_tensor *out_tensor);
    /* Bytes [offset, offset + size) of the tensor: a pointer into a mapping, or `room` (size bytes) after filling
     * it; null when they cannot be read. Valid until the next call. size <= 4 MiB. */
    const uint8_t *(*get_bytes)(void *ctx, uint32_t index, uint64_t offset, uint64_t size, void *room);
    p64_token_fn *get_token;
    void (*get_merge)(void *ctx, uint32_t index, fmt_str *out_left, fmt_str *out_right);
} p64_source;

/* Where the container goes. Bytes that are never written must read as zero (those of a new file do). */
typedef struct p64_sink {
    void *ctx;
    fmt_status (*write)(void *ctx, uint64_t offset, const void *data, uint64_t size);
} p64_sink;

/* Called now and then with bytes done and bytes to do; false stops with FMT_CANCELLED. */
typedef bool p64_progress_fn(void *ctx, uint64_t done, uint64_t total);

typedef struct p64_plan_entry {
    uint32_t source;      /* index in the source */
    p64_role role;
    uint32_t dtype;       /* as it will be written */
    uint32_t layer_index; /* manifold_idx */
    uint64_t blob_offset, blob_size, source_offset, name_hash;
    uint32_t name_offset; /* in the string table */
    uint32_t crc;         /* known after p64_write */
} p64_plan_entry;

typedef struct p64_plan {
    const p64_source *source;
    p64_write_options options;
    p64_header header;
    p64_hparams hparams;
    uint64_t tokenizer_bytes, string_bytes, blob_floor;
    uint64_t size;          /* bytes of the finished file, a multiple of 64 */
    uint32_t n_converted;   /* tensors that change their type */
    uint32_t n_panels;      /* tensors that are written as panels */
    uint32_t n_kept;        /* tensors that should have changed, but had to stay as they are (a note each) */
    uint32_t metadata_crc;  /* known after p64_write */
    p64_plan_entry *entries; /* [tensor_count] in table order; in the caller's memory */
    uint8_t *panel_room;     /* in the caller's memory: for the rows and the bytes of a panel */
    uint8_t *work;           /* in the caller's memory */
    uint64_t work_bytes;
} p64_plan;

/* Bytes of memory for the plan and for writing: small, plus, for ternary, what the largest FFN tensor needs as f32. */
fmt_status p64_plan_memory(const p64_source *source, const p64_write_options *options, uint64_t *out_bytes,
                           fmt_diag *diag);

/* Decides order, types, sizes and offsets. With P64_FORM_KEEP no tensor is read; other forms read the tensors that may
 * change, because one value that the new type cannot hold keeps the whole tensor as it is.
 *
 * FMT_LIMIT: the container would not fit in 2^32 bytes, or a count or size does not fit its field: *diag says which
 * and how large; FMT_BAD_FILE: the source holds what no container may (a name with a NUL, say). FMT_IO: get_bytes
 * failed. Nothing has been written. `memory` must be aligned to 8 and outlive the plan. */
fmt_status p64_plan_make(const p64_source *source, const p64_write_options *options, void *memory,
                         uint64_t memory_bytes, p64_plan *out_plan, fmt_note_fn *note, void *note_ctx,
                         p64_progress_fn *progress, void *progress_ctx, fmt_diag *diag);

/* Writes the container: blobs first, then everything before them, each byte once. The bytes equal those of any other
 * run with the same source and options. FMT_IO: the sink or the source failed; what the sink holds is then
 * worthless. */
fmt_status p64_write(p64_plan *plan, const p64_sink *sink, p64_progress_fn *progress, void *progress_ctx,
                     fmt_diag *diag);

/* The record that the writer stores for this layer of `n_layer` (section 9). */
p64_manifold p64_manifold_project(uint32_t layer, uint32_t n_layer);

#ifdef __cplusplus
}
#endif
#endif
