/* test_program_validate.c — qn_program_validate refuses every broken rule with a text, and never reads outside the bytes.
 *
 * The programs lie in memory of exactly their length, so that AddressSanitizer sees a read beyond them. The mutation test also
 * gives what was accepted to the planner and to the reference backend's compile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue_program.h>

#include "test_stack.h"

typedef struct fixture {
    stack model;
    qn_program *program;   /* own copy, to be broken */
    qn_error error;
} fixture;

static int set_up(void **state) {
    static fixture f;
    test_stack_init(&f.model);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    free(f->program);
    f->program = NULL;
    stack_free(&f->model);
    return 0;
}

static void renew(fixture *f) {
    free(f->program);
    f->program = malloc(f->model.m.program->total_bytes);
    assert_non_null(f->program);
    memcpy(f->program, f->model.m.program, f->model.m.program->total_bytes);
    f->error = (qn_error){.size = sizeof f->error, .op = QN_NO_OP};
}

static qn_buffer *buffer_at(qn_program *p, uint32_t i) {
    return (qn_buffer *)(void *)((char *)p + p->buffers_at) + i;
}

static qn_op *op_at(qn_program *p, uint32_t i) {
    return (qn_op *)(void *)((char *)p + p->ops_at) + i;
}

static uint32_t *operands_of(qn_program *p, const qn_op *op) {
    return (uint32_t *)(void *)((char *)p + p->operands_at) + op->operands_at;
}

static void *attrs_of(qn_program *p, const qn_op *op) {
    return (char *)p + p->attrs_at + op->attrs_at;
}

/* The first op with this number. */
static qn_op *find_op(qn_program *p, uint32_t number) {
    for (uint32_t i = 0; i < p->n_ops; i++) {
        if (op_at(p, i)->op == number) {
            return op_at(p, i);
        }
    }
    fail_msg("the program has no op %u", number);
    return NULL;
}

static qn_buffer *operand_buffer(qn_program *p, uint32_t number, uint32_t i) {
    return buffer_at(p, operands_of(p, find_op(p, number))[i]);
}

/* --- One broken rule each --------------------------------------------------------------------------------------------- */

