/* volume.c — opening a volume and the members of a set. */
#include "graph/volume.h"

#include <stdlib.h>
#include <string.h>

#include <quoin/q42_files.h>
#include <quoin/q42_write.h>

#include "base/file_limit.h"
#include "graph/convention.h"
#include "graph/volume_files.h"

static void close_file(graph_file *f) {
    mapped_file_close(&f->file);
    free(f->checked);
    free(f->path);
    *f = (graph_file){.path = NULL};
}

/* What is no volume at all is named for what it is. */
static qn_status refuse_kind(const graph_file *f, fmt_status opened, const fmt_diag *diag, error_context *err) {
    const q42_file_kind kind = strcmp(diag->rule, "header.magic") == 0 ? q42_detect(f->file.span) : Q42_FILE_UNKNOWN;
    const qn_status status = error_from_diag(err, opened, diag, f->path);
    if (kind == Q42_FILE_RAW || kind == Q42_FILE_FRAMED) {
        return FAIL(err, QN_BAD_FILE, "%s: this is %s; quoin migrate %s -o NEW.q42 makes a volume of it", f->path,
                    q42_file_kind_name(kind), f->path);
    }
    return kind == Q42_FILE_UNKNOWN ? status
                                    : FAIL(err, QN_BAD_FILE, "%s: this is %s, not a Q42 volume", f->path, q42_file_kind_name(kind));
}

