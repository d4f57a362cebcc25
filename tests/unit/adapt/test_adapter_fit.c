/* test_adapter_fit.c — whether an adapter belongs to a model: what is refused in strict mode and left out otherwise, and in which
 * words; broken files are refused in both. */
#include "adapt_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/sha.h"

static rig_pairs list;
static model *m;

static int make_model(void **state) {
    (void)state;
    const char *path = rig_path("base.gguf");
    tiny_model_write(path, "llama", NULL);
    m = rig_open_model(path);
    return 0;
}

static int free_model(void **state) {
    (void)state;
    model_close(m);
    rig_free(&list);
    return 0;
}

static qn_status open_set(const char *path, bool is_strict, adapter_set *set, error_context *err) {
    const adapter_request request = {path, 1.0f};
    error_clear(err);
    return adapter_set_open(m, &request, 1, is_strict, set, err);
}

/* Refused in strict mode with these words; left out, with the same words, otherwise. */
static void assert_mismatch(const char *path, const char *words) {
    adapter_set set;
    error_context err = {0};
    assert_int_equal(open_set(path, true, &set, &err), QN_BAD_FILE);
    if (strstr(error_text(&err), words) == NULL) {
        fail_msg("wanted '%s', got: %s", words, error_text(&err));
    }
    assert_int_equal(open_set(path, false, &set, &err), QN_OK);
    assert_int_equal(set.n_uses, 1);
    assert_false(set.uses[0].is_applied);
    assert_int_equal(set.n_deltas, 0);
    assert_non_null(strstr(set.uses[0].reason, words));
    uint8_t digest[LORA_DIGEST_BYTES];
    assert_false(adapter_set_digest(&set, digest));
    adapter_set_close(&set);
}

/* Refused in every mode. */
static void assert_refused(const char *path, qn_status status, const char *words) {
    adapter_set set;
    error_context err = {0};
    for (int is_strict = 0; is_strict < 2; is_strict++) {
        assert_int_equal(open_set(path, is_strict != 0, &set, &err), status);
        if (strstr(error_text(&err), words) == NULL) {
            fail_msg("wanted '%s', got: %s", words, error_text(&err));
        }
    }
}

static void an_adapter_of_another_model_is_told_by_the_digest(void **state) {
    (void)state;
    const char *other_path = rig_path("other.gguf"), *path = rig_path("a.lora");
    tiny_model_write(other_path, "llama", &(tiny_change){.window = 8}); /* the same shapes in other bytes */
    model *other = rig_open_model(other_path);
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_v2(path, &list, other);
    model_close(other);
    assert_mismatch(path, "belongs to the model with SHA-256");
}

static void a_shape_that_is_not_the_models_is_told_with_both(void **state) {
    (void)state;
    const char *path = rig_path("a.lora");
    rig_add(&list, m, LORA_ATTN_K, 1)->n_out = 7;
    rig_write_v2(path, &list, m);
    assert_mismatch(path, "attn_k of layer 1 takes 16 and gives 7 elements");
}

static void a_layer_that_the_model_has_not_is_told(void **state) {
    (void)state;
    const char *path = rig_path("a.lora");
    rig_add(&list, m, LORA_ATTN_K, 1)->layer = 2;
    rig_write_v2(path, &list, m);
    assert_mismatch(path, "has 2 layers");
}

static void version_1_of_another_width_is_left_out(void **state) {
    (void)state;
    const char *path = rig_path("v1.lora");
    lora_pair *pair = rig_add(&list, m, LORA_EMBEDDING, LORA_NO_LAYER);
    pair->n_in = 15;
    rig_write_v1(path, pair);
    assert_mismatch(path, "embedding takes 15 and gives 16 elements");
}

static void a_gguf_adapter_of_another_architecture_is_left_out(void **state) {
    (void)state;
    const char *path = rig_path("a.gguf");
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_gguf(path, &list, &(rig_gguf){.arch = "qwen2"});
    assert_mismatch(path, "is for models of architecture qwen2");
}

static void norms_in_a_gguf_adapter_are_refused_only_in_strict_mode(void **state) {
    (void)state;
    const char *path = rig_path("a.gguf");
    adapter_set set;
    error_context err = {0};
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_gguf(path, &list, &(rig_gguf){.extra = "blk.0.attn_norm.weight"});
    assert_int_equal(open_set(path, true, &set, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "blk.0.attn_norm.weight"));
    assert_int_equal(open_set(path, false, &set, &err), QN_OK);
    assert_true(set.uses[0].is_applied);
    assert_int_equal(set.uses[0].from.n_ignored, 1);
    adapter_set_close(&set);
}

