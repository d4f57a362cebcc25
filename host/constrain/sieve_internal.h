/* sieve_internal.h — what the hook and the beam of a sieve share (internal to constrain/). */
#ifndef HOST_CONSTRAIN_SIEVE_INTERNAL_H
#define HOST_CONSTRAIN_SIEVE_INTERNAL_H
#include "constrain/sieve.h"
#include "constrain/sieve_candidates.h"
#include "constrain/term_trie.h"

#define SIEVE_MAX_STOPS 64u

#define SIEVE_MAX_READINGS 32u

/* One way to divide the text into terms. There are several while a token may still belong to a longer term or to the next one. */
typedef struct sieve_reading {
    uint32_t slot, node;          /* slot SIEVE_SLOTS: complete */
    uint32_t chosen[SIEVE_SLOTS]; /* candidates of the slots that are behind */
    double margins[SIEVE_SLOTS];
} sieve_reading;

struct sieve {
    graph_volume *volume;        /* null without one */
    char *volume_path;
    candidate_list candidates[SIEVE_SLOTS];
    term_trie tries[SIEVE_SLOTS];
    uint64_t graph_id;
    char *graph;
    uint32_t stops[SIEVE_MAX_STOPS], n_stops, n_tokens;
    uint32_t beam;
    double review_below;
    /* where the text stands: readings in the order in which they are preferred, the longest match first */
    sieve_reading readings[SIEVE_MAX_READINGS], next[SIEVE_MAX_READINGS];
    uint32_t n_readings;
    double log_probability;
    /* what the last mask was made from */
    float *row;                  /* [n_tokens] logits of the model */
    double log_sum;              /* of their exponentials */
    uint32_t best_token;         /* of those that may come, stop tokens aside */
    float best, second, best_stop; /* -INFINITY: there is none */
    bool has_row;
};

/* Logarithm of the sum of exponentials of row[0..n). */
double sieve_log_sum(const float *row, uint32_t n);

/* The candidate that is complete at `node` and has longer fellows. */
static inline bool sieve_is_open_end(const term_trie *trie, uint32_t node) {
    return trie->nodes[node].candidate != NO_CANDIDATE && term_trie_has_children(trie, node);
}

#endif
