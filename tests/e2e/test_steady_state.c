/* test_steady_state.c — after the first few tokens, decoding asks nobody for memory: not the host, not the plugin, not the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backends/choose.h"
#include "backends/host_services.h"
#include "backends/registry.h"
#include "base/machine.h"
#include "base/team.h"
#include "cases.h"
#include "counting_malloc.h"
#include "decode/generate.h"
#include "sentinel/sentinel.h"

#define N_WARM 8u
#define N_TOKENS 48u
#define N_WORKERS 2u

/* Everything between a model file and a session. */
typedef struct rig {
    test_cases cases;
    qn_machine machine;
    team *workers;
    host_services services;
    registry backends;
    backend on;
    model *m;
    plan *p;
    session *s;
    error_context err;
} rig;

static void must(rig *r, qn_status status) {
    if (status < 0) {
        fail_msg("%s", error_text(&r->err));
    }
}

static void open_rig(rig *r, const char *backend_name, uint32_t numeric, qn_format state_format) {
    bool was_named = false;
    memset(r, 0, sizeof *r);
    cases_make("gguf", &r->cases);
    must(r, machine_detect(&r->machine, &r->err));
    must(r, team_create(N_WORKERS, &r->workers, &r->err));
    host_services_init(&r->services, &r->machine, r->workers);
    const char *const folders[] = {STEADY_STATE_PLUGINS};
    const registry_options where = {.plugin_dirs = folders, .n_plugin_dirs = 1};
    registry_discover(&where, &r->backends);
    if (registry_find(&r->backends, backend_name) < 0) {
        skip();
    }
    const backend_request request = {.text = backend_name};
    must(r, backend_choose(&r->backends, &r->services, &request, &r->on, &was_named, &r->err));
    must(r, model_open(r->cases.items[0].path, NULL, r->workers, &r->m, &r->err));
    const plan_options options = {.n_ctx = 64, .max_chunk = 16, .numeric = numeric, .state_format = state_format};
    must(r, plan_create(r->m, &r->on, &options, &r->p, &r->err));
    must(r, session_create(r->p, &r->s, &r->err));
}

static void close_rig(rig *r) {
    session_destroy(r->s);
    plan_destroy(r->p);
    model_close(r->m);
    backend_close(&r->on);
    team_destroy(r->workers);
    cases_free(&r->cases);
}

/* Counts as they stood at each token. */
typedef struct watch {
    const rig *r;
    uint32_t n_seen;
    const token_judge *judge; /* or null */
    uint64_t calls[N_TOKENS + 1], services[N_TOKENS + 1];
} watch;

static bool on_token(void *ctx, const generate_event *event) {
    watch *w = ctx;
    if (event->id != TOKEN_NONE && w->n_seen < N_TOKENS) {
        w->calls[w->n_seen] = counting_malloc_calls();
        w->services[w->n_seen] = atomic_load(&w->r->services.n_allocations);
        w->n_seen++;
    }
    return true;
}

static void generate(rig *r, const sampler_options *sampling, watch *w) {
    static const uint32_t prompt[] = {259, 264, 32, 259};
    sampler chooser;
    generate_result result;
    const generate_options options = {.max_tokens = N_TOKENS, .n_logprobs = 4, .on_token = on_token, .ctx = w,
                                      .hooks = {.judge = w->judge}};
    must(r, sampler_create(sampling, r->m->hparams.n_vocab, tokenizer_size(r->m->tok), &chooser, &r->err));
    must(r, generate_run(r->s, &chooser, prompt, sizeof prompt / sizeof prompt[0], &options, &result, &r->err));
    sampler_destroy(&chooser);
}

static void check_backend(const char *name, uint32_t numeric, qn_format state_format) {
    sampler_options sampling = sampler_defaults();
    sampling.temperature = 0.9f;
    sampling.top_k = 40;
    sampling.top_p = 0.95f;
    sampling.min_p = 0.01f;
    sampling.repeat_penalty = 1.1f;
    sampling.seed = 5;
    rig r;
    open_rig(&r, name, numeric, state_format);
    watch w = {.r = &r};
    generate(&r, &sampling, &w);
    assert_int_equal(w.n_seen, N_TOKENS);
    assert_int_equal(w.services[N_TOKENS - 1], w.services[N_WARM]);
    assert_int_equal(w.calls[N_TOKENS - 1], w.calls[N_WARM]);
    close_rig(&r);
}

