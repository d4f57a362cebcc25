/* cf_compile.c — level 1: check, plan and compile. */
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

/* What the size calls below need. */
typedef struct compiling {
    cf_backend on;
    specimen s;
    qn_compile_options options;
} compiling;

static void begin(cf_context *ctx, compiling *c) {
    cf_open(ctx, &c->on, 0);
    specimen_choose(ctx, &c->on, &c->s);
    c->options = cf_compile_options(ctx, 0);
}

static void end(cf_context *ctx, compiling *c) {
    specimen_deinit(&c->s);
    cf_close(ctx, &c->on);
}

static qn_status compile_with(cf_context *ctx, const compiling *c, const qn_program *program, const void *limits, const void *options,
                              qn_error *error) {
    qn_prog *prog = NULL;
    const qn_status status = c->on.verbs->compile(c->on.device, program, limits, options, &prog, error);
    CF_CHECK(ctx, (status == QN_OK) == (prog != NULL), "compile answers %s and gives %s program", cf_status(status), prog == NULL ? "no" : "a");
    c->on.verbs->prog_free(prog);
    return status;
}

static qn_status plan_with(const compiling *c, const qn_program *program, const void *limits, const void *options, qn_error *error) {
    qn_memory_plan plan = {.size = sizeof plan};
    return c->on.verbs->plan(c->on.device, program, limits, options, &plan, error);
}

static qn_status check_with(cf_context *ctx, const compiling *c, const qn_program *program, const void *options, qn_error *error) {
    const uint32_t n = c->s.program->n_ops;
    qn_verdict *verdicts = calloc(n, sizeof *verdicts);
    CF_CHECK(ctx, verdicts != NULL, "this machine has no memory for the test itself");
    for (uint32_t i = 0; i < n; i++) {
        verdicts[i].size = sizeof verdicts[i];
    }
    const qn_status status = c->on.verbs->check(c->on.device, program, options, verdicts, sizeof verdicts[0], error);
    free(verdicts);
    return status;
}

/* --- Sizes ------------------------------------------------------------------------------------------------------------ */

static qn_status compile_options_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    const compiling *c = arg;
    return compile_with(ctx, c, c->s.program, &c->s.limits, theirs, error);
}

static qn_status compile_limits_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    const compiling *c = arg;
    return compile_with(ctx, c, c->s.program, theirs, &c->options, error);
}

static qn_status plan_options_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    const compiling *c = arg;
    (void)ctx;
    return plan_with(c, c->s.program, &c->s.limits, theirs, error);
}

static qn_status plan_limits_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    const compiling *c = arg;
    (void)ctx;
    return plan_with(c, c->s.program, theirs, &c->options, error);
}

static qn_status check_options_call(cf_context *ctx, void *arg, const void *theirs, qn_error *error) {
    const compiling *c = arg;
    return check_with(ctx, c, c->s.program, theirs, error);
}

static void compile_plan_and_check_obey_sizes(cf_context *ctx) {
    compiling c;
    begin(ctx, &c);
    require_sizes(ctx, "compile with options", &c.options, sizeof c.options, QN_LEAST_qn_compile_options, compile_options_call, &c);
    require_sizes(ctx, "compile with limits", &c.s.limits, sizeof c.s.limits, QN_LEAST_qn_limits, compile_limits_call, &c);
    require_sizes(ctx, "plan with options", &c.options, sizeof c.options, QN_LEAST_qn_compile_options, plan_options_call, &c);
    require_sizes(ctx, "plan with limits", &c.s.limits, sizeof c.s.limits, QN_LEAST_qn_limits, plan_limits_call, &c);
    require_sizes(ctx, "check with options", &c.options, sizeof c.options, QN_LEAST_qn_compile_options, check_options_call, &c);
    end(ctx, &c);
}

