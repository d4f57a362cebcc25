/* term_text.h — the text of an id, as N-Quads writes it.
 *
 *     lexicon first; then an inline literal; what is known nowhere becomes <urn:quoin:hash:HEX16> and is counted
 *     a bare volume has lost what kind a term was: the rules of exporting such a volume guess it, and every guess is counted
 *
 * Threading: one thread at a time per printer.
 * Memory:    owned by the printer; a cell's text by the cell. While one is put together at most TERM_TEXT_MAX for each of the 16
 *            triples that may stand in each other.
 */
#ifndef HOST_GRAPH_TERM_TEXT_H
#define HOST_GRAPH_TERM_TEXT_H
#include <quoin/ntriples.h>

#include "base/text_buffer.h"
#include "graph/volume.h"

typedef uint32_t shown_kind;
enum {
    SHOWN_IRI = NTRIPLES_IRI,
    SHOWN_BLANK = NTRIPLES_BLANK,
    SHOWN_LITERAL = NTRIPLES_LITERAL,
    SHOWN_TRIPLE = 3,       /* << s p o >> */
    SHOWN_DEFAULT_GRAPH = 4 /* no text */
};

typedef struct term_counts {
    uint64_t n_unresolved; /* as <urn:quoin:hash:...> */
    uint64_t n_bare;       /* as <urn:quoin:bare:...> */
    uint64_t n_guessed;    /* objects of bare volumes taken as an IRI, a blank node or a plain literal */
} term_counts;

/* Triples in triples need three times the memory with each step: more than this for one term is refused. */
#define TERM_TEXT_MAX (UINT64_C(1) << 20) /* bytes */

typedef struct term_printer {
    graph_volume *volume;
    bool may_have_triples;
    bool leaves_triples; /* set by a caller who writes no triples: their cells have no text */
    char *room, *scratch; /* NTRIPLES_TERM_ROOM bytes each */
    term_counts counts;
} term_printer;

/* A text that is kept, since the next id in the same place is often the same. Start with a zeroed one. */
typedef struct term_cell {
    bool is_filled;
    uint64_t id;
    uint32_t place;
    term_counts counts;  /* what this text adds each time it is used */
    shown_kind kind;
    uint32_t close;      /* literal: offset of the closing quotation mark */
    text_buffer text;
} term_cell;

qn_status term_printer_init(term_printer *printer, graph_volume *volume, error_context *err);
void term_printer_deinit(term_printer *printer);

/* Fills a cell with the text of `id` in `place` (NTRIPLES_SUBJECT, ...). QN_BAD_FILE when a surface volume's entry is no N-Triples term, QN_LIMIT
 * when the text of a triple is longer than TERM_TEXT_MAX. */
qn_status term_printer_get(term_printer *printer, uint64_t id, uint32_t place, term_cell *cell, error_context *err);
void term_cell_free(term_cell *cell);

/* After an error: puts "the quin S P O C", each an id or a text of its own, before its words. Returns `status`. */
qn_status term_name_quin(const char *const places[4], qn_status status, error_context *err);

/* The cell as a term of N-Triples; not for triples and the default graph. */
ntriples_term term_cell_term(const term_cell *cell);

/* Sentence about what was counted, into out; false when there is nothing to tell. */
bool term_counts_describe(const term_counts *counts, char *out, size_t size);

#endif
