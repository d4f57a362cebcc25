/* cases_speed.c — how fast: products by format, the other ops, attention, and tokens of a model, beside the reference
 * backend and what the memory of this machine can give. It measures and never judges.
 *
 * Each figure is the median of many runs behind a warm-up, less what a program with next to nothing in it costs. Runs
 * that took more than twice the median are counted.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "cases.h"
#include "chat.h"

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);

enum { MOST_RUNS = 64, MOST_MATRICES = 24 };

typedef struct speed {
    cf_context *ctx;
    cf_backend on;
    double empty_ns;
} speed;

static int compare_ns(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Median ns of a step; as many runs as fit into a second, at least three. */
static double time_median(cf_context *ctx, rig *r, const op_step *step, uint32_t *out_slow) {
    uint64_t ns[MOST_RUNS], first;
    rig_time(r, step, 1, &first);
    const uint64_t fit = UINT64_C(1000000000) / (first + 1);
    const uint32_t n = ctx->is_quick || fit < 3 ? 3 : fit > MOST_RUNS ? MOST_RUNS : (uint32_t)fit;
    rig_time(r, step, n < 8 ? 1 : 4, ns);
    rig_time(r, step, n, ns);
    qsort(ns, n, sizeof ns[0], compare_ns);
    for (uint32_t i = 0; out_slow != NULL && i < n; i++) {
        *out_slow += ns[i] > 2 * ns[n / 2];
    }
    return (double)ns[n / 2];
}

/* Compiles, runs, and gives the median of one step; negative when the plugin does not offer the program. */
static double time_model(cf_context *ctx, const cf_backend *on, const op_model *m, const qn_limits *limits,
                         const op_step *step, uint32_t *out_slow) {
    rig_verdicts verdicts;
    rig r;
    if (!rig_is_offered(ctx, on, m, 0, &verdicts)) {
        return -1;
    }
    rig_open(&r, ctx, on, m, limits, 0);
    const double ns = time_median(ctx, &r, step, out_slow);
    rig_close(&r);
    return ns;
}

static double time_rows(cf_context *ctx, const cf_backend *on, const op_model *m, const op_step *step,
                        uint32_t *out_slow) {
    const qn_limits limits = op_model_limits(m, step->n_tokens, step->n_outputs, 1, 0);
    return time_model(ctx, on, m, &limits, step, out_slow);
}

static void measure(cf_context *ctx, const char *name, const char *what, double value, const char *unit) {
    char full[128];
    snprintf(full, sizeof full, "%s.%s", name, what);
    cf_measure(ctx, full, value, unit);
}

/* A program of one product with one element. */
static double time_empty(cf_context *ctx, const cf_backend *on) {
    const qn_scale_attrs attrs = {.size = sizeof attrs, .factor = 2};
    op_model m;
    op_model_init(&m, ctx, DATA_REAL, 1);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, 1, QN_DIM_TOKENS);
    op_program_add_op(m.builder, QN_OP_SCALE, QN_NO_LAYER, 1, &x,
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, 1, QN_DIM_TOKENS), &attrs, sizeof attrs);
    op_model_finish(&m);
    op_step step = case_step(1);
    step.inputs[x] = op_model_values(&m, false, 1);
    const double ns = time_rows(ctx, on, &m, &step, NULL);
    op_model_free(&m);
    return ns < 0 ? 0 : ns;
}

static void open_speed(speed *s, cf_context *ctx) {
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    cf_open(ctx, &s->on, 0);
    s->empty_ns = time_empty(ctx, &s->on);
}

/* Less the cost of an empty program, but never less than a tenth of it. */
static double net(const speed *s, double ns) {
    return fmax(ns - s->empty_ns, ns / 10);
}

/* --- Memory ------------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const uint64_t *words;
    size_t n_words;
    atomic_uint_fast64_t sum;
} reading;

static void QN_CALL read_share(void *arg, uint32_t worker, uint32_t n_workers) {
    reading *const r = arg;
    const size_t share = r->n_words / n_workers / 8 * 8, begin = worker * share;
    uint64_t sums[8] = {0};
    for (size_t i = begin; i < begin + share; i += 8) {
        for (size_t lane = 0; lane < 8; lane++) {
            sums[lane] += r->words[i + lane];
        }
    }
    atomic_fetch_add(&r->sum, sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7]);
}

/* GB/s that the team reads from memory, the best of a few times. */
static double read_speed(speed *s) {
    const size_t bytes = s->ctx->is_quick ? (size_t)8 << 20 : (size_t)64 << 20;
    const qn_host *const host = cf_host_services(s->on.host);
    scratch memory = {NULL};
    reading r = {.n_words = bytes / 8};
    double best = 0;
    uint64_t *const words = scratch_take(s->ctx, &memory, r.n_words, sizeof *words);
    for (size_t i = 0; i < r.n_words; i += 512) {
        words[i] = i;
    }
    r.words = words;
    for (uint32_t i = 0; i < 5; i++) {
        const uint64_t begin = host->time_ns(host->ctx);
        host->team_run(host->ctx, read_share, &r);
        best = fmax(best, (double)bytes / (double)(host->time_ns(host->ctx) - begin + 1));
    }
    scratch_free(&memory);
    return best;
}

