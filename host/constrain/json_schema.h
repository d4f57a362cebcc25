/* json_schema.h — the texts that a JSON schema allows, as a grammar: the subset of JSON Schema that is read here.
 *
 *     type                 one name or a list; without it, what the other keywords are about; with none, any value
 *     properties           in the order of the file; required; additionalProperties false, true or a schema. Without additionalProperties
 *                          no members beside the listed ones are made
 *     items, prefixItems   minItems, maxItems
 *     minLength, maxLength, or pattern, or format: date, time, date-time, uuid
 *     minimum, maximum     of integers, also exclusive; of numbers when they are whole
 *     enum, const          in one spelling
 *     anyOf, oneOf         as alternatives, which for oneOf should exclude each other; allOf with one schema
 *     $ref                 to #, #/$defs/..., #/definitions/... and any other pointer into the file; may be recursive
 *
 * Every text of the grammar is JSON and valid under the schema; not every valid text is in the grammar. White space is none, or one space
 * behind a colon or comma. Numbers have at most 18 digits before the point, 16 behind it and an exponent of 2. Names of members that are
 * not listed have no escapes. Escapes of surrogates are not made.
 *
 * title, description, default, examples, deprecated, readOnly, writeOnly, $schema, $id and $comment say nothing about the text and are
 * skipped. Whatever else stands in a schema is refused by name, with the JSON pointer that leads to it: a keyword is never ignored.
 *
 * Threading: pure.
 * Memory:    the grammar is the caller's; the file may have JSON_SCHEMA_MAX_BYTES and be JSON_SCHEMA_MAX_DEPTH deep.
 * Errors:    QN_BAD_INPUT with line and column for what is no JSON, with the pointer for what is wrong in it; QN_UNSUPPORTED; QN_LIMIT.
 */
#ifndef HOST_CONSTRAIN_JSON_SCHEMA_H
#define HOST_CONSTRAIN_JSON_SCHEMA_H
#include <quoin/span.h>

#include "constrain/grammar.h"

#define JSON_SCHEMA_MAX_BYTES (1u << 20)
#define JSON_SCHEMA_MAX_DEPTH 64u

qn_status json_schema_parse(fmt_str text, const char *name, grammar *out, error_context *err);

qn_status json_schema_read(const char *path, grammar *out, error_context *err);

#endif
