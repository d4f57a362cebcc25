/* rewrite.c — two passes over a source, the second into a writer. */
#include "graph/rewrite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "graph/secret.h"

#define RECENT_KEYS 65536u
#define MAX_NESTING 16u /* triples inside triples */
#define PROGRESS_QUINS 65536u

typedef struct rewrite {
    const rewrite_request *request;
    rewrite_report report;
    volume_lane *lane;        /* null in the first pass */
    bool may_have_triples, has_wide_keys, is_flat;
    uint64_t multiplier;      /* see secret.h */
    uint64_t *recent;         /* [RECENT_KEYS] keys whose terms the writer has; 0: none */
    uint64_t n_done, n_total; /* quins, for the progress */
    char *text;               /* [Q42_MAX_TERM] */
} rewrite;

/* ---------------------------------------------------------------- terms */

static qn_status find_term(rewrite *w, uint64_t id, q42_term *out_term, error_context *err) {
    const rewrite_request *r = w->request;
    const journal_term *bound = r->state != NULL ? journal_state_find_term(r->state, id) : NULL;
    if (r->volume != NULL) {
        const qn_status status = graph_volume_find_term(r->volume, id, out_term, err);
        if (status != QN_NOT_FOUND || bound == NULL) {
            return status;
        }
        *out_term = (q42_term){.hash = id, .kind = Q42_TERM_STRING, .prefix = {"", 0}, .text = bound->text};
        return QN_OK;
    }
    fmt_diag diag;
    if (r->legacy->lexicon.form == Q42_LEXICON_NONE) {
        return QN_NOT_FOUND;
    }
    const fmt_status status = q42_lexicon_find(&r->legacy->lexicon, id, out_term, &diag);
    return status == FMT_OK          ? QN_OK
           : status == FMT_NOT_FOUND ? QN_NOT_FOUND
                                     : error_from_diag(err, status, &diag, r->legacy->lexicon_file.path);
}

/* Id of the new kind for a whole 64-bit hash: its lower 60 bits, and the pointer form for did:q42 IRIs. */
static uint64_t narrow_id(uint64_t id, const q42_term *term) {
    static const char did[] = "did:q42:";
    const uint64_t start = sizeof did - 1;
    if (term->kind == Q42_TERM_STRING && term->text.size > start && memcmp(term->text.data, did, start) == 0) {
        return q42_hash(term->text.data + start, term->text.size - start) | Q42_POINTER_BIT;
    }
    return id & (UINT64_MAX >> 4);
}

static qn_status add_term(rewrite *w, uint64_t id, unsigned depth, error_context *err);

static qn_status add_entry(rewrite *w, const q42_term *term, unsigned depth, error_context *err) {
    qn_status status = QN_OK;
    if (term->kind == Q42_TERM_TRIPLE) {
        if (depth == MAX_NESTING) {
            return FAIL(err, QN_LIMIT, "triple %016" PRIx64 " holds more than %u triples inside each other", term->hash,
                        MAX_NESTING);
        }
        for (unsigned i = 0; status >= 0 && i < 3; i++) {
            status = add_term(w, term->triple[i], depth + 1, err);
        }
    }
    w->is_flat = true;
    return status < 0 || w->lane == NULL ? status : volume_lane_add_entry(w->lane, term, err);
}

static qn_status add_string(rewrite *w, uint64_t key, const q42_term *term, error_context *err) {
    if (w->lane == NULL) {
        return QN_OK;
    }
    if (term->prefix.size == 0) {
        return volume_lane_add_term(w->lane, key, term->text.data, term->text.size, err);
    }
    return volume_lane_add_term(w->lane, key, w->text, graph_term_copy(term, w->text), err);
}

static bool is_value(const rewrite *w, uint64_t id) {
    return !w->has_wide_keys && q42_object_is_inline(id) &&
           !(w->may_have_triples && q42_object_tag(id) == Q42_TAG_INTEGER);
}

