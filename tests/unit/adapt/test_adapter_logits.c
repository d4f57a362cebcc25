/* test_adapter_logits.c — a model with an adapter says what the model says whose matrices were changed, on each backend, however the
 * prompt is cut into steps. */
#include "adapt_rig.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/decoder.h"

static const char *const architectures[] = {"llama", "qwen2", "qwen3", "gemma3", "phi3"};
static const char *const backends[] = {"reference", "cpu"};
#define N_ARCHITECTURES (sizeof architectures / sizeof architectures[0])
#define N_BACKENDS (sizeof backends / sizeof backends[0])

static rig_pairs list;
static rig_logits plain, adapted, merged;

static int free_list(void **state) {
    (void)state;
    rig_free(&list);
    return 0;
}

static void open_set(const model *m, const char *const *paths, const float *strengths, uint32_t n, adapter_set *set) {
    adapter_request requests[4];
    error_context err = {0};
    for (uint32_t i = 0; i < n; i++) {
        requests[i] = (adapter_request){paths[i], strengths[i]};
    }
    if (adapter_set_open(m, requests, n, true, set, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
}

static void open_one(const model *m, const char *path, float strength, adapter_set *set) {
    open_set(m, &path, &strength, 1, set);
}

/* Runs `set` on m, in one step and token by token, and holds both against the merged model. */
static void assert_same_as_merged(const char *arch, const model *m, const adapter_set *set, float strength) {
    const char *path = rig_path("merged.gguf");
    rig_write_merged(path, arch, &list, strength);
    model *other = rig_open_model(path);
    for (size_t i = 0; i < N_BACKENDS; i++) {
        rig_logits stepped;
        char what[64];
        if (!rig_run(backends[i], m, set, RIG_TOKENS, &adapted)) {
            continue;
        }
        assert_true(rig_run(backends[i], m, set, 1, &stepped) && rig_run(backends[i], m, NULL, RIG_TOKENS, &plain) &&
                    rig_run(backends[i], other, NULL, RIG_TOKENS, &merged));
        snprintf(what, sizeof what, "%s on %s", arch, backends[i]);
        rig_assert_close(&adapted, &merged, what);
        rig_assert_close(&adapted, &stepped, what);
        if (rig_distance(&adapted, &plain) < 1e-2) {
            fail_msg("%s: the adapter changes nothing", what);
        }
    }
    model_close(other);
}

static model *make_model(const char *arch) {
    const char *path = rig_path("base.gguf");
    tiny_model_write(path, arch, NULL);
    return rig_open_model(path);
}

static void an_adapter_is_the_same_as_the_merged_matrices_in_every_architecture(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        adapter_set set;
        model *m = make_model(architectures[i]);
        rig_add_all(&list, m);
        const char *path = rig_path("all.lora");
        rig_write_v2(path, &list, m);
        open_one(m, path, 1.0f, &set);
        assert_int_equal(set.n_deltas, 7 * TINY_LAYERS);
        assert_same_as_merged(architectures[i], m, &set, 1.0f);
        adapter_set_close(&set);
        model_close(m);
        rig_free(&list);
    }
}

static void each_projection_alone_is_changed_where_it_belongs(void **state) {
    (void)state;
    for (lora_role role = LORA_ATTN_K; role <= LORA_FFN_DOWN; role++) {
        adapter_set set;
        model *m = make_model("llama");
        rig_add(&list, m, role, 1);
        const char *path = rig_path("one.lora");
        rig_write_v2(path, &list, m);
        open_one(m, path, 8.0f, &set);
        assert_same_as_merged("llama", m, &set, 8.0f);
        adapter_set_close(&set);
        model_close(m);
        rig_free(&list);
    }
}

static void a_fused_matrix_is_taken_apart_by_its_rows(void **state) {
    (void)state;
    adapter_set set;
    model *m = make_model("phi3");
    rig_add(&list, m, LORA_ATTN_QKV, 0);
    rig_add(&list, m, LORA_FFN_GATE_UP, 0);
    const char *path = rig_path("fused.gguf");
    rig_write_gguf(path, &list, &(rig_gguf){.arch = "phi3", .alpha = 2.0});
    open_one(m, path, 1.0f, &set);
    assert_int_equal(set.n_deltas, 5);
    assert_same_as_merged("phi3", m, &set, 1.0f);
    adapter_set_close(&set);
    model_close(m);
}

/* What a pair of the table changes in the matrix of logits of a model that has one for both: B of one is A of the other. */
static void add_tied_output(const model *m) {
    const lora_pair *table = &list.pairs[list.n - 1];
    lora_pair *output = rig_add(&list, m, LORA_OUTPUT, LORA_NO_LAYER);
    float *a = (float *)(uintptr_t)output->a;
    const float *b = table->b;
    for (uint32_t i = 0; i < TINY_WIDTH; i++) {
        for (uint32_t k = 0; k < RIG_RANK; k++) {
            a[k * TINY_WIDTH + i] = b[i * RIG_RANK + k];
        }
    }
    memcpy((float *)(uintptr_t)output->b, table->a, sizeof(float) * TINY_VOCABULARY * RIG_RANK);
}

static void the_table_and_the_logits_are_changed_each_for_itself(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        adapter_set set;
        model *m = make_model(architectures[i]);
        rig_add(&list, m, LORA_TOKEN_EMBD, LORA_NO_LAYER);
        add_tied_output(m);
        const char *path = rig_path("ends.lora");
        rig_write_v2(path, &list, m);
        open_one(m, path, 1.0f, &set);
        assert_same_as_merged(architectures[i], m, &set, 1.0f);
        adapter_set_close(&set);
        model_close(m);
        rig_free(&list);
    }
}

