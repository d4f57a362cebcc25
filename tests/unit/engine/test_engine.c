/* test_engine.c — the public API from end to end, on a small model and the reference backend. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/engine.h>
#include <quoin/abi.h>

#include "corpus.h"
#include "tiny_model.h"

static char folder[CORPUS_PATH_SIZE], path[CORPUS_PATH_SIZE + 16];
static quoin_runtime *runtime;
static quoin_model *model;

static int open_all(void **state) {
    const quoin_runtime_options options = {.size = sizeof options, .n_threads = 2, .backend = "reference"};
    quoin_error err = {.size = sizeof err};
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/tiny.gguf", folder);
    tiny_model_write(path, "llama", NULL);
    if (quoin_runtime_create(&options, &runtime, &err) < 0 || quoin_model_open(runtime, path, NULL, &model, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return -1;
    }
    return 0;
}

static int close_all(void **state) {
    (void)state;
    quoin_model_close(model);
    quoin_runtime_destroy(runtime);
    test_remove_tree(folder);
    return 0;
}

static quoin_session *make_session(uint32_t n_ctx) {
    const quoin_session_options options = {.size = sizeof options, .n_ctx = n_ctx, .numeric = "f32acc", .kv = "f32"};
    quoin_error err = {.size = sizeof err};
    quoin_session *session = NULL;
    if (quoin_session_create(model, &options, &session, &err) < 0) {
        fail_msg("%s", err.text);
    }
    return session;
}

typedef struct heard {
    char text[512];
    size_t size;
    uint32_t n_calls, stop_after;
} heard;

static int hear(void *ctx, const char *text, size_t size) {
    heard *h = ctx;
    memcpy(h->text + h->size, text, size);
    h->size += size;
    h->n_calls++;
    return h->stop_after == 0 || h->n_calls < h->stop_after;
}

static void what_is_opened_can_be_described(void **state) {
    (void)state;
    assert_string_equal(quoin_model_architecture(model), "llama");
    assert_int_equal(quoin_model_vocabulary_size(model), TINY_VOCABULARY);
    assert_non_null(strstr(quoin_runtime_describe(runtime), "reference "));
    assert_non_null(strstr(quoin_runtime_describe(runtime), "2 threads"));
    assert_non_null(strchr(quoin_version(), '.'));
}

static void text_becomes_ids_and_ids_become_bytes(void **state) {
    (void)state;
    uint32_t ids[8];
    size_t count = 0;
    char bytes[8];
    assert_int_equal(quoin_tokenize(model, "hi", 2, 1, 0, ids, 8, &count, NULL), QN_OK);
    assert_true(count >= 3);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[count - 1], TINY_BYTE_0 + 'i');
    size_t all = 0;
    assert_int_equal(quoin_tokenize(model, "hi", 2, 1, 0, ids, 1, &all, NULL),
                     QN_OK); /* too little room: the count is told */
    assert_int_equal(all, count);
    assert_int_equal(quoin_token_bytes(model, TINY_BYTE_0 + 'i', bytes, sizeof bytes), 1);
    assert_int_equal(bytes[0], 'i');
}

static void generation_repeats_and_agrees_with_the_logits(void **state) {
    (void)state;
    const uint32_t prompt[] = {1, 70, 71};
    const quoin_generate_options options = {.size = sizeof options, .max_tokens = 1};
    heard first = {{0}, 0, 0, 0}, second = {{0}, 0, 0, 0};
    quoin_generate_result result = {.size = sizeof result};
    quoin_session *session = make_session(32);
    size_t n = 0;
    assert_int_equal(quoin_session_append(session, prompt, 3, NULL), QN_OK);
    const float *logits = quoin_session_logits(session, &n);
    assert_int_equal(n, TINY_VOCABULARY);
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        best = logits[i] > logits[best] ? i : best;
    }
    char expected[8];
    const size_t expected_size = quoin_token_bytes(model, (uint32_t)best, expected, sizeof expected);
    assert_int_equal(quoin_session_truncate(session, 0), 0);
    assert_int_equal(quoin_generate(session, prompt, 3, &options, hear, &first, &result, NULL), QN_OK);
    assert_int_equal(result.n_prompt, 3);
    if (best >= TINY_BYTE_0 && best < TINY_BYTE_0 + 0x80) { /* ASCII is printed at once */
        assert_int_equal(first.size, expected_size);
        assert_memory_equal(first.text, expected, expected_size);
    }
    assert_int_equal(quoin_session_truncate(session, 0), 0);
    assert_int_equal(quoin_generate(session, prompt, 3, &options, hear, &second, &result, NULL), QN_OK);
    assert_int_equal(first.size, second.size);
    assert_memory_equal(first.text, second.text, first.size);
    quoin_session_destroy(session);
}

