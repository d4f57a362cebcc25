/* shape_params.c — what each word of the SHACL vocabulary says about a shape, and the words that are refused. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules/shapes_internal.h"

#define DASH_IRI "http://datashapes.org/dash#"

typedef qn_status take_fn(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit);

qn_status shape_refuse(const shape_reader *r, uint32_t line, const char *format, ...) {
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return FAIL(r->err, QN_BAD_INPUT, "%s: line %u: %s", r->path, line, words);
}

/* How much of a text a message shows. */
static int shown(fmt_str text) {
    return (int)(text.size < 100 ? text.size : 100);
}

fmt_str shape_vocabulary_name(fmt_str iri) {
    const size_t n = sizeof "<" SH_IRI - 1;
    return iri.size > n + 1 && memcmp(iri.data, "<" SH_IRI, n) == 0 ? (fmt_str){iri.data + n, iri.size - n - 1} : (fmt_str){"", 0};
}

static bool is_name(fmt_str name, const char *word) {
    return name.size == strlen(word) && memcmp(name.data, word, (size_t)name.size) == 0;
}

qn_status shape_add_term(const shape_reader *r, term_list *list, fmt_str term) {
    if (list->n_terms == list->room) {
        const uint32_t room = list->room == 0 ? 4 : list->room * 2; /* at most twice the statements of the file */
        fmt_str *grown = realloc(list->terms, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for its shapes", r->path);
        }
        list->terms = grown;
        list->room = room;
    }
    list->terms[list->n_terms++] = term;
    return QN_OK;
}

bool shape_list_has(const term_list *list, fmt_str term) {
    for (uint32_t i = 0; i < list->n_terms; i++) {
        if (texts_equal(list->terms[i], term)) {
            return true;
        }
    }
    return false;
}

void shape_free(shape *one) {
    term_list *const lists[] = {&one->classes, &one->values, &one->in, &one->ignored};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        free(lists[i]->terms);
    }
    for (int i = 0; i < N_TARGETS; i++) {
        free(one->targets[i].terms);
    }
    ere_free(one->pattern);
    memset(one, 0, sizeof *one);
}

/* ---------------------------------------------------------------- objects of different kinds */

static qn_status need_iri(shape_reader *r, const table_fact *statement, fmt_str object, const char *what) {
    return object.size > 0 && *object.data == '<' ? QN_OK : shape_refuse(r, statement->line, "%s is an IRI; %.*s is none", what,
                                                                         shown(object), object.data);
}

/* A literal without a datatype or with a numeric one, as the case may be; its text with escapes resolved. */
static qn_status need_count(shape_reader *r, const table_fact *statement, fmt_str object, uint64_t *out_count) {
    ntriples_term term;
    const bool is_literal = ntriples_is_canonical(object, &term) && term.kind == NTRIPLES_LITERAL;
    const fmt_str digits = is_literal ? ntriples_escaped_value(&term) : (fmt_str){"", 0};
    bool is_count = is_literal && is_name(ntriples_datatype(&term), XSD_IRI "integer") && digits.size > 0 && digits.size < 10;
    *out_count = 0;
    for (uint64_t i = 0; is_count && i < digits.size; i++) {
        is_count = digits.data[i] >= '0' && digits.data[i] <= '9';
        *out_count = *out_count * 10 + (uint64_t)(digits.data[i] - '0');
    }
    return is_count ? QN_OK : shape_refuse(r, statement->line, "%.*s is no count; write an integer from 0 to 999999999", shown(object),
                                           object.data);
}

static qn_status need_boolean(shape_reader *r, const table_fact *statement, fmt_str object, bool *out) {
    *out = is_name(object, "\"true\"^^<" XSD_IRI "boolean>");
    return *out || is_name(object, "\"false\"^^<" XSD_IRI "boolean>")
               ? QN_OK
               : shape_refuse(r, statement->line, "%.*s is neither true nor false", shown(object), object.data);
}

