/* q42_write_impl.h — what the files of the Q42 writer share.
 *
 * Threading: as quoin/q42_write.h says.
 * Memory:    fixed; the caller's.
 */
#ifndef Q42_WRITE_IMPL_H
#define Q42_WRITE_IMPL_H
#include <quoin/q42_write.h>

enum {
    WRITE_INDEX_BYTES = 16,     /* head of BIDX, FIDX and PIDX */
    WRITE_LEXICON_BYTES = 32,   /* head of a lexicon */
    WRITE_PAGE_BYTES = 16,      /* head of a lexicon page */
    WRITE_PAGE_RECORD = 32,     /* of a lexicon's page directory */
    WRITE_ENTRY_BYTES = 16,     /* key and offset of a lexicon entry */
    WRITE_BLOCK_HEAD = 160,
    WRITE_COPY_BYTES = 32 * 1024
};

struct q42_writer {
    q42_write_options options;
    q42_spool spools[Q42_N_SPOOLS];
    uint64_t sizes[Q42_N_SPOOLS]; /* bytes appended to each */
    fmt_status failed;            /* FMT_OK, or the first error */
    /* lexicon */
    uint64_t n_entries, n_marks, first_key, last_key;
    uint64_t page_strings;        /* bytes of strings in the page that is being filled */
    /* blocks */
    uint64_t n_blocks, n_quins, first_object, last_object;
    uint8_t tip[Q42_DIGEST_BYTES]; /* digest of the last DAG node */
    bool needs_sanctuary;
    uint8_t copy[WRITE_COPY_BYTES];
};

/* Appends to one spool and counts. */
fmt_status q42_writer_append(q42_writer *writer, q42_spool_id spool, const void *data, uint64_t size, fmt_diag *diag);

/* The finished file on its way to the sink. */
typedef struct q42_write_out {
    q42_writer *writer;
    const q42_sink *sink;
    uint64_t at; /* bytes written */
    fmt_diag *diag;
} q42_write_out;

fmt_status q42_write_put(q42_write_out *out, const void *data, uint64_t size);
/* Copies [offset, offset + size) of a spool. */
fmt_status q42_write_put_spool(q42_write_out *out, q42_spool_id spool, uint64_t offset, uint64_t size);

/* Bytes that the lexicon has with what was added so far. */
uint64_t q42_lexicon_bytes(const q42_writer *writer);
fmt_status q42_lexicon_put(q42_write_out *out);

/* Encodes the values of one field into out[258]; returns the bytes written. `field` is that field in the first of n quins (1..850). */
uint32_t q42_postings_encode(const uint64_t *field, uint32_t n, uint8_t *out);

#endif