/* --- Products ----------------------------------------------------------------------------------------------------- */

/* n products [size][size] of the same rows, each with a weight of its own. */
static void build_products(op_model *m, qn_format format, uint32_t size, uint32_t n, uint32_t *out_x) {
    const uint32_t x = *out_x = op_model_rows(m, "x", QN_ROLE_INPUT, size, QN_DIM_TOKENS);
    const uint32_t first = op_model_weight_sized(m, "w", format, size, size, 1 / sqrt((double)size));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t w = i == 0 ? first : op_model_weight_of(m, "w", first, 0, size);
        op_program_add_op(m->builder, QN_OP_MATMUL, QN_NO_LAYER, 2, (const uint32_t[]){w, x},
                          op_model_rows(m, "y", QN_ROLE_OUTPUT, size, QN_DIM_TOKENS), NULL, 0);
    }
    op_model_finish(m);
}

static double time_products(cf_context *ctx, const cf_backend *on, qn_format format, uint32_t size, uint32_t n,
                            uint32_t t, uint32_t *out_slow) {
    op_model m;
    uint32_t x;
    op_model_init(&m, ctx, DATA_MODEL, format);
    build_products(&m, format, size, n, &x);
    op_step step = case_step(t);
    step.inputs[x] = op_model_values(&m, false, (uint64_t)t * size);
    const double ns = time_rows(ctx, on, &m, &step, out_slow);
    op_model_free(&m);
    return ns;
}

/* ns of one product on the reference backend. */
static double time_reference(cf_context *ctx, qn_format format, uint32_t size) {
    cf_context plain = *ctx;
    cf_backend on;
    plain.query = quoin_reference_query;
    plain.plugin_path = plain.device_id = NULL;
    plain.numeric = QN_NUMERIC_F32ACC;
    memset(plain.n_options, 0, sizeof plain.n_options);
    cf_open(&plain, &on, 0);
    const double ns = time_products(&plain, &on, format, size, 1, 1, NULL);
    cf_close(&plain, &on);
    return ns;
}

static void measure_products(cf_context *ctx, qn_format format) {
    const uint32_t size = ctx->is_quick ? 512 : 2048, t = ctx->is_quick ? 8 : 64;
    const double bytes = (double)qn_format_bytes(format, (uint64_t)size * size);
    const double wanted = (ctx->is_quick ? 1e6 : 48e6) / bytes;
    const uint32_t n = wanted < 1 ? 1 : wanted > MOST_MATRICES ? MOST_MATRICES : (uint32_t)wanted;
    uint32_t n_slow = 0;
    char name[64];
    speed s;
    open_speed(&s, ctx);
    snprintf(name, sizeof name, "matmul.%s", qn_format_name(format));
    const double decode = time_products(ctx, &s.on, format, size, n, 1, &n_slow);
    if (decode < 0) {
        cf_unsupported(ctx, "the verdict on matmul in %s is no", qn_format_name(format));
    }
    const double one = net(&s, decode) / n, prefill = net(&s, time_products(ctx, &s.on, format, size, 1, t, &n_slow));
    measure(ctx, name, "decode", one, "ns");
    measure(ctx, name, "read", bytes / one, "GB/s");
    measure(ctx, name, "prefill", 2.0 * size * size * t / prefill, "Gop/s");
    measure(ctx, name, "reference", time_reference(ctx, format, size) / one, "times");
    if (s.on.info.device_class == QN_DEVICE_CPU) {
        measure(ctx, name, "of_memory", bytes / one / read_speed(&s), "times");
    }
    measure(ctx, name, "slow_runs", n_slow, "runs");
    cf_close(ctx, &s.on);
}

#define PRODUCTS_OF(NAME)                                            \
    static void products_with_##NAME(cf_context *ctx) {              \
        measure_products(ctx, QN_FORMAT_##NAME);                     \
    }
CASES_WEIGHT_FORMATS(PRODUCTS_OF)

/* --- Other ops ---------------------------------------------------------------------------------------------------- */

typedef struct small_op {
    uint32_t op, n;
    const void *attrs;
    uint32_t attrs_bytes;
} small_op;

enum { REPEATS = 16 };