/* The members of an RDF list. */
static qn_status read_list(shape_reader *r, const table_fact *statement, fmt_str head, term_list *out) {
    static const char nil[] = "<" RDF_IRI "nil>";
    const fact_table *table = &r->all->table;
    const term_ref first = term_pool_find(&table->pool, text_of("<" RDF_IRI "first>"));
    const term_ref rest = term_pool_find(&table->pool, text_of("<" RDF_IRI "rest>"));
    fmt_str node = head;
    for (uint32_t n = 0; !is_name(node, nil); n++) {
        uint64_t looked = 0;
        const term_ref ref = term_pool_find(&table->pool, node);
        const term_ref wanted[2][FACT_PLACES] = {{ref, first, 0}, {ref, rest, 0}};
        const uint32_t member = first != 0 ? fact_table_next(table, wanted[0], FACT_NONE, &looked) : FACT_NONE;
        const uint32_t next = rest != 0 ? fact_table_next(table, wanted[1], FACT_NONE, &looked) : FACT_NONE;
        if (ref == 0 || member == FACT_NONE || next == FACT_NONE || n == table->n_facts ||
            fact_table_next(table, wanted[0], member, &looked) != FACT_NONE || fact_table_next(table, wanted[1], next, &looked) != FACT_NONE) {
            return shape_refuse(r, statement->line, "%.*s is no list; write ( ... )", shown(head), head.data);
        }
        QN_TRY(shape_add_term(r, out, term_pool_text(&table->pool, table->facts[member].terms[FACT_OBJECT])), r->err, "reading a list");
        node = term_pool_text(&table->pool, table->facts[next].terms[FACT_OBJECT]);
    }
    return QN_OK;
}

/* ---------------------------------------------------------------- parameters */

static qn_status take_count(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    uint64_t count;
    const qn_status status = need_count(r, statement, object, &count);
    if (status < 0) {
        return status;
    }
    switch (bit) {
    case GIVEN_MIN_COUNT: one->min_count = (uint32_t)count; break;
    case GIVEN_MAX_COUNT: one->max_count = (uint32_t)count; break;
    case GIVEN_MIN_LENGTH: one->min_length = count; break;
    default: one->max_length = count; break;
    }
    return QN_OK;
}

static qn_status take_bound(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    uint32_t i = 0;
    while (bit != (uint32_t)GIVEN_MIN_INCLUSIVE << i) {
        i++;
    }
    one->bounds[i].text = object;
    if (!datatype_number(object, &one->bounds[i].number) || one->bounds[i].number.kind == DECIMAL_NAN) {
        return shape_refuse(r, statement->line, "%.*s is no number; only numbers are bounds here", shown(object), object.data);
    }
    return QN_OK;
}

static qn_status take_datatype(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    (void)bit;
    one->datatype = (fmt_str){object.data + 1, object.size - 2};
    return need_iri(r, statement, object, "a datatype");
}

static qn_status take_node_kind(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    static const struct {
        const char *name;
        uint32_t kinds;
    } rows[] = {{"IRI", 1u << NTRIPLES_IRI}, {"BlankNode", 1u << NTRIPLES_BLANK}, {"Literal", 1u << NTRIPLES_LITERAL},
                {"BlankNodeOrIRI", 1u << NTRIPLES_BLANK | 1u << NTRIPLES_IRI},
                {"BlankNodeOrLiteral", 1u << NTRIPLES_BLANK | 1u << NTRIPLES_LITERAL},
                {"IRIOrLiteral", 1u << NTRIPLES_IRI | 1u << NTRIPLES_LITERAL}};
    (void)bit;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (is_name(shape_vocabulary_name(object), rows[i].name)) {
            one->node_kind = rows[i].kinds;
            return QN_OK;
        }
    }
    return shape_refuse(r, statement->line, "%.*s is no kind of node", shown(object), object.data);
}

static qn_status take_class(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    (void)bit;
    const qn_status status = need_iri(r, statement, object, "a class");
    return status < 0 ? status : shape_add_term(r, &one->classes, object);
}

static qn_status take_value(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    (void)statement;
    (void)bit;
    return shape_add_term(r, &one->values, object);
}

static qn_status take_in(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    return read_list(r, statement, object, bit == GIVEN_IN ? &one->in : &one->ignored);
}

static qn_status take_boolean(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    return need_boolean(r, statement, object, bit == GIVEN_CLOSED ? &one->is_closed : &one->is_deactivated);
}

static qn_status take_pattern(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    ntriples_term term;
    (void)bit;
    one->pattern_text = object;
    return ntriples_is_canonical(object, &term) && term.kind == NTRIPLES_LITERAL
               ? QN_OK
               : shape_refuse(r, statement->line, "a pattern is a literal; %.*s is none", shown(object), object.data);
}

static qn_status take_flags(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    (void)bit;
    one->ignores_case = is_name(object, "\"i\"");
    return one->ignores_case || is_name(object, "\"\"")
               ? QN_OK
               : shape_refuse(r, statement->line, "the flags %.*s are not offered; \"i\" is, which ignores case", shown(object), object.data);
}

