/* cases_programs.c — whole programs: what must hold between ops. */
#include "cases.h"

static const op_test tests[] = {{0}};
const op_suite suite_programs = {QN_NO_OP, tests, 0};
