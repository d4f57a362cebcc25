/* glue_program.h — optional help for plugin authors: is a program well formed, and where do its act buffers go?
 *
 *   qn_program_validate   every rule of program.h and ops.h about the bytes of a program
 *   qn_plan_acts          offsets for the act buffers in one scratch arena, by liveness
 *
 * After qn_program_validate said QN_OK, the accessors of glue.h may be used without further checks: every offset, index and count
 * is inside the bytes, every name is terminated, every attribute struct is there, and the shapes of every op fit together.
 *
 *     if (qn_program_validate(program, program->total_bytes, err) != QN_OK) return err->code;
 *     qn_act_slot *slots = mem_alloc(program->n_buffers * sizeof *slots);
 *     uint64_t arena_bytes;
 *     if (qn_plan_acts(program, limits, options->flags, slots, &arena_bytes, err) != QN_OK) return err->code;
 *     float *x = (float *)(arena + slots[buffer].offset);
 *
 * Threading: pure functions; 8 KiB of stack. Memory: the caller's; nothing is allocated. C99 and C++.
 * Names that end in an underscore are not for use outside this file.
 * Since: 0.0
 */
#ifndef QUOIN_GLUE_PROGRAM_H
#define QUOIN_GLUE_PROGRAM_H
#include <quoin/glue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of a buffer, symbolic dimensions counted as 1: more is refused. */
#define QN_MAX_ELEMENTS (UINT64_C(1) << 40)

/* What one validation knows. */
typedef struct qn_pv_ {
    const qn_program *program;
    qn_error *err;
    uint32_t op; /* the op that is looked at */
    unsigned char written[QN_MAX_BUFFERS / 8];
} qn_pv_;

QN_GLUE int qn_pv_is_written_(const qn_pv_ *v, uint32_t buffer) {
    return v->written[buffer / 8] >> (buffer % 8) & 1;
}

QN_GLUE int qn_pv_is_zero_(const void *bytes, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; i++) {
        if (((const unsigned char *)bytes)[i] != 0) {
            return 0;
        }
    }
    return 1;
}

/* --- Header and sections ---------------------------------------------------------------------------------------------- */

typedef struct qn_pv_section_ {
    const char *name;
    uint64_t at, bytes;
} qn_pv_section_;

QN_GLUE qn_status qn_pv_section_fits_(const qn_program *p, const qn_pv_section_ *sections, int which, qn_error *err) {
    const qn_pv_section_ *s = &sections[which];
    if (s->at % 8 != 0 || s->at < sizeof(qn_program) || s->at > p->total_bytes || s->bytes > p->total_bytes - s->at) {
        return qn_fail(err, QN_BAD_ARG, "program: section %s at byte %llu with %llu bytes is not inside the %llu bytes of the program",
                       s->name, (unsigned long long)s->at, (unsigned long long)s->bytes, (unsigned long long)p->total_bytes);
    }
    for (int i = 0; i < which; i++) {
        const qn_pv_section_ *o = &sections[i];
        if (s->bytes > 0 && o->bytes > 0 && s->at < o->at + o->bytes && o->at < s->at + s->bytes) {
            return qn_fail(err, QN_BAD_ARG, "program: sections %s and %s overlap", o->name, s->name);
        }
    }
    return QN_OK;
}

QN_GLUE qn_status qn_pv_sections_(const qn_program *p, qn_error *err) {
    const qn_pv_section_ sections[6] = {
        {"buffers", p->buffers_at, (uint64_t)p->n_buffers * p->buffer_stride},
        {"ops", p->ops_at, (uint64_t)p->n_ops * p->op_stride},
        {"groups", p->groups_at, (uint64_t)p->n_groups * p->group_stride},
        {"operands", p->operands_at, (uint64_t)p->n_operands * 4},
        {"attributes", p->attrs_at, p->attrs_bytes},
        {"names", p->names_at, p->names_bytes},
    };
    if (p->buffer_stride < QN_LEAST_qn_buffer || p->op_stride < QN_LEAST_qn_op || p->group_stride < QN_LEAST_qn_cell_group
        || (p->buffer_stride | p->op_stride | p->group_stride) % 8 != 0) {
        return qn_fail(err, QN_BAD_ARG, "program: strides %u, %u, %u of buffers, ops and groups are too small or no multiples of 8",
                       p->buffer_stride, p->op_stride, p->group_stride);
    }
    for (int i = 0; i < 6; i++) {
        const qn_status status = qn_pv_section_fits_(p, sections, i, err);
        if (status != QN_OK) {
            return status;
        }
    }
    if (p->names_bytes == 0 || ((const char *)p)[(uint64_t)p->names_at + p->names_bytes - 1] != '\0') {
        return qn_fail(err, QN_BAD_ARG, "program: the names section is empty or its last name is not terminated");
    }
    return QN_OK;
}

