/* log.h — lines for people on standard error.
 *
 * One line per call, prefixed by nothing at INFO and by "warning: " or "error: " above it. Standard output is never
 * touched.
 *
 * Threading: thread-safe; a line is never torn.
 * Memory:    fixed buffers; longer lines are cut.
 */
#ifndef HOST_LOG_H
#define HOST_LOG_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Lines above `level` (QN_LOG_*) are dropped. Default: QN_LOG_INFO; `-q` sets QN_LOG_ERROR. */
void log_set_level(uint32_t level);

void log_line(uint32_t level, const char *format, ...) ERROR_PRINTF(2, 3);

/* Prints an error context: one line; at QN_LOG_DEBUG also what was being done, and where in the source. */
void log_error(const error_context *err);

#endif
