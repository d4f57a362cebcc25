/* schema_pattern.c — regular expressions of JSON schemas, as far as they are regular and meant in one way.
 *
 *     ab . [a-z] [^a-z] \d \w \s \D \W \S     characters; escapes \t \n \r \f \v \xHH \uHHHH and \ before punctuation
 *     ( ) (?: ) | * + ? {m} {m,} {m,n}        groups, alternatives, repetitions (lazy ones are the same texts)
 *     ^ at the very begin, $ at the very end  without them anything may stand there
 *
 * What a character class takes is written as JSON writes it: with escapes for quotation marks, backslashes and control characters.
 */
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"
#include "constrain/schema_internal.h"
#include "constrain/text_cursor.h"

#define MAX_RANGES 256u
#define MAX_DEPTH 32u
#define LAST_CODE 0x10FFFFu
#define ROOM 8u /* for what a class adds to its own ranges */

typedef struct pattern {
    schema_reader *r;
    text_cursor c;
    const char *key;
    bool has_end;
} pattern;

typedef struct code_set {
    code_range ranges[MAX_RANGES + ROOM];
    uint32_t n;
    bool is_negated;
} code_set;

static void refuse(pattern *p, const char *what) {
    if (p->c.status >= 0) {
        p->c.status = QN_UNSUPPORTED;
        schema_fail(p->r, QN_UNSUPPORTED, p->key, "\"%.100s\": column %llu: %s", p->c.text, (unsigned long long)p->c.at + 1, what);
    }
}

static bool has_failed(const pattern *p) {
    return p->c.status < 0 || p->r->status < 0;
}

/* ------------------------------------------------------------------------------------------------------ sets of characters */

static void put(pattern *p, code_set *set, uint32_t low, uint32_t high) {
    if (set->n == MAX_RANGES) {
        refuse(p, "a class of more than 256 characters and ranges");
    } else {
        set->ranges[set->n++] = (code_range){low, high};
    }
}

static bool put_class_escape(pattern *p, code_set *set, char c) {
    switch (c) {
    case 'd': put(p, set, '0', '9'); return true;
    case 'w':
        put(p, set, '0', '9');
        put(p, set, 'A', 'Z');
        put(p, set, 'a', 'z');
        put(p, set, '_', '_');
        return true;
    case 's':
        put(p, set, '\t', '\r');
        put(p, set, ' ', ' ');
        return true;
    default: return false;
    }
}

static bool has_code(const code_set *set, uint32_t code) {
    bool is_in = false;
    for (uint32_t i = 0; i < set->n; i++) {
        is_in |= set->ranges[i].low <= code && code <= set->ranges[i].high;
    }
    return is_in != set->is_negated;
}

static bool needs_escape(uint32_t code) {
    return code < 0x20 || code == '"' || code == '\\';
}

/* The characters that stand for themselves; false when there are none. */
static bool make_plain(pattern *p, code_set *set, grammar_fragment *out) {
    static const code_range plain[] = {{0x20, '"' - 1}, {'"' + 1, '\\' - 1}, {'\\' + 1, LAST_CODE}};
    if (set->is_negated) {
        code_range *end = set->ranges + set->n;
        end[0] = (code_range){0, 0x1F};
        end[1] = (code_range){'"', '"'};
        end[2] = (code_range){'\\', '\\'};
        *out = grammar_class(&p->r->b, set->ranges, set->n + 3, true);
        return true;
    }
    bool has_any = false;
    for (uint32_t i = 0; i < set->n; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            const uint32_t low = set->ranges[i].low > plain[k].low ? set->ranges[i].low : plain[k].low;
            const uint32_t high = set->ranges[i].high < plain[k].high ? set->ranges[i].high : plain[k].high;
            if (low <= high) {
                const grammar_fragment one = grammar_class(&p->r->b, &(code_range){low, high}, 1, false);
                *out = has_any ? grammar_either(&p->r->b, *out, one) : one;
                has_any = true;
            }
        }
    }
    return has_any;
}