/* Maps and opens one file; f->path is set. */
static qn_status open_file(graph_file *f, fmt_mode mode, error_context *err) {
    fmt_diag diag;
    const qn_status status = mapped_file_open(f->path, &f->file, err);
    if (status < 0) {
        return status;
    }
    const fmt_status opened = q42_open(f->file.span, mode, &f->volume, NULL, NULL, &diag);
    if (opened != FMT_OK) {
        return refuse_kind(f, opened, &diag, err);
    }
    f->checked = calloc((size_t)(f->volume.lexicon.n_pages / 8 + 1), sizeof *f->checked);
    if (f->checked == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    atomic_store(&f->is_open, true);
    return QN_OK;
}

static qn_status read_manifest(graph_volume *v, error_context *err) {
    const q42_manifest *manifest = &v->root.volume.manifest;
    const size_t n = (size_t)manifest->n_segments + manifest->n_shards;
    v->records = calloc(n + 1, sizeof *v->records);
    v->files = calloc(n + 1, sizeof *v->files);
    if (v->records == NULL || v->files == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    v->n_segments = manifest->n_segments;
    v->n_shards = manifest->n_shards;
    q42_manifest_walk walk = {.at = 0};
    for (size_t i = 0; i < n && q42_manifest_next(manifest, &walk, &v->records[i]); i++) {
    }
    return QN_OK;
}

/* Folder of the root and the locator; malloc'ed, null without memory. */
static char *join_path(const char *root, fmt_str locator) {
    const char *slash = strrchr(root, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - root) + 1 : 0;
    char *path = malloc(folder + (size_t)locator.size + 1);
    if (path != NULL) {
        memcpy(path, root, folder);
        memcpy(path + folder, locator.data, (size_t)locator.size);
        path[folder + locator.size] = '\0';
    }
    return path;
}

static qn_status check_segment(const graph_file *f, const q42_segment *record, error_context *err) {
    const uint64_t n = f->volume.header.block_count;
    if (n == 0 || q42_object_range(&f->volume, 0).least != record->first ||
        q42_object_range(&f->volume, n - 1).most != record->last) {
        return FAIL(err, QN_BAD_FILE, "%s: its first and last object are not those of the set's manifest", f->path);
    }
    return QN_OK;
}

static qn_status check_shard(const graph_file *f, const q42_segment *record, error_context *err) {
    q42_lexicon_walk walk = {.page = 0};
    q42_term first, last;
    fmt_diag diag;
    fmt_status status = q42_lexicon_next(&f->volume.lexicon, &walk, &first, &diag);
    if (status == FMT_OK) {
        status = q42_lexicon_find(&f->volume.lexicon, record->last, &last, &diag);
    }
    if (status != FMT_OK && status != FMT_NOT_FOUND) {
        return error_from_diag(err, status, &diag, f->path);
    }
    if (status == FMT_NOT_FOUND || first.hash != record->first) {
        return FAIL(err, QN_BAD_FILE, "%s: its first and last key are not those of the set's manifest", f->path);
    }
    return QN_OK;
}

static qn_status open_member(graph_volume *v, uint32_t index, graph_file *f, error_context *err) {
    const q42_segment *record = &v->records[index];
    f->path = join_path(v->root.path, record->locator);
    if (f->path == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    if (record->locator.size > 7 && memcmp(record->locator.data, "ipfs://", 7) == 0) {
        return FAIL(err, QN_UNSUPPORTED, "%s: a member of the set lies at %.*s; fetch it and publish the set with local names",
                    v->root.path, (int)record->locator.size, record->locator.data);
    }
    const qn_status status = open_file(f, v->mode, err);
    if (status < 0) { /* NOT_FOUND without words is the end of a walk: a missing file must not look like one */
        return error_add(err, status == QN_NOT_FOUND ? QN_IO : status, __FILE__, __LINE__, "opening a member of %s", v->root.path);
    }
    if (f->file.span.size != record->bytes) {
        return FAIL(err, QN_BAD_FILE, "%s: it has %llu bytes; the set's manifest says %llu", f->path,
                    (unsigned long long)f->file.span.size, (unsigned long long)record->bytes);
    }
    if ((f->volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        return FAIL(err, QN_BAD_FILE, "%s: a member of a set is a volume root itself", f->path);
    }
    return index < v->n_segments ? check_segment(f, record, err) : check_shard(f, record, err);
}

qn_status graph_file_get(graph_volume *v, uint32_t index, graph_file **out_file, error_context *err) {
    graph_file *f = &v->files[index];
    qn_status status = QN_OK;
    if (!atomic_load(&f->is_open)) {
        pthread_mutex_lock(&v->lock);
        if (!atomic_load(&f->is_open)) {
            graph_file opened = {.path = NULL};
            status = open_member(v, index, &opened, err);
            if (status == QN_OK) {
                atomic_store(&opened.is_open, false); /* published last */
                *f = opened;
                atomic_store(&f->is_open, true);
            } else {
                close_file(&opened);
            }
        }
        pthread_mutex_unlock(&v->lock);
    }
    *out_file = f;
    return status;
}

static qn_status open_whole(graph_volume *v, term_convention terms, error_context *err) {
    qn_status status = open_file(&v->root, v->mode, err);
    if (status == QN_OK && (v->root.volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        file_limit_raise(); /* members stay open */
        status = read_manifest(v, err);
    }
    q42_term mark;
    if (status == QN_OK) {
        status = graph_volume_find_term(v, q42_hash(Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1), &mark, err);
        v->has_mark = status == QN_OK && graph_term_equals(&mark, Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1);
        status = status == QN_NOT_FOUND ? QN_OK : status;
    }
    v->terms = terms != TERMS_AUTO ? terms : TERMS_SURFACE;
    return status == QN_OK && terms == TERMS_AUTO && !v->has_mark ? convention_detect(v, &v->terms, err) : status;
}

qn_status graph_volume_open(const char *path, fmt_mode mode, term_convention terms, graph_volume **out_volume,
                            error_context *err) {
    graph_volume *v = calloc(1, sizeof *v);
    if (v == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    v->mode = mode;
    v->root.path = strdup(path);
    pthread_mutex_init(&v->lock, NULL);
    const qn_status status = v->root.path != NULL ? open_whole(v, terms, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    if (status < 0) {
        graph_volume_close(v);
        return status;
    }
    *out_volume = v;
    return QN_OK;
}

void graph_volume_close(graph_volume *volume) {
    if (volume == NULL) {
        return;
    }
    for (uint32_t i = 0; i < volume->n_segments + volume->n_shards; i++) {
        close_file(&volume->files[i]);
    }
    close_file(&volume->root);
    free(volume->files);
    free(volume->records);
    pthread_mutex_destroy(&volume->lock);
    free(volume);
}

const char *graph_volume_path(const graph_volume *volume) {
    return volume->root.path;
}

term_convention graph_volume_terms(const graph_volume *volume) {
    return volume->terms;
}

const char *term_convention_name(term_convention terms) {
    static const char *const names[] = {"auto", "surface", "bare", "token"};
    return names[terms];
}

bool graph_volume_has_mark(const graph_volume *volume) {
    return volume->has_mark;
}

const q42_volume *graph_volume_root(const graph_volume *volume) {
    return &volume->root.volume;
}

bool graph_volume_is_set(const graph_volume *volume) {
    return volume->records != NULL;
}

uint32_t graph_volume_n_members(const graph_volume *volume) {
    return graph_volume_is_set(volume) ? volume->n_segments : 1;
}

qn_status graph_volume_member(graph_volume *volume, uint32_t index, const q42_volume **out_member, error_context *err) {
    graph_file *f = &volume->root;
    const qn_status status = graph_volume_is_set(volume) ? graph_file_get(volume, index, &f, err) : QN_OK;
    *out_member = &f->volume;
    return status;
}

const char *graph_volume_member_path(const graph_volume *volume, uint32_t index) {
    return graph_volume_is_set(volume) ? volume->files[index].path : volume->root.path;
}

q42_range graph_volume_member_objects(const graph_volume *volume, uint32_t index) {
    if (graph_volume_is_set(volume)) {
        return (q42_range){volume->records[index].first, volume->records[index].last};
    }
    return (q42_range){0, UINT64_MAX};
}

bool graph_volume_is_same(const graph_volume *one, const graph_volume *other) {
    return one->root.file.device == other->root.file.device && one->root.file.inode == other->root.file.inode;
}

qn_status graph_volume_check_files(const graph_volume *volume, error_context *err) {
    qn_status status = mapped_file_check(&volume->root.file, err);
    for (uint32_t i = 0; status == QN_OK && i < volume->n_segments + volume->n_shards; i++) {
        if (atomic_load(&volume->files[i].is_open)) {
            status = mapped_file_check(&volume->files[i].file, err);
        }
    }
    return status;
}
