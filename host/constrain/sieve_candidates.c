/* sieve_candidates.c — terms from a file and from a volume. */
#include "constrain/sieve_candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/block_cache.h"
#include "graph/convention.h"
#include "graph/pattern_terms.h"
#include "graph/query_plan.h"
#include "graph/query_run.h"
#include "graph/term_text.h"

typedef struct filler {
    const sieve_spec *spec;
    sieve_slot slot;
    graph_volume *volume;
    uint64_t *left;
    candidate_list *list;
    query_text *query;     /* prefixes of the spec */
    char *room;            /* 3 * NTRIPLES_TERM_ROOM */
    error_context *err;
} filler;

/* ----------------------------------------------------------------------------------------------------------------- list */

static qn_status fail_memory(const filler *f) {
    return FAIL(f->err, QN_LIMIT, "%s: the candidates need more than %u MiB; set memory in [sieve], or narrow the patterns", f->spec->path,
                f->spec->memory_mib);
}

static char *copy(const char *text, size_t size) {
    char *own = malloc(size + 1);
    if (own != NULL) {
        memcpy(own, text, size);
        own[size] = '\0';
    }
    return own;
}

static qn_status push(filler *f, const sieve_candidate *one, size_t bytes) {
    candidate_list *list = f->list;
    const uint64_t cost = bytes + 2 * sizeof *one;
    if (cost > *f->left) {
        return fail_memory(f);
    }
    if (list->n == list->capacity) {
        const uint32_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
        sieve_candidate *grown = realloc(list->items, (size_t)capacity * sizeof *grown);
        if (grown == NULL) {
            return FAIL(f->err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
        }
        list->items = grown;
        list->capacity = capacity;
    }
    *f->left -= cost;
    list->items[list->n++] = *one;
    return QN_OK;
}

static void free_candidate(sieve_candidate *one) {
    if (one->label != one->term) {
        free(one->label);
    }
    free(one->term);
}

static qn_status take(filler *f, uint64_t id, fmt_str term, const char *label, uint32_t line) {
    if (memchr(term.data, '\0', (size_t)term.size) != NULL) {
        return FAIL(f->err, QN_BAD_INPUT, "%s: [%s]: the text of the term %016" PRIx64 " holds a zero byte, which nobody can read", f->spec->path,
                    sieve_slot_name(f->slot), id);
    }
    sieve_candidate one = {.id = id, .term = copy(term.data, (size_t)term.size), .line = line};
    one.label = label != NULL ? copy(label, strlen(label)) : one.term;
    const size_t bytes = (size_t)term.size + (label != NULL ? strlen(label) : 0) + 2;
    qn_status status = one.term != NULL && one.label != NULL ? push(f, &one, bytes)
                                                             : FAIL(f->err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
    if (status < 0) {
        free_candidate(&one);
    }
    return status;
}

void candidate_list_free(candidate_list *list) {
    for (uint32_t i = 0; i < list->n; i++) {
        free_candidate(&list->items[i]);
    }
    free(list->items);
    *list = (candidate_list){.n = 0};
}

/* --------------------------------------------------------------------------------------------------------- listed terms */

static bool may_stand(uint32_t place, ntriples_kind kind) {
    return place == NTRIPLES_OBJECT || kind == NTRIPLES_IRI || (kind == NTRIPLES_BLANK && place == NTRIPLES_SUBJECT);
}

/* Puts "FILE: line L: " or "FILE: [slot]: " before words that do not know them. */
static qn_status put_place(const filler *f, qn_status status, uint32_t line) {
    char place[512];
    if (status < 0 && line > 0) {
        snprintf(place, sizeof place, "%.400s: line %u", f->spec->path, line);
    } else if (status < 0) {
        snprintf(place, sizeof place, "%.400s: [%s]", f->spec->path, sieve_slot_name(f->slot));
    }
    return status < 0 ? error_put_path(f->err, status, place) : status;
}

/* One term that fills `text`; it lies in f->room or in text. */
static qn_status read_term(filler *f, const char *text, uint32_t line, uint32_t place, ntriples_term *out) {
    text_reader r;
    text_reader_begin(&r, "term", text, f->err);
    QN_TRY(put_place(f, pattern_read_term(f->query, &r, f->room, out), line), f->err, "reading a term");
    if (r.at != r.end) {
        return FAIL(f->err, QN_BAD_INPUT, "%s: line %u: behind the term stands \"%.60s\"; a label has a line of its own", f->spec->path, line, r.at);
    }
    if (!may_stand(place, out->kind)) {
        return FAIL(f->err, QN_BAD_INPUT, "%s: line %u: %.100s cannot stand as %s", f->spec->path, line, text,
                    place == NTRIPLES_GRAPH ? "a graph" : sieve_slot_name(place));
    }
    return QN_OK;
}

/* The id of a term, which the volume's lexicon must know; without a volume it is that of surface texts. */
static qn_status find_id(filler *f, const ntriples_term *term, uint32_t line, uint32_t place, uint64_t *out_id) {
    const term_convention terms = f->volume != NULL ? graph_volume_terms(f->volume) : TERMS_SURFACE;
    fmt_str hashed;
    q42_term known;
    *out_id = convention_id(terms, term, place, f->room + 2 * NTRIPLES_TERM_ROOM, &hashed);
    if (f->volume == NULL || hashed.size == 0) {
        return QN_OK;
    }
    const qn_status status = graph_volume_find_term(f->volume, *out_id, &known, f->err);
    if (status == QN_NOT_FOUND || (status == QN_OK && !graph_term_equals(&known, hashed.data, hashed.size))) {
        return FAIL(f->err, QN_NOT_FOUND, "%s: line %u: %.*s is not in the lexicon of %s", f->spec->path, line,
                    (int)(term->size < 200 ? term->size : 200), term->text, graph_volume_path(f->volume));
    }
    return status;
}

static qn_status take_listed(filler *f) {
    const spec_slot *slot = &f->spec->slots[f->slot];
    for (uint32_t i = 0; i < slot->n_terms; i++) {
        const spec_term *listed = &slot->terms[i];
        ntriples_term term;
        uint64_t id;
        qn_status status = read_term(f, listed->text, listed->line, f->slot, &term);
        status = status < 0 ? status : find_id(f, &term, listed->line, f->slot, &id);
        status = status < 0 ? status : take(f, id, (fmt_str){term.text, term.size}, listed->label, listed->line);
        if (status < 0) {
            return status;
        }
    }
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------------ terms by pattern */

typedef struct id_list {
    uint64_t *ids;
    size_t n, capacity;
    uint32_t variable;
    filler *f;
} id_list;

static qn_status receive_row(void *ctx, const uint64_t *values, error_context *err) {
    id_list *list = ctx;
    if (list->n > 0 && list->ids[list->n - 1] == values[list->variable]) {
        return QN_OK;
    }
    if (list->n == list->capacity) {
        const size_t capacity = list->capacity == 0 ? 256 : list->capacity * 2;
        if (capacity * sizeof *list->ids > *list->f->left) {
            return fail_memory(list->f);
        }
        uint64_t *grown = realloc(list->ids, capacity * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
        }
        list->ids = grown;
        list->capacity = capacity;
    }
    list->ids[list->n++] = values[list->variable];
    return QN_OK;
}

static int compare_ids(const void *left, const void *right) {
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static qn_status take_id(filler *f, term_printer *printer, term_cell *cell, uint64_t id) {
    QN_TRY(term_printer_get(printer, id, f->slot, cell, f->err), f->err, "reading the text of a candidate");
    if (cell->counts.n_unresolved > 0) {
        return FAIL(f->err, QN_NOT_FOUND, "%s: the pattern of [%s] finds the id %016" PRIx64 ", which the lexicon of %s does not know",
                    f->spec->path, sieve_slot_name(f->slot), id, graph_volume_path(f->volume));
    }
    return take(f, id, (fmt_str){cell->text.text, cell->text.size}, NULL, 0);
}

static int compare_texts(const void *left, const void *right) {
    return strcmp(((const sieve_candidate *)left)->term, ((const sieve_candidate *)right)->term);
}

/* The ids that are new, as candidates in the order of their texts. */
static qn_status take_ids(filler *f, id_list *found) {
    const uint32_t n_listed = f->list->n;
    uint64_t *listed = malloc(((size_t)n_listed + 1) * sizeof *listed);
    term_printer printer = {.volume = f->volume};
    term_cell cell = {.is_filled = false};
    qn_status status = listed != NULL ? term_printer_init(&printer, f->volume, f->err) : FAIL(f->err, QN_NO_HOST_MEM, "out of memory");
    for (uint32_t i = 0; status == QN_OK && i < n_listed; i++) {
        listed[i] = f->list->items[i].id;
    }
    if (status == QN_OK && n_listed > 0) {
        qsort(listed, n_listed, sizeof *listed, compare_ids);
    }
    if (found->n > 0) {
        qsort(found->ids, found->n, sizeof *found->ids, compare_ids);
    }
    for (size_t i = 0; status == QN_OK && i < found->n; i++) {
        const bool is_new = (i == 0 || found->ids[i] != found->ids[i - 1]) &&
                            bsearch(&found->ids[i], listed, n_listed, sizeof *listed, compare_ids) == NULL;
        status = is_new ? take_id(f, &printer, &cell, found->ids[i]) : QN_OK;
    }
    free(listed);
    term_cell_free(&cell);
    term_printer_deinit(&printer);
    if (f->list->n > n_listed) {
        qsort(f->list->items + n_listed, f->list->n - n_listed, sizeof *f->list->items, compare_texts);
    }
    return status;
}

static qn_status ask(filler *f, id_list *found) {
    query_plan *plan = malloc(sizeof *plan);
    block_cache *cache = block_cache_create(f->volume);
    qn_status status = plan != NULL && cache != NULL ? query_plan_make(f->volume, f->query, cache, plan, f->err)
                                                     : FAIL(f->err, QN_NO_HOST_MEM, "out of memory");
    if (status == QN_OK) {
        status = query_run(plan, cache, receive_row, found, f->err);
    }
    block_cache_destroy(cache);
    free(plan);
    return status;
}

static qn_status take_matching(filler *f) {
    const spec_slot *slot = &f->spec->slots[f->slot];
    id_list found = {.f = f};
    if (slot->n_patterns == 0) {
        return QN_OK;
    }
    if (f->volume == NULL) {
        return FAIL(f->err, QN_BAD_INPUT, "%s: [%s] has a pattern, and [sieve] names no volume to ask", f->spec->path, sieve_slot_name(f->slot));
    }
    for (uint32_t i = 0; i < slot->n_patterns; i++) {
        QN_TRY(put_place(f, query_add_pattern(f->query, slot->patterns[i], f->err), 0), f->err, "reading a pattern");
    }
    const pattern_slot *place = &f->query->patterns[0].slots[f->slot];
    if (place->kind != SLOT_VARIABLE) {
        return FAIL(f->err, QN_BAD_INPUT, "%s: the first pattern of [%s], %.200s, has no variable in the place of the %s", f->spec->path,
                    sieve_slot_name(f->slot), slot->patterns[0], sieve_slot_name(f->slot));
    }
    found.variable = place->variable;
    qn_status status = ask(f, &found);
    status = status < 0 ? status : take_ids(f, &found);
    free(found.ids);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- checks */

static int compare_labels(const void *left, const void *right) {
    return strcmp((*(const sieve_candidate *const *)left)->label, (*(const sieve_candidate *const *)right)->label);
}

static qn_status check_labels(const filler *f) {
    const candidate_list *list = f->list;
    const sieve_candidate **order = malloc(((size_t)list->n + 1) * sizeof *order);
    qn_status status = order != NULL ? QN_OK : FAIL(f->err, QN_NO_HOST_MEM, "out of memory for the candidates of a sieve");
    for (uint32_t i = 0; status == QN_OK && i < list->n; i++) {
        order[i] = &list->items[i];
        if (list->items[i].label[0] == '\0') {
            status = FAIL(f->err, QN_BAD_INPUT, "%s: [%s]: the label of %.200s is empty", f->spec->path, sieve_slot_name(f->slot),
                          list->items[i].term);
        }
    }
    if (status == QN_OK) {
        qsort(order, list->n, sizeof *order, compare_labels);
    }
    for (uint32_t i = 1; status == QN_OK && i < list->n; i++) {
        if (strcmp(order[i - 1]->label, order[i]->label) == 0) {
            status = FAIL(f->err, QN_BAD_INPUT, "%s: [%s]: %.150s and %.150s are both printed as \"%.100s\"; give labels that differ", f->spec->path,
                          sieve_slot_name(f->slot), order[i - 1]->term, order[i]->term, order[i]->label);
        }
    }
    free(order);
    return status;
}

static qn_status begin(filler *f, error_context *err) {
    f->query = calloc(1, sizeof *f->query);
    f->room = malloc(3 * NTRIPLES_TERM_ROOM);
    if (f->query == NULL || f->room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    for (uint32_t i = 0; i < f->spec->n_prefixes; i++) {
        const qn_status status = query_add_prefix(f->query, f->spec->prefixes[i], err);
        if (status < 0) {
            return error_put_path(err, status, f->spec->path);
        }
    }
    return QN_OK;
}

static void end(filler *f) {
    if (f->query != NULL) {
        query_text_free(f->query);
    }
    free(f->query);
    free(f->room);
}

qn_status candidate_list_fill(const sieve_spec *spec, sieve_slot slot, graph_volume *volume, uint64_t *io_left, candidate_list *out,
                              error_context *err) {
    filler f = {.spec = spec, .slot = slot, .volume = volume, .left = io_left, .list = out, .err = err};
    qn_status status = begin(&f, err);
    status = status < 0 ? status : take_listed(&f);
    status = status < 0 ? status : take_matching(&f);
    if (status == QN_OK && out->n == 0) {
        status = FAIL(err, QN_BAD_INPUT, "%s: [%s] has no candidates%s", spec->path, sieve_slot_name(slot),
                      spec->slots[slot].n_patterns > 0 ? ": its patterns find nothing" : "; give term = ... or pattern = ...");
    }
    status = status < 0 ? status : check_labels(&f);
    end(&f);
    return status;
}

qn_status sieve_graph_find(const sieve_spec *spec, graph_volume *volume, uint64_t *out_id, char **out_text, error_context *err) {
    filler f = {.spec = spec, .volume = volume, .err = err};
    ntriples_term term;
    *out_id = Q42_DEFAULT_GRAPH;
    *out_text = NULL;
    if (spec->graph == NULL) {
        return QN_OK;
    }
    qn_status status = begin(&f, err);
    status = status < 0 ? status : read_term(&f, spec->graph, spec->graph_line, NTRIPLES_GRAPH, &term);
    status = status < 0 ? status : find_id(&f, &term, spec->graph_line, NTRIPLES_GRAPH, out_id);
    if (status == QN_OK) {
        *out_text = copy(term.text, term.size);
        status = *out_text != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    }
    end(&f);
    return status;
}
