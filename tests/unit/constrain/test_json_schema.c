/* test_json_schema.c — each keyword: texts that it allows, texts that it does not, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "constrain/json_schema.h"
#include "texts.h"

/* Texts are divided by ~. */
static const struct {
    const char *name, *schema, *has, *lacks;
} schemas[] = {
    {"any value", "{}", "1~-0.5e+10~\"a\"~[1, {\"a\":null}]~{}~true", "~01~1.~nul~[1,]~{a:1}~\"\t\"~ 1~[1,  2]"},
    {"true", "true", "null~[]", "nope"},
    {"string", "{\"type\":\"string\"}", "\"\"~\"a\\n\\u00e9\xc3\xa9\"", "a~\"~\"\\x\"~\"\\ud800\"~\"\xff\""},
    {"integer", "{\"type\":\"integer\"}", "0~-1~12345", "01~1.0~+1~--1"},
    {"number", "{\"type\":\"number\"}", "0~-1.50~1e5~2E-07", ".5~1.~1e~1e123"},
    {"boolean and null", "{\"type\":[\"boolean\",\"null\"]}", "true~false~null", "0~\"true\""},
    {"types with their own keywords", "{\"type\":[\"integer\",\"string\"],\"minimum\":5,\"maxLength\":1}", "5~99~\"\"~\"a\"", "4~\"ab\"~null"},
    {"a missing type", "{\"maxLength\":1}", "\"\"~\"a\"", "1~\"ab\""},
    {"length", "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"ab\"~\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"~\"\\n\\u0041\"", "\"a\"~\"abcd\""},
    {"length far above", "{\"maxLength\":100000}", "\"\"~\"abc\"", "1"},
    {"enum", "{\"enum\":[\"a\",1,null,[1,2],{\"k\":\"\\\"\"}]}", "\"a\"~1~null~[1,2]~{\"k\":\"\\\"\"}", "\"b\"~2~[1, 2]"},
    {"enum with a type", "{\"type\":\"integer\",\"enum\":[\"a\",1,2.5]}", "1", "\"a\"~2.5"},
    {"const", "{\"const\":\"x\\ny\"}", "\"x\\ny\"", "\"xy\""},
    {"minimum", "{\"type\":\"integer\",\"minimum\":-5}", "-5~-1~0~7~123456789", "-6~-10~-05~-0"},
    {"maximum", "{\"type\":\"integer\",\"maximum\":120}", "120~99~0~-1~-500", "121~1200~999"},
    {"both", "{\"type\":\"integer\",\"minimum\":17,\"maximum\":123}", "17~20~99~100~123", "16~9~124~1~0~170"},
    {"negative both", "{\"type\":\"integer\",\"minimum\":-123,\"maximum\":-17}", "-123~-17~-99", "-16~-124~0~17"},
    {"exclusive", "{\"type\":\"integer\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":10}", "1~9", "0~10"},
    {"bounds that are not whole", "{\"type\":\"integer\",\"minimum\":0.5,\"exclusiveMaximum\":2.5}", "1~2", "0~3"},
    {"one integer", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":0}", "0", "1~-0~00"},
    {"the greatest", "{\"type\":\"integer\",\"minimum\":9223372036854775000}", "", "1"},
    {"number between", "{\"type\":\"number\",\"minimum\":-1,\"maximum\":10}", "-1~-0.5~-1.0~0~9.99~10~10.00", "-1.1~10.01~11~1e1~-2"},
    {"number from zero", "{\"type\":\"number\",\"minimum\":0}", "0~0.25~17", "-1~-0.1"},
    {"array", "{\"type\":\"array\",\"items\":{\"type\":\"integer\"}}", "[]~[1]~[1,2]~[1, 2]", "[1,]~[\"a\"]~[1,  2]~[,1]"},
    {"array counts", "{\"items\":{\"const\":1},\"minItems\":2,\"maxItems\":3}", "[1,1]~[1,1,1]", "[]~[1]~[1,1,1,1]"},
    {"one item at least", "{\"items\":{\"const\":1},\"minItems\":1}", "[1]~[1,1,1,1]", "[]"},
    {"no items", "{\"type\":\"array\",\"maxItems\":0}", "[]", "[1]"},
    {"items by place", "{\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":{\"const\":3}}", "[]~[1]~[1,2]~[1,2,3,3]", "[2]~[1,3]~[1,2,2]"},
    {"items by place and no more", "{\"prefixItems\":[{\"const\":1},{\"const\":2}],\"items\":false,\"minItems\":1}", "[1]~[1,2]", "[]~[1,2,3]"},
    {"places that are not all needed", "{\"prefixItems\":[{\"const\":1},{\"const\":2}],\"maxItems\":1}", "[]~[1]", "[1,2]"},
    {"any items", "{\"type\":\"array\"}", "[]~[1,\"a\",[]]", "{}"},
    {"object", "{\"type\":\"object\"}", "{}~{\"a\":1, \"b\": [2]}", "{\"a\"}~{1:2}~[]"},
    {"properties", "{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2}}}", "{}~{\"a\":1}~{\"b\":2}~{\"a\":1,\"b\":2}~{\"a\": 1, \"b\": 2}",
     "{\"b\":2,\"a\":1}~{\"c\":3}~{\"a\":1,}~{,\"b\":2}~{\"a\":2}"},
    {"required", "{\"properties\":{\"a\":{\"const\":1},\"b\":{\"const\":2},\"c\":{\"const\":3}},\"required\":[\"b\"]}",
     "{\"b\":2}~{\"a\":1,\"b\":2}~{\"b\":2,\"c\":3}~{\"a\":1,\"b\":2,\"c\":3}", "{}~{\"a\":1}~{\"a\":1,\"c\":3}"},
    {"required and not listed", "{\"properties\":{\"a\":{\"const\":1}},\"required\":[\"z\"]}", "{\"z\":[]}~{\"a\":1,\"z\":null}", "{}~{\"a\":1}"},
    {"no others", "{\"type\":\"object\",\"additionalProperties\":false}", "{}", "{\"a\":1}"},
    {"others", "{\"properties\":{\"ab\":{\"const\":1}},\"additionalProperties\":{\"const\":2}}",
     "{}~{\"ab\":1}~{\"x\":2}~{\"ab\":1,\"a\":2,\"abc\":2,\"\":2}~{\"b\":2}~{\"\xc3\xa9\":2}", "{\"ab\":2}~{\"x\":1}~{\"x\":2,\"ab\":1}~{\"\\u0061b\":2}"},
    {"only others", "{\"additionalProperties\":{\"type\":\"integer\"}}", "{}~{\"a\":1}~{\"a\":1,\"b\":2}", "{\"a\":\"b\"}"},
    {"a key with signs", "{\"properties\":{\"a\\\"/~\":{\"const\":1}}}", "{}", "{\"a\":1}"},
    {"anyOf", "{\"anyOf\":[{\"const\":1},{\"type\":\"string\",\"maxLength\":1}]}", "1~\"a\"", "2~\"ab\""},
    {"oneOf", "{\"oneOf\":[{\"type\":\"null\"},{\"type\":\"integer\"}]}", "null~3", "\"a\""},
    {"allOf with one", "{\"allOf\":[{\"const\":1}]}", "1", "2"},
    {"a reference", "{\"$defs\":{\"n\":{\"type\":\"integer\"}},\"properties\":{\"a\":{\"$ref\":\"#/$defs/n\"},\"b\":{\"$ref\":\"#/$defs/n\"}}}",
     "{\"a\":1,\"b\":2}", "{\"a\":\"1\"}"},
    {"a tree", "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"properties\":{\"l\":{\"$ref\":\"#/$defs/t\"},\"r\":{\"$ref\":\"#/$defs/t\"}}}}}",
     "{}~{\"l\":{\"r\":{}}}~{\"l\":{},\"r\":{\"l\":{}}}", "{\"l\":1}~{\"l\":{}"},
    {"a list that refers to the root", "{\"properties\":{\"next\":{\"anyOf\":[{\"type\":\"null\"},{\"$ref\":\"#\"}]}},\"required\":[\"next\"]}",
     "{\"next\":null}~{\"next\":{\"next\":null}}", "{}~{\"next\":{}}"},
    {"an escaped pointer", "{\"$ref\":\"#/$defs/a~1b~0c\",\"$defs\":{\"a/b~c\":{\"const\":1}}}", "1", "2"},
    {"a pattern", "{\"pattern\":\"^[A-Z]{2}-\\\\d+$\"}", "\"AB-1\"~\"XY-123\"", "\"A-1\"~\"AB-\"~\"xAB-1\""},
    {"an open pattern", "{\"pattern\":\"a+b\"}", "\"ab\"~\"xxaabyy\"~\"\\nab\"", "\"a\"~\"ba\""},
    {"a pattern of alternatives", "{\"pattern\":\"^(?:cat|dog)s?$\"}", "\"cat\"~\"dogs\"", "\"cats \"~\"bird\""},
    {"a pattern with signs that JSON escapes", "{\"pattern\":\"^[\\\"\\\\\\\\\\\\n]$\"}", "\"\\\"\"~\"\\\\\"~\"\\n\"", "\"\"~\"n\"~\"\"\""},
    {"a negated class in a pattern", "{\"pattern\":\"^[^a-z]$\"}", "\"A\"~\"\\\"\"~\"\\u0000\"~\"\xc3\xa9\"", "\"a\"~\"\"\""},
    {"a dot in a pattern", "{\"pattern\":\"^.$\"}", "\"a\"~\"\\\\\"", "\"\"~\"\\n\""},
    {"words in a pattern", "{\"pattern\":\"^\\\\w\\\\s\\\\D$\"}", "\"a x\"~\"_\\t \"", "\"a 1\"~\"axx\""},
    {"date", "{\"format\":\"date\"}", "\"2024-02-29\"~\"2023-02-28\"~\"1999-12-31\"~\"2000-02-29\"~\"2023-04-30\"",
     "\"2023-02-29\"~\"2023-13-01\"~\"2023-04-31\"~\"1900-02-29\"~\"2023-1-1\"~\"2023-00-10\""},
    {"time", "{\"format\":\"time\"}", "\"23:59:59Z\"~\"00:00:00.5+01:30\"", "\"24:00:00Z\"~\"12:00:00\"~\"12:60:00Z\""},
    {"date-time", "{\"format\":\"date-time\"}", "\"2026-11-30T17:00:00Z\"", "\"2026-11-30\"~\"2026-11-31T17:00:00Z\""},
    {"uuid", "{\"format\":\"uuid\"}", "\"123e4567-e89b-12d3-a456-426614174000\"", "\"123e4567e89b12d3a456426614174000\"~\"g23e4567-e89b-12d3-a456-426614174000\""},
    {"annotations", "{\"title\":\"t\",\"description\":\"d\",\"default\":7,\"examples\":[7],\"type\":\"null\",\"$comment\":\"c\"}", "null", "7"},
};

static void a_schema_allows_the_texts_that_it_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++) {
        grammar g = {.n_nodes = 0};
        error_context err = {0};
        const qn_status status = json_schema_parse((fmt_str){schemas[i].schema, strlen(schemas[i].schema)}, "s", &g, &err);
        if (status < 0 && schemas[i].has[0] == '\0') {
            continue;
        }
        if (status < 0) {
            fail_msg("%s: %s", schemas[i].name, error_text(&err));
        }
        for (int should = 0; should < 2; should++) {
            const char *at = should ? schemas[i].has : schemas[i].lacks;
            for (;; at++) {
                const size_t size = strcspn(at, "~");
                if (texts_accept(&g, at, size) != (bool)should) {
                    fail_msg("%s: %.*s %s", schemas[i].name, (int)size, at, should ? "is missing" : "is too much");
                }
                at += size;
                if (*at == '\0') {
                    break;
                }
            }
        }
        grammar_free(&g);
    }
}

