/* test_hf_config.c — config.json becomes the keys that a converter to GGUF writes; what is not run is refused by name.
 * Each row changes a sound config in one place and looks at one key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "hf_fixture.h"

#define MISTRAL "'architectures': ['MistralForCausalLM'], 'model_type': 'mistral'"
#define QWEN2 "'architectures': ['Qwen2ForCausalLM'], 'model_type': 'qwen2'"
#define QWEN3 "'architectures': ['Qwen3ForCausalLM'], 'model_type': 'qwen3'"
#define GEMMA                                                                                                          \
    "'architectures': ['Gemma3ForCausalLM'], 'model_type': 'gemma3_text', 'hidden_act': null, "                        \
    "'hidden_activation': 'gelu_pytorch_tanh', 'head_dim': 8, 'query_pre_attn_scalar': 8"
#define PHI3 "'architectures': ['Phi3ForCausalLM'], 'model_type': 'phi3'"

typedef struct row {
    const char *changes, *key, *wanted;
} row;

/* `wanted` is the whole value, or, of a refusal, a part of the message. */
static void check(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char text[FIXTURE_TEXT_SIZE];
        hf_fixture f;
        fixture_begin(&f);
        fixture_change(f.config, rows[i].changes);
        fixture_translate(&f, rows[i].key == NULL ? "general.architecture" : rows[i].key, text);
        const bool is_right = rows[i].key == NULL ? strncmp(text, "refused: ", 9) == 0 && strstr(text, rows[i].wanted) != NULL
                                                  : strcmp(text, rows[i].wanted) == 0;
        if (!is_right) {
            fail_msg("%s, key %s: %s, wanted %s", rows[i].changes, rows[i].key, text, rows[i].wanted);
        }
        fixture_end(&f);
    }
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void sizes_of_a_llama_are_those_of_the_config(void **state) {
    static const row rows[] = {
        {NULL, "general.architecture", "str llama"},
        {NULL, "llama.block_count", "u32 2"},
        {NULL, "llama.context_length", "u32 128"},
        {NULL, "llama.embedding_length", "u32 32"},
        {NULL, "llama.feed_forward_length", "u32 48"},
        {NULL, "llama.attention.head_count", "u32 4"},
        {NULL, "llama.attention.head_count_kv", "u32 2"},
        {"{'num_key_value_heads': null}", "llama.attention.head_count_kv", "u32 4"},
        {NULL, "llama.attention.layer_norm_rms_epsilon", "f32 1e-05"},
        {NULL, "llama.vocab_size", "u32 16"},
        {"{'vocab_size': null}", "llama.vocab_size", "u32 16"},
        {NULL, "general.file_type", "u32 0"},
        {NULL, "llama.attention.key_length", "absent"},
        {"{'head_dim': 16}", "llama.attention.key_length", "u32 16"},
        {"{'head_dim': 16}", "llama.attention.value_length", "u32 16"},
        {"{'head_dim': 16}", "llama.rope.dimension_count", "u32 16"},
        {NULL, "llama.rope.dimension_count", "u32 8"},
        {NULL, "llama.rope.freq_base", "f32 10000"},
        {"{'rope_theta': 500000}", "llama.rope.freq_base", "f32 500000"},
    };
    (void)state;
    CHECK(rows);
}

static void the_class_decides_the_architecture_and_the_type_where_there_is_no_class(void **state) {
    static const row rows[] = {
        {"{" MISTRAL "}", "general.architecture", "str llama"},
        {"{" QWEN2 "}", "general.architecture", "str qwen2"},
        {"{" QWEN3 "}", "general.architecture", "str qwen3"},
        {"{" GEMMA "}", "general.architecture", "str gemma3"},
        {"{" PHI3 "}", "general.architecture", "str phi3"},
        {"{'architectures': null, 'model_type': 'qwen3'}", "general.architecture", "str qwen3"},
        {"{'architectures': ['BloomForCausalLM']}", NULL, "key architectures is \"BloomForCausalLM\"; supported are"},
        {"{'architectures': null, 'model_type': 'bloom'}", NULL, "key model_type is \"bloom\""},
        {"{'architectures': null, 'model_type': null}", NULL, "key architectures is missing"},
        {"{'architectures': 'LlamaForCausalLM'}", NULL, "key architectures is \"LlamaForCausalLM\", must be an array"},
    };
    (void)state;
    CHECK(rows);
}

