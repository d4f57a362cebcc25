/* cases_programs.c — a whole decoder of two layers: what must hold between ops, steps, cells, sequences and sessions.
 *
 * Results that must be equal as numbers are compared relative to the largest: sums may be formed in another order when tokens or
 * cells lie elsewhere. Results of the very same computation are compared bit for bit.
 */
#include <quoin/glue.h>

#include "cases.h"
#include "two_layer.h"

#define N_TOKENS 17

static const int32_t prompt[N_TOKENS] = {1, 17, 95, 3, 3, 60, 42, 8, 77, 12, 0, 31, 54, 9, 90, 2, 66};
static const int32_t all_positions[N_TOKENS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static void require_close(const harness *h, const char *what, const float *got, const float *want, uint64_t n, bool is_other_backend) {
    double most = 0, worst = 0;
    for (uint64_t i = 0; i < n; i++) {
        const double size = fabs((double)want[i]), difference = fabs((double)got[i] - want[i]);
        most = size > most ? size : most;
        worst = difference <= worst ? worst : difference; /* NaN, too, is a difference */
    }
    /* ACT8 rounds activations in steps of 1/254 of the largest of a block; a difference in the last bit of an activation may move
     * it by one step, and five products lie behind each other. */
    const double limit = h->numeric == QN_NUMERIC_ACT8 ? (is_other_backend ? 0.2 : 0.05) : 2e-4;
    if (!(worst <= limit * most)) {
        fail_msg("%s: differs by %.3g, the largest value is %.3g (seed %llu)", what, worst, most, (unsigned long long)h->seed);
    }
}

/* Logits of every prompt token: [N_TOKENS][TWO_LAYER_VOCAB], run in chunks. */
static void run_prompt(const two_layer *m, rig *r, two_layer_cells *cells, uint32_t chunk, float *logits) {
    for (uint32_t first = 0; first < N_TOKENS; first += chunk) {
        const uint32_t n = N_TOKENS - first < chunk ? N_TOKENS - first : chunk;
        const two_layer_step step = {.n_tokens = n, .n_outputs = n, .n_sequences = 1, .ids = prompt + first,
                                     .positions = all_positions + first, .rows = all_positions};
        two_layer_run(m, r, cells, &step, logits + (size_t)first * TWO_LAYER_VOCAB);
    }
}

#define N_LOGITS ((size_t)N_TOKENS * TWO_LAYER_VOCAB)

/* Runs the prompt on a fresh rig. */
static float *prompt_logits(const harness *h, const two_layer *m, const backend *on, uint32_t flags, uint32_t numeric, uint32_t chunk,
                            uint32_t order) {
    op_random random = harness_random(h, 5);
    float *logits = malloc(N_LOGITS * sizeof *logits);
    two_layer_cells cells;
    rig r;
    assert_non_null(logits);
    two_layer_cells_init(&cells, 1, N_TOKENS, order, &random);
    two_layer_open(m, &r, on, flags, numeric, 1);
    run_prompt(m, &r, &cells, chunk, logits);
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    return logits;
}

static void make_model(const harness *h, two_layer *m) {
    op_random random = harness_random(h, 4711);
    two_layer_init(m, &random);
}

static void fused_and_materialised_programs_agree(harness *h) {
    two_layer m;
    make_model(h, &m);
    float *fused = prompt_logits(h, &m, &h->one, QN_COMPILE_DETERMINISTIC, h->numeric, N_TOKENS, CELLS_IN_ORDER);
    float *written = prompt_logits(h, &m, &h->one, QN_COMPILE_MATERIALIZE, h->numeric, N_TOKENS, CELLS_IN_ORDER);
    require_close(h, "fused against materialised", fused, written, N_LOGITS, false);
    free(fused);
    free(written);
    two_layer_deinit(&m);
    h->n_cases++;
}

static void the_number_of_workers_changes_no_bit(harness *h) {
    two_layer m;
    make_model(h, &m);
    for (uint32_t chunk = 1; chunk <= N_TOKENS; chunk += N_TOKENS - 1) {
        float *one = prompt_logits(h, &m, &h->one, QN_COMPILE_DETERMINISTIC, h->numeric, chunk, CELLS_IN_PIECES);
        float *many = prompt_logits(h, &m, &h->many, QN_COMPILE_DETERMINISTIC, h->numeric, chunk, CELLS_IN_PIECES);
        assert_memory_equal(one, many, N_LOGITS * sizeof *one);
        free(one);
        free(many);
    }
    two_layer_deinit(&m);
    h->n_cases++;
}

/* Every act buffer of every op, so that the first op that goes wrong is named. */
static void every_intermediate_agrees_with_the_reference(harness *h) {
    op_random random = harness_random(h, 5);
    backend reference;
    two_layer m;
    two_layer_cells cells;
    rig ours, theirs;
    float logits[2][TWO_LAYER_VOCAB];
    const int32_t last = N_TOKENS - 1;
    const two_layer_step step = {.n_tokens = N_TOKENS, .n_outputs = 1, .n_sequences = 1, .ids = prompt, .positions = all_positions,
                                 .rows = &last};
    make_model(h, &m);
    assert_true(backend_open(&reference, backend_find("reference"), 0, 1));
    two_layer_cells_init(&cells, 1, N_TOKENS, CELLS_SHUFFLED, &random);
    two_layer_open(&m, &ours, &h->many, QN_COMPILE_MATERIALIZE, h->numeric, 1);
    two_layer_open(&m, &theirs, &reference, QN_COMPILE_MATERIALIZE, QN_NUMERIC_F32ACC, 1);
    two_layer_run(&m, &ours, &cells, &step, logits[0]);
    two_layer_run(&m, &theirs, &cells, &step, logits[1]);
    for (uint32_t b = 0; b < m.program->n_buffers; b++) {
        const qn_buffer *buffer = qn_program_buffer(m.program, b);
        if (buffer->role == QN_ROLE_ACT) {
            const uint64_t n = qn_buffer_rows(buffer, N_TOKENS, 1, 0) * buffer->dims[0];
            float *got = rig_tap(&ours, b, n * sizeof *got), *want = rig_tap(&theirs, b, n * sizeof *want);
            require_close(h, qn_program_name(m.program, buffer), got, want, n, true);
            free(got);
            free(want);
        }
    }
    require_close(h, "logits", logits[0], logits[1], TWO_LAYER_VOCAB, true);
    rig_deinit(&ours);
    rig_deinit(&theirs);
    two_layer_cells_deinit(&cells);
    assert_int_equal(backend_close(&reference), 0);
    two_layer_deinit(&m);
    h->n_cases++;
}

static void a_prompt_in_chunks_equals_the_prompt_in_one_piece(harness *h) {
    static const uint32_t chunks[] = {1, 2, 5, 16};
    two_layer m;
    make_model(h, &m);
    float *whole = prompt_logits(h, &m, &h->many, 0, h->numeric, N_TOKENS, CELLS_IN_ORDER);
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        float *pieces = prompt_logits(h, &m, &h->many, 0, h->numeric, chunks[i], CELLS_IN_ORDER);
        require_close(h, "chunks against one piece", pieces, whole, N_LOGITS, false);
        free(pieces);
        h->n_cases++;
    }
    free(whole);
    two_layer_deinit(&m);
}

