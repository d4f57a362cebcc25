/* q42_layout.h — where the bytes of a Q42 volume lie, for the reader and the writer; not for users.
 *
 * Offsets end in _AT and count from the start of the structure that they belong to; all integers are little-endian.
 *
 * Threading: constants and pure functions.
 */
#ifndef Q42_LAYOUT_H
#define Q42_LAYOUT_H
#include <stdint.h>

#include <quoin/q42.h>

/* ---------------------------------------------------------------------------------------------------- volume header */

#define Q42_MAGIC "Q42\0" /* with the terminator that follows it: 4 bytes */
#define Q42_MAGIC_BYTES 4u
#define Q42_VERSION_AT 4u
#define Q42_FLAGS_AT 6u
#define Q42_LEXICON_AT 8u /* each section: offset u64, length u64 */
#define Q42_BIDX_AT 24u
#define Q42_DIRECTORY_AT 40u
#define Q42_DATA_AT 56u
#define Q42_BLOCK_COUNT_AT 72u
#define Q42_BLOCK_SIZE_AT 80u
#define Q42_QUINS_PER_BLOCK_AT 84u
#define Q42_TEMPORAL_AT 88u
#define Q42_MERKLE_ROOT_AT 104u
#define Q42_TIMESTAMP_AT 136u
#define Q42_DAG_AT 144u
#define Q42_PERSON_DID_AT 160u
#define Q42_AGENT_DID_AT 168u
#define Q42_MANIFEST_AT 176u
#define Q42_FIDX_AT 192u
#define Q42_PIDX_AT 208u
#define Q42_RESERVED_AT 224u /* zero up to the end of the header */

#define Q42_VERSION_WRITTEN 3u
#define Q42_VERSION_NEWEST 4u /* differs in the lexicon's format only */
#define Q42_KNOWN_FLAGS 0x007Fu

/* ---------------------------------------------------------------------------------------------------------- lexicon */

#define Q42_LEX_MAGIC "Q42LEX\0" /* with the terminator: 8 bytes */
#define Q42_LEX_MAGIC_BYTES 8u
#define Q42_LEX_COUNT_AT 8u
#define Q42_LEX_STRINGS_AT 16u
#define Q42_LEX_FORMAT_AT 24u
#define Q42_LEX_HEADER_BYTES 32u
#define Q42_LEX_KEY_BYTES 16u /* an entry of an index: key u64, offset u64 */

#define Q42_LEX_FLAT 1u
#define Q42_LEX_PAGED 2u
#define Q42_LEX_NAMED 4u

/* Paged: the page count follows the header, then the records of the pages, then the pages. */
#define Q42_LEX_PAGES_AT 40u
#define Q42_LEX_PAGE_RECORD_BYTES 32u
#define Q42_LEX_RECORD_FIRST_AT 0u /* of a record: key of the first entry */
#define Q42_LEX_RECORD_OFFSET_AT 8u /* from the start of the lexicon */
#define Q42_LEX_RECORD_LENGTH_AT 16u
#define Q42_LEX_RECORD_COUNT_AT 24u /* u32, then u32 zero */
#define Q42_LEX_PAGE_COUNT_AT 0u    /* of a page: u32 */
#define Q42_LEX_PAGE_NAMES_AT 4u    /* u32: format 4: count of shared prefixes; otherwise 0 */
#define Q42_LEX_PAGE_BLOB_AT 8u     /* u64 = 16 + 16 * count */
#define Q42_LEX_PAGE_HEADER_BYTES 16u

/* First byte of a tagged entry. */
#define Q42_LEX_TAG_STRING 1u  /* u16 length, bytes */
#define Q42_LEX_TAG_TRIPLE 2u  /* subject, predicate, object */
#define Q42_LEX_TAG_WEBIZEN 3u /* u16 length, bytes */
#define Q42_LEX_TAG_NAMED 4u   /* u16 prefix, u16 length, bytes; format 4 only */

/* ---------------------------------------------------------------------------------------------------------- indexes */