static void plan_writes_at_most_its_record(cf_context *ctx) {
    struct {
        qn_memory_plan plan;
        unsigned char more[64];
    } grown;
    compiling c;
    qn_error error;
    begin(ctx, &c);
    memset(&grown, 0x5a, sizeof grown);
    grown.plan.size = sizeof grown;
    cf_clear(&error);
    cf_done(ctx, "plan", c.on.verbs->plan(c.on.device, c.s.program, &c.s.limits, &c.options, &grown.plan, &error), &error);
    CF_CHECK(ctx, grown.plan.size == sizeof grown, "plan changed the size of a longer record to %u", grown.plan.size);
    for (uint32_t i = 0; i < sizeof grown.more; i++) {
        CF_CHECK(ctx, grown.more[i] == 0x5a || grown.more[i] == 0, "plan wrote something unknown behind its record");
    }
    memset(&grown, 0x5a, sizeof grown);
    grown.plan.size = 16;
    cf_clear(&error);
    cf_refused(ctx, "plan with a record of 16 bytes", c.on.verbs->plan(c.on.device, c.s.program, &c.s.limits, &c.options, &grown.plan, &error),
               QN_BAD_ARG, &error);
    for (uint32_t i = 16; i < sizeof grown; i++) {
        CF_CHECK(ctx, ((unsigned char *)&grown)[i] == 0x5a, "plan wrote byte %u of a record of 16 bytes", i);
    }
    end(ctx, &c);
}

/* --- Verdicts --------------------------------------------------------------------------------------------------------- */

