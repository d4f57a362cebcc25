/* invalidations.c — statements of PROV-O that withdraw others. */
#include "ground/invalidations.h"

#include <stdlib.h>
#include <string.h>

#include "ground/fact_lookup.h"

#define PROV "http://www.w3.org/ns/prov#"

/* Both conventions are asked for: a temporal quin of another writer is hashed without brackets wherever it stands. */
static const char *const by_agent[] = {"<" PROV "wasInvalidatedBy>", PROV "wasInvalidatedBy"};
static const char *const at_time[] = {"<" PROV "invalidatedAtTime>", PROV "invalidatedAtTime"};

/* ------------------------------------------------------------------------------------------------- times */

typedef struct digit_reader {
    const char *at, *end;
    bool is_sound;
} digit_reader;

static int64_t read_digits(digit_reader *r, unsigned n) {
    int64_t value = 0;
    for (unsigned i = 0; i < n; i++) {
        r->is_sound = r->is_sound && r->at < r->end && *r->at >= '0' && *r->at <= '9';
        value = r->is_sound ? value * 10 + (*r->at++ - '0') : 0;
    }
    return value;
}

static void read_sign(digit_reader *r, char sign) {
    r->is_sound = r->is_sound && r->at < r->end && *r->at == sign;
    r->at += r->is_sound ? 1 : 0;
}

/* Days since 1970 of a date of the Gregorian calendar, by counting years from March. */
static int64_t count_days(int64_t year, int64_t month, int64_t day) {
    const int64_t y = month <= 2 ? year - 1 : year, m = month <= 2 ? month + 9 : month - 3;
    return y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1 - 719468;
}

static int64_t read_fraction(digit_reader *r) {
    int64_t ms = 0, place = 100;
    if (r->is_sound && r->at < r->end && *r->at == '.') {
        r->at++;
        for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, place /= 10) {
            ms += (*r->at - '0') * place;
        }
    }
    return ms;
}

/* Minutes east of UTC. */
static int64_t read_zone(digit_reader *r) {
    if (!r->is_sound || r->at == r->end) {
        return 0;
    }
    const char sign = *r->at++;
    if (sign == 'Z') {
        return 0;
    }
    r->is_sound = sign == '+' || sign == '-';
    const int64_t hours = read_digits(r, 2);
    read_sign(r, ':');
    const int64_t minutes = hours * 60 + read_digits(r, 2);
    return sign == '-' ? -minutes : minutes;
}

bool invalidations_read_time(const char *text, uint64_t size, int64_t *out_ms) {
    digit_reader r = {text, text + size, true};
    const int64_t year = read_digits(&r, 4);
    read_sign(&r, '-');
    const int64_t month = read_digits(&r, 2);
    read_sign(&r, '-');
    const int64_t day = read_digits(&r, 2);
    read_sign(&r, 'T');
    const int64_t hour = read_digits(&r, 2);
    read_sign(&r, ':');
    const int64_t minute = read_digits(&r, 2);
    read_sign(&r, ':');
    const int64_t second = read_digits(&r, 2), ms = read_fraction(&r), zone = read_zone(&r);
    if (!r.is_sound || r.at != r.end || month < 1 || month > 12 || day < 1 || day > 31 || hour > 24 || minute > 59 || second > 60) {
        return false;
    }
    *out_ms = ((count_days(year, month, day) * 24 + hour) * 60 + minute - zone) * 60000 + second * 1000 + ms;
    return true;
}

/* What stands between the quotation marks, or the whole text of a volume that has none. */
static fmt_str value_of(const char *text, uint32_t size) {
    if (size < 2 || text[0] != '"') {
        return (fmt_str){text, size};
    }
    const char *close = memchr(text + 1, '"', size - 1);
    return (fmt_str){text + 1, close != NULL ? (uint64_t)(close - text - 1) : 0};
}