static const struct {
    const char *schema, *words;
} refused[] = {
    {"", "line 1, column 0: is no JSON"},
    {"{\"type\":}", "line 1, column 9: is no JSON"},
    {"{\"type\":\"string\",\"type\":\"null\"}", "is no JSON: duplicate object key"},
    {"[]", "#: a schema is an object, true or false"},
    {"false", "#: the schema false allows nothing"},
    {"{\"type\":\"text\"}", "#/type: must be null, boolean"},
    {"{\"type\":[]}", "#/type: is an empty list"},
    {"{\"multipleOf\":3}", "#/multipleOf: this keyword is not known here"},
    {"{\"properties\":{\"a\":{\"patternProperties\":{}}}}", "#/properties/a/patternProperties: this keyword"},
    {"{\"properties\":{\"a/b\":{\"not\":{}}}}", "#/properties/a~1b/not: this keyword"},
    {"{\"prefixItems\":[{},{\"contains\":{}}]}", "#/prefixItems/1/contains: this keyword"},
    {"{\"anyOf\":[{}],\"type\":\"string\"}", "#/anyOf: beside keywords that narrow it"},
    {"{\"$ref\":\"#\",\"minLength\":1}", "#/$ref: beside keywords that narrow it"},
    {"{\"anyOf\":[{}],\"oneOf\":[{}]}", "#/oneOf: beside anyOf"},
    {"{\"allOf\":[{},{}]}", "#/allOf: of more than one schema"},
    {"{\"anyOf\":[]}", "#/anyOf: must be a list of schemas"},
    {"{\"enum\":[]}", "#/enum: must be a list of values"},
    {"{\"enum\":[1],\"type\":\"string\"}", "#/enum: no value has the type"},
    {"{\"$ref\":\"#/$defs/a\"}", "#/$ref: \"#/$defs/a\" leads nowhere"},
    {"{\"$ref\":\"http://e.example/s.json\"}", "leads nowhere in this file"},
    {"{\"$ref\":\"#\"}", "# begins with itself"},
    {"{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", "never ends"},
    {"{\"type\":\"string\",\"minLength\":-1}", "#/minLength: must be a whole number from 0"},
    {"{\"type\":\"string\",\"minLength\":999999999}", "#/minLength: is 999999999; the limit is 4096"},
    {"{\"minLength\":3,\"maxLength\":2}", "#/minLength: is 3, more than the greatest length 2"},
    {"{\"minItems\":3,\"maxItems\":2}", "#/minItems: is 3, but there can be at most 2 items"},
    {"{\"prefixItems\":[{}],\"items\":false,\"minItems\":2}", "#/minItems: is 2, but there can be at most 1"},
    {"{\"type\":\"integer\",\"minimum\":5,\"maximum\":4}", "#: no number of up to 18 digits is between"},
    {"{\"type\":\"number\",\"minimum\":0.5}", "#/minimum: of a number that need not be an integer"},
    {"{\"type\":\"integer\",\"minimum\":\"5\"}", "#/minimum: must be a number"},
    {"{\"required\":[\"a\"],\"additionalProperties\":false}", "\"a\" is required, and neither listed nor allowed"},
    {"{\"required\":\"a\"}", "#/required: must be an array of names"},
    {"{\"format\":\"email\"}", "#/format: \"email\" is not known; date, time"},
    {"{\"pattern\":\"a\",\"maxLength\":3}", "#/pattern: together with minLength or maxLength"},
    {"{\"pattern\":\"(?=a)\"}", "column 3: looking ahead"},
    {"{\"pattern\":\"(a\"}", "a group is not closed"},
    {"{\"pattern\":\"a)\"}", "nothing was opened"},
    {"{\"pattern\":\"[a\"}", "a character is missing here"},
    {"{\"pattern\":\"a{999999999}\"}", "more than 4096 times"},
    {"{\"pattern\":\"^a|b$\"}", "put them into a group"},
    {"{\"pattern\":\"a\\\\b\"}", "this escape is not known"},
    {"{\"pattern\":\"a$b\"}", "$ is known only at the very end"},
    {"{\"pattern\":\"*\"}", "this sign has no meaning here"},
};