/* x + s B (A x) for the embedding is E[t] + s B A'[t] with A'[t] = A E[t]. */
static void version_1_is_a_change_of_the_table_in_prefill_and_decode(void **state) {
    (void)state;
    adapter_set first, second;
    rig_pairs table = {.n = 0};
    model *m = make_model("llama");
    const float *embd = (const float *)(const void *)model_find(m, "token_embd.weight")->data;
    const lora_pair *pair = rig_add(&list, m, LORA_EMBEDDING, LORA_NO_LAYER);
    lora_pair *rows = rig_add(&table, m, LORA_TOKEN_EMBD, LORA_NO_LAYER);
    for (uint32_t token = 0; token < TINY_VOCABULARY; token++) {
        for (uint32_t k = 0; k < RIG_RANK; k++) {
            double sum = 0.0;
            for (uint32_t i = 0; i < TINY_WIDTH; i++) {
                sum += (double)((const float *)pair->a)[k * TINY_WIDTH + i] * (double)embd[token * TINY_WIDTH + i];
            }
            ((float *)(uintptr_t)rows->a)[token * RIG_RANK + k] = (float)sum;
        }
    }
    memcpy((float *)(uintptr_t)rows->b, pair->b, sizeof(float) * TINY_WIDTH * RIG_RANK);
    const char *embedding_path = rig_path("v1.lora"), *table_path = rig_path("table.lora");
    rig_write_v1(embedding_path, pair);
    rig_write_v2(table_path, &table, m);
    open_one(m, embedding_path, 4.0f, &first);
    open_one(m, table_path, 4.0f, &second);
    for (size_t i = 0; i < N_BACKENDS; i++) {
        rig_logits stepped;
        if (!rig_run(backends[i], m, &first, RIG_TOKENS, &adapted)) {
            continue;
        }
        assert_true(rig_run(backends[i], m, &second, RIG_TOKENS, &merged) && rig_run(backends[i], m, &first, 1, &stepped) &&
                    rig_run(backends[i], m, NULL, RIG_TOKENS, &plain));
        rig_assert_close(&adapted, &merged, "version 1 against the table");
        rig_assert_close(&adapted, &stepped, "version 1 token by token");
        assert_true(rig_distance(&adapted, &plain) > 1e-2);
    }
    adapter_set_close(&first);
    adapter_set_close(&second);
    model_close(m);
    rig_free(&table);
}

static void gguf_adapters_of_every_type_run(void **state) {
    (void)state;
    static const blk_type types[] = {BLK_F32, BLK_F16, BLK_BF16};
    model *m = make_model("llama");
    rig_add_all(&list, m);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        adapter_set set;
        const char *path = rig_path("adapter.gguf");
        rig_write_gguf(path, &list, &(rig_gguf){.element_type = types[i], .alpha = 2.0});
        open_one(m, path, 1.0f, &set);
        assert_same_as_merged("llama", m, &set, 1.0f); /* elements have 8 bits: exact in all three */
        adapter_set_close(&set);
    }
    model_close(m);
}

