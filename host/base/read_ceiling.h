/* read_ceiling.h — how fast this machine reads memory right now: the ceiling of decode.
 *
 * Threading: uses the whole team; one measurement at a time.
 * Memory:    borrows the bytes that are read.
 */
#ifndef HOST_READ_CEILING_H
#define HOST_READ_CEILING_H
#include <quoin/span.h>

#include "base/team.h"

/* Bytes per second of reading `span` once with every worker on its own contiguous part; the best of `repeats` passes
 * after one to warm up, because a ceiling is what the machine can do, not what a neighbour left of it. 0 for an empty
 * span. */
double read_ceiling_measure(fmt_span span, uint32_t repeats, team *workers);

#endif
