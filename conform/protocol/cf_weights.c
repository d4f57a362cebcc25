/* cf_weights.c — level 1: binding weights, and sealing. */
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

typedef struct binding {
    cf_backend on;
    specimen s;
    qn_prog *prog;
} binding;

static void begin(cf_context *ctx, binding *b) {
    cf_open(ctx, &b->on, 0);
    specimen_choose(ctx, &b->on, &b->s);
    if (b->s.n_weights == 0) {
        cf_unsupported(ctx, "the plugin says yes to no op with a weight");
    }
    b->prog = specimen_compiled(ctx, &b->on, &b->s, 0);
}

static void end(cf_context *ctx, binding *b) {
    b->on.verbs->prog_free(b->prog);
    specimen_deinit(&b->s);
    cf_close(ctx, &b->on);
}

static qn_status bind_one(const binding *b, const qn_weight *weight, qn_error *error) {
    cf_clear(error);
    return b->on.verbs->bind_weights(b->prog, weight, sizeof *weight, 1, error);
}

static qn_status bind_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    binding *b = arg;
    const qn_status status = b->on.verbs->bind_weights(b->prog, theirs, 512, 1, error);
    if (status == QN_OK) { /* a weight is bound once: begin anew */
        b->on.verbs->prog_free(b->prog);
        b->prog = specimen_compiled(ctx, &b->on, &b->s, 0);
    }
    return status;
}

static void bind_weights_obeys_sizes(cf_context *ctx) {
    binding b;
    begin(ctx, &b);
    const qn_weight weight = specimen_weight_of(&b.s, 0, QN_WEIGHT_BORROW);
    require_sizes(ctx, "bind_weights with a weight", &weight, sizeof weight, QN_LEAST_qn_weight, bind_call, &b);
    end(ctx, &b);
}

static void bind_weights_obeys_the_stride(cf_context *ctx) {
    typedef struct spaced {
        qn_weight weight;
        unsigned char more[40];
    } spaced;
    spaced all[SPECIMEN_WEIGHTS];
    binding b;
    qn_error error;
    begin(ctx, &b);
    memset(all, 0x5a, sizeof all);
    for (uint32_t i = 0; i < b.s.n_weights; i++) {
        all[i].weight = specimen_weight_of(&b.s, i, QN_WEIGHT_BORROW);
    }
    cf_clear(&error);
    cf_done(ctx, "bind_weights", b.on.verbs->bind_weights(b.prog, &all[0].weight, sizeof all[0], b.s.n_weights, &error), &error);
    cf_done(ctx, "seal", b.on.verbs->seal(b.prog, &error), &error);
    end(ctx, &b);
}

static void weights_that_do_not_fit_are_refused(cf_context *ctx) {
    static const char *const what[] = {"no such buffer", "no flag", "both flags", "an unknown flag", "no data", "one byte too few",
                                       "elements beyond the end", "a first element beyond everything", "data aligned to 2"};
    binding b;
    qn_error error;
    begin(ctx, &b);
    qn_weight broken[CF_COUNT_OF(what)];
    for (size_t i = 0; i < CF_COUNT_OF(what); i++) {
        broken[i] = specimen_weight_of(&b.s, 0, QN_WEIGHT_BORROW);
    }
    broken[0].buffer = 99999;
    broken[1].flags = 0;
    broken[2].flags = QN_WEIGHT_COPY | QN_WEIGHT_BORROW;
    broken[3].flags = 8 | QN_WEIGHT_COPY;
    broken[4].data = NULL;
    broken[5].bytes--;
    broken[6].first_element = 256;
    broken[7].first_element = UINT64_MAX / 2 / 256 * 256;
    broken[8].data = (const char *)broken[8].data + 2;
    for (size_t i = 0; i < CF_COUNT_OF(what); i++) {
        if (cf_case(ctx, "%s", what[i])) {
            cf_refused(ctx, "bind_weights", bind_one(&b, &broken[i], &error), QN_BAD_ARG, &error);
        }
    }
    if (cf_case(ctx, "and a good one afterwards")) {
        specimen_bind(ctx, &b.on, &b.s, b.prog, 0, 1);
    }
    end(ctx, &b);
}

static void buffers_that_are_no_weights_cannot_be_bound(cf_context *ctx) {
    binding b;
    qn_error error;
    begin(ctx, &b);
    for (uint32_t i = 0; i < b.s.program->n_buffers; i++) {
        const qn_buffer *buffer = qn_program_buffer(b.s.program, i);
        if (buffer->role == QN_ROLE_WEIGHT || !cf_case(ctx, "buffer %u of role %u", i, buffer->role)) {
            continue;
        }
        qn_weight weight = specimen_weight_of(&b.s, 0, QN_WEIGHT_BORROW);
        weight.buffer = i;
        cf_refused(ctx, "bind_weights", bind_one(&b, &weight, &error), QN_BAD_ARG, &error);
    }
    end(ctx, &b);
}

