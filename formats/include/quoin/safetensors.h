/* safetensors.h — reading Safetensors files, and the index of a model that is split over several.
 *
 *     byte 0   length of the header, u64
 *          8   header: one JSON object, UTF-8, padded with spaces
 *     data_at  weights; data_offsets of a tensor count from here
 *
 * The reader proves that the header is what the format says (no key twice, every number in range) and that the tensors
 * cover the data section without hole, overlap or tail. It knows every element type of the format; which of them a
 * program can use is the program's business.
 *
 *     fmt_diag diag;
 *     sft_file file;
 *     if (sft_open(span, &file, &diag) != FMT_OK) { refuse(&diag); }
 *     const sft_tensor *w = sft_find(&file, "model.norm.weight");
 *     use(file.span.data + w->at, w->size);
 *     sft_close(&file);
 *
 * Threading: an opened file or index is immutable and may be shared by threads; open and close belong to one.
 * Memory:    the one reader that allocates: the header goes through jansson, and all memory comes from jansson's
 *            allocator (json_set_alloc_funcs), in proportion to the header, which is at most SFT_MAX_HEADER bytes.
 *            Weights are never copied. The span is borrowed until close.
 * Errors:    FMT_BAD_FILE with a rule of formats/safetensors/rules.def; FMT_NO_SPACE when memory ran out (inside a
 *            string jansson does not tell that from broken JSON); out parameters are untouched on error and nothing
 *            needs to be closed.
 */
#ifndef QUOIN_SAFETENSORS_H
#define QUOIN_SAFETENSORS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/blocks.h>
#include <quoin/fmt.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SFT_MAX_HEADER UINT64_C(104857600) /* bytes: 100 MiB */

/* Element types, in the format's own names. The numbers are this library's, not the file's. */
typedef uint32_t sft_dtype;
enum {
    SFT_BOOL = 0, SFT_F4 = 1, SFT_F6_E2M3 = 2, SFT_F6_E3M2 = 3, SFT_U8 = 4, SFT_I8 = 5, SFT_F8_E5M2 = 6,
    SFT_F8_E4M3 = 7, SFT_F8_E8M0 = 8, SFT_I16 = 9, SFT_U16 = 10, SFT_F16 = 11, SFT_BF16 = 12, SFT_I32 = 13,
    SFT_U32 = 14, SFT_F32 = 15, SFT_C64 = 16, SFT_F64 = 17, SFT_I64 = 18, SFT_U64 = 19, SFT_N_DTYPES = 20
};

typedef struct sft_tensor {
    fmt_str name;          /* UTF-8 with escapes resolved, also terminated; borrowed from the sft_file */
    sft_dtype dtype;
    uint32_t rank;         /* 0: a scalar */
    const uint64_t *shape; /* [rank], outermost first; a 0 is legal and makes the tensor empty */
    uint64_t n_elements;
    uint64_t begin;        /* bytes from data_at, as the file says it */
    uint64_t at;           /* bytes from the start of the file; any address, the header may have any length */
    uint64_t size;         /* bytes, = n_elements times the width of the type */
    uint64_t entry_at;     /* byte offset of its name in the header */
} sft_tensor;

/* One entry of __metadata__. */
typedef struct sft_meta {
    fmt_str key, value;    /* UTF-8, also terminated; borrowed from the sft_file */
} sft_meta;

typedef struct sft_file {
    fmt_span span;
    uint64_t header_size;  /* bytes */
    uint64_t data_at;      /* = 8 + header_size */
    uint64_t n_tensors;
    uint64_t n_metadata;
    const sft_tensor *tensors;  /* [n_tensors], in order of their data */
    const sft_meta *metadata;   /* [n_metadata], in file order */
    const uint32_t *name_order; /* [n_tensors] indices by name, for sft_find */
    void *memory;               /* private */
} sft_file;

/* Checks every rule and fills *out_file; to be closed. A file without tensors is well formed. */
fmt_status sft_open(fmt_span span, sft_file *out_file, fmt_diag *diag);

/* Gives all memory back; the file and everything taken from it is void afterwards. */
void sft_close(sft_file *file);

/* The tensor or metadata value of this name, or null. [any-thread] [no-alloc] */
const sft_tensor *sft_find(const sft_file *file, const char *name);
const fmt_str *sft_find_metadata(const sft_file *file, const char *key);

/* "BF16", …; bits of one element; and the block type of the same layout: false when quoin/blocks.h has none.
 * [any-thread] [no-alloc] */
const char *sft_dtype_name(sft_dtype dtype);
uint32_t sft_dtype_bits(sft_dtype dtype);
bool sft_dtype_to_block(sft_dtype dtype, blk_type *out_type);

/* All rules; *out_count of them. Static. [any-thread] [no-alloc] */
const fmt_rule *sft_rules(uint64_t *out_count);

/* ---------------------------------------------------------------- a model in several files
 *
 * NAME.safetensors.index.json says in "weight_map" which file holds which tensor. The library opens no files: read the
 * index, then for each shard either sft_index_refuse_missing or sft_open and sft_index_check_shard.
 */

typedef struct sft_index_entry {
    fmt_str tensor;    /* UTF-8, also terminated */
    uint32_t shard;
    uint64_t entry_at; /* byte offset of the name in the index */
} sft_index_entry;

typedef struct sft_shard {
    fmt_str name;      /* a plain file name: no folder, not "." or ".."; also terminated */
    uint64_t first;    /* its first entry in file order */
    uint64_t n_entries;
} sft_shard;

typedef struct sft_index {
    uint64_t n_entries;
    uint64_t n_shards;
    const sft_index_entry *entries; /* [n_entries], in file order */
    const sft_shard *shards;        /* [n_shards], in order of their names */
    void *memory;                   /* private */
} sft_index;

/* Reads an index; to be closed. */
fmt_status sft_index_open(fmt_span span, sft_index *out_index, fmt_diag *diag);
void sft_index_close(sft_index *index);

/* The shard's file is not there: fills the diagnosis with its name and the first tensor that is lost, returns
 * FMT_BAD_FILE. */
fmt_status sft_index_refuse_missing(const sft_index *index, uint64_t shard, fmt_diag *diag);

/* Every tensor that the index places in this shard must be in the opened file. */
fmt_status sft_index_check_shard(const sft_index *index, uint64_t shard, const sft_file *file, fmt_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
