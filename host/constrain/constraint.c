/* constraint.c — a grammar walked along the tree of tokens. */
#include "constrain/constraint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "constrain/gbnf.h"
#include "constrain/json_schema.h"
#include "constrain/text_states.h"
#include "constrain/token_trie.h"

#define MASK_MEMORY (8u << 20) /* bytes of masks that are kept */
#define MIN_MASKS 16u
#define MAX_MASKS 4096u
#define MAX_STOPS 64u
#define FULL_PART 2u           /* compacted between tokens when one part in so many of a pool is used */

struct constraint {
    const char *kind;
    const tokenizer *tok;
    grammar language;
    token_trie trie;
    text_states states;
    uint32_t now;            /* state */
    uint32_t stops[MAX_STOPS], n_stops;
    bool drops_space;        /* the first token of the text loses its leading space */
    bool is_at_start;
    uint32_t *path;          /* [deepest + 1] states along the way to a node of the tree */
    char *room;              /* [deepest + 1] bytes of a token */
    uint64_t *masks;         /* [n_slots][words] a bit for each token that may come; slot 0 is never kept */
    uint32_t *owners;        /* [n_slots] state whose mask a slot holds */
    uint32_t words, n_slots, n_used, next_slot;
    constraint_counts counts;
};

/* ------------------------------------------------------------------------------------------------------- life and death */

static qn_status allocate(constraint *c, error_context *err) {
    c->words = (c->trie.n_tokens + 63) / 64;
    const uint32_t fitting = MASK_MEMORY / (c->words * (uint32_t)sizeof *c->masks);
    c->n_slots = fitting < MIN_MASKS ? MIN_MASKS : fitting > MAX_MASKS ? MAX_MASKS : fitting;
    c->masks = malloc((size_t)c->n_slots * c->words * sizeof *c->masks);
    c->owners = calloc(c->n_slots, sizeof *c->owners);
    c->path = calloc((size_t)c->trie.deepest + 1, sizeof *c->path);
    c->room = malloc((size_t)c->trie.deepest + 1);
    if (c->masks == NULL || c->owners == NULL || c->path == NULL || c->room == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a constraint on %u tokens", c->trie.n_tokens);
    }
    c->next_slot = 1;
    return QN_OK;
}

static bool is_stop(const constraint *c, uint32_t id) {
    for (uint32_t i = 0; i < c->n_stops; i++) {
        if (c->stops[i] == id) {
            return true;
        }
    }
    return false;
}

static qn_status copy_stops(constraint *c, const constraint_target *target, error_context *err) {
    for (uint32_t i = 0; i < target->n_stops; i++) {
        const uint32_t id = target->stops[i];
        if (id >= c->trie.n_tokens || is_stop(c, id)) {
            continue;
        }
        if (c->n_stops == MAX_STOPS) {
            return FAIL(err, QN_LIMIT, "more than %u stop tokens", MAX_STOPS);
        }
        c->stops[c->n_stops++] = id;
    }
    return QN_OK;
}

static bool drops_first_space(const constraint_target *target) {
    const tokenizer_facts *facts = tokenizer_get_facts(target->tok);
    return target->at_start && facts->add_space_prefix && facts->model.size == 5 && memcmp(facts->model.data, "llama", 5) == 0;
}

qn_status constraint_create(grammar *language, const char *kind, const constraint_target *target, constraint **out, error_context *err) {
    constraint *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "out of memory for a constraint");
    }
    *c = (constraint){.kind = kind, .tok = target->tok, .drops_space = drops_first_space(target)};
    c->language = *language;
    qn_status status = token_trie_create(target->tok, &c->trie, err);
    if (status == QN_OK) {
        status = text_states_create(&c->language, &c->states, err);
    }
    if (status == QN_OK) {
        status = allocate(c, err);
    }
    if (status == QN_OK) {
        status = copy_stops(c, target, err);
    }
    if (status < 0) {
        c->language = (grammar){.n_nodes = 0}; /* stays the caller's */
        constraint_destroy(c);
        return status;
    }
    *language = (grammar){.n_nodes = 0};
    c->now = c->states.start;
    c->is_at_start = c->drops_space;
    *out = c;
    return QN_OK;
}

typedef qn_status read_language_fn(const char *path, grammar *out, error_context *err);

static qn_status create_from_file(read_language_fn *read, const char *kind, const char *path, const constraint_target *target,
                                  constraint **out, error_context *err) {
    grammar language = {.n_nodes = 0};
    QN_TRY(read(path, &language, err), err, "reading %s", path);
    const qn_status status = constraint_create(&language, kind, target, out, err);
    grammar_free(&language);
    return status;
}

qn_status constraint_create_grammar(const char *path, const constraint_target *target, constraint **out, error_context *err) {
    return create_from_file(gbnf_read, "grammar", path, target, out, err);
}

qn_status constraint_create_schema(const char *path, const constraint_target *target, constraint **out, error_context *err) {
    return create_from_file(json_schema_read, "json-schema", path, target, out, err);
}

