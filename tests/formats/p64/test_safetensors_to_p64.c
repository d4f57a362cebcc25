/* test_safetensors_to_p64.c — the raw profile: every vector made of Safetensors comes out byte for byte, whatever options
 * it has no use for, and the roles are those of the exact list of names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "convert/safetensors_to_p64.h"
#include "corpus.h"
#include "p64_fixture.h"

/* ---------------------------------------------------------------------------------------------------------- vectors */

static void convert_vector(const char *source, const char *output, const p64_write_options *options,
                           convert_report *out_report) {
    char relative[256], path[CORPUS_PATH_SIZE];
    hf_folder *folder = NULL;
    error_context err = {0};
    fmt_diag diag = {.text = ""};
    snprintf(relative, sizeof relative, "tests/vectors/p64/%s", source);
    source_require(relative, path);
    if (hf_folder_open(path, &folder, &err) < 0) {
        fail_msg("%s", error_text(&err));
    }
    const convert_request request = {
        .output_path = output, .is_forced = true, .is_checked = true, .options = *options};
    if (convert_safetensors(&request, folder, out_report, &diag) != FMT_OK) {
        fail_msg("%s: %s", diag.rule, diag.text);
    }
    hf_folder_close(folder);
}

static void check_vector(const json_t *item, p64_write_options options) {
    char folder[CORPUS_PATH_SIZE], output[CORPUS_PATH_SIZE + 16];
    size_t size = 0;
    fixture wanted = {0};
    convert_report report = {0};
    const json_int_t page = json_integer_value(json_object_get(item, "page_size"));
    while ((json_int_t)1 << options.page_log2 < page) {
        options.page_log2++;
    }
    test_make_folder(folder);
    snprintf(output, sizeof output, "%s/out.p64", folder);
    convert_vector(json_string_value(json_object_get(item, "source")), output, &options, &report);
    fixture_load(&wanted, json_string_value(json_object_get(item, "file")));
    uint8_t *bytes = test_read_file(output, &size);
    assert_int_equal(size, wanted.size);
    assert_memory_equal(bytes, wanted.bytes, size);
    assert_int_equal(report.parity.n_equal, report.n_tensors);
    assert_int_equal(report.metadata_crc,
                     strtoul(json_string_value(json_object_get(item, "metadata_crc32c")), NULL, 16));
    free(bytes);
    fixture_free(&wanted);
    test_remove_tree(folder);
}

static void check_all_vectors(p64_write_options options) {
    char path[CORPUS_PATH_SIZE];
    json_error_t error;
    size_t i, made = 0;
    json_t *item;
    source_require("tests/vectors/p64/manifest.json", path);
    json_t *manifest = json_load_file(path, 0, &error);
    assert_non_null(manifest);
    json_array_foreach(json_object_get(manifest, "files"), i, item) {
        const char *source = json_string_value(json_object_get(item, "source"));
        if (strstr(source, ".safetensors") != NULL &&
            strcmp(json_string_value(json_object_get(item, "profile")), "read only") != 0) {
            check_vector(item, options);
            made++;
        }
    }
    assert_int_equal(made, 4);
    json_decref(manifest);
}

static void every_vector_of_safetensors_is_made_byte_for_byte(void **state) {
    (void)state;
    check_all_vectors((p64_write_options){0});
}

static void extended_profile_and_plain_layout_change_nothing(void **state) {
    (void)state;
    check_all_vectors((p64_write_options){.is_extended = true});
    check_all_vectors((p64_write_options){.layout = P64_LAYOUT_PLAIN});
}

/* ------------------------------------------------------------------------------------------------------------ roles */

static void roles_are_given_to_the_exact_names_and_to_no_other(void **state) {
    static const struct {
        const char *name;
        p64_role role;
        uint32_t layer;
    } rows[] = {
        {"model.layers.0.self_attn.q_proj.weight", P64_ROLE_ATTN_Q, 0},
        {"model.layers.12.self_attn.k_proj.weight", P64_ROLE_ATTN_K, 12},
        {"model.layers.1.self_attn.v_proj.weight", P64_ROLE_ATTN_V, 1},
        {"model.layers.1.self_attn.o_proj.weight", P64_ROLE_ATTN_OUTPUT, 1},
        {"model.layers.1.mlp.gate_proj.weight", P64_ROLE_FFN_GATE, 1},
        {"model.layers.1.mlp.up_proj.weight", P64_ROLE_FFN_UP, 1},
        {"model.layers.1.mlp.down_proj.weight", P64_ROLE_FFN_DOWN, 1},
        {"model.layers.1.input_layernorm.weight", P64_ROLE_ATTN_NORM, 1},
        {"model.layers.1.post_attention_layernorm.weight", P64_ROLE_FFN_NORM, 1},
        {"model.layers.1.mlp.gate.weight", P64_ROLE_MOE_ROUTER, 1},
        {"model.layers.1.mlp.shared_expert.gate_proj.weight", P64_ROLE_MOE_SHARED_GATE, 1},
        {"model.layers.1.mlp.shared_expert.up_proj.weight", P64_ROLE_MOE_SHARED_UP, 1},
        {"model.layers.1.mlp.shared_expert.down_proj.weight", P64_ROLE_MOE_SHARED_DOWN, 1},
        {"model.embed_tokens.weight", P64_ROLE_TOKEN_EMBD, P64_NO_LAYER},
        {"lm_head.weight", P64_ROLE_OUTPUT, P64_NO_LAYER},
        {"model.norm.weight", P64_ROLE_OUTPUT_NORM, P64_NO_LAYER},
        {"language_model.lm_head.weight", P64_ROLE_OUTPUT, P64_NO_LAYER},
        {"language_model.model.layers.3.mlp.up_proj.weight", P64_ROLE_FFN_UP, 3},
        {"blk.2.attn_q.weight", P64_ROLE_ATTN_Q, 2},
        {"blk.2.attn_sub_norm.weight", P64_ROLE_ATTN_SUB_NORM, 2},
        {"blk.2.ffn_sub_norm.weight", P64_ROLE_FFN_SUB_NORM, 2},
        {"token_embd.weight", P64_ROLE_TOKEN_EMBD, P64_NO_LAYER},
        {"model.layers.0.self_attn.q_proj.bias", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers.0.self_attn.q_norm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers.0.mlp.experts.0.gate_proj.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers.00.input_layernorm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers..input_layernorm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers.99999999999.input_layernorm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"model.layers.4294967295.input_layernorm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"vision.model.layers.0.input_layernorm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"language_model.language_model.lm_head.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"language_model.blk.0.attn_sub_norm.weight", P64_ROLE_UNKNOWN, P64_NO_LAYER},
        {"", P64_ROLE_UNKNOWN, P64_NO_LAYER},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t layer = 77;
        const p64_role role = p64_role_of_raw_name(rows[i].name, strlen(rows[i].name), &layer);
        if (role != rows[i].role || layer != rows[i].layer) {
            fail_msg("%s: role %u, layer %u", rows[i].name, role, layer);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_vector_of_safetensors_is_made_byte_for_byte),
        cmocka_unit_test(extended_profile_and_plain_layout_change_nothing),
        cmocka_unit_test(roles_are_given_to_the_exact_names_and_to_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