QN_GLUE qn_status qn_pv_header_(const void *bytes, uint64_t n_bytes, qn_error *err) {
    const qn_program *p = (const qn_program *)bytes;
    if (bytes == NULL || (uintptr_t)bytes % 8 != 0 || n_bytes < sizeof(qn_program)) {
        return qn_fail(err, QN_BAD_ARG, "program: %llu bytes, aligned to 8, are needed at least; there are %llu",
                       (unsigned long long)sizeof(qn_program), (unsigned long long)n_bytes);
    }
    if (p->magic != QN_PROGRAM_MAGIC) {
        return qn_fail(err, QN_BAD_ARG, "program: magic is 0x%08x, not 0x%08x", p->magic, QN_PROGRAM_MAGIC);
    }
    if (p->encoding != QN_PROGRAM_ENCODING) {
        return qn_fail(err, QN_TOO_NEW, "program: encoding %u is not known; %u is", p->encoding, QN_PROGRAM_ENCODING);
    }
    if (p->total_bytes != n_bytes) {
        return qn_fail(err, QN_BAD_ARG, "program: the header says %llu bytes, there are %llu", (unsigned long long)p->total_bytes,
                       (unsigned long long)n_bytes);
    }
    if (memchr(p->profile, '\0', sizeof p->profile) == NULL) {
        return qn_fail(err, QN_BAD_ARG, "program: the profile's name is not terminated");
    }
    if (strcmp(p->profile, QN_PROFILE_DECODE_CORE) != 0) {
        return qn_fail(err, QN_UNSUPPORTED, "program: profile '%s' is not known; '%s' is", p->profile, QN_PROFILE_DECODE_CORE);
    }
    if (p->n_buffers > QN_MAX_BUFFERS || p->n_ops > QN_MAX_OPS || p->n_groups > QN_MAX_GROUPS || p->n_ops == 0) {
        return qn_fail(err, QN_BAD_ARG, "program: %u buffers, %u ops, %u cell groups; 1 op at least and %u, %u, %u at most are allowed",
                       p->n_buffers, p->n_ops, p->n_groups, QN_MAX_BUFFERS, QN_MAX_OPS, QN_MAX_GROUPS);
    }
    if (!qn_pv_is_zero_(p->reserved, 0, sizeof p->reserved)) {
        return qn_fail(err, QN_TOO_NEW, "program: reserved words of the header are not zero");
    }
    return qn_pv_sections_(p, err);
}

/* --- Buffers and groups ----------------------------------------------------------------------------------------------- */

QN_GLUE int qn_pv_format_suits_(const qn_buffer *b) {
    switch (b->role) {
    case QN_ROLE_WEIGHT: return 1;
    case QN_ROLE_STATE:
        return b->format == QN_FORMAT_F32 || b->format == QN_FORMAT_F16 || b->format == QN_FORMAT_BF16 || b->format == QN_FORMAT_Q8_0;
    default: return b->format == QN_FORMAT_F32 || b->format == QN_FORMAT_I32;
    }
}

/* The symbol that dimension d of a buffer of this role may have besides FIXED: rows of steps, cells of states, outermost only. */
QN_GLUE int qn_pv_symbol_suits_(const qn_buffer *b, uint32_t d) {
    const uint32_t symbol = b->symbols[d];
    const int is_outer = d + 1 == b->rank;
    switch (b->role) {
    case QN_ROLE_WEIGHT: return symbol == QN_DIM_FIXED;
    case QN_ROLE_STATE: return symbol == (uint32_t)(is_outer ? QN_DIM_CELLS : QN_DIM_FIXED);
    default: return is_outer ? symbol == QN_DIM_TOKENS || symbol == QN_DIM_OUTPUTS : symbol == QN_DIM_FIXED;
    }
}

QN_GLUE qn_status qn_pv_dims_(const qn_buffer *b, uint32_t index, const char *name, qn_error *err) {
    uint64_t elements = 1;
    for (uint32_t d = 0; d < QN_MAX_RANK; d++) {
        const uint64_t dim = b->dims[d];
        if (d >= b->rank) {
            if (b->symbols[d] != QN_DIM_FIXED || dim != 1) {
                return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): dimension %u beyond its rank is not 1", index, name, d);
            }
        } else if (!qn_pv_symbol_suits_(b, d)) {
            return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): dimension %u may not have symbol %u", index, name, d, b->symbols[d]);
        } else if ((b->symbols[d] == QN_DIM_FIXED) != (dim > 0)) {
            return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): dimension %u is %llu; a fixed one is at least 1, a symbolic one 0",
                           index, name, d, (unsigned long long)dim);
        } else if (dim > 0 && dim > QN_MAX_ELEMENTS / elements) {
            return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s) has more than 2^40 elements", index, name);
        }
        elements *= dim > 0 ? dim : 1;
    }
    return QN_OK;
}

