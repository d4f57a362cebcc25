/* test_gpu_core.c — the core of the device plugins on a driver that counts: recordings, pools, plans, budgets, faults,
 * moves. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/ext/profile.h>
#include <quoin/ext/test_fault.h>
#include <quoin/glue.h>

#include "counting_driver.h"
#include "gpu_lower.h"
#include "test_stack.h"

#define TOKENS 20u
#define CELLS 48u

qn_status QN_CALL quoin_backend_query_0(const qn_query_in *in, qn_query_out *out);

static stack model;
static qn_error error;

static qn_error *fresh(void) {
    error = (qn_error){.size = sizeof error, .op = QN_NO_OP};
    return &error;
}

static void require_done(qn_status status) {
    if (status != QN_OK) {
        fail_msg("status %d: %s", status, error.text);
    }
}

static void open_backend(cf_backend *b) {
    cf_context *ctx = test_context();
    ctx->query = quoin_backend_query_0;
    cf_open(ctx, b, 1);
}

/* The device again, with an option. */
static qn_status reopen(cf_backend *b, const char *key, const char *value) {
    const qn_option option = {key, value};
    b->verbs->close(b->device);
    b->device = NULL;
    return b->verbs->open(b->plugin, b->info.id, &option, 1, &b->device, fresh());
}

static void close_backend(cf_backend *b) {
    cf_close(test_context(), b);
    assert_int_equal(counted.n_memories_left, 0);
    assert_int_equal(counted.n_recordings_left, 0);
    assert_false(counted.have_met);
}

static qn_limits limits_of(void) {
    return test_limits(TOKENS, TOKENS, 2, 2, CELLS);
}

static const qn_compile_options plain = {.size = sizeof plain, .numeric = QN_NUMERIC_F32ACC};

/* Binds all weights and seals; the first status that is not OK. */
static qn_status bind_all(const cf_backend *b, qn_prog *prog) {
    qn_status status = QN_OK;
    for (uint32_t i = 0; i < model.m.program->n_buffers && status == QN_OK; i++) {
        const op_weight *from = &model.m.weights[i];
        const qn_weight weight = {.size = sizeof weight,
                                  .buffer = i,
                                  .flags = QN_WEIGHT_BORROW,
                                  .fd = -1,
                                  .data = from->bytes,
                                  .bytes = from->n_bytes,
                                  .first_element = from->first};
        status = from->bytes == NULL ? QN_OK : b->verbs->bind_weights(prog, &weight, sizeof weight, 1, fresh());
    }
    return status == QN_OK ? b->verbs->seal(prog, fresh()) : status;
}

/* compile, bind, seal, session_new; the first status that is not OK, and what was made. */
static qn_status make_all(const cf_backend *b, qn_prog **prog, qn_session **session) {
    const qn_limits limits = limits_of();
    *prog = NULL;
    *session = NULL;
    qn_status status = b->verbs->compile(b->device, model.m.program, &limits, &plain, prog, fresh());
    status = status == QN_OK ? bind_all(b, *prog) : status;
    return status == QN_OK ? b->verbs->session_new(*prog, session, fresh()) : status;
}

static void free_all(const cf_backend *b, qn_prog *prog, qn_session *session) {
    b->verbs->session_free(session);
    b->verbs->prog_free(prog);
}

/* --- Steps -------------------------------------------------------------------------------------------------------- */

/* n tokens of one sequence from position `first` on, in cells of the same numbers; outputs of all. */
typedef struct simple_step {
    int32_t ids[TOKENS], positions[TOKENS], rows[TOKENS];
    uint32_t cells[TOKENS], span_at[2];
    qn_span span;
    qn_placement placements[2];
    float logits[TOKENS * TEST_STACK_VOCAB];
    qn_binding bindings[3];
    qn_step step;
} simple_step;