static void windows_are_told_where_the_model_has_them(void **state) {
    static const row rows[] = {
        {"{'sliding_window': 64}", "llama.attention.sliding_window", "absent"},
        {"{" MISTRAL ", 'sliding_window': 64}", "llama.attention.sliding_window", "u32 64"},
        {"{" MISTRAL ", 'sliding_window': 128}", "llama.attention.sliding_window", "absent"},
        {"{" MISTRAL "}", "llama.attention.sliding_window", "absent"},
        {"{" PHI3 ", 'sliding_window': 2047}", "phi3.attention.sliding_window", "u32 2047"},
        {"{" QWEN2 ", 'sliding_window': 64, 'use_sliding_window': false}", "qwen2.attention.sliding_window", "absent"},
        {"{" QWEN2 ", 'use_sliding_window': true, 'max_window_layers': 2}", "qwen2.attention.sliding_window", "absent"},
        {"{" QWEN2 ", 'use_sliding_window': true, 'max_window_layers': 1}", NULL, "use_sliding_window is true from layer 1"},
        {"{" GEMMA ", 'sliding_window': 512}", "gemma3.attention.sliding_window", "u32 512"},
        {"{" GEMMA ", 'sliding_window': 512}", "gemma3.attention.sliding_window_pattern", "absent"},
        {"{" GEMMA ", 'sliding_window_pattern': 2}", "gemma3.attention.sliding_window_pattern", "[2] true false"},
        {"{" GEMMA ", 'layer_types': ['full_attention', 'sliding_attention']}",
         "gemma3.attention.sliding_window_pattern", "[2] false true"},
        {"{" GEMMA ", 'layer_types': ['sliding_attention', 'sliding_attention']}",
         "gemma3.attention.sliding_window_pattern", "absent"},
        {"{" GEMMA ", 'layer_types': ['full_attention']}", NULL, "layer_types has 1 elements for 2 layers"},
        {"{" GEMMA ", 'layer_types': ['full_attention', 'linear_attention']}", NULL, "sliding_attention for layer 1"},
    };
    (void)state;
    CHECK(rows);
}

static void gemmas_own_facts_and_presumed_sizes_are_told(void **state) {
    static const row rows[] = {
        {"{" GEMMA "}", "gemma3.rope.freq_base", "f32 1000000"},
        {"{" GEMMA "}", "gemma3.rope.freq_base_swa", "absent"},
        {"{" GEMMA ", 'rope_local_base_freq': 10000}", "gemma3.rope.freq_base_swa", "absent"},
        {"{" GEMMA ", 'rope_local_base_freq': 20000}", "gemma3.rope.freq_base_swa", "f32 20000"},
        {"{" GEMMA "}", "gemma3.attention.scale", "absent"},
        {"{" GEMMA ", 'query_pre_attn_scalar': 16}", "gemma3.attention.scale", "f32 0.25"},
        {"{" GEMMA ", 'query_pre_attn_scalar': null}", "gemma3.attention.scale", "f32 0.0625"},
        {"{" GEMMA ", 'final_logit_softcapping': 30}", "gemma3.final_logit_softcapping", "f32 30"},
        {"{" GEMMA ", 'head_dim': null}", "gemma3.attention.key_length", "u32 256"},
        {"{" GEMMA ", 'num_attention_heads': null}", "gemma3.attention.head_count", "u32 8"},
        {"{" GEMMA ", 'rms_norm_eps': null}", "gemma3.attention.layer_norm_rms_epsilon", "f32 1e-06"},
        {"{" GEMMA ", 'text_config': {'hidden_size': 32, 'num_hidden_layers': 7}}", "gemma3.block_count", "u32 7"},
        {"{" GEMMA "}", "gemma3.rope.dimension_count", "absent"},
    };
    (void)state;
    CHECK(rows);
}

