/* test_gguf_scale.c — large and hostile counts, and no allocation anywhere. The linker sends every allocation of the
 * library to the counters below (--wrap), so one call would be seen. Times are printed; the limits are far above what
 * any machine needs, and far below what a quadratic step would take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "gguf_builder.h"

static unsigned long n_allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size) {
    n_allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    n_allocations++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    n_allocations++;
    return __real_realloc(old, size);
}

typedef struct growing {
    uint8_t *bytes;
    uint64_t size, capacity;
} growing;

static bool take_bytes(void *ctx, const void *bytes, uint64_t size) {
    growing *out = ctx;
    if (size > out->capacity - out->size) {
        out->capacity = 2 * (out->size + size);
        out->bytes = realloc(out->bytes, out->capacity);
        assert_non_null(out->bytes);
    }
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
    return true;
}

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Opens with counted allocations; returns milliseconds for both steps. */
static double open_timed(const growing *bytes, gguf_file *out_file, void **out_scratch, fmt_status expected,
                         fmt_diag *diag) {
    const fmt_span span = {bytes->bytes, bytes->size};
    uint64_t need = 0;
    const double start = now_ms();
    n_allocations = 0;
    assert_int_equal(gguf_scratch_size(span, &need, diag), FMT_OK);
    assert_int_equal(n_allocations, 0);
    const double middle = now_ms();
    *out_scratch = malloc(need);
    n_allocations = 0;
    const double second_start = now_ms();
    const fmt_status status = gguf_open(span, *out_scratch, need, out_file, diag);
    const double end = now_ms();
    assert_int_equal(n_allocations, 0);
    assert_int_equal(status, expected);
    print_message("%llu bytes, scratch %llu: %.2f ms + %.2f ms\n", (unsigned long long)span.size,
                  (unsigned long long)need, middle - start, end - second_start);
    return middle - start + end - second_start;
}

#define N_TOKENS 262144

static void a_vocabulary_of_256k_tokens_opens_in_milliseconds(void **state) {
    (void)state;
    growing out = {NULL, 0, 0};
    gguf_writer writer;
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    char text[32];
    const uint8_t score[4] = {0, 0, 0x80, 0x3F};
    gguf_write_begin(&writer, take_bytes, &out, 32, 3, NULL, 0);
    gguf_write_array_begin(&writer, "tokenizer.ggml.tokens", GGUF_STRING, N_TOKENS);
    for (unsigned i = 0; i < N_TOKENS; i++) {
        const fmt_str token = {text, (uint64_t)snprintf(text, sizeof text, "token%u", i)};
        gguf_write_element_string(&writer, token);
    }
    gguf_write_array_begin(&writer, "tokenizer.ggml.scores", GGUF_F32, N_TOKENS);
    for (unsigned i = 0; i < N_TOKENS; i++) {
        gguf_write_elements(&writer, score, 1);
    }
    gguf_write_array_begin(&writer, "tokenizer.ggml.merges", GGUF_STRING, N_TOKENS);
    for (unsigned i = 0; i < N_TOKENS; i++) {
        const fmt_str merge = {text, (uint64_t)snprintf(text, sizeof text, "tok en%u", i)};
        gguf_write_element_string(&writer, merge);
    }
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    assert_true(open_timed(&out, &file, &scratch, FMT_OK, &diag) < 500);
    gguf_array tokens;
    fmt_str token;
    uint64_t n = 0;
    assert_int_equal(gguf_get_array(&file, "tokenizer.ggml.tokens", GGUF_STRINGS, &tokens, &diag), FMT_OK);
    for (gguf_iter iter = gguf_iterate(&tokens); gguf_next_string(&iter, &token);) {
        n++;
    }
    assert_int_equal(n, N_TOKENS);
    free(scratch);
    free(out.bytes);
}

#define N_KEYS 300000

