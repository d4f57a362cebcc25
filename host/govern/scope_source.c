/* scope_source.c — patterns of texts into look-ups through a volume's indexes, and words back into texts. */
#include "govern/scope_source.h"

#include <stdlib.h>
#include <string.h>

#include "graph/convention.h"

typedef struct lookup_work {
    fact_lookup lookup;
    term_cell cells[FACT_PLACES];
    char room[NTRIPLES_SCRATCH_SIZE];
} lookup_work;

qn_status scope_source_open(const request *r, scope_source *out, error_context *err) {
    memset(out, 0, sizeof *out);
    out->r = r;
    for (uint32_t i = 0; i < r->n_volumes; i++) {
        QN_TRY(term_printer_init(&out->printers[i], r->scopes[i].volume, err), err, "opening scope %s", r->scopes[i].name);
        out->n_printers = i + 1;
    }
    return QN_OK;
}

void scope_source_close(scope_source *s) {
    for (uint32_t i = 0; i < s->n_printers; i++) {
        term_printer_deinit(&s->printers[i]);
    }
    s->n_printers = 0;
}

/* ---------------------------------------------------------------- texts into words */

static bool find_word(term_convention terms, fmt_str text, uint32_t place, char *room, uint64_t *out_word, bool *out_has_text) {
    ntriples_term term;
    fmt_diag diag;
    fmt_str hashed;
    uint64_t used;
    if (ntriples_read_term(text, room, &term, &used, &diag) != FMT_OK || used != text.size) {
        return false;
    }
    *out_word = convention_id(terms, &term, place, room + 2 * NTRIPLES_TERM_ROOM, &hashed);
    *out_has_text = hashed.size > 0;
    return true;
}

bool scope_source_word(const request *r, uint32_t index, fmt_str text, uint32_t place, uint64_t *out_word, bool *out_has_text) {
    const bool has_volume = index < r->n_volumes;
    char *room = malloc(NTRIPLES_SCRATCH_SIZE);
    const bool is_term = room != NULL && find_word(has_volume ? graph_volume_terms(r->scopes[index].volume) : TERMS_SURFACE, text, place, room,
                                                   out_word, out_has_text);
    free(room);
    return is_term;
}

/* False when the volume cannot have a term of the pattern. */
static bool make_pattern(const ground_volume *gv, const fmt_str texts[FACT_PLACES], char *room, q42_pattern *out) {
    uint64_t words[FACT_PLACES] = {0};
    static const uint32_t bits[FACT_PLACES] = {Q42_BOUND_SUBJECT, Q42_BOUND_PREDICATE, Q42_BOUND_OBJECT};
    uint32_t bound = 0;
    bool has_text;
    for (uint32_t i = 0; i < FACT_PLACES; i++) {
        if (texts[i].size > 0) {
            bound |= bits[i];
            if (!find_word(graph_volume_terms(gv->volume), texts[i], i, room, &words[i], &has_text)) {
                return false;
            }
        }
    }
    *out = fact_pattern(bound, words[0], words[1], words[2]);
    return true;
}

/* ---------------------------------------------------------------- words into texts */

static qn_status give(scope_source *s, uint32_t index, const q42_quin *quin, lookup_work *w, fact_take_fn *take, void *take_ctx,
                      error_context *err) {
    const uint64_t words[FACT_PLACES] = {quin->subject, quin->predicate, quin->object};
    fmt_str texts[FACT_PLACES];
    for (uint32_t i = 0; i < FACT_PLACES; i++) {
        QN_TRY(term_printer_get(&s->printers[index], words[i], i, &w->cells[i], err), err, "reading a statement");
        texts[i] = (fmt_str){w->cells[i].text.text, w->cells[i].text.size};
    }
    return take(take_ctx, texts, err);
}

static qn_status match_in(scope_source *s, uint32_t index, const fmt_str pattern[FACT_PLACES], lookup_work *w, fact_take_fn *take,
                          void *take_ctx, error_context *err) {
    const ground_volume *gv = &s->r->volumes[index];
    q42_pattern wanted;
    q42_quin quin;
    uint32_t tier;
    qn_status status;
    if (!make_pattern(gv, pattern, w->room, &wanted)) {
        return QN_OK;
    }
    memset(w->cells, 0, sizeof w->cells);
    fact_lookup_begin(&w->lookup, gv->volume, &wanted);
    while ((status = ground_volume_next(gv, &w->lookup, &quin, &tier, NULL, err)) == QN_OK) {
        status = give(s, index, &quin, w, take, take_ctx, err);
        if (status != QN_OK) {
            break;
        }
    }
    for (size_t i = 0; i < FACT_PLACES; i++) {
        term_cell_free(&w->cells[i]);
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static qn_status match(void *ctx, const fmt_str pattern[FACT_PLACES], fact_take_fn *take, void *take_ctx, error_context *err) {
    scope_source *s = ctx;
    lookup_work *w = malloc(sizeof *w); /* `take` may ask again */
    qn_status status = w != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for a look-up");
    for (uint32_t i = 0; status == QN_OK && i < s->n_printers; i++) {
        status = match_in(s, i, pattern, w, take, take_ctx, err);
    }
    free(w);
    return status;
}

fact_source scope_source_facts(scope_source *s) {
    return (fact_source){match, s};
}
