/* phrase_automaton.h — finds any of many phrases in a text that comes a few bytes at a time, in one step a byte (Aho-Corasick).
 *
 * A state says how much of which phrase the last bytes are; where one token ends and the next begins does not matter to it. Bytes that
 * stand in no phrase share one column, so the table is states times different bytes. Folding is of A-Z alone: bytes of UTF-8 beyond ASCII
 * are compared as they are.
 *
 * Threading: immutable once made; thread-safe.
 * Memory:    owned by the automaton until phrase_automaton_free; walking takes none.
 */
#ifndef HOST_SENTINEL_PHRASE_AUTOMATON_H
#define HOST_SENTINEL_PHRASE_AUTOMATON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PHRASES_MOST_BYTES 16384u /* of all phrases together */
#define PHRASE_NONE UINT32_MAX

typedef struct phrase_text {
    const char *bytes;
    size_t size;
} phrase_text;

typedef struct phrase_automaton {
    uint32_t n_states, n_columns;
    uint32_t *next;        /* [n_states][n_columns] */
    uint32_t *found;       /* [n_states] the first phrase that ends here, or PHRASE_NONE */
    uint16_t column[256];  /* of each byte */
} phrase_automaton;

/* QN_BAD_INPUT for an empty phrase, QN_LIMIT beyond PHRASES_MOST_BYTES. The phrases are not needed afterwards. */
qn_status phrase_automaton_make(const phrase_text *phrases, size_t n, bool folds_case, phrase_automaton *out, error_context *err);
void phrase_automaton_free(phrase_automaton *a);

/* The state behind bytes[n], from `state` on (0 at the beginning of a text). *out_found: the phrase that was completed first within
 * them, or PHRASE_NONE. [no-alloc] */
uint32_t phrase_automaton_walk(const phrase_automaton *a, uint32_t state, const char *bytes, size_t n, uint32_t *out_found);

#endif
