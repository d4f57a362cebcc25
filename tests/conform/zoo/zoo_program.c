/* zoo_program.c — faults of what a program is compiled to: an attribute of an op is another than the program says. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <quoin/glue_program.h>

#include "zoo.h"

static void bend_attention(qn_attention_attrs *attrs) {
    attrs->window += IS(sees_one_too_many) && attrs->window > 0 ? 1 : 0;
    attrs->softcap = IS(forgets_the_cap) ? 0 : attrs->softcap;
}

static void bend_rope(qn_rope_attrs *attrs) {
    attrs->pairing ^= IS(turns_other_pairs) ? 1 : 0;
    attrs->base *= IS(changes_the_base) ? 1.001f : 1;
}

static void bend_op(const qn_program *program, const qn_op *op, bool has_fused) {
    void *attrs = (void *)(uintptr_t)qn_program_attrs(program, op);
    if (op->op == QN_OP_ATTENTION) {
        bend_attention(attrs);
    } else if (op->op == QN_OP_ROPE) {
        bend_rope(attrs);
    } else if (op->op == QN_OP_RMS_NORM && IS(changes_epsilon)) {
        ((qn_rms_norm_attrs *)attrs)->epsilon *= 2;
    } else if (op->op == QN_OP_GATED && IS(fuses_wrongly) && program->n_ops > 4 && has_fused) {
        ((qn_gated_attrs *)attrs)->kind ^= 1;
    }
}

static bool is_of_programs(void) {
    return IS(sees_one_too_many) || IS(forgets_the_cap) || IS(turns_other_pairs) || IS(changes_the_base)
           || IS(changes_epsilon) || IS(fuses_wrongly);
}

static bool is_fused(const qn_compile_options *options) {
    qn_compile_options own;
    return qn_copy_in(&own, sizeof own, QN_LEAST_qn_compile_options, options) == QN_OK
           && (own.flags & QN_COMPILE_MATERIALIZE) == 0;
}

const qn_program *zoo_bend_program(const qn_program *program, const qn_compile_options *options) {
    static qn_program *bent;
    if (!is_of_programs() || program == NULL || qn_program_validate(program, program->total_bytes, NULL) != QN_OK) {
        return program;
    }
    free(bent);
    bent = malloc(program->total_bytes);
    if (bent == NULL) {
        return program;
    }
    memcpy(bent, program, program->total_bytes);
    for (uint32_t g = 0; IS(sees_one_too_many) && g < bent->n_groups; g++) {
        qn_cell_group *group = (qn_cell_group *)(uintptr_t)qn_program_group(bent, g);
        group->window += group->window > 0 ? 1 : 0;
    }
    for (uint32_t i = 0; i < bent->n_ops; i++) {
        bend_op(bent, qn_program_op(bent, i), is_fused(options));
    }
    return bent;
}
