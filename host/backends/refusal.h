/* refusal.h — the one form in which a backend is refused: "backend NAME refused at STAGE: CODE: text".
 *
 * Stages, in order: discovery, note, probe, load, query, options, start, devices, open, known answer, measure, plan.
 *
 * Threading: as the error context.
 * Memory:    nothing is allocated.
 */
#ifndef HOST_REFUSAL_H
#define HOST_REFUSAL_H
#include "base/error.h"

/* Starts a new error in *err and returns `code`. The text must not be empty and needs no full stop. */
qn_status backend_refuse(error_context *err, const char *name, const char *stage, qn_status code, const char *format, ...)
    ERROR_PRINTF(5, 6);

/* The same with the plugin's own words, or "no reason given" when it has none. */
qn_status backend_refuse_plugin(error_context *err, const char *name, const char *stage, qn_status code,
                                const qn_error *plugin_error);

#endif