static void fill_step(simple_step *s, uint32_t first, uint32_t n, uint32_t n_outputs) {
    memset(s, 0, sizeof *s);
    for (uint32_t t = 0; t < n; t++) {
        s->positions[t] = (int32_t)(first + t);
        s->rows[t] = (int32_t)t;
        s->cells[t] = first + t;
    }
    s->span = (qn_span){.first_cell = 0, .n_cells = first + n};
    s->span_at[1] = 1;
    for (uint32_t g = 0; g < 2; g++) {
        s->placements[g] = (qn_placement){
            .size = sizeof(qn_placement), .n_spans = 1, .cells = s->cells, .spans = &s->span, .span_at = s->span_at};
    }
    s->bindings[0] = (qn_binding){model.ids, 0, s->ids, n * 4};
    s->bindings[1] = (qn_binding){model.rows, 0, s->rows, n_outputs * 4};
    s->bindings[2] = (qn_binding){model.logits, 0, s->logits, n_outputs * TEST_STACK_VOCAB * 4};
    s->step = (qn_step){.size = sizeof s->step,
                        .n_tokens = n,
                        .n_outputs = n_outputs,
                        .n_sequences = 1,
                        .positions = s->positions,
                        .placements = s->placements,
                        .placement_stride = sizeof s->placements[0],
                        .bindings = s->bindings,
                        .binding_stride = sizeof s->bindings[0],
                        .n_bindings = 3};
}

static qn_status try_step(const cf_backend *b, qn_session *session, uint32_t first, uint32_t n, uint32_t n_outputs) {
    simple_step s;
    fill_step(&s, first, n, n_outputs);
    return b->verbs->step(session, &s.step, fresh());
}

static void a_shape_is_recorded_once_and_the_least_used_gives_way(void **state) {
    static const struct {
        uint32_t n, n_outputs, n_records; /* afterwards */
    } steps[] = {{4, 0, 1}, {1, 1, 2}, {1, 1, 2}, {1, 0, 3}, {2, 1, 4}, {4, 0, 4},
                 {3, 1, 5}, {4, 0, 5}, {1, 0, 5}, {1, 1, 6}, {2, 1, 7}};
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    const uint32_t before = counted.n_records, runs = counted.n_runs;
    const uint64_t allocations = cf_host_allocations(b.host);
    for (uint32_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        require_done(try_step(&b, session, 0, steps[i].n, steps[i].n_outputs));
        assert_int_equal(counted.n_records - before, steps[i].n_records);
        assert_int_equal(counted.n_runs - runs, i + 1);
    }
    assert_int_equal(cf_host_allocations(b.host), allocations);
    free_all(&b, prog, session);
    close_backend(&b);
}

static const gpu_launch *first_launch_of(uint32_t op) {
    for (uint32_t i = 0; i < counted.n_launches; i++) {
        if (counted.launches[i].op == op) {
            return &counted.launches[i];
        }
    }
    return NULL;
}

/* The op that writes the buffer of this name. */
static uint32_t find_op(const char *name) {
    for (uint32_t i = 0; i < model.m.program->n_ops; i++) {
        const qn_op *op = qn_program_op(model.m.program, i);
        const uint32_t out = qn_program_operands(model.m.program, op)[op->n_outputs > 0 ? op->n_inputs : 1];
        if (strcmp(qn_program_name(model.m.program, qn_program_buffer(model.m.program, out)), name) == 0) {
            return i;
        }
    }
    fail_msg("no op writes %s", name);
    return 0;
}

static void ops_that_need_nothing_of_each_other_run_beside(void **state) {
    static const struct {
        const char *name;
        bool is_beside;
    } rows[] = {{"q.0", false},         {"k.0", true},       {"v.0", true},      {"q_norm.0", false},
                {"k_norm.0", true},     {"q_rope.0", false}, {"state_k.0", false}, {"attention.0", false},
                {"gate.0", false},      {"up.0", true},      {"gated.0", false},   {"ffn_add.0", false}};
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    require_done(try_step(&b, session, 0, 1, 1));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const gpu_launch *launch = first_launch_of(find_op(rows[i].name));
        assert_non_null(launch);
        if (((launch->flags & GPU_LAUNCH_BESIDE) != 0) != rows[i].is_beside) {
            fail_msg("%s: flags %u", rows[i].name, launch->flags);
        }
    }
    free_all(&b, prog, session);
    close_backend(&b);
}

/* Launches of a step of one token, compiled with these flags. */
static uint32_t count_step_launches(uint32_t flags) {
    const qn_limits limits = limits_of();
    qn_compile_options options = plain;
    cf_backend b;
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    options.flags = flags;
    counting_driver_reset();
    open_backend(&b);
    require_done(b.verbs->compile(b.device, model.m.program, &limits, &options, &prog, fresh()));
    require_done(bind_all(&b, prog));
    require_done(b.verbs->session_new(prog, &session, fresh()));
    require_done(try_step(&b, session, 0, 1, 1));
    const uint32_t n = counted.n_launches;
    free_all(&b, prog, session);
    close_backend(&b);
    return n;
}