static void the_place_of_cells_changes_nothing(harness *h) {
    two_layer m;
    make_model(h, &m);
    float *in_order = prompt_logits(h, &m, &h->many, 0, h->numeric, 4, CELLS_IN_ORDER);
    for (uint32_t order = CELLS_REVERSED; order < CELLS_ORDERS; order++) {
        float *other = prompt_logits(h, &m, &h->many, 0, h->numeric, 4, order);
        require_close(h, "cells elsewhere", other, in_order, N_LOGITS, false);
        free(other);
        h->n_cases++;
    }
    free(in_order);
    two_layer_deinit(&m);
}

/* Two sequences in one step, the second a rotation of the first's tokens; each must be what it is alone. */
static void sequences_of_one_step_do_not_see_each_other(harness *h) {
    enum { EACH = 8 };
    op_random random = harness_random(h, 6);
    two_layer m;
    two_layer_cells cells;
    rig r;
    int32_t ids[2 * EACH], positions[2 * EACH];
    uint32_t sequences[2 * EACH];
    float *together = malloc(2 * EACH * TWO_LAYER_VOCAB * sizeof *together);
    assert_non_null(together);
    make_model(h, &m);
    float *alone = prompt_logits(h, &m, &h->many, 0, h->numeric, N_TOKENS, CELLS_IN_ORDER);
    for (uint32_t t = 0; t < 2 * EACH; t++) {
        sequences[t] = 1 - t % 2;
        positions[t] = (int32_t)(t / 2);
        ids[t] = sequences[t] == 0 ? prompt[t / 2] : prompt[N_TOKENS - 1 - t / 2];
    }
    const two_layer_step step = {.n_tokens = 2 * EACH, .n_outputs = 2 * EACH, .n_sequences = 2, .ids = ids, .positions = positions,
                                 .rows = all_positions, .sequences = sequences};
    two_layer_cells_init(&cells, 2, EACH, CELLS_SHUFFLED, &random);
    two_layer_open(&m, &r, &h->many, 0, h->numeric, 2);
    two_layer_run(&m, &r, &cells, &step, together);
    for (uint32_t t = 1; t < 2 * EACH; t += 2) {
        require_close(h, "a sequence beside another", together + (size_t)t * TWO_LAYER_VOCAB, alone + (size_t)(t / 2) * TWO_LAYER_VOCAB,
                      TWO_LAYER_VOCAB, false);
    }
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    free(together);
    free(alone);
    two_layer_deinit(&m);
    h->n_cases++;
}

