/* cases_layers.c — whole layers of every family: the fused program, the materialised one, and each of its ops. */
#include "blame.h"
#include "cases.h"
#include "chat.h"
#include "judge.h"

#define N_POSITIONS 48

/* Tokens of the steps, one behind the other: the context grows, and steps of one token and of many take turns. */
static const uint32_t counts[] = {7, 1, 2, 32, 1, 1};

typedef struct layer_run {
    harness *h;
    stack *s;
    chat *c;
    judge *j;
    rig fused, written;
    const op_step *steps[CF_COUNT_OF(counts)]; /* so far */
    uint32_t n_steps;
} layer_run;

static void run_layer_step(layer_run *r, const op_step *step) {
    cf_context *const ctx = r->h->ctx;
    char text[256];
    r->steps[r->n_steps++] = step;
    judge_step(r->j, step);
    rig_run(&r->written, step);
    rig_run(&r->fused, step);
    judge_every_op(ctx, &r->written, step, ctx->numeric, "with MATERIALIZE");
    CF_CHECK(ctx, judge_is_near(r->j, &r->written, step, text),
             "with MATERIALIZE every op keeps its bound, but what later steps read is wrong: %s", text);
    if (!judge_is_near(r->j, &r->fused, step, text)) {
        blame_fused(ctx, r->fused.on, &r->s->m, &r->fused.limits, 0, r->steps, r->n_steps, text);
    }
}

static void check_layers(harness *h, const stack_family *family, const stack_shape *shape, const char *what) {
    layer_run r = {.h = h};
    stack s;
    chat c;
    judge j;
    if (!cf_case(h->ctx, "%s %s, state %s", family->name, what, qn_format_name(shape->state_format))) {
        return;
    }
    stack_init(&s, h->ctx, family, shape, shape->formats[0]);
    if (harness_offers(h, &s.m, 0) && harness_offers(h, &s.m, QN_COMPILE_MATERIALIZE)) {
        const qn_limits limits = op_model_limits(&s.m, 32, 32, 1, N_POSITIONS + 3);
        uint32_t first = 0;
        r.s = &s;
        r.c = &c;
        r.j = &j;
        chat_init(&c, &s, N_POSITIONS + 3, 1, N_POSITIONS, shape->formats[0] % CELLS_ORDERS);
        judge_open(&j, &s.m, &limits, h->ctx->numeric);
        rig_open(&r.fused, h->ctx, harness_widest(h), &s.m, &limits, 0);
        rig_open(&r.written, h->ctx, &h->one, &s.m, &limits, QN_COMPILE_MATERIALIZE);
        for (size_t i = 0; i < CF_COUNT_OF(counts); first += counts[i], i++) {
            run_layer_step(&r,
                           chat_step(&c, &(chat_tokens){.n = counts[i], .first = first, .is_shuffled = i % 2 == 1}));
        }
        rig_close(&r.fused);
        rig_close(&r.written);
        judge_close(&j);
        harness_covered(h, &s.m);
    }
    stack_free(&s);
}

/* Families whose layers are not all alike need one of each kind. */
static uint32_t layers_of(const stack_family *family) {
    return family->full_every == 0 ? 1 : 2;
}

static void check_family(cf_context *ctx, uint32_t index) {
    static const qn_format formats[] = {QN_FORMAT_F32,  QN_FORMAT_F16,  QN_FORMAT_BF16,     QN_FORMAT_Q8_0,
                                        QN_FORMAT_Q4_0, QN_FORMAT_Q4_1, QN_FORMAT_Q5_0,     QN_FORMAT_Q4_K,
                                        QN_FORMAT_Q5_K, QN_FORMAT_Q6_K, QN_FORMAT_Q4_K_SOA, QN_FORMAT_TERNARY};
    const stack_family *const family = &stack_families[index];
    stack_shape mixed = stack_mixed_shape(layers_of(family));
    harness h;
    harness_open(&h, ctx);
    mixed.state_format = index % 2 == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32;
    check_layers(&h, family, &mixed, "in formats of all kinds");
    for (uint32_t f = index % 3; f < CF_COUNT_OF(formats) && !ctx->is_quick; f += 3) {
        const stack_shape shape = stack_small_shape(layers_of(family), formats[f],
                                                    f % 2 == 0 ? QN_FORMAT_F16 : QN_FORMAT_F32);
        check_layers(&h, family, &shape, qn_format_name(formats[f]));
    }
    harness_close(&h);
}

