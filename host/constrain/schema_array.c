/* schema_array.c — arrays: items by their place, then items of one kind, between two counts. */
#include <string.h>

#include "constrain/schema_internal.h"

typedef struct items {
    json_t *by_place;    /* array of schemas, or null */
    json_t *others;      /* schema, or null: any value */
    uint32_t n_by_place, least, most; /* most: GRAMMAR_NO_BOUND for none */
    uint32_t rule;             /* of the others; GRAMMAR_NONE: not made */
} items;

static grammar_fragment make_other(schema_reader *r, items *a) {
    if (a->others == NULL) {
        return schema_shared(r, SHARED_VALUE);
    }
    if (a->rule == GRAMMAR_NONE && r->status >= 0) {
        const size_t back = schema_enter(r, "items");
        a->rule = grammar_add_rule(&r->b, r->pointer, strlen(r->pointer), 0, 0);
        grammar_set_rule(&r->b, a->rule, schema_make(r, a->others));
        schema_leave(r, back);
    }
    return grammar_call(&r->b, a->rule);
}

static grammar_fragment make_item(schema_reader *r, items *a, uint32_t i) {
    if (i >= a->n_by_place) {
        return make_other(r, a);
    }
    const size_t back = schema_enter_index(r, "prefixItems", i);
    const grammar_fragment text = schema_make(r, json_array_get(a->by_place, i));
    schema_leave(r, back);
    return text;
}

static grammar_fragment make_separated(schema_reader *r, grammar_fragment item, bool is_first) {
    return is_first ? item : grammar_join(&r->b, schema_separator(r, ','), item);
}

/* Items from place n_by_place on, which stand behind others unless there are no places. */
static grammar_fragment make_tail(schema_reader *r, items *a) {
    const uint32_t n = a->n_by_place;
    uint32_t least = a->least > n ? a->least - n : 0, most = a->most == GRAMMAR_NO_BOUND ? a->most : a->most - n;
    if (most == 0) {
        return grammar_empty(&r->b);
    }
    if (n > 0) {
        return grammar_repeat(&r->b, make_separated(r, make_other(r, a), false), least, most);
    }
    const bool may_be_empty = least == 0;
    least = least > 0 ? least - 1 : 0;
    most = most == GRAMMAR_NO_BOUND ? most : most - 1;
    const grammar_fragment first = make_other(r, a);
    const grammar_fragment more = grammar_repeat(&r->b, make_separated(r, make_other(r, a), false), least, most);
    const grammar_fragment text = grammar_join(&r->b, first, more);
    return may_be_empty ? grammar_optional(&r->b, text) : text;
}

/* From the last place to the first: an item and what follows it, or nothing where the array may end. */
static grammar_fragment make_places(schema_reader *r, items *a) {
    const uint32_t n = a->n_by_place < a->most ? a->n_by_place : a->most;
    grammar_fragment text = a->most >= a->n_by_place ? make_tail(r, a) : grammar_empty(&r->b);
    for (uint32_t i = n; i > 0 && r->status >= 0; i--) {
        text = grammar_join(&r->b, make_separated(r, make_item(r, a, i - 1), i == 1), text);
        text = i - 1 < a->least ? text : grammar_optional(&r->b, text);
    }
    return text;
}

grammar_fragment schema_array(schema_reader *r, json_t *schema) {
    items a = {.by_place = json_object_get(schema, "prefixItems"), .others = json_object_get(schema, "items"), .rule = GRAMMAR_NONE};
    if (a.by_place != NULL && (!json_is_array(a.by_place) || json_array_size(a.by_place) > GRAMMAR_MAX_REPEAT)) {
        schema_fail(r, QN_BAD_INPUT, "prefixItems", "must be an array of at most %u schemas", GRAMMAR_MAX_REPEAT);
    }
    a.n_by_place = (uint32_t)json_array_size(a.by_place);
    a.least = schema_count(r, schema, "minItems", GRAMMAR_MAX_REPEAT, false, 0);
    a.most = schema_count(r, schema, "maxItems", GRAMMAR_MAX_REPEAT, true, GRAMMAR_NO_BOUND);
    if (r->status < 0) {
        return grammar_empty(&r->b);
    }
    if (json_is_false(a.others) || (a.others == NULL && a.n_by_place > 0 && a.least <= a.n_by_place)) {
        a.most = a.most < a.n_by_place ? a.most : a.n_by_place; /* none behind the places */
    }
    if (a.least > a.most) {
        schema_fail(r, QN_BAD_INPUT, "minItems", "is %u, but there can be at most %u items", a.least, a.most);
        return grammar_empty(&r->b);
    }
    return grammar_join(&r->b, grammar_join(&r->b, grammar_literal(&r->b, "[", 1), make_places(r, &a)), grammar_literal(&r->b, "]", 1));
}
