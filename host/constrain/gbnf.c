/* gbnf.c — from the text of a grammar to its rules, by recursive descent. */
#include "constrain/gbnf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "constrain/text_cursor.h"

#define ROOT "root"
#define NAME_SLOTS (2u * GBNF_MAX_RULES)

typedef struct parser {
    text_cursor c;
    grammar_builder b;
    struct {
        uint64_t at, size;   /* of the name's first use in the text */
        uint32_t rule;       /* plus 1; 0: free */
        bool is_defined;
    } names[NAME_SLOTS];
    uint32_t n_names;
    code_range ranges[GBNF_MAX_RANGES];
} parser;

/* A builder's failure becomes the parser's, with a place. */
static grammar_fragment checked(parser *p, uint64_t at, grammar_fragment fragment) {
    if (p->b.status < 0 && p->c.status >= 0) {
        uint32_t line, column;
        char words[ERROR_TEXT_SIZE / 2];
        text_cursor_place(&p->c, at, &line, &column);
        snprintf(words, sizeof words, "%.*s", (int)sizeof words - 1, p->c.err != NULL ? error_text(p->c.err) : "");
        p->c.status = FAIL(p->c.err, p->b.status, "%.400s: line %u, column %u: %s", p->c.name, line, column, words);
    }
    return fragment;
}

static bool has_failed(const parser *p) {
    return p->c.status < 0;
}

/* ------------------------------------------------------------------------------------------------------ blanks and names */

static bool is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static void skip_blanks(parser *p, bool and_lines) {
    for (char c = text_cursor_peek(&p->c, 0); p->c.at < p->c.size; c = text_cursor_peek(&p->c, 0)) {
        if (c == '#') {
            while (p->c.at < p->c.size && text_cursor_peek(&p->c, 0) != '\n') {
                p->c.at++;
            }
        } else if (c == ' ' || c == '\t' || c == '\r' || (and_lines && c == '\n')) {
            p->c.at++;
        } else {
            return;
        }
    }
}

static uint32_t hash_name(const char *name, uint64_t size) {
    uint32_t h = 2166136261u;
    for (uint64_t i = 0; i < size; i++) {
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    }
    return h;
}

/* Index in `names` of the name from `at` to here, which is added when it is new. */
static uint32_t find_name(parser *p, uint64_t at) {
    const uint64_t size = p->c.at - at;
    uint32_t slot = hash_name(p->c.text + at, size) % NAME_SLOTS;
    while (p->names[slot].rule != 0 && (p->names[slot].size != size ||
                                        memcmp(p->c.text + p->names[slot].at, p->c.text + at, size) != 0)) {
        slot = (slot + 1) % NAME_SLOTS;
    }
    if (p->names[slot].rule == 0) {
        uint32_t line, column;
        if (p->n_names == GBNF_MAX_RULES) {
            text_cursor_fail(&p->c, QN_LIMIT, at, "one rule more than %u, which is the limit", GBNF_MAX_RULES);
            return slot;
        }
        text_cursor_place(&p->c, at, &line, &column);
        const uint32_t rule = grammar_add_rule(&p->b, p->c.text + at, size, line, column);
        p->names[slot].at = at;
        p->names[slot].size = size;
        p->names[slot].rule = rule + 1;
        p->n_names++;
        checked(p, at, (grammar_fragment){0, 0});
    }
    return slot;
}

static bool take_name(parser *p) {
    const uint64_t begin = p->c.at;
    while (is_name_byte(text_cursor_peek(&p->c, 0))) {
        p->c.at++;
    }
    return p->c.at > begin;
}

/* ------------------------------------------------------------------------------------------------- texts and characters */