/* The term of an id, once; its id in the new volume is narrow_id's. */
static qn_status add_term(rewrite *w, uint64_t id, unsigned depth, error_context *err) {
    q42_term term;
    uint64_t *slot = &w->recent[secret_slot(id, w->multiplier, RECENT_KEYS)];
    if (id == Q42_DEFAULT_GRAPH || is_value(w, id) || *slot == id) {
        return QN_OK;
    }
    const qn_status status = find_term(w, id, &term, err);
    if (status == QN_NOT_FOUND) {
        w->report.n_unresolved += w->lane != NULL && !(q42_object_is_inline(id) && !w->has_wide_keys);
        return QN_OK;
    }
    if (status < 0) {
        return status;
    }
    *slot = id;
    return term.kind == Q42_TERM_STRING ? add_string(w, w->has_wide_keys ? narrow_id(id, &term) : id, &term, err)
                                        : add_entry(w, &term, depth, err);
}

/* ---------------------------------------------------------------- quins */

static qn_status add_terms_of(rewrite *w, const q42_quin *quin, error_context *err) {
    const uint64_t ids[4] = {quin->subject, quin->predicate, quin->object, quin->context};
    qn_status status = QN_OK;
    for (unsigned i = 0; status >= 0 && i < 4; i++) {
        status = add_term(w, ids[i], 0, err);
    }
    return status;
}

/* An id as it will stand in the new volume. Where no term tells otherwise the lower 60 bits are the new hash. */
static uint64_t new_id(rewrite *w, uint64_t id) {
    q42_term term;
    error_context quiet = {0};
    if (!w->has_wide_keys || id == Q42_DEFAULT_GRAPH) {
        return id;
    }
    if (find_term(w, id, &term, &quiet) < 0) {
        term = (q42_term){.kind = Q42_TERM_WEBIZEN};
    }
    return narrow_id(id, &term);
}

static qn_status put_quin(rewrite *w, const q42_quin *quin, error_context *err) {
    const q42_quin moved = q42_quin_make(new_id(w, quin->subject), new_id(w, quin->predicate),
                                         new_id(w, quin->object), new_id(w, quin->context), quin->metadata);
    uint8_t bytes[Q42_QUIN_BYTES];
    q42_quin_store(bytes, &moved);
    const q42_block block = {.n_quins = 1, .quins = bytes};
    if (w->lane == NULL) {
        q42_publication_add(&w->report.tally, &block);
    }
    if (w->lane == NULL && !w->may_have_triples) {
        return QN_OK; /* then only strings are used, and the first pass need not find them */
    }
    const qn_status status = add_terms_of(w, quin, err);
    return status < 0 || w->lane == NULL ? status : volume_lane_add_quin(w->lane, &moved, err);
}

static qn_status refuse_parity(const q42_quin *quin, const quin_place *place, error_context *err) {
    return FAIL(err, QN_BAD_FILE,
                "%s: block %" PRIu64 ", slot %" PRIu64 ": the parity is %016" PRIx64 " and should be %016" PRIx64
                "; --rewrite computes it anew",
                place->path, place->block, place->slot, quin->parity, q42_quin_parity(quin));
}

static qn_status tell_progress(rewrite *w, error_context *err) {
    const rewrite_request *r = w->request;
    w->n_done++;
    if (r->progress == NULL || w->n_done % PROGRESS_QUINS != 0) {
        return QN_OK;
    }
    const uint64_t total = w->n_total > w->n_done ? w->n_total : w->n_done;
    return r->progress(r->progress_ctx, w->n_done, total) ? QN_OK : FAIL(err, QN_CANCELLED, "interrupted");
}

