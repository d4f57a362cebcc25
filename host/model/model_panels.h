/* model_panels.h — the bytes of a model's weights taken from a second file: a container of the same tensors in panels.
 *
 * A backend that reads panels has to rearrange the weights of a GGUF at each start. A container that holds them rearranged, made
 * once and kept beside the cache, spares that; names, facts, tokenizer and all else stay those of the model.
 *
 * Threading: one thread, before a plan is made.
 * Memory:    the model owns the container from then on.
 */
#ifndef HOST_MODEL_PANELS_H
#define HOST_MODEL_PANELS_H
#include "model/model.h"

/* True when the model has matrices that could be panels and are not. */
bool model_lacks_panels(const model *m);

/* Takes all tensors from `panels`, a P64 that was opened with container_only and whose weights were checked. QN_BAD_FILE: it
 * does not hold each tensor of the model in the same shape and type; the model is then as it was, and `panels` the caller's. */
qn_status model_take_panels(model *m, model *panels, error_context *err);

#endif