void constraint_destroy(constraint *c) {
    if (c == NULL) {
        return;
    }
    text_states_destroy(&c->states);
    token_trie_destroy(&c->trie);
    grammar_free(&c->language);
    free(c->masks);
    free(c->owners);
    free(c->path);
    free(c->room);
    free(c);
}

/* --------------------------------------------------------------------------------------------------------------- states */

static void forget(constraint *c) {
    c->now = text_states_compact(&c->states, c->now);
    memset(c->owners, 0, c->n_slots * sizeof *c->owners);
    c->n_used = 0;
    c->counts.n_compactions++;
}

/* Between two tokens, so that a pool seldom runs full inside one. */
static void make_room(constraint *c) {
    const text_states *s = &c->states;
    if (s->n_states > s->max_states / FULL_PART || s->n_stacks > s->max_stacks / FULL_PART || s->n_ways > s->max_ways / FULL_PART) {
        forget(c);
    }
}

qn_status constraint_reset(constraint *c, error_context *err) {
    qn_status status = text_states_begin(&c->states, &c->now, err);
    if (status < 0 && c->states.is_full) {
        error_clear(err);
        c->now = TEXT_STATE_DEAD;
        forget(c);
        status = text_states_begin(&c->states, &c->now, err);
    }
    c->is_at_start = c->drops_space;
    return status;
}

/* ---------------------------------------------------------------------------------------------------------------- masks */

static void allow_tokens(const constraint *c, uint32_t node, uint64_t *mask) {
    const token_trie *trie = &c->trie;
    for (uint32_t i = trie->nodes[node].first_token; i < trie->nodes[node + 1].first_token; i++) {
        mask[trie->tokens[i] / 64] |= UINT64_C(1) << (trie->tokens[i] % 64);
    }
}

/* One pass over the nodes in the order in which they lie; a byte that may not come skips the whole subtree. */
static qn_status walk(constraint *c, uint64_t *mask, error_context *err) {
    const token_trie_node *nodes = c->trie.nodes;
    text_states *s = &c->states;
    memset(mask, 0, c->words * sizeof *mask);
    c->path[0] = c->now;
    c->counts.n_walks++;
    for (uint32_t at = 1; at < c->trie.n_nodes;) {
        const token_trie_node *node = &nodes[at];
        uint32_t state;
        if (c->is_at_start && node->depth == 1 && node->byte == ' ') {
            c->path[node->depth] = c->now; /* it will not be printed; a token that is nothing else would change nothing */
            at++;
            continue;
        }
        const qn_status status = text_states_step(s, c->path[node->depth - 1], node->byte, &state, err);
        if (status < 0) {
            return status;
        }
        if (state == TEXT_STATE_DEAD) {
            at = node->end;
            continue;
        }
        c->path[node->depth] = state;
        allow_tokens(c, at++, mask);
    }
    return QN_OK;
}

/* A walk that fills a pool is done once more with the pools empty; what does not fit then is the grammar's fault. */
static qn_status walk_with_room(constraint *c, uint64_t *mask, error_context *err) {
    const qn_status status = walk(c, mask, err);
    if (status >= 0 || !c->states.is_full) {
        return status;
    }
    error_clear(err);
    forget(c);
    return walk(c, mask, err);
}

/* The mask of the state; kept, when it is that of a whole token. */
static qn_status find_mask(constraint *c, const uint64_t **out_mask, error_context *err) {
    uint32_t slot = c->states.states[c->now].mask;
    if (!c->is_at_start && slot != TEXT_STATE_UNKNOWN && c->owners[slot] == c->now) {
        c->counts.n_masks_reused++;
        *out_mask = c->masks + (size_t)slot * c->words;
        return QN_OK;
    }
    slot = c->is_at_start ? 0 : c->next_slot;
    uint64_t *mask = c->masks + (size_t)slot * c->words;
    c->owners[slot] = TEXT_STATE_DEAD;
    QN_TRY(walk_with_room(c, mask, err), err, "finding the tokens that may come");
    if (slot > 0) {
        c->owners[slot] = c->now;
        c->states.states[c->now].mask = slot;
        c->next_slot = slot + 1 < c->n_slots ? slot + 1 : 1;
        c->n_used += c->n_used < c->n_slots - 1;
    }
    *out_mask = mask;
    return QN_OK;
}

/* Most words of most masks allow nothing: those are copied from here. */
#define NOTHING_8 -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY
static const float nothing[64] = {NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8, NOTHING_8};

static uint32_t apply_word(uint64_t word, float *logits, uint32_t n) {
    if (word == 0) {
        memcpy(logits, nothing, n * sizeof *logits);
        return 0;
    }
    if (word == UINT64_MAX) {
        return n;
    }
    for (uint32_t i = 0; i < n; i++) {
        logits[i] = word >> i & 1 ? logits[i] : -INFINITY;
    }
    return (uint32_t)__builtin_popcountll(n < 64 ? word & ((UINT64_C(1) << n) - 1) : word);
}

