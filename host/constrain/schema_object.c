/* schema_object.c — objects: the listed members in their order, then others. */
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "constrain/schema_internal.h"

typedef struct member {
    const char *key;
    json_t *schema;  /* null: any value */
    bool is_required;
    uint32_t pair;         /* rule of "key": value */
} member;

typedef struct members {
    member *items;
    uint32_t n;
    json_t *others;  /* schema of the members that are not listed; null: there are none */
} members;

/* --------------------------------------------------------------------------------------------------------- what is said */

static void read_properties(schema_reader *r, json_t *schema, members *m) {
    json_t *properties = json_object_get(schema, "properties");
    const char *key;
    json_t *value;
    if (properties != NULL && !json_is_object(properties)) {
        schema_fail(r, QN_BAD_INPUT, "properties", "must be an object");
        return;
    }
    json_object_foreach(properties, key, value) {
        m->items[m->n++] = (member){.key = key, .schema = value};
    }
}

static member *find(members *m, const char *key) {
    for (uint32_t i = 0; i < m->n; i++) {
        if (strcmp(m->items[i].key, key) == 0) {
            return &m->items[i];
        }
    }
    return NULL;
}

/* A name that is required and not listed gets what other members get. */
static void read_required(schema_reader *r, json_t *schema, members *m) {
    json_t *required = json_object_get(schema, "required");
    json_t *name;
    size_t i;
    if (required != NULL && !json_is_array(required)) {
        schema_fail(r, QN_BAD_INPUT, "required", "must be an array of names");
        return;
    }
    json_array_foreach(required, i, name) {
        if (!json_is_string(name)) {
            schema_fail(r, QN_BAD_INPUT, "required", "item %zu is no string", i);
            return;
        }
        member *listed = find(m, json_string_value(name));
        if (listed == NULL) {
            json_t *others = json_object_get(schema, "additionalProperties");
            if (json_is_false(others)) {
                schema_fail(r, QN_BAD_INPUT, "required", "\"%.100s\" is required, and neither listed nor allowed as another member",
                            json_string_value(name));
                return;
            }
            listed = &m->items[m->n++];
            *listed = (member){.key = json_string_value(name), .schema = others};
        }
        listed->is_required = true;
    }
}

/* ------------------------------------------------------------------------------------------------------ names of others */

