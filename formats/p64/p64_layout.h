/* p64_layout.h — every offset and size of the container, and what the files of this folder share.
 *
 * Offsets named _AT are inside their record; records are little-endian and unpadded.
 *
 * Threading: internal; see p64.h.
 */
#ifndef P64_LAYOUT_H
#define P64_LAYOUT_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/p64.h>
#include <quoin/panels.h>

#define P64_MAGIC_BYTES "p64" /* and the NUL behind it: four bytes */

enum {
    P64_RECORD_BYTES = 64, /* header, hparams, tensor entry, schedule record and manifold record alike */
    P64_MAX_READ_FLAGS_V3 = 0x0007,
    P64_MAX_READ_FLAGS = 0x007F,

    P64_HDR_VERSION_AT = 4,
    P64_HDR_FLAGS_AT = 6,
    P64_HDR_ROLE_TABLE_AT = 8,
    P64_HDR_TENSOR_TABLE_AT = 12,
    P64_HDR_TOKENIZER_AT = 16,
    P64_HDR_HPARAMS_AT = 20,
    P64_HDR_STRING_TABLE_AT = 24,
    P64_HDR_CHECKSUM_AT = 28,
    P64_HDR_MANIFOLD_AT = 32,
    P64_HDR_TENSOR_COUNT_AT = 36,
    P64_HDR_PAGE_SIZE_AT = 40,
    P64_HDR_RESERVED_AT = 44,

    P64_HP_N_LAYER_AT = 0,
    P64_HP_EXTENSION_AT = 28,
    P64_HP_RESERVED_AT = 56,

    P64_ENT_NAME_AT = 0,
    P64_ENT_ROLE_AT = 4,
    P64_ENT_DTYPE_AT = 6,
    P64_ENT_MANIFOLD_AT = 8,
    P64_ENT_RANK_AT = 12,
    P64_ENT_DIMS_AT = 16,
    P64_ENT_BLOB_OFFSET_AT = 32,
    P64_ENT_BLOB_SIZE_AT = 36,
    P64_ENT_SOURCE_OFFSET_AT = 40,
    P64_ENT_SOURCE_HASH_AT = 48,
    P64_ENT_RESERVED_AT = 56,

    P64_SCH_LAYER_AT = 0,
    P64_SCH_BEGIN_AT = 4,
    P64_SCH_END_AT = 8,
    P64_SCH_COUNT_AT = 12,
    P64_SCH_ROLES_AT = 14,
    P64_SCH_RESERVED_AT = 16,

    P64_MAN_VALUES = 10,
    P64_MAN_RESERVED_AT = 40,

    P64_TOK_VERSION_AT = 4,
    P64_TOK_FLAGS_AT = 6,
    P64_TOK_BOS_AT = 8,
    P64_TOK_EOS_AT = 12,
    P64_TOK_ADD_BOS_AT = 16,
    P64_TOK_PAD_AT = 17,
    P64_TOK_HEAD_BYTES = 20,
    P64_TOK_TRAILER_BYTES = 36,
    P64_TOK_MAX_TOKENS = 1000000,
    P64_TOK_MAX_MERGES = 5000000,

    P64_PACK_ALIGNMENT = 256,
    P64_MIN_PAGE_SIZE = 256,
    P64_FREE_NAME_BYTES = 1024, /* names this short never count as sharing bytes */
    P64_DTYPE_LAST_OF_MAP = 1158
};

/* Ids of rules.def. */
#define RULE(name, id, section, mode, standard, advice, sentence) P64_R_##name,
typedef enum p64_rule {
#include "rules.def"
    P64_R_COUNT
} p64_rule;
#undef RULE

/* What an opening reader carries from rule to rule. */
typedef struct p64_reader {
    fmt_span span;
    fmt_mode mode;
    fmt_note_fn *note; /* may be null */
    void *note_ctx;
    fmt_diag *diag; /* may be null */
    p64_file *file;
    p64_index_item *by_name, *by_source, *work_a, *work_b; /* scratch */
    p64_schedule_record *layers;                           /* scratch, [n_layer] */
    uint32_t *token_at;                                    /* scratch, [n_tokens] */
    uint64_t strings_end;                                  /* byte behind the last name that an entry uses */
    uint64_t names_left;                                   /* bytes that long names may still have together */
    uint64_t blobs_end;                                    /* end of the last blob, the blob floor without one */
} p64_reader;

/* Where a finding stands: byte offset, index of tensor or layer or token, wanted and found number. */
typedef struct p64_at {
    uint64_t offset, index, expected, got;
} p64_at;

#define P64_FORMAT(text, args) __attribute__((format(printf, text, args)))