static void gguf_files_that_are_no_adapters_of_ours_are_refused_in_words(void **state) {
    (void)state;
    static const struct {
        rig_gguf how;
        qn_status status;
        const char *words;
    } rows[] = {
        {{.type = "model"}, QN_BAD_FILE, "general.type is \"model\""},
        {{.adapter_type = "dora"}, QN_BAD_FILE, "adapter.type is \"dora\""},
        {{.alpha = 1e300 * 1e300}, QN_BAD_FILE, "must be a finite number"},
        {{.is_alora = true}, QN_UNSUPPORTED, "active only behind certain words"},
        {{.extra = "blk.0.attn_q.bias"}, QN_UNSUPPORTED, "is no half of a pair"},
        {{.rename_from = "blk.0.attn_q.weight.lora_b", .rename_to = "blk.1.attn_q.weight.lora_b"}, QN_BAD_FILE, "stands alone"},
        {{.rename_from = "blk.0.attn_q.weight.lora_a", .rename_to = "blk.1.attn_q.weight.lora_a"}, QN_BAD_FILE, "stands alone"},
    };
    const char *path = rig_path("a.gguf");
    rig_add(&list, m, LORA_ATTN_Q, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rig_write_gguf(path, &list, &rows[i].how);
        assert_refused(path, rows[i].status, rows[i].words);
    }
    rig_free(&list);
    rig_write_gguf(path, &list, &(rig_gguf){.extra = "blk.0.attn_norm.weight"});
    assert_refused(path, QN_BAD_FILE, "has 0 pairs");
}

static void a_matrix_that_nobody_knows_is_named(void **state) {
    (void)state;
    static const char *const names[] = {"blk.0.attn_norm.weight", "blk.00.attn_q.weight", "blk.70000.attn_q.weight", "blk.q",
                                        "blk.0.ffn_gate_exps.weight", "v.blk.0.attn_q.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *path = rig_path("a.lora");
        char a[64], b[64];
        snprintf(a, sizeof a, "%s.lora_a", names[i]);
        snprintf(b, sizeof b, "%s.lora_b", names[i]);
        const float elements[16] = {0};
        const gguf_tensor_spec specs[] = {{a, BLK_F32, 2, {16, 1, 1, 1}}, {b, BLK_F32, 2, {1, 16, 1, 1}}};
        gguf_writer w;
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        gguf_write_begin(&w, gguf_write_to_file, file, 32, 3, specs, 2);
        gguf_write_string(&w, "general.architecture", "llama");
        gguf_write_string(&w, "general.type", "adapter");
        gguf_write_string(&w, "adapter.type", "lora");
        gguf_write_data(&w, elements, sizeof elements);
        gguf_write_data(&w, elements, sizeof elements);
        assert_int_equal(gguf_write_end(&w), FMT_OK);
        assert_int_equal(fclose(file), 0);
        assert_refused(path, QN_UNSUPPORTED, names[i]);
    }
}

static void broken_files_are_refused_in_every_mode(void **state) {
    (void)state;
    const char *path = rig_path("a.lora");
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_v2(path, &list, m);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, -1, SEEK_END);
    fputc(0x55, file);
    fclose(file);
    assert_refused(path, QN_BAD_FILE, "rule digest");
    assert_refused(rig_path("none.lora"), QN_NOT_FOUND, "none.lora");
    assert_refused(rig_path("base.gguf"), QN_BAD_FILE, "general.type is not there");
}

static void elements_that_are_no_numbers_are_refused(void **state) {
    (void)state;
    const char *path = rig_path("a.gguf");
    const lora_pair *pair = rig_add(&list, m, LORA_ATTN_Q, 0);
    ((float *)(uintptr_t)pair->b)[4] = (float)(1e300 * 1e300);
    rig_write_gguf(path, &list, &(rig_gguf){.alpha = 1.0});
    assert_refused(path, QN_BAD_FILE, "element 4 is NaN or infinite");
}

