/* publish.c — files of a volume, their addresses, torrents and archives. */
#include "graph/publish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic_file.h"
#include "common/sha.h"
#include "graph/model_helper.h"

/* ---------------------------------------------------------------- files */

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The locator, beside the root. */
static char *join_path(const char *root, fmt_str locator) {
    const size_t folder = (size_t)(last_part(root) - root);
    char *path = malloc(folder + (size_t)locator.size + 1);
    if (path != NULL) {
        memcpy(path, root, folder);
        memcpy(path + folder, locator.data, (size_t)locator.size);
        path[folder + locator.size] = '\0';
    }
    return path;
}

static qn_status set_file(publish_file *file, char *path, const char *role, error_context *err) {
    if (path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    file->path = path;
    file->name = last_part(path);
    file->role = role;
    return QN_OK;
}

static qn_status open_member(graph_volume *volume, uint32_t index, const q42_segment *record, publish_file *file,
                             error_context *err) {
    const bool is_shard = index >= graph_volume_n_members(volume);
    const q42_volume *member;
    qn_status status = set_file(file, join_path(graph_volume_path(volume), record->locator),
                                is_shard ? "shard" : "segment", err);
    file->has_digest = true;
    memcpy(file->digest, record->digest, sizeof file->digest);
    if (status < 0) {
        return status;
    }
    if (!is_shard) {
        status = graph_volume_member(volume, index, &member, err);
        file->span = status < 0 ? file->span : member->span;
        return status;
    }
    status = mapped_file_open(file->path, &file->shard, err);
    file->span = status < 0 ? file->span : file->shard.span;
    return status;
}

static qn_status open_members(graph_volume *volume, publish_list *list, error_context *err) {
    const q42_manifest *manifest = &graph_volume_root(volume)->manifest;
    q42_manifest_walk walk = {0};
    q42_segment record;
    qn_status status = QN_OK;
    while (status >= 0 && q42_manifest_next(manifest, &walk, &record)) {
        publish_file *file = &list->files[list->n_files++];
        status = open_member(volume, walk.index - 1, &record, file, err);
    }
    return status;
}

qn_status publish_list_open(graph_volume *volume, publish_list *out_list, error_context *err) {
    const q42_volume *root = graph_volume_root(volume);
    const bool is_set = graph_volume_is_set(volume);
    const uint64_t n_files = is_set ? 1 + (uint64_t)root->manifest.n_segments + root->manifest.n_shards : 1;
    publish_list list = {.files = calloc(n_files, sizeof *list.files), .n_files = 1};
    if (list.files == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for %llu files", (unsigned long long)n_files);
    }
    list.files[0].span = root->span;
    qn_status status = set_file(&list.files[0], strdup(graph_volume_path(volume)), is_set ? "root" : "volume", err);
    if (status >= 0 && is_set) {
        status = open_members(volume, &list, err);
    }
    if (status < 0) {
        publish_list_close(&list);
        return status;
    }
    *out_list = list;
    return QN_OK;
}

void publish_list_close(publish_list *list) {
    for (uint32_t i = 0; i < list->n_files; i++) {
        if (list->files[i].shard.path != NULL) {
            mapped_file_close(&list->files[i].shard);
        }
        free(list->files[i].path);
    }
    free(list->files);
    memset(list, 0, sizeof *list);
}

/* ---------------------------------------------------------------- one reading */

typedef struct measuring {
    const publish_file *file;
    publish_want wants;
    publish_address *address;
    sha256_stream whole256;
    sha1_stream whole1, piece;
    q42_file_dag *dag; /* null when no address is wanted */
} measuring;

static bool begin_measuring(measuring *m) {
    const uint64_t bytes = m->file->span.size;
    publish_address *a = m->address;
    if (!sha256_begin(&m->whole256) || ((m->wants & PUBLISH_WANT_SHA1) != 0 && !sha1_begin(&m->whole1))) {
        return false;
    }
    if ((m->wants & PUBLISH_WANT_PIECES) != 0) {
        a->piece_bytes = q42_piece_bytes(bytes);
        a->pieces = malloc((bytes / a->piece_bytes + 1) * Q42_SHA1_BYTES);
    }
    if ((m->wants & PUBLISH_WANT_CID) != 0) {
        m->dag = calloc(1, sizeof *m->dag);
    }
    return ((m->wants & PUBLISH_WANT_PIECES) == 0 || a->pieces != NULL) &&
           ((m->wants & PUBLISH_WANT_CID) == 0 || m->dag != NULL);
}

/* The part [at, at + size) goes into the pieces that it belongs to. */
static bool add_to_pieces(measuring *m, uint64_t at, uint64_t size) {
    publish_address *a = m->address;
    const fmt_span span = m->file->span;
    for (const uint64_t end = at + size; at < end;) {
        const uint64_t in_piece = at % a->piece_bytes;
        const uint64_t left = a->piece_bytes - in_piece, n = left < end - at ? left : end - at;
        if (in_piece == 0 && !sha1_begin(&m->piece)) {
            return false;
        }
        sha1_add(&m->piece, span.data + at, n);
        at += n;
        if ((at % a->piece_bytes == 0 || at == span.size) &&
            !sha1_end(&m->piece, a->pieces + Q42_SHA1_BYTES * a->n_pieces++)) {
            return false;
        }
    }
    return true;
}

static qn_status add_part(measuring *m, uint64_t at, uint64_t size, error_context *err) {
    const uint8_t *data = m->file->span.data + at;
    fmt_diag diag;
    sha256_add(&m->whole256, data, size);
    if ((m->wants & PUBLISH_WANT_SHA1) != 0) {
        sha1_add(&m->whole1, data, size);
    }
    if ((m->wants & PUBLISH_WANT_PIECES) != 0 && !add_to_pieces(m, at, size)) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto refuses to compute SHA-1", m->file->path);
    }
    const fmt_status status = m->dag != NULL ? q42_file_dag_add(m->dag, data, size, &diag) : FMT_OK;
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, m->file->path);
}

