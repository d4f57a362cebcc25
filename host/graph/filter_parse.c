/* filter_parse.c — comparisons of numbers: ?name and a number, or two variables, with < <= = != >= > between. */
#include <string.h>

#include "graph/pattern.h"
#include "graph/text_reader.h"

typedef struct operand {
    bool is_variable;
    uint32_t variable;
    exact_number number;
} operand;

static qn_status read_operand(const query_text *query, text_reader *r, operand *out) {
    text_reader_skip_blanks(r);
    const char *begin = r->at;
    if (begin < r->end && (*begin == '?' || *begin == '$')) {
        r->at++;
        const uint64_t size = text_reader_name_size(r);
        *out = (operand){.is_variable = true, .variable = query_find_variable(query, r->at, size)};
        if (size == 0 || out->variable == UINT32_MAX) {
            return text_reader_refuse(r, begin, "?%.*s is in no pattern", (int)size, r->at);
        }
        r->at += size;
        return QN_OK;
    }
    *out = (operand){.is_variable = false};
    const uint64_t size = exact_number_read(begin, (uint64_t)(r->end - begin), &out->number);
    r->at += size;
    return size > 0 ? QN_OK : text_reader_refuse(r, begin, "here must stand ?name or a number");
}

static bool take(text_reader *r, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0) {
        return false;
    }
    r->at += size;
    return true;
}

static qn_status read_operator(text_reader *r, compare_op *out) {
    static const struct {
        const char *word;
        compare_op op;
    } words[] = {{"<=", COMPARE_AT_MOST}, {">=", COMPARE_AT_LEAST}, {"!=", COMPARE_UNEQUAL}, {"==", COMPARE_EQUAL},
                 {"<", COMPARE_LESS},     {">", COMPARE_MORE},      {"=", COMPARE_EQUAL}};
    text_reader_skip_blanks(r);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (take(r, words[i].word)) {
            *out = words[i].op;
            return QN_OK;
        }
    }
    return text_reader_refuse(r, r->at, "here must stand one of < <= = != >= >");
}

static compare_op turn_round(compare_op op) {
    static const compare_op turned[] = {COMPARE_MORE,    COMPARE_AT_LEAST, COMPARE_EQUAL,
                                        COMPARE_UNEQUAL, COMPARE_AT_MOST,  COMPARE_LESS};
    return turned[op];
}

qn_status query_add_filter(query_text *query, const char *text, error_context *err) {
    if (query->n_filters == QUERY_MAX_FILTERS) {
        return FAIL(err, QN_BAD_INPUT, "more than %d comparisons", QUERY_MAX_FILTERS);
    }
    text_reader r;
    text_reader_begin(&r, "--where", text, err);
    operand left = {.is_variable = false}, right = {.is_variable = false};
    compare_op op = COMPARE_EQUAL;
    qn_status status = read_operand(query, &r, &left);
    status = status < 0 ? status : read_operator(&r, &op);
    status = status < 0 ? status : read_operand(query, &r, &right);
    if (status < 0) {
        return status;
    }
    text_reader_skip_blanks(&r);
    if (r.at < r.end) {
        return text_reader_refuse(&r, r.at, "a comparison ends here; give --where once for each");
    }
    if (!left.is_variable && !right.is_variable) {
        return text_reader_refuse(&r, r.begin, "a comparison needs a variable");
    }
    const bool is_turned = !left.is_variable;
    const operand *first = is_turned ? &right : &left, *second = is_turned ? &left : &right;
    query->filters[query->n_filters++] = (query_filter){.left = first->variable,
                                                        .op = is_turned ? turn_round(op) : op,
                                                        .has_variable = second->is_variable,
                                                        .right = second->variable,
                                                        .number = second->number,
                                                        .source = text};
    return QN_OK;
}