static qn_status take_path(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    (void)bit;
    one->path = object;
    return *object.data == '<' && !is_name(object, "<" RDF_IRI "nil>")
               ? QN_OK
               : shape_refuse(r, statement->line, "sh:path is an expression of several steps, which is not offered; one predicate is");
}

static qn_status take_severity(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    static const char *const names[] = {"Violation", "Warning", "Info"};
    (void)bit;
    for (shape_severity i = SHAPE_VIOLATION; i < SHAPE_SEVERITIES; i++) {
        if (is_name(shape_vocabulary_name(object), names[i])) {
            one->severity = i;
            return QN_OK;
        }
    }
    return shape_refuse(r, statement->line, "%.*s is no severity; there are sh:Violation, sh:Warning, sh:Info", shown(object), object.data);
}

/* Of several languages the text without one is taken, otherwise the first. */
static qn_status take_message(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t bit) {
    ntriples_term term;
    term_ref ref;
    (void)bit;
    if (!ntriples_is_canonical(object, &term) || term.kind != NTRIPLES_LITERAL) {
        return shape_refuse(r, statement->line, "a message is a literal; %.*s is none", shown(object), object.data);
    }
    if (one->message.size > 0 && ntriples_language(&term).size > 0) {
        return QN_OK;
    }
    char *text = malloc(term.size);
    if (text == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for a message", r->path);
    }
    const uint32_t size = ntriples_decode(&term, text);
    const qn_status status = term_pool_add(&r->all->messages, (fmt_str){text, size}, &ref, r->err);
    one->message = term_pool_text(&r->all->messages, ref);
    free(text);
    return status;
}

static qn_status take_target(shape_reader *r, shape *one, const table_fact *statement, fmt_str object, uint32_t kind) {
    if (kind != TARGET_NODE) {
        QN_TRY(need_iri(r, statement, object, "this target"), r->err, "reading shapes");
    }
    return shape_add_term(r, &one->targets[kind], object);
}

/* ---------------------------------------------------------------- the vocabulary */

enum { WORD_PLAIN, WORD_PARAMETER, WORD_TARGET, WORD_STRUCTURE };

static const struct word {
    const char *name;
    uint32_t kind;
    take_fn *take;
    uint32_t bit;  /* of shape.given when it may stand once; for a target its kind */
    bool is_for_property, is_for_node;
} words[] = {
    {"minCount", WORD_PARAMETER, take_count, GIVEN_MIN_COUNT, true, false},
    {"maxCount", WORD_PARAMETER, take_count, GIVEN_MAX_COUNT, true, false},
    {"datatype", WORD_PARAMETER, take_datatype, GIVEN_DATATYPE, true, true},
    {"nodeKind", WORD_PARAMETER, take_node_kind, GIVEN_NODE_KIND, true, true},
    {"class", WORD_PARAMETER, take_class, 0, true, true},
    {"in", WORD_PARAMETER, take_in, GIVEN_IN, true, true},
    {"hasValue", WORD_PARAMETER, take_value, 0, true, true},
    {"minInclusive", WORD_PARAMETER, take_bound, GIVEN_MIN_INCLUSIVE, true, true},
    {"maxInclusive", WORD_PARAMETER, take_bound, GIVEN_MAX_INCLUSIVE, true, true},
    {"minExclusive", WORD_PARAMETER, take_bound, GIVEN_MIN_EXCLUSIVE, true, true},
    {"maxExclusive", WORD_PARAMETER, take_bound, GIVEN_MAX_EXCLUSIVE, true, true},
    {"minLength", WORD_PARAMETER, take_count, GIVEN_MIN_LENGTH, true, true},
    {"maxLength", WORD_PARAMETER, take_count, GIVEN_MAX_LENGTH, true, true},
    {"pattern", WORD_PARAMETER, take_pattern, GIVEN_PATTERN, true, true},
    {"flags", WORD_PARAMETER, take_flags, GIVEN_FLAGS, true, true},
    {"closed", WORD_PARAMETER, take_boolean, GIVEN_CLOSED, false, true},
    {"ignoredProperties", WORD_PARAMETER, take_in, GIVEN_IGNORED, false, true},
    {"path", WORD_PARAMETER, take_path, GIVEN_PATH, true, false},
    {"severity", WORD_PARAMETER, take_severity, GIVEN_SEVERITY, true, true},
    {"deactivated", WORD_PARAMETER, take_boolean, GIVEN_DEACTIVATED, true, true},
    {"message", WORD_PARAMETER, take_message, 0, true, true},
    {"targetNode", WORD_TARGET, take_target, TARGET_NODE, true, true},
    {"targetClass", WORD_TARGET, take_target, TARGET_CLASS, true, true},
    {"targetSubjectsOf", WORD_TARGET, take_target, TARGET_SUBJECTS_OF, true, true},
    {"targetObjectsOf", WORD_TARGET, take_target, TARGET_OBJECTS_OF, true, true},
    {"property", WORD_STRUCTURE, NULL, 0, false, true},
    {"name", WORD_PLAIN, NULL, 0, true, true},
    {"description", WORD_PLAIN, NULL, 0, true, true},
    {"order", WORD_PLAIN, NULL, 0, true, true},
    {"group", WORD_PLAIN, NULL, 0, true, true},
    {"defaultValue", WORD_PLAIN, NULL, 0, true, true},
    {"declare", WORD_PLAIN, NULL, 0, true, true},
    {"prefix", WORD_PLAIN, NULL, 0, true, true},
    {"namespace", WORD_PLAIN, NULL, 0, true, true},
};

