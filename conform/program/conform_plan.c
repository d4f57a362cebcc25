/* conform_plan.c — walking the tables of the suite. */
#include "program/conform_plan.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "conform_suites.h"

/* Walks every test of every suite. */
typedef struct suite_walk {
    size_t list, suite, test;
    conform_entry entry;
} suite_walk;

static bool walk_on(suite_walk *w) {
    while (w->list < conform_n_lists) {
        const cf_suite_list *list = conform_lists[w->list];
        if (w->suite == list->n_suites) {
            w->list++;
            w->suite = 0;
        } else if (w->test == list->suites[w->suite]->n_tests) {
            w->suite++;
            w->test = 0;
        } else {
            const cf_suite *suite = list->suites[w->suite];
            w->entry.suite = suite;
            w->entry.test = &suite->tests[w->test++];
            snprintf(w->entry.id, sizeof w->entry.id, "%u.%s.%s", suite->level, suite->name, w->entry.test->name);
            return true;
        }
    }
    return false;
}

bool conform_plan_find(const char *id, conform_entry *out) {
    suite_walk walk = {0};
    while (walk_on(&walk)) {
        if (strcmp(walk.entry.id, id) == 0) {
            *out = walk.entry;
            return true;
        }
    }
    return false;
}

static bool is_meant(const conform_request *r, const conform_entry *entry) {
    if (r->repro_id[0] != '\0') {
        return strcmp(r->repro_id, entry->id) == 0;
    }
    /* A backend that is linked in has no file to look at. */
    const bool has_place = !entry->suite->is_unloaded || r->path[0] != '\0' || r->list;
    return has_place && (r->level_mask >> entry->suite->level & 1) != 0 && (r->filter == NULL || fnmatch(r->filter, entry->id, 0) == 0);
}

static qn_status add_entry(conform_plan *plan, const conform_entry *entry, error_context *err) {
    if ((plan->n & (plan->n - 1)) == 0) {
        conform_entry *larger = realloc(plan->entries, (plan->n == 0 ? 1 : (size_t)plan->n * 2) * sizeof *entry);
        if (larger == NULL) {
            return FAIL(err, QN_NO_HOST_MEM, "no memory for the list of tests");
        }
        plan->entries = larger;
    }
    plan->entries[plan->n++] = *entry;
    return QN_OK;
}

static int compare_levels(const void *a, const void *b) {
    const conform_entry *left = a, *right = b;
    const uint32_t l = left->suite->level, r = right->suite->level;
    return l != r ? (l < r ? -1 : 1) : left->suite != right->suite ? strcmp(left->suite->name, right->suite->name)
                                                                   : (left->test < right->test ? -1 : left->test > right->test);
}

static qn_status list_all(conform_plan *out, error_context *err) {
    suite_walk walk = {0};
    while (walk_on(&walk)) {
        QN_TRY(add_entry(out, &walk.entry, err), err, "listing tests");
    }
    return QN_OK;
}

/* Walks the ids of a plan. */
typedef struct id_walk {
    const conform_plan *all;
    uint32_t at;
} id_walk;

static const char *next_id(void *ctx) {
    id_walk *w = ctx;
    return w->at < w->all->n ? w->all->entries[w->at++].id : NULL;
}

static qn_status refuse_empty(const conform_request *r, const conform_plan *all, error_context *err) {
    id_walk walk = {.all = all};
    if (r->repro_id[0] == '\0') {
        return FAIL(err, QN_BAD_INPUT, "no test of the chosen levels matches%s%s; --list names them", r->filter == NULL ? "" : " ",
                    r->filter == NULL ? "" : r->filter);
    }
    const char *nearest = words_find_nearest(r->repro_id, next_id, &walk);
    return FAIL(err, QN_BAD_INPUT, "--repro %s: there is no such test%s%s; --list names them", r->repro_id,
                nearest == NULL ? "" : "; did you mean ", nearest == NULL ? "" : nearest);
}

qn_status conform_plan_make(const conform_request *request, conform_plan *out, error_context *err) {
    uint32_t n = 0;
    *out = (conform_plan){0};
    QN_TRY(list_all(out, err), err, "choosing tests");
    for (uint32_t i = 0; i < out->n; i++) {
        n += is_meant(request, &out->entries[i]);
    }
    if (n == 0) {
        return refuse_empty(request, out, err);
    }
    n = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        if (is_meant(request, &out->entries[i])) {
            out->entries[n++] = out->entries[i];
        }
    }
    out->n = n;
    qsort(out->entries, out->n, sizeof out->entries[0], compare_levels);
    return QN_OK;
}

void conform_plan_free(conform_plan *plan) {
    free(plan->entries);
    *plan = (conform_plan){0};
}

bool conform_is_must(const conform_request *request, const conform_entry *entry) {
    return (entry->test->must & request->must) != 0;
}
