/* lora.h — reading and writing LoRA adapters: low-rank changes to the matrices of a model.
 *
 * An adapter holds, for some projections y = W x of a model, two thin matrices A [rank][n_in] and B [n_out][rank]; with it
 * the projection is y = W x + s B (A x), s = alpha / rank. Version 1 holds one pair, which changes the embedding of a token
 * and says nothing of the model it is for. Version 2 holds a list of pairs, each with its place, and the SHA-256 of the one
 * model file that it belongs to. formats/doc/lora.md tells both for who writes another implementation.
 *
 *     version 1                                       version 2
 *     byte 0   magic "LORA"                           byte 0   magic "LORA"
 *          4   version u32 = 1                             4   version u32 = 2
 *          8   adapter id u8, 3 pad                        8   number of entries u32
 *          12  rank u32                                    12  zero u32
 *          16  alpha f32                                   16  bytes of the file u64
 *          20  n_in u32                                    24  where the data begins u64
 *          24  n_out u32                                   32  SHA-256 of the model file
 *          28  pad u32                                     64  SHA-256 of all bytes behind the table
 *          32  SHA-256 of the payload                      96  CRC-32C of the table u32, 24 zero bytes
 *          64  A f32[rank][n_in], B f32[n_out][rank]       124 CRC-32C of bytes [0, 124) u32
 *                                                          128 table: entries of 48 bytes
 *     entry of version 2                                       data: A, B of the first entry, A, B of the next, …,
 *          0 role u32     16 n_in u32     32 A at u64          each at the next multiple of 64 behind the one before,
 *          4 layer u32    20 n_out u32    40 B at u64          zeros between; the file ends with the last B
 *          8 rank u32     24 element type u32
 *          12 alpha f32   28 zero u32
 *
 * Everything is little-endian. Entries ascend by (layer, role), so the same adapter has the same bytes.
 *
 *     lora_file file;
 *     fmt_diag diag;
 *     if (lora_open(span, &file, &diag) != FMT_OK || lora_check_payload(&file, &diag) != FMT_OK) { refuse(&diag); }
 *     for (uint32_t i = 0; i < file.n_entries; i++) {
 *         const lora_entry entry = lora_get_entry(&file, i);
 *         use(file.span.data + entry.a_at, entry.a_bytes, lora_scale(&entry));
 *     }
 *
 * Threading: functions are pure over their arguments; an opened lora_file is immutable and may be shared by threads.
 * Memory:    nothing is allocated. The span is borrowed until the last use of the lora_file.
 * Errors:    FMT_BAD_FILE and a diagnosis with one rule of formats/lora/rules.def; out parameters are untouched on error.
 */
#ifndef QUOIN_LORA_H
#define QUOIN_LORA_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/blocks.h>
#include <quoin/fmt.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LORA_DIGEST_BYTES 32u
#define LORA_V1_HEADER_BYTES 64u
#define LORA_V2_HEADER_BYTES 128u
#define LORA_ENTRY_BYTES 48u
#define LORA_ALIGNMENT 64u            /* of a matrix in a file of version 2 */
#define LORA_MAX_ENTRIES 65536u
#define LORA_MAX_LAYERS 65536u
#define LORA_NO_LAYER UINT32_MAX      /* the layer of what belongs to none */

/* What an entry changes. Numbers below 256 are those of the roles of a P64. */
typedef uint32_t lora_role;
enum {
    LORA_ATTN_K = 0, LORA_ATTN_V = 1, LORA_ATTN_Q = 2, LORA_ATTN_OUTPUT = 3, LORA_FFN_GATE = 4, LORA_FFN_UP = 5,
    LORA_FFN_DOWN = 6,
    LORA_TOKEN_EMBD = 9,   /* the table of tokens: A is itself a table, n_in tokens of `rank` elements [n_in][rank], and
                              the embedding of token t becomes E[t] + s B A[t] */
    LORA_OUTPUT = 10,      /* the matrix that makes logits */
    LORA_EMBEDDING = 256,  /* the embedding x of a token: x + s B (A x), n_in = n_out = its width. What version 1 holds */
    LORA_ATTN_QKV = 257,   /* rows of Q, then K, then V, as some models store them */
    LORA_FFN_GATE_UP = 258 /* rows of gate, then up */
};

