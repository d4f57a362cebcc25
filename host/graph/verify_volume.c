/* verify_volume.c — one file, and the members of a set, through the table of checks. */
#include "graph/verify_volume.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/q42_write.h>

#include "base/clock.h"
#include "base/mapped_file.h"
#include "common/sha.h"
#include "graph/verify_blocks.h"

#define DEFAULT_MEMORY (UINT64_C(256) << 20)
#define IPFS "ipfs://"
#define PATH_SIZE 4096
#define HASH_PIECE (UINT64_C(16) << 20)

/* A verification under way. */
typedef struct verification {
    const verify_volume_options *options;
    team *workers;
    volume_report_list *list;
    verify_progress progress;
    id_sorter *ids, *keys; /* level full: what quins name, what lexicons hold */
    bool is_covered;       /* every lexicon and every block could be read: coverage can be told */
    bool has_mark, has_shards;
    uint64_t n_terms;      /* of all files */
    uint64_t n_blocks;
} verification;

/* The file that is being checked. */
typedef struct subject {
    verification *v;
    uint32_t number; /* of its report in the list */
    const mapped_file *file;
    q42_volume volume;
} subject;

static verify_file_report *report_of(const subject *s) {
    return &s->v->list->files[s->number];
}

static bool covers(const verification *v, q42_level level) {
    return v->options->level == level || v->options->level == Q42_LEVEL_FULL;
}

static void send_note(const subject *s, const fmt_diag *note) {
    if (s->v->options->note != NULL) {
        s->v->options->note(s->v->options->note_ctx, s->file->path, note);
    }
}

static void pass_note(void *ctx, const fmt_diag *note) {
    send_note(ctx, note);
}

/* -------------------------------------------------------------------------------------------------------- structure */

static bool has_root(const q42_header *h) {
    for (uint32_t i = 0; i < Q42_DIGEST_BYTES; i++) {
        if (h->merkle_root[i] != 0) {
            return true;
        }
    }
    return false;
}

static void check_structure(const subject *s) {
    verify_file_report *report = report_of(s);
    const q42_header *h = &s->volume.header;
    verify_add(report, "structure.open", Q42_PASS, NULL);
    verify_add(report, "structure.object_sorted", Q42_PASS, NULL); /* blocks without the flag do not open */
    if (has_root(h) || h->dag.length > 0) {
        verify_add(report, "structure.merkle", Q42_PASS, NULL);
    } else if (report->role == VERIFY_STANDALONE && h->block_count > 0) {
        verify_add_words(report, "structure.merkle", Q42_INCOMPLETE,
                         "the volume has blocks, and neither a Merkle root nor a DAG");
    } else {
        verify_add(report, "structure.merkle", Q42_NOT_APPLICABLE, NULL);
    }
}

/* ----------------------------------------------------------------------------------------------------------- blocks */

static void note_duplicates(const subject *s, uint64_t n) {
    fmt_diag note = {.rule = "blocks.duplicate", .section = "2", .offset = s->volume.header.data.offset,
                     .index = FMT_NO_INDEX, .got = n};
    snprintf(note.text, sizeof note.text, "repeated quins: %" PRIu64 ": a statement should stand once.", n);
    if (s->v->options->mode == FMT_MODE_STRICT) {
        verify_add(report_of(s), "blocks.duplicate", Q42_FAIL, &note);
    } else {
        send_note(s, &note);
    }
}

static void judge_chain(const subject *s, const blocks_result *result) {
    verify_file_report *report = report_of(s);
    const q42_header *h = &s->volume.header;
    if (h->dag.length > 0) {
        verify_add_finding(report, "dag.chain", &result->chain.dag);
    }
    if (h->dag.length > 0 && result->chain.n_nodes == 0 && h->block_count > 0) {
        verify_add(report, "merkle.value", Q42_NOT_CHECKED, NULL); /* no node could be read */
    } else if (h->dag.length > 0 || has_root(h)) {
        verify_add_finding(report, "merkle.value", &result->chain.merkle);
    }
}

