/* conform_suites.c — the lists in one place. */
#include "conform_suites.h"

const cf_suite_list *const conform_lists[] = {
    &cf_file_suites,
    &cf_protocol_suites,
#if defined(CONFORM_HAS_OPS)
    &cf_op_suites,
#endif
    &cf_robustness_suites,
};
const size_t conform_n_lists = sizeof conform_lists / sizeof conform_lists[0];