/* Sixteen times the same op, each with an output of its own: ns of one. */
static void measure_small(speed *s, const small_op *o) {
    op_model m;
    op_model_init(&m, s->ctx, DATA_REAL, o->op);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, o->n, QN_DIM_TOKENS);
    const bool has_two = o->op == QN_OP_ADD || o->op == QN_OP_GATED || o->op == QN_OP_RMS_NORM;
    const uint32_t second = o->op == QN_OP_RMS_NORM ? op_model_weight(&m, "w", QN_FORMAT_F32, o->n, 0) : x;
    for (uint32_t i = 0; i < REPEATS; i++) {
        op_program_add_op(m.builder, o->op, QN_NO_LAYER, has_two ? 2 : 1, (const uint32_t[]){x, second},
                          op_model_rows(&m, "y", QN_ROLE_OUTPUT, o->n, QN_DIM_TOKENS), o->attrs, o->attrs_bytes);
    }
    op_model_finish(&m);
    op_step step = case_step(1);
    step.inputs[x] = op_model_values(&m, false, o->n);
    const double ns = time_rows(s->ctx, &s->on, &m, &step, NULL);
    if (ns >= 0) {
        measure(s->ctx, qn_op_name(o->op), "decode", net(s, ns) / REPEATS, "ns");
    }
    op_model_free(&m);
}

static void small_ops(cf_context *ctx) {
    static const qn_scale_attrs scale = {.size = sizeof scale, .factor = 1.5f};
    static const qn_rms_norm_attrs norm = {.size = sizeof norm, .group = 4096, .epsilon = 1e-5f};
    static const qn_rope_attrs rope = {.size = sizeof rope,
                                       .n_head = 32,
                                       .head_dim = 128,
                                       .n_rot = 128,
                                       .base = 10000,
                                       .freq_scale = 1,
                                       .attn_factor = 1};
    static const qn_gated_attrs gated = {.size = sizeof gated, .kind = QN_GATED_SILU};
    static const qn_softcap_attrs softcap = {.size = sizeof softcap, .cap = 30};
    static const small_op ops[] = {{QN_OP_ADD, 4096, NULL, 0},
                                   {QN_OP_SCALE, 4096, &scale, sizeof scale},
                                   {QN_OP_RMS_NORM, 4096, &norm, sizeof norm},
                                   {QN_OP_ROPE, 4096, &rope, sizeof rope},
                                   {QN_OP_GATED, 11008, &gated, sizeof gated},
                                   {QN_OP_SOFTCAP, 32000, &softcap, sizeof softcap}};
    speed s;
    open_speed(&s, ctx);
    cf_measure(ctx, "empty.step", s.empty_ns, "ns");
    if (s.on.info.device_class == QN_DEVICE_CPU) {
        cf_measure(ctx, "memory.read", read_speed(&s), "GB/s");
    }
    for (size_t i = 0; i < CF_COUNT_OF(ops); i++) {
        measure_small(&s, &ops[i]);
    }
    cf_close(ctx, &s.on);
}

/* One token that sees n cells, 32 heads of 128 over 8. */
static void measure_attention(speed *s, uint32_t n, qn_format format) {
    const qn_attention_attrs attrs = {
        .size = sizeof attrs, .n_head = 32, .n_kv_head = 8, .head_dim = 128, .value_dim = 128, .scale = 0.088f};
    const uint32_t columns = attrs.n_kv_head * attrs.head_dim, cell = n - 1, span_at[2] = {0, 1};
    const int32_t position = (int32_t)cell;
    const qn_span span = {.n_cells = n};
    const qn_placement placement = {
        .size = sizeof placement, .n_spans = 1, .cells = &cell, .spans = &span, .span_at = span_at};
    op_model m;
    op_model_init(&m, s->ctx, DATA_REAL, n);
    op_program_add_group(m.builder, 0);
    const uint32_t x = op_model_rows(&m, "x", QN_ROLE_INPUT, columns, QN_DIM_TOKENS);
    const uint32_t q = op_model_rows(&m, "q", QN_ROLE_INPUT, 4096, QN_DIM_TOKENS);
    const uint32_t k = op_program_add_state(m.builder, "k", format, columns, 0),
                   v = op_program_add_state(m.builder, "v", format, columns, 0);
    op_program_add_op(m.builder, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){x, k}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(m.builder, QN_OP_STATE_WRITE, 0, 2, (const uint32_t[]){x, v}, OP_NO_OUTPUT, NULL, 0);
    op_program_add_op(m.builder, QN_OP_ATTENTION, 0, 3, (const uint32_t[]){q, k, v},
                      op_model_rows(&m, "y", QN_ROLE_OUTPUT, 4096, QN_DIM_TOKENS), &attrs, sizeof attrs);
    op_model_finish(&m);
    op_step step = case_step(1);
    step.positions = &position;
    step.placements = &placement;
    step.inputs[x] = op_model_values(&m, false, columns);
    step.inputs[q] = op_model_values(&m, false, 4096);
    const qn_limits limits = op_model_limits(&m, 1, 1, 1, n);
    const double ns = time_model(s->ctx, &s->on, &m, &limits, &step, NULL);
    if (ns >= 0) {
        char name[64];
        snprintf(name, sizeof name, "attention.%s.%u", qn_format_name(format), n);
        measure(s->ctx, name, "decode", net(s, ns), "ns");
        measure(s->ctx, name, "read", 2.0 * n * (double)qn_format_bytes(format, columns) / net(s, ns), "GB/s");
    }
    op_model_free(&m);
}

