/* q42.h — Q42 volumes: reading and checking.
 *
 *     0          header, 256 bytes
 *     lexicon    hash -> term, in pages (Q42LEX)
 *     manifest   of a volume root: its segments and lexicon shards (flag 0x0004)
 *     BIDX       smallest and largest object of each block
 *     FIDX       smallest and largest subject, predicate and context of each block   (flag 0x0008)
 *     PIDX       which subjects, predicates and contexts a block may hold             (flag 0x0010)
 *     directory  where each block lies
 *     data       blocks of up to 850 quins, LZ4-compressed one by one, sorted by object
 *     DAG        one node a block, whose last digest the header's Merkle root seals
 *
 * Opening checks the header, the bounds of all sections and of the directory, and the headers and page directory of the
 * indexes and the lexicon; what lies inside a lexicon page, a postings list or a block is checked each time before it
 * is used. A reader answers with the first broken rule. It opens nothing, allocates nothing and prints nothing.
 *
 * Threading: a q42_volume is immutable after q42_open: thread-safe. A q42_scan belongs to one thread at a time.
 * Memory:    views point into the span, which must outlive the volume; a block is decoded into the caller's room.
 * Errors:    fmt_status; a refusal fills the diagnosis. Out parameters are untouched on error.
 *
 *     q42_volume volume;
 *     fmt_diag diag;
 *     if (q42_open(span, FMT_MODE_DEFAULT, &volume, NULL, NULL, &diag) != FMT_OK) { puts(diag.text); return; }
 *     const q42_pattern pattern = {.bound = Q42_BOUND_SUBJECT, .subject = q42_hash("<http://e.example/s>", 20)};
 *     q42_scan scan;
 *     q42_quin quin;
 *     q42_scan_begin(&scan, &volume, &pattern, room);
 *     while (q42_scan_next(&scan, &quin, &diag) == FMT_OK) { use(quin.object); }
 */
#ifndef QUOIN_Q42_H
#define QUOIN_Q42_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- words of the format */

#define Q42_HEADER_BYTES 256u
#define Q42_QUIN_BYTES 48u
#define Q42_BLOCK_QUINS 850u
#define Q42_BLOCK_BYTES 40960u      /* a decoded block: 160 bytes of header, then 850 quins */
#define Q42_MAX_PAYLOAD 41156u      /* largest compressed block, its size word counted */
#define Q42_MAX_TERM 65535u         /* bytes of a lexicon string */
#define Q42_MAX_MANIFEST (4u << 20) /* bytes */
#define Q42_MAX_SEGMENTS 65536u
#define Q42_DIGEST_BYTES 32u

enum {
    Q42_FLAG_BLOCKS_LZ4 = 0x0001,    /* always set */
    Q42_FLAG_OBJECT_SORTED = 0x0002, /* always set where there are blocks */
    Q42_FLAG_VOLUME_ROOT = 0x0004,   /* a manifest is embedded */
    Q42_FLAG_FIELD_RANGES = 0x0008,  /* FIDX is there */
    Q42_FLAG_FIELD_POSTINGS = 0x0010, /* PIDX is there */
    Q42_FLAG_COMMONS = 0x0020,       /* declared public */
    Q42_FLAG_SANCTUARY = 0x0040      /* must not leave this machine */
};

/* What bits 60..62 of an object say when bit 63 is clear. */
enum {
    Q42_TAG_HASH = 0,
    Q42_TAG_INTEGER = 1,
    Q42_TAG_DECIMAL = 2,
    Q42_TAG_BOOLEAN = 3,
    Q42_TAG_OFFSET = 4,
    Q42_TAG_FLOAT = 5
};
#define Q42_POINTER_BIT (UINT64_C(1) << 63)
#define Q42_DEFAULT_GRAPH UINT64_C(0)

/* One statement, as in memory; on disk six little-endian u64. */
typedef struct q42_quin {
    uint64_t subject, predicate, object, context, metadata, parity;
} q42_quin;

/* 60-bit FNV-1a of a term's text. [any-thread] */
uint64_t q42_hash(const void *text, uint64_t size);

/* A quin with its parity computed. */
q42_quin q42_quin_make(uint64_t subject, uint64_t predicate, uint64_t object, uint64_t context, uint64_t metadata);

uint64_t q42_quin_parity(const q42_quin *quin); /* the XOR of the other five fields */

/* Total order of a volume: object, subject, predicate, context, metadata, all unsigned. Negative, 0 or positive. */
int q42_quin_compare(const q42_quin *a, const q42_quin *b);

