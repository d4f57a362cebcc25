/* options.c — parsing by table. */
#include "cli/options.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define MAX_WORD 48

/* Walks the long names of several tables. */
typedef struct name_walk {
    const option *const *tables;
    uint32_t n_tables, table, at;
} name_walk;

static const char *next_name(void *ctx) {
    name_walk *w = ctx;
    while (w->table < w->n_tables && w->tables[w->table][w->at].kind == OPTION_END) {
        w->table++;
        w->at = 0;
    }
    return w->table < w->n_tables ? w->tables[w->table][w->at++].name : NULL;
}

const option *options_find(const option *const *tables, uint32_t n_tables, const char *name, size_t length) {
    for (uint32_t t = 0; t < n_tables; t++) {
        for (const option *o = tables[t]; o->kind != OPTION_END; o++) {
            if (strlen(o->name) == length && memcmp(o->name, name, length) == 0) {
                return o;
            }
        }
    }
    return NULL;
}

const char *options_find_nearest(const option *const *tables, uint32_t n_tables, const char *name) {
    name_walk walk = {.tables = tables, .n_tables = n_tables};
    return words_find_nearest(name, next_name, &walk);
}

static const option *find_letter(const option *const *tables, uint32_t n_tables, char letter) {
    for (uint32_t t = 0; t < n_tables; t++) {
        for (const option *o = tables[t]; o->kind != OPTION_END; o++) {
            if (o->letter == letter) {
                return o;
            }
        }
    }
    return NULL;
}

static qn_status set_integer(const option *o, const char *value, const char *where, error_context *err) {
    char *end = NULL;
    errno = 0;
    const unsigned long long number = strtoull(value, &end, 10); /* lint: the checked wrapper itself */
    const bool is_number = value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_number || (o->kind == OPTION_UINT && ((double)number < o->least || (double)number > o->most))) {
        return o->kind == OPTION_UINT
                   ? FAIL(err, QN_BAD_INPUT, "%s%s %s: must be a whole number from %.0f to %.0f", where, o->name, value,
                          o->least, o->most)
                   : FAIL(err, QN_BAD_INPUT, "%s%s %s: must be a whole number from 0 to 18446744073709551615", where,
                          o->name, value);
    }
    if (o->kind == OPTION_UINT) {
        *(uint32_t *)o->target = (uint32_t)number;
    } else {
        *(uint64_t *)o->target = number;
    }
    return QN_OK;
}

/* strtod follows LC_NUMERIC; this program never calls setlocale for it, so a point is a point. */
static qn_status set_float(const option *o, const char *value, const char *where, error_context *err) {
    char *end = NULL;
    const double number = strtod(value, &end); /* lint: the checked wrapper itself */
    if (strchr(value, ',') != NULL) {
        return FAIL(err, QN_BAD_INPUT, "%s%s %s: use a point, not a comma, in numbers", where, o->name, value);
    }
    if (end == value || *end != '\0' || !isfinite(number) || number < o->least || number > o->most) {
        return FAIL(err, QN_BAD_INPUT, "%s%s %s: must be a number from %g to %g", where, o->name, value, o->least,
                    o->most);
    }
    *(double *)o->target = number;
    return QN_OK;
}

static qn_status set_string(const option *o, const char *value, const char *where, error_context *err) {
    if (o->choices != NULL && !words_has_choice(o->choices, value)) {
        return FAIL(err, QN_BAD_INPUT, "%s%s %s: choose one of %s", where, o->name, value, o->choices);
    }
    *(const char **)o->target = value;
    return QN_OK;
}

static qn_status add_to_list(const option *o, const char *value, const char *where, error_context *err) {
    option_list *list = o->target;
    if (list->n_items == OPTION_LIST_MAX) {
        return FAIL(err, QN_BAD_INPUT, "%s%s: given more than %d times", where, o->name, OPTION_LIST_MAX);
    }
    list->items[list->n_items++] = value;
    return QN_OK;
}

static qn_status set_flag(const option *o, const char *value, const char *where, error_context *err) {
    static const char *const yes[] = {"true", "yes", "on", "1"}, *const no[] = {"false", "no", "off", "0"};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(value, yes[i]) == 0 || strcmp(value, no[i]) == 0) {
            *(bool *)o->target = strcmp(value, yes[i]) == 0;
            return QN_OK;
        }
    }
    return FAIL(err, QN_BAD_INPUT, "%s%s %s: must be true or false", where, o->name, value);
}

