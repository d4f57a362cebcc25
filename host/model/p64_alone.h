/* p64_alone.h — running a P64 that has no companion volume: only as the architecture that the user assumes, and only
 * when nothing in the container speaks against it.
 *
 * Threading: one thread, during model_open.
 */
#ifndef HOST_P64_ALONE_H
#define HOST_P64_ALONE_H
#include "model/model.h"

/* Fills m->facts. `assume` is the --assume option, null when not given: an extended file that says llama then runs as
 * it says, any other is refused with the option's name. Refuses what a plain llama graph would silently leave out. */
qn_status p64_alone_assume(model *m, const char *assume, error_context *err);

#endif