static void break_magic(qn_program *p) { p->magic++; }
static void break_encoding(qn_program *p) { p->encoding = 7; }
static void break_total(qn_program *p) { p->total_bytes += 8; }
static void break_profile_end(qn_program *p) { memset(p->profile, 'x', sizeof p->profile); }
static void break_profile(qn_program *p) { p->profile[0] = 'D'; }
static void break_buffer_count(qn_program *p) { p->n_buffers = QN_MAX_BUFFERS + 1; }
static void break_op_count(qn_program *p) { p->n_ops = 0; }
static void break_group_count(qn_program *p) { p->n_groups = QN_MAX_GROUPS + 1; }
static void break_reserved(qn_program *p) { p->reserved[2] = 1; }
static void break_section_end(qn_program *p) { p->n_operands = UINT32_MAX; }
static void break_section_begin(qn_program *p) { p->buffers_at = 8; }
static void break_section_alignment(qn_program *p) { p->ops_at += 4; }
static void break_section_far(qn_program *p) { p->names_at = 0xfffffff8u; }
static void break_section_overlap(qn_program *p) { p->groups_at = p->ops_at; }
static void break_stride(qn_program *p) { p->op_stride = 8; }
static void break_stride_alignment(qn_program *p) { p->buffer_stride += 4; }
static void break_names_end(qn_program *p) { ((char *)p)[p->names_at + p->names_bytes - 1] = 'x'; }
static void break_names(qn_program *p) { p->names_bytes = 0; }
static void break_name_at(qn_program *p) { buffer_at(p, 0)->name_at = p->names_bytes; }
static void break_role(qn_program *p) { buffer_at(p, 0)->role = 6; }
static void break_format(qn_program *p) { buffer_at(p, 2)->format = 99; }
static void break_act_format(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->format = QN_FORMAT_F16; }
static void break_state_format(qn_program *p) { operand_buffer(p, QN_OP_STATE_WRITE, 1)->format = QN_FORMAT_I32; }
static void break_rank(qn_program *p) { buffer_at(p, 2)->rank = 5; }
static void break_rank_zero(qn_program *p) { buffer_at(p, 2)->rank = 0; }
static void break_state_rank(qn_program *p) { operand_buffer(p, QN_OP_STATE_WRITE, 1)->rank = 1; }
static void break_group_of_act(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->group = 1; }
static void break_group_of_state(qn_program *p) { operand_buffer(p, QN_OP_STATE_WRITE, 1)->group = 2; }
static void break_buffer_flags(qn_program *p) { buffer_at(p, 1)->flags = 1; }
static void break_unused_dim(qn_program *p) { buffer_at(p, 2)->dims[3] = 2; }
static void break_zero_dim(qn_program *p) { buffer_at(p, 2)->dims[0] = 0; }
static void break_block(qn_program *p) { buffer_at(p, 2)->dims[0] = 255; }
static void break_huge_dim(qn_program *p) { buffer_at(p, 2)->dims[1] = UINT64_C(1) << 40; }
static void break_huger_dim(qn_program *p) { buffer_at(p, 2)->dims[0] = UINT64_MAX - 31; }
static void break_symbol(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->symbols[1] = QN_DIM_CELLS; }
static void break_inner_symbol(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->symbols[0] = QN_DIM_TOKENS; }
static void break_weight_symbol(qn_program *p) { buffer_at(p, 2)->symbols[1] = QN_DIM_TOKENS; }
static void break_symbolic_dim(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->dims[1] = 3; }
static void break_op_number(qn_program *p) { op_at(p, 3)->op = 4000; }
static void break_op_flags(qn_program *p) { op_at(p, 3)->flags = 2; }
static void break_inputs(qn_program *p) { find_op(p, QN_OP_MATMUL)->n_inputs = 4; }
static void break_outputs(qn_program *p) { find_op(p, QN_OP_ADD)->n_outputs = 2; }
static void break_operands_at(qn_program *p) { find_op(p, QN_OP_ADD)->operands_at = p->n_operands - 2; }
static void break_operands_far(qn_program *p) { find_op(p, QN_OP_ADD)->operands_at = UINT32_MAX; }
static void break_operand(qn_program *p) { operands_of(p, find_op(p, QN_OP_ADD))[0] = p->n_buffers; }
static void break_attrs_at(qn_program *p) { find_op(p, QN_OP_SCALE)->attrs_at = p->attrs_bytes; }
static void break_attrs_alignment(qn_program *p) { find_op(p, QN_OP_SCALE)->attrs_at += 4; }
static void break_attrs_missing(qn_program *p) { find_op(p, QN_OP_SCALE)->attrs_bytes = 0; }
static void break_attrs_short(qn_program *p) { find_op(p, QN_OP_ROPE)->attrs_bytes = 44; }
static void break_attrs_size(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->size = 200; }
static void break_attrs_unwanted(qn_program *p) { find_op(p, QN_OP_ADD)->attrs_bytes = 8; }
static void break_order(qn_program *p) { operands_of(p, op_at(p, 1))[0] = operands_of(p, find_op(p, QN_OP_ADD))[2]; }
static void break_single_assignment(qn_program *p) { operands_of(p, op_at(p, 1))[1] = operands_of(p, op_at(p, 0))[2]; }
static void break_write_to_input(qn_program *p) { operand_buffer(p, QN_OP_ADD, 2)->role = QN_ROLE_INPUT; }
static void break_read_of_output(qn_program *p) { operand_buffer(p, QN_OP_SCALE, 1)->role = QN_ROLE_OUTPUT; }
static void break_never_written(qn_program *p) { p->n_ops--; }
static void break_state_twice(qn_program *p) {
    qn_op *write = find_op(p, QN_OP_STATE_WRITE);
    operands_of(p, write + 1)[1] = operands_of(p, write)[1];
}
static void break_state_unwritten(qn_program *p) {
    qn_op *write = find_op(p, QN_OP_STATE_WRITE);
    write->operands_at = write[1].operands_at;
    *(write + 1) = *find_op(p, QN_OP_ADD);
}
static void break_embed(qn_program *p) { operand_buffer(p, QN_OP_EMBED, 1)->format = QN_FORMAT_F32; }
static void break_matmul(qn_program *p) { operands_of(p, find_op(p, QN_OP_MATMUL))[0] = operands_of(p, find_op(p, QN_OP_EMBED))[0]; }
static void break_bias(qn_program *p) { operand_buffer(p, QN_OP_MATMUL, 2)->dims[0] /= 2; }
static void break_scale(qn_program *p) { ((uint32_t *)attrs_of(p, find_op(p, QN_OP_SCALE)))[1] = 0x7f800000; }
static void break_norm_group(qn_program *p) { ((qn_rms_norm_attrs *)attrs_of(p, find_op(p, QN_OP_RMS_NORM)))->group = 0; }
static void break_norm_epsilon(qn_program *p) { ((qn_rms_norm_attrs *)attrs_of(p, find_op(p, QN_OP_RMS_NORM)))->epsilon = -1; }
static void break_rope_odd(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->n_rot = 63; }
static void break_rope_long(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->n_rot = 66; }
static void break_rope_heads(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->n_head = 0x80000004u; }
static void break_rope_base(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->base = 0; }
static void break_rope_yarn(qn_program *p) { ((qn_rope_attrs *)attrs_of(p, find_op(p, QN_OP_ROPE)))->ext_factor = 1; }
static void break_heads(qn_program *p) { ((qn_attention_attrs *)attrs_of(p, find_op(p, QN_OP_ATTENTION)))->n_kv_head = 0; }
static void break_head_dim(qn_program *p) { ((qn_attention_attrs *)attrs_of(p, find_op(p, QN_OP_ATTENTION)))->head_dim = 32; }
static void break_attention_group(qn_program *p) { operand_buffer(p, QN_OP_ATTENTION, 2)->group ^= 1; }
static void break_window(qn_program *p) { ((qn_cell_group *)(void *)((char *)p + p->groups_at))[0].window = 5; }
static void break_gated(qn_program *p) { ((qn_gated_attrs *)attrs_of(p, find_op(p, QN_OP_GATED)))->kind = 9; }
static void break_cap(qn_program *p) { ((qn_softcap_attrs *)attrs_of(p, find_op(p, QN_OP_SOFTCAP)))->cap = 0; }
static void break_select(qn_program *p) { operand_buffer(p, QN_OP_SELECT_ROWS, 1)->symbols[0] = QN_DIM_TOKENS; }

