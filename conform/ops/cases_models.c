/* cases_models.c — small whole models from seeds: what must hold between steps, cells, sequences and sessions, and in
 * the end the logits.
 *
 * What is the same computation is compared bit for bit. What may form its sums in another order, because tokens or
 * cells lie elsewhere, is compared with the oracle inside the limit of judge.h, and therefore also with each other.
 */
#include "cases.h"
#include "chat.h"
#include "judge.h"

/* A model on one device with everything that its steps are compared with. */
typedef struct bench {
    harness h;
    stack s;
    chat c;
    judge j;
    rig r;
    qn_limits limits;
} bench;

typedef struct bench_size {
    uint32_t n_layer, n_sequences, n_positions, n_cells, tokens;
    uint32_t order;
    uint32_t flags;
    bool is_everything;  /* the family of everything in all formats; otherwise llama in Q8_0 */
} bench_size;

/* False when the plugin does not offer the model. */
static bool open_bench(bench *b, cf_context *ctx, const bench_size *size) {
    const stack_shape mixed = stack_mixed_shape(size->n_layer),
                      plain = stack_small_shape(size->n_layer, QN_FORMAT_Q8_0, QN_FORMAT_F16);
    stack_init(&b->s, ctx, size->is_everything ? stack_family_of_everything() : &stack_families[0],
               size->is_everything ? &mixed : &plain, size->n_layer * 1000 + size->n_positions);
    if (!harness_offers(&b->h, &b->s.m, size->flags)) {
        stack_free(&b->s);
        return false;
    }
    b->limits = op_model_limits(&b->s.m, size->tokens, size->tokens, size->n_sequences, size->n_cells);
    chat_init(&b->c, &b->s, size->n_cells, size->n_sequences, size->n_positions, size->order);
    judge_open(&b->j, &b->s.m, &b->limits, ctx->numeric);
    rig_open(&b->r, ctx, harness_widest(&b->h), &b->s.m, &b->limits, size->flags);
    return true;
}

static void close_bench(bench *b) {
    rig_close(&b->r);
    judge_close(&b->j);
    harness_covered(&b->h, &b->s.m);
    stack_free(&b->s);
}

/* Index of the largest, and how far the next is below it. */
static uint32_t find_top(const double *logits, uint32_t n, double *out_margin) {
    uint32_t top = 0;
    double second = -INFINITY;
    for (uint32_t i = 1; i < n; i++) {
        top = logits[i] > logits[top] ? i : top;
    }
    for (uint32_t i = 0; i < n; i++) {
        second = i != top ? fmax(second, logits[i]) : second;
    }
    *out_margin = logits[top] - second;
    return top;
}

