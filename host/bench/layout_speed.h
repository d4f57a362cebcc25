/* layout_speed.h — how fast a device multiplies a matrix that is kept in one way or another, and what it does before it can.
 *
 * The ways are given together and timed in turns, so that what the machine does meanwhile hits all of them. Together their weights are
 * four times the last-level cache, so each finds the caches full of the others'. They lie in a file without a name, as those of a model do: memory
 * that a plugin made for itself and pages of a file are not equally fast.
 *
 * The weights are made up; a kernel takes as long whatever their values are.
 *
 * Threading: one thread; the device's own.
 * Memory:    up to 512 MiB of weights in all, twice where the plugin copies them, for the time of the call; as much on disk.
 */
#ifndef HOST_LAYOUT_SPEED_H
#define HOST_LAYOUT_SPEED_H
#include <quoin/program.h>

#include "backends/backend.h"

#define LAYOUT_SPEED_MOST 4u

typedef struct layout_way {
    qn_format format;
    bool is_in_panels;
} layout_way;

typedef struct layout_speed {
    bool is_run;         /* false: the device does not take this way; the rest is 0 then */
    uint64_t n_rows;
    double step_s;       /* median of one token times all rows */
    double start_s;      /* until the first token, beyond its step: binding, packing, reading pages for the first time */
    uint64_t file_bytes; /* of the rows */
    uint64_t copy_bytes; /* of memory that the device takes for them beside the file's */
} layout_speed;

/* Times one token through a matrix of rows of `width` elements in each of the ways, of which there are at most LAYOUT_SPEED_MOST.
 * `beside` is a path in the folder where the weights may lie for a moment.
 *
 * A way that the device refuses is no error. QN_IO: the weights could not be written. [may block] */
qn_status layout_speed_measure(const backend *on, const layout_way *ways, uint32_t n_ways, uint64_t width, const char *beside,
                               layout_speed *out, error_context *err);

#endif
