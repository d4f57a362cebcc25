/* ere_compile.c — regular expressions into steps. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "rules/ere_program.h"

#define NO_LIMIT UINT32_MAX

typedef struct compiler {
    const char *begin, *at, *end;
    ere_program *program;
    error_context *err;
    uint32_t depth;
} compiler;

__attribute__((format(printf, 4, 5)))
static qn_status refuse(const compiler *c, const char *place, qn_status status, const char *format, ...) {
    char words[256];
    unsigned column = 1;
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    for (const char *at = c->begin; at < place; column++) {
        const unsigned size = utf8_decode((const uint8_t *)at, (uint64_t)(c->end - at), NULL);
        at += size > 0 ? size : 1;
    }
    return FAIL(c->err, status, "column %u of the pattern: %s", column, words);
}

/* ---------------------------------------------------------------- steps */

/* Makes a hole of `n` steps at `at`. What lies behind is one part, whose inner jumps stay right. */
static qn_status open_steps(const compiler *c, uint32_t at, uint32_t n) {
    ere_program *p = c->program;
    if (n > ERE_MAX_STEPS - p->n_steps) {
        return refuse(c, c->at < c->end ? c->at : c->end, QN_LIMIT, "the pattern, repetitions written out, has more than %u steps",
                      ERE_MAX_STEPS);
    }
    memmove(&p->steps[at + n], &p->steps[at], (p->n_steps - at) * sizeof p->steps[0]);
    p->n_steps += n;
    return QN_OK;
}

static qn_status put_step(const compiler *c, uint32_t at, ere_step step) {
    const qn_status status = open_steps(c, at, 1);
    if (status >= 0) {
        c->program->steps[at] = step;
    }
    return status;
}

static ere_step split(uint32_t first, uint32_t second) {
    return (ere_step){.op = ERE_SPLIT, .first = (int16_t)first, .second = (int16_t)second};
}

/* Copies the part [from, from + n) to the end. */
static qn_status repeat_part(const compiler *c, uint32_t from, uint32_t n) {
    const uint32_t at = c->program->n_steps;
    const qn_status status = open_steps(c, at, n);
    if (status >= 0) {
        memcpy(&c->program->steps[at], &c->program->steps[from], n * sizeof(ere_step));
    }
    return status;
}

/* The part from `from` on, at least `least` times and at most `most`. */
static qn_status apply_count(const compiler *c, uint32_t from, uint32_t least, uint32_t most) {
    ere_program *p = c->program;
    const uint32_t n = p->n_steps - from;
    qn_status status = QN_OK;
    if (most == 0) {
        p->n_steps = from;
        return QN_OK;
    }
    for (uint32_t i = 1; status >= 0 && i < least; i++) {
        status = repeat_part(c, from, n);
    }
    if (most == NO_LIMIT && least > 0) { /* the last one again */
        return status < 0 ? status
                          : put_step(c, p->n_steps, (ere_step){.op = ERE_SPLIT, .first = (int16_t)-(int)n, .second = 1});
    }
    if (most == NO_LIMIT) {
        status = put_step(c, from, split(1, n + 2));
        return status < 0 ? status : put_step(c, p->n_steps, (ere_step){.op = ERE_JUMP, .first = (int16_t)-(int)(n + 1)});
    }
    if (least == 0) { /* the part that stands there is the first that may be left out */
        status = put_step(c, from, split(1, n + 1));
    }
    const uint32_t source = least == 0 ? from + 1 : from;
    for (uint32_t i = least == 0 ? 1 : least; status >= 0 && i < most; i++) {
        status = put_step(c, p->n_steps, split(1, n + 1));
        status = status < 0 ? status : repeat_part(c, source, n);
    }
    return status;
}

/* ---------------------------------------------------------------- classes */

static qn_status add_range(const compiler *c, uint32_t least, uint32_t most) {
    ere_program *p = c->program;
    if (p->n_ranges == ERE_MAX_RANGES) {
        return refuse(c, c->at, QN_LIMIT, "more than %u ranges of characters", ERE_MAX_RANGES);
    }
    p->ranges[p->n_ranges++] = (ere_range){least, most};
    p->classes[p->n_classes - 1].n_ranges++;
    return QN_OK;
}

