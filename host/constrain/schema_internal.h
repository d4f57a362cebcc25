/* schema_internal.h — what the files that read a JSON schema share (internal to constrain/).
 *
 * A reader's first failure sticks; fragments made after it mean nothing.
 */
#ifndef HOST_CONSTRAIN_SCHEMA_INTERNAL_H
#define HOST_CONSTRAIN_SCHEMA_INTERNAL_H
#include <jansson.h>

#include "constrain/grammar.h"
#include "constrain/json_schema.h"

#define SCHEMA_POINTER_SIZE 512
#define SCHEMA_MAX_REFS 1024u
#define SCHEMA_MAX_MEMBERS 4096u

/* Rules that any schema may need, made when they are first asked for. */
typedef enum shared_rule {
    SHARED_VALUE, SHARED_OBJECT, SHARED_ARRAY, SHARED_STRING, SHARED_CHARACTER, SHARED_NUMBER, SHARED_INTEGER, N_SHARED
} shared_rule;

typedef struct schema_reader {
    grammar_builder b;
    const char *name;               /* of the file */
    json_t *root;
    char pointer[SCHEMA_POINTER_SIZE]; /* "#/properties/a" */
    unsigned depth;
    uint32_t shared[N_SHARED];      /* rule, or GRAMMAR_NONE */
    struct {
        json_t *schema;
        uint32_t rule;
    } refs[SCHEMA_MAX_REFS];        /* schemas that have a rule of their own */
    uint32_t n_refs;
    qn_status status;
    error_context *err;
} schema_reader;

/* "NAME: POINTER: words", or POINTER/key when key is not null. */
void schema_fail(schema_reader *r, qn_status code, const char *key, const char *format, ...) ERROR_PRINTF(4, 5);

/* Goes one step down; answers the length to go back to. */
size_t schema_enter(schema_reader *r, const char *key);
size_t schema_enter_index(schema_reader *r, const char *key, size_t index);
void schema_leave(schema_reader *r, size_t length);

/* json_schema.c: the texts of a schema: an object, true or false. */
grammar_fragment schema_make(schema_reader *r, json_t *schema);
/* The whole number of `key` from 0 to `most`, or `fallback` without it; greater ones are `most` when `is_cut`. */
uint32_t schema_count(schema_reader *r, json_t *schema, const char *key, uint32_t most, bool is_cut, uint32_t fallback);

/* json_values.c */
grammar_fragment schema_shared(schema_reader *r, shared_rule which);
grammar_fragment schema_separator(schema_reader *r, char mark); /* mark, and a space or none */
grammar_fragment schema_spelled(schema_reader *r, json_t *value); /* this value as it is written compactly */
grammar_fragment schema_key(schema_reader *r, const char *key);  /* "key": with the space or none behind it */

/* One type each. */
grammar_fragment schema_object(schema_reader *r, json_t *schema);
grammar_fragment schema_array(schema_reader *r, json_t *schema);
grammar_fragment schema_string(schema_reader *r, json_t *schema);
grammar_fragment schema_number(schema_reader *r, json_t *schema, bool is_integer);

/* schema_pattern.c: what stands between the quotation marks of a string that the regular expression finds something in. */
grammar_fragment schema_pattern(schema_reader *r, const char *key, const char *pattern, size_t size);

#endif
