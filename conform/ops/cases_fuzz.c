/* cases_fuzz.c — random programs against the oracle, and programs that are broken at random. */
#include <stdlib.h>

#include <quoin/glue_program.h>

#include "blame.h"
#include "cases.h"
#include "fuzz_program.h"
#include "judge.h"

/* Runs a random program fused and materialised: each op keeps its bound, and the fused outputs are near what they
 * should be. */
static void run_program(harness *h, fuzz_program *f, uint32_t flags) {
    const qn_limits limits = fuzz_program_limits(f);
    judge j;
    rig fused, written;
    const op_step *steps[FUZZ_STEPS];
    char text[256];
    judge_open(&j, &f->m, &limits, h->ctx->numeric);
    rig_open(&fused, h->ctx, harness_widest(h), &f->m, &limits, flags);
    rig_open(&written, h->ctx, &h->one, &f->m, &limits, QN_COMPILE_MATERIALIZE);
    for (uint32_t s = 0; s < FUZZ_STEPS; s++) {
        const op_step *const step = steps[s] = fuzz_program_step(f);
        judge_step(&j, step);
        rig_run(&written, step);
        judge_every_op(h->ctx, &written, step, h->ctx->numeric, "with MATERIALIZE");
        rig_run(&fused, step);
        if (!judge_is_near(&j, &fused, step, text)) {
            blame_fused(h->ctx, fused.on, &f->m, &limits, flags, steps, s + 1, text);
        }
    }
    rig_close(&fused);
    rig_close(&written);
    judge_close(&j);
    harness_covered(h, &f->m);
}

static void check_programs(cf_context *ctx, uint32_t n_programs, uint32_t least, uint32_t most, uint64_t salt) {
    static fuzz_program f; /* large */
    harness h;
    harness_open(&h, ctx);
    for (uint32_t i = 0; i < n_programs; i++) {
        cf_random random = cf_random_make(ctx, salt + i);
        const uint32_t n_ops = least + cf_random_below(&random, most - least + 1);
        fuzz_program_init(&f, ctx, n_ops, (salt + i) << 8);
        if (cf_case(ctx, "%s", f.text) && harness_offers(&h, &f.m, 0)
            && harness_offers(&h, &f.m, QN_COMPILE_MATERIALIZE)) {
            run_program(&h, &f, i % 2 == 0 ? 0 : QN_COMPILE_DETERMINISTIC);
        }
        fuzz_program_free(&f);
    }
    harness_close(&h);
}

static void single_ops_of_any_shape_keep_their_bounds(cf_context *ctx) {
    check_programs(ctx, ctx->is_quick ? 24 : 240, 1, 1, 1000);
}

static void random_programs_of_a_few_ops_are_computed(cf_context *ctx) {
    check_programs(ctx, ctx->is_quick ? 8 : 80, 2, 5, 5000);
}

static void random_programs_of_many_ops_are_computed(cf_context *ctx) {
    check_programs(ctx, ctx->is_quick ? 8 : 80, 6, 12, 9000);
}

/* --- Broken programs ---------------------------------------------------------------------------------------------- */

/* A word becomes a small number, a large one, a neighbour's value, or loses or gains a bit. */
static void break_word(uint32_t *words, uint32_t n_words, cf_random *random) {
    uint32_t *const word = &words[cf_random_below(random, n_words)];
    switch (cf_random_below(random, 5)) {
    case 0: *word = cf_random_below(random, 9); break;
    case 1: *word = UINT32_MAX - cf_random_below(random, 9); break;
    case 2: *word = words[cf_random_below(random, n_words)]; break;
    case 3: *word ^= 1u << cf_random_below(random, 32); break;
    default: *word += cf_random_below(random, 17) - 8; break;
    }
}

