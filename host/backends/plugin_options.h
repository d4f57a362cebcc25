/* plugin_options.h — options of a backend against the table that its plugin gives: what it knows, what it may be set to.
 *
 * Threading: pure.
 * Memory:    nothing is allocated; answers point into the spec and the plugin.
 * Errors:    QN_BAD_INPUT at stage "options": the key with its nearest neighbour, or the value with what it may be.
 */
#ifndef HOST_PLUGIN_OPTIONS_H
#define HOST_PLUGIN_OPTIONS_H
#include <quoin/abi.h>

#include "backends/backend_spec.h"
#include "base/error.h"

/* Row `index` of the table; index < facts->n_options. */
const qn_option_info *plugin_options_get(const qn_query_out *facts, uint32_t index);

/* Every key is one that the plugin knows, and every value one that the key may have. */
qn_status plugin_options_check(const qn_query_out *facts, const backend_spec *spec, error_context *err);

/* The options that apply at `when` (QN_OPTION_AT_*). They were checked. Returns how many. */
uint32_t plugin_options_collect(const qn_query_out *facts, const backend_spec *spec, uint32_t when,
                                qn_option options[BACKEND_MAX_OPTIONS]);

/* "a whole number", "on|off", the choices, or "a text": what a value of this option is. Static or the plugin's. */
const char *plugin_options_values(const qn_option_info *info);

#endif
