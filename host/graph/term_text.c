/* term_text.c — ids to texts. */
#include "graph/term_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16 /* triples in triples */
#define BARE_PREFIX "urn:quoin:bare:"

static qn_status print_id(term_printer *p, uint64_t id, uint32_t place, unsigned depth, term_cell *cell, error_context *err);

qn_status term_printer_init(term_printer *printer, graph_volume *volume, error_context *err) {
    *printer = (term_printer){.volume = volume, .may_have_triples = graph_volume_may_have_triples(volume)};
    printer->room = malloc(NTRIPLES_TERM_ROOM);
    printer->scratch = malloc(NTRIPLES_TERM_ROOM);
    return printer->room != NULL && printer->scratch != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

void term_printer_deinit(term_printer *printer) {
    free(printer->room);
    free(printer->scratch);
    printer->room = printer->scratch = NULL;
}

void term_cell_free(term_cell *cell) {
    text_buffer_free(&cell->text);
    *cell = (term_cell){.is_filled = false};
}

ntriples_term term_cell_term(const term_cell *cell) {
    return (ntriples_term){cell->text.text, (uint32_t)cell->text.size, cell->kind, cell->close};
}

static qn_status put_text(term_cell *cell, const char *text, uint64_t size, error_context *err) {
    return text_buffer_append(&cell->text, text, (size_t)size) ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
}

static qn_status put_term(term_cell *cell, const ntriples_term *term, error_context *err) {
    cell->kind = term->kind;
    cell->close = term->close;
    return put_text(cell, term->text, term->size, err);
}

static qn_status put_unresolved(term_cell *cell, uint64_t id, error_context *err) {
    char text[48];
    const int n = snprintf(text, sizeof text, "<urn:quoin:hash:%016" PRIx64 ">", id);
    cell->kind = SHOWN_IRI;
    cell->counts.n_unresolved++;
    return put_text(cell, text, (uint64_t)n, err);
}

/* ---------------------------------------------------------------- bare texts */

static bool is_unreserved(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c != 0 && strchr("-_.~", c) != NULL);
}

/* <urn:quoin:bare:PCT>, or the hash when that is longer than a term may be. */
static qn_status put_quoted(term_cell *cell, uint64_t id, fmt_str text, error_context *err) {
    static const char hex[] = "0123456789ABCDEF";
    uint64_t size = sizeof "<" BARE_PREFIX ">" - 1;
    for (uint64_t i = 0; i < text.size; i++) {
        size += is_unreserved((unsigned char)text.data[i]) ? 1 : 3;
    }
    if (size > NTRIPLES_MAX_TERM) {
        return put_unresolved(cell, id, err);
    }
    cell->kind = SHOWN_IRI;
    cell->counts.n_bare++;
    qn_status status = put_text(cell, "<" BARE_PREFIX, sizeof "<" BARE_PREFIX - 1, err);
    for (uint64_t i = 0; status == QN_OK && i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        const char quoted[] = {'%', hex[c >> 4], hex[c & 15]};
        status = is_unreserved(c) ? put_text(cell, (const char *)&c, 1, err) : put_text(cell, quoted, sizeof quoted, err);
    }
    return status < 0 ? status : put_text(cell, ">", 1, err);
}

static bool has_known_scheme(fmt_str text) {
    static const char *const schemes[] = {"http:", "https:", "urn:", "did:"};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        const size_t size = strlen(schemes[i]);
        if (text.size > size && memcmp(text.data, schemes[i], size) == 0) {
            return true;
        }
    }
    return false;
}

