/* test_certify.c — what a certificate stands on: an honest backend passes, and a matrix that is read across, a wrong epsilon and wrong pairs do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/machine.h"
#include "certify/certify.h"
#include "certify/layer_oracle.h"
#include "certify/raw_container.h"
#include "convert/convert.h"
#include "corpus.h"
#include "tiny_model.h"

#define PATH_ROOM (CORPUS_PATH_SIZE + 32)

typedef struct fixture {
    char folder[CORPUS_PATH_SIZE], gguf[PATH_ROOM], p64[PATH_ROOM], q42[PATH_ROOM];
    qn_machine machine;
    team *workers;
    host_services services;
    registry backends;
    backend on;
    model *m;
} fixture;

static void convert_model(fixture *f, const char *arch) {
    model *m = NULL;
    const model_options container = {.container_only = true};
    convert_report report;
    fmt_diag diag;
    tiny_model_write(f->gguf, arch, NULL);
    assert_int_equal(model_open(f->gguf, &container, NULL, &m, NULL), QN_OK);
    const convert_request request = {.gguf = &m->gguf, .mapping = &m->file, .input_path = f->gguf, .output_path = f->p64,
                                     .companion_path = f->q42, .is_forced = true, .options = {.page_log2 = 12}};
    assert_int_equal(convert_gguf(&request, &report, &diag), FMT_OK);
    model_close(m);
}

static void open_model(fixture *f, const char *arch) {
    const model_options how = {0};
    convert_model(f, arch);
    model_close(f->m);
    f->m = NULL;
    assert_int_equal(model_open(f->p64, &how, NULL, &f->m, NULL), QN_OK);
}

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    backend_spec spec;
    log_set_level(QN_LOG_ERROR);
    test_make_folder(f->folder);
    snprintf(f->gguf, sizeof f->gguf, "%s/tiny.gguf", f->folder);
    snprintf(f->p64, sizeof f->p64, "%s/tiny.p64", f->folder);
    snprintf(f->q42, sizeof f->q42, "%s/tiny.q42", f->folder);
    assert_int_equal(machine_detect(&f->machine, NULL), QN_OK);
    assert_int_equal(team_create(1, &f->workers, NULL), QN_OK);
    host_services_init(&f->services, &f->machine, f->workers);
    registry_discover(NULL, &f->backends);
    assert_int_equal(backend_spec_parse("reference", 9, &spec, NULL), QN_OK);
    assert_int_equal(backend_open(&f->backends, &f->services, &spec, &f->on, NULL), QN_OK);
    open_model(f, "llama");
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    model_close(f->m);
    backend_close(&f->on);
    team_destroy(f->workers);
    unlink(f->gguf);
    unlink(f->p64);
    unlink(f->q42);
    rmdir(f->folder);
    free(f);
    return 0;
}

static certify_comparison compare_layer(fixture *f) {
    const certify_options how = {.numeric = QN_NUMERIC_F32ACC, .state_format = QN_FORMAT_F16, .seed = 3};
    certify_comparison out;
    error_context err = {0};
    if (certify_layer(f->m, &f->on, &how, &out, &err) != QN_OK) {
        fail_msg("%s", error_text(&err));
    }
    return out;
}

static void an_honest_backend_computes_the_layer_as_the_oracle_does(void **state) {
    static const char *const archs[] = {"llama", "qwen2"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
        open_model(f, archs[i]);
        const certify_comparison c = compare_layer(f);
        assert_true(c.was_made && c.has_passed);
        assert_true(c.max_rel < 1e-4);
        assert_int_equal(c.n_compared, 7 * TINY_VOCABULARY); /* six positions and a prompt */
        assert_int_equal(c.shape[2], TINY_KV_HEADS);
    }
}

static void a_model_that_the_oracle_does_not_know_is_not_compared(void **state) {
    fixture *f = *state;
    open_model(f, "gemma3");
    const certify_comparison c = compare_layer(f);
    assert_false(c.was_made);
    assert_true(strlen(c.reason) > 0);
}

/* The matrix as somebody would see it who takes its first dimension for the number of rows. */
static float *read_across(const model_tensor *t) {
    const uint64_t columns = t->dims[0], rows = t->dims[1];
    const float *from = (const float *)(const void *)t->data;
    float *to = malloc(t->bytes);
    assert_non_null(to);
    assert_int_equal(t->bytes, columns * rows * sizeof *to);
    for (uint64_t i = 0; i < columns * rows; i++) {
        to[i] = from[i % rows * columns + i / rows];
    }
    return to;
}

