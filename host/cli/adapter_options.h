/* adapter_options.h — `--adapter FILE[=SCALE]`: reading the option, opening what it names, and saying what became of it.
 *
 * Threading: one thread at a time.
 */
#ifndef HOST_ADAPTER_OPTIONS_H
#define HOST_ADAPTER_OPTIONS_H
#include <jansson.h>

#include "adapt/adapter_set.h"
#include "cli/options.h"

/* FILE, and the number behind the last = when what stands there is one; 1 otherwise. `*out_path` is malloc'ed. QN_BAD_INPUT when
 * there is no file, or the scale is no finite number in its range. */
qn_status adapter_option_parse(const char *text, char **out_path, float *out_scale, error_context *err);

/* Opens all of them for `m`, and prints a line for each. */
qn_status adapter_options_open(const option_list *list, const model *m, bool is_strict, adapter_set *out_set,
                               error_context *err);

/* [{"file", "form", "sha256", "scale", "applied", "reason", …}] */
json_t *adapter_set_json(const adapter_set *set);

#endif
