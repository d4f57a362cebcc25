/* file_suites.c — the list of level 0. */
#include "file/file_suites.h"

#include "conform_suites.h"

static const cf_suite *const suites[] = {&cf_suite_file, &cf_suite_query};
const cf_suite_list cf_file_suites = CF_SUITE_LIST(suites);