static void the_context_s_end_is_told(void **state) {
    (void)state;
    quoin_generate_result result = {.size = sizeof result};
    const quoin_generate_options options = {.size = sizeof options, .max_tokens = 1000, .temperature = 1.0f, .seed = 3};
    quoin_session *session = make_session(8);
    assert_int_equal(quoin_generate_text(session, "hi", 2, &options, NULL, NULL, &result, NULL), QN_OK);
    assert_true(strcmp(result.stop_reason, "context") == 0 || strcmp(result.stop_reason, "stop") == 0);
    assert_true(quoin_session_length(session) <= 8);
    quoin_session_destroy(session);
}

static void a_listener_can_stop_it(void **state) {
    (void)state;
    heard h = {.stop_after = 1};
    quoin_generate_result result = {.size = sizeof result};
    const quoin_generate_options options = {.size = sizeof options, .max_tokens = 30, .temperature = 1.0f, .seed = 1};
    quoin_session *session = make_session(32);
    assert_int_equal(quoin_generate_text(session, "hi", 2, &options, hear, &h, &result, NULL), QN_OK);
    assert_string_equal(result.stop_reason, "cancelled");
    quoin_session_destroy(session);
}

static int cancel_at_once(void *ctx, const char *text, size_t size) {
    (void)ctx;
    (void)text;
    (void)size;
    quoin_cancel(runtime);
    return 1;
}

static void a_cancel_ends_what_runs_and_nothing_later(void **state) {
    (void)state;
    const uint32_t ids[] = {70, 71};
    quoin_generate_result result = {.size = sizeof result};
    const quoin_generate_options options = {.size = sizeof options, .max_tokens = 30, .temperature = 1.0f, .seed = 1};
    quoin_session *session = make_session(32);
    assert_int_equal(quoin_generate_text(session, "hi", 2, &options, cancel_at_once, NULL, &result, NULL), QN_OK);
    assert_string_equal(result.stop_reason, "cancelled");
    assert_int_equal(quoin_session_append(session, ids, 2, NULL), QN_OK);
    quoin_session_destroy(session);
}

