/* label_search.h — the terms of a volume that a prompt names: by an IRI that stands in it, by the words of a name.
 *
 * A literal without datatype, up to LABEL_MAX_BYTES, is a name when its words, all of them, stand in the prompt one behind the other;
 * likewise the last part of an IRI (behind the last # / or :), read as words ("birthPlace", "birth_place") or as one ("birthplace").
 *
 * Cost: one pass over the pages of the lexicon, which are mapped; nothing is built and nothing kept but the LABEL_MAX_MATCHES best. Most
 * terms are left at their first word. Pages are checked once each time a volume is opened, which costs more than the search itself.
 * Nothing but the lexicon is read. bench_ground measures it.
 *
 * Threading: one thread at a time per call.
 */
#ifndef HOST_GROUND_LABEL_SEARCH_H
#define HOST_GROUND_LABEL_SEARCH_H
#include "ground/ground_volume.h"
#include "ground/prompt_words.h"

#define LABEL_MAX_BYTES 200u
#define LABEL_MAX_MATCHES 256u

typedef struct term_match {
    uint64_t id;
    word_set words;
    uint32_t weight;     /* of the words */
    uint32_t place;      /* in the prompt */
    bool is_literal;
} term_match;

typedef struct label_matches {
    term_match items[LABEL_MAX_MATCHES]; /* heaviest first; then by place, then by id */
    uint32_t n;
    uint64_t n_terms;    /* looked at */
    uint64_t n_left;     /* matched, but were lighter than all that are kept */
} label_matches;

qn_status label_search(const ground_volume *gv, const prompt_words *words, label_matches *out, error_context *err);

/* The part of an IRI (without brackets) that people read. Empty when there is none. */
fmt_str iri_local_name(const char *iri, uint64_t size);

/* Bytes of a literal of a bare volume without its language tag: 6 of "Berlin@de". */
uint64_t label_cut_language(const char *text, uint64_t size);

#endif