static void check_gives_one_verdict_an_op_where_the_stride_puts_it(cf_context *ctx) {
    typedef struct grown_verdict {
        qn_verdict verdict;
        unsigned char more[64];
    } grown_verdict;
    cf_backend on;
    specimen s;
    qn_error error;
    cf_open(ctx, &on, 0);
    specimen_make_decoder(ctx, &s);
    const uint32_t n = s.program->n_ops;
    const qn_compile_options options = cf_compile_options(ctx, 0);
    grown_verdict *grown = malloc(n * sizeof *grown);
    CF_CHECK(ctx, grown != NULL, "this machine has no memory for the test itself");
    memset(grown, 0x5a, n * sizeof *grown);
    for (uint32_t i = 0; i < n; i++) {
        grown[i].verdict.size = sizeof grown[i];
    }
    cf_clear(&error);
    cf_done(ctx, "check", on.verbs->check(on.device, s.program, &options, &grown[0].verdict, sizeof grown[0], &error), &error);
    for (uint32_t i = 0; i < n; i++) {
        const qn_verdict *v = &grown[i].verdict;
        CF_CHECK(ctx, v->verdict <= QN_VERDICT_EMULATED, "op %u: verdict %u; was it written where the stride puts it?", i, v->verdict);
        CF_CHECK(ctx, cf_is_text(v->text, sizeof v->text), "op %u: the text of its verdict is not terminated or not UTF-8", i);
        CF_CHECK(ctx, v->verdict == QN_VERDICT_YES || v->text[0] != '\0', "op %u: verdict %u without a reason", i, v->verdict);
        CF_CHECK(ctx, v->size == sizeof grown[i], "op %u: check changed the size of a longer record to %u", i, v->size);
        for (uint32_t b = 0; b < sizeof grown[i].more; b++) {
            CF_CHECK(ctx, grown[i].more[b] == 0x5a || grown[i].more[b] == 0, "check wrote something unknown behind verdict %u", i);
        }
    }
    free(grown);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void check_takes_no_memory(cf_context *ctx) {
    compiling c;
    qn_error error;
    begin(ctx, &c);
    const uint64_t before = cf_host_bytes(c.on.host, QN_MEM_KINDS);
    cf_host_reset_peak(c.on.host);
    cf_clear(&error);
    cf_done(ctx, "check", check_with(ctx, &c, c.s.program, &c.options, &error), &error);
    CF_CHECK(ctx, cf_host_bytes(c.on.host, QN_MEM_KINDS) == before, "check leaves %lld bytes taken",
             (long long)(cf_host_bytes(c.on.host, QN_MEM_KINDS) - before));
    for (uint32_t kind = QN_MEM_WEIGHTS; kind <= QN_MEM_SCRATCH; kind++) {
        CF_CHECK(ctx, cf_host_peak(c.on.host, kind) == cf_host_bytes(c.on.host, kind), "check takes memory of kind %u", kind);
    }
    end(ctx, &c);
}

/* --- Refusals --------------------------------------------------------------------------------------------------------- */

static void compile_refuses_what_it_does_not_know(cf_context *ctx) {
    compiling c;
    qn_error error;
    begin(ctx, &c);
    qn_compile_options options = c.options;
    cf_clear(&error);
    options.flags = 0x80;
    if (cf_case(ctx, "an unknown flag")) {
        cf_refused_somehow(ctx, "compile", compile_with(ctx, &c, c.s.program, &c.s.limits, &options, &error), &error);
    }
    options = c.options;
    options.numeric = 0x40;
    cf_clear(&error);
    if (cf_case(ctx, "an unknown numeric class")) {
        cf_refused(ctx, "compile", compile_with(ctx, &c, c.s.program, &c.s.limits, &options, &error), QN_UNSUPPORTED, &error);
    }
    options = c.options;
    options.n_options = 1;
    options.options = &(const qn_option){"no_such_option", "1"};
    cf_clear(&error);
    if (cf_case(ctx, "an unknown option")) {
        cf_refused_somehow(ctx, "compile", compile_with(ctx, &c, c.s.program, &c.s.limits, &options, &error), &error);
        CF_CHECK(ctx, strstr(error.text, "no_such_option") != NULL, "compile does not name the option in: %.300s", error.text);
    }
    end(ctx, &c);
}

static void limits_that_cannot_be_are_refused(cf_context *ctx) {
    compiling c;
    qn_error error;
    begin(ctx, &c);
    qn_limits broken[8];
    const char *const what[] = {"no tokens", "no outputs", "more outputs than tokens", "no sequences", "a group too many", "seventeen groups"};
    for (uint32_t i = 0; i < 8; i++) {
        broken[i] = c.s.limits;
    }
    broken[0].max_tokens = 0;
    broken[1].max_outputs = 0;
    broken[2].max_outputs = broken[2].max_tokens + 1;
    broken[3].max_sequences = 0;
    broken[4].n_groups++;
    broken[5].n_groups = QN_MAX_GROUPS + 1;
    for (uint32_t i = 0; i < 6; i++) {
        if (cf_case(ctx, "%s", what[i])) {
            cf_clear(&error);
            cf_refused(ctx, "compile", compile_with(ctx, &c, c.s.program, &broken[i], &c.options, &error), QN_BAD_ARG, &error);
            cf_clear(&error);
            cf_refused(ctx, "plan", plan_with(&c, c.s.program, &broken[i], &c.options, &error), QN_BAD_ARG, &error);
        }
    }
    if (c.s.has_state && cf_case(ctx, "no cells")) {
        broken[6].cells[0] = 0;
        cf_clear(&error);
        cf_refused(ctx, "compile", compile_with(ctx, &c, c.s.program, &broken[6], &c.options, &error), QN_BAD_ARG, &error);
    }
    end(ctx, &c);
}

static void malformed_programs_are_refused_by_every_verb(cf_context *ctx) {
    compiling c;
    qn_error error;
    begin(ctx, &c);
    const uint64_t bytes = c.s.program->total_bytes;
    qn_program *p = malloc(bytes);
    CF_CHECK(ctx, p != NULL, "this machine has no memory for the test itself");
    for (uint32_t at = 0; at < 27; at++) {
        const uint64_t offset = at == 0 ? 0 : at == 1 ? 4 : 48 + (uint64_t)(at - 2) * 4;
        if (offset >= offsetof(qn_program, reserved) || offset == offsetof(qn_program, total_bytes)) {
            continue;
        }
        memcpy(p, c.s.program, bytes);
        memset((char *)p + offset, 0xff, 4);
        if (cf_case(ctx, "word at byte %llu of the program is 0xffffffff", (unsigned long long)offset)) {
            cf_clear(&error);
            cf_refused_somehow(ctx, "check", check_with(ctx, &c, p, &c.options, &error), &error);
            cf_clear(&error);
            cf_refused_somehow(ctx, "plan", plan_with(&c, p, &c.s.limits, &c.options, &error), &error);
            cf_clear(&error);
            cf_refused_somehow(ctx, "compile", compile_with(ctx, &c, p, &c.s.limits, &c.options, &error), &error);
        }
    }
    free(p);
    end(ctx, &c);
}

static void compile_needs_the_program_for_the_call_only(cf_context *ctx) {
    compiling c;
    qn_error error;
    qn_prog *prog = NULL;
    begin(ctx, &c);
    qn_program *copy = malloc(c.s.program->total_bytes);
    CF_CHECK(ctx, copy != NULL, "this machine has no memory for the test itself");
    memcpy(copy, c.s.program, c.s.program->total_bytes);
    cf_clear(&error);
    cf_done(ctx, "compile", c.on.verbs->compile(c.on.device, copy, &c.s.limits, &c.options, &prog, &error), &error);
    memset(copy, 0xff, c.s.program->total_bytes);
    free(copy);
    specimen_bind(ctx, &c.on, &c.s, prog, 0, c.s.n_weights);
    cf_done(ctx, "seal", c.on.verbs->seal(prog, &error), &error);
    qn_session *session = specimen_session(ctx, &c.on, prog);
    specimen_turn turn;
    specimen_turn_init(ctx, &c.s, &turn, 0, 2);
    cf_done(ctx, "step", c.on.verbs->step(session, &turn.step, &error), &error);
    specimen_turn_deinit(&turn);
    c.on.verbs->session_free(session);
    c.on.verbs->prog_free(prog);
    end(ctx, &c);
}

/* "A yes compiles": and a no is refused, not crashed on. */
static void compile_does_what_check_said(cf_context *ctx) {
    cf_backend on;
    specimen s;
    qn_error error;
    qn_prog *prog = NULL;
    cf_open(ctx, &on, 0);
    specimen_make_decoder(ctx, &s);
    const qn_compile_options options = cf_compile_options(ctx, 0);
    qn_verdict *verdicts = calloc(s.program->n_ops, sizeof *verdicts);
    CF_CHECK(ctx, verdicts != NULL, "this machine has no memory for the test itself");
    bool is_yes = true;
    for (uint32_t i = 0; i < s.program->n_ops; i++) {
        verdicts[i].size = sizeof verdicts[i];
    }
    cf_clear(&error);
    cf_done(ctx, "check", on.verbs->check(on.device, s.program, &options, verdicts, sizeof verdicts[0], &error), &error);
    for (uint32_t i = 0; i < s.program->n_ops; i++) {
        is_yes = is_yes && verdicts[i].verdict != QN_VERDICT_NO;
    }
    const qn_status status = on.verbs->compile(on.device, s.program, &s.limits, &options, &prog, &error);
    if (is_yes) {
        cf_done(ctx, "compile after a yes to every op", status, &error);
    } else {
        cf_refused(ctx, "compile after a no to an op", status, QN_UNSUPPORTED, &error);
        CF_CHECK(ctx, prog == NULL, "compile refuses and gives a program all the same");
    }
    on.verbs->prog_free(prog);
    free(verdicts);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static const cf_test tests[] = {
    CF_TEST(compile_plan_and_check_obey_sizes, "Q4", CF_MUST_DECODE),
    CF_TEST(plan_writes_at_most_its_record, "Q4", CF_MUST_DECODE),
    CF_TEST(check_gives_one_verdict_an_op_where_the_stride_puts_it, "P2", CF_MUST_PROTOCOL),
    CF_TEST(check_takes_no_memory, "P2", CF_MUST_DECODE),
    CF_TEST(compile_does_what_check_said, "P2", CF_MUST_PROTOCOL),
    CF_TEST(compile_refuses_what_it_does_not_know, "E1", CF_MUST_DECODE),
    CF_TEST(limits_that_cannot_be_are_refused, "E1", CF_MUST_DECODE),
    CF_TEST(malformed_programs_are_refused_by_every_verb, "P1", CF_MUST_DECODE),
    CF_TEST(compile_needs_the_program_for_the_call_only, "P3", CF_MUST_DECODE),
};
const cf_suite cf_suite_compile = CF_SUITE(1, "compile", tests);