static void several_adapters_add_up_with_their_scales(void **state) {
    (void)state;
    adapter_set twice, once;
    model *m = make_model("llama");
    rig_add_all(&list, m);
    const char *path = rig_path("all.lora");
    rig_write_v2(path, &list, m);
    open_set(m, (const char *const[]){path, path}, (const float[]){1.5f, -0.5f}, 2, &twice);
    open_one(m, path, 1.0f, &once);
    assert_int_equal(twice.n_deltas, 2 * once.n_deltas);
    for (size_t i = 0; i < N_BACKENDS; i++) {
        if (rig_run(backends[i], m, &twice, RIG_TOKENS, &adapted)) {
            assert_true(rig_run(backends[i], m, &once, RIG_TOKENS, &merged));
            rig_assert_close(&adapted, &merged, backends[i]);
        }
    }
    adapter_set_close(&twice);
    adapter_set_close(&once);
    model_close(m);
}

static uint32_t count_ops(const model *m, const adapter_set *set) {
    const decoder_options options = {
        .state_format = QN_FORMAT_F16, .n_ctx = 16, .deltas = set->deltas, .n_deltas = set->n_deltas};
    decoder *d = NULL;
    assert_int_equal(decoder_build(m, &options, &d, NULL), QN_OK);
    const uint32_t n = d->program->n_ops;
    assert_int_equal(d->n_delta_weights, 2 * set->n_deltas);
    decoder_destroy(d);
    return n;
}

static void a_changed_matrix_takes_four_ops_and_three_when_its_scale_is_1(void **state) {
    (void)state;
    const adapter_set none = {.uses = NULL};
    adapter_set scaled, unscaled;
    model *m = make_model("llama");
    rig_add_all(&list, m);
    const char *path = rig_path("all.lora");
    rig_write_v2(path, &list, m);
    open_one(m, path, 1.0f, &scaled);
    open_one(m, path, (float)RIG_RANK / 2.0f, &unscaled); /* alpha is 2 */
    assert_int_equal(count_ops(m, &scaled), count_ops(m, &none) + 4 * scaled.n_deltas);
    assert_int_equal(count_ops(m, &unscaled), count_ops(m, &none) + 3 * unscaled.n_deltas);
    adapter_set_close(&scaled);
    adapter_set_close(&unscaled);
    model_close(m);
}

static void a_change_without_a_place_is_refused_by_the_decoder(void **state) {
    (void)state;
    const float elements[TINY_VOCABULARY] = {0};
    const model_delta lost = {.role = LORA_ATTN_Q, .layer = TINY_LAYERS, .rank = 1, .scale = 1.0f, .n_in = TINY_WIDTH,
                              .n_out = TINY_WIDTH, .type = BLK_F32, .a = elements, .b = elements};
    const decoder_options options = {.state_format = QN_FORMAT_F16, .n_ctx = 16, .deltas = &lost, .n_deltas = 1};
    decoder *d = NULL;
    error_context err = {0};
    model *m = make_model("llama");
    assert_int_equal(decoder_build(m, &options, &d, &err), QN_BAD_INPUT);
    assert_non_null(strstr(error_text(&err), "1 of 1 changes"));
    model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(an_adapter_is_the_same_as_the_merged_matrices_in_every_architecture, free_list),
        cmocka_unit_test_teardown(each_projection_alone_is_changed_where_it_belongs, free_list),
        cmocka_unit_test_teardown(a_fused_matrix_is_taken_apart_by_its_rows, free_list),
        cmocka_unit_test_teardown(the_table_and_the_logits_are_changed_each_for_itself, free_list),
        cmocka_unit_test_teardown(version_1_is_a_change_of_the_table_in_prefill_and_decode, free_list),
        cmocka_unit_test_teardown(gguf_adapters_of_every_type_run, free_list),
        cmocka_unit_test_teardown(several_adapters_add_up_with_their_scales, free_list),
        cmocka_unit_test_teardown(a_changed_matrix_takes_four_ops_and_three_when_its_scale_is_1, free_list),
        cmocka_unit_test(a_change_without_a_place_is_refused_by_the_decoder),
    };
    return cmocka_run_group_tests(tests, rig_make_folder, rig_remove_folder);
}
