/* tiny_model.c — the tensors of each architecture as a list, then the file in one pass. */
#include "tiny_model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <quoin/gguf.h>

#define MAX_TENSORS 64
#define NAME_SIZE 64
#define HEAD_DIM (TINY_WIDTH / TINY_HEADS)
#define KV_WIDTH (TINY_KV_HEADS * HEAD_DIM)

typedef struct tensor_list {
    gguf_tensor_spec specs[MAX_TENSORS];
    char names[MAX_TENSORS][NAME_SIZE];
    size_t count;
    const tiny_change *change;
} tensor_list;

static bool is_same(const char *a, const char *b) {
    return a != NULL && strcmp(a, b) == 0;
}

/* height 0: a vector. */
static void add(tensor_list *list, const char *name, uint64_t width, uint64_t height) {
    if (is_same(list->change->drop, name)) {
        return;
    }
    assert_true(list->count < MAX_TENSORS);
    const bool is_larger = is_same(list->change->reshape, name);
    gguf_tensor_spec *spec = &list->specs[list->count];
    snprintf(list->names[list->count], NAME_SIZE, "%s", name);
    *spec = (gguf_tensor_spec){.name = list->names[list->count], .type = BLK_F32, .rank = height == 0 ? 1 : 2,
                               .dims = {width + (height == 0 && is_larger ? 1 : 0),
                                        height == 0 ? 1 : height + (is_larger ? 1 : 0), 1, 1}};
    list->count++;
}

static void add_in_layer(tensor_list *list, int layer, const char *suffix, uint64_t width, uint64_t height) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "blk.%d.%s", layer, suffix);
    add(list, name, width, height);
}

static void add_layer(tensor_list *list, int layer, const char *arch) {
    const bool is_phi = is_same(arch, "phi3"), is_gemma = is_same(arch, "gemma3"), is_qwen2 = is_same(arch, "qwen2");
    add_in_layer(list, layer, "attn_norm.weight", TINY_WIDTH, 0);
    if (is_phi) {
        add_in_layer(list, layer, "attn_qkv.weight", TINY_WIDTH, TINY_WIDTH + 2 * KV_WIDTH);
        add_in_layer(list, layer, "ffn_up.weight", TINY_WIDTH, 2 * TINY_FF);
    } else {
        add_in_layer(list, layer, "attn_q.weight", TINY_WIDTH, TINY_WIDTH);
        add_in_layer(list, layer, "attn_k.weight", TINY_WIDTH, KV_WIDTH);
        add_in_layer(list, layer, "attn_v.weight", TINY_WIDTH, KV_WIDTH);
        add_in_layer(list, layer, "ffn_gate.weight", TINY_WIDTH, TINY_FF);
        add_in_layer(list, layer, "ffn_up.weight", TINY_WIDTH, TINY_FF);
    }
    if (is_qwen2) {
        add_in_layer(list, layer, "attn_q.bias", TINY_WIDTH, 0);
        add_in_layer(list, layer, "attn_k.bias", KV_WIDTH, 0);
        add_in_layer(list, layer, "attn_v.bias", KV_WIDTH, 0);
    }
    if (is_gemma || is_same(arch, "qwen3")) {
        add_in_layer(list, layer, "attn_q_norm.weight", HEAD_DIM, 0);
        add_in_layer(list, layer, "attn_k_norm.weight", HEAD_DIM, 0);
    }
    if (is_gemma) {
        add_in_layer(list, layer, "post_attention_norm.weight", TINY_WIDTH, 0);
        add_in_layer(list, layer, "post_ffw_norm.weight", TINY_WIDTH, 0);
    }
    add_in_layer(list, layer, "attn_output.weight", TINY_WIDTH, TINY_WIDTH);
    add_in_layer(list, layer, "ffn_norm.weight", TINY_WIDTH, 0);
    add_in_layer(list, layer, "ffn_down.weight", TINY_FF, TINY_WIDTH);
}

static void list_tensors(tensor_list *list, const char *arch) {
    add(list, "token_embd.weight", TINY_WIDTH, TINY_VOCABULARY);
    for (int layer = 0; layer < TINY_LAYERS; layer++) {
        add_layer(list, layer, arch);
    }
    add(list, "output_norm.weight", TINY_WIDTH, 0);
    if (list->change->add != NULL) {
        add(list, list->change->add, TINY_WIDTH, 0);
    }
}

