/* json_values.c — JSON without a schema: any value, any string, any number; and values that are spelled out. */
#include <stdlib.h>
#include <string.h>

#include "constrain/schema_internal.h"

#define MAX_WHOLE 17u    /* digits behind the first */
#define MAX_FRACTION 16u
#define MAX_EXPONENT 2u

static grammar_fragment word(schema_reader *r, const char *text) {
    return grammar_literal(&r->b, text, strlen(text));
}

static grammar_fragment either(schema_reader *r, grammar_fragment a, grammar_fragment b) {
    return grammar_either(&r->b, a, b);
}

static grammar_fragment join(schema_reader *r, grammar_fragment a, grammar_fragment b) {
    return grammar_join(&r->b, a, b);
}

static grammar_fragment digit(schema_reader *r, char low, char high) {
    return grammar_byte(&r->b, (uint8_t)low, (uint8_t)high);
}

static grammar_fragment hex(schema_reader *r) {
    return either(r, digit(r, '0', '9'), either(r, digit(r, 'a', 'f'), digit(r, 'A', 'F')));
}

/* uHHHH without the surrogates D800 to DFFF. */
static grammar_fragment make_code_escape(schema_reader *r) {
    const grammar_fragment other = either(r, either(r, digit(r, '0', '9'), either(r, digit(r, 'a', 'c'), digit(r, 'A', 'C'))),
                                          either(r, digit(r, 'e', 'f'), digit(r, 'E', 'F')));
    const grammar_fragment with_d = join(r, either(r, word(r, "d"), word(r, "D")), digit(r, '0', '7'));
    return join(r, word(r, "u"), either(r, join(r, other, grammar_repeat(&r->b, hex(r), 3, 3)),
                                       join(r, with_d, grammar_repeat(&r->b, hex(r), 2, 2))));
}

static grammar_fragment make_character(schema_reader *r) {
    code_range excluded[] = {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}};
    code_range codes[] = {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}};
    const grammar_fragment escape = either(r, grammar_class(&r->b, codes, 8, false), make_code_escape(r));
    return either(r, grammar_class(&r->b, excluded, 3, true), join(r, word(r, "\\"), escape));
}

static grammar_fragment make_string(schema_reader *r) {
    const grammar_fragment text = grammar_repeat(&r->b, schema_shared(r, SHARED_CHARACTER), 0, GRAMMAR_NO_BOUND);
    return join(r, join(r, word(r, "\""), text), word(r, "\""));
}

static grammar_fragment make_whole(schema_reader *r) {
    const grammar_fragment more = join(r, digit(r, '1', '9'), grammar_repeat(&r->b, digit(r, '0', '9'), 0, MAX_WHOLE));
    return join(r, grammar_optional(&r->b, word(r, "-")), either(r, word(r, "0"), more));
}

static grammar_fragment make_number(schema_reader *r) {
    const grammar_fragment fraction = join(r, word(r, "."), grammar_repeat(&r->b, digit(r, '0', '9'), 1, MAX_FRACTION));
    const grammar_fragment sign = grammar_optional(&r->b, either(r, word(r, "+"), word(r, "-")));
    const grammar_fragment exponent = join(r, join(r, either(r, word(r, "e"), word(r, "E")), sign),
                                           grammar_repeat(&r->b, digit(r, '0', '9'), 1, MAX_EXPONENT));
    return join(r, join(r, make_whole(r), grammar_optional(&r->b, fraction)), grammar_optional(&r->b, exponent));
}

/* open (one (, one)*)? close */
static grammar_fragment make_list(schema_reader *r, const char *open, const char *close, grammar_fragment first, grammar_fragment next) {
    const grammar_fragment more = grammar_repeat(&r->b, join(r, schema_separator(r, ','), next), 0, GRAMMAR_NO_BOUND);
    return join(r, join(r, word(r, open), grammar_optional(&r->b, join(r, first, more))), word(r, close));
}

static grammar_fragment make_member(schema_reader *r) {
    return join(r, join(r, schema_shared(r, SHARED_STRING), schema_separator(r, ':')), schema_shared(r, SHARED_VALUE));
}

static grammar_fragment make_value(schema_reader *r) {
    const grammar_fragment words = either(r, word(r, "true"), either(r, word(r, "false"), word(r, "null")));
    const grammar_fragment simple = either(r, schema_shared(r, SHARED_STRING), schema_shared(r, SHARED_NUMBER));
    return either(r, either(r, schema_shared(r, SHARED_OBJECT), schema_shared(r, SHARED_ARRAY)), either(r, simple, words));
}

static grammar_fragment make_shared(schema_reader *r, shared_rule which) {
    switch (which) {
    case SHARED_VALUE: return make_value(r);
    case SHARED_OBJECT: return make_list(r, "{", "}", make_member(r), make_member(r));
    case SHARED_ARRAY: return make_list(r, "[", "]", schema_shared(r, SHARED_VALUE), schema_shared(r, SHARED_VALUE));
    case SHARED_STRING: return make_string(r);
    case SHARED_CHARACTER: return make_character(r);
    case SHARED_NUMBER: return make_number(r);
    default: return make_whole(r);
    }
}

grammar_fragment schema_shared(schema_reader *r, shared_rule which) {
    static const char *const names[N_SHARED] = {"any value", "any object", "any array", "any string", "any character", "any number",
                                                "any integer"};
    if (r->shared[which] == GRAMMAR_NONE && r->b.status >= 0) {
        const uint32_t rule = grammar_add_rule(&r->b, names[which], strlen(names[which]), 0, 0);
        r->shared[which] = rule; /* before its text, which may call it */
        grammar_set_rule(&r->b, rule, make_shared(r, which));
    }
    return grammar_call(&r->b, r->shared[which]);
}

grammar_fragment schema_separator(schema_reader *r, char mark) {
    return join(r, digit(r, mark, mark), grammar_optional(&r->b, word(r, " ")));
}

grammar_fragment schema_spelled(schema_reader *r, json_t *value) {
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (text == NULL) {
        schema_fail(r, QN_NO_HOST_MEM, NULL, "this value cannot be written");
        return grammar_empty(&r->b);
    }
    const grammar_fragment spelled = word(r, text);
    free(text);
    return spelled;
}

grammar_fragment schema_key(schema_reader *r, const char *key) {
    json_t *text = json_string(key);
    const grammar_fragment spelled = schema_spelled(r, text);
    json_decref(text);
    return join(r, spelled, schema_separator(r, ':'));
}