static void an_alpha_of_nothing_adds_the_product_as_it_is(void **state) {
    (void)state;
    adapter_set set;
    error_context err = {0};
    const char *path = rig_path("a.gguf");
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_gguf(path, &list, &(rig_gguf){.alpha = 0.0});
    assert_int_equal(open_set(path, true, &set, &err), QN_OK);
    assert_true(set.deltas[0].scale == 1.0f);
    adapter_set_close(&set);
}

static void rows_of_q_and_k_are_put_in_the_order_of_a_raw_container(void **state) {
    (void)state;
    adapter a;
    adapter_fitting fitting;
    const char *path = rig_path("a.gguf");
    const uint32_t head_dim = TINY_WIDTH / TINY_HEADS;
    rig_add(&list, m, LORA_ATTN_V, 0);
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_gguf(path, &list, &(rig_gguf){.alpha = 1.0});
    assert_int_equal(adapter_open(path, &a, NULL), QN_OK);
    model raw = *m;
    raw.is_raw = true;
    assert_int_equal(adapter_fit(&a, &raw, NULL, 1.0f, &fitting, NULL), QN_OK);
    const float *from = list.pairs[1].b, *to = fitting.deltas[1].b;
    for (uint32_t row = 0; row < TINY_WIDTH; row++) {
        const uint32_t head = row / head_dim, i = row % head_dim;
        const uint32_t source = head * head_dim + (i < head_dim / 2 ? 2 * i : 2 * (i - head_dim / 2) + 1);
        assert_memory_equal(to + row * RIG_RANK, from + source * RIG_RANK, RIG_RANK * sizeof(float));
    }
    assert_memory_equal(fitting.deltas[0].b, list.pairs[0].b, sizeof(float) * RIG_RANK * list.pairs[0].n_out);
    adapter_fitting_free(&fitting);
    adapter_close(&a);
}

static void a_gguf_adapter_becomes_version_2_that_changes_the_same(void **state) {
    (void)state;
    adapter a;
    adapter_set from, to;
    error_context err = {0};
    const char *path = rig_path("a.gguf"), *bound = rig_path("bound.lora");
    rig_add_all(&list, m);
    rig_write_gguf(path, &list, &(rig_gguf){.element_type = BLK_F16, .alpha = 5.0});
    assert_int_equal(adapter_open(path, &a, &err), QN_OK);
    assert_int_equal(adapter_bind(&a, m, bound, false, &err), QN_OK);
    assert_int_equal(adapter_bind(&a, m, bound, false, &err), QN_IO); /* it is there already */
    assert_int_equal(adapter_bind(&a, m, bound, true, &err), QN_OK);
    adapter_close(&a);
    assert_int_equal(open_set(path, true, &from, &err), QN_OK);
    assert_int_equal(open_set(bound, true, &to, &err), QN_OK);
    assert_int_equal(to.uses[0].from.form, ADAPTER_LORA_V2);
    assert_int_equal(from.n_deltas, to.n_deltas);
    for (uint32_t i = 0; i < from.n_deltas; i++) {
        assert_int_equal(from.deltas[i].role, to.deltas[i].role);
        assert_int_equal(from.deltas[i].type, BLK_F16);
        assert_true(from.deltas[i].scale == to.deltas[i].scale);
        assert_memory_equal(from.deltas[i].a, to.deltas[i].a, 2 * RIG_RANK * from.deltas[i].n_in);
        assert_memory_equal(from.deltas[i].b, to.deltas[i].b, 2 * RIG_RANK * from.deltas[i].n_out);
    }
    adapter_set_close(&from);
    adapter_set_close(&to);
}

static void the_digest_for_records_is_of_files_and_strengths(void **state) {
    (void)state;
    adapter_set set;
    uint8_t one[LORA_DIGEST_BYTES], file_digest[LORA_DIGEST_BYTES], other[LORA_DIGEST_BYTES];
    error_context err = {0};
    const char *path = rig_path("a.lora");
    size_t size = 0;
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_v2(path, &list, m);
    uint8_t *bytes = test_read_file(path, &size);
    assert_true(sha256_digest(bytes, size, file_digest));
    free(bytes);
    assert_int_equal(open_set(path, true, &set, &err), QN_OK);
    assert_true(adapter_set_digest(&set, one));
    assert_memory_equal(one, file_digest, sizeof one);
    adapter_set_close(&set);
    const adapter_request stronger = {path, 2.0f};
    assert_int_equal(adapter_set_open(m, &stronger, 1, true, &set, &err), QN_OK);
    assert_true(adapter_set_digest(&set, other));
    assert_memory_not_equal(one, other, sizeof one);
    uint8_t said[LORA_DIGEST_BYTES + 4] = {0}, wanted[LORA_DIGEST_BYTES];
    memcpy(said, file_digest, LORA_DIGEST_BYTES);
    said[LORA_DIGEST_BYTES + 3] = 0x40; /* 2.0f */
    assert_true(sha256_digest(said, sizeof said, wanted));
    assert_memory_equal(other, wanted, sizeof wanted);
    adapter_set_close(&set);
}

