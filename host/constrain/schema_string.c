/* schema_string.c — strings by their length, a pattern or a format. */
#include <string.h>

#include "constrain/schema_internal.h"

/* Regular expressions of the formats, of years from 1000 to 9999. A day is one that the month has, in leap years too. */
#define YEAR "[1-9][0-9]{3}"
#define LEAP_YEAR "(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[13579][26]|[2468][048])00)"
#define LONG_MONTH "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
#define SHORT_MONTH "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
#define DATE "(?:" YEAR "-(?:" LONG_MONTH "|" SHORT_MONTH "|02-(?:0[1-9]|1[0-9]|2[0-8]))|" LEAP_YEAR "-02-29)"
#define CLOCK "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
#define TIME CLOCK ":[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-]" CLOCK ")"
#define HEX "[0-9a-fA-F]"

static const struct {
    const char *name, *pattern;
} formats[] = {{"date", "^" DATE "$"},
               {"time", "^" TIME "$"},
               {"date-time", "^" DATE "T" TIME "$"},
               {"uuid", "^" HEX "{8}-" HEX "{4}-" HEX "{4}-" HEX "{4}-" HEX "{12}$"}};

static grammar_fragment make_format(schema_reader *r, json_t *format) {
    if (!json_is_string(format)) {
        schema_fail(r, QN_BAD_INPUT, "format", "must be a string");
        return grammar_empty(&r->b);
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(formats[i].name, json_string_value(format)) == 0) {
            return schema_pattern(r, "format", formats[i].pattern, strlen(formats[i].pattern));
        }
    }
    schema_fail(r, QN_UNSUPPORTED, "format", "\"%.60s\" is not known; date, time, date-time and uuid are", json_string_value(format));
    return grammar_empty(&r->b);
}

static grammar_fragment make_length(schema_reader *r, json_t *schema) {
    const uint32_t least = schema_count(r, schema, "minLength", GRAMMAR_MAX_REPEAT, false, 0);
    const uint32_t most = schema_count(r, schema, "maxLength", GRAMMAR_MAX_REPEAT, true, GRAMMAR_NO_BOUND);
    if (r->status >= 0 && least > most) {
        schema_fail(r, QN_BAD_INPUT, "minLength", "is %u, more than the greatest length %u", least, most);
    }
    return r->status < 0 ? grammar_empty(&r->b) : grammar_repeat(&r->b, schema_shared(r, SHARED_CHARACTER), least, most);
}

static grammar_fragment make_content(schema_reader *r, json_t *schema) {
    json_t *pattern = json_object_get(schema, "pattern"), *format = json_object_get(schema, "format");
    const bool has_length = json_object_get(schema, "minLength") != NULL || json_object_get(schema, "maxLength") != NULL;
    if ((pattern != NULL) + (format != NULL) + has_length > 1) {
        schema_fail(r, QN_UNSUPPORTED, pattern != NULL ? "pattern" : "format", "together with %s is not known; say it in one of them",
                    has_length ? "minLength or maxLength" : "format");
    } else if (pattern != NULL && !json_is_string(pattern)) {
        schema_fail(r, QN_BAD_INPUT, "pattern", "must be a string");
    }
    if (r->status < 0) {
        return grammar_empty(&r->b);
    }
    return pattern != NULL ? schema_pattern(r, "pattern", json_string_value(pattern), json_string_length(pattern))
           : format != NULL ? make_format(r, format)
                            : make_length(r, schema);
}

grammar_fragment schema_string(schema_reader *r, json_t *schema) {
    const grammar_fragment text = make_content(r, schema);
    return grammar_join(&r->b, grammar_join(&r->b, grammar_literal(&r->b, "\"", 1), text), grammar_literal(&r->b, "\"", 1));
}
