/* test_hparams.c — reading and cross-checking hyper-parameters. The facts are a table; each row of a test breaks one
 * key. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/hparams.h"

#define MAX_LIST 4

typedef struct key_value {
    const char *key;
    double value; /* NaN with text */
    const char *text;
    uint32_t n_list; /* not 0: an array instead of a value */
    uint64_t list[MAX_LIST];
} key_value;

static const key_value sound[] = {{"llama.block_count", 3, NULL, 0, {0}},
                                  {"llama.embedding_length", 64, NULL, 0, {0}},
                                  {"llama.attention.head_count", 8, NULL, 0, {0}},
                                  {"llama.attention.head_count_kv", 4, NULL, 0, {0}},
                                  {"llama.feed_forward_length", 172, NULL, 0, {0}},
                                  {"llama.attention.layer_norm_rms_epsilon", 1e-5, NULL, 0, {0}},
                                  {NULL, 0, NULL, 0, {0}}};

typedef struct table {
    const key_value *base;
    key_value changed; /* replaces or adds; value INFINITY takes the key away */
} table;

static const key_value *find(const facts *f, const char *key) {
    const table *t = f->ctx;
    if (t->changed.key != NULL && strcmp(t->changed.key, key) == 0) {
        return isinf(t->changed.value) ? NULL : &t->changed;
    }
    for (const key_value *kv = t->base; kv->key != NULL; kv++) {
        if (strcmp(kv->key, key) == 0) {
            return kv;
        }
    }
    return NULL;
}

static fact_result get_uint(const facts *f, const char *key, uint64_t *out, error_context *err) {
    const key_value *kv = find(f, key);
    (void)err;
    *out = kv != NULL ? (uint64_t)kv->value : 0;
    return kv != NULL ? FACT_FOUND : FACT_ABSENT;
}

static fact_result get_float(const facts *f, const char *key, double *out, error_context *err) {
    const key_value *kv = find(f, key);
    (void)err;
    if (kv != NULL) {
        *out = kv->value;
    }
    return kv != NULL ? FACT_FOUND : FACT_ABSENT;
}

static fact_result get_string(const facts *f, const char *key, fmt_str *out, error_context *err) {
    const key_value *kv = find(f, key);
    (void)err;
    if (kv == NULL || kv->text == NULL) {
        return FACT_ABSENT;
    }
    *out = (fmt_str){kv->text, strlen(kv->text)};
    return FACT_FOUND;
}

static fact_result get_uint_at(const facts *f, const char *key, uint64_t index, uint64_t *out, error_context *err) {
    const key_value *kv = find(f, key);
    if (kv == NULL || kv->n_list == 0) {
        return FACT_ABSENT;
    }
    if (index >= kv->n_list) {
        FAIL(err, QN_BAD_FILE, "%s has no whole number at index %u", key, (unsigned)index);
        return FACT_WRONG;
    }
    *out = kv->list[index];
    return FACT_FOUND;
}

static qn_status read_with(key_value changed, hparams *out, error_context *err) {
    const table t = {sound, changed};
    const facts f = {.ctx = &t, .path = "model", .get_uint = get_uint, .get_float = get_float, .get_string = get_string,
                     .get_uint_at = get_uint_at};
    return hparams_read(&f, "llama", 512, out, err);
}

static void defaults_are_those_of_the_format(void **state) {
    (void)state;
    hparams h;
    assert_int_equal(read_with((key_value){.key = NULL}, &h, NULL), QN_OK);
    assert_int_equal(h.head_dim, 8);
    assert_int_equal(h.n_rot, 8);
    assert_true(h.rope_base == 10000.0f);
    assert_true(h.rope_factor == 1.0f);
    assert_true(fabsf(h.attn_scale - 1.0f / sqrtf(8.0f)) < 1e-7f);
    assert_int_equal(h.window, 0);
}

