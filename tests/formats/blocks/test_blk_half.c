/* test_blk_half.c — half and bfloat16: all 65,536 of each, and every boundary between two neighbours. */
#include <quoin/blocks.h>

#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static uint32_t to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float to_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The definition, by exponent and mantissa; for finite halves. */
static double define_half(uint16_t half) {
    const int exponent = half >> 10 & 31;
    const int mantissa = half & 0x3FF;
    const double magnitude = exponent == 0 ? ldexp(mantissa, -24) : ldexp(1024 + mantissa, exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

static void every_half_has_its_value_and_survives_the_round_trip(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t half = (uint16_t)i;
        const float value = blk_f16_to_f32(half);
        if ((half & 0x7C00) != 0x7C00) {
            assert_true((double)value == define_half(half));
            assert_int_equal(signbit(value) != 0, half >> 15);
            assert_int_equal(blk_f32_to_f16(value), half);
        } else if ((half & 0x3FF) == 0) {
            assert_true(isinf(value) && (value > 0) == (half == 0x7C00));
            assert_int_equal(blk_f32_to_f16(value), half);
        } else {
            assert_true(isnan(value));
            assert_int_equal(blk_f32_to_f16(value), half | 0x0200);
        }
    }
}

static void floats_between_two_halves_go_to_the_nearest_and_ties_to_the_even_one(void **state) {
    (void)state;
    for (uint16_t half = 0; half < 0x7C00; half++) {
        const uint16_t above = (uint16_t)(half + 1);
        const double upper = above == 0x7C00 ? 65536.0 : define_half(above);
        const float middle = (float)((define_half(half) + upper) / 2);
        const uint16_t even = (half & 1) == 0 ? half : above;
        assert_int_equal(blk_f32_to_f16(nextafterf(middle, 0.0f)), half);
        assert_int_equal(blk_f32_to_f16(middle), even);
        assert_int_equal(blk_f32_to_f16(nextafterf(middle, INFINITY)), above);
        assert_int_equal(blk_f32_to_f16(-middle), even | 0x8000);
    }
    assert_int_equal(blk_f32_to_f16(65520.0f), 0x7C00);
    assert_int_equal(blk_f32_to_f16(3e38f), 0x7C00);
    assert_int_equal(blk_f32_to_f16(1e-40f), 0);
}

static void every_bfloat_has_its_value_and_rounding_goes_to_the_nearest_even(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 0x10000; i++) {
        const uint16_t bf16 = (uint16_t)i;
        assert_true(to_bits(blk_bf16_to_f32(bf16)) == i << 16);
        if ((i & 0x7FFF) > 0x7F80) {
            assert_int_equal(blk_f32_to_bf16(to_float(i << 16)), bf16 | 0x0040);
            continue;
        }
        assert_int_equal(blk_f32_to_bf16(to_float(i << 16)), bf16);
        if ((i & 0x7FFF) < 0x7F80) {
            assert_int_equal(blk_f32_to_bf16(to_float(i << 16 | 0x7FFF)), bf16);
            assert_int_equal(blk_f32_to_bf16(to_float(i << 16 | 0x8000)), bf16 + (bf16 & 1));
            assert_int_equal(blk_f32_to_bf16(to_float(i << 16 | 0x8001)), bf16 + 1);
        }
    }
    /* A NaN whose upper bits alone would be infinity. */
    assert_int_equal(blk_f32_to_bf16(to_float(0x7F800001u)), 0x7FC0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_half_has_its_value_and_survives_the_round_trip),
        cmocka_unit_test(floats_between_two_halves_go_to_the_nearest_and_ties_to_the_even_one),
        cmocka_unit_test(every_bfloat_has_its_value_and_rounding_goes_to_the_nearest_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
