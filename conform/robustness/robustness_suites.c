/* robustness_suites.c — the list of level 6. */
#include "conform_suites.h"
#include "robustness/robustness.h"

static const cf_suite *const suites[] = {&cf_suite_memory, &cf_suite_cancel, &cf_suite_lives, &cf_suite_threads,
                                         &cf_suite_blobs, &cf_suite_faults, &cf_suite_weights_read};
const cf_suite_list cf_robustness_suites = CF_SUITE_LIST(suites);