static double log_sum(const double *logits, uint32_t n) {
    double most = logits[0], sum = 0;
    for (uint32_t i = 1; i < n; i++) {
        most = fmax(most, logits[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += exp(logits[i] - most);
    }
    return most + log(sum);
}

/* Kullback-Leibler divergence of what was got from what was wanted, in nats. */
static double divergence(const double *want, const double *got, uint32_t n) {
    const double want_sum = log_sum(want, n), got_sum = log_sum(got, n);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += exp(want[i] - want_sum) * ((want[i] - want_sum) - (got[i] - got_sum));
    }
    return sum;
}

/* Each row of logits: inside the limit, the same first choice where the margin exceeds it, and a divergence that logits
 * off by the limit can have at most. */
static void judge_logits(bench *b, const op_step *step, const char *what) {
    cf_context *const ctx = b->h.ctx;
    const uint32_t n = b->s.shape.n_vocab;
    const double limit = judge_limit(&b->j, b->s.logits, step);
    const float *const got = rig_output(&b->r, b->s.logits);
    char text[256];
    double wide[512], margin;
    CF_CHECK(ctx, judge_is_near(&b->j, &b->r, step, text), "%s: %s", what, text);
    for (uint32_t row = 0; row < step->n_outputs; row++) {
        const double *const want = judge_want(&b->j, b->s.logits) + (size_t)row * n;
        for (uint32_t i = 0; i < n; i++) {
            wide[i] = got[(size_t)row * n + i];
        }
        const uint32_t top = find_top(want, n, &margin);
        CF_CHECK(ctx, margin <= 2 * limit || find_top(wide, n, &margin) == top,
                 "%s: row %u chooses another token than the oracle, whose margin is %g", what, row, margin);
        const double most = 2 * limit;
        CF_CHECK(ctx, divergence(want, wide, n) <= most, "%s: row %u diverges by %g nats; %g at most", what, row,
                 divergence(want, wide, n), most);
    }
}

/* Runs a step on plugin and oracle and compares. */
static void run_judged(bench *b, const op_step *step, const char *what) {
    judge_step(&b->j, step);
    rig_run(&b->r, step);
    judge_logits(b, step, what);
}

/* --- Pieces ------------------------------------------------------------------------------------------------------- */

static void a_prompt_in_pieces_gives_the_logits_of_the_prompt(cf_context *ctx) {
    static const uint32_t pieces[] = {24, 2, 1, 16, 5};
    static bench b;
    harness_open(&b.h, ctx);
    for (size_t i = 0; i < CF_COUNT_OF(pieces); i += ctx->is_quick ? 2 : 1) {
        for (uint32_t order = 0; order < (ctx->is_quick ? 1 : 2); order++) {
            if (cf_case(ctx, "pieces of %u, cells %s", pieces[i], order == 0 ? "in order" : "anywhere")
                && open_bench(&b, ctx,
                              &(bench_size){.n_layer = 2,
                                            .n_sequences = 1,
                                            .n_positions = 24,
                                            .n_cells = 30,
                                            .tokens = 24,
                                            .order = order == 0 ? CELLS_IN_ORDER : CELLS_SHUFFLED,
                                            .is_everything = true})) {
                for (uint32_t first = 0; first < 24; first += pieces[i]) {
                    const uint32_t n = 24 - first < pieces[i] ? 24 - first : pieces[i];
                    run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = n, .first = first, .is_shuffled = order == 1}),
                               "in pieces");
                }
                close_bench(&b);
            }
        }
    }
    harness_close(&b.h);
}

/* --- Sequences ---------------------------------------------------------------------------------------------------- */

static void sequences_of_one_step_do_not_see_each_other(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    for (uint32_t turn = 0; turn < 2; turn++) {
        if (cf_case(ctx, "three sequences, %s", turn == 0 ? "one behind the other" : "the last first")
            && open_bench(&b, ctx,
                          &(bench_size){.n_layer = 2,
                                        .n_sequences = 3,
                                        .n_positions = 14,
                                        .n_cells = 50,
                                        .tokens = 24,
                                        .order = CELLS_SHUFFLED,
                                        .is_everything = true})) {
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 6, .n_sequences = 3, .is_reversed = turn == 1}),
                       "all three");
            /* Two go on while the third is idle; then it goes on alone. */
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 3, .first = 6, .n_sequences = 2}),
                       "two, the third idle");
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 4, .first = 6, .sequence = 2}), "the third alone");
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 1, .first = 9, .n_sequences = 3, .is_reversed = true}),
                       "all again");
            close_bench(&b);
        }
    }
    harness_close(&b.h);
}

static void move_on_both(bench *b, uint32_t kind, uint32_t group, uint32_t from, uint32_t to, uint32_t n) {
    const qn_state_move move = {
        .size = sizeof move, .kind = kind, .group = group, .from = from, .to = to, .n_cells = n};
    rig_move(&b->r, &move);
    judge_move(&b->j, &move);
}

/* A copy of a sequence's cells goes on as the sequence does, and leaves it as it was. */
static void a_copied_sequence_goes_on_as_its_model(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "eight positions copied")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 2,
                                    .n_positions = 16,
                                    .n_cells = 40,
                                    .tokens = 16,
                                    .order = CELLS_IN_ORDER,
                                    .is_everything = true})) {
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 8}), "the model");
        memcpy(b.c.ids + b.c.n_positions, b.c.ids, 8 * sizeof *b.c.ids);
        for (uint32_t g = 0; g < 2; g++) {
            move_on_both(&b, QN_MOVE_COPY, g, b.c.maps[g].cell[0], b.c.maps[g].cell[16], 8);
        }
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 4, .first = 8, .sequence = 1}), "the copy");
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 4, .first = 8}), "the model again");
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 4, .first = 12, .n_sequences = 2}), "both");
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* Ten tokens run, their cells move elsewhere (overlapping in one group), what they leave is zeroed, and the text goes
 * on. */
