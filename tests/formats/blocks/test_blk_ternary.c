/* test_blk_ternary.c — the ternary blobs of P64 section 20, V3, there and back. */
#include <quoin/blocks.h>

#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
    uint32_t n;
    float weights[7];
    float scale;
    int trits[7];
    uint8_t blob[6];
} vectors[] = {
    {5, {2.0f, -2.0f, 0.1f, -0.1f, 0.0f}, 0.8399999737739563f, {1, -1, 0, 0, 0}, {0x3d, 0x0a, 0x57, 0x3f, 0x77}},
    {7, {2.0f, -2.0f, 0.1f, -0.1f, 0.0f, 1.5f, -1.5f}, 1.0285714864730835f, {1, -1, 0, 0, 0, 1, -1},
     {0x3b, 0xa8, 0x83, 0x3f, 0x77, 0x02}},
    {2, {1.0f, 3.0f}, 2.0f, {1, 1}, {0x00, 0x00, 0x00, 0x40, 0x08}},
    {2, {-1.0f, 3.0f}, 2.0f, {-1, 1}, {0x00, 0x00, 0x00, 0x40, 0x06}},
    {6, {0}, 0.0f, {0}, {0x00, 0x00, 0x00, 0x00, 0x79, 0x01}},
};
#define N_VECTORS (sizeof vectors / sizeof vectors[0])

static void weights_encode_to_the_vectors_blobs(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        uint8_t blob[7];
        memset(blob, 0xA5, sizeof blob);
        const size_t size = 4 + (vectors[i].n + 4) / 5;
        assert_int_equal(blk_encode(BLK_TERNARY, vectors[i].weights, vectors[i].n, blob, NULL), FMT_OK);
        assert_memory_equal(blob, vectors[i].blob, size);
        assert_int_equal(blob[size], 0xA5);
    }
}

static void blobs_decode_from_any_first_element(void **state) {
    (void)state;
    for (size_t i = 0; i < N_VECTORS; i++) {
        for (uint32_t first = 0; first < vectors[i].n; first++) {
            float values[7];
            assert_int_equal(blk_decode(BLK_TERNARY, vectors[i].blob, first, vectors[i].n - first, values), FMT_OK);
            for (uint32_t k = first; k < vectors[i].n; k++) {
                assert_true(values[k - first] == vectors[i].scale * (float)vectors[i].trits[k]);
            }
        }
    }
}

static void empty_tensor_is_a_zero_scale_alone(void **state) {
    (void)state;
    uint8_t blob[5] = {1, 2, 3, 4, 5};
    const float none[1] = {0};
    assert_int_equal(blk_encode(BLK_TERNARY, none, 0, blob, NULL), FMT_OK);
    assert_memory_equal(blob, ((const uint8_t[]){0, 0, 0, 0, 5}), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_encode_to_the_vectors_blobs),
        cmocka_unit_test(blobs_decode_from_any_first_element),
        cmocka_unit_test(empty_tensor_is_a_zero_scale_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
