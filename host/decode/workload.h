/* workload.h — what one token of a model needs from a device, counted in its decode program.
 *
 * Threading: one thread; nothing is kept.
 */
#ifndef HOST_DECODE_WORKLOAD_H
#define HOST_DECODE_WORKLOAD_H
#include "backends/score.h"
#include "model/decoder.h"

/* Builds the program of `m` for this context and adds up matrices by format, K and V, ops and memory. Errors as decoder_build. */
qn_status workload_measure(const model *m, const decoder_options *options, workload *out, error_context *err);

#endif