static qn_status begin_class(const compiler *c, bool is_negated) {
    ere_program *p = c->program;
    if (p->n_classes == ERE_MAX_CLASSES) {
        return refuse(c, c->at, QN_LIMIT, "more than %u classes of characters", ERE_MAX_CLASSES);
    }
    p->classes[p->n_classes++] = (ere_class){(uint16_t)p->n_ranges, 0, is_negated};
    return put_step(c, p->n_steps, (ere_step){.op = ERE_CLASS, .value = p->n_classes - 1});
}

/* Ranges as text: pairs of characters. */
static qn_status add_pairs(const compiler *c, const char *pairs) {
    qn_status status = QN_OK;
    for (; status >= 0 && pairs[0] != '\0'; pairs += 2) {
        status = add_range(c, (uint8_t)pairs[0], (uint8_t)pairs[1]);
    }
    return status;
}

/* The pairs of \d, \w or \s, or null. */
static const char *short_class(char letter) {
    switch (letter) {
    case 'd': return "09";
    case 'w': return "azAZ09__";
    case 's': return "  \t\t\n\n\r\r";
    default: return NULL;
    }
}

static const char *named_class(const char *name, size_t size) {
    static const char *const names[][2] = {{"alpha", "azAZ"}, {"digit", "09"}, {"alnum", "azAZ09"}, {"upper", "AZ"},
                                           {"lower", "az"}, {"space", "  \t\r"}, {"blank", "  \t\t"}, {"punct", "!/:@[`{~"},
                                           {"xdigit", "09afAF"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strlen(names[i][0]) == size && memcmp(names[i][0], name, size) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

/* ---------------------------------------------------------------- characters */

static uint32_t take_character(compiler *c) {
    uint32_t code = 0;
    c->at += utf8_decode((const uint8_t *)c->at, (uint64_t)(c->end - c->at), &code); /* the pattern is UTF-8 */
    return code;
}

/* Behind a backslash: a character that stands for itself, or \n \r \t. */
static qn_status take_escaped(compiler *c, uint32_t *out_code) {
    const char *place = c->at - 1;
    const char letter = c->at < c->end ? *c->at : '\0';
    if (letter != '\0' && strchr("nrt", letter) != NULL) {
        *out_code = letter == 'n' ? '\n' : letter == 'r' ? '\r' : '\t';
    } else if (letter != '\0' && strchr("\\|.?*+(){}[]^$-/", letter) != NULL) {
        *out_code = (uint8_t)letter;
    } else if (letter >= '1' && letter <= '9') {
        return refuse(c, place, QN_BAD_INPUT, "\\%c refers back to a group, which is not offered", letter);
    } else {
        return refuse(c, place, QN_BAD_INPUT, "this escape is not offered; there are \\d \\D \\w \\W \\s \\S \\n \\r \\t and \\ before a sign");
    }
    c->at++;
    return QN_OK;
}

/* ---------------------------------------------------------------- [ ... ] */

static qn_status read_named(compiler *c) {
    const char *place = c->at, *name = c->at + 2, *end = name;
    while (c->end - end >= 2 && !(end[0] == ':' && end[1] == ']')) {
        end++;
    }
    const char *pairs = c->end - end >= 2 ? named_class(name, (size_t)(end - name)) : NULL;
    if (pairs == NULL) {
        return refuse(c, place, QN_BAD_INPUT, "[: begins the name of a class, as in [[:alpha:]]; this is none");
    }
    c->at = end + 2;
    return add_pairs(c, pairs);
}

static qn_status take_member(compiler *c, uint32_t *out_code) {
    if (*c->at == '\\') {
        c->at++;
        return take_escaped(c, out_code);
    }
    *out_code = take_character(c);
    return QN_OK;
}

static qn_status read_member(compiler *c) {
    const char *place = c->at;
    const size_t left = (size_t)(c->end - place);
    uint32_t least, most;
    if (left >= 2 && place[0] == '[' && (place[1] == ':' || place[1] == '.' || place[1] == '=')) {
        return place[1] == ':' ? read_named(c) : refuse(c, place, QN_BAD_INPUT, "collating elements are not offered");
    }
    if (left >= 2 && place[0] == '\\' && short_class(place[1]) != NULL) {
        c->at += 2;
        return add_pairs(c, short_class(place[1]));
    }
    qn_status status = take_member(c, &least);
    most = least;
    if (status >= 0 && c->end - c->at >= 2 && c->at[0] == '-' && c->at[1] != ']') {
        c->at++;
        status = take_member(c, &most);
    }
    if (status >= 0 && most < least) {
        return refuse(c, place, QN_BAD_INPUT, "a range that ends before it begins");
    }
    return status < 0 ? status : add_range(c, least, most);
}

static qn_status read_bracket(compiler *c) {
    const char *place = c->at++;
    const bool is_negated = c->at < c->end && *c->at == '^';
    c->at += is_negated ? 1 : 0;
    qn_status status = begin_class(c, is_negated);
    for (bool is_first = true; status >= 0 && c->at < c->end && (is_first || *c->at != ']'); is_first = false) {
        status = read_member(c);
    }
    if (status >= 0 && c->at >= c->end) {
        return refuse(c, place, QN_BAD_INPUT, "this [ is not closed");
    }
    c->at++;
    return status;
}

/* ---------------------------------------------------------------- parts */

static qn_status read_choice(compiler *c);

static qn_status read_group(compiler *c) {
    const char *place = c->at++;
    if (c->depth == ERE_MAX_DEPTH) {
        return refuse(c, place, QN_LIMIT, "more than %u open parentheses", ERE_MAX_DEPTH);
    }
    if (c->at < c->end && *c->at == '?') {
        return refuse(c, place, QN_BAD_INPUT, "(? is not offered; write a plain group");
    }
    c->depth++;
    const qn_status status = read_choice(c);
    c->depth--;
    if (status >= 0 && (c->at == c->end || *c->at != ')')) {
        return refuse(c, place, QN_BAD_INPUT, "this ( is not closed");
    }
    c->at++;
    return status;
}

static qn_status read_backslash(compiler *c) {
    uint32_t code;
    c->at++;
    const char letter = c->at < c->end ? *c->at : '\0';
    const char *pairs = short_class((char)(letter | 0x20));
    if (pairs != NULL) {
        c->at++;
        const qn_status status = begin_class(c, letter < 'a');
        return status < 0 ? status : add_pairs(c, pairs);
    }
    const qn_status status = take_escaped(c, &code);
    return status < 0 ? status : put_step(c, c->program->n_steps, (ere_step){.op = ERE_CHARACTER, .value = code});
}

static qn_status read_atom(compiler *c) {
    const uint32_t at = c->program->n_steps;
    const char *place = c->at;
    switch (*place) {
    case '(': return read_group(c);
    case '[': return read_bracket(c);
    case '\\': return read_backslash(c);
    case '.': c->at++; return put_step(c, at, (ere_step){.op = ERE_ANY});
    case '^': c->at++; return put_step(c, at, (ere_step){.op = ERE_BEGIN});
    case '$': c->at++; return put_step(c, at, (ere_step){.op = ERE_END});
    case '*':
    case '+':
    case '?':
    case '{': return refuse(c, place, QN_BAD_INPUT, "%c repeats nothing; write \\%c for the sign itself", *place, *place);
    default: return put_step(c, at, (ere_step){.op = ERE_CHARACTER, .value = take_character(c)});
    }
}

static bool take_count(compiler *c, uint32_t *out_count) {
    const char *first = c->at;
    *out_count = 0;
    while (c->at < c->end && *c->at >= '0' && *c->at <= '9' && *out_count <= ERE_MAX_COUNT) {
        *out_count = *out_count * 10 + (uint32_t)(*c->at++ - '0');
    }
    return c->at > first;
}

/* {m} {m,} {m,n} */
static qn_status read_braces(compiler *c, uint32_t *out_least, uint32_t *out_most) {
    const char *place = c->at++;
    bool is_read = take_count(c, out_least);
    *out_most = *out_least;
    if (is_read && c->at < c->end && *c->at == ',') {
        c->at++;
        *out_most = NO_LIMIT;
        is_read = (c->at < c->end && *c->at == '}') || take_count(c, out_most);
    }
    if (!is_read || c->at == c->end || *c->at != '}' || *out_least > ERE_MAX_COUNT ||
        (*out_most != NO_LIMIT && (*out_most > ERE_MAX_COUNT || *out_most < *out_least))) {
        return refuse(c, place, QN_BAD_INPUT, "{ begins a count, {2} {2,} or {2,5}, of at most %u", ERE_MAX_COUNT);
    }
    c->at++;
    return QN_OK;
}

static bool is_quantifier(const compiler *c) {
    return c->at < c->end && strchr("*+?{", *c->at) != NULL;
}

static qn_status read_part(compiler *c) {
    const uint32_t from = c->program->n_steps;
    qn_status status = read_atom(c);
    if (status < 0 || !is_quantifier(c)) {
        return status;
    }
    uint32_t least = *c->at == '+' ? 1 : 0, most = *c->at == '?' ? 1 : NO_LIMIT;
    if (*c->at == '{') {
        status = read_braces(c, &least, &most);
    } else {
        c->at++;
    }
    status = status < 0 ? status : apply_count(c, from, least, most);
    return status >= 0 && is_quantifier(c) ? refuse(c, c->at, QN_BAD_INPUT, "two signs of repetition in a row are not offered") : status;
}

/* Parts, and further ones behind |. */
static qn_status read_choice(compiler *c) {
    ere_program *p = c->program;
    const uint32_t from = p->n_steps;
    qn_status status = QN_OK;
    while (status >= 0 && c->at < c->end && *c->at != '|' && *c->at != ')') {
        status = read_part(c);
    }
    if (status < 0 || c->at == c->end || *c->at != '|') {
        return status;
    }
    c->at++;
    status = put_step(c, from, split(1, p->n_steps - from + 2));
    const uint32_t jump = p->n_steps;
    status = status < 0 ? status : put_step(c, jump, (ere_step){.op = ERE_JUMP});
    status = status < 0 ? status : read_choice(c);
    if (status >= 0) {
        p->steps[jump].first = (int16_t)(p->n_steps - jump);
    }
    return status;
}

static qn_status compile(compiler *c) {
    if (c->end - c->begin > (int64_t)ERE_MAX_PATTERN) {
        return FAIL(c->err, QN_LIMIT, "the pattern has %llu bytes; the limit is %u", (unsigned long long)(c->end - c->begin), ERE_MAX_PATTERN);
    }
    const uint64_t bad = utf8_first_invalid(c->begin, (uint64_t)(c->end - c->begin));
    if (bad != UTF8_ALL_VALID || memchr(c->begin, '\0', (size_t)(c->end - c->begin)) != NULL) {
        return FAIL(c->err, QN_BAD_INPUT, "the pattern is no text in UTF-8");
    }
    const qn_status status = read_choice(c);
    if (status >= 0 && c->at < c->end) {
        return refuse(c, c->at, QN_BAD_INPUT, "this ) closes nothing");
    }
    return status < 0 ? status : put_step(c, c->program->n_steps, (ere_step){.op = ERE_MATCH});
}

qn_status ere_compile(fmt_str pattern, bool ignores_case, ere_program **out_program, error_context *err) {
    ere_program *program = calloc(1, sizeof *program);
    if (program == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a pattern");
    }
    program->ignores_case = ignores_case;
    const char *text = pattern.size > 0 ? pattern.data : "";
    compiler c = {text, text, text + pattern.size, program, err, 0};
    const qn_status status = compile(&c);
    if (status < 0) {
        free(program);
        return status;
    }
    *out_program = program;
    return QN_OK;
}

void ere_free(ere_program *program) {
    free(program);
}