static const struct word *find_word(fmt_str predicate) {
    const fmt_str name = shape_vocabulary_name(predicate);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (is_name(name, words[i].name)) {
            return &words[i];
        }
    }
    return NULL;
}

/* Of other vocabularies only that of DASH constrains; all else about a shape is description. */
bool shape_is_known(fmt_str predicate, bool *out_constrains) {
    const struct word *word = find_word(predicate);
    const size_t n = sizeof "<" DASH_IRI - 1;
    *out_constrains = word != NULL && word->kind != WORD_PLAIN;
    return word != NULL || (shape_vocabulary_name(predicate).size == 0 &&
                            !(predicate.size > n && memcmp(predicate.data, "<" DASH_IRI, n) == 0));
}

qn_status shape_take_statement(shape_reader *r, shape *one, const table_fact *statement) {
    const fmt_str predicate = term_pool_text(&r->all->table.pool, statement->terms[FACT_PREDICATE]);
    const fmt_str object = term_pool_text(&r->all->table.pool, statement->terms[FACT_OBJECT]);
    const struct word *word = find_word(predicate);
    const bool is_property = one->path.size > 0;
    if (word == NULL || word->kind == WORD_PLAIN) {
        return QN_OK;
    }
    if (is_property ? !word->is_for_property : !word->is_for_node) {
        return shape_refuse(r, statement->line, "sh:%s on a %s is not offered", word->name,
                            is_property ? "property" : "shape without sh:path");
    }
    if (word->kind != WORD_TARGET && word->bit != 0) {
        if ((one->given & word->bit) != 0) {
            return shape_refuse(r, statement->line, "a second sh:%s of the same shape", word->name);
        }
        one->given |= word->bit;
    }
    return word->take == NULL ? QN_OK : word->take(r, one, statement, object, word->bit);
}

/* ---------------------------------------------------------------- the whole shape */

static qn_status compile_pattern(shape_reader *r, shape *one) {
    ntriples_term term;
    if ((one->given & GIVEN_PATTERN) == 0) {
        return (one->given & GIVEN_FLAGS) == 0 ? QN_OK : shape_refuse(r, one->line, "sh:flags without sh:pattern");
    }
    ntriples_is_canonical(one->pattern_text, &term);
    char *text = malloc(term.size);
    if (text == NULL) {
        return FAIL(r->err, QN_NO_HOST_MEM, "%s: no memory for a pattern", r->path);
    }
    error_context inner = {.code = QN_OK};
    const fmt_str pattern = {text, ntriples_decode(&term, text)};
    const qn_status status = ere_compile(pattern, one->ignores_case, &one->pattern, &inner);
    free(text);
    return status < 0 ? shape_refuse(r, one->line, "sh:pattern: %s", error_text(&inner)) : QN_OK;
}

qn_status shape_finish(shape_reader *r, shape *one) {
    if ((one->given & GIVEN_MIN_COUNT) != 0 && (one->given & GIVEN_MAX_COUNT) != 0 && one->min_count > one->max_count) {
        return shape_refuse(r, one->line, "sh:minCount %u is above sh:maxCount %u", one->min_count, one->max_count);
    }
    if ((one->given & GIVEN_MIN_LENGTH) != 0 && (one->given & GIVEN_MAX_LENGTH) != 0 && one->min_length > one->max_length) {
        return shape_refuse(r, one->line, "sh:minLength is above sh:maxLength");
    }
    if ((one->given & GIVEN_IGNORED) != 0 && !one->is_closed) {
        return shape_refuse(r, one->line, "sh:ignoredProperties without sh:closed true");
    }
    return compile_pattern(r, one);
}
