/* cf_extras.c — level 1: extensions, describe, trim, and what every refusal has in common. */
#include <string.h>

#include <quoin/ext/peak.h>
#include <quoin/ext/profile.h>
#include <quoin/ext/test_fault.h>

#include "protocol/protocol.h"

static void unknown_extensions_are_null(cf_context *ctx) {
    static const char *const ids[] = {"quoin.no-such-extension/1", "", "quoin", "quoin.profile", "quoin.profile/", "quoin.profile/0",
                                      "quoin.profile/2", "quoin.profile/10", "quoin.profile/1 ", "quoin.profile/1x", " quoin.profile/1",
                                      "QUOIN.PROFILE/1", "quoin.profile/1/1", "quoin.test-fault/1x", "quoin.test-fault/2", "quoin.peak", "quoin.peak/2"};
    cf_backend on;
    cf_open(ctx, &on, 0);
    if (!QN_HAS(on.verbs, get_ext)) {
        cf_note(ctx, "the plugin has no get_ext");
    }
    for (size_t i = 0; i < CF_COUNT_OF(ids) && QN_HAS(on.verbs, get_ext); i++) {
        if (cf_case(ctx, "id '%s'", ids[i])) {
            CF_CHECK(ctx, on.verbs->get_ext(ids[i]) == NULL, "get_ext does not answer null");
        }
    }
    cf_close(ctx, &on);
}

/* What is offered is whole and the same each time. */
static void known_extensions_are_whole_and_constant(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    const qn_profile *profile = QN_HAS(on.verbs, get_ext) ? on.verbs->get_ext(QN_EXT_PROFILE) : NULL;
    const qn_test_fault *fault = QN_HAS(on.verbs, get_ext) ? on.verbs->get_ext(QN_EXT_TEST_FAULT) : NULL;
    if (profile != NULL) {
        CF_CHECK(ctx, profile->size >= sizeof *profile && profile->enable != NULL && profile->read != NULL, "%s is not whole", QN_EXT_PROFILE);
        CF_CHECK(ctx, on.verbs->get_ext(QN_EXT_PROFILE) == profile, "%s is another one the second time", QN_EXT_PROFILE);
    }
    if (fault != NULL) {
        CF_CHECK(ctx, fault->size >= sizeof *fault && fault->arm != NULL && fault->count != NULL, "%s is not whole", QN_EXT_TEST_FAULT);
        CF_CHECK(ctx, on.verbs->get_ext(QN_EXT_TEST_FAULT) == fault, "%s is another one the second time", QN_EXT_TEST_FAULT);
    }
    cf_note(ctx, "offered: %s%s%s", profile != NULL ? QN_EXT_PROFILE " " : "", fault != NULL ? QN_EXT_TEST_FAULT : "",
            profile == NULL && fault == NULL ? "none" : "");
    cf_close(ctx, &on);
}

