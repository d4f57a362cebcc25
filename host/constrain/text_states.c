/* text_states.c — states by their ways, steps by their bytes. */
#include "constrain/text_states.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STATES (1u << 16)
#define MAX_STACKS (1u << 17)
#define MAX_WAYS (1u << 19)
#define MAX_STEPS (1u << 22)                /* of all states together */
#define MAX_TODO (8u * TEXT_STATES_MAX_WAYS) /* nodes on the way to the bytes of one state */
#define SEEN_SLOTS (2u * MAX_TODO)

static uint32_t mix(uint32_t a, uint32_t b) {
    uint64_t h = ((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h >> 32) ^ (uint32_t)h;
}

/* ------------------------------------------------------------------------------------------------------------ classes */

/* A class begins wherever some node's range begins, and behind where one ends. */
static void find_classes(text_states *s) {
    bool is_begin[257] = {true};
    for (uint32_t i = 0; i < s->g->n_nodes; i++) {
        const grammar_node *node = &s->g->nodes[i];
        if (node->kind == GRAMMAR_BYTE) {
            is_begin[node->low] = true;
            is_begin[node->high + 1] = true;
        }
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        if (is_begin[byte]) {
            s->byte_of[s->n_classes++] = (uint8_t)byte;
        }
        s->class_of[byte] = (uint8_t)(s->n_classes - 1);
    }
}

qn_status text_states_create(const grammar *g, text_states *out, error_context *err) {
    text_states *s = out;
    *s = (text_states){.g = g};
    find_classes(s);
    s->max_states = MAX_STEPS / s->n_classes < MAX_STATES ? MAX_STEPS / s->n_classes : MAX_STATES;
    s->max_stacks = MAX_STACKS;
    s->max_ways = MAX_WAYS;
    s->states = malloc((size_t)s->max_states * sizeof *s->states);
    s->steps = malloc((size_t)s->max_states * s->n_classes * sizeof *s->steps);
    s->stacks = malloc((size_t)s->max_stacks * sizeof *s->stacks);
    s->ways = malloc((size_t)s->max_ways * sizeof *s->ways);
    s->state_slots = calloc(2 * (size_t)MAX_STATES, sizeof *s->state_slots);
    s->stack_slots = calloc(2 * (size_t)s->max_stacks, sizeof *s->stack_slots);
    s->todo = malloc(MAX_TODO * sizeof *s->todo);
    s->seen = malloc(SEEN_SLOTS * sizeof *s->seen);
    s->seen_round = calloc(SEEN_SLOTS, sizeof *s->seen_round);
    const bool has_all = s->states != NULL && s->steps != NULL && s->stacks != NULL && s->ways != NULL && s->state_slots != NULL &&
                         s->stack_slots != NULL && s->todo != NULL && s->seen != NULL && s->seen_round != NULL;
    qn_status status = has_all ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory for the states of a grammar");
    if (status == QN_OK) {
        text_states_compact(s, TEXT_STATE_DEAD);
        status = text_states_begin(s, &s->start, err);
    }
    if (status < 0) {
        text_states_destroy(s);
    }
    return status;
}

void text_states_destroy(text_states *s) {
    free(s->states);
    free(s->steps);
    free(s->stacks);
    free(s->ways);
    free(s->state_slots);
    free(s->stack_slots);
    free(s->todo);
    free(s->seen);
    free(s->seen_round);
    *s = (text_states){.n_states = 0};
}

/* ------------------------------------------------------------------------------------------------------------- stacks */

static uint32_t *find_stack_slot(const text_states *s, uint32_t node, uint32_t below) {
    const uint32_t mask = 2 * s->max_stacks - 1;
    uint32_t at = mix(node, below) & mask;
    while (s->stack_slots[at] != 0) {
        const text_stack *stack = &s->stacks[s->stack_slots[at]];
        if (stack->node == node && stack->below == below) {
            break;
        }
        at = (at + 1) & mask;
    }
    return &s->stack_slots[at];
}

static qn_status push(text_states *s, uint32_t node, uint32_t below, uint32_t *out_stack, error_context *err) {
    uint32_t *slot = find_stack_slot(s, node, below);
    if (*slot == 0) {
        if (s->stacks[below].depth == TEXT_STATES_MAX_DEPTH) {
            return FAIL(err, QN_LIMIT, "the text nests deeper than %u, which is the limit of the grammar's stack", TEXT_STATES_MAX_DEPTH);
        }
        if (s->n_stacks == s->max_stacks) {
            s->is_full = true;
            return FAIL(err, QN_LIMIT, "the grammar needs more than %u stacks for one token", s->max_stacks);
        }
        s->stacks[s->n_stacks] = (text_stack){node, below, s->stacks[below].depth + 1};
        *slot = s->n_stacks++;
    }
    *out_stack = *slot;
    return QN_OK;
}

/* --------------------------------------------------------------------------------------------------- making one state */

typedef struct state_maker {
    text_states *s;
    error_context *err;
    uint32_t n_todo, n_ways; /* ways are collected behind those of all states */
    bool is_accepting;
} state_maker;

/* Each node with each stack once: loops of texts that may be empty come to rest. */
static qn_status put(state_maker *m, uint32_t node, uint32_t stack) {
    text_states *s = m->s;
    uint32_t at = mix(node, stack) & (SEEN_SLOTS - 1);
    while (s->seen_round[at] == s->round) {
        const text_way *known = &s->todo[s->seen[at]];
        if (known->node == node && known->stack == stack) {
            return QN_OK;
        }
        at = (at + 1) & (SEEN_SLOTS - 1);
    }
    if (m->n_todo == MAX_TODO) {
        return FAIL(m->err, QN_LIMIT, "the grammar allows the text in more than %u ways at once, which is the limit", MAX_TODO);
    }
    s->seen_round[at] = s->round;
    s->seen[at] = m->n_todo;
    s->todo[m->n_todo++] = (text_way){node, stack};
    return QN_OK;
}

static qn_status put_way(state_maker *m, text_way way) {
    text_states *s = m->s;
    if (m->n_ways == TEXT_STATES_MAX_WAYS) {
        return FAIL(m->err, QN_LIMIT, "the grammar allows the text in more than %u ways at once, which is the limit",
                    TEXT_STATES_MAX_WAYS);
    }
    if (s->n_ways + m->n_ways == s->max_ways) {
        s->is_full = true;
        return FAIL(m->err, QN_LIMIT, "the grammar needs more than %u ways for one token", s->max_ways);
    }
    s->ways[s->n_ways + m->n_ways++] = way;
    return QN_OK;
}

/* A call whose return would only return again needs no place on the stack: a list that is written as a rule which ends with itself does
 * not grow it. */
static qn_status put_call(state_maker *m, const grammar_node *node, uint32_t stack) {
    const grammar *g = m->s->g;
    uint32_t inner = stack;
    if (g->nodes[node->next].kind != GRAMMAR_END) {
        QN_TRY(push(m->s, node->next, stack, &inner, m->err), m->err, "entering a rule");
    }
    return put(m, g->rules[node->other].begin, inner);
}

static qn_status put_end(state_maker *m, uint32_t stack) {
    const text_stack *top = &m->s->stacks[stack];
    m->is_accepting |= stack == 0;
    return stack != 0 ? put(m, top->node, top->below) : QN_OK;
}

static qn_status expand(state_maker *m, text_way way) {
    const grammar_node *node = &m->s->g->nodes[way.node];
    switch (node->kind) {
    case GRAMMAR_BYTE: return put_way(m, way);
    case GRAMMAR_JUMP: return put(m, node->next, way.stack);
    case GRAMMAR_CALL: return put_call(m, node, way.stack);
    case GRAMMAR_END: return put_end(m, way.stack);
    default: break;
    }
    const qn_status status = put(m, node->next, way.stack);
    return status < 0 ? status : put(m, node->other, way.stack);
}

static bool is_before(text_way a, text_way b) {
    return a.node != b.node ? a.node < b.node : a.stack < b.stack;
}

/* Shell's sort, since qsort may allocate. */
static void sort_ways(text_way *ways, uint32_t n) {
    static const uint32_t gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++) {
        for (uint32_t i = gaps[g]; i < n; i++) {
            const text_way way = ways[i];
            uint32_t at = i;
            for (; at >= gaps[g] && is_before(way, ways[at - gaps[g]]); at -= gaps[g]) {
                ways[at] = ways[at - gaps[g]];
            }
            ways[at] = way;
        }
    }
}

