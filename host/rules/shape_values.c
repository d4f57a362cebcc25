/* shape_values.c — the constraints on values, one function each. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "rules/shapes_internal.h"

/* One value in front of the constraints. */
typedef struct value_view {
    fmt_str text;
    ntriples_term term;
    fmt_str lexical; /* of an IRI without brackets, of a literal with escapes resolved; empty for a blank node */
} value_view;

typedef qn_status check_fn(validation *v, const shape *one, fmt_str focus, const value_view *value);

/* ---------------------------------------------------------------- results */

static qn_status keep_text(validation *v, fmt_str text, fmt_str *out) {
    term_ref ref;
    const qn_status status = term_pool_add(&v->report->pool, text, &ref, v->err);
    *out = term_pool_text(&v->report->pool, ref);
    return status;
}

static qn_status make_room(validation *v) {
    shape_report *report = v->report;
    if (report->n_results < report->room) {
        return QN_OK;
    }
    const uint32_t room = report->room == 0 ? 32 : report->room * 2;
    shape_result *grown = realloc(report->results, room * sizeof *grown);
    if (grown == NULL) {
        return FAIL(v->err, QN_NO_HOST_MEM, "no memory for a report");
    }
    report->results = grown;
    report->room = room;
    return QN_OK;
}

qn_status shape_report_add(validation *v, const shape *one, const char *component, fmt_str focus, fmt_str path, fmt_str value,
                           const char *format, ...) {
    char words[512];
    shape_result result = {.severity = one->severity, .component = component};
    v->report->counts[one->severity]++;
    if (v->report->n_results == SHAPES_MAX_RESULTS) {
        return QN_OK;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    qn_status status = make_room(v);
    status = status < 0 ? status : keep_text(v, focus, &result.focus);
    status = status < 0 ? status : keep_text(v, path, &result.path);
    status = status < 0 ? status : keep_text(v, value, &result.value);
    status = status < 0 ? status : keep_text(v, one->node, &result.shape);
    status = status < 0 ? status : keep_text(v, one->message.size > 0 ? one->message : text_of(words), &result.message);
    if (status >= 0) {
        v->report->results[v->report->n_results++] = result;
    }
    return status;
}

#define FOUND(component, ...) shape_report_add(v, one, component, focus, one->path, value->text, __VA_ARGS__)

/* How much of a text a message shows. */
static int shown(fmt_str text) {
    return (int)(text.size < 120 ? text.size : 120);
}

/* ---------------------------------------------------------------- one value */

static qn_status check_datatype(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    if ((one->given & GIVEN_DATATYPE) == 0) {
        return QN_OK;
    }
    if (value->term.kind != NTRIPLES_LITERAL || !texts_equal(datatype_of(&value->term), one->datatype)) {
        return FOUND("Datatype", "the value is no %.*s", shown(one->datatype), one->datatype.data);
    }
    return datatype_allows(one->datatype, value->lexical)
               ? QN_OK
               : FOUND("Datatype", "%.*s does not have this text", shown(one->datatype), one->datatype.data);
}

static qn_status check_node_kind(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    static const char *const names[] = {"an IRI", "a blank node", "a literal"};
    if ((one->given & GIVEN_NODE_KIND) == 0 || (one->node_kind >> value->term.kind & 1) != 0) {
        return QN_OK;
    }
    return FOUND("NodeKind", "the value is %s", names[value->term.kind]);
}

static qn_status check_classes(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < one->classes.n_terms; i++) {
        const fmt_str class = one->classes.terms[i];
        bool is_instance = false;
        status = shape_is_instance(v->check->facts, value->text, class, &is_instance, v->err);
        if (status >= 0 && !is_instance) {
            status = FOUND("Class", "the value is no %.*s", shown(class), class.data);
        }
    }
    return status;
}

static qn_status check_in(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    if ((one->given & GIVEN_IN) == 0 || shape_list_has(&one->in, value->text)) {
        return QN_OK;
    }
    return FOUND("In", "the value is none of the %u that are allowed", one->in.n_terms);
}

static qn_status check_bounds(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    static const struct {
        const char *component, *words;
        int least, most; /* the orders of value against bound that are right */
    } rows[N_BOUNDS] = {{"MinInclusive", "below", 0, 1}, {"MaxInclusive", "above", -1, 0}, {"MinExclusive", "not above", 1, 1},
                        {"MaxExclusive", "not below", -1, -1}};
    exact_decimal number;
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < N_BOUNDS; i++) {
        const shape_bound *bound = &one->bounds[i];
        int order = 0;
        if ((one->given & (uint32_t)GIVEN_MIN_INCLUSIVE << i) == 0) {
            continue;
        }
        if (!datatype_number(value->text, &number) || !exact_decimal_compare(&number, &bound->number, &order)) {
            status = FOUND(rows[i].component, "the value is no number, and cannot be compared with %.*s", shown(bound->text), bound->text.data);
        } else if (order < rows[i].least || order > rows[i].most) {
            status = FOUND(rows[i].component, "the value is %s %.*s", rows[i].words, shown(bound->text), bound->text.data);
        }
    }
    return status;
}

