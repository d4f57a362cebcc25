/* file_suites.h — the suites of level 0.
 *
 * Threading: constant data.
 */
#ifndef FILE_SUITES_H
#define FILE_SUITES_H
#include "conform.h"

extern const cf_suite cf_suite_file;  /* the bytes of the file, and loading it */
extern const cf_suite cf_suite_query; /* the exported function */

#endif