static void a_sequence_goes_on_after_its_cells_were_moved(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    /* Behind the move the text lies in two places. */
    if (cell_maps_most_spans() != 1 && cf_case(ctx, "ten cells moved")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = 17,
                                    .n_cells = 40,
                                    .tokens = 16,
                                    .order = CELLS_IN_ORDER,
                                    .is_everything = true})) {
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 10}), "before the move");
        for (uint32_t g = 0; g < 2; g++) {
            uint32_t *const cell = b.c.maps[g].cell;
            const uint32_t from = cell[0], to = g == 0 ? 3 : from - 4;
            move_on_both(&b, QN_MOVE_COPY, g, from, to, 10);
            move_on_both(&b, QN_MOVE_ZERO, g, 0, 36, 4);
            for (uint32_t p = 0; p < 17; p++) {
                cell[p] = p < 10 ? to + p : p - 10 + (g == 0 ? 21 : 1);
            }
        }
        for (uint32_t p = 10; p < 17; p++) {
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 1, .first = p}), "after the move");
        }
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* Positions are taken back and written anew with other tokens. */
static void a_text_is_cut_and_grows_again(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "cut at 5 of 12")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = 20,
                                    .n_cells = 24,
                                    .tokens = 16,
                                    .order = CELLS_IN_PIECES,
                                    .is_everything = true})) {
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 12}), "at first");
        for (uint32_t p = 5; p < 20; p++) {
            b.c.ids[p] = (b.c.ids[p] + 17) % (int32_t)b.s.shape.n_vocab;
        }
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 1, .first = 5}), "the first token behind the cut");
        run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 6, .first = 6}), "more behind the cut");
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* --- Sessions ----------------------------------------------------------------------------------------------------- */