static qn_status put_bare(term_printer *p, uint64_t id, uint32_t place, fmt_str text, term_cell *cell, error_context *err) {
    ntriples_term term;
    fmt_diag diag;
    const bool is_object = place == NTRIPLES_OBJECT;
    if ((!is_object || has_known_scheme(text)) && ntriples_make_iri(text, p->scratch, &term, &diag) == FMT_OK) {
        cell->counts.n_guessed += is_object;
        return put_term(cell, &term, err);
    }
    if ((is_object || place == NTRIPLES_SUBJECT) && text.size > 2 && memcmp(text.data, "_:", 2) == 0 &&
        ntriples_make_blank((fmt_str){text.data + 2, text.size - 2}, p->scratch, &term, &diag) == FMT_OK) {
        cell->counts.n_guessed += is_object;
        return put_term(cell, &term, err);
    }
    if (is_object) {
        const fmt_str none = {"", 0};
        if (ntriples_make_literal(text, none, none, p->scratch, &term, &diag) != FMT_OK) {
            return put_unresolved(cell, id, err); /* escapes made it longer than a term may be */
        }
        cell->counts.n_guessed++;
        return put_term(cell, &term, err);
    }
    return put_quoted(cell, id, text, err);
}

/* ---------------------------------------------------------------- lexicon entries */

static bool may_stand(ntriples_kind kind, uint32_t place) {
    return place == NTRIPLES_OBJECT || kind == NTRIPLES_IRI || (kind == NTRIPLES_BLANK && place != NTRIPLES_PREDICATE);
}

static qn_status put_surface(term_printer *p, const q42_term *entry, uint32_t place, fmt_str text, term_cell *cell,
                             error_context *err) {
    ntriples_term term;
    fmt_diag diag;
    if (ntriples_read_term(text, p->scratch, &term, NULL, &diag) != FMT_OK) {
        return FAIL(err, QN_BAD_FILE, "%s: byte %llu: the term with key %016llx is no term of N-Triples, as the volume says its "
                    "terms are (%.200s); read it with --terms bare", graph_volume_path(p->volume),
                    (unsigned long long)entry->offset, (unsigned long long)entry->hash, diag.text);
    }
    return may_stand(term.kind, place) ? put_term(cell, &term, err) : put_quoted(cell, entry->hash, text, err);
}

static qn_status put_part(term_printer *p, const q42_term *entry, const term_cell *part, term_cell *cell, error_context *err) {
    if (cell->text.size + part->text.size + 3 > TERM_TEXT_MAX) {
        return FAIL(err, QN_LIMIT, "%s: byte %llu: the text of the triple %016llx, with those that stand in it, is longer than %llu bytes, "
                    "which is the limit for one term", graph_volume_path(p->volume), (unsigned long long)entry->offset,
                    (unsigned long long)entry->hash, (unsigned long long)TERM_TEXT_MAX);
    }
    return put_text(cell, part->text.text, part->text.size, err);
}

static qn_status put_triple(term_printer *p, const q42_term *entry, unsigned depth, term_cell *cell, error_context *err) {
    if (p->leaves_triples) {
        cell->kind = SHOWN_TRIPLE;
        return QN_OK;
    }
    qn_status status = put_text(cell, "<< ", 3, err);
    for (uint32_t i = 0; status == QN_OK && i < 3; i++) {
        term_cell part = {.is_filled = false};
        status = print_id(p, entry->triple[i], i, depth + 1, &part, err);
        if (status == QN_OK) {
            status = put_part(p, entry, &part, cell, err);
        }
        if (status == QN_OK) {
            status = put_text(cell, i < 2 ? " " : " >>", i < 2 ? 1 : 3, err);
        }
        cell->counts.n_unresolved += part.counts.n_unresolved;
        cell->counts.n_bare += part.counts.n_bare;
        cell->counts.n_guessed += part.counts.n_guessed;
        term_cell_free(&part);
    }
    cell->kind = SHOWN_TRIPLE;
    return status;
}

