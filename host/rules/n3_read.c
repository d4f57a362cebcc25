/* n3_read.c — directives, statements and rules of Notation3. */
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "rules/n3_reader.h"

const char *n3_arrow_text(n3_arrow arrow) {
    static const char *const texts[] = {"=>", "~>", "^>", "-o"};
    return arrow <= N3_LINEAR ? texts[arrow] : "?";
}

const n3_triple *n3_formula_statements(const n3_document *document, const n3_formula *formula) {
    return formula->n_triples > 0 ? &document->formula_triples[formula->first] : NULL;
}

void n3_triple_texts(const n3_triple *triple, fmt_str out_terms[FACT_PLACES]) {
    for (int place = 0; place < FACT_PLACES; place++) {
        out_terms[place] = triple->terms[place].text;
    }
}

/* ---------------------------------------------------------------- lists that grow */

static qn_status grow(n3_reader *r, void **items, uint32_t n_items, uint32_t *room, size_t item_size) {
    if (n_items < *room) {
        return QN_OK;
    }
    const uint32_t wanted = *room == 0 ? 64 : *room * 2; /* at most twice N3_MAX_STATEMENTS */
    void *grown = realloc(*items, wanted * item_size);
    if (grown == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for its statements", r->name);
    }
    *items = grown;
    *room = wanted;
    return QN_OK;
}

static qn_status count_statement(n3_reader *r, const char *place) {
    return r->n_statements++ < N3_MAX_STATEMENTS ? QN_OK
                                                 : n3_refuse(r, place, QN_LIMIT, "more than %u statements", N3_MAX_STATEMENTS);
}

static qn_status add_assertion(n3_reader *r, const n3_triple *triple, const char *place) {
    n3_document *d = r->document;
    if (d->n_assertions == r->max_assertions) {
        return n3_refuse(r, place, QN_LIMIT, "more than %u statements outside of rules", r->max_assertions);
    }
    void *items = d->assertions;
    const qn_status status = grow(r, &items, d->n_assertions, &d->assertions_room, sizeof *triple);
    d->assertions = items;
    if (status >= 0) {
        d->assertions[d->n_assertions++] = *triple;
    }
    return status;
}

static qn_status add_formula_triple(n3_reader *r, const n3_triple *triple) {
    n3_document *d = r->document;
    void *items = d->formula_triples;
    const qn_status status = grow(r, &items, d->n_formula_triples, &d->formula_room, sizeof *triple);
    d->formula_triples = items;
    if (status >= 0) {
        d->formula_triples[d->n_formula_triples++] = *triple;
    }
    return status;
}

/* ---------------------------------------------------------------- statements */

/* Where the statements of a list go: a formula of a rule, a formula that is a term (which keeps none), or the document. */
typedef struct triple_target {
    n3_formula *formula; /* null: the document */
    bool is_kept;        /* in a formula: it is a side of a rule */
} triple_target;

static qn_status read_formula(n3_reader *r, bool is_kept, n3_formula *out);

/* A formula as a term: read for its syntax, kept as its text. */
static qn_status read_formula_term(n3_reader *r, n3_term *out_term) {
    const char *place = r->at;
    n3_formula inner;
    text_buffer text = {0};
    term_ref ref = 0;
    if (r->depth == 0) {
        return n3_refuse(r, place, QN_BAD_INPUT, "a formula is no part of a statement; { ... } stands in rules");
    }
    qn_status status = read_formula(r, false, &inner);
    bool is_blank = false, is_there = status >= 0;
    for (const char *at = place; is_there && at < r->at; at++) {
        const bool was_blank = is_blank;
        is_blank = memchr(" \t\r\n\f\v", *at, 6) != NULL;
        is_there = (is_blank && was_blank) || text_buffer_append(&text, is_blank ? " " : at, 1);
    }
    if (status >= 0) {
        status = is_there ? term_pool_add(&r->document->pool, (fmt_str){text.text, text.size}, &ref, NULL) : QN_NO_HOST_MEM;
        status = status < 0 ? n3_refuse(r, place, status, "no room for this formula") : status;
        *out_term = (n3_term){N3_FORMULA, term_pool_text(&r->document->pool, ref)};
    }
    text_buffer_free(&text);
    return status;
}

