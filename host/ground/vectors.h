/* vectors.h — the points that a volume gives its subjects: statements `S <q42:tensor10d> "q v w x y z t alpha mu sigma"`.
 *
 * Threading: one thread at a time per call.
 * Memory:    owned by the list: 48 bytes a subject, at most TENSOR10D_MAX_NODES. In the order of the volume; what comes after that many
 *            is counted, not kept. A literal that is no point is counted and left out.
 */
#ifndef HOST_GROUND_VECTORS_H
#define HOST_GROUND_VECTORS_H
#include "ground/ground_volume.h"
#include "ground/tensor10d.h"

typedef struct vector_list {
    uint64_t *subjects;  /* [n] */
    tensor10d *points;   /* [n] */
    uint32_t n;
    uint64_t n_left, n_broken;
} vector_list;

/* Live statements only. */
qn_status vectors_load(const ground_volume *gv, vector_list *out, error_context *err);
void vectors_free(vector_list *list);
/* The point of a subject, or null. */
const tensor10d *vectors_find(const vector_list *list, uint64_t subject);

#endif
