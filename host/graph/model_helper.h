/* model_helper.h — the volume that stands beside a P64 model and makes it self-sufficient must not be lost to another one.
 *
 * Threading: thread-safe.
 */
#ifndef HOST_GRAPH_MODEL_HELPER_H
#define HOST_GRAPH_MODEL_HELPER_H
#include "base/error.h"

/* QN_BAD_INPUT when the file at `path` is a volume with a subject of type q42:QualiaModelHelper; QN_OK for everything else, also for no
 * file at all. */
qn_status model_helper_refuse(const char *path, error_context *err);

#endif