static int compare_keys(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static grammar_fragment make_rest_of_name(schema_reader *r) {
    code_range excluded[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    return grammar_repeat(&r->b, grammar_class(&r->b, excluded, 3, true), 0, GRAMMAR_NO_BOUND);
}

/* What may follow keys[0..n), sorted, of which the first `at` bytes were taken: an end, unless one of them ends here; a character that
 * none of them goes on with, and anything; or one of theirs, and so on. */
static grammar_fragment make_other_name(schema_reader *r, const char **keys, uint32_t n, size_t at, unsigned depth) {
    code_range *taken = calloc((size_t)n + 3, sizeof *taken);
    if (taken == NULL || depth > 256) {
        free(taken);
        schema_fail(r, taken == NULL ? QN_NO_HOST_MEM : QN_LIMIT, "additionalProperties", "a listed name is longer than 256 characters");
        return grammar_empty(&r->b);
    }
    const bool is_name = n > 0 && keys[0][at] == '\0';
    uint32_t n_taken = 0, i = is_name ? 1 : 0;
    grammar_fragment text = {0, 0};
    bool has_text = !is_name;
    if (!is_name) {
        text = grammar_empty(&r->b);
    }
    while (i < n && r->status >= 0) {
        uint32_t code, last = i + 1;
        const unsigned size = utf8_decode((const uint8_t *)keys[i] + at, strlen(keys[i] + at), &code);
        while (last < n && strncmp(keys[last] + at, keys[i] + at, size) == 0) {
            last++;
        }
        taken[n_taken++] = (code_range){code, code};
        const bool is_plain = code >= 0x20 && code != '"' && code != '\\'; /* others cannot come: names have no escapes */
        if (is_plain) {
            const grammar_fragment on = grammar_join(&r->b, grammar_literal(&r->b, keys[i] + at, size),
                                                     make_other_name(r, keys + i, last - i, at + size, depth + 1));
            text = has_text ? grammar_either(&r->b, text, on) : on;
            has_text = true;
        }
        i = last;
    }
    taken[n_taken++] = (code_range){0, 0x1F};
    taken[n_taken++] = (code_range){'"', '"'};
    taken[n_taken++] = (code_range){'\\', '\\'};
    const grammar_fragment other = grammar_join(&r->b, grammar_class(&r->b, taken, n_taken, true), make_rest_of_name(r));
    free(taken);
    return has_text ? grammar_either(&r->b, text, other) : other;
}

static grammar_fragment make_other_member(schema_reader *r, members *m) {
    const char **keys = calloc((size_t)m->n + 1, sizeof *keys);
    if (keys == NULL) {
        schema_fail(r, QN_NO_HOST_MEM, NULL, "out of memory");
        return grammar_empty(&r->b);
    }
    for (uint32_t i = 0; i < m->n; i++) {
        keys[i] = m->items[i].key;
    }
    qsort(keys, m->n, sizeof *keys, compare_keys);
    const grammar_fragment name = make_other_name(r, keys, m->n, 0, 0);
    free(keys);
    grammar_fragment text = grammar_join(&r->b, grammar_join(&r->b, grammar_literal(&r->b, "\"", 1), name), grammar_literal(&r->b, "\"", 1));
    text = grammar_join(&r->b, text, schema_separator(r, ':'));
    const size_t back = schema_enter(r, "additionalProperties");
    text = grammar_join(&r->b, text, schema_make(r, m->others));
    schema_leave(r, back);
    return text;
}

/* --------------------------------------------------------------------------------------------------------- the sequence */

static uint32_t add_rule(schema_reader *r, grammar_fragment text) {
    const uint32_t rule = grammar_add_rule(&r->b, r->pointer, strlen(r->pointer), 0, 0);
    grammar_set_rule(&r->b, rule, text);
    return rule;
}

static void make_pair(schema_reader *r, member *one) {
    const size_t back = schema_enter(r, "properties"), deeper = schema_enter(r, one->key);
    const grammar_fragment value = one->schema != NULL ? schema_make(r, one->schema) : schema_shared(r, SHARED_VALUE);
    one->pair = add_rule(r, grammar_join(&r->b, schema_key(r, one->key), value));
    schema_leave(r, deeper);
    schema_leave(r, back);
}

static grammar_fragment behind_comma(schema_reader *r, grammar_fragment text) {
    return grammar_join(&r->b, schema_separator(r, ','), text);
}

/* From the last member to the first, two rules each: what may come when a member stands before (a comma comes first), and when none does. */
static grammar_fragment make_sequence(schema_reader *r, const members *m, uint32_t other) {
    grammar_fragment rest = grammar_empty(&r->b), begin = grammar_empty(&r->b);
    if (m->others != NULL) {
        rest = grammar_repeat(&r->b, behind_comma(r, grammar_call(&r->b, other)), 0, GRAMMAR_NO_BOUND);
    }
    uint32_t rest_rule = add_rule(r, rest);
    if (m->others != NULL) {
        begin = grammar_optional(&r->b, grammar_join(&r->b, grammar_call(&r->b, other), grammar_call(&r->b, rest_rule)));
    }
    for (uint32_t i = m->n; i > 0 && r->b.status >= 0; i--) {
        const member *one = &m->items[i - 1];
        const grammar_fragment taken = grammar_join(&r->b, grammar_call(&r->b, one->pair), grammar_call(&r->b, rest_rule));
        begin = one->is_required ? taken : grammar_either(&r->b, taken, begin);
        const grammar_fragment next = behind_comma(r, grammar_join(&r->b, grammar_call(&r->b, one->pair), grammar_call(&r->b, rest_rule)));
        const grammar_fragment without = grammar_call(&r->b, rest_rule);
        rest_rule = add_rule(r, one->is_required ? next : grammar_either(&r->b, next, without));
    }
    return begin;
}

static grammar_fragment make_members(schema_reader *r, json_t *schema, members *m) {
    read_properties(r, schema, m);
    read_required(r, schema, m);
    for (uint32_t i = 0; i < m->n && r->status >= 0; i++) {
        make_pair(r, &m->items[i]);
    }
    const uint32_t other = r->status >= 0 && m->others != NULL ? add_rule(r, make_other_member(r, m)) : 0;
    if (r->status < 0) {
        return grammar_empty(&r->b);
    }
    return grammar_join(&r->b, grammar_join(&r->b, grammar_literal(&r->b, "{", 1), make_sequence(r, m, other)),
                        grammar_literal(&r->b, "}", 1));
}

grammar_fragment schema_object(schema_reader *r, json_t *schema) {
    json_t *others = json_object_get(schema, "additionalProperties");
    const size_t most = json_object_size(json_object_get(schema, "properties")) + json_array_size(json_object_get(schema, "required"));
    const bool has_names = json_object_get(schema, "properties") != NULL || json_object_get(schema, "required") != NULL;
    if (!has_names && (others == NULL || json_is_true(others))) {
        return schema_shared(r, SHARED_OBJECT);
    }
    if (most > SCHEMA_MAX_MEMBERS) {
        schema_fail(r, QN_LIMIT, "properties", "%zu names; the limit is %u", most, SCHEMA_MAX_MEMBERS);
        return grammar_empty(&r->b);
    }
    members m = {.items = calloc(most + 1, sizeof *m.items), .others = json_is_false(others) ? NULL : others};
    if (m.items == NULL) {
        schema_fail(r, QN_NO_HOST_MEM, NULL, "out of memory");
        return grammar_empty(&r->b);
    }
    const grammar_fragment text = make_members(r, schema, &m);
    free(m.items);
    return text;
}
