/* program_split.h — one decode program as two, cut behind the end of a layer: the first ends with the hidden rows, the second begins
 * with them.
 *
 *      ids ─ embed ─ layer 0 … layer n-1 ─► hidden │ hidden ─► layer n … ─ norm ─ logits ◄─ rows
 *                     first part                   │               second part
 *
 * Buffers are numbered anew in each part. A weight that both read (a tied table) is in both, and so are all cell groups, since a step
 * places its tokens in all of them.
 *
 * Threading: pure.
 * Memory:    the split owns both programs and the number tables until program_split_deinit.
 */
#ifndef HOST_PROGRAM_SPLIT_H
#define HOST_PROGRAM_SPLIT_H
#include <quoin/program.h>

#include "base/error.h"

typedef struct program_part {
    qn_program *program;
    uint32_t *whole_of; /* [program->n_buffers] number in the whole program */
    uint32_t *part_of;  /* [n_buffers of the whole] number here, or UINT32_MAX */
    uint32_t hidden;    /* number here of the buffer between the parts: an output of the first, an input of the second */
} program_part;

typedef struct program_split {
    program_part parts[2];
    uint32_t border;       /* ops [0, border) are the first part's */
    uint64_t hidden_width; /* elements of a hidden row, F32 */
} program_split;

/* Ends of layers in the program: it can be cut behind all of them but the last. */
uint32_t program_count_layers(const qn_program *program);

/* Cuts behind the first `n_layers` layers. QN_BAD_INPUT with the number of layers when there are not more than that;
 * QN_UNSUPPORTED when more than one buffer would cross. The program is well formed. *out owns nothing on error. */
qn_status program_split_at(const qn_program *program, uint32_t n_layers, program_split *out, error_context *err);
void program_split_deinit(program_split *split);

#endif