/* Panels are for matrices of the formats that <quoin/panels.h> has a layout for. */
QN_GLUE int qn_pv_has_panels_(const qn_buffer *b) {
    switch (b->format) {
    case QN_FORMAT_Q4_0: case QN_FORMAT_Q4_1: case QN_FORMAT_Q5_0: case QN_FORMAT_Q5_1: case QN_FORMAT_Q8_0:
    case QN_FORMAT_Q4_K: case QN_FORMAT_Q5_K: case QN_FORMAT_Q6_K: case QN_FORMAT_Q4_K_SOA: case QN_FORMAT_TERNARY:
        return b->role == QN_ROLE_WEIGHT && b->rank == 2;
    default: return 0;
    }
}

QN_GLUE qn_status qn_pv_buffer_(const qn_program *p, uint32_t index, uint32_t known_flags, qn_error *err) {
    const qn_buffer *b = qn_program_buffer(p, index);
    const qn_format_info *info = qn_format_find(b->format);
    const char *name;
    if (b->name_at >= p->names_bytes) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u: its name begins at byte %u of %u", index, b->name_at, p->names_bytes);
    }
    name = qn_program_name(p, b);
    if (b->role < QN_ROLE_WEIGHT || b->role > QN_ROLE_ACT) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): role %u is unknown", index, name, b->role);
    }
    if (info == NULL || !qn_pv_format_suits_(b)) {
        return qn_fail(err, info == NULL ? QN_UNSUPPORTED : QN_BAD_ARG, "program: buffer %u (%s): a buffer of role %u cannot have format %u (%s)",
                       index, name, b->role, b->format, qn_format_name(b->format));
    }
    if (b->rank < 1 || b->rank > QN_MAX_RANK || (b->role == QN_ROLE_STATE && b->rank != 2)) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): rank %u; it is 1 to 4, and 2 for a state", index, name, b->rank);
    }
    if (b->role == QN_ROLE_STATE ? b->group >= p->n_groups : b->group != 0) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): cell group %u; the program has %u, and only states belong to one", index,
                       name, b->group, p->n_groups);
    }
    if ((b->flags & ~known_flags) != 0 || !qn_pv_is_zero_(b, sizeof(qn_buffer), p->buffer_stride)) {
        return qn_fail(err, QN_TOO_NEW, "program: buffer %u (%s): a flag or member that is not known here is set", index, name);
    }
    if ((b->flags & QN_BUFFER_PANELS) != 0 && !qn_pv_has_panels_(b)) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): a buffer of role %u, rank %u and format %s has no panels", index, name,
                       b->role, b->rank, info->name);
    }
    if (b->symbols[0] == QN_DIM_FIXED && b->format != QN_FORMAT_TERNARY && b->dims[0] % info->block_elems != 0) {
        return qn_fail(err, QN_BAD_ARG, "program: buffer %u (%s): row length %llu is no multiple of the block of %u of %s", index, name,
                       (unsigned long long)b->dims[0], info->block_elems, info->name);
    }
    return qn_pv_dims_(b, index, name, err);
}

QN_GLUE qn_status qn_pv_tables_(const qn_program *p, uint32_t known_flags, qn_error *err) {
    for (uint32_t g = 0; g < p->n_groups; g++) {
        const qn_cell_group *group = qn_program_group(p, g);
        if (group->flags != 0 || !qn_pv_is_zero_(group, sizeof(qn_cell_group), p->group_stride)) {
            return qn_fail(err, QN_TOO_NEW, "program: cell group %u: a flag or member that is not known here is set", g);
        }
    }
    for (uint32_t b = 0; b < p->n_buffers; b++) {
        const qn_status status = qn_pv_buffer_(p, b, known_flags, err);
        if (status != QN_OK) {
            return status;
        }
    }
    return QN_OK;
}

/* --- Shapes of operands ----------------------------------------------------------------------------------------------- */

QN_GLUE const qn_buffer *qn_pv_operand_(const qn_pv_ *v, const qn_op *op, uint32_t i) {
    return qn_program_buffer(v->program, qn_program_operands(v->program, op)[i]);
}

/* F32 rows [TOKENS or OUTPUTS][n]. */
QN_GLUE int qn_pv_is_rows_(const qn_buffer *b) {
    return b->role >= QN_ROLE_INPUT && b->format == QN_FORMAT_F32 && b->rank == 2;
}

QN_GLUE int qn_pv_is_token_rows_(const qn_buffer *b, uint64_t columns) {
    return qn_pv_is_rows_(b) && b->symbols[1] == QN_DIM_TOKENS && b->dims[0] == columns;
}

/* I32 [symbol], given by the host. */
QN_GLUE int qn_pv_is_numbers_(const qn_buffer *b, uint32_t symbol) {
    return b->role == QN_ROLE_INPUT && b->format == QN_FORMAT_I32 && b->rank == 1 && b->symbols[0] == symbol;
}

