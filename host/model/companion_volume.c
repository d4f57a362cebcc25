/* companion_volume.c — the one model helper of a Q42 volume: its subject, its statements, its texts. */
#include "model/companion_volume.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/diag.h"

#define MAX_STATEMENTS (UINT64_C(1) << 25)

static const fmt_rule rule_subject = {"companion-subject", "18", "a companion describes one container"};
static const fmt_rule rule_text = {"companion-text", "18", "every predicate and every text must stand in the lexicon"};
static const fmt_rule rule_size = {"companion-size", "19", "a companion has at most 2^25 statements"};
static const fmt_rule rule_memory = {"companion-memory", "19", "work memory for the statements is needed"};

fmt_status companion_volume_find_text(void *ctx, uint64_t hash, fmt_str *out_text, fmt_diag *diag) {
    companion_volume *v = ctx;
    q42_term term;
    const fmt_status status = q42_lexicon_find(&v->volume.lexicon, hash, &term, diag);
    if (status == FMT_NOT_FOUND || (status == FMT_OK && term.kind != Q42_TERM_STRING)) {
        return diag_refuse(diag, FMT_BAD_FILE, &rule_text, (diag_place){0, FMT_NO_INDEX, hash, 0},
                           "no text has the hash %015" PRIx64, hash);
    }
    if (status != FMT_OK || term.prefix.size == 0) {
        *out_text = term.text;
        return status;
    }
    v->joined.size = 0;
    if (!text_buffer_append(&v->joined, term.prefix.data, term.prefix.size) ||
        !text_buffer_append(&v->joined, term.text.data, term.text.size)) {
        return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, 0}, "no memory is left");
    }
    *out_text = (fmt_str){v->joined.text, v->joined.size};
    return FMT_OK;
}

/* A page out of order could hide an entry from the look-ups below. */
static fmt_status check_lexicon(const companion_volume *v, fmt_diag *diag) {
    fmt_status status = FMT_OK;
    for (uint64_t page = 0; page < v->volume.lexicon.n_pages && status == FMT_OK; page++) {
        status = q42_lexicon_check_page(&v->volume.lexicon, page, diag);
    }
    return status;
}

/* The one subject that is a model helper; FMT_NOT_FOUND when there is none. */
static fmt_status find_subject(companion_volume *v, fmt_diag *diag) {
    const uint64_t type = q42_hash(COMPANION_TYPE_WORD, strlen(COMPANION_TYPE_WORD));
    const q42_pattern pattern = {.bound = Q42_BOUND_PREDICATE | Q42_BOUND_OBJECT | Q42_BOUND_CONTEXT,
                                 .predicate = q42_hash("rdf:type", 8),
                                 .context = v->context,
                                 .object = {type, type}};
    q42_scan scan;
    q42_quin quin;
    bool is_found = false;
    fmt_status status;
    q42_scan_begin(&scan, &v->volume, &pattern, v->block);
    while ((status = q42_scan_next(&scan, &quin, diag)) == FMT_OK) {
        if (is_found && quin.subject != v->subject) {
            return diag_refuse(diag, FMT_BAD_FILE, &rule_subject,
                               (diag_place){0, FMT_NO_INDEX, v->subject, quin.subject},
                               "it holds two model helpers, %015" PRIx64 " and %015" PRIx64, v->subject, quin.subject);
        }
        v->subject = quin.subject;
        is_found = true;
    }
    return status == FMT_NOT_FOUND && is_found ? FMT_OK : status;
}

static fmt_status keep_item(companion_volume *v, const q42_quin *quin, fmt_diag *diag) {
    if (v->n_items == MAX_STATEMENTS) {
        return diag_refuse(diag, FMT_LIMIT, &rule_size, (diag_place){0, FMT_NO_INDEX, MAX_STATEMENTS, 0},
                           "there are more statements than that");
    }
    if (v->n_items == v->room) {
        const uint64_t room = v->room * 2 + 1024;
        companion_item *grown = realloc(v->items, (size_t)room * sizeof *grown);
        if (grown == NULL) {
            return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, 0, 0},
                               "no memory is left after %" PRIu64 " statements", v->n_items);
        }
        v->items = grown;
        v->room = room;
    }
    v->items[v->n_items++] = (companion_item){quin->predicate, quin->metadata, quin->object};
    return FMT_OK;
}

fmt_status companion_volume_collect(companion_volume *v, fmt_diag *diag) {
    const q42_pattern pattern = {
        .bound = Q42_BOUND_SUBJECT | Q42_BOUND_CONTEXT, .subject = v->subject, .context = v->context};
    q42_scan scan;
    q42_quin quin;
    fmt_status status;
    q42_scan_begin(&scan, &v->volume, &pattern, v->block);
    while ((status = q42_scan_next(&scan, &quin, diag)) == FMT_OK) {
        status = keep_item(v, &quin, diag);
        if (status != FMT_OK) {
            return status;
        }
    }
    if (status == FMT_NOT_FOUND) {
        companion_sort_items(v->items, &v->n_items);
        return FMT_OK;
    }
    return status;
}

fmt_status companion_volume_open(companion_volume *v, fmt_span span, fmt_mode mode, fmt_note_fn *note, void *note_ctx,
                                 fmt_diag *diag) {
    *v = (companion_volume){.context = q42_hash(COMPANION_CONTEXT, strlen(COMPANION_CONTEXT))};
    v->block = malloc(Q42_BLOCK_BYTES);
    if (v->block == NULL) {
        return diag_refuse(diag, FMT_NO_SPACE, &rule_memory, (diag_place){0, FMT_NO_INDEX, Q42_BLOCK_BYTES, 0},
                           "there is no memory for a block");
    }
    fmt_status status = q42_open(span, mode, &v->volume, note, note_ctx, diag);
    if (status == FMT_OK) {
        status = check_lexicon(v, diag);
    }
    return status == FMT_OK ? find_subject(v, diag) : status;
}

void companion_volume_free(companion_volume *v) {
    free(v->block);
    free(v->items);
    text_buffer_free(&v->joined);
}