static qn_status put_entry(term_printer *p, const q42_term *entry, uint32_t place, unsigned depth, term_cell *cell,
                           error_context *err) {
    if (entry->kind == Q42_TERM_TRIPLE) {
        return depth < MAX_DEPTH ? put_triple(p, entry, depth, cell, err)
                                 : FAIL(err, QN_BAD_FILE, "%s: byte %llu: triples stand in triples more than %d deep",
                                        graph_volume_path(p->volume), (unsigned long long)entry->offset, MAX_DEPTH);
    }
    const term_convention terms = graph_volume_terms(p->volume);
    const uint32_t size = graph_term_copy(entry, p->room);
    if (terms == TERMS_SURFACE && entry->kind == Q42_TERM_STRING) {
        return put_surface(p, entry, place, (fmt_str){p->room, size}, cell, err);
    }
    return put_bare(p, entry->hash, place, (fmt_str){p->room, size}, cell, err);
}

/* ---------------------------------------------------------------- ids */

static uint32_t make_inline(const term_printer *p, uint64_t id, uint32_t place, ntriples_term *out_term, char *out) {
    const term_convention terms = graph_volume_terms(p->volume);
    if (place != NTRIPLES_OBJECT || terms == TERMS_TOKEN) {
        return 0;
    }
    const uint32_t size = ntriples_inline_text(id, terms == TERMS_BARE ? NTRIPLES_DECIMAL_SIX : NTRIPLES_DECIMAL_CANONICAL, out);
    const char *close = size > 1 ? memchr(out + 1, '"', size - 1) : NULL;
    *out_term = (ntriples_term){out, size, NTRIPLES_LITERAL, close != NULL ? (uint32_t)(close - out) : 0};
    return close != NULL ? size : 0;
}

static qn_status print_id(term_printer *p, uint64_t id, uint32_t place, unsigned depth, term_cell *cell, error_context *err) {
    char room[NTRIPLES_INLINE_ROOM];
    ntriples_term literal;
    q42_term entry;
    if (place == NTRIPLES_GRAPH && id == Q42_DEFAULT_GRAPH) {
        cell->kind = SHOWN_DEFAULT_GRAPH;
        return QN_OK;
    }
    const bool is_inline = make_inline(p, id, place, &literal, room) > 0;
    if (is_inline && !p->may_have_triples) {
        return put_term(cell, &literal, err);
    }
    const qn_status status = graph_volume_find_term(p->volume, id, &entry, err);
    if (status == QN_OK) {
        return put_entry(p, &entry, place, depth, cell, err);
    }
    if (status != QN_NOT_FOUND) {
        return status;
    }
    return is_inline ? put_term(cell, &literal, err) : put_unresolved(cell, id, err);
}

static void add_counts(term_counts *sum, const term_counts *one) {
    sum->n_unresolved += one->n_unresolved;
    sum->n_bare += one->n_bare;
    sum->n_guessed += one->n_guessed;
}

qn_status term_printer_get(term_printer *printer, uint64_t id, uint32_t place, term_cell *cell, error_context *err) {
    if (!cell->is_filled || cell->id != id || cell->place != place) {
        cell->text.size = 0;
        cell->counts = (term_counts){.n_bare = 0};
        cell->close = 0;
        cell->is_filled = false;
        const qn_status status = print_id(printer, id, place, 0, cell, err);
        if (status < 0) {
            return status;
        }
        cell->id = id;
        cell->place = place;
        cell->is_filled = true;
    }
    add_counts(&printer->counts, &cell->counts);
    return QN_OK;
}

qn_status term_name_quin(const char *const places[4], qn_status status, error_context *err) {
    char text[400];
    snprintf(text, sizeof text, "the quin %.90s %.90s %.90s %.90s", places[0], places[1], places[2], places[3]);
    return error_put_path(err, status, text);
}

bool term_counts_describe(const term_counts *counts, char *out, size_t size) {
    const struct {
        uint64_t n;
        const char *what;
    } parts[] = {{counts->n_unresolved, "ids without a term, written as <urn:quoin:hash:...>"},
                 {counts->n_bare, "texts that are no IRI, written as <urn:quoin:bare:...>"},
                 {counts->n_guessed, "objects of unknown kind, written as what they look like"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].n > 0 && used < size) {
            const int n = snprintf(out + used, size - used, "%s%" PRIu64 " %s", used > 0 ? "; " : "", parts[i].n, parts[i].what);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return used > 0;
}
