/* plan_bind.h — giving a compiled program its weights, in the arrangement that the plugin accepted.
 *
 * Weights stay where the model has them and are borrowed. Panels that a plugin does not take are turned back into standard
 * blocks, one tensor at a time, and copied by the plugin: the host keeps none of them.
 *
 * Threading: one thread; [ctl] in the plugin's terms.
 * Memory:    the largest tensor that has to be turned back, during the call.
 */
#ifndef HOST_PLAN_BIND_H
#define HOST_PLAN_BIND_H
#include "decode/plan.h"

/* Binds every weight of p->dec to p->prog and seals it. */
qn_status plan_bind(plan *p, error_context *err);

#endif
