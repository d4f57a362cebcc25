/* ceilings.h — what this machine can do at most, measured beside what a model does.
 *
 * Threading: uses the whole team; not while a step runs.
 * Memory:    borrows the bytes that are read.
 */
#ifndef HOST_CEILINGS_H
#define HOST_CEILINGS_H
#include <quoin/ext/peak.h>

#include "backends/backend.h"
#include "base/read_ceiling.h"

typedef struct ceilings {
    double read;        /* bytes per second of plain reading, as many as the model has; 0 for an empty model */
    qn_peak_rate int8;  /* products of bytes, operations per second; 0 where the backend does not tell */
    qn_peak_rate f32;   /* products of f32 */
} ceilings;

/* Takes half a second and a few times as long as reading the model once. A backend without the extension quoin.peak/1 leaves 0. */
void ceilings_measure(const backend *on, fmt_span model, team *workers, ceilings *out);

#endif