#define FACTORS "'rope_scaling': {'type': 'longrope', 'short_factor': [1, 1.5, 2, 3], 'long_factor': [4, 5, 6, 7]}"

static void rope_scalings_become_keys_and_factors(void **state) {
    static const row rows[] = {
        {NULL, "llama.rope.scaling.type", "absent"},
        {"{'rope_scaling': {'rope_type': 'default'}}", "llama.rope.scaling.type", "absent"},
        {"{'rope_scaling': {'type': 'linear', 'factor': 4}}", "llama.rope.scaling.type", "str linear"},
        {"{'rope_scaling': {'type': 'linear', 'factor': 4}}", "llama.rope.scaling.factor", "f32 4"},
        {"{" QWEN2 ", 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, 'original_max_position_embeddings': 32}}",
         "qwen2.rope.scaling.type", "str yarn"},
        {"{" QWEN2 ", 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, 'original_max_position_embeddings': 32}}",
         "qwen2.rope.scaling.original_context_length", "u32 32"},
        {"{" QWEN2 ", 'rope_scaling': {'rope_type': 'yarn', 'factor': 4}}", "qwen2.rope.scaling.yarn_attn_factor", "absent"},
        {"{" QWEN2 ", 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, 'attention_factor': 1}}",
         "qwen2.rope.scaling.yarn_attn_factor", "f32 0.8782489"},
        {"{" QWEN2 ", 'rope_scaling': {'rope_type': 'yarn', 'factor': 4, 'beta_fast': 16}}",
         "qwen2.rope.scaling.yarn_beta_fast", "f32 16"},
        /* wave lengths of 2 pi times 1, 10, 100 and 1000 positions: kept, mixed, stretched, stretched */
        {"{'rope_scaling': {'rope_type': 'llama3', 'factor': 8, 'low_freq_factor': 1, 'high_freq_factor': 4, "
         "'original_max_position_embeddings': 128}}",
         "quoin.tensor.rope_freqs.weight", "[4] 1 2.339117 8 8"},
        {"{" PHI3 ", 'original_max_position_embeddings': 32, " FACTORS "}", "quoin.tensor.rope_factors_short.weight",
         "[4] 1 1.5 2 3"},
        {"{" PHI3 ", 'original_max_position_embeddings': 32, " FACTORS "}", "quoin.tensor.rope_factors_long.weight",
         "[4] 4 5 6 7"},
        {"{" PHI3 ", 'original_max_position_embeddings': 32, " FACTORS "}", "phi3.rope.scaling.original_context_length",
         "u32 32"},
        {"{" PHI3 ", 'original_max_position_embeddings': 32, " FACTORS "}", "phi3.rope.scaling.attn_factor",
         "f32 1.183216"},
        {"{" PHI3 ", 'partial_rotary_factor': 0.75, 'head_dim': 8}", "phi3.rope.dimension_count", "u32 6"},
        {"{" GEMMA ", 'rope_scaling': {'rope_type': 'linear', 'factor': 8}}", "gemma3.rope.scaling.factor", "f32 8"},
        /* newer folders keep the base with the scaling */
        {"{'rope_parameters': {'rope_theta': 70000, 'rope_type': 'default'}}", "llama.rope.freq_base", "f32 70000"},
        {"{" GEMMA ", 'rope_parameters': {'full_attention': {'rope_theta': 70000, 'rope_type': 'linear', 'factor': 2}, "
         "'sliding_attention': {'rope_theta': 5000, 'rope_type': 'default'}}}", "gemma3.rope.freq_base_swa", "f32 5000"},
        {"{" GEMMA ", 'rope_parameters': {'full_attention': {'rope_theta': 70000, 'rope_type': 'linear', 'factor': 2}, "
         "'sliding_attention': {'rope_theta': 5000, 'rope_type': 'default'}}}", "gemma3.rope.freq_base", "f32 70000"},
    };
    (void)state;
    CHECK(rows);
}