static qn_status end_measuring(measuring *m, error_context *err) {
    uint8_t digest[SHA256_BYTES];
    fmt_diag diag;
    if (!sha256_end(&m->whole256, digest) ||
        ((m->wants & PUBLISH_WANT_SHA1) != 0 && !sha1_end(&m->whole1, m->address->sha1))) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: libcrypto refuses to compute its digest", m->file->path);
    }
    if (m->file->has_digest && memcmp(digest, m->file->digest, sizeof digest) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: is another file than the set's manifest means: its SHA-256 differs",
                    m->file->path);
    }
    const fmt_status status = m->dag != NULL ? q42_file_dag_finish(m->dag, &m->address->cid, &diag) : FMT_OK;
    return status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, m->file->path);
}

static qn_status measure_parts(measuring *m, progress_fn *progress, void *progress_ctx, error_context *err) {
    const uint64_t bytes = m->file->span.size;
    qn_status status = begin_measuring(m) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", m->file->path);
    for (uint64_t at = 0; status >= 0 && at < bytes; at += Q42_LEAF_BYTES) {
        status = add_part(m, at, bytes - at < Q42_LEAF_BYTES ? bytes - at : Q42_LEAF_BYTES, err);
        if (status >= 0 && progress != NULL && !progress(progress_ctx, at, bytes)) {
            status = FAIL(err, QN_CANCELLED, "%s: interrupted", m->file->path);
        }
    }
    return status < 0 ? status : end_measuring(m, err);
}

qn_status publish_measure(const publish_file *file, publish_want wants, progress_fn *progress, void *progress_ctx,
                          publish_address *out_address, error_context *err) {
    publish_address address = {0};
    measuring m = {.file = file, .wants = wants, .address = &address};
    const qn_status status = measure_parts(&m, progress, progress_ctx, err);
    sha256_abandon(&m.whole256);
    sha1_abandon(&m.whole1);
    sha1_abandon(&m.piece);
    free(m.dag);
    if (status < 0) {
        publish_address_free(&address);
        return status;
    }
    *out_address = address;
    return QN_OK;
}

void publish_address_free(publish_address *address) {
    free(address->pieces);
    address->pieces = NULL;
}

/* ---------------------------------------------------------------- torrents */

static qn_status write_whole(const char *path, const void *data, uint64_t size, bool is_forced, error_context *err) {
    atomic_file file = {.fd = -1};
    fmt_diag diag;
    if (is_forced && model_helper_refuse(path, err) != QN_OK) {
        return QN_BAD_INPUT;
    }
    fmt_status status = atomic_file_create(&file, path, is_forced, size, &diag);
    status = status == FMT_OK ? atomic_file_write(&file, 0, data, size, &diag) : status;
    status = status == FMT_OK ? atomic_file_commit(&file, &diag) : status;
    if (status != FMT_OK) {
        atomic_file_abort(&file);
        return error_from_diag(err, status, &diag, path);
    }
    return QN_OK;
}