static uint32_t parse_escape(parser *p) {
    static const char plain[] = "\\\"'[]-^.", codes[] = "nrt";
    static const char meant[] = "\n\r\t";
    const uint64_t begin = p->c.at - 1;
    const char c = text_cursor_peek(&p->c, 0);
    const char *code = c != '\0' ? strchr(codes, c) : NULL;
    uint32_t value = 0;
    p->c.at++;
    if (code != NULL) {
        value = (uint32_t)meant[code - codes];
    } else if (c != '\0' && strchr(plain, c) != NULL) {
        value = (uint32_t)c;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        value = text_cursor_hex(&p->c, c == 'x' ? 2 : c == 'u' ? 4 : 8);
        uint8_t room[4];
        if (p->c.status >= 0 && utf8_encode(value, room) == 0) {
            text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "U+%04X is no character", value);
        }
    } else {
        p->c.at--;
        char found[TEXT_CURSOR_FOUND_SIZE];
        text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "no escape begins with a backslash and %s; there are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ "
                         "\\xHH \\uHHHH \\UHHHHHHHH", text_cursor_found(&p->c, found));
    }
    return value;
}

/* A character inside quotes or brackets; fails at the line's end, where the closing mark is missing. */
static uint32_t parse_character(parser *p, uint64_t opened_at, const char *closing) {
    char found[TEXT_CURSOR_FOUND_SIZE];
    if (p->c.at >= p->c.size || text_cursor_peek(&p->c, 0) == '\n') {
        text_cursor_fail(&p->c, QN_BAD_INPUT, opened_at, "what opens here is not closed with %s before %s", closing,
                         text_cursor_found(&p->c, found));
        return 0;
    }
    return text_cursor_take(&p->c, '\\') ? parse_escape(p) : text_cursor_character(&p->c);
}

static grammar_fragment parse_literal(parser *p) {
    const uint64_t begin = p->c.at++;
    grammar_fragment text = grammar_empty(&p->b);
    while (!has_failed(p) && !text_cursor_take(&p->c, '"')) {
        uint8_t bytes[4];
        const unsigned size = utf8_encode(parse_character(p, begin, "\""), bytes);
        text = grammar_join(&p->b, text, grammar_literal(&p->b, (const char *)bytes, size));
        checked(p, begin, text);
    }
    return text;
}

static void parse_range(parser *p, uint64_t opened_at, code_range *out) {
    const uint64_t begin = p->c.at;
    out->low = out->high = parse_character(p, opened_at, "]");
    if (text_cursor_peek(&p->c, 0) == '-' && text_cursor_peek(&p->c, 1) != ']') {
        p->c.at++;
        out->high = parse_character(p, opened_at, "]");
        if (!has_failed(p) && out->high < out->low) {
            text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "the range ends before it begins: U+%04X to U+%04X", out->low, out->high);
        }
    }
}

static grammar_fragment parse_class(parser *p) {
    const uint64_t begin = p->c.at++;
    const bool is_negated = text_cursor_take(&p->c, '^');
    uint32_t n = 0;
    while (!has_failed(p) && !text_cursor_take(&p->c, ']')) {
        if (n == GBNF_MAX_RANGES) {
            text_cursor_fail(&p->c, QN_LIMIT, begin, "the class has more than %u characters and ranges", GBNF_MAX_RANGES);
            break;
        }
        parse_range(p, begin, &p->ranges[n++]);
    }
    return has_failed(p) ? grammar_empty(&p->b) : checked(p, begin, grammar_class(&p->b, p->ranges, n, is_negated));
}

/* -------------------------------------------------------------------------------------------------------------- structure */

static grammar_fragment parse_alternatives(parser *p, unsigned depth);

static grammar_fragment parse_group(parser *p, unsigned depth) {
    const uint64_t begin = p->c.at++;
    char found[TEXT_CURSOR_FOUND_SIZE];
    if (depth == GBNF_MAX_DEPTH) {
        text_cursor_fail(&p->c, QN_LIMIT, begin, "groups stand in groups more than %u deep", GBNF_MAX_DEPTH);
        return grammar_empty(&p->b);
    }
    const grammar_fragment text = parse_alternatives(p, depth + 1);
    if (!has_failed(p) && !text_cursor_take(&p->c, ')')) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, p->c.at, "a group ends with ), found is %s", text_cursor_found(&p->c, found));
    }
    return text;
}

