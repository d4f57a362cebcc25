/* grammar_check.c — what must hold for a grammar before anything is made with it. */
#include <stdio.h>
#include <stdlib.h>

#include "constrain/grammar_internal.h"

const char *grammar_place(const grammar *g, uint32_t rule, char out[GRAMMAR_PLACE_SIZE]) {
    const grammar_rule *named = &g->rules[g->rules[rule].parent];
    if (named->line > 0) {
        snprintf(out, GRAMMAR_PLACE_SIZE, "line %u, column %u: rule %s", named->line, named->column, named->name);
    } else {
        snprintf(out, GRAMMAR_PLACE_SIZE, "%s", named->name);
    }
    return out;
}

/* What the checks remember of each node and rule. */
typedef struct checks {
    grammar *g;
    error_context *err;
    uint32_t *stack;      /* [n_nodes] nodes to look at */
    uint32_t *seen;       /* [n_nodes] round in which a node was looked at */
    uint32_t round;
    uint8_t *is_nullable; /* [n_rules] */
    uint8_t *is_finite;   /* [n_rules] has a finite text */
    uint8_t *is_reached;  /* [n_rules] */
    uint8_t *colour;      /* [n_rules] of the search for left recursion: 0, 1 on the path, 2 done */
} checks;

typedef bool follow_fn(const checks *c, const grammar_node *node);

static bool follow_nullable(const checks *c, const grammar_node *node) {
    return node->kind == GRAMMAR_CALL && c->is_nullable[node->other];
}

static bool follow_finite(const checks *c, const grammar_node *node) {
    return node->kind == GRAMMAR_BYTE || (node->kind == GRAMMAR_CALL && c->is_finite[node->other]);
}

static bool follow_all(const checks *c, const grammar_node *node) {
    (void)c;
    return node->kind == GRAMMAR_BYTE || node->kind == GRAMMAR_CALL;
}

static void visit(checks *c, uint32_t node, uint32_t *n) {
    if (c->seen[node] != c->round) {
        c->seen[node] = c->round;
        c->stack[(*n)++] = node;
    }
}

/* Whether END can be reached from the rule's begin by nodes that may be passed. */
static bool reaches_end(checks *c, uint32_t rule, follow_fn *may_pass) {
    uint32_t n = 0;
    c->round++;
    visit(c, c->g->rules[rule].begin, &n);
    while (n > 0) {
        const grammar_node *node = &c->g->nodes[c->stack[--n]];
        if (node->kind == GRAMMAR_END) {
            return true;
        }
        if (node->kind == GRAMMAR_JUMP || node->kind == GRAMMAR_FORK || may_pass(c, node)) {
            visit(c, node->next, &n);
        }
        if (node->kind == GRAMMAR_FORK) {
            visit(c, node->other, &n);
        }
    }
    return false;
}

/* Marks rules until nothing changes. The direction changes with each round, so that chains of rules that are written down in order take
 * two, whichever way they go. */
static void mark_rules(checks *c, uint8_t *marks, follow_fn *may_pass) {
    const uint32_t n = c->g->n_rules;
    bool is_backward = false;
    for (bool has_changed = true; has_changed; is_backward = !is_backward) {
        has_changed = false;
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t rule = is_backward ? n - 1 - i : i;
            if (!marks[rule] && reaches_end(c, rule, may_pass)) {
                marks[rule] = 1;
                has_changed = true;
            }
        }
    }
}

/* Calls in the rule that stand where nothing has been taken yet (`may_pass` nullable) or anywhere (all), into out; returns how many. */
static uint32_t list_calls(checks *c, uint32_t rule, follow_fn *may_pass, uint32_t *out) {
    uint32_t n = 0, n_calls = 0;
    c->round++;
    visit(c, c->g->rules[rule].begin, &n);
    while (n > 0) {
        const grammar_node *node = &c->g->nodes[c->stack[--n]];
        if (node->kind == GRAMMAR_CALL) {
            out[n_calls++] = node->other;
        }
        if (node->kind == GRAMMAR_JUMP || node->kind == GRAMMAR_FORK || may_pass(c, node)) {
            visit(c, node->next, &n);
        }
        if (node->kind == GRAMMAR_FORK) {
            visit(c, node->other, &n);
        }
    }
    return n_calls;
}

static qn_status check_defined(const checks *c) {
    char place[GRAMMAR_PLACE_SIZE];
    for (uint32_t i = 0; i < c->g->n_rules; i++) {
        if (c->g->rules[i].begin == GRAMMAR_NONE) {
            return FAIL(c->err, QN_BAD_INPUT, "%s is used here and defined nowhere", grammar_place(c->g, i, place));
        }
    }
    return QN_OK;
}

/* One rule on the path of the search: its calls and which of them comes next. */
typedef struct path_step {
    uint32_t rule, begin, end; /* in the pool of calls */
} path_step;

typedef struct rule_walk {
    path_step *path;      /* [n_rules] */
    uint32_t *calls;      /* pool, of the rules on the path */
    uint32_t n_path, n_calls;
} rule_walk;

static void enter_rule(checks *c, rule_walk *w, uint32_t rule, follow_fn *may_pass) {
    const uint32_t n = list_calls(c, rule, may_pass, w->calls + w->n_calls);
    w->path[w->n_path++] = (path_step){rule, w->n_calls, w->n_calls + n};
    w->n_calls += n;
    c->colour[rule] = 1;
}