static void no_weights_are_bound_without_an_array(cf_context *ctx) {
    binding b;
    qn_error error;
    begin(ctx, &b);
    cf_clear(&error);
    cf_done(ctx, "bind_weights of none", b.on.verbs->bind_weights(b.prog, NULL, 0, 0, &error), &error);
    end(ctx, &b);
}

static void seal_names_the_weight_that_is_missing(cf_context *ctx) {
    binding b;
    qn_error error;
    begin(ctx, &b);
    for (uint32_t missing = 0; missing < b.s.n_weights; missing++) {
        const char *name = qn_program_name(b.s.program, qn_program_buffer(b.s.program, b.s.weights[missing].buffer));
        if (!cf_case(ctx, "without weight %s", name)) {
            continue;
        }
        specimen_bind(ctx, &b.on, &b.s, b.prog, 0, missing);
        specimen_bind(ctx, &b.on, &b.s, b.prog, missing + 1, b.s.n_weights);
        cf_clear(&error);
        cf_refused(ctx, "seal", b.on.verbs->seal(b.prog, &error), QN_BAD_ARG, &error);
        CF_CHECK(ctx, strstr(error.text, name) != NULL, "seal does not name '%s' in: %.300s", name, error.text);
        specimen_bind(ctx, &b.on, &b.s, b.prog, missing, missing + 1);
        cf_clear(&error);
        cf_done(ctx, "seal once it is there", b.on.verbs->seal(b.prog, &error), &error);
        b.on.verbs->prog_free(b.prog);
        b.prog = specimen_compiled(ctx, &b.on, &b.s, 0);
    }
    end(ctx, &b);
}

/* Steps of two programs, one with borrowed and one with copied weights, whose source is overwritten after the call. */
static void copied_weights_are_read_during_the_call_only(cf_context *ctx) {
    binding b;
    qn_error error;
    specimen_turn turns[2];
    begin(ctx, &b);
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < b.s.n_weights; i++) {
            qn_weight weight = specimen_weight_of(&b.s, i, turn == 0 ? QN_WEIGHT_BORROW : QN_WEIGHT_COPY);
            void *copy = malloc(weight.bytes);
            CF_CHECK(ctx, copy != NULL, "this machine has no memory for the test itself");
            memcpy(copy, weight.data, weight.bytes);
            weight.data = turn == 0 ? weight.data : copy;
            cf_done(ctx, "bind_weights", bind_one(&b, &weight, &error), &error);
            memset(copy, 0xff, weight.bytes);
            free(copy);
        }
        cf_done(ctx, "seal", b.on.verbs->seal(b.prog, &error), &error);
        qn_session *session = specimen_session(ctx, &b.on, b.prog);
        specimen_turn_init(ctx, &b.s, &turns[turn], 0, 3);
        cf_done(ctx, "step", b.on.verbs->step(session, &turns[turn].step, &error), &error);
        b.on.verbs->session_free(session);
        b.on.verbs->prog_free(b.prog);
        b.prog = specimen_compiled(ctx, &b.on, &b.s, 0);
    }
    CF_CHECK(ctx, memcmp(turns[0].output, turns[1].output, turns[0].n_output * sizeof(float)) == 0,
             "copied weights give other outputs than borrowed ones");
    specimen_turn_deinit(&turns[0]);
    specimen_turn_deinit(&turns[1]);
    end(ctx, &b);
}

static const cf_test tests[] = {
    CF_TEST(bind_weights_obeys_sizes, "Q4", CF_MUST_DECODE),
    CF_TEST(bind_weights_obeys_the_stride, "Q4", CF_MUST_DECODE),
    CF_TEST(weights_that_do_not_fit_are_refused, "W1", CF_MUST_DECODE),
    CF_TEST(buffers_that_are_no_weights_cannot_be_bound, "W1", CF_MUST_DECODE),
    CF_TEST(no_weights_are_bound_without_an_array, "W1", CF_MUST_DECODE),
    CF_TEST(seal_names_the_weight_that_is_missing, "E3", CF_MUST_DECODE),
    CF_TEST(copied_weights_are_read_during_the_call_only, "W2", CF_MUST_DECODE),
};
const cf_suite cf_suite_weights = CF_SUITE(1, "weights", tests);