static const struct {
    const char *name;
    void (*apply)(qn_program *program);
    qn_status status;
    const char *text;    /* that the message contains */
} rows[] = {
    {"magic", break_magic, QN_BAD_ARG, "magic"},
    {"encoding", break_encoding, QN_TOO_NEW, "encoding 7"},
    {"total", break_total, QN_BAD_ARG, "the header says"},
    {"profile not terminated", break_profile_end, QN_BAD_ARG, "profile"},
    {"profile", break_profile, QN_UNSUPPORTED, "Decode-core-0"},
    {"buffer count", break_buffer_count, QN_BAD_ARG, "65537 buffers"},
    {"op count", break_op_count, QN_BAD_ARG, "0 ops"},
    {"group count", break_group_count, QN_BAD_ARG, "17 cell groups"},
    {"reserved", break_reserved, QN_TOO_NEW, "reserved"},
    {"section end", break_section_end, QN_BAD_ARG, "section operands"},
    {"section begin", break_section_begin, QN_BAD_ARG, "section buffers"},
    {"section alignment", break_section_alignment, QN_BAD_ARG, "section ops"},
    {"section far", break_section_far, QN_BAD_ARG, "section names"},
    {"section overlap", break_section_overlap, QN_BAD_ARG, "overlap"},
    {"stride", break_stride, QN_BAD_ARG, "strides"},
    {"stride alignment", break_stride_alignment, QN_BAD_ARG, "strides"},
    {"names end", break_names_end, QN_BAD_ARG, "not terminated"},
    {"no names", break_names, QN_BAD_ARG, "names section"},
    {"name offset", break_name_at, QN_BAD_ARG, "buffer 0"},
    {"role", break_role, QN_BAD_ARG, "role 6"},
    {"format", break_format, QN_UNSUPPORTED, "format 99"},
    {"act format", break_act_format, QN_BAD_ARG, "F16"},
    {"state format", break_state_format, QN_BAD_ARG, "I32"},
    {"rank", break_rank, QN_BAD_ARG, "rank 5"},
    {"rank zero", break_rank_zero, QN_BAD_ARG, "rank 0"},
    {"state rank", break_state_rank, QN_BAD_ARG, "rank 1"},
    {"group of an act", break_group_of_act, QN_BAD_ARG, "only states"},
    {"group of a state", break_group_of_state, QN_BAD_ARG, "cell group 2"},
    {"buffer flags", break_buffer_flags, QN_TOO_NEW, "buffer 1"},
    {"unused dimension", break_unused_dim, QN_BAD_ARG, "dimension 3"},
    {"zero dimension", break_zero_dim, QN_BAD_ARG, "dimension 0 is 0"},
    {"block", break_block, QN_BAD_ARG, "multiple of the block"},
    {"huge dimension", break_huge_dim, QN_BAD_ARG, "2^40"},
    {"huger dimension", break_huger_dim, QN_BAD_ARG, "2^40"},
    {"symbol", break_symbol, QN_BAD_ARG, "symbol 3"},
    {"inner symbol", break_inner_symbol, QN_BAD_ARG, "symbol 1"},
    {"symbol of a weight", break_weight_symbol, QN_BAD_ARG, "symbol 1"},
    {"symbolic dimension", break_symbolic_dim, QN_BAD_ARG, "symbolic one 0"},
    {"op number", break_op_number, QN_UNSUPPORTED, "4000"},
    {"op flags", break_op_flags, QN_TOO_NEW, "op 3"},
    {"inputs", break_inputs, QN_BAD_ARG, "4 inputs"},
    {"outputs", break_outputs, QN_BAD_ARG, "2 outputs"},
    {"operand list", break_operands_at, QN_BAD_ARG, "operands"},
    {"operand list far", break_operands_far, QN_BAD_ARG, "operands"},
    {"operand", break_operand, QN_BAD_ARG, "operand 0"},
    {"attribute offset", break_attrs_at, QN_BAD_ARG, "attributes"},
    {"attribute alignment", break_attrs_alignment, QN_BAD_ARG, "attributes"},
    {"no attributes", break_attrs_missing, QN_BAD_ARG, "attributes"},
    {"short attributes", break_attrs_short, QN_BAD_ARG, "attributes"},
    {"attribute size", break_attrs_size, QN_BAD_ARG, "say 200"},
    {"attributes where none are", break_attrs_unwanted, QN_BAD_ARG, "has none"},
    {"order", break_order, QN_BAD_ARG, "before it is written"},
    {"single assignment", break_single_assignment, QN_BAD_ARG, "second time"},
    {"write to an input", break_write_to_input, QN_BAD_ARG, "neither act nor output"},
    {"read of an output", break_read_of_output, QN_BAD_ARG, "cannot be read"},
    {"never written", break_never_written, QN_BAD_ARG, "never written"},
    {"state written twice", break_state_twice, QN_BAD_ARG, "second time"},
    {"state not written", break_state_unwritten, QN_BAD_ARG, "before it is written"},
    {"embed", break_embed, QN_BAD_ARG, "ids"},
    {"matmul", break_matmul, QN_BAD_ARG, "W [N][K]"},
    {"bias", break_bias, QN_BAD_ARG, "bias"},
    {"scale", break_scale, QN_BAD_ARG, "factor"},
    {"norm group", break_norm_group, QN_BAD_ARG, "group"},
    {"norm epsilon", break_norm_epsilon, QN_BAD_ARG, "epsilon"},
    {"odd n_rot", break_rope_odd, QN_BAD_ARG, "n_rot"},
    {"long n_rot", break_rope_long, QN_BAD_ARG, "n_rot"},
    {"rope heads", break_rope_heads, QN_BAD_ARG, "n_head"},
    {"rope base", break_rope_base, QN_BAD_ARG, "base"},
    {"rope yarn", break_rope_yarn, QN_BAD_ARG, "YaRN"},
    {"heads", break_heads, QN_BAD_ARG, "n_kv_head"},
    {"head_dim", break_head_dim, QN_BAD_ARG, "head_dim"},
    {"attention group", break_attention_group, QN_BAD_ARG, "one cell group"},
    {"window", break_window, QN_BAD_ARG, "window"},
    {"gated", break_gated, QN_BAD_ARG, "kind"},
    {"cap", break_cap, QN_BAD_ARG, "cap"},
    {"select", break_select, QN_BAD_ARG, "OUTPUTS"},
};