/* Two sessions of one program take turns in the same cells; the first gives the bits that it gives alone. */
static void two_sessions_of_one_program_do_not_see_each_other(cf_context *ctx) {
    static bench b;
    enum { N = 12 };
    qn_error error;
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "twelve tokens, turn by turn")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = N,
                                    .n_cells = 16,
                                    .tokens = 4,
                                    .order = CELLS_IN_ORDER,
                                    .flags = QN_COMPILE_DETERMINISTIC,
                                    .is_everything = true})) {
        const size_t row = b.s.shape.n_vocab;
        float *const alone = op_model_take(&b.s.m, N * row, sizeof *alone);
        const op_step *steps[N], *others[N];
        for (uint32_t p = 0; p < N; p++) {
            steps[p] = chat_step(&b.c, &(chat_tokens){.n = 1, .first = p});
        }
        for (uint32_t p = 0; p < N; p++) {
            b.c.ids[p] = (b.c.ids[p] + 5) % (int32_t)row;
            others[p] = chat_step(&b.c, &(chat_tokens){.n = 1, .first = p});
            rig_run(&b.r, steps[p]);
            memcpy(alone + p * row, rig_output(&b.r, b.s.logits), row * sizeof *alone);
        }
        rig_new_session(&b.r);
        qn_session *const first = b.r.session;
        qn_session *second = NULL;
        cf_clear(&error);
        cf_done(ctx, "session_new", b.r.on->verbs->session_new(b.r.prog, &second, &error), &error);
        for (uint32_t p = 0; p < N; p++) {
            b.r.session = second;
            rig_run(&b.r, others[p]);
            b.r.session = first;
            rig_run(&b.r, steps[p]);
            CF_CHECK(ctx, memcmp(alone + p * row, rig_output(&b.r, b.s.logits), row * sizeof *alone) == 0,
                     "at position %u a session gives other bits beside another session than alone", p);
        }
        b.r.on->verbs->session_free(second);
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* Bad ids, bad rows and a raised cancel flag end a step; the next one gives the bits that it would have given. */
static void a_refused_step_leaves_the_session_as_it_was(cf_context *ctx) {
    static bench b;
    enum { N = 6 };
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "six tokens")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = N,
                                    .n_cells = 16,
                                    .tokens = 4,
                                    .order = CELLS_IN_ORDER,
                                    .flags = QN_COMPILE_DETERMINISTIC,
                                    .is_everything = true})) {
        const size_t row = b.s.shape.n_vocab;
        float *const want = op_model_take(&b.s.m, N * row, sizeof *want);
        const int32_t bad_ids[] = {(int32_t)row, -1};
        for (uint32_t turn = 0; turn < 2; turn++) {
            for (uint32_t p = 0; p < N; p++) {
                const op_step *const step = chat_step(&b.c, &(chat_tokens){.n = 1, .first = p});
                op_step bad = *step;
                if (turn == 1) {
                    bad.inputs[b.s.ids] = &bad_ids[p % 2];
                    CF_CHECK(ctx, rig_try(&b.r, &bad) == QN_BAD_ARG, "an id of %d is not refused with BAD_ARG",
                             bad_ids[p % 2]);
                    bad.inputs[b.s.ids] = step->inputs[b.s.ids];
                    bad.inputs[b.s.rows] = &bad_ids[1];
                    CF_CHECK(ctx, rig_try(&b.r, &bad) == QN_BAD_ARG, "a row number of -1 is not refused with BAD_ARG");
                    cf_host_cancel(b.r.on->host, true);
                    CF_CHECK(ctx, rig_try(&b.r, step) == QN_CANCELLED,
                             "a step with the cancel flag raised is not CANCELLED");
                    cf_host_cancel(b.r.on->host, false);
                }
                rig_run(&b.r, step);
                const float *const got = rig_output(&b.r, b.s.logits);
                CF_CHECK(ctx, turn == 0 || memcmp(want + p * row, got, row * sizeof *got) == 0,
                         "at position %u the step behind refused ones gives other bits", p);
                memcpy(want + p * row, got, row * sizeof *got);
            }
            rig_new_session(&b.r);
        }
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* A step allocates nothing: whatever it needs was taken when the session was made. */
static void steps_take_no_memory(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "sixteen tokens in pieces")
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = 16,
                                    .n_cells = 16,
                                    .tokens = 16,
                                    .order = CELLS_IN_ORDER,
                                    .is_everything = true})) {
        const uint64_t before = cf_host_allocations(b.r.on->host);
        for (uint32_t first = 0; first < 16; first += 4) {
            rig_run(&b.r, chat_step(&b.c, &(chat_tokens){.n = 4, .first = first}));
        }
        const uint64_t taken = cf_host_allocations(b.r.on->host) - before;
        CF_CHECK(ctx, taken == 0, "four steps allocated %llu times", (unsigned long long)taken);
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* --- Bits --------------------------------------------------------------------------------------------------------- */

/* Logits of a prompt in pieces on one device. */
static float *run_prompt(bench *b, const cf_backend *on, uint32_t piece, uint32_t n) {
    const size_t row = b->s.shape.n_vocab;
    float *const logits = op_model_take(&b->s.m, n * row, sizeof *logits);
    rig r;
    rig_open(&r, b->h.ctx, on, &b->s.m, &b->limits, QN_COMPILE_DETERMINISTIC);
    for (uint32_t first = 0; first < n; first += piece) {
        rig_run(&r, chat_step(&b->c, &(chat_tokens){.n = piece, .first = first}));
        memcpy(logits + first * row, rig_output(&r, b->s.logits), piece * row * sizeof *logits);
    }
    rig_close(&r);
    return logits;
}

static void deterministic_programs_give_the_same_bits_each_time(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    for (uint32_t piece = 1; piece <= 16; piece *= 4) {
        if (cf_case(ctx, "pieces of %u", piece)
            && open_bench(&b, ctx,
                          &(bench_size){.n_layer = 2,
                                        .n_sequences = 1,
                                        .n_positions = 16,
                                        .n_cells = 24,
                                        .tokens = 16,
                                        .order = CELLS_IN_PIECES,
                                        .flags = QN_COMPILE_DETERMINISTIC,
                                        .is_everything = true})) {
            const size_t bytes = 16 * b.s.shape.n_vocab * sizeof(float);
            const float *const once = run_prompt(&b, &b.h.one, piece, 16), *const twice = run_prompt(&b, &b.h.one,
                                                                                                     piece, 16);
            CF_CHECK(ctx, memcmp(once, twice, bytes) == 0, "the second run gives other bits");
            CF_CHECK(ctx, !b.h.has_many || memcmp(once, run_prompt(&b, &b.h.many, piece, 16), bytes) == 0,
                     "three workers give other bits than one");
            close_bench(&b);
        }
    }
    harness_close(&b.h);
}

/* --- Long runs ---------------------------------------------------------------------------------------------------- */

/* A thousand steps of one token, the context cut to nothing each time that it is full: errors must not pile up. */
static void a_thousand_steps_do_not_drift(cf_context *ctx) {
    static bench b;
    const uint32_t n_steps = ctx->is_quick ? 120 : 1000, n_positions = 60;
    harness_open(&b.h, ctx);
    if (cf_case(ctx, "%u steps", n_steps)
        && open_bench(&b, ctx,
                      &(bench_size){.n_layer = 2,
                                    .n_sequences = 1,
                                    .n_positions = n_positions,
                                    .n_cells = 64,
                                    .tokens = 1,
                                    .order = CELLS_SHUFFLED})) {
        for (uint32_t i = 0; i < n_steps; i++) {
            const op_step *const step = chat_step(&b.c, &(chat_tokens){.n = 1, .first = i % n_positions});
            /* The oracle needs longer than most plugins: it looks at the last round only, and at that wholly. */
            rig_run(&b.r, step);
            if (i >= n_steps / n_positions * n_positions - n_positions) {
                judge_step(&b.j, step);
                judge_logits(&b, step, "a late step");
            }
        }
        close_bench(&b);
    }
    harness_close(&b.h);
}

/* Four layers, every step of a text judged. */
static void a_model_of_four_layers_keeps_its_limits(cf_context *ctx) {
    static bench b;
    harness_open(&b.h, ctx);
    for (uint32_t turn = 0; turn < 2; turn++) {
        if (cf_case(ctx, "%s", turn == 0 ? "everything" : "llama Q8_0")
            && open_bench(&b, ctx,
                          &(bench_size){.n_layer = 4,
                                        .n_sequences = 1,
                                        .n_positions = 24,
                                        .n_cells = 32,
                                        .tokens = 16,
                                        .order = CELLS_SHUFFLED,
                                        .is_everything = turn == 0})) {
            run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 16, .is_shuffled = true}), "the prompt");
            for (uint32_t p = 16; p < 24; p++) {
                run_judged(&b, chat_step(&b.c, &(chat_tokens){.n = 1, .first = p}), "a token");
            }
            close_bench(&b);
        }
    }
    harness_close(&b.h);
}

