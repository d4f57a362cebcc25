/* json_schema.c — reading a schema: which keywords stand where, references, alternatives; the types have files of their own. */
#include "constrain/json_schema.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "constrain/schema_internal.h"

/* ----------------------------------------------------------------------------------------------------- failures and places */

void schema_fail(schema_reader *r, qn_status code, const char *key, const char *format, ...) {
    char words[ERROR_TEXT_SIZE / 2];
    if (r->status < 0) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    r->status = FAIL(r->err, code, "%.200s: %.240s%s%.60s: %s", r->name, r->pointer, key != NULL ? "/" : "", key != NULL ? key : "", words);
}

/* A pointer that is too long is cut: it is for messages. "~" and "/" are written ~0 and ~1. */
size_t schema_enter(schema_reader *r, const char *key) {
    const size_t length = strlen(r->pointer);
    size_t at = length;
    r->pointer[at] = '/';
    at += at + 1 < SCHEMA_POINTER_SIZE;
    for (; *key != '\0' && at + 2 < SCHEMA_POINTER_SIZE; key++) {
        if (*key == '~' || *key == '/') {
            r->pointer[at++] = '~';
            r->pointer[at++] = *key == '~' ? '0' : '1';
        } else {
            r->pointer[at++] = *key;
        }
    }
    r->pointer[at] = '\0';
    return length;
}

size_t schema_enter_index(schema_reader *r, const char *key, size_t index) {
    char digits[24];
    const size_t length = schema_enter(r, key);
    snprintf(digits, sizeof digits, "%zu", index);
    schema_enter(r, digits);
    return length;
}

void schema_leave(schema_reader *r, size_t length) {
    r->pointer[length] = '\0';
}

uint32_t schema_count(schema_reader *r, json_t *schema, const char *key, uint32_t most, bool is_cut, uint32_t fallback) {
    json_t *value = json_object_get(schema, key);
    if (value == NULL) {
        return fallback;
    }
    const json_int_t count = json_is_integer(value) ? json_integer_value(value) : -1;
    if (count < 0) {
        schema_fail(r, QN_BAD_INPUT, key, "must be a whole number from 0");
        return 0;
    }
    if (count > (json_int_t)most && !is_cut) {
        schema_fail(r, QN_LIMIT, key, "is %" PRId64 "; the limit is %u", (int64_t)count, most);
        return 0;
    }
    return count > (json_int_t)most ? most : (uint32_t)count;
}

/* -------------------------------------------------------------------------------------------------------------- keywords */

typedef uint32_t keyword_group;
enum {
    FOR_NOBODY = 0,     /* says nothing about the text */
    FOR_STRING = 1u, FOR_NUMBER = 2u, FOR_OBJECT = 4u, FOR_ARRAY = 8u,
    IS_TYPE = 16u,
    IS_VALUE = 32u,     /* enum, const: the values themselves */
    IS_CHOICE = 64u,    /* other schemas instead of this one */
    IS_REFERENCE = 128u,
    IS_UNKNOWN = 256u
};

static keyword_group find_group(const char *key) {
    static const struct {
        const char *key;
        keyword_group group;
    } known[] = {{"type", IS_TYPE}, {"enum", IS_VALUE}, {"const", IS_VALUE}, {"anyOf", IS_CHOICE}, {"oneOf", IS_CHOICE},
                 {"allOf", IS_CHOICE}, {"$ref", IS_REFERENCE}, {"properties", FOR_OBJECT}, {"required", FOR_OBJECT},
                 {"additionalProperties", FOR_OBJECT}, {"items", FOR_ARRAY}, {"prefixItems", FOR_ARRAY}, {"minItems", FOR_ARRAY},
                 {"maxItems", FOR_ARRAY}, {"minLength", FOR_STRING}, {"maxLength", FOR_STRING}, {"pattern", FOR_STRING},
                 {"format", FOR_STRING}, {"minimum", FOR_NUMBER}, {"maximum", FOR_NUMBER}, {"exclusiveMinimum", FOR_NUMBER},
                 {"exclusiveMaximum", FOR_NUMBER}, {"title", FOR_NOBODY}, {"description", FOR_NOBODY}, {"default", FOR_NOBODY},
                 {"examples", FOR_NOBODY}, {"deprecated", FOR_NOBODY}, {"readOnly", FOR_NOBODY}, {"writeOnly", FOR_NOBODY},
                 {"$schema", FOR_NOBODY}, {"$id", FOR_NOBODY}, {"$comment", FOR_NOBODY}, {"$defs", FOR_NOBODY},
                 {"definitions", FOR_NOBODY}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].key, key) == 0) {
            return known[i].group;
        }
    }
    return IS_UNKNOWN;
}