QN_GLUE int qn_pv_is_vector_(const qn_buffer *b, uint64_t n) {
    return b->role == QN_ROLE_WEIGHT && b->format == QN_FORMAT_F32 && b->rank == 1 && b->dims[0] == n;
}

QN_GLUE int qn_pv_is_same_(const qn_buffer *a, const qn_buffer *b) {
    return qn_pv_is_rows_(a) && qn_pv_is_rows_(b) && a->dims[0] == b->dims[0] && a->symbols[1] == b->symbols[1];
}

QN_GLUE qn_status qn_pv_shape_fails_(const qn_pv_ *v, const qn_op *op, const char *rule) {
    return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): its operands break the rule: %s", v->op, qn_op_name(op->op), rule);
}

QN_GLUE int qn_pv_is_finite_(float x) {
    return x >= -3.402823466e+38f && x <= 3.402823466e+38f;
}

/* Copies the attribute struct. */
QN_GLUE qn_status qn_pv_attrs_(const qn_pv_ *v, const qn_op *op, void *own, uint32_t own_bytes, uint32_t least_bytes) {
    const void *attrs = qn_program_attrs(v->program, op);
    uint32_t size = 0;
    qn_status status = QN_BAD_ARG;
    memset(own, 0, own_bytes);
    if (attrs != NULL && op->attrs_bytes >= least_bytes) {
        memcpy(&size, attrs, sizeof size);
        if (size <= op->attrs_bytes) {
            status = qn_copy_in(own, own_bytes, least_bytes, attrs);
        }
    }
    return status == QN_OK ? QN_OK
                           : qn_fail_op(v->err, v->op, status, "program: op %u (%s): attributes of %u bytes that say %u; %u are needed",
                                        v->op, qn_op_name(op->op), op->attrs_bytes, size, least_bytes);
}

/* --- One function per op sheet ---------------------------------------------------------------------------------------- */

QN_GLUE qn_status qn_pv_embed_(const qn_pv_ *v, const qn_op *op) {
    const qn_buffer *table = qn_pv_operand_(v, op, 0), *ids = qn_pv_operand_(v, op, 1), *y = qn_pv_operand_(v, op, 2);
    return table->role == QN_ROLE_WEIGHT && table->rank == 2 && qn_pv_is_numbers_(ids, QN_DIM_TOKENS)
                   && qn_pv_is_token_rows_(y, table->dims[0])
               ? QN_OK : qn_pv_shape_fails_(v, op, "table [n_vocab][n_embd] weight, ids [TOKENS] I32 input, y [TOKENS][n_embd] F32");
}

QN_GLUE qn_status qn_pv_matmul_(const qn_pv_ *v, const qn_op *op) {
    const qn_buffer *w = qn_pv_operand_(v, op, 0), *x = qn_pv_operand_(v, op, 1), *y = qn_pv_operand_(v, op, op->n_inputs);
    const int has_bias = op->n_inputs == 3;
    return w->role == QN_ROLE_WEIGHT && w->rank == 2 && qn_pv_is_rows_(x) && qn_pv_is_rows_(y) && x->dims[0] == w->dims[0]
                   && y->dims[0] == w->dims[1] && x->symbols[1] == y->symbols[1]
                   && (!has_bias || qn_pv_is_vector_(qn_pv_operand_(v, op, 2), w->dims[1]))
               ? QN_OK : qn_pv_shape_fails_(v, op, "W [N][K] weight, x [rows][K] F32, bias [N] F32 weight, y [rows][N] F32");
}

QN_GLUE qn_status qn_pv_add_(const qn_pv_ *v, const qn_op *op) {
    const qn_buffer *a = qn_pv_operand_(v, op, 0), *b = qn_pv_operand_(v, op, 1), *y = qn_pv_operand_(v, op, 2);
    return qn_pv_is_same_(a, y) && (qn_pv_is_same_(b, y) || qn_pv_is_vector_(b, y->dims[0]))
               ? QN_OK : qn_pv_shape_fails_(v, op, "a, b, y [rows][n] F32, or b [n] F32 weight");
}

QN_GLUE qn_status qn_pv_scale_(const qn_pv_ *v, const qn_op *op) {
    qn_scale_attrs attrs;
    const qn_status status = qn_pv_attrs_(v, op, &attrs, sizeof attrs, QN_LEAST_qn_scale_attrs);
    if (status != QN_OK) {
        return status;
    }
    return qn_pv_is_same_(qn_pv_operand_(v, op, 0), qn_pv_operand_(v, op, 1)) && qn_pv_is_finite_(attrs.factor)
               ? QN_OK : qn_pv_shape_fails_(v, op, "x, y [rows][n] F32, factor finite");
}