#define FAMILY(index, name)                                                  \
    static void layers_of_##name##_compute_what_their_ops_say(cf_context *ctx) { \
        check_family(ctx, index);                                            \
    }
FAMILY(0, llama)
FAMILY(1, qwen2)
FAMILY(2, qwen3)
FAMILY(3, gemma2)
FAMILY(4, gemma3)
FAMILY(5, phi3)
FAMILY(6, every_kind)

static void layers_in_further_formats_compute_what_their_ops_say(cf_context *ctx) {
    static const qn_format formats[] = {QN_FORMAT_Q5_1,   QN_FORMAT_Q2_K,   QN_FORMAT_Q3_K,  QN_FORMAT_IQ4_NL,
                                        QN_FORMAT_IQ4_XS, QN_FORMAT_TQ1_0, QN_FORMAT_TQ2_0, QN_FORMAT_MXFP4};
    harness h;
    harness_open(&h, ctx);
    for (size_t f = 0; f < CF_COUNT_OF(formats); f += ctx->is_quick ? 3 : 1) {
        const stack_shape shape = stack_small_shape(1, formats[f], QN_FORMAT_F16);
        check_layers(&h, &stack_families[0], &shape, qn_format_name(formats[f]));
    }
    harness_close(&h);
}

/* Five hundred tokens in one step, and one that sees them all. */
static void a_layer_keeps_its_limits_over_a_long_prompt(cf_context *ctx) {
    const uint32_t n = ctx->is_quick ? 100 : 512;
    stack_shape shape = stack_small_shape(1, QN_FORMAT_Q8_0, QN_FORMAT_F16);
    stack s;
    chat c;
    judge j;
    rig r;
    harness h;
    char text[256];
    harness_open(&h, ctx);
    shape.n_ff = 256;
    if (cf_case(ctx, "llama Q8_0, %u tokens", n)) {
        stack_init(&s, ctx, &stack_families[0], &shape, n);
        if (harness_offers(&h, &s.m, 0)) {
            const qn_limits limits = op_model_limits(&s.m, n, n, 1, n + 8);
            chat_init(&c, &s, n + 8, 1, n + 1, CELLS_IN_PIECES);
            judge_open(&j, &s.m, &limits, ctx->numeric);
            rig_open(&r, ctx, harness_widest(&h), &s.m, &limits, 0);
            for (uint32_t i = 0; i < 2; i++) {
                op_step step = *chat_step(&c, &(chat_tokens){.n = i == 0 ? n : 1, .first = i * n});
                step.n_outputs = 1;
                judge_step(&j, &step);
                rig_run(&r, &step);
                CF_CHECK(ctx, judge_is_near(&j, &r, &step, text), "%s: %s",
                         i == 0 ? "the prompt" : "the token behind it", text);
            }
            rig_close(&r);
            judge_close(&j);
            harness_covered(&h, &s.m);
        }
        stack_free(&s);
    }
    harness_close(&h);
}

static const cf_test tests[] = {
    CASES_TEST(layers_of_llama_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_qwen2_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_qwen3_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_gemma2_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_gemma3_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_phi3_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_of_every_kind_compute_what_their_ops_say, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(layers_in_further_formats_compute_what_their_ops_say, "R1 R4", 0),
    CASES_TEST(a_layer_keeps_its_limits_over_a_long_prompt, "R1", CF_MUST_DECODE),
};
const cf_suite cf_suite_layers = CF_SUITE(4, "layers", tests);