q42_quin q42_quin_load(const uint8_t at[Q42_QUIN_BYTES]);
void q42_quin_store(uint8_t at[Q42_QUIN_BYTES], const q42_quin *quin);

/* Id of a triple used as a term. */
uint64_t q42_triple_id(uint64_t subject, uint64_t predicate, uint64_t object);

static inline unsigned q42_object_tag(uint64_t object) {
    return (unsigned)(object >> 60) & 7u;
}

/* True for an object that holds its value itself: integer, decimal, boolean, float or offset, and no pointer. A
 * triple's id carries the integer tag, so the lexicon is asked first. */
bool q42_object_is_inline(uint64_t object);

/* Signed value of an inline integer, or of a decimal in millionths. */
int64_t q42_object_value(uint64_t object);

/* ------------------------------------------------------------------------------------------------------------ rules */

/* All rules of Q42 files, in the order in which they are checked. Static. [any-thread] */
const fmt_rule *q42_rules(uint32_t *out_count);

/* ---------------------------------------------------------------------------------------------------------- lexicon */

typedef uint32_t q42_lexicon_form;
enum {
    Q42_LEXICON_NONE = 0,     /* length 0 */
    Q42_LEXICON_UNTAGGED = 1, /* format 1, u16 length and bytes: sidecars */
    Q42_LEXICON_TAGGED = 2,   /* format 1 with a kind byte */
    Q42_LEXICON_PAGED = 3,    /* format 2: what the writer makes */
    Q42_LEXICON_NAMED = 4     /* format 4: pages with shared prefixes */
};

const char *q42_lexicon_form_name(q42_lexicon_form form); /* "none", "flat, untagged (1)", "paged (2)", ... */

typedef uint32_t q42_term_kind;
enum { Q42_TERM_STRING = 1, Q42_TERM_TRIPLE = 2, Q42_TERM_WEBIZEN = 3 };

typedef struct q42_term {
    uint64_t hash;      /* key of the entry */
    q42_term_kind kind;
    fmt_str prefix;     /* format 4: shared first part of the text, otherwise empty */
    fmt_str text;       /* the text is prefix followed by this; valid UTF-8 */
    uint64_t triple[3]; /* subject, predicate, object of a triple */
    uint64_t offset;    /* of the entry in the file */
} q42_term;

/* An opened lexicon. Its fields may be read; only q42_lexicon_open writes them. */
typedef struct q42_lexicon {
    fmt_span span;       /* of the lexicon alone */
    uint64_t base;       /* where it begins in its file, for offsets in diagnoses */
    q42_lexicon_form form;
    uint64_t n_entries;
    uint64_t n_pages;    /* 1 for a flat one with entries; 0 when there are none */
} q42_lexicon;

/* Opens the lexicon in `span`, which lies at `base` of its file: header, page directory; a flat one is settled tagged
 * or untagged on its first 64 entries. [no-alloc] */
fmt_status q42_lexicon_open(fmt_span span, uint64_t base, q42_lexicon *out_lexicon, fmt_diag *diag);

/* The page that may hold `hash`, below n_pages; FMT_NO_INDEX when none can. */
uint64_t q42_lexicon_page_of(const q42_lexicon *lexicon, uint64_t hash);

/* Everything about one page: bounds, order, kinds, UTF-8, and that each string's key is the hash of its text (untagged:
 * the whole 64 bits). A caller that looks up often remembers which pages have passed. [no-alloc] */
fmt_status q42_lexicon_check_page(const q42_lexicon *lexicon, uint64_t page, fmt_diag *diag);

/* FMT_NOT_FOUND when there is no such key. What is read on the way is checked; the key of the found string is computed
 * again. A page out of order can hide an entry: q42_lexicon_check_page first, where that matters. [no-alloc] */
fmt_status q42_lexicon_find(const q42_lexicon *lexicon, uint64_t hash, q42_term *out_term, fmt_diag *diag);

/* Where the shared prefixes of one page of format 4 stand, so that no entry has to pass all of them again. Private. */
#define Q42_PREFIX_MARKS 256u
typedef struct q42_prefix_marks {
    uint64_t page;  /* number + 1 of the page that is marked; 0: none */
    uint64_t end;   /* in the page's texts: behind the last prefix */
    uint64_t at[Q42_PREFIX_MARKS]; /* of every n-th prefix */
} q42_prefix_marks;