QN_GLUE qn_status qn_pv_softcap_(const qn_pv_ *v, const qn_op *op) {
    qn_softcap_attrs attrs;
    const qn_status status = qn_pv_attrs_(v, op, &attrs, sizeof attrs, QN_LEAST_qn_softcap_attrs);
    if (status != QN_OK) {
        return status;
    }
    return qn_pv_is_same_(qn_pv_operand_(v, op, 0), qn_pv_operand_(v, op, 1)) && qn_pv_is_finite_(attrs.cap) && attrs.cap > 0
               ? QN_OK : qn_pv_shape_fails_(v, op, "x, y [rows][n] F32, cap above 0");
}

QN_GLUE qn_status qn_pv_gated_(const qn_pv_ *v, const qn_op *op) {
    qn_gated_attrs attrs;
    const qn_buffer *y = qn_pv_operand_(v, op, 2);
    const qn_status status = qn_pv_attrs_(v, op, &attrs, sizeof attrs, QN_LEAST_qn_gated_attrs);
    if (status != QN_OK) {
        return status;
    }
    return qn_pv_is_same_(qn_pv_operand_(v, op, 0), y) && qn_pv_is_same_(qn_pv_operand_(v, op, 1), y) && attrs.kind <= QN_GATED_GELU_TANH
               ? QN_OK : qn_pv_shape_fails_(v, op, "gate, up, y [rows][n] F32, a known kind");
}

QN_GLUE qn_status qn_pv_rms_norm_(const qn_pv_ *v, const qn_op *op) {
    qn_rms_norm_attrs attrs;
    const qn_buffer *x = qn_pv_operand_(v, op, 0), *weight = qn_pv_operand_(v, op, 1), *y = qn_pv_operand_(v, op, 2);
    const qn_status status = qn_pv_attrs_(v, op, &attrs, sizeof attrs, QN_LEAST_qn_rms_norm_attrs);
    if (status != QN_OK) {
        return status;
    }
    return qn_pv_is_same_(x, y) && attrs.group > 0 && x->dims[0] % attrs.group == 0 && qn_pv_is_vector_(weight, attrs.group)
                   && qn_pv_is_finite_(attrs.epsilon) && attrs.epsilon >= 0
               ? QN_OK : qn_pv_shape_fails_(v, op, "x, y [rows][n] F32, n a multiple of group, weight [group] F32, epsilon at least 0");
}

QN_GLUE int qn_pv_rope_suits_(const qn_rope_attrs *a) {
    if (a->n_rot < 2 || a->n_rot % 2 != 0 || a->n_rot > a->head_dim || a->pairing > QN_ROPE_HALF) {
        return 0;
    }
    if (!qn_pv_is_finite_(a->base) || !qn_pv_is_finite_(a->freq_scale) || !qn_pv_is_finite_(a->ext_factor)
        || !qn_pv_is_finite_(a->attn_factor) || a->base <= 0 || a->freq_scale <= 0) {
        return 0;
    }
    return a->ext_factor == 0 || (a->base > 1 && a->n_ctx_orig > 0 && qn_pv_is_finite_(a->beta_fast) && qn_pv_is_finite_(a->beta_slow)
                                  && a->beta_fast > 0 && a->beta_slow > 0);
}

QN_GLUE qn_status qn_pv_rope_(const qn_pv_ *v, const qn_op *op) {
    qn_rope_attrs attrs;
    const qn_buffer *x = qn_pv_operand_(v, op, 0), *y = qn_pv_operand_(v, op, op->n_inputs);
    const qn_status status = qn_pv_attrs_(v, op, &attrs, sizeof attrs, QN_LEAST_qn_rope_attrs);
    if (status != QN_OK) {
        return status;
    }
    return qn_pv_rope_suits_(&attrs) && qn_pv_is_token_rows_(x, (uint64_t)attrs.n_head * attrs.head_dim) && qn_pv_is_same_(x, y)
                   && (op->n_inputs == 1 || qn_pv_is_vector_(qn_pv_operand_(v, op, 1), attrs.n_rot / 2))
               ? QN_OK
               : qn_pv_shape_fails_(v, op, "x, y [TOKENS][n_head * head_dim] F32, factors [n_rot / 2] F32 weight, n_rot even and at most "
                                           "head_dim, base and freq_scale above 0 (with YaRN: base above 1, n_ctx_orig and betas above 0)");
}

QN_GLUE qn_status qn_pv_state_write_(const qn_pv_ *v, const qn_op *op) {
    const qn_buffer *x = qn_pv_operand_(v, op, 0), *state = qn_pv_operand_(v, op, 1);
    return state->role == QN_ROLE_STATE && qn_pv_is_token_rows_(x, state->dims[0])
               ? QN_OK : qn_pv_shape_fails_(v, op, "x [TOKENS][n] F32, state [CELLS][n]");
}