/* Refused with a code and a text. A name of the broken program that it quotes may be anything; the text is UTF-8. */
static void require_refusal(cf_context *ctx, const char *verb, qn_status got, const qn_error *error) {
    CF_CHECK(ctx,
             got < 0 && error->code == got && cf_is_text(error->text, sizeof error->text) && error->text[0] != '\0',
             "%s of a broken program answers %s (%d), code %d, with %s; a refusal was expected", verb, cf_status(got), got,
             error->code,
             error->text[0] == '\0'                                ? "no text"
             : cf_is_text(error->text, sizeof error->text) ? "a text"
                                                           : "a text that is not terminated or not UTF-8");
}

/* check, plan and compile must refuse what breaks a rule. */
static void offer_broken(cf_context *ctx, const cf_backend *on, const qn_program *program, const qn_limits *limits) {
    static qn_verdict verdicts[OP_PROGRAM_ROOM];
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_memory_plan plan = {.size = sizeof plan};
    qn_prog *prog = NULL;
    qn_error error;
    for (uint32_t i = 0; i < OP_PROGRAM_ROOM; i++) {
        verdicts[i] = (qn_verdict){.size = sizeof verdicts[i]};
    }
    cf_clear(&error);
    require_refusal(ctx, "check", on->verbs->check(on->device, program, &options, verdicts, sizeof verdicts[0], &error),
                    &error);
    cf_clear(&error);
    require_refusal(ctx, "plan", on->verbs->plan(on->device, program, limits, &options, &plan, &error), &error);
    cf_clear(&error);
    require_refusal(ctx, "compile", on->verbs->compile(on->device, program, limits, &options, &prog, &error), &error);
    CF_CHECK(ctx, prog == NULL, "compile refuses a program and gives one out");
}

static void break_and_offer(cf_context *ctx, const cf_backend *on, const fuzz_program *f, uint64_t salt) {
    const qn_limits limits = fuzz_program_limits(f);
    const uint64_t bytes = f->m.program->total_bytes;
    cf_random random = cf_random_make(ctx, salt);
    guarded copy = {NULL, 0, NULL, 0};
    CF_CHECK(ctx, guarded_take(&copy, bytes, 8), "the suite has no memory");
    memcpy(copy.data, f->m.program, bytes);
    qn_program *const program = (void *)copy.data;
    for (uint32_t n = 1 + cf_random_below(&random, 3); n > 0; n--) {
        break_word((void *)copy.data, (uint32_t)(bytes / 4), &random);
    }
    /* The length is the caller's word, not the program's: a wrong one cannot be noticed. */
    program->total_bytes = bytes;
    /* A flag that some plugins know and others may call too new does not break a program. */
    if (qn_program_validate_flags(program, bytes, QN_BUFFER_PANELS, NULL) != QN_OK) {
        offer_broken(ctx, on, program, &limits);
    }
    guarded_free(&copy);
}

static void broken_programs_are_refused(cf_context *ctx) {
    static fuzz_program f; /* large */
    const uint32_t n_programs = ctx->is_quick ? 20 : 100, n_turns = 30;
    cf_backend on;
    cf_open(ctx, &on, 1);
    for (uint32_t i = 0; i < n_programs; i++) {
        const uint64_t salt = (20000 + (uint64_t)i) << 8;
        fuzz_program_init(&f, ctx, 2 + i % 11, salt);
        for (uint32_t turn = 0; turn < n_turns; turn++) {
            if (cf_case(ctx, "%s, broken for the %u. time", f.text, turn + 1)) {
                break_and_offer(ctx, &on, &f, salt + turn + 1);
            }
        }
        fuzz_program_free(&f);
    }
    cf_close(ctx, &on);
}

static const cf_test tests[] = {
    CASES_TEST(single_ops_of_any_shape_keep_their_bounds, "R1 R2", CF_MUST_DECODE),
    CASES_TEST(random_programs_of_a_few_ops_are_computed, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(random_programs_of_many_ops_are_computed, "R1 R4", CF_MUST_DECODE),
    CASES_TEST(broken_programs_are_refused, "P1", CF_MUST_PROTOCOL),
};
const cf_suite cf_suite_fuzz = CF_SUITE(3, "fuzz", tests);