#define Q42_INDEX_VERSION_AT 4u /* behind the magic: u32 = 1 */
#define Q42_INDEX_COUNT_AT 8u   /* u32: blocks; then u32 zero */
#define Q42_INDEX_HEADER_BYTES 16u
#define Q42_INDEX_VERSION 1u
#define Q42_BIDX_MAGIC "BIDX"
#define Q42_FIDX_MAGIC "FIDX"
#define Q42_PIDX_MAGIC "PIDX"
#define Q42_BIDX_ENTRY_BYTES 16u /* smallest and largest object */
#define Q42_FIDX_ENTRY_BYTES 48u /* smallest and largest subject, predicate, context */
#define Q42_DIRECTORY_ENTRY_BYTES 16u /* offset u64 from the data's start, size u32, decoded size u32 */
#define Q42_PAYLOAD_PREFIX_BYTES 4u   /* decoded size, before the LZ4 block */

/* PIDX: block_count + 1 offsets u32 follow the header, then the lists of each block: subject, predicate, context. */
#define Q42_POSTINGS_LIST 0u  /* kind u8, count u16, LEB128 differences; the first from 0 */
#define Q42_POSTINGS_BLOOM 1u /* kind u8, 256 bytes */
#define Q42_POSTINGS_LIST_HEAD 3u
#define Q42_BLOOM_BYTES 256u
#define Q42_BLOOM_HASHES 4u
#define Q42_BLOOM_MIN_VALUES 8u /* a list of at most so many distinct values is never a filter */

/* The bits of a value: below 2048 each; byte bit / 8, lowest bit first. */
static inline void q42_bloom_bits(uint64_t value, uint32_t out_bits[Q42_BLOOM_HASHES]) {
    const uint64_t a = value * UINT64_C(0x9E3779B97F4A7C15);
    const uint64_t b = ~value * UINT64_C(0xBF58476D1CE4E5B9);
    const uint64_t mask = Q42_BLOOM_BYTES * 8 - 1;
    out_bits[0] = (uint32_t)(a & mask);
    out_bits[1] = (uint32_t)(b & mask);
    out_bits[2] = (uint32_t)((a + b) & mask);
    out_bits[3] = (uint32_t)((a ^ (b << 17 | b >> 47)) & mask);
}

/* ------------------------------------------------------------------------------------------------------------ block */

#define Q42_BLOCK_SEQUENCE_AT 0u
#define Q42_BLOCK_COUNT_OF_QUINS_AT 16u /* u64 */
#define Q42_BLOCK_CHECKSUM_AT 24u       /* u32, never read, then flags u32 */
#define Q42_BLOCK_PADDING_AT 32u        /* zero up to the first quin */
#define Q42_BLOCK_QUINS_AT 160u

/* -------------------------------------------------------------------------------------------------------------- DAG */

#define Q42_DAG_COUNT_BYTES 8u /* u64: nodes, which follow */
#define Q42_DAG_PARENT_AT 0u
#define Q42_DAG_QUINS_AT 32u
#define Q42_DAG_AUTHOR_AT 64u
#define Q42_DAG_TIMESTAMP_AT 72u
#define Q42_DAG_MESSAGE_AT 80u
#define Q42_DAG_FLAGS_AT 84u
#define Q42_DAG_QUIN_BYTES 32u /* of each quin that a leaf's digest covers: subject, predicate, object, context */

/* --------------------------------------------------------------------------------------------------------- manifest */

#define Q42_MANIFEST_MAGIC "Q42VOL\0" /* with the terminator: 8 bytes */
#define Q42_MANIFEST_MAGIC_BYTES 8u
#define Q42_MANIFEST_VERSION_AT 8u  /* u16, then u16 zero */
#define Q42_MANIFEST_SEGMENTS_AT 12u /* u32 */
#define Q42_MANIFEST_GENERATION_AT 16u
#define Q42_MANIFEST_SHARDS_AT 24u /* u64; version 1: ignored */
#define Q42_MANIFEST_HEADER_BYTES 32u
#define Q42_MANIFEST_VERSION 2u
#define Q42_SEGMENT_BYTES 66u /* length, first, last, quins, digest[32], locator length u16; then the locator */
#define Q42_SHARD_BYTES 58u   /* the same without the quins */

#endif