QN_GLUE qn_status qn_pv_attention_(const qn_pv_ *v, const qn_op *op) {
    qn_attention_attrs a;
    const qn_buffer *q = qn_pv_operand_(v, op, 0), *k = qn_pv_operand_(v, op, 1), *values = qn_pv_operand_(v, op, 2);
    const qn_buffer *y = qn_pv_operand_(v, op, 3);
    const qn_status status = qn_pv_attrs_(v, op, &a, sizeof a, QN_LEAST_qn_attention_attrs);
    uint32_t window;
    if (status != QN_OK) {
        return status;
    }
    if (k->role != QN_ROLE_STATE || values->role != QN_ROLE_STATE || k->group != values->group || a.n_head == 0 || a.n_kv_head == 0
        || a.n_head % a.n_kv_head != 0 || a.head_dim == 0 || a.value_dim == 0
        || k->dims[0] != (uint64_t)a.n_kv_head * a.head_dim || values->dims[0] != (uint64_t)a.n_kv_head * a.value_dim
        || !qn_pv_is_token_rows_(q, (uint64_t)a.n_head * a.head_dim) || !qn_pv_is_token_rows_(y, (uint64_t)a.n_head * a.value_dim)) {
        return qn_pv_shape_fails_(v, op, "q [TOKENS][n_head * head_dim] F32, k and v states [CELLS][n_kv_head * dim] of one cell group, "
                                         "y [TOKENS][n_head * value_dim] F32, n_kv_head divides n_head");
    }
    window = qn_program_group(v->program, k->group)->window;
    if (!qn_pv_is_finite_(a.scale) || !qn_pv_is_finite_(a.softcap) || a.softcap < 0 || (window > 0 && (a.window == 0 || a.window > window))) {
        return qn_pv_shape_fails_(v, op, "scale finite, softcap at least 0, window not longer than its cell group's");
    }
    return QN_OK;
}

QN_GLUE qn_status qn_pv_select_rows_(const qn_pv_ *v, const qn_op *op) {
    const qn_buffer *x = qn_pv_operand_(v, op, 0), *rows = qn_pv_operand_(v, op, 1), *y = qn_pv_operand_(v, op, 2);
    return qn_pv_is_rows_(y) && qn_pv_is_token_rows_(x, y->dims[0]) && qn_pv_is_numbers_(rows, QN_DIM_OUTPUTS)
                   && y->symbols[1] == QN_DIM_OUTPUTS
               ? QN_OK : qn_pv_shape_fails_(v, op, "x [TOKENS][n] F32, rows [OUTPUTS] I32 input, y [OUTPUTS][n] F32");
}

QN_GLUE qn_status qn_pv_sheet_(const qn_pv_ *v, const qn_op *op) {
    switch (op->op) {
    case QN_OP_EMBED: return qn_pv_embed_(v, op);
    case QN_OP_MATMUL: return qn_pv_matmul_(v, op);
    case QN_OP_ADD: return qn_pv_add_(v, op);
    case QN_OP_SCALE: return qn_pv_scale_(v, op);
    case QN_OP_RMS_NORM: return qn_pv_rms_norm_(v, op);
    case QN_OP_ROPE: return qn_pv_rope_(v, op);
    case QN_OP_STATE_WRITE: return qn_pv_state_write_(v, op);
    case QN_OP_ATTENTION: return qn_pv_attention_(v, op);
    case QN_OP_GATED: return qn_pv_gated_(v, op);
    case QN_OP_SOFTCAP: return qn_pv_softcap_(v, op);
    default: return qn_pv_select_rows_(v, op);
    }
}

/* --- Ops -------------------------------------------------------------------------------------------------------------- */

typedef struct qn_pv_arity_ {
    uint32_t op, least, most, outputs;
    int has_attrs;
} qn_pv_arity_;

QN_GLUE const qn_pv_arity_ *qn_pv_find_arity_(uint32_t op) {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) {number, least, most, outputs, sizeof(#attrs) != sizeof("void")},
    static const qn_pv_arity_ table[] = {
#include <quoin/ops.def>
    };
#undef QN_OP
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].op == op) {
            return &table[i];
        }
    }
    return NULL;
}

