/* q42_files.h — the files around Q42 volumes: telling them apart, journals, envelopes, vault manifests, content addresses,
 * archives, torrents, the right to publish, and what older writers left.
 *
 *     journal       what a user added to and took from one volume, in transactions      (Q42J)
 *     envelope      a JSON-LD object with the hash of a profile's name                   (QCHK)
 *     vault         a text that names the volumes that belong together                   (.qualia)
 *     CID, CAR      the address of bytes, and an archive of addressed bytes
 *     torrent       pieces and info-hash of one file, and its magnet link
 *     publication   may this volume be given away
 *     legacy        version 1 blocks with sidecars, framed transport, bare quins, version 2 headers
 *
 * As everywhere in this library: a span goes in, nothing is opened, printed or (but for the JSON of an envelope, which is
 * jansson's) allocated, and the first broken rule is named. Where nothing else is said, a view points into the span.
 *
 * Threading: every opened thing is immutable: thread-safe. Walks, builders and tallies belong to one thread at a time.
 * Errors:    fmt_status; FMT_BAD_FILE fills the diagnosis. Out parameters are untouched on error.
 *
 *     q42_journal journal;
 *     q42_journal_walk walk = {0};
 *     q42_journal_entry entry;
 *     if (q42_journal_open(span, FMT_MODE_DEFAULT, &journal, NULL, NULL, &diag) != FMT_OK) { puts(diag.text); return; }
 *     while (q42_journal_next(&journal, &walk, &entry)) { use(entry.type, entry.quin); }
 */
#ifndef QUOIN_Q42_FILES_H
#define QUOIN_Q42_FILES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/fmt.h>
#include <quoin/q42.h>
#include <quoin/span.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All rules of this header's files. Static. [any-thread] */
const fmt_rule *q42_files_rules(uint32_t *out_count);

/* ------------------------------------------------------------------------------------------------- what is it (12) */

typedef uint32_t q42_file_kind;
enum {
    Q42_FILE_UNKNOWN = 0,
    Q42_FILE_VOLUME,       /* version 3 or 4, or one that this library does not know: q42_open says more */
    Q42_FILE_OLD_VOLUME,   /* version 1 or 2 in the header: migrate */
    Q42_FILE_EARLY_VOLUME, /* version 3 in the header, but blocks without headers: an import of June 2026 */
    Q42_FILE_LEXICON,      /* a sidecar */
    Q42_FILE_BIDX,         /* a sidecar */
    Q42_FILE_JOURNAL,
    Q42_FILE_ENVELOPE,
    Q42_FILE_WEIGHTS,      /* P64 */
    Q42_FILE_OLD_WEIGHTS,  /* Q42W */
    Q42_FILE_KV_PAGE,      /* QKVP */
    Q42_FILE_RAW,          /* version 1: blocks alone */
    Q42_FILE_FRAMED,       /* .c.q42 */
    Q42_FILE_FLAT,         /* a multiple of 48 bytes and nothing else: to be read only when the user says so */
    Q42_FILE_CAR,
    Q42_FILE_WAL,          /* QWAL: quoin/qwal.h */
    Q42_FILE_N_KINDS
};

/* By magic; where there is none by walking the whole file: raw blocks, then frames, then an archive, then bare quins. A magic that
 * matched is final. [any-thread] [no-alloc] */
q42_file_kind q42_detect(fmt_span span);
const char *q42_file_kind_name(q42_file_kind kind); /* "a Q42 volume", "a Q42 journal", ... */

/* ---------------------------------------------------------------------------------------------------- journal (13) */

#define Q42_JOURNAL_HEADER_BYTES 128u
#define Q42_JOURNAL_FRAME_BYTES 32u
#define Q42_JOURNAL_MAX_PAYLOAD 65543u /* a key and the longest term */