static void what_would_be_ignored_is_refused_with_its_pointer(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        grammar g = {.n_nodes = 0};
        error_context err = {0};
        const qn_status status = json_schema_parse((fmt_str){refused[i].schema, strlen(refused[i].schema)}, "s", &g, &err);
        if (status >= 0 || strstr(error_text(&err), refused[i].words) == NULL || strncmp(error_text(&err), "s: ", 3) != 0) {
            fail_msg("%s: %d %s", refused[i].schema, status, error_text(&err));
        }
    }
}

static void schemas_in_schemas_have_a_limit(void **state) {
    (void)state;
    static char text[65536];
    size_t at = 0;
    for (unsigned i = 0; i < 500; i++) {
        at += (size_t)snprintf(text + at, sizeof text - at, "{\"items\":");
    }
    at += (size_t)snprintf(text + at, sizeof text - at, "true");
    memset(text + at, '}', 500);
    grammar g;
    error_context err = {0};
    assert_int_equal(json_schema_parse((fmt_str){text, at + 500}, "s", &g, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "more than 64 deep"));
}

static void a_large_file_is_refused_before_it_is_parsed(void **state) {
    (void)state;
    grammar g;
    error_context err = {0};
    char *text = calloc(JSON_SCHEMA_MAX_BYTES + 1, 1);
    assert_int_equal(json_schema_parse((fmt_str){text, JSON_SCHEMA_MAX_BYTES + 1}, "s", &g, &err), QN_LIMIT);
    assert_non_null(strstr(error_text(&err), "a schema has at most 1048576"));
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_schema_allows_the_texts_that_it_should),
        cmocka_unit_test(what_would_be_ignored_is_refused_with_its_pointer),
        cmocka_unit_test(schemas_in_schemas_have_a_limit),
        cmocka_unit_test(a_large_file_is_refused_before_it_is_parsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