static void judge_blocks(const subject *s, const blocks_result *result) {
    verify_file_report *report = report_of(s);
    const q42_finding *decode = result->decode.status != FMT_OK ? &result->decode : &result->chain.order;
    const bool is_root = report->role == VERIFY_ROOT;
    report->n_quins = result->chain.n_quins;
    report->n_duplicates = result->chain.n_duplicates;
    if (is_root) {
        verify_add(report, "blocks.decode", Q42_NOT_APPLICABLE, NULL);
    } else {
        verify_add_finding(report, "blocks.decode", decode);
        verify_add_finding(report, "blocks.tail", &result->tail);
    }
    if (report->n_duplicates > 0) {
        note_duplicates(s, report->n_duplicates);
    }
    judge_chain(s, result);
}

static qn_status check_blocks(const subject *s, blocks_result *result, error_context *err) {
    verification *v = s->v;
    const q42_header *h = &s->volume.header;
    const blocks_job job = {.volume = &s->volume,
                            .workers = v->workers,
                            .wants = (h->dag.length > 0 ? Q42_WANT_DIGEST : 0) |
                                     (v->options->level == Q42_LEVEL_FULL ? Q42_WANT_INDEXES : 0),
                            .has_chain = h->dag.length == 0 && has_root(h),
                            .ids = v->ids,
                            .progress = &v->progress};
    QN_TRY(verify_blocks(&job, result, err), err, "checking blocks");
    judge_blocks(s, result);
    v->is_covered = v->is_covered && result->decode.status == FMT_OK;
    return QN_OK;
}

/* ---------------------------------------------------------------------------------------------------------- lexicon */

bool verify_has_mark(const q42_lexicon *lexicon) {
    const uint64_t size = sizeof Q42_SURFACE_MARK - 1;
    q42_term term;
    return lexicon->form != Q42_LEXICON_NONE &&
           q42_lexicon_find(lexicon, q42_hash(Q42_SURFACE_MARK, size), &term, NULL) == FMT_OK &&
           term.prefix.size + term.text.size == size;
}

/* Whether there must be terms in this file. */
static void judge_entries(const subject *s, const lexicon_result *result) {
    verify_file_report *report = report_of(s);
    const bool has_blocks = s->volume.header.block_count > 0;
    if (result->form.status != FMT_OK) {
        verify_add(report, "lexicon.entries", Q42_FAIL, &result->form.diag);
    } else if (report->n_terms == 0 && report->role == VERIFY_SHARD) {
        verify_add_words(report, "lexicon.entries", Q42_FAIL, "the lexicon shard holds no term");
    } else if (report->n_terms == 0 && has_blocks && !s->v->has_shards) {
        verify_add_words(report, "lexicon.entries", Q42_INCOMPLETE, "the volume has blocks and no terms");
    } else {
        verify_add(report, "lexicon.entries", Q42_PASS, NULL);
    }
    if (result->form.status != FMT_OK) {
        verify_add(report, "lexicon.keys", Q42_NOT_CHECKED, NULL);
    } else {
        verify_add_finding(report, "lexicon.keys", &result->keys);
    }
}

static void check_lexicon(const subject *s) {
    const q42_lexicon *lexicon = &s->volume.lexicon;
    lexicon_result result;
    verify_lexicon(lexicon, s->v->workers, s->v->keys, &result);
    judge_entries(s, &result);
    s->v->is_covered = s->v->is_covered && result.form.status == FMT_OK;
    verify_progress_add(&s->v->progress, lexicon->span.size);
}

/* ---------------------------------------------------------------------------------------------------------- indexes */

static q42_finding check_postings(const q42_volume *volume) {
    q42_finding finding = {0};
    bool may_hold;
    for (uint64_t i = 0; finding.status == FMT_OK && i < volume->header.block_count; i++) {
        finding.status = q42_postings_test(volume, i, Q42_SUBJECT, 0, &may_hold, &finding.diag);
    }
    return finding;
}