/* Of two partners the earlier one has the launch; only under MATERIALIZE there are none. */
static void partners_are_one_launch_unless_everything_is_kept(void **state) {
    static const char *const waiting[] = {"k_rope.0", "state_v.0", "k_rope.1", "state_v.1", "ffn_norm.0", "ffn_norm.1"};
    char text[200];
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    const uint32_t kept = count_step_launches(QN_COMPILE_MATERIALIZE), fused = count_step_launches(0);
    assert_int_equal(kept - fused, 7); /* and the norm behind the first layer's last sum */
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    require_done(try_step(&b, session, 0, 1, 1));
    for (size_t i = 0; i < sizeof waiting / sizeof waiting[0]; i++) {
        assert_null(first_launch_of(find_op(waiting[i])));
    }
    b.verbs->describe(prog, find_op("k_rope.0"), text, sizeof text);
    assert_non_null(strstr(text, "with op"));
    b.verbs->describe(prog, find_op("q_rope.0"), text, sizeof text);
    assert_string_equal(text, "rope_pair");
    free_all(&b, prog, session);
    close_backend(&b);
}

/* Bytes of activations are made once for q, k and v, and once for gate and up, which then run beside each other. */
static void activations_become_bytes_once_for_all_that_read_them(void **state) {
    const qn_limits limits = limits_of();
    const qn_compile_options options = {.size = sizeof options, .numeric = QN_NUMERIC_ACT8 | QN_NUMERIC_F32ACC};
    uint32_t n_quantized = 0, n_products = 0;
    qn_memory_plan plan = {.size = sizeof plan};
    cf_backend b;
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    (void)state;
    counting_driver_reset();
    counted.caps_flags = GPU_CAP_INT_DOT;
    open_backend(&b);
    require_done(b.verbs->plan(b.device, model.m.program, &limits, &options, &plan, fresh()));
    assert_int_equal(plan.numeric, QN_NUMERIC_ACT8);
    require_done(b.verbs->compile(b.device, model.m.program, &limits, &options, &prog, fresh()));
    require_done(bind_all(&b, prog));
    require_done(b.verbs->session_new(prog, &session, fresh()));
    require_done(try_step(&b, session, 0, 1, 1));
    for (uint32_t i = 0; i < counted.n_launches; i++) {
        const gpu_launch *launch = &counted.launches[i];
        const bool is_quantize = launch->kernel != GPU_COPY && strcmp(gpu_kernel_name(launch->kernel), "quantize") == 0;
        n_quantized += is_quantize;
        n_products += launch->kernel != GPU_COPY && strstr(gpu_kernel_name(launch->kernel), "_dot_") != NULL;
        assert_true(!is_quantize || (launch[1].flags & GPU_LAUNCH_BESIDE) == 0); /* who reads the bytes waits for them */
    }
    assert_true(n_quantized > 0 && n_quantized <= 4 * 2 + 1 && n_quantized < n_products);
    free_all(&b, prog, session);
    close_backend(&b);
}

/* A program of the model's builder kind, compiled with what it has bound: zeros. */
typedef struct one_op {
    op_program *p;
    qn_prog *prog;
    qn_session *session;
    char *zeros;
} one_op;

static void make_one_op(const cf_backend *b, one_op *self, const qn_limits *limits, uint64_t weight_bytes) {
    const qn_weight weight = {
        .size = sizeof weight, .flags = QN_WEIGHT_BORROW, .fd = -1, .data = self->zeros, .bytes = weight_bytes};
    require_done(b->verbs->compile(b->device, op_program_finish(self->p), limits, &plain, &self->prog, fresh()));
    require_done(b->verbs->bind_weights(self->prog, &weight, sizeof weight, weight_bytes > 0 ? 1 : 0, fresh()));
    require_done(b->verbs->seal(self->prog, fresh()));
    require_done(b->verbs->session_new(self->prog, &self->session, fresh()));
}

static void free_one_op(const cf_backend *b, one_op *self) {
    free_all(b, self->prog, self->session);
    op_program_destroy(self->p);
    free(self->zeros);
}