static bool is_same(const text_states *s, const text_state *known, const state_maker *m) {
    return known->n_ways == m->n_ways && known->is_accepting == m->is_accepting &&
           memcmp(s->ways + known->first, s->ways + s->n_ways, m->n_ways * sizeof *s->ways) == 0;
}

static uint32_t *find_state_slot(const text_states *s, const state_maker *m) {
    uint32_t at = mix(m->n_ways, m->is_accepting);
    for (uint32_t i = 0; i < m->n_ways; i++) {
        const text_way *way = &s->ways[s->n_ways + i];
        at = mix(at ^ way->node, way->stack);
    }
    for (at &= 2 * MAX_STATES - 1; s->state_slots[at] != 0; at = (at + 1) & (2 * MAX_STATES - 1)) {
        if (is_same(s, &s->states[s->state_slots[at]], m)) {
            break;
        }
    }
    return &s->state_slots[at];
}

/* The state whose ways were collected. */
static qn_status take_state(state_maker *m, uint32_t *out_state) {
    text_states *s = m->s;
    if (m->n_ways == 0 && !m->is_accepting) {
        *out_state = TEXT_STATE_DEAD;
        return QN_OK;
    }
    sort_ways(s->ways + s->n_ways, m->n_ways);
    uint32_t *slot = find_state_slot(s, m);
    if (*slot == 0) {
        if (s->n_states == s->max_states) {
            s->is_full = true;
            return FAIL(m->err, QN_LIMIT, "the grammar needs more than %u states for one token", s->max_states);
        }
        s->states[s->n_states] = (text_state){s->n_ways, m->n_ways, TEXT_STATE_UNKNOWN, m->is_accepting};
        memset(s->steps + (size_t)s->n_states * s->n_classes, 0xFF, s->n_classes * sizeof *s->steps);
        s->n_ways += m->n_ways;
        *slot = s->n_states++;
    }
    *out_state = *slot;
    return QN_OK;
}