/* Walks all entries in order of their keys. Start with a zeroed walk; FMT_NOT_FOUND after the last. */
typedef struct q42_lexicon_walk {
    uint64_t page, entry;
    q42_prefix_marks marks; /* private */
} q42_lexicon_walk;
fmt_status q42_lexicon_next(const q42_lexicon *lexicon, q42_lexicon_walk *walk, q42_term *out_term, fmt_diag *diag);

/* --------------------------------------------------------------------------------------------------------- manifest */

typedef struct q42_segment {
    uint64_t bytes;                     /* length of the file */
    uint64_t first, last;               /* objects of a data segment, keys of a lexicon shard */
    uint64_t n_quins;                   /* 0 for a shard */
    uint8_t digest[Q42_DIGEST_BYTES];   /* SHA-256 of the file */
    fmt_str locator;                    /* relative path, or ipfs:// and a CID */
    uint64_t offset;                    /* of the record in the file */
} q42_segment;

typedef struct q42_manifest {
    fmt_span span;
    uint64_t base;
    uint16_t version;    /* 1 or 2 */
    uint64_t generation;
    uint32_t n_segments; /* data segments */
    uint32_t n_shards;   /* lexicon shards, which follow them */
} q42_manifest;

/* Checks the whole manifest: order, bounds, locators. [no-alloc] */
fmt_status q42_manifest_open(fmt_span span, uint64_t base, q42_manifest *out_manifest, fmt_diag *diag);

/* Walks segments, then shards. Start with a zeroed walk; false after the last. Only on an opened manifest. */
typedef struct q42_manifest_walk {
    uint64_t at;    /* bytes into the manifest; 0 at the start */
    uint32_t index; /* of the record that comes next: below n_segments + n_shards */
} q42_manifest_walk;
bool q42_manifest_next(const q42_manifest *manifest, q42_manifest_walk *walk, q42_segment *out_segment);

/* ----------------------------------------------------------------------------------------------------------- volume */

typedef struct q42_section {
    uint64_t offset, length; /* bytes; length 0: not there */
} q42_section;

typedef struct q42_header {
    uint16_t version; /* 3 or 4 */
    uint16_t flags;   /* Q42_FLAG_... */
    q42_section lexicon, bidx, directory, data, temporal, dag, manifest, fidx, pidx;
    uint64_t block_count;
    uint8_t merkle_root[Q42_DIGEST_BYTES];
    uint64_t timestamp_ms; /* of the last write, since 1970; 0 in some writers' files */
    uint64_t person_did_at, agent_did_at; /* bytes; nothing is defined there */
} q42_header;

/* An opened volume. Its fields may be read; only q42_open writes them. */
typedef struct q42_volume {
    fmt_span span;
    fmt_mode mode;
    q42_header header;
    q42_lexicon lexicon;
    q42_manifest manifest; /* zero unless Q42_FLAG_VOLUME_ROOT */
} q42_volume;

/* Checks what the head of this page says, and fills *out_volume.
 *
 *   note   may be null; receives what the default mode accepts although the letter does not (trailing bytes, gaps, ...)
 *
 * FMT_BAD_FILE: *diag names the first broken rule. FMT_UNSUPPORTED: another kind or an older version of file; the text
 * says what to do with it. [any-thread] [no-alloc] */
fmt_status q42_open(fmt_span span, fmt_mode mode, q42_volume *out_volume, fmt_note_fn *note, void *note_ctx,
                    fmt_diag *diag);

/* Smallest and largest object of a block, as BIDX says. block < header.block_count. */
typedef struct q42_range {
    uint64_t least, most;
} q42_range;
q42_range q42_object_range(const q42_volume *volume, uint64_t block);

/* A BIDX that is a file of its own, beside blocks of version 1: header, length, order. */
fmt_status q42_bidx_check(fmt_span span, uint64_t *out_n_blocks, fmt_diag *diag);

/* The blocks [*out_begin, *out_end) whose range meets [least, most]. */
void q42_object_blocks(const q42_volume *volume, uint64_t least, uint64_t most, uint64_t *out_begin, uint64_t *out_end);

typedef uint32_t q42_field;
enum { Q42_SUBJECT = 0, Q42_PREDICATE = 1, Q42_CONTEXT = 2 };

/* Range of a field in a block, as FIDX says. Only with Q42_FLAG_FIELD_RANGES. */
q42_range q42_field_range(const q42_volume *volume, uint64_t block, q42_field field);

/* Whether a block may hold `value` in `field`, as PIDX says. Only with Q42_FLAG_FIELD_POSTINGS. The list is checked
 * before it is used. [no-alloc] */
fmt_status q42_postings_test(const q42_volume *volume, uint64_t block, q42_field field, uint64_t value,
                             bool *out_may_hold, fmt_diag *diag);

