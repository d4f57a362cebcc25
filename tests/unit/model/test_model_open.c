/* test_model_open.c — opening: what is checked in which order, and the first fault whatever the number of threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "model/model.h"
#include "model/weight_check.h"
#include "tiny_model.h"

static char path[CORPUS_PATH_SIZE + 16], folder[CORPUS_PATH_SIZE];

static int make_folder(void **state) {
    (void)state;
    test_make_folder(folder);
    snprintf(path, sizeof path, "%s/tiny.gguf", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    test_remove_tree(folder);
    return 0;
}

static void write_bytes(const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void expect_refusal(const model_options *options, team *workers, qn_status status, const char *words) {
    model *m = NULL;
    error_context err = {0};
    assert_int_equal(model_open(path, options, workers, &m, &err), status);
    assert_null(m);
    if (strstr(error_text(&err), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error_text(&err), words);
    }
}

static void a_sound_model_opens_with_its_facts(void **state) {
    (void)state;
    model *m = NULL;
    tiny_model_write(path, "qwen3", NULL);
    assert_int_equal(model_open(path, NULL, NULL, &m, NULL), QN_OK);
    assert_string_equal(m->arch->name, "qwen3");
    assert_string_equal(model_format_name(m->format), "GGUF");
    assert_int_equal(m->hparams.n_vocab, TINY_VOCABULARY);
    assert_int_equal(tokenizer_size(m->tok), TINY_VOCABULARY);
    assert_non_null(model_find(m, "blk.1.attn_q_norm.weight"));
    assert_null(model_find(m, "blk.2.attn_q_norm.weight"));
    assert_null(model_find(m, ""));
    model_close(m);
}

static void an_unknown_architecture_is_refused_by_name(void **state) {
    (void)state;
    tiny_model_write(path, "mamba9", NULL);
    expect_refusal(NULL, NULL, QN_UNSUPPORTED, "architecture \"mamba9\" is not supported; supported are llama, qwen2");
}

static void a_model_without_tokenizer_is_refused_unless_only_the_container_is_wanted(void **state) {
    (void)state;
    model *m = NULL;
    const model_options container = {.container_only = true};
    tiny_model_write(path, "llama", &(tiny_change){.without_tokenizer = 1});
    expect_refusal(NULL, NULL, QN_BAD_FILE, "holds no tokenizer");
    assert_int_equal(model_open(path, &container, NULL, &m, NULL), QN_OK);
    model_close(m);
}

static void a_missing_embedding_is_refused_at_once(void **state) {
    (void)state;
    tiny_model_write(path, "llama", &(tiny_change){.drop = "token_embd.weight"});
    expect_refusal(NULL, NULL, QN_BAD_FILE, "tensor token_embd.weight is missing");
}

static void more_tokens_than_rows_are_refused_with_both_numbers(void **state) {
    (void)state;
    tiny_model_write(path, "llama", NULL);
    /* 259 rows become 258: the only place where the file says so is the tensor's second dimension. */
    size_t size = 0;
    uint8_t *bytes = test_read_file(path, &size);
    static const char name[] = "token_embd.weight";
    for (size_t i = 0; i + sizeof name + 20 < size; i++) {
        if (memcmp(bytes + i, name, sizeof name - 1) == 0) {
            bytes[i + sizeof name - 1 + 4 + 8] = (TINY_VOCABULARY - 1) & 0xFF;
            break;
        }
    }
    write_bytes(bytes, size);
    free(bytes);
    expect_refusal(NULL, NULL, QN_BAD_FILE,
                   "the tokenizer has 259 tokens, but tensor token_embd.weight has only 258 rows");
}

static void nan_in_a_weight_is_found_with_its_place_by_any_number_of_threads(void **state) {
    (void)state;
    model *m = NULL;
    const model_options unchecked = {.skip_weight_check = true};
    tiny_model_write(path, "llama", &(tiny_change){.spoil = "blk.1.ffn_down.weight"});
    expect_refusal(NULL, NULL, QN_BAD_FILE, "tensor blk.1.ffn_down.weight, element 511: the weight is NaN or infinite");
    for (uint32_t n = 1; n <= 4; n++) {
        team *workers = NULL;
        assert_int_equal(team_create(n, &workers, NULL), QN_OK);
        expect_refusal(NULL, workers, QN_BAD_FILE, "tensor blk.1.ffn_down.weight, element 511");
        team_destroy(workers);
    }
    assert_int_equal(model_open(path, &unchecked, NULL, &m, NULL), QN_OK);
    model_close(m);
}

