/* test_hostile_prompts.c — the prompts of tests/cases through real vocabularies: the ids decode back to the text, the time is
 * near linear, and what cannot be tokenized is refused by position. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cases.h"
#include "corpus.h"
#include "text_fixture.h"

static void run_case(const tokenizer *tok, const test_case *c) {
    size_t size;
    char *text = (char *)test_read_file(c->path, &size);
    if (strstr(c->id, "bad-utf8") != NULL) {
        token_list ids = {0};
        error_context err = {0};
        assert_int_equal(tokenizer_encode(tok, text, size, 0, &ids, &err), QN_BAD_INPUT);
        assert_non_null(strstr(error_text(&err), "byte 3 "));
        token_list_free(&ids);
    } else {
        assert_round_trip(tok, text, size);
    }
    free(text);
}

static void every_prompt_case_comes_back_or_is_refused(void **state) {
    static const char *const files[] = {"data/tokenizers/ggml-vocab-gpt-2.gguf", "data/tokenizers/ggml-vocab-llama-spm.gguf",
                                        "data/tokenizers/ggml-vocab-deepseek-coder.gguf"};
    test_cases cases;
    (void)state;
    cases_make("prompts", &cases);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[CORPUS_PATH_SIZE];
        text_fixture f;
        corpus_require(files[i], path);
        text_fixture_open(path, &f);
        size_t n_texts = 0;
        for (size_t k = 0; k < cases.count; k++) {
            if (strncmp(cases.items[k].id, "tok-", 4) == 0) {
                run_case(f.tok, &cases.items[k]);
                n_texts++;
            }
        }
        assert_true(n_texts >= 9);
        text_fixture_close(&f);
    }
    cases_free(&cases);
}

static double seconds_to_encode(const tokenizer *tok, const char *text, size_t size) {
    token_list ids = {0};
    error_context err = {0};
    struct timespec begin, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
    const qn_status status = tokenizer_encode(tok, text, size, 0, &ids, &err);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    if (status < 0) {
        fail_msg("%s", error_text(&err));
    }
    token_list_free(&ids);
    return (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) * 1e-9;
}

/* One word of 100,000 characters: a quadratic encoder would need minutes for the eight of them. */
static void one_endless_word_does_not_crawl(void **state) {
    static const char *const files[] = {"data/tokenizers/ggml-vocab-gpt-2.gguf", "data/tokenizers/ggml-vocab-llama-spm.gguf",
                                        "data/tokenizers/ggml-vocab-deepseek-llm.gguf", "data/tokenizers/ggml-vocab-falcon.gguf"};
    static const char units[] = "A \n.-aeb";
    const size_t size = 100000;
    char *text = malloc(size);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[CORPUS_PATH_SIZE];
        text_fixture f;
        corpus_require(files[i], path);
        text_fixture_open(path, &f);
        for (size_t u = 0; u < sizeof units - 1; u++) {
            memset(text, units[u], size);
            const double seconds = seconds_to_encode(f.tok, text, size);
            if (seconds > 5) {
                fail_msg("%s: %.1f s for %zu times '%c'", files[i], seconds, size, units[u]);
            }
        }
        text_fixture_close(&f);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_prompt_case_comes_back_or_is_refused),
        cmocka_unit_test(one_endless_word_does_not_crawl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
