/* test_forgetting.c — what is in memory when it is given back: nothing of a prompt, of an answer, or of K and V. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue.h>

#include "base/log.h"
#include "base/text_buffer.h"
#include "cli/prompt_input.h"
#include "decode/generate.h"
#include "decode/session_scrub.h"
#include "scripted.h"
#include "watched_heap.h"

#define CONTEXT 48u
#define LEAST_BLOCK 512u
/* Pointers and sizes that a block may hold besides: the session's own struct has a few dozen, what stands before the plugin's memory three. */
#define FEW_WORDS 64u

static const char prompt[] = "the Marked word: tide-table";

static int open_all(void **state) {
    return scripted_open(state, CONTEXT, 8);
}

/* The model itself answers, not the script: its numbers are in K, V and scratch. */
static void let_the_model_answer(scripted *f) {
    f->table.step = f->real_step;
}

static void add_marks(const tokenizer *tok) {
    token_list ids = {0};
    assert_int_equal(tokenizer_encode(tok, prompt, strlen(prompt), 0, &ids, NULL), QN_OK);
    assert_true(ids.count >= 12);
    watched_heap_clear();
    watched_heap_add(prompt + 4, 12);
    watched_heap_add(ids.ids + 4, 6 * sizeof *ids.ids); /* the same words as ids */
    token_list_free(&ids);
}

static bool hear(void *ctx, const generate_event *event) {
    return text_buffer_append(ctx, event->text, event->text_bytes);
}

static void write_prompt(char *path, size_t room, const char *folder) {
    snprintf(path, room, "%s/prompt", folder);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    setvbuf(file, NULL, _IONBF, 0);
    fputs(prompt, file);
    fclose(file);
}