/* One layer of one matrix of 4096 x 4096 of zeros: nothing runs. */
static void large_steps_have_places_to_stop_at(void **state) {
    enum { N = 4096, T = 256 };
    const qn_limits limits = test_limits(T, 1, 1, 0, 0);
    one_op all = {.p = op_program_create(), .zeros = calloc(N * 2, N)};
    cf_backend b;
    (void)state;
    assert_non_null(all.zeros);
    counting_driver_reset();
    open_backend(&b);
    const uint32_t w = op_program_add_weight(all.p, "w", QN_FORMAT_F16, N, N);
    const uint32_t x = op_program_add_rows(all.p, "x", QN_ROLE_INPUT, QN_FORMAT_F32, N, QN_DIM_TOKENS);
    const uint32_t y = op_program_add_rows(all.p, "y", QN_ROLE_OUTPUT, QN_FORMAT_F32, N, QN_DIM_TOKENS);
    op_program_add_op(all.p, QN_OP_MATMUL, 0, 2, (const uint32_t[]){w, x}, y, NULL, 0);
    all.p->ops[0].flags = QN_OP_LAYER_END;
    make_one_op(&b, &all, &limits, (uint64_t)N * N * 2);
    for (uint32_t n = 1; n <= T; n += T - 1) {
        const int32_t positions[T] = {0};
        float *rows = calloc(n, N * sizeof *rows);
        const qn_binding bindings[] = {{x, 0, all.zeros, (uint64_t)n * N * 4}, {y, 0, rows, (uint64_t)n * N * 4}};
        const qn_step step = {.size = sizeof step,
                              .n_tokens = n,
                              .n_sequences = 1,
                              .positions = positions,
                              .bindings = bindings,
                              .binding_stride = sizeof bindings[0],
                              .n_bindings = 2};
        require_done(b.verbs->step(all.session, &step, fresh()));
        assert_int_equal((counted.launches[counted.n_launches - 2].flags & GPU_LAUNCH_CUT) != 0,
                         n > 1); /* behind it: the copy */
        free(rows);
    }
    free_one_op(&b, &all);
    close_backend(&b);
}

/* --- Memory ------------------------------------------------------------------------------------------------------- */

static void check_plan(uint32_t caps_flags) {
    const qn_limits limits = limits_of();
    qn_memory_plan plan = {.size = sizeof plan};
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    counting_driver_reset();
    counted.caps_flags = caps_flags;
    open_backend(&b);
    require_done(b.verbs->plan(b.device, model.m.program, &limits, &plain, &plan, fresh()));
    assert_int_equal(counted.n_memories, 0);
    assert_int_equal(counted.n_kernels, 0);
    const uint64_t other = cf_host_bytes(b.host, QN_MEM_OTHER);
    require_done(make_all(&b, &prog, &session));
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        const uint64_t taken = cf_host_bytes(b.host, kind) - (kind == QN_MEM_OTHER ? other : 0);
        const uint64_t planned = plan.host_bytes[kind] + plan.device_bytes[kind];
        if (taken > planned || planned - taken > planned / 100 + 256) {
            fail_msg("kind %u: %llu bytes taken, %llu planned", kind, (unsigned long long)taken,
                     (unsigned long long)planned);
        }
    }
    assert_int_equal(plan.borrowed_bytes > 0, caps_flags == GPU_CAP_UNIFIED);
    assert_int_equal(counted.n_imports > 0, caps_flags == GPU_CAP_UNIFIED);
    free_all(&b, prog, session);
    close_backend(&b);
}

static void what_is_planned_is_taken(void **state) {
    (void)state;
    check_plan(0);
    check_plan(GPU_CAP_UNIFIED);
}

static void small_weights_share_one_memory(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    /* All weights, tables, states, the session's regions, and the two windows. */
    assert_int_equal(counted.n_memories, 6);
    free_all(&b, prog, session);
    close_backend(&b);
    counting_driver_reset();
    counted.max_memory_bytes = 600000; /* the largest weight */
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    assert_in_range(counted.n_memories, 7, 12);
    free_all(&b, prog, session);
    close_backend(&b);
}

static void pages_that_cannot_be_imported_are_copied(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    counted.caps_flags = GPU_CAP_UNIFIED;
    counted.refuses_imports = true;
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    assert_int_equal(counted.n_imports, 0);
    assert_true(cf_host_bytes(b.host, QN_MEM_WEIGHTS) > 0);
    free_all(&b, prog, session);
    close_backend(&b);
}

