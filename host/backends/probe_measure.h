/* probe_measure.h — small programs on an opened device: does it compute weights of a format right, and how fast.
 *
 * Every number is timed by the host on its own programs, so that a plugin cannot say it is faster than it is, and the numbers of
 * different plugins can be compared. What they add up to for a model is score.h's business.
 *
 * Threading: one thread; the device's own.
 * Memory:    up to 32 MiB of weights for the time of the call.
 */
#ifndef HOST_PROBE_MEASURE_H
#define HOST_PROBE_MEASURE_H
#include "backends/backend.h"
#include "backends/probe_answer.h"

/* Runs a matmul with weights of each format and compares it with a 64-bit product over the decoded weights. A format that the
 * device does not run gets a rate of 0; a wrong product is QN_CORRUPT. Without is_timed the matrices are small and the rates 1. */
qn_status probe_measure_formats(const backend *on, const qn_format *formats, uint32_t n_formats, bool is_timed,
                                probe_device *out, error_context *err);

/* Times a step, an op, and attention at two lengths. */
qn_status probe_measure_steps(const backend *on, probe_device *out, error_context *err);

#endif