static void a_sound_program_is_accepted(void **state) {
    fixture *f = *state;
    renew(f);
    assert_int_equal(qn_program_validate(f->program, f->program->total_bytes, &f->error), QN_OK);
    assert_int_equal(f->error.text[0], '\0');
}

static void every_broken_rule_is_refused_with_its_text(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        renew(f);
        const uint64_t n_bytes = f->program->total_bytes;
        rows[i].apply(f->program);
        const qn_status status = qn_program_validate(f->program, n_bytes, &f->error);
        if (status != rows[i].status || strstr(f->error.text, rows[i].text) == NULL || f->error.code != status) {
            fail_msg("%s: status %d, text '%s'; wanted %d and '%s'", rows[i].name, status, f->error.text, rows[i].status, rows[i].text);
        }
    }
}

/* A weight matrix of a format that has panels, made of one of the program's own. */
static qn_buffer *matrix_of(qn_program *p) {
    qn_buffer *w = operand_buffer(p, QN_OP_MATMUL, 0);
    w->format = QN_FORMAT_TERNARY; /* rows of any length */
    w->flags = QN_BUFFER_PANELS;
    return w;
}

static void panels_are_accepted_by_those_who_know_them_only(void **state) {
    fixture *f = *state;
    renew(f);
    matrix_of(f->program);
    const uint64_t n_bytes = f->program->total_bytes;
    assert_int_equal(qn_program_validate_flags(f->program, n_bytes, QN_BUFFER_PANELS, &f->error), QN_OK);
    assert_int_equal(qn_program_validate(f->program, n_bytes, &f->error), QN_TOO_NEW);
    matrix_of(f->program)->flags = 2 | QN_BUFFER_PANELS;
    assert_int_equal(qn_program_validate_flags(f->program, n_bytes, QN_BUFFER_PANELS, &f->error), QN_TOO_NEW);
}