typedef struct q42_directory_entry {
    uint64_t offset;   /* of the payload in the file */
    uint32_t size;     /* of the payload, its size word counted */
} q42_directory_entry;
q42_directory_entry q42_get_directory_entry(const q42_volume *volume, uint64_t block);

/* ------------------------------------------------------------------------------------------------------------ block */

/* What reading a block looks at beyond bounds, LZ4 and the count. */
typedef uint32_t q42_block_check;
enum {
    Q42_CHECK_ORDER = 1,  /* objects do not fall, and BIDX tells the first and the last of them */
    Q42_CHECK_PARITY = 2, /* every quin's */
    Q42_CHECK_TAIL = 4,   /* unused slots and padding are zero */
    Q42_CHECK_READ = Q42_CHECK_ORDER | Q42_CHECK_PARITY
};

typedef struct q42_block {
    uint64_t index;    /* in the volume */
    uint64_t sequence; /* as stored */
    uint32_t n_quins;  /* 0..850 */
    const uint8_t *quins; /* n_quins * 48 bytes, in the caller's room */
} q42_block;

/* Decodes block `index` into room[Q42_BLOCK_BYTES]. FMT_BAD_FILE: the diagnosis's index is the block, and its text
 * names the slot. [any-thread] [no-alloc] */
fmt_status q42_read_block(const q42_volume *volume, uint64_t index, q42_block_check checks, uint8_t *room,
                          q42_block *out_block, fmt_diag *diag);

static inline q42_quin q42_block_quin(const q42_block *block, uint32_t slot) {
    return q42_quin_load(block->quins + (uint64_t)slot * Q42_QUIN_BYTES);
}

/* ------------------------------------------------------------------------------------------------------------- scan */

enum { Q42_BOUND_SUBJECT = 1, Q42_BOUND_PREDICATE = 2, Q42_BOUND_OBJECT = 4, Q42_BOUND_CONTEXT = 8 };

/* What to look for. The object is bound to a range: least = most for one object. */
typedef struct q42_pattern {
    uint32_t bound; /* Q42_BOUND_...; fields without their bit are ignored */
    uint64_t subject, predicate, context;
    q42_range object;
} q42_pattern;

typedef struct q42_scan_stats {
    uint64_t n_blocks;         /* in the interval that BIDX gave, or all */
    uint64_t n_decoded;
    uint64_t n_skipped_fidx, n_skipped_pidx;
    uint64_t n_border;         /* of the decoded: neighbours read only to make sure that nothing was missed */
} q42_scan_stats;

/* A running scan; copying it makes a second one that goes on from the same place (with a room of its own, see
 * q42_scan_use_room). */
typedef struct q42_scan {
    const q42_volume *volume;
    q42_pattern pattern;
    q42_block_check checks;    /* Q42_CHECK_READ; a caller may change it before the first q42_scan_next */
    uint8_t *room;             /* [Q42_BLOCK_BYTES] */
    uint64_t next_block, end_block, first_block;
    bool has_block;
    q42_block block;           /* when has_block */
    uint32_t slot;
    uint64_t n_found;
    bool is_seen_below, is_seen_above; /* blocks of the interval held objects below, or above, the range asked for */
    bool is_border_checked;
    q42_scan_stats stats;
} q42_scan;

/* With a bound object the interval of BIDX, otherwise all blocks; in it FIDX and PIDX skip blocks where they are. */
void q42_scan_begin(q42_scan *scan, const q42_volume *volume, const q42_pattern *pattern, uint8_t *room);

/* Gives a copied scan its own room[Q42_BLOCK_BYTES]; the decoded block is copied into it. */
void q42_scan_use_room(q42_scan *scan, uint8_t *room);

/* The next quin that matches; FMT_NOT_FOUND after the last. When a bound object gives no quin at all, the blocks beside
 * the interval are decoded too and compared with BIDX, so that a lying index is an error and not an empty answer; a
 * side on which the interval itself showed objects beyond the range needs none. [no-alloc] */
fmt_status q42_scan_next(q42_scan *scan, q42_quin *out_quin, fmt_diag *diag);

/* --------------------------------------------------------------------------------------------------- DAG and Merkle */

typedef struct q42_dag_node {
    uint8_t parent[Q42_DIGEST_BYTES];
    uint8_t quins_digest[Q42_DIGEST_BYTES]; /* SHA-256 over subject, predicate, object, context of every quin */
    uint64_t author, timestamp_ms;
    uint32_t message_hash, flags;
} q42_dag_node;
enum { Q42_DAG_FORK_DISPUTED = 1, Q42_DAG_GENESIS = 2, Q42_DAG_MERGE_SECONDARY = 8 };
#define Q42_DAG_NODE_BYTES 88u

