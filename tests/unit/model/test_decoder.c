/* test_decoder.c — from a small model of each architecture to a valid program; what is missing, misshapen or foreign is
 * named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/glue_program.h>

#include "corpus.h"
#include "model/decoder.h"
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

static model *open_model(const char *arch, const tiny_change *change) {
    model *m = NULL;
    error_context err = {0};
    tiny_model_write(path, arch, change);
    if (model_open(path, NULL, NULL, &m, &err) != QN_OK) {
        fail_msg("%s: %s", arch, error_text(&err));
    }
    return m;
}

static qn_status build(const model *m, decoder **out, error_context *err) {
    const decoder_options options = {.state_format = QN_FORMAT_F16, .n_ctx = TINY_CONTEXT};
    return decoder_build(m, &options, out, err);
}

static const char *const architectures[] = {"llama", "qwen2", "qwen3", "gemma3", "phi3"};
#define N_ARCHITECTURES (sizeof architectures / sizeof architectures[0])

static void every_architecture_becomes_a_program_that_validates(void **state) {
    (void)state;
    for (size_t i = 0; i < N_ARCHITECTURES; i++) {
        model *m = open_model(architectures[i], NULL);
        decoder *d = NULL;
        qn_error invalid = {.size = sizeof invalid, .op = QN_NO_OP};
        assert_int_equal(build(m, &d, NULL), QN_OK);
        if (qn_program_validate(d->program, d->program->total_bytes, &invalid) != QN_OK) {
            fail_msg("%s: %s", architectures[i], invalid.text);
        }
        decoder_destroy(d);
        model_close(m);
    }
}

static uint32_t count_ops(const decoder *d, uint32_t op) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->program->n_ops; i++) {
        n += qn_program_op(d->program, i)->op == op;
    }
    return n;
}

static void each_architecture_has_the_ops_that_make_it(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        uint32_t n_norms, n_scales, n_matmuls; /* in two layers and the way out */
    } rows[] = {
        {"llama", 5, 0, 15}, {"qwen2", 5, 0, 15}, {"qwen3", 9, 0, 15}, {"gemma3", 13, 1, 15}, {"phi3", 5, 0, 15}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model *m = open_model(rows[i].arch, NULL);
        decoder *d = NULL;
        assert_int_equal(build(m, &d, NULL), QN_OK);
        assert_int_equal(count_ops(d, QN_OP_RMS_NORM), rows[i].n_norms);
        assert_int_equal(count_ops(d, QN_OP_SCALE), rows[i].n_scales);
        assert_int_equal(count_ops(d, QN_OP_MATMUL), rows[i].n_matmuls);
        assert_int_equal(count_ops(d, QN_OP_ATTENTION), TINY_LAYERS);
        decoder_destroy(d);
        model_close(m);
    }
}

/* The binding of the n-th weight buffer that comes from this tensor. */
static const weight_binding *find_binding(const decoder *d, const model_tensor *tensor, uint32_t n) {
    for (uint32_t i = 0; i < d->n_weights; i++) {
        if (d->weights[i].tensor == tensor && n-- == 0) {
            return &d->weights[i];
        }
    }
    return NULL;
}

static void fused_matrices_are_bound_by_their_rows(void **state) {
    (void)state;
    model *m = open_model("phi3", NULL);
    decoder *d = NULL;
    assert_int_equal(build(m, &d, NULL), QN_OK);
    const model_tensor *qkv = model_find(m, "blk.1.attn_qkv.weight"), *up = model_find(m, "blk.1.ffn_up.weight");
    const uint64_t head_dim = TINY_WIDTH / TINY_HEADS;
    assert_int_equal(find_binding(d, qkv, 0)->first_element, 0);
    assert_int_equal(find_binding(d, qkv, 1)->first_element, TINY_WIDTH * TINY_WIDTH);
    assert_int_equal(find_binding(d, qkv, 2)->first_element, TINY_WIDTH * (TINY_WIDTH + TINY_KV_HEADS * head_dim));
    assert_null(find_binding(d, qkv, 3));
    assert_int_equal(find_binding(d, up, 0)->first_element, 0);
    assert_int_equal(find_binding(d, up, 1)->first_element, TINY_WIDTH * TINY_FF);
    decoder_destroy(d);
    model_close(m);
}

static void a_tied_output_is_the_embedding_bound_once(void **state) {
    (void)state;
    model *m = open_model("llama", NULL);
    decoder *d = NULL;
    assert_int_equal(build(m, &d, NULL), QN_OK);
    const model_tensor *table = model_find(m, "token_embd.weight");
    assert_non_null(find_binding(d, table, 0));
    assert_null(find_binding(d, table, 1));
    decoder_destroy(d);
    model_close(m);
}