typedef struct q42_journal_header {
    uint16_t profile; /* 1 generic, 2 workspace, 3 simulation, 4 clinical, 5 civic */
    uint8_t privacy;  /* 0 sanctuary, 1 restricted, 2 commons */
    uint8_t flags;
    uint64_t world;   /* hash of a DID; 0 without one */
    uint8_t base_digest[Q42_DIGEST_BYTES]; /* SHA-256 of the whole volume that is edited */
    uint64_t base_generation;
    uint32_t schema_rules; /* version, 1 */
    uint8_t required_pack[Q42_DIGEST_BYTES];
} q42_journal_header;

typedef struct q42_journal {
    fmt_span span;
    q42_journal_header header;
    uint64_t end;             /* one past the last committed transaction; at least 128: where appending goes on */
    uint64_t n_transactions;  /* committed */
    uint64_t n_adds, n_removes, n_terms; /* in them */
    uint64_t last_sequence;   /* of any frame before `end`; 0 without one */
    uint32_t last_transaction; /* its number; 0 without one */
    uint64_t n_torn_bytes;    /* behind `end`: a transaction without commit, or half a frame */
    uint64_t n_ignored;       /* frames that are well formed but say nothing, see q42_journal_open */
} q42_journal;

/* Reads all frames. Half a frame at the end, or a transaction without commit, is what a crash leaves: a note (FMT_MODE_STRICT refuses
 * it), and not part of the journal. A frame of a wrong size, a term that is no UTF-8 or not the text of its key, and a frame outside a transaction are
 * ignored with a note (FMT_MODE_STRICT refuses them). A wrong checksum, an unknown type, a payload over the limit and a quin with
 * a wrong parity are errors. [no-alloc] */
fmt_status q42_journal_open(fmt_span span, fmt_mode mode, q42_journal *out_journal, fmt_note_fn *note, void *note_ctx,
                            fmt_diag *diag);

/* FMT_BAD_FILE when the journal is about another volume. */
fmt_status q42_journal_check_base(const q42_journal *journal, const uint8_t digest[Q42_DIGEST_BYTES], fmt_diag *diag);

typedef uint32_t q42_journal_type;
enum {
    Q42_JOURNAL_BEGIN = 1, Q42_JOURNAL_ADD = 2, Q42_JOURNAL_REMOVE = 3, Q42_JOURNAL_TERM = 4, Q42_JOURNAL_RECEIPT = 5,
    Q42_JOURNAL_COMMIT = 0xFF
};

typedef struct q42_journal_entry {
    q42_journal_type type;
    uint64_t sequence, tick;
    uint32_t transaction;     /* number as stored */
    uint64_t ordinal;         /* of the transaction in this file, from 0: its place in time */
    uint64_t offset;          /* of the frame */
    uint64_t command, actor;  /* BEGIN */
    q42_quin quin;            /* ADD, REMOVE */
    uint64_t key;             /* TERM */
    fmt_str text;             /* TERM */
    const uint8_t *receipt;   /* RECEIPT: 32 bytes */
} q42_journal_entry;

/* Walks the frames of committed transactions, in file order, what is ignored left out. Start with a zeroed walk; false after the last. In
 * each transaction the removes take effect before the adds, whatever their order here. */
typedef struct q42_journal_walk {
    uint64_t at, ordinal;
    bool is_inside;
} q42_journal_walk;
bool q42_journal_next(const q42_journal *journal, q42_journal_walk *walk, q42_journal_entry *out_entry);

void q42_journal_encode_header(const q42_journal_header *header, uint8_t out[Q42_JOURNAL_HEADER_BYTES]);

/* Writes the frame of entry->type (with its sequence, tick and transaction) to out; answers its length, or 0 when it does not fit in
 * `room` or a term is too long. */
uint64_t q42_journal_encode(const q42_journal_entry *entry, uint8_t *out, uint64_t room);

/* --------------------------------------------------------------------------------------------------- envelope (14) */

#define Q42_ENVELOPE_HEADER_BYTES 16u