static grammar_fragment parse_name(parser *p) {
    const uint64_t begin = p->c.at;
    take_name(p);
    const uint32_t slot = find_name(p, begin);
    return has_failed(p) ? grammar_empty(&p->b) : checked(p, begin, grammar_call(&p->b, p->names[slot].rule - 1));
}

/* {m}, {m,}, {m,n} or {,n}, from the brace on. */
static void parse_bounds(parser *p, uint32_t *out_least, uint32_t *out_most) {
    const uint64_t begin = p->c.at++;
    char found[TEXT_CURSOR_FOUND_SIZE];
    *out_least = text_cursor_peek(&p->c, 0) == ',' ? 0 : text_cursor_number(&p->c, GRAMMAR_MAX_REPEAT, "a repetition's bound");
    *out_most = *out_least;
    if (text_cursor_take(&p->c, ',')) {
        *out_most = text_cursor_peek(&p->c, 0) == '}' ? GRAMMAR_NO_BOUND
                                                      : text_cursor_number(&p->c, GRAMMAR_MAX_REPEAT, "a repetition's bound");
    }
    if (!has_failed(p) && !text_cursor_take(&p->c, '}')) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, p->c.at, "a repetition ends with }, found is %s", text_cursor_found(&p->c, found));
    } else if (!has_failed(p) && *out_least > *out_most) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "a repetition of at least %u and at most %u times", *out_least, *out_most);
    }
}

static grammar_fragment parse_repetitions(parser *p, grammar_fragment text) {
    for (char c = text_cursor_peek(&p->c, 0); !has_failed(p); c = text_cursor_peek(&p->c, 0)) {
        const uint64_t begin = p->c.at;
        uint32_t least = c == '+', most = c == '?' ? 1 : GRAMMAR_NO_BOUND;
        if (c == '{') {
            parse_bounds(p, &least, &most);
        } else if (c == '*' || c == '+' || c == '?') {
            p->c.at++;
        } else {
            break;
        }
        text = has_failed(p) ? text : checked(p, begin, grammar_repeat(&p->b, text, least, most));
        skip_blanks(p, false);
    }
    return text;
}

/* False where no item begins. */
static bool parse_item(parser *p, unsigned depth, grammar_fragment *out) {
    const char c = text_cursor_peek(&p->c, 0);
    if (c == '"') {
        *out = parse_literal(p);
    } else if (c == '[') {
        *out = parse_class(p);
    } else if (c == '(') {
        *out = parse_group(p, depth);
    } else if (is_name_byte(c)) {
        *out = parse_name(p);
    } else if (c == '.') {
        p->c.at++;
        *out = checked(p, p->c.at, grammar_class(&p->b, p->ranges, 0, true));
    } else {
        return false;
    }
    skip_blanks(p, depth > 0);
    *out = parse_repetitions(p, *out);
    return true;
}

static grammar_fragment parse_sequence(parser *p, unsigned depth) {
    grammar_fragment text = grammar_empty(&p->b), item;
    skip_blanks(p, depth > 0);
    while (!has_failed(p) && parse_item(p, depth, &item)) {
        text = has_failed(p) ? text : grammar_join(&p->b, text, item);
        skip_blanks(p, depth > 0);
    }
    return text;
}

static grammar_fragment parse_alternatives(parser *p, unsigned depth) {
    const uint64_t begin = p->c.at;
    grammar_fragment text = parse_sequence(p, depth);
    for (uint32_t n = 1; !has_failed(p) && text_cursor_take(&p->c, '|'); n++) {
        if (n == GBNF_MAX_ALTERNATIVES) {
            text_cursor_fail(&p->c, QN_LIMIT, begin, "more than %u alternatives", GBNF_MAX_ALTERNATIVES);
            break;
        }
        skip_blanks(p, true);
        const grammar_fragment next = parse_sequence(p, depth);
        text = has_failed(p) ? text : checked(p, begin, grammar_either(&p->b, text, next));
    }
    return text;
}