static void windows_make_the_groups_of_cells(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        uint32_t window, n_groups, windows[2];
    } rows[] = {{"llama", 0, 1, {0, 0}}, {"llama", 8, 1, {8, 0}}, {"gemma3", 8, 1, {8, 0}}, {"gemma3", 0, 1, {0, 0}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0];
         i++) { /* two layers of gemma3 are windowed, the sixth would not */
        model *m = open_model(rows[i].arch, &(tiny_change){.window = rows[i].window});
        decoder *d = NULL;
        assert_int_equal(build(m, &d, NULL), QN_OK);
        assert_int_equal(d->n_groups, rows[i].n_groups);
        assert_int_equal(d->group_window[0], rows[i].windows[0]);
        decoder_destroy(d);
        model_close(m);
    }
}

static void a_list_of_layers_makes_two_groups(void **state) {
    (void)state;
    model *m = open_model("llama", &(tiny_change){.window = 8});
    decoder *d = NULL;
    m->hparams.has_layer_list = true;
    m->hparams.full_layers[0] = 1; /* layer 0 is full, layer 1 windowed */
    assert_int_equal(build(m, &d, NULL), QN_OK);
    assert_int_equal(d->n_groups, 2);
    assert_int_equal(d->group_window[0], 0);
    assert_int_equal(d->group_window[1], 8);
    assert_int_equal(d->state_bytes_per_cell[0], d->state_bytes_per_cell[1]);
    decoder_destroy(d);
    model_close(m);
}

static void what_is_wrong_with_a_tensor_is_named(void **state) {
    (void)state;
    static const struct {
        const char *arch;
        tiny_change change;
        const char *words[3];
    } rows[] = {
        {"llama", {.drop = "blk.1.attn_k.weight"}, {"blk.1.attn_k.weight", "missing", "2 layers"}},
        {"llama", {.drop = "output_norm.weight"}, {"output_norm.weight", "missing", "llama"}},
        {"llama", {.reshape = "blk.0.ffn_down.weight"}, {"blk.0.ffn_down.weight", "[32, 17]", "[32, 16]"}},
        {"llama", {.reshape = "blk.0.attn_norm.weight"}, {"blk.0.attn_norm.weight", "[17]", "[16]"}},
        {"llama", {.add = "blk.1.attn_sub_norm.weight"}, {"blk.1.attn_sub_norm.weight", "no place", "llama"}},
        {"llama", {.add = "blk.0.ffn_down.bias"}, {"blk.0.ffn_down.bias", "no place", "llama"}},
        {"llama", {.add = "output.bias"}, {"output.bias", "no place", "llama"}},
        {"qwen2", {.drop = "blk.0.attn_v.bias"}, {"blk.0.attn_v.bias", "missing", "qwen2"}},
        {"qwen3", {.drop = "blk.1.attn_q_norm.weight"}, {"blk.1.attn_q_norm.weight", "missing", "qwen3"}},
        {"gemma3", {.drop = "blk.1.post_ffw_norm.weight"}, {"blk.1.post_ffw_norm.weight", "missing", "gemma3"}},
        {"phi3", {.reshape = "blk.0.attn_qkv.weight"}, {"blk.0.attn_qkv.weight", "[16, 33]", "[16, 32]"}},
        {"phi3", {.drop = "blk.1.ffn_up.weight"}, {"blk.1.ffn_up.weight", "missing", "phi3"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        model *m = open_model(rows[i].arch, &rows[i].change);
        decoder *d = NULL;
        error_context err = {0};
        assert_int_equal(build(m, &d, &err), QN_BAD_FILE);
        assert_null(d);
        for (size_t w = 0; w < 3; w++) {
            if (strstr(error_text(&err), rows[i].words[w]) == NULL) {
                fail_msg("row %zu: \"%s\" does not say \"%s\"", i, error_text(&err), rows[i].words[w]);
            }
        }
        model_close(m);
    }
}

static void tensors_of_other_parts_are_passed_over(void **state) {
    (void)state;
    static const char *const names[] = {"vision.extra.weight", "blk.2.attn_norm.weight", "blk.0.attn_rot_embd.weight",
                                        "mm.projector.weight"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        model *m = open_model("llama", &(tiny_change){.add = names[i]});
        decoder *d = NULL;
        assert_int_equal(build(m, &d, NULL), QN_OK);
        decoder_destroy(d);
        model_close(m);
    }
}

static void a_bias_of_llama_is_used_when_it_is_there(void **state) {
    (void)state;
    model *m = open_model("llama", &(tiny_change){.add = "blk.0.attn_output.bias"});
    decoder *d = NULL;
    assert_int_equal(build(m, &d, NULL), QN_OK);
    assert_non_null(find_binding(d, model_find(m, "blk.0.attn_output.bias"), 0));
    decoder_destroy(d);
    model_close(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_architecture_becomes_a_program_that_validates),
        cmocka_unit_test(each_architecture_has_the_ops_that_make_it),
        cmocka_unit_test(fused_matrices_are_bound_by_their_rows),
        cmocka_unit_test(a_tied_output_is_the_embedding_bound_once),
        cmocka_unit_test(windows_make_the_groups_of_cells),
        cmocka_unit_test(a_list_of_layers_makes_two_groups),
        cmocka_unit_test(what_is_wrong_with_a_tensor_is_named),
        cmocka_unit_test(tensors_of_other_parts_are_passed_over),
        cmocka_unit_test(a_bias_of_llama_is_used_when_it_is_there),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