qn_status publish_torrent(const publish_file *file, const publish_address *address, const char *web_seed,
                          const char *path, bool is_forced, uint8_t out_info_hash[Q42_SHA1_BYTES], error_context *err) {
    const q42_torrent torrent = {{file->name, strlen(file->name)}, file->span.size, address->piece_bytes,
                                 address->pieces, {web_seed, web_seed != NULL ? strlen(web_seed) : 0}};
    uint64_t size = 0;
    fmt_diag diag;
    fmt_status status = q42_torrent_encode(&torrent, NULL, 0, &size, NULL, &diag);
    uint8_t *bytes = status == FMT_OK ? malloc(size) : NULL;
    if (status == FMT_OK && bytes == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory for its torrent", file->path);
    }
    if (status == FMT_OK) {
        status = q42_torrent_encode(&torrent, bytes, size, &size, out_info_hash, &diag);
    }
    qn_status result = status == FMT_OK ? QN_OK : error_from_diag(err, status, &diag, file->path);
    if (result >= 0 && path != NULL) {
        result = write_whole(path, bytes, size, is_forced, err);
    }
    free(bytes);
    return result;
}

/* ---------------------------------------------------------------- archives */

typedef struct car_writer {
    atomic_file file;
    uint64_t at;
} car_writer;

static fmt_status put_block(void *ctx, const q42_cid *cid, const uint8_t *data, uint64_t size, fmt_diag *diag) {
    car_writer *w = ctx;
    uint8_t head[Q42_CAR_SECTION_BYTES];
    const uint64_t n_head = q42_car_encode_section(cid, size, head);
    fmt_status status = atomic_file_write(&w->file, w->at, head, n_head, diag);
    if (status == FMT_OK && size > 0) {
        status = atomic_file_write(&w->file, w->at + n_head, data, size, diag);
    }
    w->at += n_head + size;
    return status;
}

static fmt_status put_blocks(car_writer *w, q42_file_dag *dag, fmt_span span, progress_fn *progress,
                             void *progress_ctx, q42_cid *out_root, fmt_diag *diag) {
    uint8_t header[Q42_CAR_HEADER_BYTES];
    fmt_status status = FMT_OK;
    for (uint64_t at = 0; status == FMT_OK && at < span.size; at += Q42_LEAF_BYTES) {
        const uint64_t left = span.size - at;
        status = q42_file_dag_add(dag, span.data + at, left < Q42_LEAF_BYTES ? left : Q42_LEAF_BYTES, diag);
        if (status == FMT_OK && progress != NULL && !progress(progress_ctx, at, span.size)) {
            status = FMT_CANCELLED;
        }
    }
    status = status == FMT_OK ? q42_file_dag_finish(dag, out_root, diag) : status;
    if (status == FMT_OK) {
        q42_car_encode_header(out_root, header);
        status = atomic_file_write(&w->file, 0, header, sizeof header, diag);
    }
    return status == FMT_OK ? atomic_file_commit(&w->file, diag) : status;
}

qn_status publish_car(const publish_file *file, const char *path, bool is_forced, progress_fn *progress,
                      void *progress_ctx, q42_cid *out_root, error_context *err) {
    car_writer *w = calloc(1, sizeof *w);
    q42_file_dag *dag = calloc(1, sizeof *dag);
    fmt_diag diag = {.rule = "file"};
    qn_status result = w != NULL && dag != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", file->path);
    if (result >= 0 && is_forced) {
        result = model_helper_refuse(path, err);
    }
    if (result >= 0) {
        w->at = Q42_CAR_HEADER_BYTES;
        dag->sink = (q42_block_sink){w, put_block};
        fmt_status status = atomic_file_create(&w->file, path, is_forced, file->span.size, &diag);
        if (status == FMT_OK) {
            status = put_blocks(w, dag, file->span, progress, progress_ctx, out_root, &diag);
        }
        if (status != FMT_OK) {
            atomic_file_abort(&w->file);
            result = status == FMT_CANCELLED ? FAIL(err, QN_CANCELLED, "interrupted; nothing was written")
                                             : error_from_diag(err, status, &diag, path);
        }
    }
    free(w);
    free(dag);
    return result;
}
