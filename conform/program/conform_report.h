/* conform_report.h — a run as lines and as one JSON object.
 *
 * Threading: one thread.
 * Memory:    borrows everything it is given during the call.
 */
#ifndef CONFORM_REPORT_H
#define CONFORM_REPORT_H
#include "program/conform_child.h"
#include "program/conform_coverage.h"
#include "program/conform_waivers.h"

/* One run, as it stands. */
typedef struct conform_run {
    const conform_request *request;
    conform_plan plan;
    conform_result *results;    /* [plan.n] */
    conform_facts facts;
    conform_waivers waivers;
    conform_coverage coverage;
    char file_build_id[72];     /* of the linker; "" when there is none */
    char begun_at[24];          /* 2027-03-31T12:00:00Z */
    double seconds;
    conform_result opening;     /* tried before all tests: learns the facts */
    bool is_here;               /* the plugin has the device on this machine */
    bool is_stuck;              /* the opening hung: so would every other test */
    uint32_t n_of[OUTCOMES];
    uint32_t n_broken;          /* tests that keep the run from passing */
} conform_run;

/* True when this result keeps the run from passing. */
bool conform_is_broken(const conform_run *run, uint32_t test);

void conform_print_head(const conform_run *run);
void conform_print_result(const conform_run *run, uint32_t test);
void conform_print_summary(const conform_run *run);
void conform_print_list(const conform_run *run);

/* Prints the JSON object. */
qn_status conform_print_json(const conform_run *run, error_context *err);
/* Writes it to the file, whole or not at all. */
qn_status conform_write_report(const conform_run *run, const char *path, error_context *err);

#endif