typedef struct q42_envelope {
    uint64_t profile;         /* q42_hash("profile:" + name) */
    const char *profile_name; /* static, when it is one of the known six; otherwise null */
    fmt_str payload;          /* a JSON object, UTF-8 */
    uint64_t n_trailing;      /* bytes behind it */
} q42_envelope;

/* Trailing bytes are a note; strict refuses them. FMT_NO_SPACE when jansson finds no memory. */
fmt_status q42_envelope_open(fmt_span span, fmt_mode mode, q42_envelope *out_envelope, fmt_note_fn *note,
                             void *note_ctx, fmt_diag *diag);
uint64_t q42_envelope_profile(const char *name, uint64_t size); /* hash of "profile:" and this name */
void q42_envelope_encode_header(uint64_t profile, uint32_t payload_size, uint8_t out[Q42_ENVELOPE_HEADER_BYTES]);

/* ------------------------------------------------------------------------------------------------------ vault (14) */

#define Q42_VAULT_NAMESPACE "https://schema.qualia.dev/vocab#"
#define Q42_VAULT_PATH_SIZE 1024u
#define Q42_VAULT_MAX_BYTES (1u << 20)
#define Q42_VAULT_PREFIXES 16u

typedef uint32_t q42_vault_term;
enum {
    Q42_VAULT_OTHER = 0, /* a property that is not of the list */
    Q42_VAULT_NAME, Q42_VAULT_DATA_FILE, Q42_VAULT_ENVELOPE, /* what counts */
    Q42_VAULT_LEXICON_FILE, Q42_VAULT_INDEX_FILE,            /* hints to version 1 sidecars */
    Q42_VAULT_DESCRIPTION, Q42_VAULT_TYPE
};

typedef struct q42_vault_entry {
    q42_vault_term term;
    fmt_str property; /* as written: a prefixed name, an IRI, or "a" */
    fmt_str value;    /* between its quotes or brackets, escapes as written; a name or number as written */
    bool is_iri, is_text;
    uint64_t offset;  /* of the value */
    uint32_t line, column; /* from 1, of the value; columns in bytes */
} q42_vault_entry;

/* A manifest in a subset of Turtle: prefixes, then one subject with `;` and `,` lists; values are IRIs, prefixed names, literals,
 * numbers, booleans. @base (which would move the files), anonymous nodes, collections and a second subject are refused by name. At
 * least one includesDataFile. */
typedef struct q42_vault {
    fmt_span span;
    fmt_str subject; /* as written */
    uint32_t n_entries, n_data_files, n_envelopes;
    uint32_t n_prefixes;
    fmt_str prefixes[Q42_VAULT_PREFIXES][2]; /* name without its colon, and IRI, both as written */
    uint64_t body_at;                        /* behind the subject */
} q42_vault;
fmt_status q42_vault_open(fmt_span span, q42_vault *out_vault, fmt_diag *diag);

typedef struct q42_vault_walk {
    uint64_t at, line_at;
    uint32_t line, index;
    fmt_str property; /* of the list that the walk is in */
    q42_vault_term term;
} q42_vault_walk;
/* Start with a zeroed walk; false after the last. */
bool q42_vault_next(const q42_vault *vault, q42_vault_walk *walk, q42_vault_entry *out_entry);

/* The text of a value, its escapes (in an IRI also %XX) decoded and terminated. FMT_BAD_FILE when it does not fit or a NUL is in it. */
fmt_status q42_vault_text(const q42_vault_entry *entry, char out[Q42_VAULT_PATH_SIZE], fmt_diag *diag);
/* The same for a file: relative, no part `..`, no backslash, no scheme. */
fmt_status q42_vault_path(const q42_vault_entry *entry, char out[Q42_VAULT_PATH_SIZE], fmt_diag *diag);

/* -------------------------------------------------------------------------------------------- content address (10) */

enum { Q42_CODEC_RAW = 0x55, Q42_CODEC_DAG_PB = 0x70 };
#define Q42_CID_BYTES 45u      /* longest stored form: two varints and 34 bytes */
#define Q42_CID_TEXT_SIZE 96u