/* A prompt from a file, to its end, as `run` does it. */
static void run_once(scripted *f, bool scrubs, scrub_report *report) {
    char path[CORPUS_PATH_SIZE + 16];
    sampler chooser;
    prompt_input input;
    text_buffer text = {0};
    generate_result result;
    error_context err = {0};
    write_prompt(path, sizeof path, f->folder);
    const prompt_options options = {.file = path};
    const sampler_options greedy = sampler_defaults();
    const generate_options settings = {.max_tokens = 8, .on_token = hear, .ctx = &text, .n_logprobs = 3};
    assert_int_equal(prompt_load(&options, &input, &err), QN_OK);
    assert_int_equal(prompt_encode(&options, f->m, &input, &err), QN_OK);
    assert_int_equal(sampler_create(&greedy, TINY_VOCABULARY, TINY_VOCABULARY, &chooser, &err), QN_OK);
    if (generate_run(f->s, &chooser, input.ids.ids, (uint32_t)input.ids.count, &settings, &result, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    if (scrubs) {
        session_scrub(f->s, report);
    }
    sampler_destroy(&chooser);
    prompt_free(&input);
    text_buffer_free(&text);
}

static void no_copy_of_a_prompt_is_left_in_any_block(void **state) {
    scripted *f = *state;
    scrub_report report = {0};
    let_the_model_answer(f);
    add_marks(f->m->tok);
    run_once(f, true, &report);
    session_destroy(f->s);
    f->s = NULL;
    assert_false(report.is_partial);
    assert_int_equal(watched_heap_found(), 0);
    assert_int_equal(watched_heap_alive(), 0);
    watched_heap_clear();
}

static void without_a_scrub_the_history_would_be_found(void **state) {
    scripted *f = *state;
    let_the_model_answer(f);
    add_marks(f->m->tok);
    run_once(f, false, NULL);
    assert_true(watched_heap_alive() > 0);
    session_destroy(f->s);
    f->s = NULL;
    assert_true(watched_heap_found() > 0);
    watched_heap_clear();
}

/* The most words in one block of the session that are not zero when it is freed. */
static uint64_t measure_destroy(scripted *f, unsigned *out_blocks, uint64_t *out_bytes) {
    uint64_t most = 0;
    watched_heap_measure_begin(LEAST_BLOCK);
    session_destroy(f->s);
    f->s = NULL;
    watched_heap_measure_end(out_blocks, out_bytes, &most);
    return most;
}

static void states_scratch_and_logits_are_zero_before_they_are_freed(void **state) {
    scripted *f = *state;
    scrub_report report = {0};
    unsigned n_blocks = 0;
    uint64_t bytes = 0;
    let_the_model_answer(f);
    run_once(f, true, &report);
    const uint64_t most = measure_destroy(f, &n_blocks, &bytes);
    assert_true(n_blocks >= 4);
    assert_true(bytes >= report.bytes[SCRUB_STATE] + report.bytes[SCRUB_SCRATCH]);
    if (most > FEW_WORDS) {
        fail_msg("%llu words of a block are not zero", (unsigned long long)most);
    }
}

static void without_a_scrub_they_are_not(void **state) {
    scripted *f = *state;
    unsigned n_blocks = 0;
    uint64_t bytes = 0;
    let_the_model_answer(f);
    run_once(f, false, NULL);
    assert_true(measure_destroy(f, &n_blocks, &bytes) > 4 * FEW_WORDS);
}

static void the_report_counts_each_class(void **state) {
    scripted *f = *state;
    scrub_report report = {0};
    let_the_model_answer(f);
    run_once(f, true, &report);
    const uint32_t n_cells = f->s->kv.touched;
    assert_int_equal(n_cells, 0); /* forgotten */
    assert_int_equal(session_length(f->s), 0);
    /* 2 layers, K and V of 2 heads of 4, f16, for the prompt and seven tokens of the answer */
    assert_true(report.bytes[SCRUB_STATE] > 0 && report.bytes[SCRUB_STATE] % (TINY_LAYERS * 2 * 8 * 2) == 0);
    assert_true(report.bytes[SCRUB_SCRATCH] > 0);
    assert_true(report.bytes[SCRUB_LOGITS] >= TINY_VOCABULARY * sizeof(float));
    assert_true(report.bytes[SCRUB_TOKENS] >= CONTEXT * sizeof(int32_t));
    assert_int_equal(report.bytes[SCRUB_ADAPTER], 0);
}

static void a_session_that_forgot_answers_as_a_new_one(void **state) {
    scripted *f = *state;
    scrub_report report = {0};
    session *fresh = NULL;
    const uint32_t ids[] = {TINY_BYTE_0 + 'a', TINY_BYTE_0 + 'b', TINY_BYTE_0 + 'c'};
    let_the_model_answer(f);
    run_once(f, true, &report);
    assert_int_equal(session_create(f->p, &fresh, NULL), QN_OK);
    assert_int_equal(session_append(f->s, ids, 3, NULL), QN_OK);
    assert_int_equal(session_append(fresh, ids, 3, NULL), QN_OK);
    assert_memory_equal(f->s->logits, fresh->logits, TINY_VOCABULARY * sizeof(float));
    session_destroy(fresh);
}

static const void *QN_CALL no_extension(const char *id) {
    (void)id;
    return NULL;
}

static void what_a_backend_cannot_forget_is_told(void **state) {
    scripted *f = *state;
    scrub_report report = {0};
    let_the_model_answer(f);
    f->table.get_ext = no_extension;
    run_once(f, true, &report);
    assert_true(report.is_partial);
    assert_non_null(strstr(report.missing, "quoin.scrub/1"));
    assert_true(report.bytes[SCRUB_STATE] > 0 && report.bytes[SCRUB_TOKENS] > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_copy_of_a_prompt_is_left_in_any_block, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(without_a_scrub_the_history_would_be_found, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(states_scratch_and_logits_are_zero_before_they_are_freed, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(without_a_scrub_they_are_not, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(the_report_counts_each_class, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(a_session_that_forgot_answers_as_a_new_one, open_all, scripted_close),
        cmocka_unit_test_setup_teardown(what_a_backend_cannot_forget_is_told, open_all, scripted_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