static void the_counter_counts_what_a_plugin_would_call(void **state) {
    (void)state;
    const uint64_t before = counting_malloc_calls();
    void *volatile blocks[] = {malloc(1), calloc(1, 1), aligned_alloc(64, 64), realloc(NULL, 1)};
    assert_true(counting_malloc_calls() >= before + 4);
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        assert_non_null(blocks[i]);
        free(blocks[i]);
    }
}

static void reference_allocates_nothing_per_token(void **state) {
    (void)state;
    check_backend("reference", QN_NUMERIC_F32ACC, QN_FORMAT_F32);
}

static void cpu_allocates_nothing_per_token_in_f32acc(void **state) {
    (void)state;
    check_backend("cpu", QN_NUMERIC_F32ACC, QN_FORMAT_F32);
}

static void cpu_allocates_nothing_per_token_in_act8(void **state) {
    (void)state;
    check_backend("cpu", QN_NUMERIC_ACT8, QN_FORMAT_F16);
}

/* Every rule on and none that ends the run, and somebody who watches. */
static sentinel *make_sentinel(rig *r, run_streams *streams, void *block) {
    static uint32_t ids[] = {7, 8, 9};
    static phrase_text phrases[] = {{"abc", 3}, {"tide", 4}};
    sentinel_settings settings = {.deny_ids = ids, .n_deny_ids = 3, .phrases = phrases, .n_phrases = 2, .folds_case = true,
                                  .least_margin = 100.0, .most_entropy = 0.0, .n = 2, .times = 3, .window = 32};
    sentinel *s = NULL;
    for (uint32_t i = 0; i < SENTINEL_RULES; i++) {
        settings.is_on[i] = true;
    }
    settings.actions[SENTINEL_DENY] = settings.actions[SENTINEL_MARGIN] = SENTINEL_RESAMPLE;
    must(r, sentinel_create(&settings, r->m->tok, &s, &r->err));
    run_streams_begin(streams, block, QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES);
    sentinel_watch(s, streams);
    return s;
}

static void a_sentinel_with_every_rule_allocates_nothing_per_token(void **state) {
    (void)state;
    rig r;
    run_streams streams;
    const sampler_options sampling = sampler_defaults();
    const size_t bytes = streams_size(QUOIN_OBSERVER_RECORDS, QUOIN_OBSERVER_MESSAGES);
    void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(block);
    memset(block, 0, bytes);
    open_rig(&r, "reference", QN_NUMERIC_F32ACC, QN_FORMAT_F32);
    sentinel *s = make_sentinel(&r, &streams, block);
    watch w = {.r = &r, .judge = sentinel_judge(s)};
    generate(&r, &sampling, &w);
    assert_int_equal(w.n_seen, N_TOKENS);
    assert_true(sentinel_get_report(s)->n_resampled >= N_TOKENS && streams.n_posted >= 2 * N_TOKENS);
    assert_int_equal(w.calls[N_TOKENS - 1], w.calls[N_WARM]);
    sentinel_destroy(s);
    close_rig(&r);
    free(block);
}

static void a_second_prompt_allocates_no_more_than_the_first_token_of_it(void **state) {
    (void)state;
    rig r;
    const sampler_options sampling = sampler_defaults();
    open_rig(&r, "reference", QN_NUMERIC_F32ACC, QN_FORMAT_F32);
    watch first = {.r = &r}, second = {.r = &r};
    generate(&r, &sampling, &first);
    session_truncate(r.s, 0);
    generate(&r, &sampling, &second);
    assert_int_equal(second.n_seen, N_TOKENS);
    assert_int_equal(second.services[N_TOKENS - 1], first.services[N_TOKENS - 1]);
    assert_int_equal(second.calls[N_TOKENS - 1], second.calls[0]);
    close_rig(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_counts_what_a_plugin_would_call),
        cmocka_unit_test(reference_allocates_nothing_per_token),
        cmocka_unit_test(cpu_allocates_nothing_per_token_in_f32acc),
        cmocka_unit_test(cpu_allocates_nothing_per_token_in_act8),
        cmocka_unit_test(a_sentinel_with_every_rule_allocates_nothing_per_token),
        cmocka_unit_test(a_second_prompt_allocates_no_more_than_the_first_token_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
