/* tensor10d.h — points of ten numbers, and which of them are nearest to one.
 *
 * The distance is chosen by the v of the point that is asked from:
 *
 *     0       sqrt of the squared differences of x, y, z, t, alpha, mu and sigma
 *     1       each of x, y, z on a circle of length 1 (at most 0.5 apart), then as above over the three
 *     2       ln(e^|dx| + e^|dy| + e^|dz|), which is ln 3 for the same place
 *     other   0 when both have the same v, otherwise 1
 *
 * Computed in f64, given as f32. Hits are in order of distance, the lower index first among equals.
 *
 * Threading: pure. Memory: nothing is allocated.
 */
#ifndef HOST_GROUND_TENSOR10D_H
#define HOST_GROUND_TENSOR10D_H
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define TENSOR10D_MAX_NODES 4096u
#define TENSOR10D_MAX_HITS 32u

typedef struct tensor10d {
    float q, v, w, x, y, z, t, alpha, mu, sigma; /* finite */
} tensor10d;

typedef struct tensor10d_hit {
    uint32_t index; /* of the node */
    float distance;
} tensor10d_hit;

/* Both finite. [no-alloc] */
float tensor10d_distance(const tensor10d *query, const tensor10d *node);

/* The nearest nodes that are at most `limit` away (INFINITY: any), at most `room` of them.
 *
 *   nodes     [n_nodes], at most TENSOR10D_MAX_NODES
 *   out_hits  [room], at most TENSOR10D_MAX_HITS
 *
 * QN_LIMIT when there are too many of either; QN_BAD_INPUT for a number that is not finite. Outputs are untouched on error.
 * [no-alloc] */
qn_status tensor10d_nearest(const tensor10d *query, const tensor10d *nodes, uint32_t n_nodes, float limit,
                            tensor10d_hit *out_hits, uint32_t room, uint32_t *out_n_hits, error_context *err);

/* Ten numbers in the order of the struct, with blanks or commas between: "0 0 0 1.5 -2e-3 0 0 0 0 1". QN_BAD_INPUT names the column. */
qn_status tensor10d_read(const char *text, uint64_t size, tensor10d *out, error_context *err);

#endif
