/* volume_set.c — a volume in many files: segments of quins, shards of terms, and a root that lists them (section 8 of the format's
 * document).
 *
 *     STEM.lex-NNNNN.q42        terms, ascending over all shards
 *     STEM.segment-NNNNN.q42    quins, ascending over all segments, each file with a DAG of its own
 *     STEM.q42                  the root: manifest, and the mark of the terms' form
 *
 * All files are written and synced before the first gets its name, in the order that set_leftovers.h tells. NNNNN begins at 0; where a
 * set is replaced, behind its numbers, so that the old set is whole until the moment when the new root takes its place. Numbers of
 * files that are there already are stepped over.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "graph/volume_writer_impl.h"

enum {
    BLOCK_RECORDS = 32,             /* BIDX and directory */
    BLOCK_FIELDS = 48 + 4 + Q42_MAX_POSTINGS,
    BLOCK_NODE = 88,
    SHARD_RESERVE = 1024, SHARD_TERM = 40,
    FIRST_MEMBERS = 16
};

typedef struct set_member {
    atomic_file file;
    q42_segment record;
    char *locator;     /* owned; the record's points to it */
    bool is_committed;
} set_member;

typedef struct set_writer {
    volume_writer *w;
    q42_write_options options; /* of members */
    set_member **segments, **shards;
    uint32_t n_segments, n_shards, segment_room, shard_room;
    volume_file current;       /* the member that is being filled */
    bool is_open;
    uint64_t shard_cost;       /* of the terms in the current shard */
} set_writer;

/* ----------------------------------------------------------------------------------------------------------- members */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static char *make_path(const set_writer *s, const char *kind, uint32_t number) {
    const char *root = s->w->target.path;
    const int stem = set_stem_size(root);
    char *path = malloc((size_t)stem + 40);
    if (path != NULL) {
        snprintf(path, (size_t)stem + 40, "%.*s.%s-%05u.q42", stem, root, kind, number);
    }
    return path;
}

static qn_status add_member(set_member ***members, uint32_t *n, uint32_t *room, set_member **out_member,
                            error_context *err) {
    if (*n == *room) {
        const uint32_t larger = *room == 0 ? FIRST_MEMBERS : 2 * *room;
        set_member **grown = realloc(*members, larger * sizeof **members);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for a set of %u files", larger);
        }
        *members = grown;
        *room = larger;
    }
    set_member *member = calloc(1, sizeof *member);
    if (member == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a set of %u files", *n);
    }
    member->file.fd = -1;
    (*members)[(*n)++] = *out_member = member;
    return QN_OK;
}

static qn_status open_current(set_writer *s, bool has_dag, error_context *err) {
    s->options.has_dag = has_dag;
    const qn_status status = volume_file_open(&s->current, s->w->target.path, &s->options, spool_memory(s->w), err);
    s->is_open = status == QN_OK;
    s->shard_cost = 0;
    return status;
}

static void close_current(set_writer *s) {
    if (s->is_open) {
        volume_file_close(&s->current);
    }
    s->is_open = false;
}

/* Writes what was collected into `member`, whose file keeps no name for now. */
static qn_status write_member(set_writer *s, set_member *member, const char *path, bool is_shard, error_context *err) {
    q42_write_report report;
    fmt_diag diag;
    const fmt_status created = atomic_file_create(&member->file, path, false, 0, &diag);
    if (created != FMT_OK) {
        return error_from_diag(err, created, &diag, path);
    }
    qn_status status = volume_file_finish(&s->current, &member->file, &report, member->record.digest, err);
    if (status == QN_OK) {
        status = error_from_diag(err, atomic_file_sync(&member->file, &diag), &diag, path);
    }
    if (status != QN_OK) {
        return status;
    }
    member->file.is_lazy = true;
    member->record.bytes = report.bytes;
    member->record.n_quins = report.n_quins;
    member->record.first = is_shard ? report.first_key : report.first_object;
    member->record.last = is_shard ? report.last_key : report.last_object;
    s->w->report.n_blocks += report.n_blocks;
    s->w->report.n_terms += report.n_terms;
    s->w->report.bytes += report.bytes;
    return QN_OK;
}

