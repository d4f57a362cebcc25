/* conform_context.h — from a request and an entry to a cf_context, and running it here.
 *
 * Threading: one thread. A file is loaded once in a process and stays.
 */
#ifndef CONFORM_CONTEXT_H
#define CONFORM_CONTEXT_H
#include "program/conform_plan.h"
#include "core/cf_run.h"

/* Loads the plugin unless the suite does it itself, runs the test, tells its lines. True when it passed. */
bool conform_context_run(const conform_request *request, const conform_entry *entry, cf_tell_fn *tell, void *tell_arg,
                         uint64_t only_case);

/* The opening that is tried before all tests; it stands in no list. */
conform_entry conform_opening_entry(void);

#endif
