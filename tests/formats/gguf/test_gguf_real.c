/* test_gguf_real.c — real files of public projects. The counts were read with an independent parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cases.h"
#include "gguf_builder.h"

typedef struct real_file {
    const char *path;
    uint32_t version;
    uint64_t n_kv, n_tensors;
    const char *architecture;
    uint64_t n_tokens, n_merges;
} real_file;

static const real_file files[] = {
    {"data/stories260k/stories260k-f16.gguf", 3, 17, 47, "llama", 512, 0},
    {"data/stories260k/stories260k-f32.gguf", 3, 17, 47, "llama", 512, 0},
    {"data/stories260k/stories260k-q8_0.gguf", 3, 17, 47, "llama", 512, 0},
    {"data/tokenizers/ggml-vocab-baichuan.gguf", 3, 18, 0, "baichuan", 64000, 0},
    {"data/tokenizers/ggml-vocab-bert-bge.gguf", 3, 20, 0, "bert", 30522, 0},
    {"data/tokenizers/ggml-vocab-deepseek-coder.gguf", 3, 25, 0, "llama", 32256, 31757},
    {"data/tokenizers/ggml-vocab-deepseek-llm.gguf", 3, 23, 0, "llama", 102400, 99757},
    {"data/tokenizers/ggml-vocab-falcon.gguf", 3, 18, 0, "falcon", 65024, 64784},
    {"data/tokenizers/ggml-vocab-gpt-2.gguf", 3, 16, 0, "gpt2", 50257, 50000},
    {"data/tokenizers/ggml-vocab-gpt-neox.gguf", 3, 17, 0, "gptneox", 50432, 50009},
    {"data/tokenizers/ggml-vocab-llama-spm.gguf", 3, 22, 0, "llama", 32000, 0},
    {"data/tokenizers/ggml-vocab-mpt.gguf", 3, 17, 0, "mpt", 50432, 50009},
    {"data/tokenizers/ggml-vocab-phi-3.gguf", 3, 26, 0, "phi3", 32064, 0},
    {"data/tokenizers/ggml-vocab-refact.gguf", 3, 18, 0, "refact", 49216, 48891},
    {"data/tokenizers/ggml-vocab-starcoder.gguf", 3, 19, 0, "starcoder2", 49152, 48872},
    {"spec/vectors/p64/five_tensors.gguf", 3, 12, 5, "llama", 3, 1},
    {"spec/vectors/p64/one_matrix.gguf", 3, 11, 1, "llama", 3, 1},
    {"spec/vectors/p64/two_layer.gguf", 3, 20, 22, "llama", 40, 9},
};

static uint64_t count_strings(const gguf_file *file, const char *key) {
    gguf_array list;
    fmt_str text;
    uint64_t n = 0;
    const fmt_status status = gguf_get_array(file, key, GGUF_STRINGS, &list, NULL);
    if (status == FMT_NOT_FOUND) {
        return 0;
    }
    assert_int_equal(status, FMT_OK);
    for (gguf_iter iter = gguf_iterate(&list); gguf_next_string(&iter, &text);) {
        n++;
    }
    assert_int_equal(n, list.count);
    return n;
}

static void check_file(const real_file *expected) {
    char path[CORPUS_PATH_SIZE];
    gguf_file file;
    fmt_diag diag;
    fmt_str architecture;
    void *scratch = NULL;
    corpus_require(expected->path, path);
    const fmt_span span = test_map_file(path);
    if (open_with_scratch(span, &file, &scratch, &diag) != FMT_OK) {
        fail_msg("%s: %s", path, diag.text);
    }
    assert_int_equal(file.version, expected->version);
    assert_int_equal(file.n_kv, expected->n_kv);
    assert_int_equal(file.n_tensors, expected->n_tensors);
    assert_int_equal(gguf_get_string(&file, "general.architecture", &architecture, &diag), FMT_OK);
    assert_int_equal(architecture.size, strlen(expected->architecture));
    assert_memory_equal(architecture.data, expected->architecture, architecture.size);
    assert_int_equal(count_strings(&file, "tokenizer.ggml.tokens"), expected->n_tokens);
    assert_int_equal(count_strings(&file, "tokenizer.ggml.merges"), expected->n_merges);
    for (uint64_t i = 0; i < file.n_tensors; i++) {
        assert_ptr_equal(gguf_find_tensor_n(&file, file.tensors[i].name), &file.tensors[i]);
    }
    free(scratch);
    test_unmap_file(span);
}

static void real_files_open_with_the_expected_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        print_message("%s\n", files[i].path);
        check_file(&files[i]);
    }
}

static void alignment_of_the_file_moves_the_data(void **state) {
    (void)state;
    char path[CORPUS_PATH_SIZE];
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    corpus_require("spec/vectors/p64/two_layer.gguf", path);
    const fmt_span span = test_map_file(path);
    assert_int_equal(open_with_scratch(span, &file, &scratch, &diag), FMT_OK);
    assert_int_equal(file.alignment, 64);
    assert_int_equal(file.data_at % 64, 0);
    const gguf_tensor *q = gguf_find_tensor(&file, "blk.0.attn_q.weight");
    assert_non_null(q);
    assert_int_equal(q->at % 64, 0);
    free(scratch);
    test_unmap_file(span);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_open_with_the_expected_counts),
        cmocka_unit_test(alignment_of_the_file_moves_the_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