/* Runs ten tokens, moves their cells, and goes on from there. */
static void a_sequence_goes_on_after_its_cells_were_moved(harness *h) {
    op_random random = harness_random(h, 7);
    two_layer m;
    two_layer_cells cells;
    rig r;
    float logits[TWO_LAYER_VOCAB];
    const int32_t first_row = 0;
    make_model(h, &m);
    float *want = prompt_logits(h, &m, &h->many, 0, h->numeric, N_TOKENS, CELLS_IN_ORDER);
    two_layer_cells_init(&cells, 1, N_TOKENS, CELLS_IN_ORDER, &random);
    two_layer_open(&m, &r, &h->many, 0, h->numeric, 1);
    const two_layer_step begin = {.n_tokens = 10, .n_outputs = 0, .n_sequences = 1, .ids = prompt, .positions = all_positions,
                                  .rows = all_positions};
    two_layer_run(&m, &r, &cells, &begin, logits);
    for (uint32_t g = 0; g < 2; g++) {
        const uint32_t from = cells.maps[g].cell[0], to = g == 0 ? 3 : 11;
        rig_move(&r, QN_MOVE_COPY, g, from, to, 10);
        rig_move(&r, QN_MOVE_ZERO, g, TWO_LAYER_CELLS - 10, 30, 10);
        for (uint32_t p = 0; p < N_TOKENS; p++) {
            cells.maps[g].cell[p] = p < 10 ? to + p : p - 10 + 21;
        }
    }
    for (uint32_t p = 10; p < N_TOKENS; p++) {
        const two_layer_step next = {.n_tokens = 1, .n_outputs = 1, .n_sequences = 1, .ids = prompt + p, .positions = all_positions + p,
                                     .rows = &first_row};
        two_layer_run(&m, &r, &cells, &next, logits);
        require_close(h, "after a move", logits, want + (size_t)p * TWO_LAYER_VOCAB, TWO_LAYER_VOCAB, false);
    }
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    free(want);
    two_layer_deinit(&m);
    h->n_cases++;
}

static void two_sessions_of_one_program_do_not_see_each_other(harness *h) {
    op_random random = harness_random(h, 8);
    two_layer m;
    two_layer_cells cells;
    rig r;
    float logits[TWO_LAYER_VOCAB];
    const int32_t first_row = 0;
    make_model(h, &m);
    float *want = prompt_logits(h, &m, &h->many, QN_COMPILE_DETERMINISTIC, h->numeric, 1, CELLS_IN_ORDER);
    two_layer_cells_init(&cells, 1, N_TOKENS, CELLS_IN_ORDER, &random);
    two_layer_open(&m, &r, &h->many, QN_COMPILE_DETERMINISTIC, h->numeric, 1);
    qn_session *sessions[2] = {r.session, NULL};
    qn_error error = {.size = sizeof error};
    assert_int_equal(h->many.verbs->session_new(r.prog, &sessions[1], &error), QN_OK);
    for (uint32_t p = 0; p < N_TOKENS; p++) {
        /* The second session runs other tokens in the same cells. */
        const two_layer_step mine = {.n_tokens = 1, .n_outputs = 1, .n_sequences = 1, .ids = prompt + p, .positions = all_positions + p,
                                     .rows = &first_row};
        two_layer_step other = mine;
        other.ids = prompt + N_TOKENS - 1 - p;
        r.session = sessions[0];
        two_layer_run(&m, &r, &cells, &mine, logits);
        assert_memory_equal(logits, want + (size_t)p * TWO_LAYER_VOCAB, sizeof logits);
        r.session = sessions[1];
        two_layer_run(&m, &r, &cells, &other, logits);
    }
    h->many.verbs->session_free(sessions[1]);
    r.session = sessions[0];
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    free(want);
    two_layer_deinit(&m);
    h->n_cases++;
}

