/* exact_decimal.c — decimal numbers compared digit by digit. */
#include "rules/exact_decimal.h"

#include <string.h>

#define MOST_EXPONENT 1000000000

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static fmt_str take_digits(fmt_str *text) {
    fmt_str digits = {text->data, 0};
    while (digits.size < text->size && is_digit(text->data[digits.size])) {
        digits.size++;
    }
    text->data += digits.size;
    text->size -= digits.size;
    return digits;
}

static bool take_byte(fmt_str *text, char c) {
    if (text->size == 0 || *text->data != c) {
        return false;
    }
    text->data++;
    text->size--;
    return true;
}

static bool is_word(fmt_str text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, (size_t)text.size) == 0;
}

/* Behind the e. */
static bool read_exponent(fmt_str text, int64_t *out_exponent) {
    const bool is_negative = take_byte(&text, '-');
    if (!is_negative) {
        take_byte(&text, '+');
    }
    const fmt_str digits = take_digits(&text);
    int64_t value = 0;
    for (uint64_t i = 0; i < digits.size; i++) {
        value = value * 10 + (digits.data[i] - '0');
        value = value > MOST_EXPONENT ? MOST_EXPONENT : value;
    }
    *out_exponent = is_negative ? -value : value;
    return digits.size > 0 && text.size == 0;
}

static bool is_zero(const exact_decimal *number) {
    for (uint64_t i = 0; i < number->fraction.size; i++) {
        if (number->fraction.data[i] != '0') {
            return false;
        }
    }
    return number->whole.size == 0;
}

static bool parse_special(fmt_str text, bool is_signed, exact_decimal *out) {
    out->kind = is_word(text, "INF") ? DECIMAL_INFINITE : DECIMAL_NAN;
    return out->kind == DECIMAL_INFINITE || (!is_signed && is_word(text, "NaN"));
}

bool exact_decimal_parse(fmt_str text, decimal_syntax syntax, exact_decimal *out_number) {
    exact_decimal n = {.kind = DECIMAL_FINITE};
    n.is_negative = take_byte(&text, '-');
    const bool is_signed = n.is_negative || take_byte(&text, '+');
    if (text.size > 0 && (*text.data == 'I' || *text.data == 'N')) {
        const bool is_read = syntax == DECIMAL_SYNTAX_DOUBLE && parse_special(text, is_signed, &n);
        *out_number = n;
        return is_read;
    }
    n.whole = take_digits(&text);
    n.fraction = (fmt_str){text.data, 0};
    if (syntax >= DECIMAL_SYNTAX_DECIMAL && take_byte(&text, '.')) {
        n.fraction = take_digits(&text);
    }
    if (n.whole.size + n.fraction.size == 0) {
        return false;
    }
    if (syntax == DECIMAL_SYNTAX_DOUBLE && (take_byte(&text, 'e') || take_byte(&text, 'E'))) {
        if (!read_exponent(text, &n.exponent)) {
            return false;
        }
        text.size = 0;
    }
    while (n.whole.size > 0 && *n.whole.data == '0') {
        n.whole.data++;
        n.whole.size--;
    }
    n.is_negative = n.is_negative && !is_zero(&n);
    *out_number = n;
    return text.size == 0;
}

/* ---------------------------------------------------------------- comparing */

/* The digits of a number without its leading zeros, and how many of them stand before the point (may be negative). */
typedef struct digit_run {
    const exact_decimal *number;
    uint64_t skip;  /* zeros at the start of the fraction, when the whole is empty */
    int64_t before;
} digit_run;

static digit_run make_run(const exact_decimal *n) {
    digit_run run = {n, 0, 0};
    if (n->whole.size == 0) {
        while (run.skip < n->fraction.size && n->fraction.data[run.skip] == '0') {
            run.skip++;
        }
    }
    run.before = (int64_t)n->whole.size - (int64_t)run.skip + n->exponent;
    return run;
}

static uint64_t count_digits(const digit_run *run) {
    return run->number->whole.size + run->number->fraction.size - run->skip;
}

/* Behind the last digit stand zeros. */
static char digit_at(const digit_run *run, uint64_t i) {
    const exact_decimal *n = run->number;
    if (i < n->whole.size) {
        return n->whole.data[i];
    }
    i = i - n->whole.size + run->skip;
    return i < n->fraction.size ? n->fraction.data[i] : '0';
}

static int compare_finite(const exact_decimal *a, const exact_decimal *b) {
    const digit_run x = make_run(a), y = make_run(b);
    const bool has_x = !is_zero(a), has_y = !is_zero(b);
    if (!has_x || !has_y) {
        return (int)has_x - (int)has_y;
    }
    if (x.before != y.before) {
        return x.before < y.before ? -1 : 1;
    }
    const uint64_t n = count_digits(&x) > count_digits(&y) ? count_digits(&x) : count_digits(&y);
    for (uint64_t i = 0; i < n; i++) {
        if (digit_at(&x, i) != digit_at(&y, i)) {
            return digit_at(&x, i) < digit_at(&y, i) ? -1 : 1;
        }
    }
    return 0;
}

bool exact_decimal_compare(const exact_decimal *a, const exact_decimal *b, int *out_order) {
    if (a->kind == DECIMAL_NAN || b->kind == DECIMAL_NAN) {
        return false;
    }
    if (a->is_negative != b->is_negative) {
        *out_order = a->is_negative ? -1 : 1;
        return true;
    }
    int order;
    if (a->kind == DECIMAL_INFINITE || b->kind == DECIMAL_INFINITE) {
        order = (int)(a->kind == DECIMAL_INFINITE) - (int)(b->kind == DECIMAL_INFINITE);
    } else {
        order = compare_finite(a, b);
    }
    *out_order = a->is_negative ? -order : order;
    return true;
}
