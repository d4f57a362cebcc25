/* publish.h — what is given away of a volume: addresses, torrents, archives.
 *
 * All of it is made from the same mapping that the publication scan has read, so that what is given away is what was looked at.
 *
 * Threading: reentrant.
 * Memory:    512 KiB while a file is read; digests of pieces are owned by the address.
 */
#ifndef HOST_GRAPH_PUBLISH_H
#define HOST_GRAPH_PUBLISH_H
#include <quoin/q42_files.h>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/progress.h"
#include "graph/volume.h"

/* One file of a volume or a set. */
typedef struct publish_file {
    char *path;            /* owned */
    const char *name;      /* last part of it */
    const char *role;      /* "volume", "root", "segment", "shard" */
    fmt_span span;
    bool has_digest;       /* not the root */
    uint8_t digest[Q42_DIGEST_BYTES]; /* SHA-256 that the manifest says */
    mapped_file shard;     /* shards are mapped here */
} publish_file;

typedef struct publish_list {
    publish_file *files; /* root first, then segments, then shards */
    uint32_t n_files;
} publish_list;

/* All files of an opened volume; their spans live as long as it and the list. */
qn_status publish_list_open(graph_volume *volume, publish_list *out_list, error_context *err);
void publish_list_close(publish_list *list);

typedef uint32_t publish_want;
enum { PUBLISH_WANT_SHA1 = 1, PUBLISH_WANT_PIECES = 2, PUBLISH_WANT_CID = 4 };

typedef struct publish_address {
    uint8_t sha1[Q42_SHA1_BYTES]; /* of the whole file */
    uint8_t *pieces;              /* [n_pieces * 20], owned */
    uint64_t n_pieces, piece_bytes;
    q42_cid cid;
} publish_address;

/* Reads the file once. QN_BAD_FILE when it is not the one that the manifest means. To be freed. */
qn_status publish_measure(const publish_file *file, publish_want wants, progress_fn *progress, void *progress_ctx,
                          publish_address *out_address, error_context *err);
void publish_address_free(publish_address *address);

/* Writes PATH, the torrent of a measured file, and tells its info-hash. With a null path nothing is written. */
qn_status publish_torrent(const publish_file *file, const publish_address *address, const char *web_seed,
                          const char *path, bool is_forced, uint8_t out_info_hash[Q42_SHA1_BYTES], error_context *err);

/* Writes PATH, an archive whose root is the file's address. */
qn_status publish_car(const publish_file *file, const char *path, bool is_forced, progress_fn *progress,
                      void *progress_ctx, q42_cid *out_root, error_context *err);

#endif