/* One pair, proved: [a_at, a_at + a_bytes) and [b_at, b_at + b_bytes) are inside the span. */
typedef struct lora_entry {
    lora_role role;
    uint32_t layer;        /* LORA_NO_LAYER for LORA_TOKEN_EMBD, LORA_OUTPUT and LORA_EMBEDDING; else < LORA_MAX_LAYERS */
    uint32_t rank;         /* >= 1 */
    float alpha;           /* finite */
    uint32_t n_in, n_out;  /* >= 1 */
    blk_type type;         /* of both matrices: BLK_F32 or BLK_F16 */
    uint64_t a_at, b_at;   /* bytes from the start of the file, multiples of LORA_ALIGNMENT (version 1: of 4) */
    uint64_t a_bytes, b_bytes;
} lora_entry;

/* An opened file. Read the members freely, change none. */
typedef struct lora_file {
    fmt_span span;
    uint32_t version;      /* 1 or 2 */
    uint32_t n_entries;    /* 1..LORA_MAX_ENTRIES; 1 in version 1 */
    uint8_t adapter_id;    /* version 1: the writer's number for it, which means nothing here */
    uint64_t payload_at;   /* what the digest is of: from here to the end of the file */
    uint8_t base[LORA_DIGEST_BYTES];    /* version 2: SHA-256 of the model file */
    uint8_t payload[LORA_DIGEST_BYTES]; /* SHA-256 as the file says it */
} lora_file;

/* True when the first four bytes are "LORA". Says nothing more. [any-thread] [no-alloc] */
bool lora_has_magic(fmt_span span);

/* Proves header, table, sizes and offsets, and fills *out_file. The payload is not read: see lora_check_payload.
 * [any-thread] [no-alloc] */
fmt_status lora_open(fmt_span span, lora_file *out_file, fmt_diag *diag);

/* Reads the payload once: its digest, that every element is finite, and in version 2 that what is between the matrices is
 * zero. FMT_IO when libcrypto refuses. [any-thread] */
fmt_status lora_check_payload(const lora_file *file, fmt_diag *diag);

/* Entry `index` (< file->n_entries). [any-thread] [no-alloc] */
lora_entry lora_get_entry(const lora_file *file, uint32_t index);

/* alpha / rank. [any-thread] [no-alloc] */
float lora_scale(const lora_entry *entry);

/* True for a role that belongs to a layer. [any-thread] [no-alloc] */
bool lora_role_has_layer(lora_role role);

/* "attn_q", …; null for a number that is no role. Static. [any-thread] [no-alloc] */
const char *lora_role_name(lora_role role);

/* All rules, in the order of checking; *out_count of them. Static. [any-thread] [no-alloc] */
const fmt_rule *lora_rules(uint64_t *out_count);

/* ---------------------------------------------------------------- writing
 *
 * The same input gives the same bytes.
 */

/* Takes the next `size` bytes of the file; false: could not, and the writer answers FMT_IO. */
typedef bool lora_sink_fn(void *ctx, const void *bytes, uint64_t size);

/* A pair to write; matrices as they will stand in the file, borrowed for the call. */
typedef struct lora_pair {
    lora_role role;
    uint32_t layer, rank;
    float alpha;
    uint32_t n_in, n_out;
    blk_type type;         /* BLK_F32 or BLK_F16 */
    const void *a, *b;
} lora_pair;

/* Order of entries in a file: negative, zero or positive as `left` comes before, is, or comes behind `right`. Pairs that
 * compare equal cannot stand in one file. [any-thread] [no-alloc] */
int lora_compare(const lora_pair *left, const lora_pair *right);

/* Version 2. `pairs` must ascend. FMT_BAD_ARG, with the rule that reading would refuse it by; nothing was written then.
 * The digest is made in a pass of its own, so the pairs are read twice. [owner-thread] [may block] */
fmt_status lora_write(const uint8_t base[LORA_DIGEST_BYTES], const lora_pair *pairs, uint32_t n_pairs, lora_sink_fn *sink,
                      void *ctx, fmt_diag *diag);

/* Version 1: one pair of LORA_EMBEDDING and BLK_F32. Errors as lora_write. [owner-thread] [may block] */
fmt_status lora_write_v1(uint8_t adapter_id, const lora_pair *pair, lora_sink_fn *sink, void *ctx, fmt_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