/* Groups that stand in the schema. What chooses the texts by itself may not stand beside something that would narrow them. */
static keyword_group list_groups(schema_reader *r, json_t *schema) {
    keyword_group all = 0;
    const char *key, *alone = NULL;
    json_t *value;
    json_object_foreach(schema, key, value) {
        const keyword_group group = find_group(key);
        if (group == IS_UNKNOWN) {
            schema_fail(r, QN_UNSUPPORTED, key, "this keyword is not known here, and ignoring it would allow too much");
            return 0;
        }
        if ((group & (IS_VALUE | IS_CHOICE | IS_REFERENCE)) != 0) {
            if (alone != NULL) {
                schema_fail(r, QN_UNSUPPORTED, key, "beside %s is not known here", alone);
                return 0;
            }
            alone = key;
        }
        all |= group;
    }
    const keyword_group narrowing = all & (FOR_STRING | FOR_NUMBER | FOR_OBJECT | FOR_ARRAY);
    if (alone != NULL && (narrowing != 0 || ((all & IS_TYPE) != 0 && (all & IS_VALUE) == 0))) {
        schema_fail(r, QN_UNSUPPORTED, alone, "beside keywords that narrow it is not known here; say them inside");
    }
    return all;
}

/* ----------------------------------------------------------------------------------------------------------------- types */

typedef uint32_t type_set;
enum { TYPE_NULL = 1u, TYPE_BOOLEAN = 2u, TYPE_INTEGER = 4u, TYPE_NUMBER = 8u, TYPE_STRING = 16u, TYPE_ARRAY = 32u, TYPE_OBJECT = 64u };
#define ALL_TYPES (TYPE_NULL | TYPE_BOOLEAN | TYPE_NUMBER | TYPE_STRING | TYPE_ARRAY | TYPE_OBJECT)

static type_set read_type(schema_reader *r, json_t *name) {
    static const char *const names[] = {"null", "boolean", "integer", "number", "string", "array", "object"};
    for (uint32_t i = 0; json_is_string(name) && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], json_string_value(name)) == 0) {
            return 1u << i;
        }
    }
    schema_fail(r, QN_BAD_INPUT, "type", "must be null, boolean, integer, number, string, array, object, or a list of them");
    return 0;
}

static type_set read_types(schema_reader *r, json_t *schema, keyword_group groups) {
    json_t *type = json_object_get(schema, "type");
    type_set types = 0;
    if (type == NULL) {
        types |= groups & FOR_STRING ? TYPE_STRING : 0;
        types |= groups & FOR_NUMBER ? TYPE_NUMBER : 0;
        types |= groups & FOR_OBJECT ? TYPE_OBJECT : 0;
        types |= groups & FOR_ARRAY ? TYPE_ARRAY : 0;
        return types != 0 ? types : ALL_TYPES;
    }
    if (!json_is_array(type)) {
        return read_type(r, type);
    }
    for (size_t i = 0; i < json_array_size(type); i++) {
        types |= read_type(r, json_array_get(type, i));
    }
    if (types == 0) {
        schema_fail(r, QN_BAD_INPUT, "type", "is an empty list, which allows nothing");
    }
    return types & TYPE_NUMBER ? types & ~(type_set)TYPE_INTEGER : types;
}

static grammar_fragment make_boolean(schema_reader *r) {
    return grammar_either(&r->b, grammar_literal(&r->b, "true", 4), grammar_literal(&r->b, "false", 5));
}

static grammar_fragment make_type(schema_reader *r, json_t *schema, type_set type) {
    switch (type) {
    case TYPE_NULL: return grammar_literal(&r->b, "null", 4);
    case TYPE_BOOLEAN: return make_boolean(r);
    case TYPE_STRING: return schema_string(r, schema);
    case TYPE_ARRAY: return schema_array(r, schema);
    case TYPE_OBJECT: return schema_object(r, schema);
    default: return schema_number(r, schema, type == TYPE_INTEGER);
    }
}

static grammar_fragment make_types(schema_reader *r, json_t *schema, type_set types) {
    grammar_fragment text = {0, 0};
    bool has_text = false;
    for (type_set type = 1; type <= TYPE_OBJECT && r->status >= 0; type <<= 1) {
        if ((types & type) != 0) {
            const grammar_fragment one = make_type(r, schema, type);
            text = has_text ? grammar_either(&r->b, text, one) : one;
            has_text = true;
        }
    }
    return has_text ? text : grammar_empty(&r->b);
}

