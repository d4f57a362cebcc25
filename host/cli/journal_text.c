/* journal_text.c — statements and headers of journals for people. */
#include "cli/journal_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/graph_command.h"

qn_status journal_text_init(journal_text *text, const journal_state *state, graph_volume *volume, error_context *err) {
    *text = (journal_text){.state = state, .volume = volume, .room = malloc(NTRIPLES_TERM_ROOM)};
    if (text->room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    return volume != NULL ? term_printer_init(&text->printer, volume, err) : QN_OK;
}

void journal_text_deinit(journal_text *text) {
    term_printer_deinit(&text->printer);
    term_cell_free(&text->cell);
    text_buffer_free(&text->line);
    free(text->room);
    text->room = NULL;
}

static qn_status put(journal_text *t, const char *text, uint64_t size, error_context *err) {
    return text_buffer_append(&t->line, text, (size_t)size) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

/* A text that the journal binds: as it is when it is a term of N-Triples, otherwise as an IRI or a literal, whichever it can be; a literal stands
 * in places where N-Quads has none rather than that a text breaks the line. */
static qn_status put_bound(journal_text *t, fmt_str text, error_context *err) {
    const fmt_str none = {"", 0};
    ntriples_term term = {text.data, (uint32_t)text.size, NTRIPLES_IRI, 0};
    fmt_diag diag;
    const bool is_term = ntriples_is_canonical(text, &term) ||
                         ntriples_make_iri(text, t->room, &term, &diag) == FMT_OK ||
                         ntriples_make_literal(text, none, none, t->room, &term, &diag) == FMT_OK;
    return put(t, is_term ? term.text : text.data, is_term ? term.size : text.size, err);
}

static qn_status put_alone(journal_text *t, uint64_t id, uint32_t place, error_context *err) {
    char text[NTRIPLES_INLINE_ROOM];
    uint32_t size = place == NTRIPLES_OBJECT ? ntriples_inline_text(id, NTRIPLES_DECIMAL_CANONICAL, text) : 0;
    if (size == 0) {
        size = (uint32_t)snprintf(text, sizeof text, "<urn:quoin:hash:%016" PRIx64 ">", id);
    }
    return put(t, text, size, err);
}

static qn_status put_term(journal_text *t, uint64_t id, uint32_t place, error_context *err) {
    const journal_term *bound = journal_state_find_term(t->state, id);
    qn_status status = QN_OK;
    if (bound != NULL) {
        status = put_bound(t, bound->text, err);
    } else if (t->volume == NULL) {
        status = put_alone(t, id, place, err);
    } else {
        status = term_printer_get(&t->printer, id, place, &t->cell, err);
        status = status < 0 ? status : put(t, t->cell.text.text, t->cell.text.size, err);
    }
    return status < 0 ? status : put(t, " ", 1, err);
}

static qn_status name_quin(const uint64_t ids[4], qn_status status, error_context *err) {
    char texts[4][20];
    for (uint32_t place = 0; place < 4; place++) {
        snprintf(texts[place], sizeof texts[place], "%016" PRIx64, ids[place]);
    }
    return term_name_quin((const char *const[]){texts[0], texts[1], texts[2], texts[3]}, status, err);
}

qn_status journal_text_make(journal_text *text, const char *word, const q42_quin *quin, error_context *err) {
    const uint64_t ids[4] = {quin->subject, quin->predicate, quin->object, quin->context};
    text->line.size = 0;
    qn_status status = put(text, word, strlen(word), err);
    status = status < 0 || word[0] == '\0' ? status : put(text, " ", 1, err);
    for (uint32_t place = 0; status >= 0 && place < 4; place++) {
        if (place != NTRIPLES_GRAPH || ids[place] != Q42_DEFAULT_GRAPH) {
            status = put_term(text, ids[place], place, err);
        }
    }
    return status == QN_LIMIT ? name_quin(ids, status, err) : status < 0 ? status : put(text, ".\n", 2, err);
}

const char *journal_type_name(q42_journal_type type) {
    static const char *const names[] = {[Q42_JOURNAL_BEGIN] = "begin", [Q42_JOURNAL_ADD] = "add",
                                        [Q42_JOURNAL_REMOVE] = "remove", [Q42_JOURNAL_TERM] = "term",
                                        [Q42_JOURNAL_RECEIPT] = "receipt"};
    return type == Q42_JOURNAL_COMMIT ? "commit" : names[type];
}

json_t *journal_describe_header(const q42_journal *journal) {
    static const char *const profiles[] = {"unknown", "generic", "workspace", "simulation", "clinical", "civic"};
    static const char *const privacies[] = {"sanctuary", "restricted", "commons"};
    const q42_journal_header *h = &journal->header;
    char digest[2 * Q42_DIGEST_BYTES + 1];
    return json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "profile",
                     profiles[h->profile <= 5 ? h->profile : 0], "privacy", h->privacy <= 2 ? privacies[h->privacy] : "unknown",
                     "world", graph_json_id(h->world), "base", graph_hex(h->base_digest, Q42_DIGEST_BYTES, digest),
                     "base_generation", (json_int_t)h->base_generation, "transactions",
                     (json_int_t)journal->n_transactions, "adds", (json_int_t)journal->n_adds, "removes",
                     (json_int_t)journal->n_removes, "terms", (json_int_t)journal->n_terms, "torn_bytes",
                     (json_int_t)journal->n_torn_bytes, "ignored_frames", (json_int_t)journal->n_ignored);
}
