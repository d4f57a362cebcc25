/* grammar_build.c — fragments and how they are put together. */
#include <stdlib.h>
#include <string.h>

#include "base/mapped_file.h"
#include "constrain/grammar_internal.h"

void grammar_builder_init(grammar_builder *b, error_context *err) {
    *b = (grammar_builder){.err = err, .inside = GRAMMAR_NONE};
}

void grammar_builder_deinit(grammar_builder *b) {
    grammar_free(&b->g);
}

void grammar_free(grammar *g) {
    free(g->nodes);
    free(g->rules);
    *g = (grammar){.n_nodes = 0};
}

static void fail_memory(grammar_builder *b) {
    b->status = FAIL(b->err, QN_NO_HOST_MEM, "out of memory for a grammar");
}

static bool grow(grammar_builder *b, void **items, size_t item_size, uint32_t *capacity, uint32_t most) {
    const uint32_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *grown = realloc(*items, (size_t)(wanted < most ? wanted : most) * item_size);
    if (grown == NULL) {
        fail_memory(b);
        return false;
    }
    *items = grown;
    *capacity = wanted < most ? wanted : most;
    return true;
}

/* GRAMMAR_NONE once the builder has failed; nothing is connected to it then. */
static uint32_t add_node(grammar_builder *b, grammar_node node) {
    grammar *g = &b->g;
    if (b->status < 0) {
        return GRAMMAR_NONE;
    }
    if (g->n_nodes == GRAMMAR_MAX_NODES) {
        b->status = FAIL(b->err, QN_LIMIT, "the grammar needs more than %u states; use smaller repetitions or fewer characters one by one",
                         GRAMMAR_MAX_NODES);
        return GRAMMAR_NONE;
    }
    if (g->n_nodes == b->nodes_capacity &&
        !grow(b, (void **)&g->nodes, sizeof *g->nodes, &b->nodes_capacity, GRAMMAR_MAX_NODES)) {
        return GRAMMAR_NONE;
    }
    g->nodes[g->n_nodes] = node;
    return g->n_nodes++;
}

static void connect(grammar_builder *b, uint32_t jump, uint32_t to) {
    if (b->status >= 0) {
        b->g.nodes[jump].next = to;
    }
}

static uint32_t add_end(grammar_builder *b) {
    return add_node(b, (grammar_node){.kind = GRAMMAR_JUMP, .next = GRAMMAR_NONE});
}

static uint32_t add_fork(grammar_builder *b, uint32_t next, uint32_t other) {
    return add_node(b, (grammar_node){.kind = GRAMMAR_FORK, .next = next, .other = other});
}

uint32_t grammar_add_rule(grammar_builder *b, const char *name, size_t size, uint32_t line, uint32_t column) {
    grammar *g = &b->g;
    if (b->status < 0) {
        return GRAMMAR_NONE;
    }
    if (g->n_rules == GRAMMAR_MAX_RULES) {
        b->status = FAIL(b->err, QN_LIMIT, "the grammar needs more than %u rules", GRAMMAR_MAX_RULES);
        return GRAMMAR_NONE;
    }
    if (g->n_rules == b->rules_capacity &&
        !grow(b, (void **)&g->rules, sizeof *g->rules, &b->rules_capacity, GRAMMAR_MAX_RULES)) {
        return GRAMMAR_NONE;
    }
    grammar_rule *rule = &g->rules[g->n_rules];
    *rule = (grammar_rule){.line = line, .column = column, .begin = GRAMMAR_NONE, .parent = g->n_rules};
    memcpy(rule->name, name, size < GRAMMAR_NAME_SIZE ? size : GRAMMAR_NAME_SIZE - 1);
    return g->n_rules++;
}

void grammar_begin_rule(grammar_builder *b, uint32_t rule) {
    b->inside = rule;
}

void grammar_set_rule(grammar_builder *b, uint32_t rule, grammar_fragment text) {
    const uint32_t end = add_node(b, (grammar_node){.kind = GRAMMAR_END});
    connect(b, text.end, end);
    if (b->status >= 0) {
        b->g.rules[rule].begin = text.begin;
    }
}

grammar_fragment grammar_empty(grammar_builder *b) {
    const uint32_t end = add_end(b);
    return (grammar_fragment){end, end};
}