static void errors_have_code_and_text_and_leave_the_outputs_alone(void **state) {
    (void)state;
    quoin_error err = {.size = sizeof err};
    quoin_runtime *no_runtime = NULL;
    quoin_model *no_model = NULL;
    quoin_session *no_session = NULL;
    const quoin_runtime_options nobody = {.size = sizeof nobody, .backend = "nobody"};
    assert_int_equal(quoin_runtime_create(&nobody, &no_runtime, &err), QN_NOT_FOUND);
    assert_non_null(strstr(err.text, "backend nobody refused at discovery"));
    assert_int_equal(quoin_model_open(runtime, "/nonexistent/model.gguf", NULL, &no_model, &err), QN_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/model.gguf"));
    const quoin_session_options strange = {.size = sizeof strange, .numeric = "f64"};
    assert_int_equal(quoin_session_create(model, &strange, &no_session, &err), QN_BAD_INPUT);
    assert_non_null(strstr(err.text, "numeric \"f64\""));
    assert_null(no_runtime);
    assert_null(no_model);
    assert_null(no_session);
    assert_int_equal(quoin_model_open(runtime, "/nonexistent/other.gguf", NULL, &no_model, NULL),
                     QN_NOT_FOUND); /* no error struct */
}

static void a_broken_rule_comes_with_its_name_and_place(void **state) {
    (void)state;
    char broken[CORPUS_PATH_SIZE + 16];
    quoin_error err = {.size = sizeof err};
    quoin_model *no_model = NULL;
    snprintf(broken, sizeof broken, "%s/broken.gguf", folder);
    tiny_model_write(broken, "llama", &(tiny_change){.spoil = "output_norm.weight"});
    assert_int_equal(quoin_model_open(runtime, broken, NULL, &no_model, &err), QN_BAD_FILE);
    assert_string_equal(err.rule, "weight-finite");
    assert_true(err.offset > 0);
}

static void sampling_options_out_of_range_are_refused_by_name(void **state) {
    (void)state;
    quoin_error err = {.size = sizeof err};
    const quoin_generate_options options = {.size = sizeof options, .temperature = -1.0f};
    quoin_session *session = make_session(16);
    assert_int_equal(quoin_generate_text(session, "hi", 2, &options, NULL, NULL, NULL, &err), QN_BAD_INPUT);
    assert_non_null(strstr(err.text, "temp"));
    assert_int_equal(quoin_session_length(session), 0);
    quoin_session_destroy(session);
}

static void an_older_caller_s_structs_are_understood(void **state) {
    (void)state;
    quoin_session *session = NULL;
    const uint32_t only_the_size = sizeof only_the_size;
    assert_int_equal(quoin_session_create(model, (const void *)&only_the_size, &session, NULL), QN_OK);
    quoin_session_destroy(session);
}

static void two_sessions_do_not_see_each_other(void **state) {
    (void)state;
    const uint32_t a[] = {1, 70}, b[] = {1, 90, 91};
    quoin_session *one = make_session(16), *two = make_session(16), *alone = make_session(16);
    size_t n = 0;
    assert_int_equal(quoin_session_append(one, a, 2, NULL), QN_OK);
    assert_int_equal(quoin_session_append(two, b, 3, NULL), QN_OK);
    assert_int_equal(quoin_session_append(one, a + 1, 1, NULL), QN_OK);
    assert_int_equal(quoin_session_append(alone, a, 2, NULL), QN_OK);
    assert_int_equal(quoin_session_append(alone, a + 1, 1, NULL), QN_OK);
    const float *left = quoin_session_logits(one, &n), *right = quoin_session_logits(alone, &n);
    assert_memory_equal(left, right, n * sizeof *left);
    quoin_session_destroy(one);
    quoin_session_destroy(two);
    quoin_session_destroy(alone);
}

static void the_default_model_writes_words(void **state) {
    (void)state;
    char default_path[CORPUS_PATH_SIZE];
    quoin_error err = {.size = sizeof err};
    quoin_model *real = NULL;
    quoin_session *session = NULL;
    const quoin_generate_options options = {.size = sizeof options, .max_tokens = 24};
    heard h = {.n_calls = 0};
    size_t n_letters = 0, n_spaces = 0;
    source_require("examples/models/quoin-tiny.gguf", default_path);
    if (quoin_model_open(runtime, default_path, NULL, &real, &err) < 0 ||
        quoin_session_create(real, NULL, &session, &err) < 0 ||
        quoin_generate_text(session, "Once upon a time", 16, &options, hear, &h, NULL, &err) < 0) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < h.size; i++) {
        n_letters += (h.text[i] >= 'a' && h.text[i] <= 'z') || (h.text[i] >= 'A' && h.text[i] <= 'Z');
        n_spaces += h.text[i] == ' ' || h.text[i] == '\n';
    }
    if (n_spaces < 4 || n_letters * 10 < h.size * 7) {
        fail_msg("these are no words: %.*s", (int)h.size, h.text);
    }
    quoin_session_destroy(session);
    quoin_model_close(real);
}

static void null_is_legal_wherever_something_is_freed(void **state) {
    (void)state;
    quoin_session_destroy(NULL);
    quoin_model_close(NULL);
    quoin_runtime_destroy(NULL);
}