static void a_budget_holds_to_the_byte(void **state) {
    const qn_limits limits = limits_of();
    qn_memory_plan plan = {.size = sizeof plan};
    uint64_t device_bytes = 0;
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(b.verbs->plan(b.device, model.m.program, &limits, &plain, &plan, fresh()));
    for (uint32_t kind = 0; kind < QN_MEM_KINDS; kind++) {
        device_bytes += plan.device_bytes[kind];
    }
    const uint64_t budgets[] = {0, device_bytes - 1, device_bytes};
    for (uint32_t i = 0; i < 3; i++) {
        char text[32];
        snprintf(text, sizeof text, "%llu", (unsigned long long)budgets[i]);
        require_done(reopen(&b, "memory", text));
        const qn_status status = make_all(&b, &prog, &session);
        assert_int_equal(status, i == 2 ? QN_OK : QN_NO_DEVICE_MEM);
        assert_true(i == 2 || strstr(error.text, text) != NULL);
        free_all(&b, prog, session);
    }
    assert_int_equal(reopen(&b, "memory", "12a"), QN_BAD_ARG);
    assert_non_null(strstr(error.text, "12a"));
    close_backend(&b);
}

static void what_is_larger_than_a_memory_is_refused_by_name(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    counted.max_memory_bytes = 100000;
    open_backend(&b);
    assert_int_equal(make_all(&b, &prog, &session), QN_NO_DEVICE_MEM);
    assert_non_null(strstr(error.text, "100000"));
    close_backend(&b);
}

/* --- Faults ------------------------------------------------------------------------------------------------------- */

static const qn_test_fault *faults_of(const cf_backend *b) {
    const qn_test_fault *faults = b->verbs->get_ext(QN_EXT_TEST_FAULT);
    assert_non_null(faults);
    return faults;
}

static void every_allocation_of_the_device_may_fail(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    qn_status status = QN_NO_DEVICE_MEM;
    uint64_t n = 0;
    (void)state;
    while (status != QN_OK) {
        counting_driver_reset();
        open_backend(&b);
        require_done(faults_of(&b)->arm(b.device, QN_FAULT_ALLOC, ++n, fresh()));
        status = make_all(&b, &prog, &session);
        assert_true(status == QN_OK || status == QN_NO_DEVICE_MEM);
        free_all(&b, prog, session);
        close_backend(&b);
        assert_true(n < 100);
    }
    assert_int_equal(n, 7);
}

static void a_step_that_fails_is_followed_by_one_that_runs(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    require_done(faults_of(&b)->arm(b.device, QN_FAULT_STEP, 2, fresh()));
    require_done(try_step(&b, session, 0, 1, 1));
    assert_int_equal(try_step(&b, session, 1, 1, 1), QN_INTERNAL);
    require_done(try_step(&b, session, 1, 1, 1));
    assert_int_equal(faults_of(&b)->count(b.device, QN_FAULT_STEP), 3);
    assert_int_equal(faults_of(&b)->arm(b.device, 77, 1, fresh()), QN_BAD_ARG);
    free_all(&b, prog, session);
    close_backend(&b);
}

static void a_kernel_that_cannot_be_built_leaves_no_program(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    for (uint64_t n = 1; n <= 3; n++) {
        require_done(faults_of(&b)->arm(b.device, QN_FAULT_COMPILE, n, fresh()));
        assert_int_equal(make_all(&b, &prog, &session), QN_INTERNAL);
        assert_null(prog);
    }
    require_done(make_all(&b, &prog, &session));
    free_all(&b, prog, session);
    /* All kernels are there: the next event is a compile. */
    require_done(faults_of(&b)->arm(b.device, QN_FAULT_COMPILE, 1, fresh()));
    assert_int_equal(make_all(&b, &prog, &session), QN_INTERNAL);
    close_backend(&b);
}