/* --------------------------------------------------------------------------------------------------- values and choices */

static type_set type_of(json_t *value) {
    switch (json_typeof(value)) {
    case JSON_NULL: return TYPE_NULL;
    case JSON_STRING: return TYPE_STRING;
    case JSON_ARRAY: return TYPE_ARRAY;
    case JSON_OBJECT: return TYPE_OBJECT;
    case JSON_INTEGER: return TYPE_INTEGER | TYPE_NUMBER;
    case JSON_REAL: return TYPE_NUMBER;
    default: return TYPE_BOOLEAN;
    }
}

/* The values of enum or the one of const, of those types that `type` names. */
static grammar_fragment make_values(schema_reader *r, json_t *schema) {
    json_t *one = json_object_get(schema, "const"), *list = json_object_get(schema, "enum");
    const type_set types = read_types(r, schema, 0);
    const size_t n = one != NULL ? 1 : json_array_size(list);
    grammar_fragment text = {0, 0};
    bool has_text = false;
    for (size_t i = 0; i < n && r->status >= 0; i++) {
        json_t *value = one != NULL ? one : json_array_get(list, i);
        if ((type_of(value) & types) != 0) {
            const grammar_fragment spelled = schema_spelled(r, value);
            text = has_text ? grammar_either(&r->b, text, spelled) : spelled;
            has_text = true;
        }
    }
    if (!has_text) {
        schema_fail(r, QN_BAD_INPUT, one != NULL ? "const" : "enum", "%s", one == NULL && n == 0 ? "must be a list of values, at least one"
                    : "no value has the type that is asked for");
        return grammar_empty(&r->b);
    }
    return text;
}

static grammar_fragment make_choice(schema_reader *r, json_t *schema) {
    static const char *const keys[] = {"anyOf", "oneOf", "allOf"};
    const char *key = keys[0];
    for (size_t i = 1; i < 3; i++) {
        key = json_object_get(schema, keys[i]) != NULL ? keys[i] : key;
    }
    json_t *list = json_object_get(schema, key);
    if (!json_is_array(list) || json_array_size(list) == 0) {
        schema_fail(r, QN_BAD_INPUT, key, "must be a list of schemas, at least one");
    } else if (key == keys[2] && json_array_size(list) > 1) {
        schema_fail(r, QN_UNSUPPORTED, key, "of more than one schema is not known here");
    }
    grammar_fragment text = {0, 0};
    for (size_t i = 0; r->status >= 0 && i < json_array_size(list); i++) {
        const size_t back = schema_enter_index(r, key, i);
        const grammar_fragment one = schema_make(r, json_array_get(list, i));
        text = i > 0 ? grammar_either(&r->b, text, one) : one;
        schema_leave(r, back);
    }
    return r->status < 0 ? grammar_empty(&r->b) : text;
}

/* ------------------------------------------------------------------------------------------------------------ references */

/* One step of a pointer: from *path behind a slash to the next one, unescaped into key. */
static bool take_step(const char **path, char key[SCHEMA_POINTER_SIZE]) {
    size_t n = 0;
    const char *at = *path + 1;
    for (; *at != '\0' && *at != '/' && n + 1 < SCHEMA_POINTER_SIZE; at++) {
        const bool is_escaped = *at == '~' && (at[1] == '0' || at[1] == '1');
        key[n++] = !is_escaped ? *at : at[1] == '0' ? '~' : '/';
        at += is_escaped;
    }
    key[n] = '\0';
    *path = at;
    return *at == '\0' || *at == '/';
}

static json_t *take_item(json_t *array, const char *key) {
    size_t index = 0;
    for (const char *c = key; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || index > SCHEMA_MAX_MEMBERS) {
            return NULL;
        }
        index = index * 10 + (size_t)(*c - '0');
    }
    return *key != '\0' ? json_array_get(array, index) : NULL;
}

static json_t *follow(const schema_reader *r, const char *reference) {
    char key[SCHEMA_POINTER_SIZE];
    json_t *at = reference[0] == '#' ? r->root : NULL;
    const char *path = reference + 1;
    while (at != NULL && *path != '\0') {
        if (*path != '/' || !take_step(&path, key)) {
            return NULL;
        }
        at = json_is_array(at) ? take_item(at, key) : json_object_get(at, key);
    }
    return at;
}