static qn_status read_any(n3_reader *r, int place_no, n3_term *out_term) {
    n3_skip_blanks(r);
    const char *place = r->at;
    if (place < r->end && *place == '{' && place_no != FACT_PREDICATE) {
        return read_formula_term(r, out_term);
    }
    const qn_status status = n3_read_term(r, place_no == FACT_PREDICATE, out_term);
    if (status < 0) {
        return status;
    }
    const n3_kind kind = out_term->kind;
    if (place_no == FACT_PREDICATE && kind != N3_IRI && kind != N3_VARIABLE) {
        return n3_refuse(r, place, QN_BAD_INPUT, "a predicate is an IRI%s", r->depth > 0 ? " or a variable" : "");
    }
    if (place_no == FACT_SUBJECT && kind == N3_LITERAL && r->depth == 0) {
        return n3_refuse(r, place, QN_BAD_INPUT, "a literal is no subject");
    }
    return QN_OK;
}

static qn_status take_triple(n3_reader *r, const triple_target *target, const n3_triple *triple, const char *place) {
    qn_status status = count_statement(r, place);
    if (status < 0 || target->formula == NULL) {
        return status < 0 ? status : add_assertion(r, triple, place);
    }
    if (target->formula->n_triples == N3_MAX_FORMULA) {
        return n3_refuse(r, place, QN_LIMIT, "more than %u statements in one formula", N3_MAX_FORMULA);
    }
    target->formula->n_triples++;
    return target->is_kept ? add_formula_triple(r, triple) : QN_OK;
}

static bool take_byte(n3_reader *r, char c) {
    n3_skip_blanks(r);
    const bool is_here = r->at < r->end && *r->at == c;
    r->at += is_here ? 1 : 0;
    return is_here;
}

static qn_status read_objects(n3_reader *r, const triple_target *target, n3_triple *triple) {
    qn_status status;
    do {
        n3_skip_blanks(r);
        const char *place = r->at;
        n3_place(r, place, &triple->line, &triple->column);
        status = read_any(r, FACT_OBJECT, &triple->terms[FACT_OBJECT]);
        status = status < 0 ? status : take_triple(r, target, triple, place);
    } while (status >= 0 && take_byte(r, ','));
    return status;
}

/* Is the end of a list of predicates here? */
static bool is_list_end(const n3_reader *r) {
    return r->at == r->end || *r->at == '.' || *r->at == '}';
}

/* Subject and predicates with their objects, up to what follows them. */
static qn_status read_triples(n3_reader *r, const triple_target *target) {
    n3_triple triple = {0};
    qn_status status = read_any(r, FACT_SUBJECT, &triple.terms[FACT_SUBJECT]);
    while (status >= 0) {
        status = read_any(r, FACT_PREDICATE, &triple.terms[FACT_PREDICATE]);
        status = status < 0 ? status : read_objects(r, target, &triple);
        bool is_more = false;
        while (status >= 0 && take_byte(r, ';')) {
            is_more = true;
        }
        n3_skip_blanks(r);
        if (status < 0 || !is_more || is_list_end(r)) {
            return status;
        }
    }
    return status;
}

static qn_status read_formula(n3_reader *r, bool is_kept, n3_formula *out) {
    const char *place = r->at++;
    const triple_target target = {out, is_kept};
    qn_status status = QN_OK;
    *out = (n3_formula){.first = r->document->n_formula_triples};
    if (r->depth == N3_MAX_DEPTH) {
        return n3_refuse(r, place, QN_LIMIT, "more than %u open braces", N3_MAX_DEPTH);
    }
    r->depth++;
    n3_skip_blanks(r);
    while (status >= 0 && r->at < r->end && *r->at != '}') {
        status = read_triples(r, &target);
        if (status >= 0 && !take_byte(r, '.') && (r->at == r->end || *r->at != '}')) {
            status = r->at == r->end ? n3_refuse(r, place, QN_BAD_INPUT, "this { is not closed")
                                     : n3_refuse(r, r->at, QN_BAD_INPUT, "a statement of a formula ends with . or }");
        }
        n3_skip_blanks(r);
    }
    r->depth--;
    if (status >= 0 && r->at == r->end) {
        return n3_refuse(r, place, QN_BAD_INPUT, "this { is not closed");
    }
    r->at++;
    return status;
}