/* PASS with the section, INCOMPLETE where there are blocks and it is missing, otherwise nothing. */
static bool add_presence(verify_file_report *report, const q42_header *h, uint16_t flag, const char *name,
                         const char *what) {
    const bool is_there = (h->flags & flag) != 0;
    if (!is_there && h->block_count > 0 && report->role != VERIFY_SHARD) {
        verify_add_words(report, name, Q42_INCOMPLETE, "the volume has blocks and no %s", what);
    }
    return is_there;
}

static void check_indexes(const subject *s, const blocks_result *blocks) {
    verify_file_report *report = report_of(s);
    const q42_header *h = &s->volume.header;
    verify_add(report, "indexes.bidx", h->bidx.length == 0 ? Q42_NOT_APPLICABLE : Q42_PASS, NULL);
    if (add_presence(report, h, Q42_FLAG_FIELD_RANGES, "indexes.field_ranges", "index of fields (FIDX)")) {
        verify_add(report, "indexes.field_ranges", Q42_PASS, NULL);
    }
    const bool has_postings =
        add_presence(report, h, Q42_FLAG_FIELD_POSTINGS, "indexes.postings", "postings (PIDX)");
    if (has_postings) {
        const q42_finding finding = check_postings(&s->volume);
        verify_add_finding(report, "indexes.postings", &finding);
    }
    if (blocks != NULL && (h->flags & Q42_FLAG_FIELD_RANGES) != 0) {
        verify_add_finding(report, "indexes.fidx_content", &blocks->fidx);
    }
    if (blocks != NULL && has_postings) {
        verify_add_finding(report, "indexes.pidx_content", &blocks->pidx);
    }
}

/* --------------------------------------------------------------------------------------------------------- one file */

static void count_file(const subject *s) {
    verify_file_report *report = report_of(s);
    const bool has_mark = verify_has_mark(&s->volume.lexicon);
    report->bytes = s->file->span.size;
    report->n_blocks = s->volume.header.block_count;
    report->n_terms = s->volume.lexicon.n_entries - has_mark;
    s->v->has_mark = s->v->has_mark || has_mark;
    s->v->n_terms += report->n_terms;
    s->v->n_blocks += report->n_blocks;
}

static qn_status check_opened(const subject *s, error_context *err) {
    const verification *v = s->v;
    const bool is_full = v->options->level == Q42_LEVEL_FULL;
    blocks_result *blocks = NULL;
    qn_status status = QN_OK;
    count_file(s);
    check_structure(s);
    if (covers(v, Q42_LEVEL_BLOCKS)) {
        blocks = malloc(sizeof *blocks);
        status = blocks == NULL ? FAIL(err, QN_NO_HOST_MEM, "no memory to check blocks") : check_blocks(s, blocks, err);
    }
    if (status == QN_OK && covers(v, Q42_LEVEL_LEXICON)) {
        check_lexicon(s);
    }
    if (status == QN_OK && covers(v, Q42_LEVEL_INDEXES)) {
        check_indexes(s, is_full ? blocks : NULL);
    }
    free(blocks);
    if (status == QN_OK && v->progress.is_cancelled) {
        status = FAIL(err, QN_CANCELLED, "%s: verification was interrupted", s->file->path);
    }
    return status == QN_OK ? mapped_file_check(s->file, err) : status;
}

/* ---------------------------------------------------------------------------------------------------------- members */

/* "FOLDER/LOCATOR" beside the root. */
static bool member_path(const char *root, fmt_str locator, char out[PATH_SIZE]) {
    const char *slash = strrchr(root, '/');
    const int folder = slash == NULL ? 0 : (int)(slash - root + 1);
    const int n = snprintf(out, PATH_SIZE, "%.*s%.*s", folder, root, (int)locator.size, locator.data);
    return n > 0 && n < PATH_SIZE;
}

static void fail_member(const subject *root, uint32_t index, const q42_segment *member, const char *what) {
    verify_file_report *report = report_of(root);
    fmt_diag diag = {.rule = "set.member", .section = "8", .offset = member->offset, .index = index};
    snprintf(diag.text, sizeof diag.text, "member %u, \"%.*s\": %.200s", index,
             (int)(member->locator.size < 80 ? member->locator.size : 80), member->locator.data, what);
    verify_add(report, "set.member", Q42_FAIL, &diag);
}

