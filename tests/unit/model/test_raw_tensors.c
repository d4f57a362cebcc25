/* test_raw_tensors.c — Hugging Face's names of tensors as GGUF's, and which names must not be passed over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/raw_tensors.h"

static void check_name(const char *name, bool has_post_norms, const char *wanted) {
    char got[RAW_NAME_SIZE] = "";
    const bool is_found = raw_name_to_gguf((fmt_str){name, strlen(name)}, has_post_norms, got);
    if (is_found != (wanted != NULL) || (wanted != NULL && strcmp(got, wanted) != 0)) {
        fail_msg("%s: \"%s\", wanted \"%s\"", name, is_found ? got : "none", wanted != NULL ? wanted : "none");
    }
}

static void names_of_layers_and_of_the_model_are_those_of_gguf(void **state) {
    static const struct {
        const char *name, *gguf;
    } rows[] = {
        {"model.embed_tokens.weight", "token_embd.weight"},
        {"model.norm.weight", "output_norm.weight"},
        {"lm_head.weight", "output.weight"},
        {"lm_head.bias", "output.bias"},
        {"model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight"},
        {"model.layers.31.self_attn.q_proj.weight", "blk.31.attn_q.weight"},
        {"model.layers.31.self_attn.q_proj.bias", "blk.31.attn_q.bias"},
        {"model.layers.3.self_attn.k_proj.bias", "blk.3.attn_k.bias"},
        {"model.layers.3.self_attn.v_proj.weight", "blk.3.attn_v.weight"},
        {"model.layers.3.self_attn.o_proj.weight", "blk.3.attn_output.weight"},
        {"model.layers.3.self_attn.q_norm.weight", "blk.3.attn_q_norm.weight"},
        {"model.layers.3.self_attn.k_norm.weight", "blk.3.attn_k_norm.weight"},
        {"model.layers.3.self_attn.qkv_proj.weight", "blk.3.attn_qkv.weight"},
        {"model.layers.3.mlp.gate_proj.weight", "blk.3.ffn_gate.weight"},
        {"model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
        {"model.layers.3.mlp.gate_up_proj.weight", "blk.3.ffn_up.weight"},
        {"model.layers.3.mlp.down_proj.weight", "blk.3.ffn_down.weight"},
        {"language_model.model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
        {"language_model.lm_head.weight", "output.weight"},
        {"model.language_model.layers.3.mlp.up_proj.weight", "blk.3.ffn_up.weight"},
        {"model.language_model.norm.weight", "output_norm.weight"},
        {"blk.3.ffn_up.weight", "blk.3.ffn_up.weight"},
        {"norm.weight", NULL},
        {"model.lm_head.weight", NULL},
        {"model.layers.03.mlp.up_proj.weight", NULL},
        {"model.layers.123456.mlp.up_proj.weight", NULL},
        {"model.layers.3.mlp.up_proj.weights", NULL},
        {"model.layers.3.mlp.up_proj", NULL},
        {"model.layers.3", NULL},
        {"model.vision_tower.layers.3.mlp.up_proj.weight", NULL},
        {"", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check_name(rows[i].name, false, rows[i].gguf);
    }
}

static void the_norm_behind_the_attention_depends_on_the_architecture(void **state) {
    (void)state;
    check_name("model.layers.1.post_attention_layernorm.weight", false, "blk.1.ffn_norm.weight");
    check_name("model.layers.1.post_attention_layernorm.weight", true, "blk.1.post_attention_norm.weight");
    check_name("model.layers.1.pre_feedforward_layernorm.weight", true, "blk.1.ffn_norm.weight");
    check_name("model.layers.1.post_feedforward_layernorm.weight", true, "blk.1.post_ffw_norm.weight");
}

static void names_of_the_text_model_must_not_be_passed_over(void **state) {
    static const struct {
        const char *name;
        bool is_of_decoder;
    } rows[] = {
        {"model.layers.0.mlp.experts.0.up_proj.weight", true},
        {"model.layers.0.self_attn.sinks", true},
        {"language_model.model.layers.0.something.weight", true},
        {"lm_head.weight_scale", true},
        {"model.norm.other", true},
        {"model.layers.0.self_attn.rotary_emb.inv_freq", false},
        {"vision_tower.layers.0.mlp.fc1.weight", false},
        {"model.vision_tower.encoder.weight", false},
        {"multi_modal_projector.weight", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (raw_is_of_decoder((fmt_str){rows[i].name, strlen(rows[i].name)}) != rows[i].is_of_decoder) {
            fail_msg("%s", rows[i].name);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_layers_and_of_the_model_are_those_of_gguf),
        cmocka_unit_test(the_norm_behind_the_attention_depends_on_the_architecture),
        cmocka_unit_test(names_of_the_text_model_must_not_be_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
