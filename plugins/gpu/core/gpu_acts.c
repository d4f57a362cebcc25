/* gpu_acts.c — places for act buffers in one arena, by liveness, as qn_plan_acts has them but for one thing: the place
 * of a buffer that nobody reads any more stays free for a few ops. Otherwise the second of two ops that need nothing of
 * each other would often write where the first reads, and a barrier would have to stand between them. */
#include "gpu_core.h"

#define REST_OPS 4u
_Static_assert(GPU_FUSED_WITHIN <= REST_OPS, "what an op reads that waits for its partner is not written over meanwhile");

/* Slots in use, ordered by offset. */
typedef struct arena {
    qn_act_slot *slots;
    uint32_t head;
    uint64_t bytes;
} arena;

/* Takes out what was read for the last time REST_OPS before `op`. */
static void retire(arena *a, uint32_t op) {
    for (uint32_t *link = &a->head; *link != GPU_NONE;) {
        if (a->slots[*link].last_op + REST_OPS < op) {
            *link = a->slots[*link].next;
        } else {
            link = &a->slots[*link].next;
        }
    }
}

/* The first gap that is long enough. */
static void place(arena *a, uint32_t b) {
    uint64_t at = 0;
    uint32_t *link = &a->head;
    while (*link != GPU_NONE && a->slots[*link].offset - at < a->slots[b].bytes) {
        at = a->slots[*link].offset + a->slots[*link].bytes;
        link = &a->slots[*link].next;
    }
    a->slots[b].offset = at;
    a->slots[b].next = *link;
    *link = b;
    a->bytes = at + a->slots[b].bytes > a->bytes ? at + a->slots[b].bytes : a->bytes;
}

static void find_last_ops(const qn_program *program, qn_act_slot *slots) {
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        for (uint32_t n = 0; n < op->n_inputs + op->n_outputs; n++) {
            slots[qn_program_operands(program, op)[n]].last_op = i;
        }
    }
}

qn_status gpu_acts_plan(const qn_program *program, const qn_limits *limits, uint32_t flags, qn_act_slot *slots,
                        uint64_t *out_bytes, qn_error *err) {
    arena a = {slots, GPU_NONE, 0};
    /* Sizes, and what cannot be counted, are the glue's. */
    const qn_status status = qn_plan_acts(program, limits, flags, slots, out_bytes, err);
    if (status != QN_OK || (flags & QN_COMPILE_MATERIALIZE) != 0) {
        return status;
    }
    find_last_ops(program, slots);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        retire(&a, i);
        for (uint32_t n = op->n_inputs; n < op->n_inputs + op->n_outputs; n++) {
            const uint32_t b = qn_program_operands(program, op)[n];
            if (slots[b].bytes > 0) {
                place(&a, b);
            }
        }
    }
    *out_bytes = a.bytes;
    return QN_OK;
}