/* Depth first with a stack of its own: a chain of rules may be as long as the file. */
static qn_status check_left_recursion_from(checks *c, rule_walk *w, uint32_t start) {
    char place[GRAMMAR_PLACE_SIZE];
    enter_rule(c, w, start, follow_nullable);
    while (w->n_path > 0) {
        path_step *top = &w->path[w->n_path - 1];
        if (top->begin == top->end) {
            c->colour[top->rule] = 2;
            w->n_path--;
            w->n_calls = w->n_path > 0 ? w->path[w->n_path - 1].end : 0;
            continue;
        }
        const uint32_t called = w->calls[top->begin++];
        if (c->colour[called] == 1) {
            return FAIL(c->err, QN_BAD_INPUT, "%s begins with itself (left recursion); let what repeats stand behind something else, or use *",
                        grammar_place(c->g, called, place));
        }
        if (c->colour[called] == 0) {
            enter_rule(c, w, called, follow_nullable);
        }
    }
    return QN_OK;
}

static void mark_reached(checks *c, rule_walk *w) {
    uint32_t n = 0;
    c->is_reached[c->g->root] = 1;
    w->path[n++].rule = c->g->root;
    while (n > 0) {
        const uint32_t n_calls = list_calls(c, w->path[--n].rule, follow_all, w->calls);
        for (uint32_t i = 0; i < n_calls; i++) {
            if (!c->is_reached[w->calls[i]]) {
                c->is_reached[w->calls[i]] = 1;
                w->path[n++].rule = w->calls[i];
            }
        }
    }
}

static qn_status check_rules(checks *c, rule_walk *w) {
    char place[GRAMMAR_PLACE_SIZE];
    QN_TRY(check_defined(c), c->err, "checking the grammar");
    mark_rules(c, c->is_nullable, follow_nullable);
    for (uint32_t i = 0; i < c->g->n_rules; i++) {
        QN_TRY(c->colour[i] == 0 ? check_left_recursion_from(c, w, i) : QN_OK, c->err, "checking the grammar");
    }
    mark_rules(c, c->is_finite, follow_finite);
    mark_reached(c, w);
    for (uint32_t i = 0; i < c->g->n_rules; i++) {
        if (!c->is_finite[i]) {
            return FAIL(c->err, QN_BAD_INPUT, "%s never ends: each of its alternatives needs the rule again",
                        grammar_place(c->g, i, place));
        }
        if (!c->is_reached[i] && c->g->rules[i].parent == i && c->g->rules[i].line > 0) {
            return FAIL(c->err, QN_BAD_INPUT, "%s is never used: nothing leads to it from %s", grammar_place(c->g, i, place),
                        c->g->rules[c->g->root].name);
        }
    }
    return QN_OK;
}

static uint32_t skip_jumps(const grammar *g, uint32_t node) {
    while (g->nodes[node].kind == GRAMMAR_JUMP && g->nodes[node].next != GRAMMAR_NONE) {
        node = g->nodes[node].next;
    }
    return node;
}

/* Jumps only held the pieces together. One without a target belongs to a fragment that was given up; nothing leads to it. */
static void take_jumps_out(grammar *g) {
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        grammar_node *node = &g->nodes[i];
        if (node->kind != GRAMMAR_END && node->kind != GRAMMAR_JUMP) {
            node->next = skip_jumps(g, node->next);
            node->other = node->kind == GRAMMAR_FORK ? skip_jumps(g, node->other) : node->other;
        }
    }
    for (uint32_t i = 0; i < g->n_rules; i++) {
        g->rules[i].begin = skip_jumps(g, g->rules[i].begin);
    }
}

qn_status grammar_check(grammar *g, error_context *err) {
    checks c = {.g = g, .err = err};
    rule_walk w = {.n_path = 0};
    const size_t n_rules = g->n_rules;
    c.stack = malloc((size_t)g->n_nodes * sizeof *c.stack);
    c.seen = calloc((size_t)g->n_nodes, sizeof *c.seen);
    c.is_nullable = calloc(n_rules, 4);
    w.path = malloc(n_rules * sizeof *w.path);
    w.calls = malloc((size_t)g->n_nodes * sizeof *w.calls);
    qn_status status;
    if (c.stack == NULL || c.seen == NULL || c.is_nullable == NULL || w.path == NULL || w.calls == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "out of memory for checking a grammar");
    } else {
        c.is_finite = c.is_nullable + n_rules;
        c.is_reached = c.is_nullable + 2 * n_rules;
        c.colour = c.is_nullable + 3 * n_rules;
        status = check_rules(&c, &w);
    }
    if (status == QN_OK) {
        take_jumps_out(g);
    }
    free(c.stack);
    free(c.seen);
    free(c.is_nullable);
    free(w.path);
    free(w.calls);
    return status;
}

qn_status grammar_finish(grammar_builder *b, uint32_t root, grammar *out) {
    if (b->status < 0) {
        return b->status;
    }
    b->g.root = root;
    const qn_status status = grammar_check(&b->g, b->err);
    if (status == QN_OK) {
        *out = b->g;
        b->g = (grammar){.n_nodes = 0};
    }
    return status;
}