static void write_uint(gguf_writer *w, const char *arch, const char *suffix, uint64_t value) {
    char key[96];
    snprintf(key, sizeof key, "%s.%s", arch, suffix);
    gguf_write_uint(w, key, GGUF_U32, value);
}

static void write_shape(gguf_writer *w, const char *arch, const tiny_change *change) {
    char key[96];
    gguf_write_string(w, "general.architecture", arch);
    write_uint(w, arch, "block_count", TINY_LAYERS);
    write_uint(w, arch, "context_length", TINY_CONTEXT);
    write_uint(w, arch, "embedding_length", TINY_WIDTH);
    write_uint(w, arch, "feed_forward_length", TINY_FF);
    write_uint(w, arch, "attention.head_count", TINY_HEADS);
    write_uint(w, arch, "attention.head_count_kv", TINY_KV_HEADS);
    write_uint(w, arch, "attention.sliding_window", change->window);
    snprintf(key, sizeof key, "%s.attention.layer_norm_rms_epsilon", arch);
    gguf_write_float(w, key, GGUF_F32, 1e-5);
}

/* A normal token, an unknown one, a control one, a byte: as GGUF numbers them. */
static int32_t kind_of(int id) {
    return id == 0 ? 2 : id < TINY_BYTE_0 ? 3 : 6;
}

static void write_tokenizer(gguf_writer *w) {
    static const char *const named[] = {"<unk>", "<s>", "</s>"};
    gguf_write_string(w, "tokenizer.ggml.model", "llama");
    gguf_write_array_begin(w, "tokenizer.ggml.tokens", GGUF_STRING, TINY_VOCABULARY);
    for (int id = 0; id < TINY_VOCABULARY; id++) {
        char text[16];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)(id - TINY_BYTE_0) & 0xFFu);
        const char *token = id < TINY_BYTE_0 ? named[id] : text;
        gguf_write_element_string(w, (fmt_str){token, strlen(token)});
    }
    gguf_write_array_begin(w, "tokenizer.ggml.scores", GGUF_F32, TINY_VOCABULARY);
    for (int id = 0; id < TINY_VOCABULARY; id++) {
        const float score = 0.0f;
        gguf_write_elements(w, &score, 1);
    }
    gguf_write_array_begin(w, "tokenizer.ggml.token_type", GGUF_I32, TINY_VOCABULARY);
    for (int id = 0; id < TINY_VOCABULARY; id++) {
        const int32_t kind = kind_of(id);
        gguf_write_elements(w, &kind, 1);
    }
    gguf_write_uint(w, "tokenizer.ggml.bos_token_id", GGUF_U32, 1);
    gguf_write_uint(w, "tokenizer.ggml.eos_token_id", GGUF_U32, TINY_EOS);
}

/* Norms are about 1, everything else is uniform around 0. */
static void write_tensor(gguf_writer *w, const gguf_tensor_spec *spec, const tiny_change *change, uint32_t *random) {
    const uint64_t n = spec->dims[0] * spec->dims[1];
    float *values = malloc((size_t)n * sizeof *values);
    assert_non_null(values);
    for (uint64_t i = 0; i < n; i++) {
        *random = *random * 1664525u + 1013904223u;
        const float noise = (float)(*random >> 8) * 0x1p-24f - 0.5f;
        values[i] = strstr(spec->name, "norm") != NULL ? 1.0f + 0.2f * noise : noise;
    }
    if (is_same(change->spoil, spec->name) || is_same(change->spoil_too, spec->name)) {
        values[n - 1] = NAN;
    }
    if (change->edit != NULL) {
        change->edit(change->edit_ctx, spec->name, spec->dims[0], spec->dims[1], values);
    }
    gguf_write_data(w, values, n * sizeof *values);
    free(values);
}

void tiny_model_write(const char *path, const char *arch, const tiny_change *change) {
    static const tiny_change nothing = {0};
    tensor_list list = {.change = change != NULL ? change : &nothing};
    gguf_writer w;
    uint32_t random = 12345;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    list_tensors(&list, arch);
    gguf_write_begin(&w, gguf_write_to_file, file, 32, list.change->without_tokenizer ? 9 : 15, list.specs, list.count);
    write_shape(&w, arch, list.change);
    if (!list.change->without_tokenizer) {
        write_tokenizer(&w);
    }
    for (size_t i = 0; i < list.count; i++) {
        write_tensor(&w, &list.specs[i], list.change, &random);
    }
    assert_int_equal(gguf_write_end(&w), FMT_OK);
    assert_int_equal(fclose(file), 0);
}
