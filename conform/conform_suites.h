/* conform_suites.h — the lists that the suite is made of, one a folder.
 *
 * Threading: constant data.
 */
#ifndef CONFORM_SUITES_H
#define CONFORM_SUITES_H
#include "conform.h"

extern const cf_suite_list cf_file_suites;       /* file/: level 0 */
extern const cf_suite_list cf_protocol_suites;   /* protocol/: level 1 */
extern const cf_suite_list cf_op_suites;         /* ops/: levels 2, 3, 4, 5 and 7 */
extern const cf_suite_list cf_robustness_suites; /* robustness/: level 6 */

extern const cf_suite_list *const conform_lists[];
extern const size_t conform_n_lists;

#endif