/* Keys that all fall into one slot of a hash table of 2^16 slots, or nearly so: sorted input, the same beginning. */
static void a_third_of_a_million_keys_opens_in_n_log_n(void **state) {
    (void)state;
    growing out = {NULL, 0, 0};
    gguf_writer writer;
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    char key[64];
    gguf_write_begin(&writer, take_bytes, &out, 32, N_KEYS, NULL, 0);
    for (unsigned i = 0; i < N_KEYS; i++) {
        snprintf(key, sizeof key, "the.same.long.beginning.of.every.key.%u", i);
        gguf_write_uint(&writer, key, GGUF_U32, i);
    }
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    assert_true(open_timed(&out, &file, &scratch, FMT_OK, &diag) < 5000);
    for (unsigned i = 0; i < N_KEYS; i += 997) {
        uint64_t value = 0;
        snprintf(key, sizeof key, "the.same.long.beginning.of.every.key.%u", i);
        assert_int_equal(gguf_get_u64(&file, key, &value, NULL), FMT_OK);
        assert_int_equal(value, i);
    }
    free(scratch);
    free(out.bytes);
}

/* A tensor list of 100,000 in reverse order of the data; then the first name again at the end. */
static void many_tensors_in_reverse_order_are_checked_for_overlap_and_names(void **state) {
    (void)state;
    enum { N = 100000 };
    growing out = {NULL, 0, 0};
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    gguf_writer writer;
    gguf_tensor_spec *specs = calloc(N, sizeof *specs);
    char(*names)[16] = calloc(N, sizeof *names);
    assert_non_null(specs);
    assert_non_null(names);
    for (unsigned i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "t%u", i);
        const gguf_tensor_spec spec = {names[i], BLK_F32, 1, {8}};
        specs[i] = spec;
    }
    memcpy(names[N - 1], "t0", 3);
    gguf_write_begin(&writer, take_bytes, &out, 32, 0, specs, N);
    for (unsigned i = 0; i < N; i++) {
        gguf_write_data(&writer, "0123456789abcdef0123456789abcdef", 32);
    }
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    assert_true(open_timed(&out, &file, &scratch, FMT_BAD_FILE, &diag) < 5000);
    assert_string_equal(diag.rule, "tensor-duplicate");
    assert_int_equal(diag.index, N - 1);
    free(scratch);
    free(out.bytes);
    free(specs);
    free(names);
}

/* Two published strings of one FNV-1a-64 value: both must be found, and neither is a duplicate. */
static void names_of_one_hash_are_two_names(void **state) {
    (void)state;
    growing out = {NULL, 0, 0};
    gguf_writer writer;
    gguf_file file;
    fmt_diag diag;
    void *scratch = NULL;
    uint64_t value = 0;
    gguf_write_begin(&writer, take_bytes, &out, 32, 2, NULL, 0);
    gguf_write_uint(&writer, "8yn0iYCKYHlIj4-BwPqk", GGUF_U8, 1);
    gguf_write_uint(&writer, "GReLUrM4wMqfg9yzV3KQ", GGUF_U8, 2);
    assert_int_equal(gguf_write_end(&writer), FMT_OK);
    open_timed(&out, &file, &scratch, FMT_OK, &diag);
    assert_true(file.kvs[0].hash == file.kvs[1].hash);
    assert_int_equal(gguf_get_u64(&file, "8yn0iYCKYHlIj4-BwPqk", &value, NULL), FMT_OK);
    assert_int_equal(value, 1);
    assert_int_equal(gguf_get_u64(&file, "GReLUrM4wMqfg9yzV3KQ", &value, NULL), FMT_OK);
    assert_int_equal(value, 2);
    free(scratch);
    free(out.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_vocabulary_of_256k_tokens_opens_in_milliseconds),
        cmocka_unit_test(a_third_of_a_million_keys_opens_in_n_log_n),
        cmocka_unit_test(many_tensors_in_reverse_order_are_checked_for_overlap_and_names),
        cmocka_unit_test(names_of_one_hash_are_two_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
