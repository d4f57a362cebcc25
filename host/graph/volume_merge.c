/* volume_merge.c — terms, then statements, with blank nodes renamed on the way. */
#include "graph/volume_merge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/same_file.h"
#include "graph/volume_export.h"

#define N_CACHED (1u << 18)    /* ids whose new id is remembered; a power of two */
#define OWN_MEMORY (8u << 20)  /* of the memory: the cache, texts, a block */
#define MAX_DEPTH 16           /* triples in triples */
#define PROGRESS_EVERY 65536u

typedef struct cached_id {
    uint64_t id, new_id; /* new_id 0: empty */
} cached_id;

typedef struct merge_run {
    graph_volume *volume;    /* the one that is being read */
    volume_lane *lane;
    char prefix[16];         /* of its blank nodes' labels; "" when there is but one volume */
    bool may_rename;         /* it has blank nodes, or triples that may hold some */
    bool may_have_triples;
    cached_id *cache;        /* [N_CACHED] */
    char *text, *renamed;    /* [Q42_MAX_TERM], [Q42_MAX_TERM + 16] */
    const merge_options *options;
    uint64_t n_done, n_expected;
} merge_run;

/* ---------------------------------------------------------------- may they be merged? */

static qn_status check_volumes(graph_volume *const *volumes, uint32_t n, const char *path, error_context *err) {
    for (uint32_t i = 0; i < n; i++) {
        const term_convention first = graph_volume_terms(volumes[0]), terms = graph_volume_terms(volumes[i]);
        if (terms != first || terms == TERMS_TOKEN) {
            return FAIL(err, QN_BAD_INPUT, "%s has %s terms, %s has %s terms: ids of different texts cannot stand in one volume; "
                        "export one with --lossy and ingest it", graph_volume_path(volumes[0]), term_convention_name(first),
                        graph_volume_path(volumes[i]), term_convention_name(terms));
        }
        if (same_file(graph_volume_path(volumes[i]), path)) {
            return FAIL(err, QN_BAD_INPUT, "%s is read and written at once; merge into another file", path);
        }
    }
    return QN_OK;
}

/* Flags of a volume and all members: those that one has, and those that all have. */
static qn_status collect_flags(graph_volume *volume, uint16_t *io_any, uint16_t *io_all, error_context *err) {
    const uint16_t root = graph_volume_root(volume)->header.flags;
    *io_any |= root;
    *io_all &= root;
    for (uint32_t i = 0; i < graph_volume_n_members(volume); i++) {
        const q42_volume *member;
        const qn_status status = graph_volume_member(volume, i, &member, err);
        if (status < 0) {
            return status;
        }
        *io_any |= member->header.flags;
        *io_all &= member->header.flags;
    }
    return QN_OK;
}

/* Whether an entry is no string: such entries need a flat lexicon. */
static qn_status find_other_kinds(graph_volume *volume, bool *io_found, error_context *err) {
    graph_term_walk *walk = calloc(1, sizeof *walk);
    q42_term term;
    qn_status status = walk != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    while (status == QN_OK && !*io_found && graph_volume_may_have_triples(volume)) {
        status = graph_volume_next_term(volume, walk, &term, err);
        *io_found = status == QN_OK && term.kind != Q42_TERM_STRING;
    }
    free(walk);
    return status == QN_NOT_FOUND ? QN_OK : status;
}

/* ---------------------------------------------------------------- renaming */

static bool is_blank(const char *text, uint32_t size) {
    return size > 2 && text[0] == '_' && text[1] == ':';
}

/* _:label becomes _:s2_label, in m->renamed. */
static qn_status rename_blank(merge_run *m, uint32_t size, uint32_t *out_size, error_context *err) {
    const uint32_t n = (uint32_t)strlen(m->prefix);
    if (size + n > Q42_MAX_TERM) {
        return FAIL(err, QN_LIMIT, "%s: a blank node's label of %u bytes has no room for the prefix %s", graph_volume_path(m->volume),
                    size - 2, m->prefix);
    }
    memcpy(m->renamed, "_:", 2);
    memcpy(m->renamed + 2, m->prefix, n);
    memcpy(m->renamed + 2 + n, m->text + 2, size - 2);
    *out_size = size + n;
    return QN_OK;
}

