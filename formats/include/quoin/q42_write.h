/* q42_write.h — Q42 volumes: writing.
 *
 *     q42_build_block    up to 850 sorted quins become one compressed block and its index records   (any thread)
 *     q42_writer         takes terms in order of their keys and blocks in order of their objects, keeps each section in a
 *                        spool, and at the end gives the whole file to a sink, front to back
 *
 * Section order: header, lexicon, manifest, BIDX, FIDX, PIDX, directory, data, DAG. The writer does no I/O of its own: spools and the
 * sink belong to the caller. The same terms and quins give the same bytes.
 *
 * Threading: q42_build_block is pure; a q42_writer belongs to one thread at a time.
 * Memory:    fixed, inside the struct; what grows is in the spools.
 * Errors:    fmt_status and a diagnosis; after an error the writer takes nothing more.
 *
 *     q42_writer_begin(&writer, &options, spools);
 *     for (each term, ascending)   { q42_writer_add_term(&writer, &term, &diag); }
 *     for (each 850 quins, sorted) { q42_build_block(quins, n, sequence, &block, &diag); q42_writer_add_block(&writer, &block, &diag); }
 *     q42_writer_finish(&writer, &sink, &diag);
 */
#ifndef QUOIN_Q42_WRITE_H
#define QUOIN_Q42_WRITE_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/q42.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The lexicon entry that says which texts a volume's terms have. Never counted as a term. */
#define Q42_SURFACE_MARK "quoin:terms=surface:1"

/* ------------------------------------------------------------------------------------------------------------ block */

#define Q42_MAX_POSTINGS 774u /* three fields of at most 258 bytes */

/* A block ready to be written. */
typedef struct q42_built_block {
    uint32_t n_quins;
    uint64_t sequence;
    q42_range object;
    q42_range fields[3];                      /* by q42_field */
    q42_quin first, last;
    uint8_t quins_digest[Q42_DIGEST_BYTES];
    bool needs_sanctuary;                     /* a quin has a metadata tier of 2..4 or lane 2 */
    bool has_label_byte;                      /* a context's q42_context_label is not 0: see q42_writer_need_sanctuary */
    uint32_t postings_size, payload_size;     /* bytes */
    uint8_t postings[Q42_MAX_POSTINGS];
    uint8_t payload[Q42_MAX_PAYLOAD];         /* size word and LZ4 block */
} q42_built_block;

/* What bits 56..63 of a context would say as a sensitivity label: 1 restricted, 2 classified, 0 anything else. The hash of a graph's name
 * has such bits by chance: it is a label only when the lexicon has no text for that context. */
static inline unsigned q42_context_label(uint64_t context) {
    const unsigned byte = (unsigned)(context >> 56);
    return byte == 1 || byte == 2 ? byte : 0;
}

/* Builds one block of 1..850 quins in the order of q42_quin_compare (an exact repetition is allowed).
 * FMT_BAD_ARG: count, order, or a quin whose parity is wrong; index is its slot. `room` is Q42_BLOCK_BYTES. [any-thread] [no-alloc] */
fmt_status q42_build_block(const q42_quin *quins, uint32_t n_quins, uint64_t sequence, uint8_t *room,
                           q42_built_block *out_block, fmt_diag *diag);

/* The same with one LZ4 sequence of literals: bytes that do not depend on the version of the compressor. For vectors. */
fmt_status q42_build_block_literal(const q42_quin *quins, uint32_t n_quins, uint64_t sequence, uint8_t *room,
                                   q42_built_block *out_block, fmt_diag *diag);

/* ----------------------------------------------------------------------------------------------------------- writer */

/* Bytes kept until the sizes of all sections are known. `append` adds at the end; `read` fills room[size] from `offset`, both
 * inside what was appended. */
typedef struct q42_spool {
    void *ctx;
    fmt_status (*append)(void *ctx, const void *data, uint64_t size, fmt_diag *diag);
    fmt_status (*read)(void *ctx, uint64_t offset, void *room, uint64_t size, fmt_diag *diag);
} q42_spool;

typedef uint32_t q42_spool_id;
enum {
    Q42_SPOOL_LEXICON_INDEX = 0, /* page directory, or the index of a flat lexicon */
    Q42_SPOOL_LEXICON,           /* pages, or the strings of a flat one */
    Q42_SPOOL_BIDX, Q42_SPOOL_FIDX, Q42_SPOOL_PIDX_TABLE, Q42_SPOOL_PIDX, Q42_SPOOL_DIRECTORY, Q42_SPOOL_DATA,
    Q42_SPOOL_DAG,
    Q42_N_SPOOLS
};

/* Where the finished file goes, front to back. */
typedef struct q42_sink {
    void *ctx;
    fmt_status (*write)(void *ctx, const void *data, uint64_t size, fmt_diag *diag);
} q42_sink;

typedef struct q42_write_options {
    uint64_t timestamp_ms;   /* of the header and of every DAG node */
    uint64_t author;         /* of every DAG node */
    bool is_commons;         /* sets 0x0020, unless sanctuary is needed */
    bool is_sanctuary;       /* sets 0x0040 */
    bool is_flat;            /* a 1-tagged lexicon: needed for triples and Webizen identities */
    bool has_dag;            /* standalone volumes and segments; a root or a shard has none */
    fmt_span manifest;       /* makes a volume root; borrowed until finish */
} q42_write_options;

#define Q42_PAGE_ENTRIES 4096u

typedef struct q42_writer q42_writer; /* fixed size: q42_writer_bytes() of zeroed memory aligned to 16 */
uint64_t q42_writer_bytes(void);

void q42_writer_begin(q42_writer *writer, const q42_write_options *options, const q42_spool spools[Q42_N_SPOOLS]);

/* Keys strictly ascending. A string's key must be the hash of its text (or the pointer form of one: bit 63). FMT_BAD_ARG: order, key,
 * length, or a kind that needs is_flat. */
fmt_status q42_writer_add_term(q42_writer *writer, const q42_term *term, fmt_diag *diag);

/* First object >= the last one of the block before. Any time between begin and finish. */
fmt_status q42_writer_add_block(q42_writer *writer, const q42_built_block *block, fmt_diag *diag);

/* The volume becomes Sanctuary whatever its options say. For a caller who finds that a context with a label byte is no graph's name. */
void q42_writer_need_sanctuary(q42_writer *writer);

/* Bytes that the file would have if it were finished now; for cutting sets into segments. */
uint64_t q42_writer_size(const q42_writer *writer);

typedef struct q42_write_report {
    uint64_t bytes, n_quins, n_blocks, n_terms;
    uint16_t flags;                         /* as written */
    uint64_t first_object, last_object;     /* where there are blocks */
    uint64_t first_key, last_key;           /* where there are terms */
    uint8_t merkle_root[Q42_DIGEST_BYTES];
} q42_write_report;

fmt_status q42_writer_finish(q42_writer *writer, const q42_sink *sink, q42_write_report *out_report, fmt_diag *diag);

/* --------------------------------------------------------------------------------------------------------- manifest */

/* Bytes that the manifest of these records has; segments first, then shards. FMT_LIMIT over 4 MiB or 65,536 segments; FMT_BAD_ARG when a record
 * breaks a rule of manifests. `out` may be null to learn the size. */
fmt_status q42_manifest_encode(const q42_segment *records, uint32_t n_segments, uint32_t n_shards, uint64_t generation,
                               uint8_t *out, uint64_t room, uint64_t *out_size, fmt_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