static void attention_at_two_lengths(cf_context *ctx) {
    speed s;
    open_speed(&s, ctx);
    for (uint32_t n = 512; n <= (ctx->is_quick ? 512 : 4096); n *= 8) {
        measure_attention(&s, n, QN_FORMAT_F16);
        measure_attention(&s, n, QN_FORMAT_F32);
    }
    cf_close(ctx, &s.on);
}

/* --- Models ------------------------------------------------------------------------------------------------------- */

/* Tokens a second of a random model, one by one at three contexts, and in a prompt. */
static void measure_model(speed *s, qn_format format) {
    static const uint32_t contexts[] = {16, 512, 2048};
    cf_context *const ctx = s->ctx;
    stack_shape shape = stack_small_shape(4, format, QN_FORMAT_F16);
    char name[64];
    static stack st;
    chat c;
    rig r;
    rig_verdicts verdicts;
    if (!ctx->is_quick) {
        shape.n_embd = 1024;
        shape.n_ff = 2816;
        shape.n_head = 16;
        shape.n_kv_head = 4;
        shape.n_vocab = 4096;
    }
    stack_init(&st, ctx, &stack_families[0], &shape, 77);
    if (rig_is_offered(ctx, &s->on, &st.m, 0, &verdicts)) {
        const qn_limits limits = op_model_limits(&st.m, 64, 1, 1, 2112);
        chat_init(&c, &st, 2112, 1, 2112, CELLS_IN_ORDER);
        rig_open(&r, ctx, &s->on, &st.m, &limits, 0);
        snprintf(name, sizeof name, "model.%s", qn_format_name(format));
        for (uint32_t i = 0; i < (ctx->is_quick ? 1 : CF_COUNT_OF(contexts)); i++) {
            char what[32];
            snprintf(what, sizeof what, "context_%u", contexts[i]);
            measure(ctx, name, what,
                    1e9 / time_median(ctx, &r, chat_step(&c, &(chat_tokens){.n = 1, .first = contexts[i]}), NULL),
                    "tokens/s");
        }
        op_step prompt = *chat_step(&c, &(chat_tokens){.n = 64});
        prompt.n_outputs = 1;
        measure(ctx, name, "prompt_64", 64e9 / time_median(ctx, &r, &prompt, NULL), "tokens/s");
        rig_close(&r);
    }
    stack_free(&st);
}

static void tokens_of(cf_context *ctx, qn_format format) {
    speed s;
    open_speed(&s, ctx);
    measure_model(&s, format);
    cf_close(ctx, &s.on);
}

static void tokens_of_a_model_in_q4_0(cf_context *ctx) {
    tokens_of(ctx, QN_FORMAT_Q4_0);
}

static void tokens_of_a_model_in_q4_k(cf_context *ctx) {
    tokens_of(ctx, QN_FORMAT_Q4_K);
}

static void tokens_of_a_model_in_q8_0(cf_context *ctx) {
    tokens_of(ctx, QN_FORMAT_Q8_0);
}

static void tokens_of_a_model_in_f16(cf_context *ctx) {
    tokens_of(ctx, QN_FORMAT_F16);
}

#define PRODUCTS_TEST(NAME) CF_LONG_TEST(products_with_##NAME, "", 0, 4),
static const cf_test tests[] = {
    CF_LONG_TEST(small_ops, "", 0, 4),
    CASES_WEIGHT_FORMATS(PRODUCTS_TEST)
    CF_LONG_TEST(attention_at_two_lengths, "", 0, 4),
    CF_LONG_TEST(tokens_of_a_model_in_q4_0, "", 0, 4),
    CF_LONG_TEST(tokens_of_a_model_in_q4_k, "", 0, 4),
    CF_LONG_TEST(tokens_of_a_model_in_q8_0, "", 0, 4),
    CF_LONG_TEST(tokens_of_a_model_in_f16, "", 0, 4),
};
const cf_suite cf_suite_speed = CF_SUITE(7, "speed", tests);