/* Count of the nodes of a volume with a DAG section (0 without); FMT_BAD_FILE when the section is too short for it. */
fmt_status q42_dag_count(const q42_volume *volume, uint64_t *out_count, fmt_diag *diag);
q42_dag_node q42_dag_get(const q42_volume *volume, uint64_t node); /* below that count */

/* ----------------------------------------------------------------------------------------------------------- verify */

typedef uint32_t q42_level;
enum { Q42_LEVEL_STRUCTURE = 0, Q42_LEVEL_BLOCKS, Q42_LEVEL_LEXICON, Q42_LEVEL_INDEXES, Q42_LEVEL_FULL };

typedef uint32_t q42_verdict;
enum { Q42_PASS = 0, Q42_FAIL, Q42_INCOMPLETE, Q42_NOT_APPLICABLE, Q42_NOT_CHECKED };

/* The result of one check: FMT_OK, or FMT_BAD_FILE with its diagnosis. */
typedef struct q42_finding {
    fmt_status status;
    fmt_diag diag;
} q42_finding;

/* What a worker learns from one block. */
typedef struct q42_block_facts {
    uint64_t index;
    q42_finding decode;     /* blocks.decode: LZ4, count, parity, order, BIDX */
    bool is_decoded;        /* when false nothing below means anything */
    uint32_t n_quins;       /* 1..850 */
    q42_quin first, last;
    uint64_t n_duplicates;  /* quins that stand in this block before */
    q42_finding tail;       /* blocks.tail */
    q42_finding fidx, pidx; /* indexes.fidx_content, indexes.pidx_content; FMT_OK when not wanted or not there */
    uint8_t quins_digest[Q42_DIGEST_BYTES]; /* leaf of the DAG, when wanted */
} q42_block_facts;

typedef uint32_t q42_want;
enum { Q42_WANT_DIGEST = 1, Q42_WANT_INDEXES = 2 };

/* Decodes block `index` into room[Q42_BLOCK_BYTES] and checks what is wanted; its quins stay in the room from byte 160
 * on. [worker] [no-alloc] */
void q42_verify_block(const q42_volume *volume, uint64_t index, q42_want wants, uint8_t *room,
                      q42_block_facts *out_facts);

/* What takes all blocks in their order: objects that do not fall, repetitions, the DAG's links, the root. */
typedef struct q42_chain {
    const q42_volume *volume;
    bool has_dag;                      /* otherwise the root is the running one over the payloads */
    uint64_t n_nodes, n_joined, n_quins, n_duplicates;
    q42_quin last;                     /* of the block before */
    uint8_t digest[Q42_DIGEST_BYTES];  /* of the node before, or the running root */
    q42_finding order, dag, merkle;    /* blocks.decode, dag.chain, merkle.value */
} q42_chain;

void q42_chain_begin(const q42_volume *volume, q42_chain *out_chain);
/* The facts of the next block. With digests when has_dag. [one thread at a time] [no-alloc] */
void q42_chain_join(q42_chain *chain, const q42_block_facts *facts);
/* Without a DAG, for a root that is not zero: the payload of the next block. Independent of q42_chain_join. */
void q42_chain_add_payload(q42_chain *chain, uint64_t block);
/* After all blocks: count of the nodes and the root. */
void q42_chain_end(q42_chain *chain);

/* Everything about a page but its keys (lexicon.entries), and its keys alone (lexicon.keys); q42_lexicon_check_page is
 * both. */
fmt_status q42_lexicon_check_form(const q42_lexicon *lexicon, uint64_t page, fmt_diag *diag);
fmt_status q42_lexicon_check_keys(const q42_lexicon *lexicon, uint64_t page, fmt_diag *diag);

/* The keys of a page that has passed q42_lexicon_check_form: how many, and each. */
uint64_t q42_lexicon_page_size(const q42_lexicon *lexicon, uint64_t page);
uint64_t q42_lexicon_page_key(const q42_lexicon *lexicon, uint64_t page, uint64_t entry);

/* Whether the lexicon must hold a term for this id: not for 0 (the default graph), inline values, pointers and what has
 * other bits above the sixtieth (norm opcodes, identities of triples). */
static inline bool q42_is_named(uint64_t id) {
    return id != 0 && id >> 60 == 0;
}

#ifdef __cplusplus
}
#endif

#endif
