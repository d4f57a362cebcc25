/* conform_plan.h — every test of the suite in order, and which of them a request means.
 *
 * Threading: one thread.
 * Memory:    conform_plan_make allocates the entries, conform_plan_free gives them back.
 */
#ifndef CONFORM_PLAN_H
#define CONFORM_PLAN_H
#include "program/conform_request.h"

#define CONFORM_ID_SIZE 160

typedef struct conform_entry {
    const cf_suite *suite;
    const cf_test *test;
    char id[CONFORM_ID_SIZE]; /* LEVEL.SUITE.TEST */
} conform_entry;

typedef struct conform_plan {
    conform_entry *entries;
    uint32_t n;
} conform_plan;

/* The entries that the request means. QN_BAD_INPUT when it means none, with the nearest id for --repro. */
qn_status conform_plan_make(const conform_request *request, conform_plan *out, error_context *err);
void conform_plan_free(conform_plan *plan);

/* The test with this id, into *out; false when there is none. */
bool conform_plan_find(const char *id, conform_entry *out);

/* True when the profile of the request wants this test to pass. */
bool conform_is_must(const conform_request *request, const conform_entry *entry);

#endif