static qn_status map_id(merge_run *m, uint64_t id, unsigned depth, uint64_t *out_id, error_context *err);

static qn_status map_triple(merge_run *m, const q42_term *entry, unsigned depth, uint64_t triple[3], error_context *err) {
    if (depth == MAX_DEPTH) {
        return FAIL(err, QN_BAD_FILE, "%s: byte %" PRIu64 ": triples stand in triples more than %d deep", graph_volume_path(m->volume),
                    entry->offset, MAX_DEPTH);
    }
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < 3 && status == QN_OK; i++) {
        status = map_id(m, entry->triple[i], depth + 1, &triple[i], err);
    }
    return status;
}

/* The id that the merged volume has for an id of this one. */
static qn_status map_id(merge_run *m, uint64_t id, unsigned depth, uint64_t *out_id, error_context *err) {
    cached_id *cached = &m->cache[(id * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (N_CACHED - 1)];
    q42_term entry;
    *out_id = id;
    if (cached->new_id != 0 && cached->id == id) {
        *out_id = cached->new_id;
        return QN_OK;
    }
    qn_status status = graph_volume_find_term(m->volume, id, &entry, err);
    if (status == QN_OK && entry.kind == Q42_TERM_TRIPLE) {
        uint64_t triple[3];
        status = map_triple(m, &entry, depth, triple, err);
        *out_id = status == QN_OK ? q42_triple_id(triple[0], triple[1], triple[2]) : id;
    } else if (status == QN_OK && entry.kind == Q42_TERM_STRING) {
        uint32_t size = graph_term_copy(&entry, m->text);
        if (is_blank(m->text, size)) {
            status = rename_blank(m, size, &size, err);
            *out_id = status == QN_OK ? q42_hash(m->renamed, size) : id;
        }
    }
    if (status == QN_OK || status == QN_NOT_FOUND) {
        *cached = (cached_id){id, *out_id};
        return QN_OK;
    }
    return status;
}

/* ---------------------------------------------------------------- terms and statements */

static qn_status add_term(merge_run *m, const q42_term *term, error_context *err) {
    q42_term entry = *term;
    if (term->kind == Q42_TERM_TRIPLE) {
        const qn_status status = m->prefix[0] != 0 ? map_triple(m, term, 0, entry.triple, err) : QN_OK;
        entry.hash = q42_triple_id(entry.triple[0], entry.triple[1], entry.triple[2]);
        m->may_rename = true;
        return status < 0 ? status : volume_lane_add_entry(m->lane, &entry, err);
    }
    uint32_t size = graph_term_copy(term, m->text);
    if (term->kind != Q42_TERM_STRING) {
        entry.prefix.size = 0;
        entry.text = (fmt_str){m->text, size};
        return volume_lane_add_entry(m->lane, &entry, err);
    }
    if (graph_term_equals(term, Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1)) {
        return QN_OK; /* the writer puts its own */
    }
    if (m->prefix[0] == 0 || !is_blank(m->text, size)) {
        return volume_lane_add_term(m->lane, term->hash, m->text, size, err);
    }
    m->may_rename = true;
    const qn_status status = rename_blank(m, size, &size, err);
    return status < 0 ? status : volume_lane_add_term(m->lane, q42_hash(m->renamed, size), m->renamed, size, err);
}

static qn_status add_terms(merge_run *m, error_context *err) {
    graph_term_walk *walk = calloc(1, sizeof *walk);
    q42_term term;
    qn_status status = walk != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    while (status == QN_OK) {
        status = graph_volume_next_term(m->volume, walk, &term, err);
        status = status < 0 ? status : add_term(m, &term, err);
    }
    free(walk);
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status add_quin(merge_run *m, const q42_quin *quin, error_context *err) {
    uint64_t ids[] = {quin->subject, quin->predicate, quin->object, quin->context};
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < 4 && status == QN_OK && m->may_rename; i++) {
        const bool is_plain = i == 3 ? ids[i] == Q42_DEFAULT_GRAPH : i == 2 && !m->may_have_triples && q42_object_is_inline(ids[i]);
        status = is_plain ? QN_OK : map_id(m, ids[i], 0, &ids[i], err);
    }
    const q42_quin mapped = q42_quin_make(ids[0], ids[1], ids[2], ids[3], quin->metadata);
    return status < 0 ? status : volume_lane_add_quin(m->lane, &mapped, err);
}

static qn_status add_quins(merge_run *m, graph_scan *scan, error_context *err) {
    q42_quin quin;
    qn_status status = QN_OK;
    graph_scan_begin(scan, m->volume, NULL);
    while (status == QN_OK) {
        status = graph_scan_next(scan, &quin, err);
        status = status < 0 ? status : add_quin(m, &quin, err);
        if (status == QN_OK && ++m->n_done % PROGRESS_EVERY == 0 && m->options->progress != NULL &&
            !m->options->progress(m->options->progress_ctx, m->n_done, m->n_expected)) {
            status = FAIL(err, QN_CANCELLED, "interrupted");
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status add_volume(merge_run *m, graph_volume *volume, uint32_t number, bool is_alone, error_context *err) {
    graph_scan *scan = malloc(sizeof *scan);
    m->volume = volume;
    m->may_rename = false;
    m->may_have_triples = graph_volume_may_have_triples(volume);
    m->prefix[0] = 0;
    if (!is_alone) {
        snprintf(m->prefix, sizeof m->prefix, "s%u_", number);
    }
    memset(m->cache, 0, N_CACHED * sizeof *m->cache);
    qn_status status = scan != NULL ? add_terms(m, err) : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    status = status < 0 ? status : add_quins(m, scan, err);
    free(scan);
    return status < 0 ? status : graph_volume_check_files(volume, err);
}

/* ---------------------------------------------------------------- all of it */

static qn_status choose_options(graph_volume *const *volumes, uint32_t n, const merge_options *options,
                                volume_writer_options *out, error_context *err) {
    uint16_t any = 0, all = UINT16_MAX;
    *out = (volume_writer_options){.memory = options->memory - OWN_MEMORY,
                                   .segment_bytes = options->segment_bytes,
                                   .generation = 1,
                                   .is_forced = options->is_forced,
                                   .is_marked = graph_volume_terms(volumes[0]) == TERMS_SURFACE,
                                   .progress = options->progress,
                                   .progress_ctx = options->progress_ctx};
    qn_status status = volume_timestamp(&out->timestamp_ms, err);
    for (uint32_t i = 0; i < n && status == QN_OK; i++) {
        status = collect_flags(volumes[i], &any, &all, err);
        status = status < 0 ? status : find_other_kinds(volumes[i], &out->is_flat, err);
    }
    out->is_sanctuary = (any & Q42_FLAG_SANCTUARY) != 0;
    out->is_commons = (all & Q42_FLAG_COMMONS) != 0 && !out->is_sanctuary;
    return status;
}

static qn_status merge_all(merge_run *m, graph_volume *const *volumes, uint32_t n, const char *path,
                           const volume_writer_options *how, volume_report *out_report, error_context *err) {
    volume_writer *writer = NULL;
    qn_status status = volume_writer_create(path, how, m->options->workers, &writer, err);
    for (uint32_t i = 0; i < n && status == QN_OK; i++) {
        m->lane = volume_writer_lane(writer, 0);
        status = add_volume(m, volumes[i], i + 1, n == 1, err);
    }
    status = status < 0 ? status : volume_writer_commit(writer, out_report, err);
    volume_writer_destroy(writer);
    return status;
}

qn_status volume_merge(graph_volume *const *volumes, uint32_t n_volumes, const char *path, const merge_options *options,
                       volume_report *out_report, error_context *err) {
    volume_writer_options how;
    merge_run m = {.options = options};
    qn_status status = check_volumes(volumes, n_volumes, path, err);
    status = status < 0 ? status : choose_options(volumes, n_volumes, options, &how, err);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < n_volumes; i++) {
        m.n_expected += volume_export_expected(volumes[i]);
    }
    m.cache = calloc(N_CACHED, sizeof *m.cache);
    m.text = malloc(Q42_MAX_TERM);
    m.renamed = malloc(Q42_MAX_TERM + sizeof m.prefix);
    status = m.cache != NULL && m.text != NULL && m.renamed != NULL
                 ? merge_all(&m, volumes, n_volumes, path, &how, out_report, err)
                 : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    free(m.cache);
    free(m.text);
    free(m.renamed);
    return status;
}
