/* lower_rope.h — the table of ROPE: for each pair the angle per position and the magnitude, rounded from 64 bits.
 *
 * Threading: pure.
 */
#ifndef LOWER_ROPE_H
#define LOWER_ROPE_H
#include <quoin/ops.h>

uint64_t lower_rope_table_bytes(const qn_rope_attrs *attrs);
/* factors: [n_rot / 2] or null. table: lower_rope_table_bytes of it. */
void lower_rope_table_write(const qn_rope_attrs *attrs, const float *factors, float *table);

#endif