static qn_status finish_current(set_writer *s, bool is_shard, error_context *err) {
    set_member *member;
    const uint32_t number = is_shard ? s->n_shards : s->n_segments;
    qn_status status = is_shard ? add_member(&s->shards, &s->n_shards, &s->shard_room, &member, err)
                                : add_member(&s->segments, &s->n_segments, &s->segment_room, &member, err);
    if (status != QN_OK) {
        return status;
    }
    char *path = make_path(s, is_shard ? "lex" : "segment", s->w->replaced.next_number + number);
    member->locator = path != NULL ? strdup(base_name(path)) : NULL;
    if (member->locator == NULL) {
        free(path);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a set of %u files", number);
    }
    member->record.locator = (fmt_str){member->locator, strlen(member->locator)};
    status = write_member(s, member, path, is_shard, err);
    free(path);
    close_current(s);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------- terms */

static qn_status take_term(void *ctx, const q42_term *term, error_context *err) {
    set_writer *s = ctx;
    const uint64_t cost = term->text.size + SHARD_TERM;
    qn_status status = QN_OK;
    if (s->is_open && s->shard_cost + cost > s->w->options.segment_bytes - SHARD_RESERVE) {
        status = finish_current(s, true, err);
    }
    if (status == QN_OK && !s->is_open) {
        status = open_current(s, false, err);
    }
    s->shard_cost += cost;
    return status == QN_OK ? volume_file_add_term(&s->current, term, err) : status;
}

static qn_status ignore_term(void *ctx, const q42_term *term, error_context *err) {
    (void)ctx;
    (void)term;
    (void)err;
    return QN_OK;
}

/* Flags stand in every file, and the first is written before the last term is known: labels are looked for beforehand. */
static qn_status settle_sanctuary(set_writer *s, error_context *err) {
    bool is_label = false;
    for (uint32_t i = 0; i < s->w->n_lanes; i++) {
        is_label = is_label || s->w->lanes[i].has_probes;
    }
    if (is_label) {
        const qn_status status = volume_writer_merge_terms(s->w, ignore_term, NULL, &is_label, err);
        if (status != QN_OK) {
            return status;
        }
    }
    s->w->report.sanctuary_was_needed = s->w->report.sanctuary_was_needed || is_label;
    s->options = volume_writer_file_options(s->w, s->w->report.sanctuary_was_needed);
    return QN_OK;
}

static qn_status write_shards(set_writer *s, error_context *err) {
    bool is_label;
    const qn_status status = volume_writer_merge_terms(s->w, take_term, s, &is_label, err);
    return status == QN_OK && s->is_open ? finish_current(s, true, err) : status;
}

/* ------------------------------------------------------------------------------------------------------------ blocks */

/* Whatever the next block is like, the file stays within the limit with it. */
static bool is_full(const set_writer *s) {
    const uint64_t growth = BLOCK_RECORDS + Q42_MAX_PAYLOAD + BLOCK_FIELDS + BLOCK_NODE;
    return q42_writer_size(s->current.writer) + growth > s->w->options.segment_bytes;
}

static qn_status take_block(void *ctx, const q42_built_block *block, bool *out_is_taken, error_context *err) {
    set_writer *s = ctx;
    if (s->is_open && block->sequence > 0 && is_full(s)) {
        *out_is_taken = false;
        return finish_current(s, false, err);
    }
    *out_is_taken = true;
    const qn_status status = s->is_open ? QN_OK : open_current(s, true, err);
    return status == QN_OK ? volume_file_add_block(&s->current, block, err) : status;
}

static qn_status write_segments(set_writer *s, error_context *err) {
    const qn_status status = volume_writer_merge_quins(s->w, take_block, s, err);
    return status == QN_OK && s->is_open ? finish_current(s, false, err) : status;
}

/* -------------------------------------------------------------------------------------------------------------- root */

static qn_status encode_manifest(const set_writer *s, fmt_span *out_manifest, error_context *err) {
    const uint32_t n = s->n_segments + s->n_shards;
    q42_segment *records = malloc((n + 1) * sizeof *records);
    uint8_t *manifest = malloc(Q42_MAX_MANIFEST);
    fmt_diag diag;
    fmt_status status = FMT_LIMIT;
    uint64_t size = 0;
    if (records == NULL || manifest == NULL) {
        free(records);
        free(manifest);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for the manifest of %u files", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        records[i] = i < s->n_segments ? s->segments[i]->record : s->shards[i - s->n_segments]->record;
    }
    status = q42_manifest_encode(records, s->n_segments, s->n_shards, s->w->options.generation, manifest,
                                 Q42_MAX_MANIFEST, &size, &diag);
    free(records);
    if (status != FMT_OK) {
        free(manifest);
        return FAIL(err, status == FMT_LIMIT ? QN_LIMIT : QN_BAD_INPUT, "%s: %s", s->w->target.path, diag.text);
    }
    *out_manifest = (fmt_span){manifest, size};
    return QN_OK;
}

static qn_status fill_root(set_writer *s, error_context *err) {
    q42_write_report report;
    const q42_term mark = {.hash = q42_hash(Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1), .kind = Q42_TERM_STRING,
                           .text = {Q42_SURFACE_MARK, sizeof Q42_SURFACE_MARK - 1}};
    qn_status status = open_current(s, false, err);
    if (status == QN_OK && s->w->options.is_marked) {
        status = volume_file_add_term(&s->current, &mark, err);
    }
    status = status == QN_OK ? volume_file_finish(&s->current, &s->w->target, &report, NULL, err) : status;
    if (status == QN_OK) {
        s->w->report.bytes += report.bytes;
        s->w->report.flags = report.flags;
        s->w->report.n_files = 1 + s->n_segments + s->n_shards;
    }
    return status;
}

static qn_status write_root(set_writer *s, error_context *err) {
    fmt_span manifest;
    qn_status status = encode_manifest(s, &manifest, err);
    if (status == QN_OK) {
        s->options.manifest = manifest;
        status = fill_root(s, err);
        close_current(s);
        free((void *)(uintptr_t)manifest.data);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------------ commit */

static qn_status commit_members(set_member **members, uint32_t n, error_context *err) {
    for (uint32_t i = 0; i < n; i++) {
        fmt_diag diag;
        const fmt_status status = atomic_file_commit(&members[i]->file, &diag);
        if (status != FMT_OK) {
            return error_from_diag(err, status, &diag, members[i]->file.path);
        }
        members[i]->is_committed = true;
    }
    return QN_OK;
}

static qn_status stage_root(atomic_file *root, error_context *err) {
    fmt_diag diag;
    fmt_status status = atomic_file_sync(root, &diag);
    status = status == FMT_OK ? atomic_file_stage(root, &diag) : status;
    return error_from_diag(err, status, &diag, root->path);
}

/* Whoever is killed here leaves a list of what has to go. */
static qn_status commit_all(set_writer *s, error_context *err) {
    fmt_diag diag;
    atomic_file *root = &s->w->target;
    volume_writer_set_aside(s->w);
    qn_status status = stage_root(root, err);
    status = status == QN_OK ? commit_members(s->shards, s->n_shards, err) : status;
    status = status == QN_OK ? commit_members(s->segments, s->n_segments, err) : status;
    if (status != QN_OK) {
        return status;
    }
    atomic_file_sync_folder(root->path);
    return error_from_diag(err, atomic_file_commit(root, &diag), &diag, root->path);
}

/* After a failure no member stays. */
static void free_members(set_member **members, uint32_t n, bool is_failed) {
    for (uint32_t i = 0; i < n; i++) {
        atomic_file_abort(&members[i]->file);
        if (is_failed && members[i]->is_committed) {
            unlink(members[i]->file.path);
        }
        free(members[i]->locator);
        free(members[i]);
    }
    free(members);
}

qn_status volume_set_write(volume_writer *w, error_context *err) {
    set_writer s = {.w = w};
    file_limit_raise(); /* every member stays open until the end */
    qn_status status = settle_sanctuary(&s, err);
    status = status == QN_OK ? write_shards(&s, err) : status;
    status = status == QN_OK ? write_segments(&s, err) : status;
    status = status == QN_OK ? write_root(&s, err) : status;
    status = status == QN_OK ? commit_all(&s, err) : status;
    close_current(&s);
    free_members(s.shards, s.n_shards, status != QN_OK);
    free_members(s.segments, s.n_segments, status != QN_OK);
    return status;
}
