/* volume.h — a Q42 volume or a volume set, opened for questions: mapped files, terms by their ids, quins by pattern.
 *
 * A set's members are opened when they are first needed and stay open; a member that does not agree with the manifest (length,
 * first and last object, or key) is refused by name. Members lie below the root's folder.
 *
 * Threading: everything but open and close may run on several threads at once, each with its own graph_scan or walk.
 * Memory:    owned by the volume; a scan holds one decoded block (40 KiB). What is resident beyond the mapping does not grow with
 *            the volume, but for one bit for each page of the lexicon (4,096 terms) and 400 bytes for each member of a set.
 * Errors:    qn_status; the message names file, byte, block and slot.
 *
 *     graph_volume *volume;
 *     QN_TRY(graph_volume_open(path, FMT_MODE_DEFAULT, TERMS_AUTO, &volume, err), err, "opening %s", path);
 *     graph_scan scan;
 *     graph_scan_begin(&scan, volume, &pattern);
 *     while ((status = graph_scan_next(&scan, &quin, err)) == QN_OK) { ... }
 */
#ifndef HOST_GRAPH_VOLUME_H
#define HOST_GRAPH_VOLUME_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/q42.h>

#include "base/error.h"
#include "base/mapped_file.h"

/* How the texts of a volume's terms are written. */
typedef uint32_t term_convention;
enum {
    TERMS_AUTO = 0,
    TERMS_SURFACE = 1, /* N-Triples terms: <iri>, "text"@en, _:label */
    TERMS_BARE = 2,    /* bare IRIs and literal values */
    TERMS_TOKEN = 3    /* as version 1 had it: bare without language, keys of 64 bits */
};

typedef struct graph_volume graph_volume;

/* Opens what `path` is: a volume, or a volume root with its members; another kind of file is named, with what to do. `terms` TERMS_AUTO: by the mark in the lexicon; without it
 * surface if every string is a complete N-Triples term, otherwise bare. */
qn_status graph_volume_open(const char *path, fmt_mode mode, term_convention terms, graph_volume **out_volume,
                            error_context *err);
void graph_volume_close(graph_volume *volume); /* null is legal */

/* SHA-256 of the volume's file, or of a set's root, as it is mapped here. QN_BAD_FILE for a set with a member that is not the one whose digest
 * the root has. */
qn_status graph_volume_digest(graph_volume *volume, uint8_t out[Q42_DIGEST_BYTES], error_context *err);

/* True when both read the very same file, whatever has its name now. */
bool graph_volume_is_same(const graph_volume *one, const graph_volume *other);

const char *graph_volume_path(const graph_volume *volume);
term_convention graph_volume_terms(const graph_volume *volume);
const char *term_convention_name(term_convention terms); /* "surface", "bare", "token" */
bool graph_volume_has_mark(const graph_volume *volume);
/* The root, or the volume itself. */
const q42_volume *graph_volume_root(const graph_volume *volume);
bool graph_volume_is_set(const graph_volume *volume);
/* Files that hold blocks: 1 for a single volume. Opens member `index`; the pointer stays valid until close. */
uint32_t graph_volume_n_members(const graph_volume *volume);
qn_status graph_volume_member(graph_volume *volume, uint32_t index, const q42_volume **out_member, error_context *err);
const char *graph_volume_member_path(const graph_volume *volume, uint32_t index); /* of an opened member */
/* Objects that member `index` may hold: of a set by its manifest, without opening it. */
q42_range graph_volume_member_objects(const graph_volume *volume, uint32_t index);

/* QN_IO when a file was cut while it was read: what was read from it is then worth nothing. */
qn_status graph_volume_check_files(const graph_volume *volume, error_context *err);

/* The term with this key: root lexicon, then shards (or the members' own lexicons). Its page is checked whole before its first use.
 * QN_NOT_FOUND without words when there is none. */
qn_status graph_volume_find_term(graph_volume *volume, uint64_t hash, q42_term *out_term, error_context *err);

/* False when no entry of it can be a triple: then an object that looks like an inline literal is one. */
bool graph_volume_may_have_triples(const graph_volume *volume);

/* Every term, ascending by key, each key once; of a set whose members have lexicons of their own file by file. Start with a zeroed
 * walk; QN_NOT_FOUND without words after the last. */
typedef struct graph_term_walk {
    q42_lexicon_walk in_root, in_file;
    uint32_t file;                /* shard or member */
    bool has_root, has_file;      /* a term that was read but not given yet */
    bool is_root_done, is_file_done;
    q42_term root_term, file_term;
} graph_term_walk;
qn_status graph_volume_next_term(graph_volume *volume, graph_term_walk *walk, q42_term *out_term, error_context *err);

/* The whole text of a string or Webizen term into out[Q42_MAX_TERM]; returns its size. A prefix and text that are longer together
 * than that were refused with their page. */
uint32_t graph_term_copy(const q42_term *term, char out[Q42_MAX_TERM]);
bool graph_term_equals(const q42_term *term, const char *text, uint64_t size);

typedef struct graph_scan {
    graph_volume *volume;
    q42_pattern pattern;
    uint32_t member, end_member;
    bool is_open;
    q42_scan in_member;
    q42_scan_stats stats;       /* of the members that are done */
    uint32_t n_members_skipped; /* by the manifest's object ranges */
    uint8_t room[Q42_BLOCK_BYTES];
} graph_scan;

/* A null pattern asks for every quin. */
void graph_scan_begin(graph_scan *scan, graph_volume *volume, const q42_pattern *pattern);
/* QN_NOT_FOUND without words after the last quin. */
qn_status graph_scan_next(graph_scan *scan, q42_quin *out_quin, error_context *err);

#endif
