/* test_p64_alone.c — containers without companion: what they may be assumed to be, and what speaks against it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "corpus.h"
#include "model/model.h"

static int be_quiet(void **state) {
    (void)state;
    log_set_level(QN_LOG_ERROR);
    return 0;
}

static qn_status open_vector(const char *name, const char *assume, model **out, error_context *err) {
    char relative[128], path[CORPUS_PATH_SIZE];
    const model_options options = {.assume = assume};
    snprintf(relative, sizeof relative, "tests/vectors/p64/%s", name);
    source_require(relative, path);
    return model_open(path, &options, NULL, out, err);
}

static void what_speaks_against_running_alone_is_named(void **state) {
    (void)state;
    static const struct {
        const char *vector, *assume;
        qn_status status;
        const char *words;
    } rows[] = {
        {"two_layer.seed.p64", NULL, QN_BAD_FILE, "does not say its architecture"},
        {"two_layer.seed.p64", NULL, QN_BAD_FILE, "--assume llama"},
        {"two_layer.seed.p64", "qwen2", QN_BAD_INPUT, "--assume qwen2"},
        {"two_layer.seed.p64", "llama", QN_BAD_FILE, "head size is 1"}, /* 16 is told by its extended form alone */
        {"raw_matrix.seed.p64", "llama", QN_UNSUPPORTED, "raw transcode of Safetensors"},
        {"five_tensors.seed.p64", "llama", QN_BAD_FILE, "blk.0.ffn_up.weight is missing"},
        {"one_matrix.seed.p64", "llama", QN_BAD_FILE, "token_embd.weight is missing"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model *m = NULL;
        error_context err = {0};
        assert_int_equal(open_vector(rows[i].vector, rows[i].assume, &m, &err), rows[i].status);
        assert_null(m);
        if (strstr(error_text(&err), rows[i].words) == NULL) {
            fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].vector, error_text(&err), rows[i].words);
        }
    }
}

static void an_extended_file_that_says_llama_needs_no_assumption(void **state) {
    (void)state;
    static const char *const assumptions[] = {NULL, "llama"};
    for (size_t i = 0; i < 2; i++) {
        model *m = NULL;
        assert_int_equal(open_vector("two_layer.extended.p64", assumptions[i], &m, NULL), QN_OK);
        assert_string_equal(m->arch->name, "llama");
        assert_int_equal(m->hparams.head_dim, 16);
        assert_true(m->hparams.rms_epsilon == 1e-5f);
        model_close(m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_speaks_against_running_alone_is_named),
        cmocka_unit_test(an_extended_file_that_says_llama_needs_no_assumption),
    };
    return cmocka_run_group_tests(tests, be_quiet, NULL);
}
