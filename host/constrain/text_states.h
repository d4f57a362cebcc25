/* text_states.h — where a text stands in a grammar: sets of stacks, found once each, and the steps between them.
 *
 * A grammar may allow a text in several ways at once; each way is a node and a stack of nodes to return to. All ways together are a
 * *state*. States and steps are made when they are first asked for and remembered, so that a step costs one look-up in a table
 * afterwards.
 *
 * Threading: one thread at a time.
 * Memory:    pools of fixed size, allocated by text_states_create; no call after it allocates. When a pool is full, `is_full` is set and
 *            the step fails; text_states_compact forgets everything but one state and goes on.
 * Errors:    QN_LIMIT when a text needs more nesting or more ways at once than TEXT_STATES_MAX_*: the state is never cut short.
 */
#ifndef HOST_CONSTRAIN_TEXT_STATES_H
#define HOST_CONSTRAIN_TEXT_STATES_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "constrain/grammar.h"

#define TEXT_STATES_MAX_DEPTH 1024u /* returns that wait on one stack */
#define TEXT_STATES_MAX_WAYS 16384u /* stacks in one state */

#define TEXT_STATE_DEAD 0u          /* no text of the grammar begins so */
#define TEXT_STATE_UNKNOWN UINT32_MAX

typedef struct text_way {
    uint32_t node, stack;
} text_way;

typedef struct text_stack {
    uint32_t node, below;   /* where to return to, and the stack without it; stack 0 is empty */
    uint32_t depth;
} text_stack;

typedef struct text_state {
    uint32_t first, n_ways;  /* in ways */
    uint32_t mask;           /* for whoever keeps something for each state; TEXT_STATE_UNKNOWN at first */
    bool is_accepting;       /* the text may end here */
} text_state;

typedef struct text_states {
    const grammar *g;        /* borrowed */
    uint8_t class_of[256];   /* bytes that no node tells apart */
    uint8_t byte_of[256];    /* one byte of each class */
    uint32_t n_classes;
    uint32_t max_states, max_stacks, max_ways;
    text_state *states;      /* [max_states] */
    uint32_t *steps;         /* [max_states][n_classes] */
    text_stack *stacks;      /* [max_stacks] */
    text_way *ways;          /* [max_ways] */
    uint32_t *state_slots, *stack_slots; /* hash tables of ids, 0 is free; twice as many as ids */
    uint32_t n_states, n_stacks, n_ways;
    text_way *todo;          /* nodes of the state that is being made */
    uint32_t *seen;          /* hash table of what was in todo, by index; 0 is free */
    uint32_t *seen_round, round;
    uint32_t start;
    bool is_full;
} text_states;

/* `g` is borrowed. */
qn_status text_states_create(const grammar *g, text_states *out, error_context *err);
void text_states_destroy(text_states *s);

/* The state behind `byte`, TEXT_STATE_DEAD when it may not come. [no-alloc] */
qn_status text_states_make_step(text_states *s, uint32_t state, uint8_t byte, uint32_t *out_state, error_context *err);

static inline qn_status text_states_step(text_states *s, uint32_t state, uint8_t byte, uint32_t *out_state, error_context *err) {
    *out_state = s->steps[state * s->n_classes + s->class_of[byte]];
    return *out_state != TEXT_STATE_UNKNOWN ? QN_OK : text_states_make_step(s, state, byte, out_state, err);
}

/* True when no byte may come any more. */
static inline bool text_states_is_final(const text_states *s, uint32_t state) {
    return s->states[state].n_ways == 0;
}

/* Forgets every state but `keep`, which gets a new number. The masks of all states are unknown afterwards. [no-alloc] */
uint32_t text_states_compact(text_states *s, uint32_t keep);

/* The state of the empty text. After text_states_compact it is made again. */
qn_status text_states_begin(text_states *s, uint32_t *out_state, error_context *err);

#endif