typedef struct q42_cid {
    uint32_t version; /* 0 or 1; 0 means dag-pb */
    uint64_t codec;
    uint8_t digest[Q42_DIGEST_BYTES]; /* always SHA-256 */
} q42_cid;

/* CIDv1 of these bytes. False only when libcrypto refuses. */
bool q42_cid_of(uint64_t codec, const void *data, uint64_t size, q42_cid *out_cid);
bool q42_cid_equal(const q42_cid *a, const q42_cid *b); /* codec and digest; the version does not matter */

/* Text: Qm... or z... (base58btc), b... (base32), f... (hexadecimal). */
fmt_status q42_cid_parse(fmt_str text, q42_cid *out_cid, fmt_diag *diag);
typedef uint32_t q42_cid_base;
enum { Q42_CID_BASE32 = 0, Q42_CID_BASE58, Q42_CID_HEX };
/* Version 0 has only base58 and is written so. Returns `out`. */
const char *q42_cid_text(const q42_cid *cid, q42_cid_base base, char out[Q42_CID_TEXT_SIZE]);

/* Bytes: reads one at the start of the span and tells its length; `at` is where that lies in its file. */
fmt_status q42_cid_load(fmt_span span, uint64_t at, q42_cid *out_cid, uint64_t *out_size, fmt_diag *diag);
uint64_t q42_cid_store(const q42_cid *cid, uint8_t out[Q42_CID_BYTES]); /* length */

/* ------------------------------------------------------------------------------------------------------ UnixFS DAG */

#define Q42_LEAF_BYTES (1u << 20)
#define Q42_NODE_LINKS 1024u
#define Q42_NODE_LEVELS 5u
#define Q42_NODE_ROOM (96u * 1024u)

/* Receives each block in the order in which it is complete: leaves in file order, a node after its children. */
typedef struct q42_block_sink {
    void *ctx;
    fmt_status (*take)(void *ctx, const q42_cid *cid, const uint8_t *data, uint64_t size, fmt_diag *diag);
} q42_block_sink;

typedef struct q42_dag_link {
    q42_cid cid;
    uint64_t content; /* bytes of the file below it */
    uint64_t total;   /* bytes of all blocks below it, itself counted */
} q42_dag_link;

/* A file becomes a balanced DAG: raw leaves of 1 MiB, nodes of up to 1,024 links. A file of up to 1 MiB is one raw block. Large: belongs
 * on the heap. Zero it, set sink, add all leaves, finish. */
typedef struct q42_file_dag {
    q42_block_sink sink;
    uint64_t n_leaves, bytes;
    uint32_t n_links[Q42_NODE_LEVELS];
    q42_dag_link links[Q42_NODE_LEVELS][Q42_NODE_LINKS];
    uint8_t node[Q42_NODE_ROOM];
} q42_file_dag;

/* The next leaf: Q42_LEAF_BYTES, only the last one less (0 only for an empty file). Whatever the sink answers is passed on. */
fmt_status q42_file_dag_add(q42_file_dag *dag, const uint8_t *data, uint64_t size, fmt_diag *diag);
fmt_status q42_file_dag_finish(q42_file_dag *dag, q42_cid *out_root, fmt_diag *diag);

/* -------------------------------------------------------------------------------------------------------- CAR (10) */

#define Q42_CAR_HEADER_BYTES 59u /* length word and header with one root, as we write it */
#define Q42_CAR_SECTION_BYTES 55u /* longest head of a block: length and CID */

typedef struct q42_car {
    fmt_span span;
    uint64_t data_at;  /* first section */
    uint32_t n_roots;  /* as the header says */
    q42_cid root;      /* the first, when n_roots > 0 */
    bool is_canonical; /* the header is version 1 in canonical DAG-CBOR */
} q42_car;

typedef struct q42_car_block {
    q42_cid cid;
    fmt_span data;
    uint64_t offset; /* of the section */
} q42_car_block;