static void panels_of_what_has_none_are_refused(void **state) {
    fixture *f = *state;
    renew(f);
    const uint64_t n_bytes = f->program->total_bytes;
    matrix_of(f->program)->format = QN_FORMAT_F32;
    assert_int_equal(qn_program_validate_flags(f->program, n_bytes, QN_BUFFER_PANELS, &f->error), QN_BAD_ARG);
    assert_non_null(strstr(f->error.text, "no panels"));
    renew(f);
    operand_buffer(f->program, QN_OP_ADD, 2)->flags = QN_BUFFER_PANELS;
    assert_int_equal(qn_program_validate_flags(f->program, n_bytes, QN_BUFFER_PANELS, &f->error), QN_BAD_ARG);
}

static void a_program_that_is_cut_short_is_refused_at_every_length(void **state) {
    fixture *f = *state;
    /* Behind the names, the last section, there is only padding. */
    const uint64_t total = (uint64_t)f->model.m.program->names_at + f->model.m.program->names_bytes;
    for (uint64_t n = 0; n < total; n += n < 256 ? 1 : 61) {
        void *cut = malloc(n + 1);
        qn_error error = {.size = sizeof error};
        assert_non_null(cut);
        memcpy(cut, f->model.m.program, n);
        /* As if the header had been adjusted: the sections must still be found missing. */
        if (n >= sizeof(qn_program)) {
            ((qn_program *)cut)->total_bytes = n;
        }
        assert_true(qn_program_validate(cut, n, &error) != QN_OK);
        assert_true(error.text[0] != '\0');
        free(cut);
    }
}

static void an_unaligned_or_absent_program_is_refused(void **state) {
    fixture *f = *state;
    qn_error error = {.size = sizeof error};
    renew(f);
    assert_int_equal(qn_program_validate((char *)f->program + 4, f->program->total_bytes - 4, &error), QN_BAD_ARG);
    assert_int_equal(qn_program_validate(NULL, 1000, &error), QN_BAD_ARG);
    assert_int_equal(qn_program_validate(NULL, 1000, NULL), QN_BAD_ARG);
}