static void what_is_not_run_is_refused_by_name(void **state) {
    static const row rows[] = {
        {"{'hidden_act': 'relu'}", NULL, "key hidden_act is \"relu\"; this program computes \"silu\""},
        {"{" GEMMA ", 'hidden_activation': 'gelu'}", NULL, "key hidden_activation is \"gelu\""},
        {"{'num_local_experts': 8}", NULL, "key num_local_experts is there: mixtures of experts"},
        {"{'quantization_config': {'quant_method': 'gptq'}}", NULL, "names method \"gptq\""},
        {"{'rope_scaling': {'type': 'dynamic', 'factor': 2}}", NULL,
         "key rope_scaling.rope_type is \"dynamic\", which this program does not run for a llama model"},
        {"{" QWEN2 ", 'rope_scaling': {'type': 'llama3', 'factor': 2}}", NULL, "is \"llama3\""},
        {"{'partial_rotary_factor': 0.5}", NULL, "key partial_rotary_factor is 0.5"},
        {"{'rope_scaling': {'type': 'yarn', 'factor': 2, 'mscale': 1}}", NULL, "key rope_scaling.mscale"},
    };
    (void)state;
    CHECK(rows);
}

static void impossible_values_are_refused_with_key_and_value(void **state) {
    static const row rows[] = {
        {"{'hidden_size': null}", NULL, "config.json: key hidden_size is missing"},
        {"{'hidden_size': 'wide'}", NULL, "key hidden_size is \"wide\", must be an integer from 1 to"},
        {"{'hidden_size': -1}", NULL, "key hidden_size is -1, must be"},
        {"{'hidden_size': 4294967296}", NULL, "key hidden_size is 4294967296, must be"},
        {"{'num_hidden_layers': 0}", NULL, "key num_hidden_layers is 0"},
        {"{'num_hidden_layers': 1000000}", NULL, "key num_hidden_layers is 1000000"},
        {"{'rms_norm_eps': null}", NULL, "key rms_norm_eps is missing"},
        {"{'rms_norm_eps': 0}", NULL, "key rms_norm_eps is 0"},
        {"{'rope_theta': 0}", NULL, "key rope_theta is 0"},
        {"{'rope_theta': [1]}", NULL, "key rope_theta is [1], must be a number"},
        {"{'num_attention_heads': 5}", NULL, "which does not divide hidden_size 32"},
        {"{'vocab_size': 17}", NULL, "has 16 rows of 32"},
        {"{'hidden_size': 64}", NULL, "has 16 rows of 32"},
        {"{'tie_word_embeddings': false}", NULL, "key tie_word_embeddings is false, but the weights hold no lm_head.weight"},
        {"{'tie_word_embeddings': 1}", NULL, "key tie_word_embeddings is 1, must be true or false"},
        {"{'text_config': 3}", NULL, "key text_config is 3, must be an object"},
        {"{'rope_scaling': 'linear'}", NULL, "key rope_scaling is \"linear\", must be an object"},
        {"{'rope_scaling': {'type': 'linear'}}", NULL, "key rope_scaling.factor is missing"},
        {"{" PHI3 ", 'rope_scaling': {'type': 'su', 'short_factor': [1], 'long_factor': [1]}}", NULL,
         "key rope_scaling.short_factor has 1 elements; a head turns 4 pairs"},
        {"{" PHI3 ", 'rope_scaling': {'type': 'su', 'short_factor': [1, 1, 0, 1]}}", NULL,
         "short_factor has element 2 that is no number above 0"},
        {"{'rope_scaling': {'type': 'llama3', 'low_freq_factor': 4, 'high_freq_factor': 4}}", NULL,
         "high_freq_factor is 4, must be above low_freq_factor 4"},
        {"{'head_dim': 7}", NULL, "key head_dim gives 7 dimensions to turn"},
        {"{'num_key_value_heads': 3}", NULL, "config.json: key num_key_value_heads is 3, which does not divide num_attention_heads 4"},
        {"{'num_key_value_heads': 8}", NULL, "key num_key_value_heads is 8, which does not divide"},
    };
    (void)state;
    CHECK(rows);
}