static void of_two_faults_the_first_in_the_file_is_told_every_time(void **state) {
    (void)state;
    team *workers = NULL;
    tiny_model_write(path, "llama", &(tiny_change){.spoil = "output_norm.weight", .spoil_too = "blk.0.ffn_up.weight"});
    assert_int_equal(team_create(4, &workers, NULL), QN_OK);
    for (int i = 0; i < 50; i++) {
        expect_refusal(NULL, workers, QN_BAD_FILE, "tensor blk.0.ffn_up.weight, element 511");
    }
    team_destroy(workers);
}

static void only_wanted_tensors_are_checked(void **state) {
    (void)state;
    model *m = NULL;
    bool is_wanted[64] = {false};
    const weight_check wanted = {.check_values = true, .is_wanted = is_wanted};
    const model_options unchecked = {.skip_integrity = true};
    tiny_model_write(path, "llama", &(tiny_change){.spoil = "blk.1.ffn_down.weight"});
    assert_int_equal(model_open(path, &unchecked, NULL, &m, NULL), QN_OK);
    assert_int_equal(weight_check_run(m, &wanted, NULL, NULL), QN_OK);
    is_wanted[model_find(m, "blk.1.ffn_down.weight") - m->tensors] = true;
    error_context err = {0};
    assert_int_equal(weight_check_run(m, &wanted, NULL, &err), QN_BAD_FILE);
    assert_string_equal(err.rule, "weight-finite");
    assert_int_equal(err.offset, model_find(m, "blk.1.ffn_down.weight")->at + 511 * 4);
    model_close(m);
}

typedef struct watch {
    uint32_t n_calls;
    uint64_t last, total;
    bool goes_on;
} watch;

static bool see(void *ctx, uint64_t done, uint64_t total) {
    watch *w = ctx;
    w->n_calls++;
    w->last = done;
    w->total = total;
    return w->goes_on;
}

static void progress_is_told_and_can_end_the_check(void **state) {
    (void)state;
    model *m = NULL;
    watch w = {.goes_on = true};
    const model_options watched = {.progress = see, .progress_ctx = &w};
    tiny_model_write(path, "llama", NULL);
    assert_int_equal(model_open(path, &watched, NULL, &m, NULL), QN_OK);
    assert_int_equal(w.n_calls, m->n_tensors);
    assert_int_equal(w.last, w.total);
    model_close(m);
    w = (watch){.goes_on = false};
    expect_refusal(&watched, NULL, QN_CANCELLED, "interrupted while its weights were checked");
    assert_int_equal(w.n_calls, 1);
}

static void a_flipped_bit_of_a_p64_is_a_checksum_error(void **state) {
    (void)state;
    char source[CORPUS_PATH_SIZE];
    size_t size = 0;
    model *m = NULL;
    const model_options container = {.container_only = true};
    error_context err = {0};
    source_require("tests/vectors/p64/two_layer.seed.p64", source);
    assert_int_equal(model_open(source, &container, NULL, &m, NULL), QN_OK);
    const uint64_t at = model_find(m, "blk.1.attn_q.weight")->at;
    model_close(m);
    uint8_t *bytes = test_read_file(source, &size);
    bytes[at] ^= 1;
    write_bytes(bytes, size);
    free(bytes);
    assert_int_equal(model_open(path, &container, NULL, &m, NULL), QN_OK);
    assert_int_equal(weight_check_run(m, &(weight_check){.check_values = true}, NULL, &err), QN_CHECKSUM);
    assert_non_null(strstr(error_text(&err), "blk.1.attn_q.weight"));
    model_close(m);
}

static void a_text_is_told_what_it_begins_with(void **state) {
    (void)state;
    write_bytes("once upon a time", 16);
    expect_refusal(NULL, NULL, QN_BAD_FILE, "begins with 6f 6e 63 65 (\"once\")");
    write_bytes("version https://git-lfs.github.com/spec/v1\n", 43);
    expect_refusal(NULL, NULL, QN_BAD_FILE, "Git LFS pointer");
    write_bytes("p6", 2);
    expect_refusal(NULL, NULL, QN_BAD_FILE, "has 2 bytes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_model_opens_with_its_facts),
        cmocka_unit_test(an_unknown_architecture_is_refused_by_name),
        cmocka_unit_test(a_model_without_tokenizer_is_refused_unless_only_the_container_is_wanted),
        cmocka_unit_test(a_missing_embedding_is_refused_at_once),
        cmocka_unit_test(more_tokens_than_rows_are_refused_with_both_numbers),
        cmocka_unit_test(nan_in_a_weight_is_found_with_its_place_by_any_number_of_threads),
        cmocka_unit_test(of_two_faults_the_first_in_the_file_is_told_every_time),
        cmocka_unit_test(only_wanted_tensors_are_checked),
        cmocka_unit_test(progress_is_told_and_can_end_the_check),
        cmocka_unit_test(a_flipped_bit_of_a_p64_is_a_checksum_error),
        cmocka_unit_test(a_text_is_told_what_it_begins_with),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
