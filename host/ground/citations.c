/* citations.c — marks in a text, and what they stand for. */
#include "ground/citations.h"

enum { MOST_DIGITS = 4 };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static void add(citation *out, uint32_t *n, uint32_t room, uint32_t number, uint64_t at) {
    uint32_t i = 0;
    while (i < *n && out[i].number != number) {
        i++;
    }
    if (i == *n && *n < room) {
        out[(*n)++] = (citation){.number = number, .at = at};
    }
}

/* The next number of a mark, with the blanks around it; 0 when there is none, or a long one. */
static uint32_t read_number(const char **at, const char *end) {
    uint32_t value = 0, n_digits = 0;
    while (*at < end && **at == ' ') {
        (*at)++;
    }
    for (; *at < end && is_digit(**at); (*at)++) {
        value = n_digits < MOST_DIGITS ? value * 10 + (uint32_t)(**at - '0') : 0;
        n_digits++;
    }
    while (*at < end && **at == ' ') {
        (*at)++;
    }
    return n_digits <= MOST_DIGITS ? value : 0;
}

/* Where the mark that begins at `at` ends, or null when it is none. */
static const char *measure_mark(const char *at, const char *end) {
    do {
        at++;
        if (read_number(&at, end) == 0) {
            return NULL;
        }
    } while (at < end && (*at == ',' || *at == ';'));
    return at < end && *at == ']' ? at + 1 : NULL;
}

uint32_t citations_find(const char *text, uint64_t size, citation *out, uint32_t room) {
    const char *at = text, *const end = text + size;
    uint32_t n = 0;
    while (at < end) {
        const char *stop = *at == '[' ? measure_mark(at, end) : NULL;
        if (stop == NULL) {
            at++;
            continue;
        }
        const uint64_t offset = (uint64_t)(at - text);
        while (at < stop - 1) {
            at++; /* behind the bracket, comma or semicolon */
            add(out, &n, room, read_number(&at, end), offset);
        }
        at = stop;
    }
    return n;
}

static bool find_in_set(void *ctx, uint64_t id, q42_quin *out_fact) {
    const ground_fact *fact = fact_set_find(ctx, id);
    if (fact != NULL) {
        *out_fact = fact->quin;
    }
    return fact != NULL;
}

fact_resolver fact_set_resolver(const fact_set *facts) {
    /* The set is only read; a resolver's context is not const, since another one may have to read a file. */
    const fact_resolver resolver = {(void *)(uintptr_t)facts, find_in_set};
    return resolver;
}

bool fact_resolve(const fact_resolver *resolver, uint64_t id, q42_quin *out_fact) {
    q42_quin fact;
    uint64_t own;
    if (!resolver->find(resolver->ctx, id, &fact) || fact_make_id(&fact, &own, NULL) < 0 || own != id ||
        fact.parity != q42_quin_parity(&fact)) {
        return false;
    }
    *out_fact = fact;
    return true;
}

uint32_t citations_resolve(citation *citations, uint32_t n, const fact_set *facts) {
    const fact_resolver resolver = fact_set_resolver(facts);
    uint32_t n_resolved = 0;
    for (uint32_t i = 0; i < n; i++) {
        citation *c = &citations[i];
        q42_quin fact;
        c->is_resolved = c->number >= 1 && c->number <= facts->n && fact_resolve(&resolver, facts->facts[c->number - 1].id, &fact);
        c->id = c->is_resolved ? facts->facts[c->number - 1].id : 0;
        n_resolved += c->is_resolved;
    }
    return n_resolved;
}