/* Counts, indexes and offsets of one op; everything that must hold before its operands and attributes may be looked at. */
QN_GLUE qn_status qn_pv_op_frame_(const qn_pv_ *v, const qn_op *op) {
    const qn_program *p = v->program;
    const qn_pv_arity_ *arity = qn_pv_find_arity_(op->op);
    const uint64_t n_operands = (uint64_t)op->n_inputs + op->n_outputs;
    if (arity == NULL) {
        return qn_fail_op(v->err, v->op, QN_UNSUPPORTED, "program: op %u: number %u is not in the registry", v->op, op->op);
    }
    if (op->n_inputs < arity->least || op->n_inputs > arity->most || op->n_outputs != arity->outputs) {
        return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): %u inputs and %u outputs; it takes %u to %u and gives %u", v->op,
                          qn_op_name(op->op), op->n_inputs, op->n_outputs, arity->least, arity->most, arity->outputs);
    }
    if (op->operands_at > p->n_operands || n_operands > p->n_operands - op->operands_at) {
        return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): operands %u to %llu of %u", v->op, qn_op_name(op->op),
                          op->operands_at, (unsigned long long)(op->operands_at + n_operands), p->n_operands);
    }
    if (op->attrs_at % 8 != 0 || op->attrs_at > p->attrs_bytes || op->attrs_bytes > p->attrs_bytes - op->attrs_at
        || (!arity->has_attrs && op->attrs_bytes > 0)) {
        return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): attributes at byte %u with %u bytes; the section has %u%s", v->op,
                          qn_op_name(op->op), op->attrs_at, op->attrs_bytes, p->attrs_bytes, arity->has_attrs ? "" : " and the op has none");
    }
    if ((op->flags & ~(uint32_t)QN_OP_LAYER_END) != 0 || !qn_pv_is_zero_(op, sizeof(qn_op), p->op_stride)) {
        return qn_fail_op(v->err, v->op, QN_TOO_NEW, "program: op %u (%s): a flag or member that is not known here is set", v->op,
                          qn_op_name(op->op));
    }
    for (uint64_t i = 0; i < n_operands; i++) {
        if (qn_program_operands(p, op)[i] >= p->n_buffers) {
            return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): operand %llu is buffer %u of %u", v->op, qn_op_name(op->op),
                              (unsigned long long)i, qn_program_operands(p, op)[i], p->n_buffers);
        }
    }
    return QN_OK;
}

QN_GLUE qn_status qn_pv_order_fails_(const qn_pv_ *v, const qn_op *op, uint32_t buffer, const char *what) {
    return qn_fail_op(v->err, v->op, QN_BAD_ARG, "program: op %u (%s): buffer %u (%s) %s", v->op, qn_op_name(op->op), buffer,
                      qn_program_name(v->program, qn_program_buffer(v->program, buffer)), what);
}

/* Single assignment: what is read stands before, what is written is written once. */
QN_GLUE qn_status qn_pv_op_order_(qn_pv_ *v, const qn_op *op) {
    const uint32_t *operands = qn_program_operands(v->program, op);
    const uint32_t n_operands = op->n_inputs + op->n_outputs;
    for (uint32_t i = 0; i < n_operands; i++) {
        const uint32_t b = operands[i], role = qn_program_buffer(v->program, b)->role;
        const int is_state_write = op->op == QN_OP_STATE_WRITE && i == 1;
        const int is_write = i >= op->n_inputs || is_state_write;
        if (i >= op->n_inputs && role != QN_ROLE_ACT && role != QN_ROLE_OUTPUT) {
            return qn_pv_order_fails_(v, op, b, "is written but is neither act nor output");
        }
        if (is_write && qn_pv_is_written_(v, b)) {
            return qn_pv_order_fails_(v, op, b, "is written a second time");
        }
        if (!is_write && role == QN_ROLE_OUTPUT) {
            return qn_pv_order_fails_(v, op, b, "is an output and cannot be read");
        }
        if (!is_write && (role == QN_ROLE_ACT || role == QN_ROLE_STATE) && !qn_pv_is_written_(v, b)) {
            return qn_pv_order_fails_(v, op, b, "is read before it is written");
        }
        if (is_write) {
            v->written[b / 8] = (unsigned char)(v->written[b / 8] | 1u << (b % 8));
        }
    }
    return QN_OK;
}

QN_GLUE qn_status qn_pv_ops_(qn_pv_ *v) {
    const qn_program *p = v->program;
    for (v->op = 0; v->op < p->n_ops; v->op++) {
        const qn_op *op = qn_program_op(p, v->op);
        qn_status status = qn_pv_op_frame_(v, op);
        if (status == QN_OK) {
            status = qn_pv_sheet_(v, op);
        }
        if (status == QN_OK) {
            status = qn_pv_op_order_(v, op);
        }
        if (status != QN_OK) {
            return status;
        }
    }
    for (uint32_t b = 0; b < p->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(p, b);
        if ((buffer->role == QN_ROLE_ACT || buffer->role == QN_ROLE_OUTPUT) && !qn_pv_is_written_(v, b)) {
            return qn_fail(v->err, QN_BAD_ARG, "program: buffer %u (%s) is never written", b, qn_program_name(p, buffer));
        }
    }
    return QN_OK;
}

/* Checks every rule about the n_bytes at `bytes` (aligned to 8). No byte outside is read and none is believed unchecked.
 * QN_OK, or with a text in *err: BAD_ARG (malformed), UNSUPPORTED (an op, format or profile not in the registries), TOO_NEW (a
 * member that this header does not know is set). err->op names the op where there is one. */