/* ---------------------------------------------------------------- rules */

static bool take_text(n3_reader *r, const char *text) {
    const size_t size = strlen(text);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, text, size) != 0) {
        return false;
    }
    r->at += size;
    return true;
}

static qn_status read_arrow(n3_reader *r, n3_arrow *out_arrow) {
    n3_skip_blanks(r);
    for (n3_arrow arrow = N3_STRICT; arrow <= N3_LINEAR; arrow++) {
        if (take_text(r, n3_arrow_text(arrow))) {
            *out_arrow = arrow;
            return QN_OK;
        }
    }
    return n3_refuse(r, r->at, QN_BAD_INPUT, "behind the premises of a rule stands =>, ~>, ^> or -o");
}

static qn_status read_conclusion(n3_reader *r, n3_formula *out) {
    n3_skip_blanks(r);
    const char *place = r->at;
    if (place < r->end && *place == '{') {
        const qn_status status = read_formula(r, true, out);
        return status >= 0 && out->n_triples == 0 ? n3_refuse(r, place, QN_BAD_INPUT, "this rule concludes nothing") : status;
    }
    if (take_text(r, "false") && (r->at == r->end || (!n3_is_name_byte(*r->at) && *r->at != ':' && *r->at != '-'))) {
        *out = (n3_formula){.is_false = true};
        return QN_OK;
    }
    return n3_refuse(r, place, QN_BAD_INPUT, "behind the arrow of a rule stands { conclusions } or false");
}

/* [id] */
static qn_status read_id(n3_reader *r, fmt_str *out_id) {
    const char *place = r->at, *first = place + 1, *end = first;
    while (end < r->end && (n3_is_name_byte(*end) || (*end != '\0' && strchr("-.:/#", *end) != NULL))) {
        end++;
    }
    const uint64_t size = (uint64_t)(end - first);
    term_ref ref;
    if (end == r->end || *end != ']' || size == 0 || size > N3_MAX_ID) {
        return n3_refuse(r, place, QN_BAD_INPUT,
                         "[ ... ] at the beginning names a rule: 1 to %u bytes of letters, digits and _-.:/#; nodes are written _:x",
                         N3_MAX_ID);
    }
    const qn_status status = term_pool_add(&r->document->pool, (fmt_str){first, size}, &ref, r->err);
    *out_id = term_pool_text(&r->document->pool, ref);
    r->at = end + 1;
    return status;
}

/* (weight) */
static qn_status read_weight(n3_reader *r, fmt_str *out_weight) {
    const char *place = r->at, *first = place + 1, *end = first;
    uint32_t n_dots = 0, n_digits = 0;
    while (end < r->end && ((*end >= '0' && *end <= '9') || *end == '.')) {
        n_dots += *end == '.' ? 1 : 0;
        n_digits += *end == '.' ? 0 : 1;
        end++;
    }
    term_ref ref;
    if (end == r->end || *end != ')' || n_digits == 0 || n_digits > 32 || n_dots > 1) {
        return n3_refuse(r, place, QN_BAD_INPUT, "( ... ) before a rule is its weight, a number as 0.8");
    }
    const qn_status status = term_pool_add(&r->document->pool, (fmt_str){first, (uint64_t)(end - first)}, &ref, r->err);
    *out_weight = term_pool_text(&r->document->pool, ref);
    r->at = end + 1;
    return status;
}

static qn_status refuse_same_id(n3_reader *r, const n3_rule *rule, const char *place) {
    for (uint32_t i = 0; rule->id.size > 0 && i < r->document->n_rules; i++) {
        if (r->document->rules[i].id.data == rule->id.data) { /* texts are kept once */
            return n3_refuse(r, place, QN_BAD_INPUT, "the rule [%.*s] is in line %u already", (int)rule->id.size, rule->id.data,
                             r->document->rules[i].line);
        }
    }
    return QN_OK;
}