static qn_status is_past(graph_volume *volume, uint64_t object, uint64_t now_ms, bool *out_is_past, error_context *err) {
    char text[Q42_MAX_TERM];
    q42_term term;
    int64_t ms = q42_object_tag(object) == Q42_TAG_INTEGER ? q42_object_value(object) : (int64_t)object;
    *out_is_past = true;
    const qn_status status = graph_volume_find_term(volume, object, &term, err);
    if (status < 0 && status != QN_NOT_FOUND) {
        return status;
    }
    if (status == QN_OK) {
        const fmt_str value = term.kind == Q42_TERM_STRING ? value_of(text, graph_term_copy(&term, text)) : (fmt_str){"", 0};
        if (!invalidations_read_time(value.data, value.size, &ms)) {
            return QN_OK;
        }
    }
    *out_is_past = now_ms == 0 || ms <= (int64_t)now_ms;
    return QN_OK;
}

/* ------------------------------------------------------------------------------------------------- the list */

static qn_status add(invalidation_list *list, uint64_t id, const char *path, error_context *err) {
    if (list->n == INVALIDATIONS_MAX) {
        return FAIL(err, QN_LIMIT, "%s: more than %u things are withdrawn in it (prov:wasInvalidatedBy, prov:invalidatedAtTime), which is "
                    "the limit for a volume that facts are taken from; write a volume without them", path, INVALIDATIONS_MAX);
    }
    if (list->n == list->room) {
        const uint32_t room = list->room > 0 ? list->room * 2 : 64;
        uint64_t *grown = realloc(list->ids, room * sizeof *grown);
        if (grown == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "out of memory");
        }
        list->ids = grown;
        list->room = room;
    }
    list->ids[list->n++] = id;
    return QN_OK;
}

static qn_status load_predicate(fact_lookup *lookup, graph_volume *volume, const char *predicate, bool has_time, uint64_t now_ms,
                                invalidation_list *list, error_context *err) {
    const q42_pattern pattern = fact_pattern(Q42_BOUND_PREDICATE, 0, q42_hash(predicate, strlen(predicate)), 0);
    q42_quin quin;
    qn_status status;
    fact_lookup_begin(lookup, volume, &pattern);
    lookup->keeps_bad_parity = true;
    while ((status = fact_lookup_next(lookup, &quin, err)) == QN_OK) {
        bool is_withdrawn = true;
        status = has_time ? is_past(volume, quin.object, now_ms, &is_withdrawn, err) : QN_OK;
        status = status == QN_OK && is_withdrawn ? add(list, quin.subject, graph_volume_path(volume), err) : status;
        if (status < 0) {
            return status;
        }
    }
    return status == QN_NOT_FOUND ? QN_OK : status;
}

static int by_id(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

qn_status invalidations_load(graph_volume *volume, uint64_t now_ms, invalidation_list *out, error_context *err) {
    invalidation_list list = {.ids = NULL};
    fact_lookup *lookup = malloc(sizeof *lookup);
    qn_status status = lookup != NULL ? QN_OK : FAIL(err, QN_NO_HOST_MEM, "out of memory");
    for (uint32_t i = 0; status == QN_OK && i < 2; i++) {
        status = load_predicate(lookup, volume, by_agent[i], false, now_ms, &list, err);
        status = status == QN_OK ? load_predicate(lookup, volume, at_time[i], true, now_ms, &list, err) : status;
    }
    free(lookup);
    if (status < 0) {
        invalidations_free(&list);
        return status;
    }
    if (list.n > 0) {
        qsort(list.ids, list.n, sizeof *list.ids, by_id);
    }
    *out = list;
    return QN_OK;
}

void invalidations_free(invalidation_list *list) {
    free(list->ids);
    *list = (invalidation_list){.ids = NULL};
}

bool invalidations_cover(const invalidation_list *list, const q42_quin *quin) {
    if (list->n == 0) {
        return false;
    }
    const uint64_t ids[] = {quin->subject, quin->context, q42_triple_id(quin->subject, quin->predicate, quin->object)};
    for (uint32_t i = 0; i < 3; i++) {
        if (bsearch(&ids[i], list->ids, list->n, sizeof *list->ids, by_id) != NULL) {
            return true;
        }
    }
    return false;
}