static void a_matrix_that_is_no_square_and_read_across_is_caught(void **state) {
    static const char *const names[] = {"blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.ffn_gate.weight", "blk.0.ffn_down.weight"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        model_tensor *t = (model_tensor *)(uintptr_t)model_find(f->m, names[i]);
        assert_non_null(t);
        assert_true(t->dims[0] != t->dims[1]);
        const uint8_t *right = t->data;
        float *across = read_across(t);
        t->data = (const uint8_t *)across;
        const certify_comparison c = compare_layer(f);
        assert_true(c.was_made);
        assert_false(c.has_passed);
        assert_non_null(strstr(c.reason, "the oracle says"));
        t->data = right;
        free(across);
    }
}

static void a_wrong_epsilon_or_pairing_is_caught(void **state) {
    fixture *f = *state;
    const layer_facts facts = {.epsilon = (double)f->m->hparams.rms_epsilon, .pairs_are_adjacent = true, .state_format = QN_FORMAT_F16,
                               .n_positions = 2};
    layer_facts wrong[2] = {facts, facts};
    double logits[3][TINY_VOCABULARY];
    layer_oracle *oracle;
    wrong[0].epsilon = 0.5;
    wrong[1].pairs_are_adjacent = false;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(layer_oracle_create(f->m->file.span, i == 0 ? &facts : &wrong[i - 1], &oracle, NULL), QN_OK);
        assert_int_equal(layer_oracle_step(oracle, 5, logits[i], NULL), QN_OK);
        assert_int_equal(layer_oracle_step(oracle, 9, logits[i], NULL), QN_OK);
        assert_int_equal(layer_oracle_step(oracle, 9, logits[i], NULL), QN_LIMIT);
        layer_oracle_destroy(oracle);
    }
    assert_memory_not_equal(logits[0], logits[1], sizeof logits[0]);
    assert_memory_not_equal(logits[0], logits[2], sizeof logits[0]);
}

static void a_backend_chooses_the_tokens_of_the_reference(void **state) {
    fixture *f = *state;
    const certify_options how = {.state_format = QN_FORMAT_F16, .n_tokens = 5, .seed = 3};
    certify_comparison c;
    assert_int_equal(certify_greedy(f->m, &f->on, &f->on, &how, &c, NULL), QN_OK);
    assert_true(c.has_passed && c.n_different == 0 && c.n_compared == 5 && c.max_abs == 0.0);
}

/* Its matrices are arranged in a way that the oracle, which shares no line with the reader, does not know. */
static void a_container_in_panels_is_not_compared_and_says_what_to_do(void **state) {
    fixture *f = *state;
    layer_oracle *oracle = NULL;
    error_context err = {.code = QN_OK};
    p64_tensor q;
    const layer_facts facts = {.epsilon = 1e-5, .n_positions = 4, .state_format = QN_FORMAT_F32};
    const fmt_span whole = f->m->file.span;
    uint8_t *copy = malloc((size_t)whole.size);
    assert_non_null(copy);
    memcpy(copy, whole.data, (size_t)whole.size);
    assert_true(p64_find_name(&f->m->p64, "blk.0.attn_q.weight", 19, &q));
    copy[f->m->p64.header.tensor_table_at + 64 * q.index + 7] = 0x10; /* its type becomes 4096 and more */
    assert_int_equal(layer_oracle_create((fmt_span){copy, whole.size}, &facts, &oracle, &err), QN_UNSUPPORTED);
    assert_non_null(strstr(error_text(&err), "--layout packed"));
    free(copy);
}

static void a_container_that_is_cut_has_no_tensors_for_the_oracle(void **state) {
    fixture *f = *state;
    raw_matrix found;
    const fmt_span whole = f->m->file.span;
    assert_true(raw_container_find(whole, "blk.0.attn_k.weight", &found));
    assert_int_equal(found.columns, TINY_WIDTH);
    assert_false(raw_container_find(whole, "blk.0.attn_k.weigh", &found));
    for (uint64_t size = 0; size < whole.size; size += 61) {
        raw_matrix part;
        if (raw_container_find((fmt_span){whole.data, size}, "blk.0.attn_k.weight", &part)) {
            assert_true(part.bytes + part.size <= whole.data + size);
        }
    }
}

#define WITH_MODEL(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_MODEL(an_honest_backend_computes_the_layer_as_the_oracle_does),
        WITH_MODEL(a_model_that_the_oracle_does_not_know_is_not_compared),
        WITH_MODEL(a_matrix_that_is_no_square_and_read_across_is_caught),
        WITH_MODEL(a_wrong_epsilon_or_pairing_is_caught),
        WITH_MODEL(a_backend_chooses_the_tokens_of_the_reference),
        WITH_MODEL(a_container_in_panels_is_not_compared_and_says_what_to_do),
        WITH_MODEL(a_container_that_is_cut_has_no_tensors_for_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
