/* test_lora_vectors.c — the frozen adapters, made by another encoder: they are read, and this one makes the same bytes. */
#include "lora_builder.h"

#include <stdio.h>
#include <stdlib.h>

#include "corpus.h"

static built_lora b;
static uint8_t *bytes;

static int free_all(void **state) {
    (void)state;
    build_free();
    free(bytes);
    bytes = NULL;
    return 0;
}

static fmt_span read_vector(const char *name) {
    char relative[256], path[CORPUS_PATH_SIZE];
    size_t size = 0;
    snprintf(relative, sizeof relative, "tests/vectors/lora/%s", name);
    source_require(relative, path);
    bytes = test_read_file(path, &size);
    return (fmt_span){bytes, size};
}

/* The file is sound, and the same as what was built. */
static void assert_frozen(const char *name, lora_file *out_file) {
    fmt_diag diag = {.text = ""};
    const fmt_span wanted = read_vector(name);
    if (lora_open(wanted, out_file, &diag) != FMT_OK || lora_check_payload(out_file, &diag) != FMT_OK) {
        fail_msg("%s: %s", name, diag.text);
    }
    assert_int_equal(b.size, wanted.size);
    assert_memory_equal(b.bytes, wanted.data, wanted.size);
}

static void assert_entry(const lora_file *file, uint32_t i, const lora_pair *pair) {
    const lora_entry entry = lora_get_entry(file, i);
    assert_int_equal(entry.role, pair->role);
    assert_int_equal(entry.layer, pair->layer);
    assert_int_equal(entry.rank, pair->rank);
    assert_true(entry.alpha == pair->alpha);
    assert_int_equal(entry.n_in, pair->n_in);
    assert_int_equal(entry.n_out, pair->n_out);
    assert_int_equal(entry.type, pair->type);
    assert_memory_equal(file->span.data + entry.a_at, pair->a, entry.a_bytes);
    assert_memory_equal(file->span.data + entry.b_at, pair->b, entry.b_bytes);
    assert_true(lora_scale(&entry) == pair->alpha / (float)pair->rank);
}

static void version_1_goes_there_and_back(void **state) {
    (void)state;
    lora_file file;
    const lora_pair small = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 2, 3.0f, 3, 5, BLK_F32, 1);
    build_v1(&b, 7, &small);
    assert_frozen("v1-small.lora", &file);
    assert_int_equal(file.version, 1);
    assert_int_equal(file.adapter_id, 7);
    assert_int_equal(file.n_entries, 1);
    assert_entry(&file, 0, &small);
    free_all(NULL);
    const lora_pair square = build_pair(LORA_EMBEDDING, LORA_NO_LAYER, 4, 8.0f, 16, 16, BLK_F32, 2);
    build_v1(&b, 0, &square);
    assert_frozen("v1-square.lora", &file);
    assert_entry(&file, 0, &square);
}

static void one_entry_goes_there_and_back(void **state) {
    (void)state;
    lora_file file;
    const lora_pair one = build_pair(LORA_ATTN_Q, 0, 1, 1.0f, 1, 1, BLK_F32, 3);
    build_v2(&b, &one, 1);
    assert_frozen("v2-one.lora", &file);
    assert_entry(&file, 0, &one);
    free_all(NULL);
    const lora_pair halves = build_pair(LORA_FFN_DOWN, 3, 3, -0.5f, 5, 7, BLK_F16, 4);
    build_v2(&b, &halves, 1);
    assert_frozen("v2-halves.lora", &file);
    assert_entry(&file, 0, &halves);
}

static void every_role_goes_there_and_back(void **state) {
    (void)state;
    lora_file file;
    lora_pair pairs[16];
    const uint32_t n = build_all_pairs(pairs);
    build_v2(&b, pairs, n);
    assert_frozen("v2-all.lora", &file);
    assert_int_equal(file.version, 2);
    assert_int_equal(file.n_entries, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_entry(&file, i, &pairs[i]);
    }
}

static void every_rule_has_a_sentence(void **state) {
    (void)state;
    uint64_t n;
    const fmt_rule *rules = lora_rules(&n);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(strlen(rules[i].id) > 0 && strlen(rules[i].sentence) > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(version_1_goes_there_and_back, free_all),
        cmocka_unit_test_teardown(one_entry_goes_there_and_back, free_all),
        cmocka_unit_test_teardown(every_role_goes_there_and_back, free_all),
        cmocka_unit_test(every_rule_has_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
