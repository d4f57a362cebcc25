/* fact_table.c — a bounded set of facts with an index for each place. */
#include "rules/fact_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/fnv.h"

#define FIRST_ROOM 256u

/* ---------------------------------------------------------------- finding */

/* The slot of the fact with these terms, or the empty one where it belongs. */
static uint32_t find_slot(const fact_table *table, const term_ref terms[FACT_PLACES]) {
    const uint32_t mask = 2 * table->n_heads - 1;
    uint32_t slot = (uint32_t)fnv1a64(terms, FACT_PLACES * sizeof terms[0]) & mask;
    while (table->slots[slot] != FACT_NONE &&
           memcmp(table->facts[table->slots[slot]].terms, terms, FACT_PLACES * sizeof terms[0]) != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

uint32_t fact_table_find(const fact_table *table, const term_ref terms[FACT_PLACES]) {
    return table->slots[find_slot(table, terms)];
}

/* The place whose chain is walked: subjects and objects repeat less often than predicates. FACT_PLACES: all facts. */
static int choose_place(const term_ref pattern[FACT_PLACES]) {
    return pattern[FACT_SUBJECT] != 0     ? FACT_SUBJECT
           : pattern[FACT_OBJECT] != 0    ? FACT_OBJECT
           : pattern[FACT_PREDICATE] != 0 ? FACT_PREDICATE
                                          : FACT_PLACES;
}

static bool fits(const table_fact *fact, const term_ref pattern[FACT_PLACES]) {
    for (int place = 0; place < FACT_PLACES; place++) {
        if (pattern[place] != 0 && pattern[place] != fact->terms[place]) {
            return false;
        }
    }
    return true;
}

uint32_t fact_table_next(const fact_table *table, const term_ref pattern[FACT_PLACES], uint32_t after, uint64_t *io_looked) {
    const int place = choose_place(pattern);
    uint32_t at;
    if (place == FACT_PLACES) {
        at = after == FACT_NONE ? 0 : after + 1;
        *io_looked += 1;
        return at < table->n_facts ? at : FACT_NONE;
    }
    at = after == FACT_NONE ? table->heads[place][pattern[place] & (table->n_heads - 1)] : table->nexts[place][after];
    for (; at != FACT_NONE; at = table->nexts[place][at]) {
        *io_looked += 1;
        if (fits(&table->facts[at], pattern)) {
            return at;
        }
    }
    *io_looked += 1;
    return FACT_NONE;
}

/* ---------------------------------------------------------------- growing */

/* Chains are appended to, so that each is in ascending order. */
static void link_fact(fact_table *table, uint32_t fact) {
    for (int place = 0; place < FACT_PLACES; place++) {
        const uint32_t head = table->facts[fact].terms[place] & (table->n_heads - 1);
        const uint32_t tail = table->tails[place][head];
        if (tail == FACT_NONE) {
            table->heads[place][head] = fact;
        } else {
            table->nexts[place][tail] = fact;
        }
        table->tails[place][head] = fact;
        table->nexts[place][fact] = FACT_NONE;
    }
}

/* The words of an array that grows; what is in it counts no more. */
static bool resize_words(uint32_t **words, uint32_t n) {
    uint32_t *grown = realloc(*words, (size_t)n * sizeof *grown);
    *words = grown != NULL ? grown : *words;
    return grown != NULL;
}

/* Twice the room, or the first. After a failure the table stands as it stood: its arrays are only larger than it knows. */
static bool grow(fact_table *table) {
    const uint32_t doubled = table->room == 0 ? FIRST_ROOM : table->room * 2, room = doubled < table->most ? doubled : table->most;
    uint32_t n_heads = 64;
    while (n_heads < room) {
        n_heads *= 2;
    }
    table_fact *facts = realloc(table->facts, (size_t)room * sizeof *facts);
    table->facts = facts != NULL ? facts : table->facts;
    bool is_there = facts != NULL && resize_words(&table->slots, 2 * n_heads);
    for (int place = 0; is_there && place < FACT_PLACES; place++) {
        is_there = resize_words(&table->heads[place], n_heads) && resize_words(&table->tails[place], n_heads) &&
                   resize_words(&table->nexts[place], room);
    }
    if (!is_there) {
        return false;
    }
    table->room = room;
    table->n_heads = n_heads;
    memset(table->slots, 0xFF, 2 * (size_t)n_heads * sizeof *table->slots);
    for (int place = 0; place < FACT_PLACES; place++) {
        memset(table->heads[place], 0xFF, (size_t)n_heads * sizeof *table->heads[place]);
        memset(table->tails[place], 0xFF, (size_t)n_heads * sizeof *table->tails[place]);
    }
    for (uint32_t i = 0; i < table->n_facts; i++) {
        table->slots[find_slot(table, table->facts[i].terms)] = i;
        link_fact(table, i);
    }
    return true;
}

/* ---------------------------------------------------------------- life */

qn_status fact_table_init(fact_table *table, uint32_t most, error_context *err) {
    memset(table, 0, sizeof *table);
    if (most == 0 || most > FACT_TABLE_MOST) {
        return FAIL(err, QN_BAD_INPUT, "a table of %u facts; it holds 1 to %u", most, FACT_TABLE_MOST);
    }
    table->most = most;
    if (!grow(table)) {
        fact_table_deinit(table);
        return FAIL(err, QN_NO_HOST_MEM, "no memory for a table of facts");
    }
    return QN_OK;
}

void fact_table_deinit(fact_table *table) {
    for (int place = 0; place < FACT_PLACES; place++) {
        free(table->heads[place]);
        free(table->tails[place]);
        free(table->nexts[place]);
    }
    free(table->slots);
    free(table->facts);
    term_pool_free(&table->pool);
    memset(table, 0, sizeof *table);
}

/* ---------------------------------------------------------------- adding */

static qn_status add_fact(fact_table *table, const table_fact *fact, uint32_t *out_fact, error_context *err) {
    uint32_t index = fact_table_find(table, fact->terms);
    const bool is_new = index == FACT_NONE;
    if (is_new) {
        if (table->n_facts == table->most) {
            return FAIL(err, QN_LIMIT, "more than %u facts; give a larger table or fewer facts", table->most);
        }
        if (table->n_facts == table->room && !grow(table)) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for more than %u facts", table->room);
        }
        index = table->n_facts++;
        table->facts[index] = *fact;
        table->slots[find_slot(table, fact->terms)] = index;
        link_fact(table, index);
    }
    if (out_fact != NULL) {
        *out_fact = index;
    }
    return is_new ? QN_OK : QN_NOTE_END;
}

qn_status fact_table_derive(fact_table *table, const term_ref terms[FACT_PLACES], const fact_origin *origin, uint32_t *out_fact,
                            error_context *err) {
    table_fact fact = {.origin = *origin};
    memcpy(fact.terms, terms, sizeof fact.terms);
    return add_fact(table, &fact, out_fact, err);
}

qn_status fact_table_add(fact_table *table, const fmt_str terms[FACT_PLACES], uint32_t line, uint32_t *out_fact,
                         error_context *err) {
    table_fact fact = {.origin = {.rule = FACT_GIVEN, .is_definite = true}, .line = line};
    for (int place = 0; place < FACT_PLACES; place++) {
        QN_TRY(term_pool_add(&table->pool, terms[place], &fact.terms[place], err), err, "adding a fact");
    }
    return add_fact(table, &fact, out_fact, err);
}

/* ---------------------------------------------------------------- sources */

static qn_status take_fact(void *ctx, const fmt_str terms[FACT_PLACES], error_context *err) {
    const qn_status status = fact_table_add(ctx, terms, 0, NULL, err);
    return status < 0 ? status : QN_OK;
}

qn_status fact_table_load(fact_table *table, const fact_source *source, const fmt_str pattern[FACT_PLACES], error_context *err) {
    const qn_status status = source->match(source->ctx, pattern, take_fact, table, err);
    return status < 0 ? status : QN_OK;
}

static qn_status match_table(void *ctx, const fmt_str pattern[FACT_PLACES], fact_take_fn *take, void *take_ctx,
                             error_context *err) {
    const fact_table *table = ctx;
    term_ref refs[FACT_PLACES] = {0};
    uint64_t looked = 0;
    for (int place = 0; place < FACT_PLACES; place++) {
        refs[place] = pattern[place].size > 0 ? term_pool_find(&table->pool, pattern[place]) : 0;
        if (pattern[place].size > 0 && refs[place] == 0) {
            return QN_OK; /* a term that no fact has */
        }
    }
    for (uint32_t at = fact_table_next(table, refs, FACT_NONE, &looked); at != FACT_NONE;
         at = fact_table_next(table, refs, at, &looked)) {
        fmt_str terms[FACT_PLACES];
        for (int place = 0; place < FACT_PLACES; place++) {
            terms[place] = term_pool_text(&table->pool, table->facts[at].terms[place]);
        }
        const qn_status status = take(take_ctx, terms, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

fact_source fact_table_source(const fact_table *table) {
    return (fact_source){match_table, (void *)(uintptr_t)table};
}

static qn_status match_all(void *ctx, const fmt_str pattern[FACT_PLACES], fact_take_fn *take, void *take_ctx, error_context *err) {
    const fact_sources *all = ctx;
    for (uint32_t i = 0; i < all->n_parts; i++) {
        const qn_status status = all->parts[i].match(all->parts[i].ctx, pattern, take, take_ctx, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

fact_source fact_sources_join(const fact_sources *all) {
    return (fact_source){match_all, (void *)(uintptr_t)all};
}