qn_status option_set(const option *o, const char *value, const char *where, error_context *err) {
    qn_status status;
    switch (o->kind) {
    case OPTION_FLAG: status = set_flag(o, value, where, err); break;
    case OPTION_UINT:
    case OPTION_UINT64: status = set_integer(o, value, where, err); break;
    case OPTION_FLOAT: status = set_float(o, value, where, err); break;
    case OPTION_LIST: status = add_to_list(o, value, where, err); break;
    default: status = set_string(o, value, where, err); break;
    }
    if (status == QN_OK && o->was_given != NULL) {
        *o->was_given = true;
    }
    return status;
}

static qn_status refuse_unknown(const option *const *tables, uint32_t n_tables, const char *text, error_context *err) {
    char word[MAX_WORD + 1];
    const char *name = text + strspn(text, "-");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(name, "="), name);
    const char *nearest = options_find_nearest(tables, n_tables, word);
    return nearest != NULL ? FAIL(err, QN_BAD_INPUT, "unknown option %s; did you mean --%s?", text, nearest)
                           : FAIL(err, QN_BAD_INPUT, "unknown option %s; --help lists the options", text);
}

/* -j2 is -j 2. Only numbers: "-temp" is more likely a long option that lacks a dash. */
static bool takes_joined(const option *o, char first) {
    return (o->kind == OPTION_UINT || o->kind == OPTION_UINT64 || o->kind == OPTION_FLOAT) && first >= '0' && first <= '9';
}

/* One option at argv[*at], and its value from the same or the next argument. */
static qn_status parse_one(const option *const *tables, uint32_t n_tables, int argc, char *const *argv, int *at,
                           error_context *err) {
    const char *text = argv[*at];
    const bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    const size_t length = equals != NULL ? (size_t)(equals - text) - 2 : strlen(text) - 2;
    const option *o = is_long ? options_find(tables, n_tables, text + 2, length) : find_letter(tables, n_tables, text[1]);
    const bool is_joined = !is_long && text[2] != '\0';
    if (o == NULL || (is_joined && !takes_joined(o, text[2]))) {
        return refuse_unknown(tables, n_tables, text, err);
    }
    if (o->kind == OPTION_FLAG && equals == NULL) {
        *(bool *)o->target = true;
        if (o->was_given != NULL) {
            *o->was_given = true;
        }
        return QN_OK;
    }
    const char *value = equals != NULL ? equals + 1 : is_joined ? text + 2 : *at + 1 < argc ? argv[++*at] : NULL;
    if (value == NULL) {
        return FAIL(err, QN_BAD_INPUT, "option %s needs a value: %s %s", text, text, o->metavar);
    }
    return option_set(o, value, "--", err);
}

qn_status options_parse(const option *const *tables, uint32_t n_tables, int argc, char *const *argv,
                        arguments *out_arguments, error_context *err) {
    bool is_ended = false;
    out_arguments->n_items = 0;
    for (int at = 0; at < argc; at++) {
        const char *text = argv[at];
        if (!is_ended && strcmp(text, "--") == 0) {
            is_ended = true;
        } else if (!is_ended && text[0] == '-' && text[1] != '\0') {
            const qn_status status = parse_one(tables, n_tables, argc, argv, &at, err);
            if (status < 0) {
                return status;
            }
        } else if (out_arguments->n_items == ARGUMENTS_MAX) {
            return FAIL(err, QN_BAD_INPUT, "more than %d arguments", ARGUMENTS_MAX);
        } else {
            out_arguments->items[out_arguments->n_items++] = text;
        }
    }
    return QN_OK;
}

void options_print_help(const option *table) {
    for (const option *o = table; o->kind != OPTION_END; o++) {
        char left[64];
        const int n = snprintf(left, sizeof left, "  %c%c%s --%s", o->letter != 0 ? '-' : ' ',
                               o->letter != 0 ? o->letter : ' ', o->letter != 0 ? "," : " ", o->name);
        snprintf(left + n, sizeof left - (size_t)n, "%s%s", o->metavar != NULL ? " " : "",
                 o->metavar != NULL ? o->metavar : "");
        printf("%-31s %s\n", left, o->help);
    }
}
