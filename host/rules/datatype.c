/* datatype.c — what the datatypes of XML Schema allow. */
#include "rules/datatype.h"

#include <string.h>

typedef bool allow_fn(fmt_str text);

/* ---------------------------------------------------------------- what is no number */

static bool is_word(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

static bool allow_any(fmt_str text) {
    (void)text;
    return true;
}

static bool allow_boolean(fmt_str text) {
    return is_word(text, "true") || is_word(text, "false") || is_word(text, "1") || is_word(text, "0");
}

/* Exactly n digits; *out is their value. */
static bool take_number(fmt_str *text, uint64_t n, uint32_t *out) {
    *out = 0;
    if (text->size < n) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        if (text->data[i] < '0' || text->data[i] > '9') {
            return false;
        }
        *out = (*out * 10 + (uint32_t)(text->data[i] - '0')) % 1000000000;
    }
    text->data += n;
    text->size -= n;
    return true;
}

static bool take_byte(fmt_str *text, char c) {
    if (text->size == 0 || *text->data != c) {
        return false;
    }
    text->data++;
    text->size--;
    return true;
}

/* Four digits or more, without a leading zero when there are more; its remainder by 400 decides about leap years. */
static bool take_year(fmt_str *text, uint32_t *out_year) {
    uint64_t n = 0;
    take_byte(text, '-');
    while (n < text->size && text->data[n] >= '0' && text->data[n] <= '9') {
        n++;
    }
    if (n < 4 || n > 18 || (n > 4 && *text->data == '0')) {
        return false;
    }
    uint64_t year = 0;
    for (uint64_t i = 0; i < n; i++) {
        year = year * 10 + (uint64_t)(text->data[i] - '0');
    }
    *out_year = (uint32_t)(year % 400);
    text->data += n;
    text->size -= n;
    return true;
}

static bool take_date(fmt_str *text) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t year, month, day;
    if (!take_year(text, &year) || !take_byte(text, '-') || !take_number(text, 2, &month) || !take_byte(text, '-') ||
        !take_number(text, 2, &day) || month < 1 || month > 12 || day < 1) {
        return false;
    }
    const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return day <= days[month - 1] + (month == 2 && is_leap ? 1u : 0u);
}

/* Nothing, Z, or +hh:mm up to 14:00. */
static bool is_zone(fmt_str text) {
    uint32_t hours, minutes;
    if (text.size == 0 || is_word(text, "Z")) {
        return true;
    }
    if (!take_byte(&text, '+') && !take_byte(&text, '-')) {
        return false;
    }
    return take_number(&text, 2, &hours) && take_byte(&text, ':') && take_number(&text, 2, &minutes) && text.size == 0 &&
           minutes < 60 && hours * 60 + minutes <= 14 * 60;
}

static bool allow_date(fmt_str text) {
    return take_date(&text) && is_zone(text);
}

static bool allow_date_time(fmt_str text) {
    uint32_t hours, minutes, seconds, digit;
    bool has_fraction = false, is_zero = true;
    if (!take_date(&text) || !take_byte(&text, 'T') || !take_number(&text, 2, &hours) || !take_byte(&text, ':') ||
        !take_number(&text, 2, &minutes) || !take_byte(&text, ':') || !take_number(&text, 2, &seconds)) {
        return false;
    }
    if (take_byte(&text, '.')) {
        while (take_number(&text, 1, &digit)) {
            has_fraction = true;
            is_zero = is_zero && digit == 0;
        }
        if (!has_fraction) {
            return false;
        }
    }
    const bool is_midnight = hours == 24 && minutes == 0 && seconds == 0 && is_zero;
    return (hours < 24 || is_midnight) && minutes < 60 && seconds < 60 && is_zone(text);
}

/* ---------------------------------------------------------------- numbers */

typedef struct number_type {
    const char *name; /* behind XSD_IRI */
    decimal_syntax syntax;
    const char *least, *most; /* null: no bound */
} number_type;