/* What the manifest says against what the member has; "" when they agree. */
static const char *compare_member(const q42_segment *member, const subject *s, char room[256]) {
    const q42_header *h = &s->volume.header;
    q42_range held = {0, 0};
    q42_term first = {0};
    room[0] = '\0';
    if (report_of(s)->role == VERIFY_SHARD) {
        q42_lexicon_walk walk = {0};
        if (q42_lexicon_next(&s->volume.lexicon, &walk, &first, NULL) == FMT_OK) {
            held.least = held.most = first.hash;
            q42_term last;
            walk = (q42_lexicon_walk){.page = s->volume.lexicon.n_pages - 1}; /* from the first entry of the last page */
            while (q42_lexicon_next(&s->volume.lexicon, &walk, &last, NULL) == FMT_OK) {
                held.most = last.hash;
            }
        }
    } else if (h->block_count > 0) {
        held.least = q42_object_range(&s->volume, 0).least;
        held.most = q42_object_range(&s->volume, h->block_count - 1).most;
    }
    if ((h->flags & Q42_FLAG_VOLUME_ROOT) != 0) {
        snprintf(room, 256, "a member cannot be a volume root itself");
    } else if (held.least != member->first || held.most != member->last) {
        snprintf(room, 256,
                 "it goes from %016" PRIx64 " to %016" PRIx64 ", the manifest says %016" PRIx64 " to %016" PRIx64,
                 held.least, held.most, member->first, member->last);
    }
    return room;
}

static qn_status check_member(const subject *root, uint32_t index, const q42_segment *member, const char *path,
                              const mapped_file *file, error_context *err) {
    const bool is_shard = index >= root->volume.manifest.n_segments;
    subject s = {.v = root->v, .number = root->v->list->n_files, .file = file};
    verify_file_report *report;
    fmt_diag diag;
    char room[256];
    QN_TRY(verify_report_add_file(root->v->list, path, is_shard ? VERIFY_SHARD : VERIFY_CHILD, &report, err), err, "%s",
           path);
    report->bytes = file->span.size;
    if (file->span.size != member->bytes) {
        snprintf(room, sizeof room, "it has %" PRIu64 " bytes, the manifest says %" PRIu64, file->span.size,
                 member->bytes);
        fail_member(root, index, member, room);
    }
    if (q42_open(file->span, root->v->options->mode, &s.volume, pass_note, &s, &diag) != FMT_OK) {
        verify_add(report, "structure.open", Q42_FAIL, &diag);
        root->v->is_covered = false;
        return QN_OK;
    }
    if (compare_member(member, &s, room)[0] != '\0') {
        fail_member(root, index, member, room);
    }
    const qn_status status = check_opened(&s, err);
    if (status == QN_OK && !is_shard && covers(root->v, Q42_LEVEL_BLOCKS) &&
        report_of(&s)->n_quins != member->n_quins) {
        snprintf(room, sizeof room, "it holds %" PRIu64 " quins, the manifest says %" PRIu64, report_of(&s)->n_quins,
                 member->n_quins);
        fail_member(root, index, member, room);
    }
    return status;
}

static qn_status visit_member(const subject *root, uint32_t index, const q42_segment *member, error_context *err) {
    char path[PATH_SIZE];
    mapped_file file;
    error_context reason = {0};
    const bool is_remote = member->locator.size > strlen(IPFS) && memcmp(member->locator.data, IPFS, strlen(IPFS)) == 0;
    if (is_remote || !member_path(root->file->path, member->locator, path)) {
        fail_member(root, index, member,
                    is_remote ? "an ipfs:// member cannot be read from here" : "its path is too long");
        root->v->is_covered = false;
        return QN_OK;
    }
    if (mapped_file_open(path, &file, &reason) < 0) {
        fail_member(root, index, member, error_text(&reason));
        root->v->is_covered = false;
        return QN_OK;
    }
    const qn_status status = check_member(root, index, member, path, &file, err);
    mapped_file_close(&file);
    return status;
}