/* Every schema that is referred to becomes one rule, which may call itself. */
static grammar_fragment make_reference(schema_reader *r, json_t *schema) {
    json_t *reference = json_object_get(schema, "$ref");
    json_t *target = json_is_string(reference) ? follow(r, json_string_value(reference)) : NULL;
    if (target == NULL) {
        schema_fail(r, QN_BAD_INPUT, "$ref", "\"%.200s\" leads nowhere in this file; known are pointers into it, such as #/$defs/name",
                    json_is_string(reference) ? json_string_value(reference) : "");
        return grammar_empty(&r->b);
    }
    for (uint32_t i = 0; i < r->n_refs; i++) {
        if (r->refs[i].schema == target) {
            return grammar_call(&r->b, r->refs[i].rule);
        }
    }
    if (r->n_refs == SCHEMA_MAX_REFS) {
        schema_fail(r, QN_LIMIT, "$ref", "refers to one schema more than %u", SCHEMA_MAX_REFS);
        return grammar_empty(&r->b);
    }
    char place[SCHEMA_POINTER_SIZE];
    const char *name = json_string_value(reference);
    const uint32_t rule = grammar_add_rule(&r->b, name, strlen(name), 0, 0);
    r->refs[r->n_refs].schema = target;
    r->refs[r->n_refs++].rule = rule;
    memcpy(place, r->pointer, sizeof place);
    snprintf(r->pointer, sizeof r->pointer, "%s", name);
    grammar_set_rule(&r->b, rule, schema_make(r, target));
    memcpy(r->pointer, place, sizeof place);
    return grammar_call(&r->b, rule);
}

/* ----------------------------------------------------------------------------------------------------------- whole schemas */

static grammar_fragment make_object_schema(schema_reader *r, json_t *schema) {
    const keyword_group groups = list_groups(r, schema);
    if (r->status < 0) {
        return grammar_empty(&r->b);
    }
    if (groups & IS_REFERENCE) {
        return make_reference(r, schema);
    }
    if (groups & IS_CHOICE) {
        return make_choice(r, schema);
    }
    if (groups & IS_VALUE) {
        return make_values(r, schema);
    }
    return groups == 0 ? schema_shared(r, SHARED_VALUE) : make_types(r, schema, read_types(r, schema, groups));
}

grammar_fragment schema_make(schema_reader *r, json_t *schema) {
    if (r->status < 0 || r->b.status < 0) {
        return grammar_empty(&r->b);
    }
    if (json_is_true(schema)) {
        return schema_shared(r, SHARED_VALUE);
    }
    if (!json_is_object(schema)) {
        schema_fail(r, QN_BAD_INPUT, NULL, "%s", json_is_false(schema) ? "the schema false allows nothing, and something is needed here"
                                                                      : "a schema is an object, true or false");
        return grammar_empty(&r->b);
    }
    if (r->depth == JSON_SCHEMA_MAX_DEPTH) {
        schema_fail(r, QN_LIMIT, NULL, "schemas stand in schemas more than %u deep", JSON_SCHEMA_MAX_DEPTH);
        return grammar_empty(&r->b);
    }
    r->depth++;
    const grammar_fragment text = make_object_schema(r, schema);
    r->depth--;
    return text;
}

static qn_status make_root(schema_reader *r, grammar *out) {
    const uint32_t root = grammar_add_rule(&r->b, "#", 1, 0, 0);
    r->refs[0].schema = r->root;
    r->refs[r->n_refs++].rule = root;
    grammar_set_rule(&r->b, root, schema_make(r, r->root));
    if (r->status < 0) {
        return r->status;
    }
    const qn_status status = grammar_finish(&r->b, root, out);
    return status < 0 ? error_put_path(r->err, status, r->name) : status;
}

qn_status json_schema_parse(fmt_str text, const char *name, grammar *out, error_context *err) {
    json_error_t error = {.text = ""};
    if (text.size > JSON_SCHEMA_MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: has %" PRIu64 " bytes; a schema has at most %u", name, (uint64_t)text.size, JSON_SCHEMA_MAX_BYTES);
    }
    json_t *root = json_loadb(text.size > 0 ? text.data : "", (size_t)text.size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (root == NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s: line %d, column %d: is no JSON: %.160s", name, error.line, error.column, error.text);
    }
    schema_reader *r = calloc(1, sizeof *r);
    qn_status status;
    if (r == NULL) {
        status = FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", name);
    } else {
        *r = (schema_reader){.name = name, .root = root, .pointer = "#", .err = err};
        memset(r->shared, 0xFF, sizeof r->shared);
        grammar_builder_init(&r->b, err);
        status = make_root(r, out);
        grammar_builder_deinit(&r->b);
    }
    free(r);
    json_decref(root);
    return status;
}

qn_status json_schema_read(const char *path, grammar *out, error_context *err) {
    return grammar_read_file(path, json_schema_parse, out, err);
}