static qn_status finish_state(state_maker *m, uint32_t *out_state) {
    for (uint32_t i = 0; i < m->n_todo; i++) {
        const qn_status status = expand(m, m->s->todo[i]);
        if (status < 0) {
            return status;
        }
    }
    return take_state(m, out_state);
}

static state_maker begin_state(text_states *s, error_context *err) {
    if (++s->round == 0) { /* marks of four billion states ago would be taken for this one's */
        memset(s->seen_round, 0, SEEN_SLOTS * sizeof *s->seen_round);
        s->round = 1;
    }
    return (state_maker){.s = s, .err = err};
}

qn_status text_states_begin(text_states *s, uint32_t *out_state, error_context *err) {
    state_maker m = begin_state(s, err);
    const qn_status status = put(&m, s->g->rules[s->g->root].begin, 0);
    return status < 0 ? status : finish_state(&m, out_state);
}

qn_status text_states_make_step(text_states *s, uint32_t state, uint8_t byte, uint32_t *out_state, error_context *err) {
    const text_state from = s->states[state];
    state_maker m = begin_state(s, err);
    for (uint32_t i = 0; i < from.n_ways; i++) {
        const text_way *way = &s->ways[from.first + i];
        const grammar_node *node = &s->g->nodes[way->node];
        if (node->low <= byte && byte <= node->high) {
            const qn_status status = put(&m, node->next, way->stack);
            if (status < 0) {
                return status;
            }
        }
    }
    const qn_status status = finish_state(&m, out_state);
    if (status == QN_OK) {
        s->steps[(size_t)state * s->n_classes + s->class_of[byte]] = *out_state;
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- forgetting */

/* Stacks below others were made before them, so one pass down marks and one pass up moves; the table of slots holds the marks and then
 * the new numbers. */
static void keep_stacks(text_states *s, text_way *ways, uint32_t n_ways) {
    for (uint32_t i = 0; i < n_ways; i++) {
        s->stack_slots[ways[i].stack] = 1;
    }
    for (uint32_t i = s->n_stacks; i > 1; i--) {
        if (s->stack_slots[i - 1] != 0) {
            s->stack_slots[s->stacks[i - 1].below] = 1;
        }
    }
    uint32_t kept = 1;
    s->stack_slots[0] = 0;
    for (uint32_t i = 1; i < s->n_stacks; i++) {
        if (s->stack_slots[i] != 0) {
            const text_stack *stack = &s->stacks[i];
            s->stacks[kept] = (text_stack){stack->node, s->stack_slots[stack->below], stack->depth};
            s->stack_slots[i] = kept++;
        }
    }
    for (uint32_t i = 0; i < n_ways; i++) {
        ways[i].stack = s->stack_slots[ways[i].stack];
    }
    s->n_stacks = kept;
}

uint32_t text_states_compact(text_states *s, uint32_t keep) {
    state_maker m = {.s = s};
    if (keep != TEXT_STATE_DEAD) {
        m.n_ways = s->states[keep].n_ways;
        m.is_accepting = s->states[keep].is_accepting;
        memmove(s->ways, s->ways + s->states[keep].first, m.n_ways * sizeof *s->ways);
    }
    memset(s->stack_slots, 0, 2 * (size_t)s->max_stacks * sizeof *s->stack_slots);
    s->stacks[0] = (text_stack){.depth = 0};
    keep_stacks(s, s->ways, m.n_ways);
    memset(s->stack_slots, 0, 2 * (size_t)s->max_stacks * sizeof *s->stack_slots);
    for (uint32_t i = 1; i < s->n_stacks; i++) {
        *find_stack_slot(s, s->stacks[i].node, s->stacks[i].below) = i;
    }
    memset(s->state_slots, 0, 2 * (size_t)MAX_STATES * sizeof *s->state_slots);
    memset(s->steps, 0, s->n_classes * sizeof *s->steps); /* from the dead state nothing leads away */
    s->states[TEXT_STATE_DEAD] = (text_state){.mask = TEXT_STATE_UNKNOWN};
    s->n_states = 1;
    s->n_ways = 0;
    s->is_full = false;
    uint32_t kept = TEXT_STATE_DEAD;
    take_state(&m, &kept); /* into empty pools: it fits */
    return kept;
}