static void a_model_without_weights_has_nothing_to_change(void **state) {
    (void)state;
    adapter a;
    adapter_fitting fitting;
    error_context err = {0};
    const char *path = rig_path("a.gguf");
    rig_add(&list, m, LORA_ATTN_Q, 0);
    rig_write_gguf(path, &list, &(rig_gguf){.alpha = 1.0});
    assert_int_equal(adapter_open(path, &a, &err), QN_OK);
    model vocabulary_only = *m;
    vocabulary_only.arch = NULL;
    assert_int_equal(adapter_fit(&a, &vocabulary_only, NULL, 1.0f, &fitting, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "nothing to change"));
    adapter_close(&a);
}

static void a_scrubbed_adapter_has_zeros_in_every_matrix(void **state) {
    (void)state;
    adapter a;
    const char *path = rig_path("a.gguf");
    rig_add_all(&list, m);
    rig_write_gguf(path, &list, &(rig_gguf){.element_type = BLK_F16, .alpha = 1.0});
    assert_int_equal(adapter_open(path, &a, NULL), QN_OK);
    assert_int_equal(a.n_blocks, 2 * a.n_pairs);
    adapter_scrub(&a);
    for (uint32_t i = 0; i < a.n_pairs; i++) {
        const uint16_t *from = a.pairs[i].a, *to = a.pairs[i].b;
        for (uint32_t k = 0; k < a.pairs[i].rank * a.pairs[i].n_in; k++) {
            assert_int_equal(from[k], 0);
        }
        for (uint32_t k = 0; k < a.pairs[i].rank * a.pairs[i].n_out; k++) {
            assert_int_equal(to[k], 0);
        }
    }
    adapter_close(&a);
}

static void a_strength_that_overflows_is_refused(void **state) {
    (void)state;
    adapter_set set;
    error_context err = {0};
    const char *path = rig_path("a.lora");
    rig_add(&list, m, LORA_ATTN_Q, 0)->alpha = 3e38f;
    rig_write_v2(path, &list, m);
    const adapter_request strong = {path, 1e6f};
    assert_int_equal(adapter_set_open(m, &strong, 1, true, &set, &err), QN_BAD_FILE);
    assert_non_null(strstr(error_text(&err), "no finite number"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_model, free_model)
    const struct CMUnitTest tests[] = {
        TEST(an_adapter_of_another_model_is_told_by_the_digest),
        TEST(a_shape_that_is_not_the_models_is_told_with_both),
        TEST(a_layer_that_the_model_has_not_is_told),
        TEST(version_1_of_another_width_is_left_out),
        TEST(a_gguf_adapter_of_another_architecture_is_left_out),
        TEST(norms_in_a_gguf_adapter_are_refused_only_in_strict_mode),
        TEST(gguf_files_that_are_no_adapters_of_ours_are_refused_in_words),
        TEST(a_matrix_that_nobody_knows_is_named),
        TEST(broken_files_are_refused_in_every_mode),
        TEST(elements_that_are_no_numbers_are_refused),
        TEST(an_alpha_of_nothing_adds_the_product_as_it_is),
        TEST(rows_of_q_and_k_are_put_in_the_order_of_a_raw_container),
        TEST(a_gguf_adapter_becomes_version_2_that_changes_the_same),
        TEST(the_digest_for_records_is_of_files_and_strengths),
        TEST(a_model_without_weights_has_nothing_to_change),
        TEST(a_scrubbed_adapter_has_zeros_in_every_matrix),
        TEST(a_strength_that_overflows_is_refused),
    };
    return cmocka_run_group_tests(tests, rig_make_folder, rig_remove_folder);
}