static const number_type number_types[] = {
    {"integer", DECIMAL_SYNTAX_INTEGER, NULL, NULL},
    {"decimal", DECIMAL_SYNTAX_DECIMAL, NULL, NULL},
    {"double", DECIMAL_SYNTAX_DOUBLE, NULL, NULL},
    {"float", DECIMAL_SYNTAX_DOUBLE, NULL, NULL},
    {"int", DECIMAL_SYNTAX_INTEGER, "-2147483648", "2147483647"},
    {"long", DECIMAL_SYNTAX_INTEGER, "-9223372036854775808", "9223372036854775807"},
    {"short", DECIMAL_SYNTAX_INTEGER, "-32768", "32767"},
    {"byte", DECIMAL_SYNTAX_INTEGER, "-128", "127"},
    {"nonNegativeInteger", DECIMAL_SYNTAX_INTEGER, "0", NULL},
    {"positiveInteger", DECIMAL_SYNTAX_INTEGER, "1", NULL},
    {"nonPositiveInteger", DECIMAL_SYNTAX_INTEGER, NULL, "0"},
    {"negativeInteger", DECIMAL_SYNTAX_INTEGER, NULL, "-1"},
    {"unsignedLong", DECIMAL_SYNTAX_INTEGER, "0", "18446744073709551615"},
    {"unsignedInt", DECIMAL_SYNTAX_INTEGER, "0", "4294967295"},
    {"unsignedShort", DECIMAL_SYNTAX_INTEGER, "0", "65535"},
    {"unsignedByte", DECIMAL_SYNTAX_INTEGER, "0", "255"},
};

/* The part behind XSD_IRI; size 0 for another IRI. */
static fmt_str xsd_name(fmt_str iri) {
    const size_t n = sizeof XSD_IRI - 1;
    return iri.size > n && memcmp(iri.data, XSD_IRI, n) == 0 ? (fmt_str){iri.data + n, iri.size - n} : (fmt_str){"", 0};
}

static const number_type *find_number_type(fmt_str iri) {
    const fmt_str name = xsd_name(iri);
    for (size_t i = 0; i < sizeof number_types / sizeof number_types[0]; i++) {
        if (is_word(name, number_types[i].name)) {
            return &number_types[i];
        }
    }
    return NULL;
}

/* Is `number` on the wanted side of a bound, or upon it? */
static bool is_within(const exact_decimal *number, const char *bound, int side) {
    exact_decimal limit;
    int order;
    if (bound == NULL) {
        return true;
    }
    return exact_decimal_parse((fmt_str){bound, strlen(bound)}, DECIMAL_SYNTAX_INTEGER, &limit) &&
           exact_decimal_compare(number, &limit, &order) && order * side >= 0;
}

static bool read_number(const number_type *type, fmt_str text, exact_decimal *out) {
    return exact_decimal_parse(text, type->syntax, out) && is_within(out, type->least, 1) && is_within(out, type->most, -1);
}

/* ---------------------------------------------------------------- any datatype */

bool datatype_allows(fmt_str iri, fmt_str text) {
    static const struct {
        const char *name;
        allow_fn *allow;
    } others[] = {{"boolean", allow_boolean}, {"string", allow_any}, {"dateTime", allow_date_time}, {"date", allow_date}};
    exact_decimal number;
    const number_type *type = find_number_type(iri);
    if (type != NULL) {
        return read_number(type, text, &number);
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (is_word(xsd_name(iri), others[i].name)) {
            return others[i].allow(text);
        }
    }
    return true;
}

fmt_str datatype_of(const ntriples_term *literal) {
    static const char string[] = XSD_IRI "string", tagged[] = RDF_IRI "langString";
    const fmt_str written = ntriples_datatype(literal);
    if (written.size > 0) {
        return written;
    }
    return ntriples_language(literal).size > 0 ? (fmt_str){tagged, sizeof tagged - 1} : (fmt_str){string, sizeof string - 1};
}

bool datatype_number(fmt_str text, exact_decimal *out_number) {
    ntriples_term term;
    if (text.size == 0 || *text.data != '"' || !ntriples_is_canonical(text, &term)) {
        return false;
    }
    const number_type *type = find_number_type(ntriples_datatype(&term));
    return type != NULL && read_number(type, ntriples_escaped_value(&term), out_number); /* numbers have no escapes */
}