static uint64_t count_characters(fmt_str text) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < text.size; i++) {
        n += ((uint8_t)text.data[i] & 0xC0) != 0x80 ? 1 : 0;
    }
    return n;
}

/* A blank node has no text: it meets no length and no pattern. */
static qn_status check_length(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    const bool is_blank = value->term.kind == NTRIPLES_BLANK;
    const uint64_t n = count_characters(value->lexical);
    qn_status status = QN_OK;
    if ((one->given & GIVEN_MIN_LENGTH) != 0 && (is_blank || n < one->min_length)) {
        status = FOUND("MinLength", "the value has %" PRIu64 " characters, at least %" PRIu64 " are needed", n, one->min_length);
    }
    if (status >= 0 && (one->given & GIVEN_MAX_LENGTH) != 0 && (is_blank || n > one->max_length)) {
        status = FOUND("MaxLength", "the value has %" PRIu64 " characters, at most %" PRIu64 " are allowed", n, one->max_length);
    }
    return status;
}

static qn_status check_pattern(validation *v, const shape *one, fmt_str focus, const value_view *value) {
    if (one->pattern == NULL || (value->term.kind != NTRIPLES_BLANK && ere_search(one->pattern, value->lexical))) {
        return QN_OK;
    }
    return FOUND("Pattern", "the value does not fit the pattern %.*s", shown(one->pattern_text), one->pattern_text.data);
}

/* ---------------------------------------------------------------- all values */

static qn_status check_value(validation *v, const shape *one, fmt_str focus, fmt_str text, char *room) {
    static check_fn *const checks[] = {check_datatype, check_node_kind, check_classes, check_in, check_bounds, check_length, check_pattern};
    value_view value = {.text = text};
    if (!ntriples_is_canonical(text, &value.term)) {
        return FAIL(v->err, QN_BAD_INPUT, "%.*s is no term in canonical form", shown(text), text.data);
    }
    value.lexical = (fmt_str){room, value.term.kind == NTRIPLES_BLANK ? 0 : ntriples_decode(&value.term, room)};
    qn_status status = QN_OK;
    for (size_t i = 0; status >= 0 && i < sizeof checks / sizeof checks[0]; i++) {
        status = checks[i](v, one, focus, &value);
    }
    return status;
}

static qn_status check_counts(validation *v, const shape *one, fmt_str focus, uint32_t n) {
    const fmt_str none = {"", 0};
    qn_status status = QN_OK;
    if ((one->given & GIVEN_MIN_COUNT) != 0 && n < one->min_count) {
        status = shape_report_add(v, one, "MinCount", focus, one->path, none, "%u values, at least %u are needed", n, one->min_count);
    }
    if (status >= 0 && (one->given & GIVEN_MAX_COUNT) != 0 && n > one->max_count) {
        status = shape_report_add(v, one, "MaxCount", focus, one->path, none, "%u values, at most %u are allowed", n, one->max_count);
    }
    return status;
}

static qn_status check_has_value(validation *v, const shape *one, fmt_str focus, const term_pool *values) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; status >= 0 && i < one->values.n_terms; i++) {
        const fmt_str wanted = one->values.terms[i];
        if (term_pool_find(values, wanted) == 0) {
            status = shape_report_add(v, one, "HasValue", focus, one->path, (fmt_str){"", 0}, "the value %.*s is missing", shown(wanted),
                                      wanted.data);
        }
    }
    return status;
}

qn_status shape_check_values(validation *v, const shape *one, fmt_str focus, const term_pool *values) {
    qn_status status = check_counts(v, one, focus, values->n_texts);
    status = status < 0 ? status : check_has_value(v, one, focus, values);
    char *room = malloc(NTRIPLES_TERM_ROOM);
    if (room == NULL) {
        return FAIL(v->err, QN_NO_HOST_MEM, "no memory for a value");
    }
    for (term_ref i = 1; status >= 0 && i <= values->n_texts; i++) {
        status = check_value(v, one, focus, term_pool_text(values, i), room);
    }
    free(room);
    return status;
}