static void a_broken_key_is_named_with_its_value(void **state) {
    (void)state;
    static const struct {
        key_value changed;
        qn_status status;
        const char *words[2];
    } rows[] = {
        {{"llama.block_count", 0, NULL, 0, {0}}, QN_BAD_FILE, {"block_count", "0"}},
        {{"llama.block_count", 5000, NULL, 0, {0}}, QN_BAD_FILE, {"block_count", "5000"}},
        {{"llama.attention.head_count", 0, NULL, 0, {0}}, QN_BAD_FILE, {"head_count", "0"}},
        {{"llama.attention.head_count", 5, NULL, 0, {0}}, QN_BAD_FILE, {"head_count", "5"}},
        {{"llama.attention.head_count_kv", 3, NULL, 0, {0}}, QN_BAD_FILE, {"head_count_kv", "3"}},
        {{"llama.rope.freq_base", NAN, NULL, 0, {0}}, QN_BAD_FILE, {"rope.freq_base", "nan"}},
        {{"llama.rope.dimension_count", 10, NULL, 0, {0}}, QN_BAD_FILE, {"rope.dimension_count", "10"}},
        {{"llama.attention.key_length", 7, NULL, 0, {0}}, QN_BAD_FILE, {"head size is 7", "even"}},
        {{"llama.rope.dimension_count", 7, NULL, 0, {0}}, QN_BAD_FILE, {"rope.dimension_count", "7"}},
        {{"llama.attention.layer_norm_rms_epsilon", 0, NULL, 0, {0}}, QN_BAD_FILE, {"epsilon", "0"}},
        {{"llama.attention.layer_norm_rms_epsilon", INFINITY, NULL, 0, {0}}, QN_BAD_FILE, {"epsilon", "missing"}},
        {{"llama.rope.scaling.type", NAN, "spiral", 0, {0}}, QN_UNSUPPORTED, {"scaling.type", "spiral"}},
        {{"llama.expert_count", 8, NULL, 0, {0}}, QN_UNSUPPORTED, {"expert_count", "8"}},
        {{"llama.feed_forward_length", 0, NULL, 3, {172, 172, 96}},
         QN_UNSUPPORTED,
         {"feed_forward_length is 96", "layer 2"}},
        {{"llama.feed_forward_length", 0, NULL, 2, {172, 172}}, QN_BAD_FILE, {"feed_forward_length", "index 2"}},
        {{"llama.attention.head_count_kv", 0, NULL, 3, {0, 0, 0}}, QN_BAD_FILE, {"head_count_kv is 0", "each layer"}},
        {{"llama.attention.head_count_kv", 0, NULL, 3, {3, 3, 3}}, QN_BAD_FILE, {"head_count_kv is 3", "head_count 8"}},
        {{"llama.attention.sliding_window_pattern", 0, NULL, 2, {1, 0}},
         QN_BAD_FILE,
         {"sliding_window_pattern", "index 2"}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        error_context err = {0};
        hparams h;
        assert_int_equal(read_with(rows[i].changed, &h, &err), rows[i].status);
        for (size_t w = 0; w < 2; w++) {
            if (strstr(error_text(&err), rows[i].words[w]) == NULL) {
                fail_msg("row %zu: \"%s\" does not say \"%s\"", i, error_text(&err), rows[i].words[w]);
            }
        }
    }
}

static void a_list_of_equal_numbers_is_read_as_one(void **state) {
    (void)state;
    hparams h;
    const key_value heads = {.key = "llama.attention.head_count_kv", .n_list = 3, .list = {2, 2, 2}};
    assert_int_equal(read_with(heads, &h, NULL), QN_OK);
    assert_int_equal(h.n_head_kv, 2);
}

static void a_list_says_which_layers_have_the_window(void **state) {
    (void)state;
    hparams h;
    const key_value pattern = {.key = "llama.attention.sliding_window_pattern", .n_list = 3, .list = {0, 1, 0}};
    assert_int_equal(read_with(pattern, &h, NULL), QN_OK);
    assert_false(hparams_is_windowed(&h, 1)); /* no window at all: the list says nothing */
    h.window = 16;
    assert_false(hparams_is_windowed(&h, 0));
    assert_true(hparams_is_windowed(&h, 1));
    assert_false(hparams_is_windowed(&h, 2));
}

static void both_names_of_the_attention_factor_count(void **state) {
    (void)state;
    hparams h;
    assert_int_equal(read_with((key_value){.key = "llama.rope.scaling.attn_factor", .value = 1.5}, &h, NULL), QN_OK);
    assert_true(h.rope_attn_factor == 1.5f);
    assert_int_equal(read_with((key_value){.key = "llama.rope.scaling.yarn_attn_factor", .value = 1.25}, &h, NULL),
                     QN_OK);
    assert_true(h.rope_attn_factor == 1.25f);
}

static void windows_alternate_as_the_pattern_says(void **state) {
    (void)state;
    const hparams h = {.window = 512, .window_pattern = 6};
    for (uint32_t layer = 0; layer < 18; layer++) {
        assert_int_equal(hparams_is_windowed(&h, layer), layer % 6 != 5);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_format),
        cmocka_unit_test(a_broken_key_is_named_with_its_value),
        cmocka_unit_test(a_list_of_equal_numbers_is_read_as_one),
        cmocka_unit_test(a_list_says_which_layers_have_the_window),
        cmocka_unit_test(both_names_of_the_attention_factor_count),
        cmocka_unit_test(windows_alternate_as_the_pattern_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