grammar_fragment grammar_byte(grammar_builder *b, uint8_t low, uint8_t high) {
    const uint32_t end = add_end(b);
    return (grammar_fragment){add_node(b, (grammar_node){.kind = GRAMMAR_BYTE, .low = low, .high = high, .next = end}), end};
}

grammar_fragment grammar_literal(grammar_builder *b, const char *bytes, size_t size) {
    const uint32_t end = add_end(b);
    uint32_t begin = end;
    for (size_t i = size; i > 0; i--) {
        const uint8_t byte = (uint8_t)bytes[i - 1];
        begin = add_node(b, (grammar_node){.kind = GRAMMAR_BYTE, .low = byte, .high = byte, .next = begin});
    }
    return (grammar_fragment){begin, end};
}

grammar_fragment grammar_join(grammar_builder *b, grammar_fragment first, grammar_fragment second) {
    connect(b, first.end, second.begin);
    return (grammar_fragment){first.begin, second.end};
}

grammar_fragment grammar_either(grammar_builder *b, grammar_fragment first, grammar_fragment second) {
    const uint32_t begin = add_fork(b, first.begin, second.begin);
    connect(b, first.end, second.end);
    return (grammar_fragment){begin, second.end};
}

grammar_fragment grammar_optional(grammar_builder *b, grammar_fragment text) {
    return grammar_either(b, text, grammar_empty(b));
}

grammar_fragment grammar_call(grammar_builder *b, uint32_t rule) {
    const uint32_t end = add_end(b);
    return (grammar_fragment){add_node(b, (grammar_node){.kind = GRAMMAR_CALL, .other = rule, .next = end}), end};
}

/* text any number of times, in place. */
static grammar_fragment loop(grammar_builder *b, grammar_fragment text, bool is_at_least_once) {
    const uint32_t end = add_end(b), again = add_fork(b, text.begin, end);
    connect(b, text.end, again);
    return (grammar_fragment){is_at_least_once ? text.begin : again, end};
}

/* Each time is one call of a rule that has the text, so that a repetition costs a node or two for each and not a copy. */
static grammar_fragment repeat_calls(grammar_builder *b, grammar_fragment text, uint32_t least, uint32_t most) {
    const uint32_t rule = grammar_add_rule(b, "", 0, 0, 0);
    grammar_set_rule(b, rule, text);
    if (b->status >= 0 && b->inside != GRAMMAR_NONE) {
        b->g.rules[rule].parent = b->inside;
    }
    const uint32_t end = add_end(b);
    uint32_t begin = end;
    if (most == GRAMMAR_NO_BOUND) {
        const grammar_fragment rest = loop(b, grammar_call(b, rule), false);
        connect(b, rest.end, end);
        begin = rest.begin;
        most = least;
    }
    for (uint32_t i = most; i > 0 && b->status >= 0; i--) {
        const grammar_fragment one = grammar_call(b, rule);
        connect(b, one.end, begin);
        begin = i > least ? add_fork(b, one.begin, end) : one.begin;
    }
    return (grammar_fragment){begin, end};
}

grammar_fragment grammar_repeat(grammar_builder *b, grammar_fragment text, uint32_t least, uint32_t most) {
    const uint32_t greatest = most == GRAMMAR_NO_BOUND ? least : most;
    if (b->status >= 0 && greatest > GRAMMAR_MAX_REPEAT) {
        b->status = FAIL(b->err, QN_LIMIT, "a repetition up to %u times; the limit is %u", greatest, GRAMMAR_MAX_REPEAT);
    }
    if (most == 0) {
        return grammar_empty(b);
    }
    if (most == GRAMMAR_NO_BOUND && least <= 1) {
        return loop(b, text, least == 1);
    }
    if (most == 1) {
        return least == 1 ? text : grammar_optional(b, text);
    }
    return repeat_calls(b, text, least, most);
}

qn_status grammar_read_file(const char *path, grammar_parse_fn *parse, grammar *out, error_context *err) {
    mapped_file file;
    QN_TRY(mapped_file_open(path, &file, err), err, "reading what constrains the text");
    qn_status status = parse((fmt_str){(const char *)file.span.data, file.span.size}, path, out, err);
    const qn_status is_whole = status < 0 ? status : mapped_file_check(&file, err);
    if (status == QN_OK && is_whole < 0) {
        grammar_free(out);
        status = is_whole;
    }
    mapped_file_close(&file);
    return status;
}