/* Measuring adds up while it is on, and changes no bit. */
static void the_profile_measures_and_changes_nothing(cf_context *ctx) {
    cf_backend on;
    specimen s;
    qn_error error;
    specimen_turn turns[2];
    uint64_t ns[256] = {0}, sum = 0;
    cf_open(ctx, &on, 0);
    const qn_profile *profile = QN_HAS(on.verbs, get_ext) ? on.verbs->get_ext(QN_EXT_PROFILE) : NULL;
    if (profile == NULL) {
        cf_unsupported(ctx, "the plugin does not offer %s", QN_EXT_PROFILE);
    }
    specimen_choose(ctx, &on, &s);
    qn_prog *prog = specimen_sealed(ctx, &on, &s, QN_COMPILE_DETERMINISTIC);
    for (uint32_t i = 0; i < 2; i++) {
        qn_session *session = specimen_session(ctx, &on, prog);
        cf_clear(&error);
        cf_done(ctx, "enable", i == 1 ? profile->enable(session, 1, &error) : QN_OK, &error);
        specimen_turn_init(ctx, &s, &turns[i], 0, 4);
        cf_done(ctx, "step", on.verbs->step(session, &turns[i].step, &error), &error);
        const uint32_t n = profile->read(session, ns, CF_COUNT_OF(ns));
        CF_CHECK(ctx, n == s.program->n_ops, "read tells of %u ops; the program has %u", n, s.program->n_ops);
        on.verbs->session_free(session);
    }
    for (uint32_t op = 0; op < s.program->n_ops; op++) {
        sum += ns[op];
    }
    CF_CHECK(ctx, sum > 0, "a step was measured and took no time");
    CF_CHECK(ctx, memcmp(turns[0].output, turns[1].output, turns[0].n_output * sizeof(float)) == 0, "measuring changes the outputs");
    specimen_turn_deinit(&turns[0]);
    specimen_turn_deinit(&turns[1]);
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void require_description(cf_context *ctx, const cf_backend *on, qn_prog *prog, uint32_t op) {
    char whole[512], few[8];
    memset(whole, 'x', sizeof whole);
    memset(few, 'x', sizeof few);
    const uint64_t length = on->verbs->describe(prog, op, whole, sizeof whole);
    CF_CHECK(ctx, length >= 1 && length < sizeof whole, "it tells a length of %llu", (unsigned long long)length);
    CF_CHECK(ctx, cf_is_text(whole, sizeof whole) && strlen(whole) == length, "its text is not UTF-8, or not as long as it tells");
    CF_CHECK(ctx, on->verbs->describe(prog, op, few, sizeof few) == length, "with less room it tells another length");
    CF_CHECK(ctx, memchr(few, '\0', sizeof few) != NULL && strncmp(few, whole, strlen(few)) == 0, "with less room its text is not a beginning");
    CF_CHECK(ctx, on->verbs->describe(prog, op, NULL, 0) == length, "without room it tells another length");
}

static void describe_names_a_kernel_for_every_op(cf_context *ctx) {
    cf_backend on;
    specimen s;
    cf_open(ctx, &on, 0);
    specimen_choose(ctx, &on, &s);
    if (!QN_HAS(on.verbs, describe)) {
        cf_unsupported(ctx, "the plugin has no describe");
    }
    qn_prog *prog = specimen_compiled(ctx, &on, &s, 0);
    for (uint32_t op = 0; op <= s.program->n_ops; op++) {
        const uint32_t number = op == s.program->n_ops ? QN_NO_OP : op;
        if (cf_case(ctx, "describe of op %u", number)) {
            require_description(ctx, &on, prog, number);
        }
    }
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

static void trim_loses_nothing(cf_context *ctx) {
    cf_backend on;
    specimen s;
    qn_error error;
    specimen_turn turns[2];
    cf_open(ctx, &on, 0);
    specimen_choose(ctx, &on, &s);
    if (!QN_HAS(on.verbs, trim)) {
        cf_unsupported(ctx, "the plugin has no trim");
    }
    qn_prog *prog = specimen_sealed(ctx, &on, &s, QN_COMPILE_DETERMINISTIC);
    for (uint32_t level = 0; level <= 2; level++) {
        if (!cf_case(ctx, "level %u", level)) {
            continue;
        }
        for (uint32_t i = 0; i < 2; i++) {
            qn_session *session = specimen_session(ctx, &on, prog);
            specimen_turn_init(ctx, &s, &turns[i], 0, 2);
            cf_clear(&error);
            if (i == 1) {
                on.verbs->trim(on.device, level);
            }
            cf_done(ctx, "step", on.verbs->step(session, &turns[i].step, &error), &error);
            on.verbs->session_free(session);
        }
        CF_CHECK(ctx, memcmp(turns[0].output, turns[1].output, turns[0].n_output * sizeof(float)) == 0, "the outputs are others after trim");
        specimen_turn_deinit(&turns[0]);
        specimen_turn_deinit(&turns[1]);
    }
    on.verbs->prog_free(prog);
    specimen_deinit(&s);
    cf_close(ctx, &on);
}

/* A longer record is one of a later host: its known part is filled all the same. */
static void an_error_record_of_a_later_host_is_filled(cf_context *ctx) {
    struct {
        qn_error error;
        unsigned char more[64];
    } grown;
    cf_backend on;
    qn_device *device = NULL;
    cf_open(ctx, &on, 0);
    memset(&grown, 0, sizeof grown);
    memset(grown.more, 0x5a, sizeof grown.more);
    grown.error.size = sizeof grown;
    const qn_status status = on.verbs->open(on.plugin, "no such device", NULL, 0, &device, &grown.error);
    CF_CHECK(ctx, status < 0 && grown.error.code == status && grown.error.text[0] != '\0', "a longer record was not filled");
    CF_CHECK(ctx, grown.error.size == sizeof grown, "the size of the record was changed");
    for (uint32_t i = 0; i < sizeof grown.more; i++) {
        CF_CHECK(ctx, grown.more[i] == 0x5a, "something was written behind the known record");
    }
    cf_close(ctx, &on);
}

/* Each kind is a positive number with a name, or refused and left alone. */
static void the_peak_is_a_rate_with_a_name(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    const qn_peak *peak = QN_HAS(on.verbs, get_ext) ? on.verbs->get_ext(QN_EXT_PEAK) : NULL;
    if (peak == NULL) {
        cf_unsupported(ctx, "the plugin does not offer %s", QN_EXT_PEAK);
    }
    CF_CHECK(ctx, peak->size >= sizeof *peak && peak->measure != NULL, "%s is not whole", QN_EXT_PEAK);
    CF_CHECK(ctx, on.verbs->get_ext(QN_EXT_PEAK) == peak, "%s is another one the second time", QN_EXT_PEAK);
    for (uint32_t kind = 0; kind < 4; kind++) {
        qn_peak_rate rate = {.size = sizeof rate};
        qn_error error;
        cf_clear(&error);
        const qn_status status = peak->measure(on.device, kind, &rate, &error);
        if (kind > QN_PEAK_F32 || status == QN_UNSUPPORTED) {
            CF_CHECK(ctx, status == QN_UNSUPPORTED, "kind %u is not refused as UNSUPPORTED", kind);
            CF_CHECK(ctx, rate.per_second == 0 && rate.name[0] == '\0', "the rate of a refused kind was written");
            continue;
        }
        cf_done(ctx, "measure", status, &error);
        CF_CHECK(ctx, rate.per_second > 0 && rate.per_second < 1e18, "kind %u: %g operations a second", kind, rate.per_second);
        CF_CHECK(ctx, memchr(rate.name, '\0', sizeof rate.name) > (void *)rate.name, "kind %u has no terminated name", kind);
    }
    cf_close(ctx, &on);
}

static const cf_test tests[] = {
    CF_TEST(unknown_extensions_are_null, "S4", CF_MUST_PROTOCOL),
    CF_TEST(known_extensions_are_whole_and_constant, "S4", CF_MUST_PROTOCOL),
    CF_TEST(the_profile_measures_and_changes_nothing, "S4", 0),
    CF_TEST(the_peak_is_a_rate_with_a_name, "X3", 0),
    CF_TEST(describe_names_a_kernel_for_every_op, "D1", CF_MUST_DECODE),
    CF_TEST(trim_loses_nothing, "D1", 0),
    CF_TEST(an_error_record_of_a_later_host_is_filled, "E1", CF_MUST_PROTOCOL),
};
const cf_suite cf_suite_extras = CF_SUITE(1, "extras", tests);