static const cf_test tests[] = {
    CASES_TEST(a_model_of_four_layers_keeps_its_limits, "R1", CF_MUST_DECODE),
    CASES_TEST(a_prompt_in_pieces_gives_the_logits_of_the_prompt, "R1 K1", CF_MUST_DECODE),
    CASES_TEST(sequences_of_one_step_do_not_see_each_other, "K2", CF_MUST_DECODE),
    CASES_TEST(a_copied_sequence_goes_on_as_its_model, "K4", CF_MUST_DECODE),
    CASES_TEST(a_sequence_goes_on_after_its_cells_were_moved, "K4", CF_MUST_DECODE),
    CASES_TEST(a_text_is_cut_and_grows_again, "K1", CF_MUST_DECODE),
    CASES_TEST(two_sessions_of_one_program_do_not_see_each_other, "K2", CF_MUST_DECODE),
    CASES_TEST(a_refused_step_leaves_the_session_as_it_was, "R6 C1", CF_MUST_DECODE),
    CASES_TEST(steps_take_no_memory, "M4", CF_MUST_DECODE),
    CASES_TEST(deterministic_programs_give_the_same_bits_each_time, "R3", CF_MUST_DECODE),
    CASES_TEST(a_thousand_steps_do_not_drift, "R1", CF_MUST_DECODE),
};
const cf_suite cf_suite_models = CF_SUITE(5, "models", tests);
