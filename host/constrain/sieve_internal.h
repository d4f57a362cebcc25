/* sieve_internal.h — what the hook and the beam of a sieve share (internal to constrain/). */
#ifndef HOST_CONSTRAIN_SIEVE_INTERNAL_H
#define HOST_CONSTRAIN_SIEVE_INTERNAL_H
#include "constrain/sieve.h"
#include "constrain/sieve_candidates.h"
#include "constrain/term_trie.h"

#define SIEVE_MAX_STOPS 64u

typedef struct sieve_choice {
    uint32_t token;
    float logit;
} sieve_choice;

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
    /* where the text stands */
    uint32_t slot, node;         /* slot SIEVE_SLOTS: complete */
    uint32_t chosen[SIEVE_SLOTS]; /* candidates of the slots that are behind */
    double log_probability, margins[SIEVE_SLOTS];
    /* what the last mask allowed, best known by these */
    sieve_choice *inner, *outer; /* going on in this slot; leaving it: the next slot, or stop tokens */
    uint32_t n_inner, n_outer;
    double log_sum;              /* of the exponentials of the row */
    bool has_row;
};

/* Logarithm of the sum of exponentials of row[0..n). */
double sieve_log_sum(const float *row, uint32_t n);

/* The candidate that is complete at `node` and has longer fellows. */
static inline bool sieve_is_open_end(const term_trie *trie, uint32_t node) {
    return trie->nodes[node].candidate != NO_CANDIDATE && term_trie_has_children(trie, node);
}

#endif
