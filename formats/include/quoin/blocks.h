/* blocks.h — element and quantised block formats: their sizes, and exact scalar conversion to and from f32.
 *
 * The type numbers are those of P64 section 6 (equal to GGML's where GGML has the type). Decoding here is *the
 * definition* of each format: every kernel of every plugin is compared with it. Nothing here is fast on purpose.
 *
 * Layout words: a row is dims[0] elements, contiguous; rows follow each other without padding. A block type packs
 * `block_elems` consecutive elements of one row into `block_bytes`. Ternary is the exception: one f32 scale, then five
 * elements a byte over the whole tensor, so a row of it need not begin at a byte.
 *
 * Threading: pure functions, thread-safe.
 * Memory:    caller's buffers; nothing is allocated.
 *
 *     uint64_t bytes;
 *     blk_tensor_bytes(BLK_Q8_0, 2, (const uint64_t[]){576, 1536}, &bytes);
 *     blk_decode(BLK_Q8_0, tensor, row * 576, 576, values);
 */
#ifndef QUOIN_BLOCKS_H
#define QUOIN_BLOCKS_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint32_t blk_type;
enum {
    BLK_F32 = 0, BLK_F16 = 1, BLK_Q4_0 = 2, BLK_Q4_1 = 3, BLK_Q5_0 = 6, BLK_Q5_1 = 7, BLK_Q8_0 = 8, BLK_Q8_1 = 9,
    BLK_Q2_K = 10, BLK_Q3_K = 11, BLK_Q4_K = 12, BLK_Q5_K = 13, BLK_Q6_K = 14, BLK_Q8_K = 15,
    BLK_IQ2_XXS = 16, BLK_IQ2_XS = 17, BLK_IQ3_XXS = 18, BLK_IQ1_S = 19, BLK_IQ4_NL = 20, BLK_IQ3_S = 21,
    BLK_IQ2_S = 22, BLK_IQ4_XS = 23, BLK_I8 = 24, BLK_I16 = 25, BLK_I32 = 26, BLK_I64 = 27, BLK_F64 = 28,
    BLK_IQ1_M = 29, BLK_BF16 = 30,
    BLK_TQ1_0 = 34, BLK_TQ2_0 = 35, BLK_MXFP4 = 39, BLK_Q4_K_SOA = 112, BLK_TERNARY = 1158
};

typedef struct blk_info {
    blk_type type;
    const char *name;     /* as printed: "Q4_K", "F16", "ternary"; static */
    uint32_t block_elems; /* elements in a block; 1 for plain types; ternary: 5 (a byte) */
    uint32_t block_bytes; /* bytes of a block; ternary: 1 */
    bool can_decode;      /* blk_decode knows it; false: sizes only (the IQ1, IQ2 and IQ3 families) */
    bool can_encode;
} blk_info;

/* The type's facts, or null when the number is unknown. Static. [any-thread] */
const blk_info *blk_get_info(blk_type type);

/* The type with this printed name (ASCII case ignored), or null. */
const blk_info *blk_find_name(const char *name);

/* The table of types, in ascending order of their numbers: 0, 1, ... until null. */
const blk_info *blk_info_at(uint32_t index);

/* Bytes of a tensor of `rank` (1..4) dimensions, dims[0] contiguous.
 * FMT_NOT_FOUND: unknown type. FMT_BAD_ARG: rank outside 1..4, a zero dimension, or dims[0] no multiple of the block (a
 * writer's rule; see blk_tensor_bytes_padded). FMT_LIMIT: does not fit in 64 bits. out_bytes untouched on error. */
fmt_status blk_tensor_bytes(blk_type type, uint32_t rank, const uint64_t *dims, uint64_t *out_bytes);

/* The same with a short last block counted whole, as P64 section 13 sizes it. */
fmt_status blk_tensor_bytes_padded(blk_type type, uint32_t rank, const uint64_t *dims, uint64_t *out_bytes);

/* Decodes `count` elements beginning at element `first` of the tensor at `tensor` (memory order).
 * `first` must be a multiple of block_elems (ternary: any), otherwise FMT_BAD_ARG; a short last block is allowed. Where
 * rows end in short blocks, element numbers do not run on over rows: pass the row's address and first = 0.
 * One look-up a call, then straight loops: call it for a row or more, not for a block.
 * FMT_UNSUPPORTED when the type has no decoder. values: [count] f32, written. */
fmt_status blk_decode(blk_type type, const void *tensor, uint64_t first, uint64_t count, float *values);

/* Encodes `count` elements (a multiple of block_elems, except ternary: the whole tensor at once) into `out`.
 * Rules: P64 section 14 for F16, BF16, Q4_0, Q4_K_SOA (from f32, the direct quantiser) and ternary; halves are rounded to
 * nearest even. Q8_0 and Q4_1 have one scale rule; Q4_K and Q6_K are searched for (tenths of a microsecond an
 * element).
 * FMT_LIMIT: a value or scale is not a finite number of the target type; *out_index (may be null) tells the element,
 * for block types the first one of its block. `out` is then partly written. FMT_BAD_ARG: count. FMT_UNSUPPORTED: no
 * encoder. */
fmt_status blk_encode(blk_type type, const float *values, uint64_t count, void *out, uint64_t *out_index);

/* Rearranges `count` Q4_K elements into Q4_K_SOA (P64 14.1). FMT_LIMIT as blk_encode: the tensor must stay Q4_K. */
fmt_status blk_q4_k_to_soa(const void *q4_k, uint64_t count, void *out_soa, uint64_t *out_index);

/* Finds the first element that is not finite: for float types the element itself, for block types a block whose scale
 * (or minimum) is not finite (MXFP4: scale byte 255; ternary: its one scale, index 0). Integer types and unknown
 * types never have one; types without decoder do. `first`/`count` as in blk_decode. Runs at about the speed of
 * memory.
 * True when found; *out_index is its element number (the first of its block), otherwise untouched. */
bool blk_find_nonfinite(blk_type type, const void *tensor, uint64_t first, uint64_t count, uint64_t *out_index);

/* Half and bfloat16 <-> float; to half rounds to nearest even and gives infinity from 65520 on. */
float blk_f16_to_f32(uint16_t half);
uint16_t blk_f32_to_f16(float value);
float blk_bf16_to_f32(uint16_t bf16);
uint16_t blk_f32_to_bf16(float value);

#ifdef __cplusplus
}
#endif
#endif