/* One quin of the source. What the journal speaks of comes from the journal. */
static qn_status take_quin(void *ctx, const q42_quin *quin, const quin_place *place, error_context *err) {
    rewrite *w = ctx;
    q42_quin fixed = *quin;
    const bool is_wrong = quin->parity != q42_quin_parity(quin);
    qn_status status = tell_progress(w, err);
    if (status < 0) {
        return status;
    }
    if (is_wrong && !w->request->fixes_parity) {
        return refuse_parity(quin, place, err);
    }
    if (w->lane == NULL) {
        w->report.n_read++;
        w->report.n_fixed += is_wrong;
    }
    fixed.parity = q42_quin_parity(&fixed);
    const journal_decision *decision = w->request->state != NULL ? journal_state_find(w->request->state, &fixed) : NULL;
    if (decision != NULL) {
        w->report.n_removed += w->lane == NULL && !decision->is_added;
        return QN_OK;
    }
    return put_quin(w, &fixed, err);
}

static qn_status walk_member(rewrite *w, uint32_t index, uint8_t *room, error_context *err) {
    graph_volume *volume = w->request->volume;
    const q42_block_check checks = w->request->fixes_parity ? Q42_CHECK_ORDER : Q42_CHECK_READ;
    const q42_volume *member;
    qn_status status = graph_volume_member(volume, index, &member, err);
    for (uint64_t i = 0; status >= 0 && i < member->header.block_count; i++) {
        q42_block block;
        fmt_diag diag;
        quin_place place = {graph_volume_member_path(volume, index), i, 0};
        const fmt_status found = q42_read_block(member, i, checks, room, &block, &diag);
        if (found != FMT_OK) {
            return error_from_diag(err, found, &diag, place.path);
        }
        for (uint32_t slot = 0; status >= 0 && slot < block.n_quins; slot++) {
            const q42_quin quin = q42_block_quin(&block, slot);
            place.slot = slot;
            status = take_quin(w, &quin, &place, err);
        }
    }
    return status;
}

static qn_status walk_volume(rewrite *w, error_context *err) {
    uint8_t *room = malloc(Q42_BLOCK_BYTES);
    qn_status status = room != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    for (uint32_t i = 0; status >= 0 && i < graph_volume_n_members(w->request->volume); i++) {
        status = walk_member(w, i, room, err);
    }
    free(room);
    return status < 0 ? status : graph_volume_check_files(w->request->volume, err);
}

static qn_status walk_additions(rewrite *w, error_context *err) {
    const journal_state *state = w->request->state;
    qn_status status = QN_OK;
    for (uint64_t i = 0; state != NULL && status >= 0 && i < state->n_decisions; i++) {
        if (state->decisions[i].is_added) {
            status = put_quin(w, &state->decisions[i].quin, err);
        }
    }
    return status;
}

static qn_status walk_source(rewrite *w, error_context *err) {
    memset(w->recent, 0, RECENT_KEYS * sizeof *w->recent);
    w->n_done = 0;
    qn_status status = w->request->volume != NULL ? walk_volume(w, err)
                                                  : legacy_file_each(w->request->legacy, take_quin, w, err);
    return status < 0 ? status : walk_additions(w, err);
}

/* ---------------------------------------------------------------- before and after */

static qn_status count_terms(rewrite *w, error_context *err) {
    const rewrite_request *r = w->request;
    if (r->volume == NULL) {
        w->report.n_terms_before = r->legacy->lexicon.n_entries;
        return QN_OK;
    }
    graph_term_walk walk = {0};
    q42_term term;
    qn_status status;
    while ((status = graph_volume_next_term(r->volume, &walk, &term, err)) >= 0) {
        w->report.n_terms_before++;
    }
    w->report.n_terms_before -= graph_volume_has_mark(r->volume);
    return status == QN_NOT_FOUND ? QN_OK : status;
}

/* Whether volume or journal have a term under this key, which is then the hash of its text. Contexts of older files were whole hashes of
 * names, and never labels, where there was a lexicon. */
static bool is_graph_name(void *ctx, uint64_t context) {
    rewrite *w = ctx;
    error_context quiet = {0};
    q42_term term;
    return w->has_wide_keys || (find_term(w, context, &term, &quiet) >= 0 && term.kind == Q42_TERM_STRING);
}