static void a_scrubbed_session_is_as_a_new_one_and_says_what_was_overwritten(void **state) {
    (void)state;
    const quoin_session_options options = {.size = sizeof options, .n_ctx = 32, .numeric = "f32acc", .kv = "f32", .scrub = 1};
    quoin_scrub_report report = {.size = sizeof report};
    quoin_error err = {.size = sizeof err};
    quoin_session *session = NULL;
    const uint32_t ids[] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b'};
    size_t count = 9;
    assert_int_equal(quoin_session_create(model, &options, &session, &err), QN_OK);
    assert_int_equal(quoin_session_append(session, ids, 2, &err), QN_OK);
    assert_int_equal(quoin_session_scrub(session, &report, &err), QN_OK);
    assert_int_equal(quoin_session_length(session), 0);
    assert_null(quoin_session_logits(session, &count));
    assert_int_equal(report.is_partial, 0);
    /* two positions in two layers: K and V of 2 heads of 4, f32 */
    assert_int_equal(report.state_bytes, 2 * TINY_LAYERS * 2 * (TINY_KV_HEADS * TINY_WIDTH / TINY_HEADS) * sizeof(float));
    assert_true(report.scratch_bytes > 0 && report.logits_bytes > 0 && report.tokens_bytes > 0);
    assert_int_equal(quoin_session_append(session, ids, 2, &err), QN_OK);
    quoin_session_destroy(session);
}

/* The first logit behind two ids; an error's text in err when the session cannot be made. */
static float first_logit(const quoin_adapter *adapters, uint32_t n, quoin_error *err) {
    const quoin_session_options options = {.size = sizeof options, .n_ctx = 16, .numeric = "f32acc", .kv = "f32",
                                           .adapters = adapters, .n_adapters = n};
    const uint32_t ids[] = {1, 70};
    quoin_session *session = NULL;
    size_t count;
    if (quoin_session_create(model, &options, &session, err) < 0) {
        return 0.0f;
    }
    assert_int_equal(quoin_session_append(session, ids, 2, err), 0);
    const float logit = quoin_session_logits(session, &count)[0];
    quoin_session_destroy(session);
    return logit;
}

static void adapters_change_a_session_and_no_other(void **state) {
    (void)state;
    char fitting[CORPUS_PATH_SIZE], foreign[CORPUS_PATH_SIZE];
    source_require("tests/vectors/lora/v1-square.lora", fitting); /* 16 wide, like the model */
    source_require("tests/vectors/lora/v1-small.lora", foreign);
    quoin_error err = {.size = sizeof err};
    const quoin_adapter once = {fitting, 1.0f, 0}, halves[] = {{fitting, 0.5f, 0}, {fitting, 0.5f, 0}}, none = {fitting, 0.0f, 0};
    const quoin_adapter other = {foreign, 1.0f, 0}, nameless = {NULL, 1.0f, 0};
    const float plain = first_logit(NULL, 0, &err), changed = first_logit(&once, 1, &err);
    assert_true(plain != changed);
    assert_true(first_logit(&none, 1, &err) == plain);
    assert_true(first_logit(halves, 2, &err) != plain);
    assert_true(first_logit(NULL, 0, &err) == plain);
    assert_int_equal(err.code, 0);
    (void)first_logit(&other, 1, &err);
    assert_non_null(strstr(err.text, "embedding takes 3"));
    (void)first_logit(&nameless, 1, &err);
    assert_non_null(strstr(err.text, "no path"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_opened_can_be_described),
        cmocka_unit_test(text_becomes_ids_and_ids_become_bytes),
        cmocka_unit_test(generation_repeats_and_agrees_with_the_logits),
        cmocka_unit_test(the_context_s_end_is_told),
        cmocka_unit_test(a_listener_can_stop_it),
        cmocka_unit_test(a_cancel_ends_what_runs_and_nothing_later),
        cmocka_unit_test(errors_have_code_and_text_and_leave_the_outputs_alone),
        cmocka_unit_test(a_broken_rule_comes_with_its_name_and_place),
        cmocka_unit_test(sampling_options_out_of_range_are_refused_by_name),
        cmocka_unit_test(an_older_caller_s_structs_are_understood),
        cmocka_unit_test(adapters_change_a_session_and_no_other),
        cmocka_unit_test(two_sessions_do_not_see_each_other),
        cmocka_unit_test(the_default_model_writes_words),
        cmocka_unit_test(null_is_legal_wherever_something_is_freed),
        cmocka_unit_test(a_scrubbed_session_is_as_a_new_one_and_says_what_was_overwritten),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