/* Looks at the header alone. Version 2 is FMT_UNSUPPORTED; a header that is no version 1 map is a note (strict refuses). */
fmt_status q42_car_open(fmt_span span, fmt_mode mode, q42_car *out_car, fmt_note_fn *note, void *note_ctx,
                        fmt_diag *diag);

/* The block at *at, which begins at 0; its digest is checked. FMT_NOT_FOUND after the last. The file's bytes are the data of the raw blocks,
 * one after another. */
fmt_status q42_car_next(const q42_car *car, uint64_t *at, q42_car_block *out_block, fmt_diag *diag);

void q42_car_encode_header(const q42_cid *root, uint8_t out[Q42_CAR_HEADER_BYTES]);
/* What stands before `size` bytes of data; answers its length. */
uint64_t q42_car_encode_section(const q42_cid *cid, uint64_t size, uint8_t out[Q42_CAR_SECTION_BYTES]);

/* ------------------------------------------------------------------------------------------ torrent and magnet (10) */

#define Q42_SHA1_BYTES 20u

/* A power of two from 256 KiB to 16 MiB, so that there are at most about 2,048 pieces where that is possible. */
uint64_t q42_piece_bytes(uint64_t file_bytes);

typedef struct q42_torrent {
    fmt_str name;           /* of the file, as it will be saved: no slash */
    uint64_t bytes, piece_bytes;
    const uint8_t *pieces;  /* SHA-1 of each piece, 20 bytes each, ceil(bytes / piece_bytes) of them */
    fmt_str web_seed;       /* URL; empty without one */
} q42_torrent;

/* Writes the whole .torrent; `out` may be null to learn the size. The info-hash may be null. FMT_NO_SPACE: *out_size is what it needs. */
fmt_status q42_torrent_encode(const q42_torrent *torrent, uint8_t *out, uint64_t room, uint64_t *out_size,
                              uint8_t out_info_hash[Q42_SHA1_BYTES], fmt_diag *diag);

/* Reads a .torrent of one file; strict bencoding. out_info_hash may be null. */
fmt_status q42_torrent_open(fmt_span span, q42_torrent *out_torrent, uint8_t out_info_hash[Q42_SHA1_BYTES],
                            fmt_diag *diag);

/* magnet:?xt=urn:btih:HEX&dn=NAME&xl=BYTES and, with a URL, &ws=URL, or &ws=URL&xs=URL where that is also the exact source. Answers
 * the length without the final NUL; nothing is written when it does not fit. `out` may be null. */
uint64_t q42_magnet(const uint8_t hash[Q42_SHA1_BYTES], fmt_str name, uint64_t bytes, fmt_str web_seed,
                    bool is_exact_source, char *out, uint64_t room);

/* ------------------------------------------------------------------------------------------------ publication (10) */

typedef uint32_t q42_publication_class;
enum {
    Q42_CLASS_MIXED = 0,   /* Commons and Sanctuary at once: closed */
    Q42_CLASS_SANCTUARY,
    Q42_CLASS_GATED,       /* quins of the commons lane */
    Q42_CLASS_COMMONS,
    Q42_CLASS_UNMARKED
};
const char *q42_class_name(q42_publication_class which); /* "mixed-fail-closed", "sanctuary", ... */

typedef uint32_t q42_why;
enum { Q42_WHY_NOTHING = 0, Q42_WHY_LABEL, Q42_WHY_TIER, Q42_WHY_LANE, Q42_WHY_BLOCK };

/* The first quin (or block) that closes a volume. */
typedef struct q42_witness {
    q42_why why;
    uint64_t block;
    uint32_t slot;
    q42_quin quin;
} q42_witness;

/* Whether `context` names a graph: it is the key of a lexicon entry whose text hashes to it. */
typedef bool q42_is_name_fn(void *ctx, uint64_t context);

/* Counts quins and keeps what closes the volume, by our rule and by the reference's, which takes the top byte of every context for a label.
 * Zero it, set flags (those of all files of a set: Commons only if all have it, Sanctuary if any) and is_name. */