static void a_refused_step_leaves_the_session_as_it_was(harness *h) {
    op_random random = harness_random(h, 9);
    two_layer m;
    two_layer_cells cells;
    rig r;
    float logits[TWO_LAYER_VOCAB];
    const int32_t first_row = 0, bad_ids[] = {TWO_LAYER_VOCAB, -1};
    make_model(h, &m);
    float *want = prompt_logits(h, &m, &h->many, QN_COMPILE_DETERMINISTIC, h->numeric, 1, CELLS_IN_ORDER);
    two_layer_cells_init(&cells, 1, N_TOKENS, CELLS_IN_ORDER, &random);
    two_layer_open(&m, &r, &h->many, QN_COMPILE_DETERMINISTIC, h->numeric, 1);
    for (uint32_t p = 0; p < N_TOKENS; p++) {
        two_layer_step step = {.n_tokens = 1, .n_outputs = 1, .n_sequences = 1, .ids = &bad_ids[p % 2], .positions = all_positions + p,
                               .rows = &first_row};
        assert_int_equal(two_layer_try(&m, &r, &cells, &step), QN_BAD_ARG);
        step.ids = prompt + p;
        step.rows = &bad_ids[1];
        assert_int_equal(two_layer_try(&m, &r, &cells, &step), QN_BAD_ARG);
        step.rows = &first_row;
        test_host_cancel(h->many.host, true);
        assert_int_equal(two_layer_try(&m, &r, &cells, &step), QN_CANCELLED);
        test_host_cancel(h->many.host, false);
        two_layer_run(&m, &r, &cells, &step, logits);
        assert_memory_equal(logits, want + (size_t)p * TWO_LAYER_VOCAB, sizeof logits);
    }
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    free(want);
    two_layer_deinit(&m);
    h->n_cases++;
}

/* A step allocates nothing: whatever it needs was taken when the session was made. */
static void steps_take_no_memory(harness *h) {
    op_random random = harness_random(h, 10);
    two_layer m;
    two_layer_cells cells;
    rig r;
    float *logits = malloc(N_LOGITS * sizeof *logits);
    assert_non_null(logits);
    make_model(h, &m);
    two_layer_cells_init(&cells, 1, N_TOKENS, CELLS_IN_ORDER, &random);
    two_layer_open(&m, &r, &h->many, 0, h->numeric, 1);
    const uint64_t before = test_host_allocations(h->many.host);
    run_prompt(&m, &r, &cells, 4, logits);
    assert_int_equal(test_host_allocations(h->many.host), before);
    rig_deinit(&r);
    two_layer_cells_deinit(&cells);
    free(logits);
    two_layer_deinit(&m);
    h->n_cases++;
}

static const op_test tests[] = {
    OP_TEST(fused_and_materialised_programs_agree),
    OP_TEST(the_number_of_workers_changes_no_bit),
    OP_TEST(every_intermediate_agrees_with_the_reference),
    OP_TEST(a_prompt_in_chunks_equals_the_prompt_in_one_piece),
    OP_TEST(the_place_of_cells_changes_nothing),
    OP_TEST(sequences_of_one_step_do_not_see_each_other),
    OP_TEST(a_sequence_goes_on_after_its_cells_were_moved),
    OP_TEST(two_sessions_of_one_program_do_not_see_each_other),
    OP_TEST(a_refused_step_leaves_the_session_as_it_was),
    OP_TEST(steps_take_no_memory),
};
OP_SUITE(suite_programs, QN_NO_OP, tests);