static void after_a_loss_only_destroying_goes_on(void **state) {
    const qn_limits limits = limits_of();
    const qn_state_move move = {.size = sizeof move, .kind = QN_MOVE_ZERO, .n_cells = 1};
    qn_verdict verdicts[64];
    qn_memory_plan plan = {.size = sizeof plan};
    cf_backend b;
    qn_prog *prog, *other = NULL;
    qn_session *session, *second = NULL;
    uint64_t bytes = 0;
    char byte;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    require_done(faults_of(&b)->arm(b.device, QN_FAULT_LOSE, 1, fresh()));
    assert_int_equal(try_step(&b, session, 0, 1, 1), QN_DEVICE_LOST);
    assert_int_equal(try_step(&b, session, 0, 1, 1), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->state_move(session, &move, sizeof move, 1, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->tap(session, 0, &byte, 1, &bytes, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->session_new(prog, &second, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->seal(prog, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->bind_weights(prog, NULL, 0, 0, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->compile(b.device, model.m.program, &limits, &plain, &other, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->plan(b.device, model.m.program, &limits, &plain, &plan, fresh()), QN_DEVICE_LOST);
    assert_int_equal(b.verbs->check(b.device, model.m.program, &plain, verdicts, sizeof verdicts[0], fresh()),
                     QN_DEVICE_LOST);
    assert_true(error.text[0] != '\0');
    free_all(&b, prog, session);
    close_backend(&b);
}

static void a_loss_at_any_time_is_told_and_leaves_nothing(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    qn_status status = QN_DEVICE_LOST;
    uint64_t n = 0;
    (void)state;
    while (status != QN_OK) {
        counting_driver_reset();
        open_backend(&b);
        require_done(faults_of(&b)->arm(b.device, QN_FAULT_LOSE, ++n, fresh()));
        status = make_all(&b, &prog, &session);
        status = status == QN_OK ? try_step(&b, session, 0, 4, 1) : status;
        assert_true(status == QN_OK || status == QN_DEVICE_LOST);
        free_all(&b, prog, session);
        close_backend(&b);
        assert_true(n < 1000);
    }
    assert_true(n > 30); /* weights, and more */
}

/* --- Moves, times, threads ---------------------------------------------------------------------------------------- */

/* A state of 1024 rows of 256 bytes, four times what goes through scratch at once. */
static void long_moves_go_in_pieces(void **state) {
    enum { ROWS = 1024, COLUMNS = 64 };
    static const uint32_t moves[][3] = {{0, 1, 1000}, {5, 0, 1019}, {100, 400, 600}, {600, 20, 400}, {0, 512, 512}};
    const qn_limits limits = test_limits(1, 1, 1, 1, ROWS);
    one_op all = {.p = op_program_create()};
    cf_backend b;
    uint32_t want[ROWS];
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    op_program_add_group(all.p, 0);
    const uint32_t x = op_program_add_rows(all.p, "x", QN_ROLE_INPUT, QN_FORMAT_F32, COLUMNS, QN_DIM_TOKENS);
    const uint32_t s = op_program_add_state(all.p, "s", QN_FORMAT_F32, COLUMNS, 0);
    op_program_add_op(all.p, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){x, s}, OP_NO_OUTPUT, NULL, 0);
    make_one_op(&b, &all, &limits, 0);
    /* Clearing was the last recording: it knows where the state lies. */
    char *rows = counting_driver_bytes(counted.launches[0].buffers[0].memory) + counted.launches[0].buffers[0].at;
    for (uint32_t c = 0; c < ROWS; c++) {
        want[c] = c;
        for (uint32_t i = 0; i < COLUMNS; i++) {
            memcpy(rows + (c * COLUMNS + i) * 4, &c, 4);
        }
    }
    for (size_t m = 0; m < sizeof moves / sizeof moves[0]; m++) {
        const qn_state_move move = {
            .size = sizeof move, .kind = QN_MOVE_COPY, .from = moves[m][0], .to = moves[m][1], .n_cells = moves[m][2]};
        require_done(b.verbs->state_move(all.session, &move, sizeof move, 1, fresh()));
        memmove(want + moves[m][1], want + moves[m][0], moves[m][2] * sizeof want[0]);
        for (uint32_t c = 0; c < ROWS * COLUMNS; c++) {
            assert_memory_equal(rows + c * 4, &want[c / COLUMNS], 4);
        }
    }
    free_one_op(&b, &all);
    close_backend(&b);
}

static void times_are_told_under_the_ops_that_took_them(void **state) {
    uint64_t times[64];
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    const qn_profile *profile = b.verbs->get_ext(QN_EXT_PROFILE);
    require_done(make_all(&b, &prog, &session));
    require_done(profile->enable(session, 1, fresh()));
    require_done(try_step(&b, session, 0, 1, 0));
    require_done(try_step(&b, session, 0, 1, 1));
    assert_int_equal(profile->read(session, times, 64), model.m.program->n_ops);
    const uint32_t q = find_op("q.0"), logits = find_op("logits");
    assert_int_equal(times[q], 20);
    assert_int_equal(times[logits], 10);
    require_done(profile->enable(session, 0, fresh()));
    profile->read(session, times, 64);
    assert_int_equal(times[q], 0);
    free_all(&b, prog, session);
    close_backend(&b);
}

typedef struct stepper {
    const cf_backend *b;
    qn_session *session;
    qn_status status;
} stepper;

static void *step_many_times(void *arg) {
    stepper *self = arg;
    simple_step s;
    qn_error own = {.size = sizeof own};
    for (uint32_t i = 0; i < 200 && self->status == QN_OK; i++) {
        fill_step(&s, i % 8, 1 + i % 3, 1);
        self->status = self->b->verbs->step(self->session, &s.step, &own);
    }
    return NULL;
}

static void sessions_of_two_threads_never_meet_in_the_driver(void **state) {
    cf_backend b;
    qn_prog *prog;
    stepper steppers[2];
    pthread_t thread;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &steppers[0].session));
    require_done(b.verbs->session_new(prog, &steppers[1].session, fresh()));
    for (uint32_t i = 0; i < 2; i++) {
        steppers[i].b = &b;
        steppers[i].status = QN_OK;
    }
    assert_int_equal(pthread_create(&thread, NULL, step_many_times, &steppers[1]), 0);
    step_many_times(&steppers[0]);
    pthread_join(thread, NULL);
    assert_int_equal(steppers[0].status, QN_OK);
    assert_int_equal(steppers[1].status, QN_OK);
    b.verbs->session_free(steppers[1].session);
    free_all(&b, prog, steppers[0].session);
    close_backend(&b);
}

static void spans_that_overlap_are_refused(void **state) {
    cf_backend b;
    qn_prog *prog;
    qn_session *session;
    simple_step s;
    (void)state;
    counting_driver_reset();
    open_backend(&b);
    require_done(make_all(&b, &prog, &session));
    const qn_span twice[2] = {{0, CELLS, 0, 0}, {0, CELLS, 0, 0}};
    fill_step(&s, 0, 1, 1);
    s.placements[1].spans = twice;
    s.placements[1].n_spans = 2;
    const uint32_t span_at[2] = {0, 2};
    s.placements[1].span_at = span_at;
    assert_int_equal(b.verbs->step(session, &s.step, fresh()), QN_BAD_ARG);
    assert_non_null(strstr(error.text, "cell group 1"));
    free_all(&b, prog, session);
    close_backend(&b);
}

static int set_up(void **state) {
    (void)state;
    test_stack_init(&model);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    stack_free(&model);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_is_recorded_once_and_the_least_used_gives_way),
        cmocka_unit_test(ops_that_need_nothing_of_each_other_run_beside),
        cmocka_unit_test(partners_are_one_launch_unless_everything_is_kept),
        cmocka_unit_test(activations_become_bytes_once_for_all_that_read_them),
        cmocka_unit_test(large_steps_have_places_to_stop_at),
        cmocka_unit_test(what_is_planned_is_taken),
        cmocka_unit_test(small_weights_share_one_memory),
        cmocka_unit_test(pages_that_cannot_be_imported_are_copied),
        cmocka_unit_test(a_budget_holds_to_the_byte),
        cmocka_unit_test(what_is_larger_than_a_memory_is_refused_by_name),
        cmocka_unit_test(every_allocation_of_the_device_may_fail),
        cmocka_unit_test(a_step_that_fails_is_followed_by_one_that_runs),
        cmocka_unit_test(a_kernel_that_cannot_be_built_leaves_no_program),
        cmocka_unit_test(after_a_loss_only_destroying_goes_on),
        cmocka_unit_test(a_loss_at_any_time_is_told_and_leaves_nothing),
        cmocka_unit_test(long_moves_go_in_pieces),
        cmocka_unit_test(times_are_told_under_the_ops_that_took_them),
        cmocka_unit_test(sessions_of_two_threads_never_meet_in_the_driver),
        cmocka_unit_test(spans_that_overlap_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