static void parse_rule(parser *p) {
    const uint64_t begin = p->c.at;
    char found[TEXT_CURSOR_FOUND_SIZE];
    if (!take_name(p)) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "a rule begins with its name, found is %s", text_cursor_found(&p->c, found));
        return;
    }
    const uint32_t slot = find_name(p, begin);
    skip_blanks(p, false);
    if (!has_failed(p) && (text_cursor_peek(&p->c, 0) != ':' || text_cursor_peek(&p->c, 1) != ':' || text_cursor_peek(&p->c, 2) != '=')) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, p->c.at, "behind a rule's name stands ::=, found is %s", text_cursor_found(&p->c, found));
    } else if (!has_failed(p) && p->names[slot].is_defined) {
        text_cursor_fail(&p->c, QN_BAD_INPUT, begin, "rule %.*s is defined a second time",
                         (int)(p->names[slot].size < 64 ? p->names[slot].size : 64), p->c.text + begin);
    }
    if (has_failed(p)) {
        return;
    }
    const uint32_t rule = p->names[slot].rule - 1;
    p->names[slot].is_defined = true;
    text_cursor_place(&p->c, begin, &p->b.g.rules[rule].line, &p->b.g.rules[rule].column);
    p->c.at += 3;
    grammar_begin_rule(&p->b, rule);
    skip_blanks(p, true);
    grammar_set_rule(&p->b, rule, parse_alternatives(p, 0));
    checked(p, begin, (grammar_fragment){0, 0});
    if (!has_failed(p) && p->c.at < p->c.size && text_cursor_peek(&p->c, 0) != '\n') {
        text_cursor_fail(&p->c, QN_BAD_INPUT, p->c.at, "%s has no meaning here; a rule is made of \"texts\", [classes], names, groups and |",
                         text_cursor_found(&p->c, found));
    }
}

static qn_status parse_all(parser *p, grammar *out) {
    for (skip_blanks(p, true); p->c.at < p->c.size && !has_failed(p); skip_blanks(p, true)) {
        parse_rule(p);
    }
    if (has_failed(p)) {
        return p->c.status;
    }
    uint32_t slot = hash_name(ROOT, sizeof ROOT - 1) % NAME_SLOTS;
    while (p->names[slot].rule != 0 && (p->names[slot].size != sizeof ROOT - 1 ||
                                        memcmp(p->c.text + p->names[slot].at, ROOT, sizeof ROOT - 1) != 0)) {
        slot = (slot + 1) % NAME_SLOTS;
    }
    if (p->names[slot].rule == 0) {
        return FAIL(p->c.err, QN_BAD_INPUT, "%s: there is no rule " ROOT ", with which every text begins", p->c.name);
    }
    const qn_status status = grammar_finish(&p->b, p->names[slot].rule - 1, out);
    return status < 0 ? error_put_path(p->c.err, status, p->c.name) : status;
}

qn_status gbnf_parse(fmt_str text, const char *name, grammar *out, error_context *err) {
    if (text.size > GBNF_MAX_BYTES) {
        return FAIL(err, QN_LIMIT, "%s: has %" PRIu64 " bytes; a grammar has at most %u", name, (uint64_t)text.size, GBNF_MAX_BYTES);
    }
    parser *p = calloc(1, sizeof *p);
    if (p == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: out of memory", name);
    }
    p->c = (text_cursor){.text = text.data, .size = text.size, .name = name, .err = err};
    grammar_builder_init(&p->b, err);
    const qn_status status = parse_all(p, out);
    grammar_builder_deinit(&p->b);
    free(p);
    return status;
}

qn_status gbnf_read(const char *path, grammar *out, error_context *err) {
    return grammar_read_file(path, gbnf_parse, out, err);
}
