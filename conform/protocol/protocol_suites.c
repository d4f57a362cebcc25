/* protocol_suites.c — the list of level 1. */
#include "conform_suites.h"
#include "protocol/protocol.h"

static const cf_suite *const suites[] = {&cf_suite_start, &cf_suite_devices, &cf_suite_compile, &cf_suite_weights,
                                         &cf_suite_order, &cf_suite_step, &cf_suite_extras, &cf_suite_scrub,   &cf_suite_process};
const cf_suite_list cf_protocol_suites = CF_SUITE_LIST(suites);