static qn_status check_members(const subject *root, error_context *err) {
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    qn_status status = QN_OK;
    for (uint32_t i = 0; status == QN_OK && q42_manifest_next(&root->volume.manifest, &walk, &member); i++) {
        status = visit_member(root, i, &member, err);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- digests */

typedef struct digests_job {
    const subject *root;
    team *workers;
    atomic_uint first_bad; /* member, or UINT32_MAX */
} digests_job;

static bool has_digest(const char *path, const uint8_t wanted[Q42_DIGEST_BYTES]) {
    mapped_file file;
    sha256_stream stream;
    uint8_t digest[SHA256_BYTES];
    if (mapped_file_open(path, &file, NULL) < 0) {
        return true; /* set.member tells it */
    }
    bool is_good = sha256_begin(&stream);
    for (uint64_t at = 0; is_good && at < file.span.size; at += HASH_PIECE) {
        const uint64_t left = file.span.size - at;
        sha256_add(&stream, file.span.data + at, left < HASH_PIECE ? left : HASH_PIECE);
        mapped_file_forget(file.span.data + at, left < HASH_PIECE ? left : HASH_PIECE);
    }
    is_good = is_good && sha256_end(&stream, digest) && memcmp(digest, wanted, sizeof digest) == 0;
    mapped_file_close(&file);
    return is_good;
}

static void check_digests_of(void *arg, uint32_t worker, uint32_t n_workers) {
    digests_job *j = arg;
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    char path[PATH_SIZE];
    uint64_t mine = team_next(j->workers);
    (void)worker;
    (void)n_workers;
    for (uint32_t i = 0; q42_manifest_next(&j->root->volume.manifest, &walk, &member); i++) {
        if (i != mine) {
            continue;
        }
        mine = team_next(j->workers);
        if (member_path(j->root->file->path, member.locator, path) && !has_digest(path, member.digest)) {
            unsigned seen = atomic_load(&j->first_bad);
            while (i < seen && !atomic_compare_exchange_weak(&j->first_bad, &seen, i)) {
            }
        }
    }
}

static void check_digests(const subject *root) {
    digests_job j = {.root = root, .workers = root->v->workers};
    verify_file_report *report = report_of(root);
    atomic_init(&j.first_bad, UINT32_MAX);
    team_run(j.workers, check_digests_of, &j);
    const unsigned bad = atomic_load(&j.first_bad);
    q42_manifest_walk walk = {0, 0};
    q42_segment member = {0};
    for (uint32_t i = 0; bad != UINT32_MAX && i <= bad; i++) {
        q42_manifest_next(&root->volume.manifest, &walk, &member);
    }
    if (bad == UINT32_MAX) {
        verify_add(report, "set.digests", Q42_PASS, NULL);
        return;
    }
    fmt_diag diag = {.rule = "set.digests", .section = "8", .offset = member.offset, .index = bad};
    snprintf(diag.text, sizeof diag.text, "member %u, \"%.*s\": its SHA-256 is not the one that the manifest tells",
             bad, (int)(member.locator.size < 80 ? member.locator.size : 80), member.locator.data);
    verify_add(report, "set.digests", Q42_FAIL, &diag);
}

/* --------------------------------------------------------------------------------------------------------- coverage */

/* Ids that no lexicon holds: both walks ascend. */
static uint64_t count_missing(id_sorter *ids, id_sorter *keys, uint64_t *out_first) {
    uint64_t id, key = 0, n = 0;
    bool has_key = id_sorter_next(keys, &key);
    while (id_sorter_next(ids, &id)) {
        while (has_key && key < id) {
            has_key = id_sorter_next(keys, &key);
        }
        if (!has_key || key != id) {
            *out_first = n == 0 ? id : *out_first;
            n++;
        }
    }
    return n;
}

static qn_status check_coverage(const subject *top, error_context *err) {
    verification *v = top->v;
    verify_file_report *report = report_of(top);
    uint64_t first = 0;
    if (!v->is_covered) {
        verify_add(report, "lexicon.coverage", Q42_NOT_CHECKED, NULL);
        return QN_OK;
    }
    QN_TRY(id_sorter_sort(v->ids, err), err, "looking for missing terms");
    QN_TRY(id_sorter_sort(v->keys, err), err, "looking for missing terms");
    const uint64_t n = count_missing(v->ids, v->keys, &first);
    QN_TRY(id_sorter_status(v->ids, err), err, "looking for missing terms");
    QN_TRY(id_sorter_status(v->keys, err), err, "looking for missing terms");
    if (n == 0) {
        verify_add(report, "lexicon.coverage", Q42_PASS, NULL);
    } else {
        verify_add_words(report, "lexicon.coverage", v->has_mark ? Q42_FAIL : Q42_INCOMPLETE,
                         "quins name %" PRIu64 " ids that have no term, the first %016" PRIx64
                         ": every term that a quin names must stand in the lexicon",
                         n, first);
    }
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------- whole */

static uint64_t total_bytes(const subject *top) {
    uint64_t total = top->file->span.size;
    q42_manifest_walk walk = {0, 0};
    q42_segment member;
    while (q42_manifest_next(&top->volume.manifest, &walk, &member)) {
        total += member.bytes < UINT64_MAX - total ? member.bytes : 0;
    }
    return total;
}

static qn_status make_sorters(verification *v, error_context *err) {
    const uint64_t memory = v->options->memory == 0 ? DEFAULT_MEMORY : v->options->memory;
    const uint32_t lanes = team_size(v->workers);
    v->is_covered = true;
    if (v->options->level != Q42_LEVEL_FULL) {
        return QN_OK;
    }
    QN_TRY(id_sorter_create(memory / 2, lanes, &v->ids, err), err, "starting the check of terms");
    QN_TRY(id_sorter_create(memory / 2, lanes, &v->keys, err), err, "starting the check of terms");
    return QN_OK;
}

static qn_status verify_opened(const subject *top, error_context *err) {
    const bool is_root = report_of(top)->role == VERIFY_ROOT;
    qn_status status = check_opened(top, err);
    if (status == QN_OK && is_root) {
        check_digests(top);
        status = check_members(top, err);
    }
    if (status == QN_OK && top->v->options->level == Q42_LEVEL_FULL) {
        status = check_coverage(top, err);
    }
    return status;
}

static qn_status verify_mapped(verification *v, const mapped_file *file, error_context *err) {
    subject top = {.v = v, .number = 0, .file = file};
    verify_file_report *report;
    fmt_diag diag;
    QN_TRY(verify_report_add_file(v->list, file->path, VERIFY_STANDALONE, &report, err), err, "%s", file->path);
    report->bytes = file->span.size;
    const fmt_status opened = q42_open(file->span, v->options->mode, &top.volume, pass_note, &top, &diag);
    if (opened != FMT_OK) {
        verify_add(report, "structure.open", Q42_FAIL, &diag);
        return error_from_diag(err, opened, &diag, file->path);
    }
    report->role = (top.volume.header.flags & Q42_FLAG_VOLUME_ROOT) != 0 ? VERIFY_ROOT : VERIFY_STANDALONE;
    v->has_shards = top.volume.manifest.n_shards > 0;
    v->progress.total = total_bytes(&top);
    qn_status status = make_sorters(v, err);
    status = status == QN_OK ? verify_opened(&top, err) : status;
    id_sorter_destroy(v->ids);
    id_sorter_destroy(v->keys);
    return status;
}

qn_status verify_volume(const char *path, const verify_volume_options *options, team *workers,
                        volume_report_list *out_list, error_context *err) {
    const double begin = clock_seconds();
    verification v = {.options = options,
                      .workers = workers,
                      .list = out_list,
                      .progress = {.show = options->progress, .ctx = options->progress_ctx}};
    mapped_file file;
    memset(out_list, 0, sizeof *out_list);
    QN_TRY(mapped_file_open(path, &file, err), err, "verifying %s", path);
    const qn_status status = verify_mapped(&v, &file, err);
    mapped_file_close(&file);
    verify_report_fold(out_list);
    out_list->seconds = clock_seconds() - begin;
    return status;
}