#define TABLE "model.embed_tokens.weight"
#define Q0 "model.layers.0.self_attn.q_proj.weight"
#define K1 "model.layers.1.self_attn.k_proj.weight"

/* Each: a config, one tensor of attention in the weights, and the message; null: taken. */
static void heads_are_held_against_the_rows_of_the_weights(void **state) {
    static const struct {
        const char *changes;
        fixture_tensor tensor;
        const char *wanted;
    } rows[] = {
        {NULL, {Q0, 32, 32}, NULL},
        {NULL, {K1, 16, 32}, NULL},
        {NULL, {"model.layers.1.self_attn.o_proj.weight", 32, 32}, NULL},
        {"{'head_dim': 16}", {Q0, 64, 32}, NULL},
        {NULL, {Q0, 64, 32}, "config.json: key num_attention_heads does not fit the weights: with num_attention_heads 4, "
         "num_key_value_heads 2 and head_dim 8 tensor " Q0 " must have 32 rows, and has 64"},
        {"{'head_dim': 16}", {Q0, 32, 32}, "head_dim 16 tensor " Q0 " must have 64 rows, and has 32"},
        {NULL, {K1, 32, 32}, "key num_key_value_heads does not fit the weights"},
        {"{'num_key_value_heads': 4}", {K1, 16, 32}, "tensor " K1 " must have 32 rows, and has 16"},
        {"{'num_key_value_heads': null}", {K1, 16, 32}, "num_key_value_heads 4 and head_dim 8"},
        {NULL, {"model.layers.0.self_attn.v_proj.weight", 8, 32}, "self_attn.v_proj.weight must have 16 rows, and has 8"},
        {NULL, {"model.layers.0.self_attn.o_proj.weight", 32, 64}, "self_attn.o_proj.weight must have 32 columns, and has 64"},
        {"{" PHI3 "}", {"model.layers.0.self_attn.qkv_proj.weight", 64, 32}, NULL},
        {"{" PHI3 "}", {"model.layers.0.self_attn.qkv_proj.weight", 96, 32}, "qkv_proj.weight must have 64 rows, and has 96"},
        {"{" QWEN3 ", 'head_dim': 4, 'num_attention_heads': 8, 'num_key_value_heads': 4}",
         {"model.layers.0.self_attn.q_norm.weight", 8, 0}, "key head_dim does not fit the weights"},
        {"{" GEMMA ", 'num_key_value_heads': 2}", {"model.layers.0.self_attn.k_norm.weight", 8, 0}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[FIXTURE_TEXT_SIZE];
        hf_fixture f;
        fixture_begin(&f);
        fixture_change(f.config, rows[i].changes);
        fixture_put_tensors(&f, (const fixture_tensor[]){{TABLE, 16, 32}, rows[i].tensor}, 2);
        fixture_translate(&f, "general.type", text);
        if (strstr(text, rows[i].wanted == NULL ? "str model" : rows[i].wanted) == NULL) {
            fail_msg("%s, %s: %s", rows[i].changes, rows[i].tensor.name, text);
        }
        fixture_end(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_a_llama_are_those_of_the_config),
        cmocka_unit_test(the_class_decides_the_architecture_and_the_type_where_there_is_no_class),
        cmocka_unit_test(windows_are_told_where_the_model_has_them),
        cmocka_unit_test(gemmas_own_facts_and_presumed_sizes_are_told),
        cmocka_unit_test(rope_scalings_become_keys_and_factors),
        cmocka_unit_test(what_is_not_run_is_refused_by_name),
        cmocka_unit_test(impossible_values_are_refused_with_key_and_value),
        cmocka_unit_test(heads_are_held_against_the_rows_of_the_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