static bool is_allowed(const uint64_t *mask, uint32_t id) {
    return (mask[id / 64] >> (id % 64) & 1) != 0;
}

/* Stop tokens come back from before the mask was applied. */
static uint32_t apply(const constraint *c, const uint64_t *mask, float *logits, uint32_t n_tokens) {
    const bool may_end = c->states.states[c->now].is_accepting;
    float kept[MAX_STOPS];
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < c->n_stops; i++) {
        kept[i] = c->stops[i] < n_tokens ? logits[c->stops[i]] : -INFINITY;
    }
    for (uint32_t at = 0; at < n_tokens; at += 64) {
        n_left += apply_word(at / 64 < c->words ? mask[at / 64] : 0, logits + at, n_tokens - at < 64 ? n_tokens - at : 64);
    }
    for (uint32_t i = 0; i < c->n_stops; i++) {
        const uint32_t id = c->stops[i];
        if (id < n_tokens && is_allowed(mask, id)) {
            n_left--; /* a stop token that prints something ends the text nevertheless */
        }
        if (id < n_tokens) {
            logits[id] = may_end ? kept[i] : -INFINITY;
            n_left += may_end;
        }
    }
    return n_left;
}

static qn_status mask_logits(void *ctx, float *logits, uint32_t n_tokens, uint32_t *out_n_left, error_context *err) {
    constraint *c = ctx;
    const uint64_t *mask = NULL;
    make_room(c);
    const qn_status status = find_mask(c, &mask, err);
    if (status == QN_OK) {
        *out_n_left = apply(c, mask, logits, n_tokens);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------------------- tokens */

static qn_status step_bytes(constraint *c, const char *bytes, size_t size, uint32_t *state, size_t *out_used, error_context *err) {
    size_t at = 0;
    while (at < size && *state != TEXT_STATE_DEAD) {
        uint32_t next;
        const qn_status status = text_states_step(&c->states, *state, (uint8_t)bytes[at], &next, err);
        if (status < 0) {
            return status;
        }
        *state = next;
        at += next != TEXT_STATE_DEAD;
    }
    *out_used = at;
    return QN_OK;
}

/* The state behind `bytes`, from *state on or, when `from_begin`, from the empty text. A pool that runs full is emptied once. */
static qn_status follow(constraint *c, bool from_begin, const char *bytes, size_t size, uint32_t *out_state, size_t *out_used,
                        error_context *err) {
    qn_status status = QN_OK;
    for (unsigned attempt = 0; attempt < 2; attempt++) {
        *out_state = c->now;
        status = from_begin ? text_states_begin(&c->states, out_state, err) : QN_OK;
        if (status == QN_OK) {
            status = step_bytes(c, bytes, size, out_state, out_used, err);
        }
        if (status >= 0 || !c->states.is_full) {
            return status;
        }
        if (attempt == 0) {
            error_clear(err);
            forget(c);
        }
    }
    return status;
}

static qn_status accept_token(void *ctx, uint32_t id, bool *out_is_complete, error_context *err) {
    constraint *c = ctx;
    const size_t size = id < c->trie.n_tokens ? tokenizer_token_bytes(c->tok, id, false, c->room, (size_t)c->trie.deepest + 1) : 0;
    const size_t at = c->is_at_start && size > 0 && c->room[0] == ' ' ? 1 : 0;
    uint32_t state;
    size_t used;
    make_room(c);
    QN_TRY(follow(c, false, c->room + at, size - at, &state, &used, err), err, "taking token %u", id);
    if (state == TEXT_STATE_DEAD || size == at) {
        return FAIL(err, QN_BAD_INPUT, "token %u may not come here: the %s does not allow it", id, c->kind);
    }
    c->now = state;
    c->is_at_start = false;
    *out_is_complete = text_states_is_final(&c->states, state);
    return QN_OK;
}

token_constraint constraint_hook(constraint *c) {
    return (token_constraint){.ctx = c, .mask = mask_logits, .accept = accept_token};
}

/* ------------------------------------------------------------------------------------------------------------ questions */

const char *constraint_kind(const constraint *c) {
    return c->kind;
}

bool constraint_is_complete(const constraint *c) {
    return c->states.states[c->now].is_accepting;
}

qn_status constraint_try_text(constraint *c, const char *text, size_t size, bool *out_is_complete, size_t *out_accepted,
                              error_context *err) {
    uint32_t state;
    make_room(c);
    QN_TRY(follow(c, true, text, size, &state, out_accepted, err), err, "trying a text");
    *out_is_complete = *out_accepted == size && c->states.states[state].is_accepting;
    return QN_OK;
}

constraint_counts constraint_count(const constraint *c) {
    constraint_counts counts = c->counts;
    counts.n_trie_nodes = c->trie.n_nodes;
    counts.n_states = c->states.n_states;
    counts.n_masks = c->n_used;
    return counts;
}