typedef struct q42_publication {
    uint16_t flags;
    q42_is_name_fn *is_name; /* may be null: then no context is a name */
    void *is_name_ctx;
    uint64_t n_quins, n_bad_blocks;
    uint64_t n_by_label[3];  /* public, restricted, classified: our rule */
    uint64_t n_by_byte[3];   /* the same: the reference's */
    uint64_t n_by_tier[5];   /* public, professional, legal, medical, fiduciary */
    uint64_t n_by_lane[4];   /* passthrough, commons, bilateral, spatial */
    q42_witness ours, theirs;
    uint64_t last_context;   /* what is_name said last */
    bool last_is_name, has_last;
} q42_publication;

void q42_publication_add(q42_publication *tally, const q42_block *block);
void q42_publication_add_bad_block(q42_publication *tally, uint64_t block);

typedef struct q42_publication_verdict {
    q42_publication_class which;
    bool is_sanctuary;
    bool may_publish;      /* ours: Commons set, Sanctuary clear, and the scan agrees. Theirs: as its table says */
    const char *reason;    /* static, a clause that fits behind "not public: " or "public: " */
} q42_publication_verdict;
q42_publication_verdict q42_publication_judge(const q42_publication *tally);
q42_publication_verdict q42_publication_judge_as_reference(const q42_publication *tally);

/* Whether this quin needs Sanctuary; our rule, with what the caller knows about its context. */
q42_why q42_quin_closes(const q42_quin *quin, bool context_is_name);
q42_why q42_quin_closes_for_reference(const q42_quin *quin);

/* ------------------------------------------------------------------------------------------------- legacy (11, 12) */

/* Version 1: blocks one after another, with sidecars X.lex and X.bidx. Keys are whole 64-bit hashes, parity is not kept. */
typedef struct q42_raw {
    fmt_span span;
    uint64_t n_blocks;
    q42_lexicon lexicon; /* form Q42_LEXICON_NONE without a sidecar */
    fmt_span bidx;       /* empty without one */
} q42_raw;

/* `lexicon` and `bidx` may be empty. Checks the counts of all blocks and the sidecar's head and ranges; the index's diagnosis
 * offsets are those of the index's file. */
fmt_status q42_raw_open(fmt_span blocks, fmt_span lexicon, fmt_span bidx, q42_raw *out_raw, fmt_diag *diag);

/* A view of block `index`; nothing is copied. With an index its range must agree with the quins, which must be in order. */
fmt_status q42_raw_read_block(const q42_raw *raw, uint64_t index, q42_block *out_block, fmt_diag *diag);

/* As q42_object_range and q42_object_blocks; without an index every block's range is everything. */
q42_range q42_raw_range(const q42_raw *raw, uint64_t block);
void q42_raw_object_blocks(const q42_raw *raw, uint64_t least, uint64_t most, uint64_t *out_begin, uint64_t *out_end);

/* Framed transport: chunks of quins, LZ4-compressed one by one. */
#define Q42_CHUNK_BYTES 393216u

/* The chunk at *at, which begins at 0, decoded into room[Q42_CHUNK_BYTES]; quins of zeros, which are padding, are taken out and the rest
 * moved together. FMT_NOT_FOUND after the last. */
fmt_status q42_framed_next(fmt_span span, uint64_t *at, uint8_t *room, uint32_t *out_n_quins, fmt_diag *diag);

/* Bare quins: their number; FMT_BAD_FILE when the length is no multiple of 48. */
fmt_status q42_flat_count(fmt_span span, uint64_t *out_n_quins, fmt_diag *diag);

/* Makes a version 2 header one of version 3: version, flags & 3, everything from byte 88 on zero. FMT_BAD_FILE for another kind of file;
 * *out_changed is false for version 3 and 4, which are left as they are. */
fmt_status q42_migrate_header(uint8_t header[Q42_HEADER_BYTES], bool *out_changed, fmt_diag *diag);

#ifdef __cplusplus
}
#endif

#endif