static void a_program_with_longer_elements_is_accepted_when_their_tails_are_zero(void **state) {
    fixture *f = *state;
    const qn_program *old = f->model.m.program;
    const uint32_t grown = sizeof(qn_op) + 16;
    const uint64_t total = old->total_bytes + (uint64_t)old->n_ops * grown;
    qn_program *p = calloc(1, total);
    assert_non_null(p);
    memcpy(p, old, old->total_bytes);
    p->ops_at = (uint32_t)old->total_bytes;
    p->op_stride = grown;
    p->total_bytes = total;
    for (uint32_t i = 0; i < old->n_ops; i++) {
        memcpy((char *)p + p->ops_at + (uint64_t)i * grown, qn_program_op(old, i), sizeof(qn_op));
    }
    f->error = (qn_error){.size = sizeof f->error};
    assert_int_equal(qn_program_validate(p, total, &f->error), QN_OK);
    ((char *)p)[total - 1] = 1;
    assert_int_equal(qn_program_validate(p, total, &f->error), QN_TOO_NEW);
    free(p);
}

/* --- Mutations -------------------------------------------------------------------------------------------------------- */

/* A word becomes a small number, a large one, a neighbour's value, or loses or gains a bit. */
static void mutate(qn_program *p, cf_random *random) {
    uint32_t *words = (uint32_t *)(void *)p;
    const uint32_t n_words = (uint32_t)(p->total_bytes / 4), at = cf_random_below(random, n_words);
    switch (cf_random_below(random, 5)) {
    case 0: words[at] = cf_random_below(random, 9); break;
    case 1: words[at] = UINT32_MAX - cf_random_below(random, 9); break;
    case 2: words[at] = words[cf_random_below(random, n_words)]; break;
    case 3: words[at] ^= 1u << cf_random_below(random, 32); break;
    default: words[at] += cf_random_below(random, 17) - 8; break;
    }
}

static void a_mutated_program_never_does_harm(void **state) {
    fixture *f = *state;
    cf_random random = {2024};
    uint32_t n_accepted = 0;
    cf_context *const ctx = test_context();
    cf_backend b;
    cf_open(ctx, &b, 1);
    const qn_limits limits = test_limits(3, 3, 2, 2, 7);
    const qn_compile_options options = {.size = sizeof options, .numeric = QN_NUMERIC_F32ACC};
    for (uint32_t turn = 0; turn < 20000; turn++) {
        qn_prog *prog = NULL;
        renew(f);
        const uint64_t n_bytes = f->program->total_bytes;
        for (uint32_t n = 1 + cf_random_below(&random, 3); n > 0; n--) {
            mutate(f->program, &random);
            f->program->total_bytes = n_bytes;
        }
        if (qn_program_validate(f->program, n_bytes, &f->error) != QN_OK) {
            assert_true(f->error.text[0] != '\0');
            continue;
        }
        n_accepted++;
        f->error = (qn_error){.size = sizeof f->error};
        const qn_status status = b.verbs->compile(b.device, f->program, &limits, &options, &prog, &f->error);
        assert_true(status == QN_OK || f->error.text[0] != '\0');
        b.verbs->prog_free(prog);
    }
    cf_close(ctx, &b);
    /* Names and numbers without a rule may change; most mutations must be seen. */
    assert_in_range(n_accepted, 100, 15000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_program_is_accepted),
        cmocka_unit_test(every_broken_rule_is_refused_with_its_text),
        cmocka_unit_test(panels_are_accepted_by_those_who_know_them_only),
        cmocka_unit_test(panels_of_what_has_none_are_refused),
        cmocka_unit_test(a_program_that_is_cut_short_is_refused_at_every_length),
        cmocka_unit_test(an_unaligned_or_absent_program_is_refused),
        cmocka_unit_test(a_program_with_longer_elements_is_accepted_when_their_tails_are_zero),
        cmocka_unit_test(a_mutated_program_never_does_harm),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