/* Refuses: fills the diagnosis, answers FMT_BAD_FILE. The text says what is wrong; the rule's advice is added. */
fmt_status p64_refuse(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) P64_FORMAT(4, 5);

/* A rule of the strict mode: refuses there, gives a note and FMT_OK in the default mode. */
fmt_status p64_strictly(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) P64_FORMAT(4, 5);

/* A note in both modes. */
void p64_note(const p64_reader *r, p64_rule rule, p64_at at, const char *text, ...) P64_FORMAT(4, 5);

/* Finds the first non-zero byte of [begin, end): UINT64_MAX when all are zero. */
uint64_t p64_first_nonzero(fmt_span span, uint64_t begin, uint64_t end);

/* Refuses under `rule` when a byte of [begin, end) is not zero; strictly() form for rules of the strict mode. */
fmt_status p64_require_zero(const p64_reader *r, p64_rule rule, uint64_t begin, uint64_t end, const char *what);
fmt_status p64_strictly_zero(const p64_reader *r, p64_rule rule, uint64_t begin, uint64_t end, const char *what);

/* The groups of rules, in the order of rules.def. Each answers FMT_OK or the first refusal. */
fmt_status p64_check_header(p64_reader *r);
fmt_status p64_check_section_bounds(p64_reader *r); /* hparams-offset .. checksum-bounds */
fmt_status p64_check_metadata(p64_reader *r);       /* schedule-offset .. hparams-extension */
fmt_status p64_check_tensors(p64_reader *r);        /* rank .. table-order */
fmt_status p64_check_schedule(p64_reader *r);
fmt_status p64_check_strings(p64_reader *r);
fmt_status p64_check_manifold(p64_reader *r);
fmt_status p64_check_tokenizer(p64_reader *r);
fmt_status p64_check_file_end(p64_reader *r); /* file-tail, file-padding, padding */

/* True when this can be one side of a merge. */
bool p64_is_merge_side(fmt_str text);

/* Number of tokens that the section can hold by its own count and size: what scratch is sized by. */
uint32_t p64_count_tokens(const p64_reader *r);

/* Byte offset of entry `index`, and of the string table's last used byte + 1. */
static inline uint64_t p64_entry_at(const p64_file *file, uint32_t index) {
    return (uint64_t)file->header.tensor_table_at + (uint64_t)P64_RECORD_BYTES * index;
}

/* Place of a role in the layer-major table: smaller comes first. Unknown roles have none (UINT32_MAX). */
uint32_t p64_layer_role_rank(p64_role role);
uint32_t p64_global_role_rank(p64_role role);

/* Bytes of a tensor by section 13 (dims in GGML order): FMT_NOT_FOUND for opaque types, FMT_LIMIT when beyond 64
 * bits, FMT_BAD_ARG when a matrix of this shape has no panels. */
fmt_status p64_tensor_bytes(uint32_t dtype, uint32_t rank, const uint32_t dims[4], uint64_t *out_bytes);

/* Lays a tensor out as the panels that its dtype asks for; false when the dtype or the shape has none. */
bool p64_lay_out_panels(uint32_t dtype, uint32_t rank, const uint64_t *dims, blk_panels *out);

/* The type that a dtype is made of: itself, or that of its panels. */
static inline uint32_t p64_base_type(uint32_t dtype) {
    return blk_panel_of_dtype(dtype) != BLK_NO_PANELS ? dtype - BLK_PANEL_DTYPE : dtype;
}

/* True when this hash is that of this name, in the form that flags and role ask for (rule name-hash). */
bool p64_name_matches_hash(uint16_t flags, p64_role role, fmt_str name, uint64_t hash);

/* Writes "tensor." and sixteen digits; out has P64_HEX_NAME_BYTES + 1 bytes. */
enum { P64_HEX_NAME_BYTES = 23 };
void p64_hex_name(uint64_t hash, char out[P64_HEX_NAME_BYTES + 1]);

/* Adds one entry to its layer's record. */
void p64_schedule_add(p64_schedule_record *record, p64_role role, uint64_t blob_offset, uint64_t blob_size);

/* Sorts items by hash, then by `compare` (may be null: keep the order), stable, in n log n steps whatever the input.
 * room: [count]. */
typedef int p64_compare_fn(const void *ctx, const p64_index_item *a, const p64_index_item *b);
void p64_index_sort(p64_index_item *items, p64_index_item *room, uint32_t count, p64_compare_fn *compare,
                    const void *ctx);

/* First item with this hash, or null. */
const p64_index_item *p64_index_find(const p64_index_item *items, uint32_t count, uint64_t hash);

#endif