static qn_status add_rule(n3_reader *r, const n3_rule *rule, const char *place) {
    n3_document *d = r->document;
    if (d->n_rules == N3_MAX_RULES) {
        return n3_refuse(r, place, QN_LIMIT, "more than %u rules", N3_MAX_RULES);
    }
    qn_status status = count_statement(r, place);
    status = status < 0 ? status : refuse_same_id(r, rule, place);
    void *items = d->rules;
    status = status < 0 ? status : grow(r, &items, d->n_rules, &d->rules_room, sizeof *rule);
    d->rules = items;
    if (status >= 0) {
        d->rules[d->n_rules++] = *rule;
    }
    return status;
}

static qn_status read_rule(n3_reader *r) {
    const char *place = r->at;
    n3_rule rule = {0};
    qn_status status = *r->at == '[' ? read_id(r, &rule.id) : QN_OK;
    n3_place(r, place, &rule.line, &rule.column);
    n3_skip_blanks(r);
    status = status >= 0 && r->at < r->end && *r->at == '(' ? read_weight(r, &rule.weight) : status;
    n3_skip_blanks(r);
    if (status >= 0 && (r->at == r->end || *r->at != '{')) {
        return n3_refuse(r, r->at, QN_BAD_INPUT, "a rule begins with its premises, { ... }");
    }
    status = status < 0 ? status : read_formula(r, true, &rule.premise);
    status = status < 0 ? status : read_arrow(r, &rule.arrow);
    status = status < 0 ? status : read_conclusion(r, &rule.conclusion);
    return status < 0 ? status : add_rule(r, &rule, place);
}

/* ---------------------------------------------------------------- directives */

static qn_status set_prefix(n3_reader *r, fmt_str name, const char *place) {
    term_ref ref;
    const qn_status status = term_pool_add(&r->document->pool, (fmt_str){r->iri.text, r->iri.size}, &ref, r->err);
    if (status < 0) {
        return status;
    }
    for (uint32_t i = 0; i < r->n_prefixes; i++) {
        if (texts_equal(r->prefixes[i].name, name)) {
            r->prefixes[i].iri = term_pool_text(&r->document->pool, ref);
            return QN_OK;
        }
    }
    if (r->n_prefixes == N3_MAX_PREFIXES) {
        return n3_refuse(r, place, QN_LIMIT, "more than %u prefixes", N3_MAX_PREFIXES);
    }
    r->prefixes[r->n_prefixes++] = (n3_prefix){name, term_pool_text(&r->document->pool, ref)};
    return QN_OK;
}

/* Checks what was read as an IRI, so that a directive is refused where it stands. */
static qn_status read_directive_iri(n3_reader *r) {
    ntriples_term term;
    fmt_diag diag;
    n3_skip_blanks(r);
    const char *place = r->at;
    if (place == r->end || *place != '<') {
        return n3_refuse(r, place, QN_BAD_INPUT, "an IRI in < > is needed here");
    }
    const qn_status status = n3_read_iri(r);
    if (status >= 0 && ntriples_make_iri((fmt_str){r->iri.text, r->iri.size}, r->room, &term, &diag) != FMT_OK) {
        const char *inner = strstr(diag.text, ": ");
        return n3_refuse(r, place, QN_BAD_INPUT, "%s", inner == NULL ? diag.text : inner + 2);
    }
    return status;
}

static qn_status read_prefix(n3_reader *r) {
    fmt_str name;
    n3_skip_blanks(r);
    const char *place = r->at;
    qn_status status = n3_read_prefix_name(r, &name);
    status = status < 0 ? status : read_directive_iri(r);
    return status < 0 ? status : set_prefix(r, name, place);
}

static qn_status read_base(n3_reader *r) {
    const qn_status status = read_directive_iri(r);
    r->base.size = status < 0 ? r->base.size : 0;
    if (status >= 0 && !text_buffer_append(&r->base, r->iri.text, r->iri.size)) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for an IRI", r->name);
    }
    return status;
}

/* The word, followed by a blank. */
static bool take_lower_word(n3_reader *r, const char *word) {
    const size_t size = strlen(word);
    return (size_t)(r->end - r->at) > size && (unsigned char)r->at[size] <= ' ' && take_text(r, word);
}

/* The same in any case. */
static bool take_sparql_word(n3_reader *r, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(r->end - r->at) <= size || (unsigned char)r->at[size] > ' ') {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if ((r->at[i] | 0x20) != word[i]) {
            return false;
        }
    }
    r->at += size;
    return true;
}