static grammar_fragment spell_escaped(pattern *p, uint32_t code) {
    static const char codes[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const char *known = code != 0 ? strchr(codes, (int)code) : NULL;
    char text[8];
    const int size = known != NULL ? snprintf(text, sizeof text, "\\%c", letters[known - codes])
                                   : snprintf(text, sizeof text, "\\u%04x", code & 0xFFFFu);
    return grammar_literal(&p->r->b, text, (size_t)size);
}

static grammar_fragment make_set(pattern *p, code_set *set) {
    grammar_fragment text = {0, 0};
    uint32_t escaped[0x20 + 2], n_escaped = 0;
    for (uint32_t code = 0; code <= '\\'; code++) {
        if (needs_escape(code) && has_code(set, code)) {
            escaped[n_escaped++] = code;
        }
    }
    bool has_any = make_plain(p, set, &text);
    for (uint32_t i = 0; i < n_escaped; i++) {
        const grammar_fragment one = spell_escaped(p, escaped[i]);
        text = has_any ? grammar_either(&p->r->b, text, one) : one;
        has_any = true;
    }
    if (!has_any) {
        refuse(p, "a class that no character is in");
        text = grammar_empty(&p->r->b);
    }
    return text;
}

/* ----------------------------------------------------------------------------------------------------------------- atoms */

/* Behind a backslash: a single character. */
static uint32_t parse_escape(pattern *p) {
    static const char codes[] = "tnrfv", meant[] = "\t\n\r\f\v";
    const char c = text_cursor_peek(&p->c, 0);
    const char *known = c != '\0' ? strchr(codes, c) : NULL;
    if (known != NULL) {
        p->c.at++;
        return (uint32_t)meant[known - codes];
    }
    if (c == 'x' || c == 'u') {
        p->c.at++;
        const uint32_t code = text_cursor_hex(&p->c, c == 'x' ? 2 : 4); /* without words: the cursor has no context */
        if (p->c.status < 0 || (code >= 0xD800 && code < 0xE000)) {
            p->c.status = QN_OK;
            refuse(p, "an escape that names no character");
        }
        return code;
    }
    if (c == '\0' || (unsigned char)c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        refuse(p, "this escape is not known; there are \\d \\w \\s \\D \\W \\S \\t \\n \\r \\f \\v \\xHH \\uHHHH and \\ before punctuation");
        return 0;
    }
    p->c.at++;
    return (uint32_t)c;
}

static uint32_t take_character(pattern *p) {
    uint32_t code = 0;
    const unsigned size = utf8_decode((const uint8_t *)p->c.text + p->c.at, p->c.size - p->c.at, &code);
    if (size == 0) {
        refuse(p, "a character is missing here");
    }
    p->c.at += size;
    return code;
}

static void parse_class_item(pattern *p, code_set *set) {
    if (text_cursor_take(&p->c, '\\')) {
        if (put_class_escape(p, set, text_cursor_peek(&p->c, 0))) {
            p->c.at++;
            return;
        }
        const uint32_t code = parse_escape(p);
        put(p, set, code, code);
    } else {
        const uint32_t code = take_character(p);
        put(p, set, code, code);
    }
    if (!has_failed(p) && text_cursor_peek(&p->c, 0) == '-' && text_cursor_peek(&p->c, 1) != ']' && text_cursor_peek(&p->c, 1) != '\0') {
        code_range *range = &set->ranges[set->n - 1];
        p->c.at++;
        range->high = text_cursor_take(&p->c, '\\') ? parse_escape(p) : take_character(p);
        if (range->high < range->low) {
            refuse(p, "a range that ends before it begins");
        }
    }
}

static grammar_fragment parse_class(pattern *p) {
    code_set set = {.n = 0};
    set.is_negated = text_cursor_take(&p->c, '^');
    while (!has_failed(p) && !text_cursor_take(&p->c, ']')) {
        parse_class_item(p, &set);
    }
    return has_failed(p) ? grammar_empty(&p->r->b) : make_set(p, &set);
}

static grammar_fragment parse_alternatives(pattern *p, unsigned depth, bool is_anchored);

static grammar_fragment parse_group(pattern *p, unsigned depth) {
    if (depth == MAX_DEPTH) {
        refuse(p, "groups stand in groups more than 32 deep");
    } else if (text_cursor_take(&p->c, '?') && !text_cursor_take(&p->c, ':')) {
        refuse(p, "looking ahead or behind, and named groups, are not known");
    }
    const grammar_fragment text = has_failed(p) ? grammar_empty(&p->r->b) : parse_alternatives(p, depth + 1, false);
    if (!has_failed(p) && !text_cursor_take(&p->c, ')')) {
        refuse(p, "a group is not closed with )");
    }
    return text;
}

static grammar_fragment parse_escaped_atom(pattern *p) {
    code_set set = {.n = 0};
    const char c = text_cursor_peek(&p->c, 0);
    set.is_negated = c == 'D' || c == 'W' || c == 'S';
    if (put_class_escape(p, &set, set.is_negated ? (char)(c - 'A' + 'a') : c)) {
        p->c.at++;
    } else {
        const uint32_t code = parse_escape(p);
        put(p, &set, code, code);
    }
    return has_failed(p) ? grammar_empty(&p->r->b) : make_set(p, &set);
}

static grammar_fragment parse_atom(pattern *p, unsigned depth) {
    code_set set = {.n = 0};
    switch (text_cursor_peek(&p->c, 0)) {
    case '(': p->c.at++; return parse_group(p, depth);
    case '[': p->c.at++; return parse_class(p);
    case '\\': p->c.at++; return parse_escaped_atom(p);
    case '.':
        p->c.at++;
        set.is_negated = true;
        put(p, &set, '\n', '\n');
        put(p, &set, '\r', '\r');
        return make_set(p, &set);
    case '*': case '+': case '?': case '{': case '}': case ']': case '^':
        refuse(p, "this sign has no meaning here; write a backslash before it if it stands for itself");
        return grammar_empty(&p->r->b);
    default: break;
    }
    const uint32_t code = take_character(p);
    put(p, &set, code, code);
    return has_failed(p) ? grammar_empty(&p->r->b) : make_set(p, &set);
}

/* ------------------------------------------------------------------------------------------------------------- structure */

static uint32_t parse_bound(pattern *p) {
    uint32_t value = 0;
    const uint64_t begin = p->c.at;
    for (char c = text_cursor_peek(&p->c, 0); c >= '0' && c <= '9'; c = text_cursor_peek(&p->c, 0)) {
        value = value <= GRAMMAR_MAX_REPEAT ? value * 10 + (uint32_t)(c - '0') : value;
        p->c.at++;
    }
    if (p->c.at == begin) {
        refuse(p, "a repetition's bound is a whole number");
    } else if (value > GRAMMAR_MAX_REPEAT) {
        refuse(p, "a repetition of more than 4096 times");
    }
    return value;
}

static grammar_fragment parse_repetition(pattern *p, grammar_fragment text) {
    const char c = text_cursor_peek(&p->c, 0);
    uint32_t least = c == '+', most = c == '?' ? 1 : GRAMMAR_NO_BOUND;
    if (c != '*' && c != '+' && c != '?' && c != '{') {
        return text;
    }
    p->c.at++;
    if (c == '{') {
        least = most = parse_bound(p);
        if (text_cursor_take(&p->c, ',')) {
            most = text_cursor_peek(&p->c, 0) == '}' ? GRAMMAR_NO_BOUND : parse_bound(p);
        }
        if (!has_failed(p) && (!text_cursor_take(&p->c, '}') || least > most)) {
            refuse(p, "a repetition is {m}, {m,} or {m,n} with m up to n");
        }
    }
    text_cursor_take(&p->c, '?');
    return has_failed(p) ? text : grammar_repeat(&p->r->b, text, least, most);
}

static grammar_fragment parse_sequence(pattern *p, unsigned depth) {
    grammar_fragment text = grammar_empty(&p->r->b);
    while (!has_failed(p) && p->c.at < p->c.size) {
        const char c = text_cursor_peek(&p->c, 0);
        if (c == '|' || (c == ')' && depth > 0)) {
            break;
        }
        if (c == '$') {
            if (depth > 0 || p->c.at + 1 != p->c.size) {
                refuse(p, "$ is known only at the very end");
            }
            p->c.at++;
            p->has_end = true;
            break;
        }
        if (c == ')') {
            refuse(p, "nothing was opened that this closes");
            break;
        }
        text = grammar_join(&p->r->b, text, parse_repetition(p, parse_atom(p, depth)));
    }
    return text;
}

static grammar_fragment parse_alternatives(pattern *p, unsigned depth, bool is_anchored) {
    grammar_fragment text = parse_sequence(p, depth);
    while (!has_failed(p) && text_cursor_take(&p->c, '|')) {
        text = grammar_either(&p->r->b, text, parse_sequence(p, depth));
        if (is_anchored || (depth == 0 && p->has_end)) {
            refuse(p, "^ or $ binds only one of these alternatives; put them into a group");
        }
    }
    return text;
}

grammar_fragment schema_pattern(schema_reader *r, const char *key, const char *text, size_t size) {
    pattern p = {.r = r, .key = key, .c = {.text = text, .size = size, .name = r->name}};
    const bool has_begin = text_cursor_take(&p.c, '^');
    grammar_fragment content = parse_alternatives(&p, 0, has_begin);
    if (!has_begin) {
        content = grammar_join(&r->b, grammar_repeat(&r->b, schema_shared(r, SHARED_CHARACTER), 0, GRAMMAR_NO_BOUND), content);
    }
    if (!p.has_end) {
        content = grammar_join(&r->b, content, grammar_repeat(&r->b, schema_shared(r, SHARED_CHARACTER), 0, GRAMMAR_NO_BOUND));
    }
    return content;
}