static qn_status prepare(rewrite *w, error_context *err) {
    const rewrite_request *r = w->request;
    w->multiplier = secret_multiplier();
    w->recent = calloc(RECENT_KEYS, sizeof *w->recent);
    w->text = malloc(Q42_MAX_TERM);
    w->report.tally.is_name = is_graph_name;
    w->report.tally.is_name_ctx = w;
    if (w->recent == NULL || w->text == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    if (r->volume != NULL) {
        w->may_have_triples = graph_volume_may_have_triples(r->volume);
        const qn_status status = publication_flags(r->volume, &w->report.flags_before, err);
        w->report.tally.flags = r->drops_commons ? w->report.flags_before & (uint16_t)~Q42_FLAG_COMMONS
                                                 : w->report.flags_before;
        return status;
    }
    w->has_wide_keys = r->legacy->lexicon.form != Q42_LEXICON_NONE;
    return QN_OK;
}

static qn_status judge(rewrite *w, bool *out_commons, bool *out_sanctuary, error_context *err) {
    char witness[PUBLICATION_WITNESS_SIZE];
    q42_publication *tally = &w->report.tally;
    tally->flags |= w->request->wants_commons ? Q42_FLAG_COMMONS : 0;
    const q42_publication_verdict verdict = q42_publication_judge(tally);
    if (w->request->wants_commons && !verdict.may_publish) {
        publication_describe(&tally->ours, witness);
        return FAIL(err, QN_BAD_INPUT, "Commons cannot be declared: %s%s%s%s", verdict.reason,
                    witness[0] != '\0' ? " (" : "", witness, witness[0] != '\0' ? ")" : "");
    }
    *out_commons = verdict.may_publish;
    *out_sanctuary = verdict.is_sanctuary;
    w->report.lost_commons = (w->report.flags_before & Q42_FLAG_COMMONS) != 0 && !verdict.may_publish;
    w->report.n_added = w->request->state != NULL ? w->request->state->n_added : 0;
    return QN_OK;
}

static qn_status write_volume(rewrite *w, bool is_commons, bool is_sanctuary, error_context *err) {
    const rewrite_request *r = w->request;
    volume_writer_options options = {.memory = r->memory, .segment_bytes = r->segment_bytes, .is_forced = r->is_forced,
                                     .is_commons = is_commons, .is_sanctuary = is_sanctuary, .is_flat = w->is_flat,
                                     .generation = 1, .progress = r->progress, .progress_ctx = r->progress_ctx};
    volume_writer *writer = NULL;
    if (r->volume != NULL) {
        options.is_marked = graph_volume_has_mark(r->volume);
        options.generation = graph_volume_root(r->volume)->manifest.generation + 1;
    }
    qn_status status = volume_timestamp(&options.timestamp_ms, err);
    status = status < 0 ? status : volume_writer_create(r->output, &options, r->workers, &writer, err);
    if (status < 0) {
        return status;
    }
    w->lane = volume_writer_lane(writer, 0);
    status = walk_source(w, err);
    status = status < 0 ? status : volume_writer_commit(writer, &w->report.written, err);
    volume_writer_destroy(writer);
    return status;
}

qn_status rewrite_run(const rewrite_request *request, rewrite_report *out_report, error_context *err) {
    rewrite w = {.request = request};
    bool is_commons = false, is_sanctuary = false;
    qn_status status = prepare(&w, err);
    status = status < 0 ? status : count_terms(&w, err);
    status = status < 0 ? status : walk_source(&w, err);
    w.n_total = w.n_done;
    status = status < 0 ? status : judge(&w, &is_commons, &is_sanctuary, err);
    if (status >= 0 && !request->is_dry) {
        status = write_volume(&w, is_commons, is_sanctuary, err);
    }
    free(w.recent);
    free(w.text);
    if (status >= 0) {
        *out_report = w.report;
        out_report->tally.is_name_ctx = NULL;
        out_report->tally.is_name = NULL;
    }
    return status;
}