static qn_status read_at_directive(n3_reader *r) {
    const char *place = r->at++;
    if (take_lower_word(r, "prefix")) {
        return read_prefix(r);
    }
    if (take_lower_word(r, "base")) {
        return read_base(r);
    }
    return n3_refuse(r, place, QN_BAD_INPUT, "there are no directives but @prefix and @base");
}

static qn_status end_statement(n3_reader *r) {
    if (take_byte(r, '.')) {
        return QN_OK;
    }
    if (r->at < r->end && r->end - r->at >= 2 && (*r->at == '=' || *r->at == '~' || *r->at == '^') && r->at[1] == '>') {
        return n3_refuse(r, r->at, QN_BAD_INPUT, "an arrow stands between formulas: { premises } => { conclusions } .");
    }
    return n3_refuse(r, r->at, QN_BAD_INPUT, r->at == r->end ? "the text ends, and the last statement has no full stop"
                                                             : "a statement ends with a full stop; this is left over");
}

static qn_status read_one(n3_reader *r) {
    const triple_target document = {NULL, true};
    qn_status status;
    switch (*r->at) {
    case '@': status = read_at_directive(r); break;
    case '{':
    case '[':
    case '(': status = read_rule(r); break;
    default:
        if (take_sparql_word(r, "prefix")) {
            return read_prefix(r);
        }
        if (take_sparql_word(r, "base")) {
            return read_base(r);
        }
        status = read_triples(r, &document);
    }
    return status < 0 ? status : end_statement(r);
}

/* ---------------------------------------------------------------- the whole text */

static qn_status check_text(n3_reader *r) {
    const uint64_t bad = utf8_first_invalid(r->begin, (uint64_t)(r->end - r->begin));
    if (bad != UTF8_ALL_VALID) {
        return n3_refuse(r, r->begin + bad, QN_BAD_INPUT, "the byte 0x%02X is no UTF-8", (unsigned)(uint8_t)r->begin[bad]);
    }
    const char *nul = r->end > r->begin ? memchr(r->begin, '\0', (size_t)(r->end - r->begin)) : NULL;
    return nul == NULL ? QN_OK : n3_refuse(r, nul, QN_BAD_INPUT, "a zero byte; this is no text");
}

static qn_status read_all(n3_reader *r, const char *base) {
    qn_status status = check_text(r);
    if (status >= 0 && base != NULL && !text_buffer_append(&r->base, base, strlen(base))) {
        status = FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory", r->name);
    }
    if (r->end - r->begin >= 3 && memcmp(r->begin, "\xEF\xBB\xBF", 3) == 0) {
        r->at += 3; /* a byte order mark */
    }
    for (n3_skip_blanks(r); status >= 0 && r->at < r->end; n3_skip_blanks(r)) {
        status = read_one(r);
    }
    return status;
}

qn_status n3_read(fmt_str text, const n3_options *options, n3_document *out_document, error_context *err) {
    n3_reader *r = calloc(1, sizeof *r);
    memset(out_document, 0, sizeof *out_document);
    if (r == NULL) {
        return FAIL(err, QN_NO_HOST_MEM, "%s: no memory to read it", options->name);
    }
    r->begin = r->at = r->seen = text.size > 0 ? text.data : "";
    r->end = r->begin + text.size;
    r->line = r->column = 1;
    r->name = options->name;
    r->blank_prefix = options->blank_prefix != NULL ? options->blank_prefix : "";
    r->err = err;
    r->document = out_document;
    r->max_assertions = options->max_assertions == 0                     ? N3_MAX_CANDIDATES
                        : options->max_assertions < N3_MAX_STATEMENTS ? options->max_assertions
                                                                         : N3_MAX_STATEMENTS;
    const qn_status status = read_all(r, options->base);
    text_buffer_free(&r->base);
    text_buffer_free(&r->value);
    text_buffer_free(&r->iri);
    free(r);
    if (status < 0) {
        n3_free(out_document);
    }
    return status;
}

void n3_free(n3_document *document) {
    free(document->assertions);
    free(document->rules);
    free(document->formula_triples);
    term_pool_free(&document->pool);
    memset(document, 0, sizeof *document);
}