QN_GLUE qn_status qn_program_validate_flags(const void *bytes, uint64_t n_bytes, uint32_t known_flags, qn_error *err) {
    qn_pv_ v;
    qn_status status = qn_pv_header_(bytes, n_bytes, err);
    if (status == QN_OK) {
        status = qn_pv_tables_((const qn_program *)bytes, known_flags, err);
    }
    if (status == QN_OK) {
        memset(&v, 0, sizeof v);
        v.program = (const qn_program *)bytes;
        v.err = err;
        status = qn_pv_ops_(&v);
    }
    return status;
}

QN_GLUE qn_status qn_program_validate(const void *bytes, uint64_t n_bytes, qn_error *err) {
    return qn_program_validate_flags(bytes, n_bytes, 0, err);
}

/* --- Places for act buffers ------------------------------------------------------------------------------------------- */

#define QN_ACT_ALIGN 64u

/* Where an act buffer lives. */
typedef struct qn_act_slot {
    uint64_t offset;   /* in the arena, a multiple of 64 */
    uint64_t bytes;    /* at the limits, a multiple of 64; 0: not an act buffer */
    uint32_t last_op;  /* that reads it (or, when none does, writes it) */
    uint32_t next;     /* used while planning */
} qn_act_slot;

/* Bytes of act buffer b at the limits, rounded up to the alignment; 0 when they do not fit in 62 bits. */
QN_GLUE uint64_t qn_pa_bytes_(const qn_buffer *b, const qn_limits *limits) {
    const uint64_t most = UINT64_C(1) << 62;
    const uint64_t row = qn_format_bytes(b->format, qn_buffer_dim(b, 0, limits->max_tokens, limits->max_outputs, 0));
    uint64_t bytes = row;
    for (uint32_t d = 1; d < b->rank; d++) {
        const uint64_t dim = qn_buffer_dim(b, d, limits->max_tokens, limits->max_outputs, 0);
        if (dim == 0 || bytes > most / dim) {
            return 0;
        }
        bytes *= dim;
    }
    return (bytes + QN_ACT_ALIGN - 1) / QN_ACT_ALIGN * QN_ACT_ALIGN;
}

/* Puts slot b into the first gap of the list of live slots (ordered by offset, *head first) that is long enough. */
QN_GLUE void qn_pa_place_(qn_act_slot *slots, uint32_t *head, uint32_t b) {
    uint64_t at = 0;
    uint32_t *link = head;
    while (*link != UINT32_MAX && slots[*link].offset - at < slots[b].bytes) {
        at = slots[*link].offset + slots[*link].bytes;
        link = &slots[*link].next;
    }
    slots[b].offset = at;
    slots[b].next = *link;
    *link = b;
}

QN_GLUE void qn_pa_retire_(qn_act_slot *slots, uint32_t *head, uint32_t op) {
    uint32_t *link = head;
    while (*link != UINT32_MAX) {
        if (slots[*link].last_op <= op) {
            *link = slots[*link].next;
        } else {
            link = &slots[*link].next;
        }
    }
}

/* Gives every act buffer of a validated program its place in one arena. Two buffers share bytes only when no op needs both;
 * with QN_COMPILE_MATERIALIZE none do.
 *   slots   [n_buffers], written     *out_bytes   size of the arena, a multiple of 64
 * NO_HOST_MEM when the sizes do not fit in 62 bits. */
QN_GLUE qn_status qn_plan_acts(const qn_program *program, const qn_limits *limits, uint32_t compile_flags, qn_act_slot *slots,
                               uint64_t *out_bytes, qn_error *err) {
    const int is_shared = (compile_flags & QN_COMPILE_MATERIALIZE) == 0;
    uint32_t head = UINT32_MAX;
    *out_bytes = 0;
    memset(slots, 0, program->n_buffers * sizeof slots[0]);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        for (uint32_t n = 0; n < op->n_inputs + op->n_outputs; n++) {
            slots[qn_program_operands(program, op)[n]].last_op = i;
        }
    }
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const qn_op *op = qn_program_op(program, i);
        for (uint32_t n = op->n_inputs; n < op->n_inputs + op->n_outputs; n++) {
            const uint32_t b = qn_program_operands(program, op)[n];
            const qn_buffer *buffer = qn_program_buffer(program, b);
            if (buffer->role != QN_ROLE_ACT) {
                continue;
            }
            slots[b].bytes = qn_pa_bytes_(buffer, limits);
            if (slots[b].bytes == 0 || *out_bytes > (UINT64_C(1) << 62)) {
                return qn_fail_op(err, i, QN_NO_HOST_MEM, "buffer %s is too large with %u tokens a step", qn_program_name(program, buffer),
                                  limits->max_tokens);
            }
            qn_pa_place_(slots, &head, b);
            if (slots[b].offset + slots[b].bytes > *out_bytes) {
                *out_bytes = slots[b].offset + slots[b].bytes;
            }
        }
        if (is_shared) {
            qn_pa_retire_(slots, &head, i);
        }
    }
    return QN_OK;
}

#ifdef __cplusplus
}
#endif
#endif
