/* test_gpu_decoders.c — every decoder of decode.kernel gives the bits of blk_decode: random blocks, and all corners of the scales. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <quoin/blocks.h>
#include <quoin/glue.h>

#include "emulator.h"
#include "op_data.h"
#include "test_stack.h"

typedef unsigned int uint;
#include "kernel_params.h"

#define COLUMNS_LINEAR 77u
#define COLUMNS_BLOCKS 1024u
#define ROWS 9u

static uint32_t columns_of(qn_format format) {
    return qn_format_find(format)->block_elems == 1 || format == QN_FORMAT_TERNARY ? COLUMNS_LINEAR : COLUMNS_BLOCKS;
}

static uint32_t find_kernel(const char *prefix, qn_format format) {
    char name[64];
    snprintf(name, sizeof name, "%s_%s", prefix, qn_format_name(format));
    for (char *c = name; *c != '\0'; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    return emu_find(name);
}

/* Decodes ROWS rows, the last first, with the embed kernel; `first` elements of a TERNARY tensor stand before them. */
static void embed_rows(qn_format format, const void *bytes, uint64_t n_bytes, uint64_t first, uint32_t n, float *y) {
    const int is_ternary = format == QN_FORMAT_TERNARY;
    const uint64_t digits_at = is_ternary ? 4 : 0;
    uint32_t ids[ROWS], scale[1] = {0};
    for (uint32_t i = 0; i < ROWS; i++) {
        ids[i] = ROWS - 1 - i;
    }
    if (is_ternary) {
        memcpy(scale, bytes, 4);
    }
    /* A binding is words long. */
    char *words = calloc(1, n_bytes + 4);
    assert_non_null(words);
    memcpy(words, (const char *)bytes + digits_at, n_bytes - digits_at);
    const struct embed_params p = {.n_columns = n, .n_tokens = ROWS, .n_rows = ROWS, .first_element = (uint)first,
                                   .row_bytes = is_ternary ? 0 : (uint)qn_format_bytes(format, n)};
    const uint32_t kernel = find_kernel("embed", format);
    assert_int_not_equal(kernel, UINT32_MAX);
    const emu_launch launch = {.kernel = kernel, .grid = {n / 8 / emu_group(kernel) + 1, ROWS, 1}, .n_buffers = 4,
                               .buffers = {{words, (n_bytes - digits_at + 3) / 4 * 4}, {scale, 4}, {ids, sizeof ids},
                                           {y, (uint64_t)ROWS * n * sizeof *y}},
                               .params = &p, .n_params = sizeof p / 4};
    char text[400] = "";
    if (emu_run(&launch, text, sizeof text) != 0) {
        fail_msg("%s", text);
    }
    free(words);
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void compare_with_blk_decode(qn_format format, const void *bytes, uint64_t n_bytes, uint64_t first) {
    const uint32_t n = columns_of(format);
    float *want = malloc(ROWS * n * sizeof *want), *got = malloc(ROWS * n * sizeof *got);
    assert_non_null(want);
    assert_non_null(got);
    assert_int_equal(blk_decode(format, bytes, first, (uint64_t)ROWS * n, want), FMT_OK);
    embed_rows(format, bytes, n_bytes, first, n, got);
    for (uint32_t r = 0; r < ROWS; r++) {
        for (uint32_t i = 0; i < n; i++) {
            const float w = want[r * n + i], g = got[(ROWS - 1 - r) * n + i];
            if (bits_of(w) != bits_of(g) && !(isnan(w) && isnan(g))) {
                fail_msg("%s: row %u element %u: %a, should be %a", qn_format_name(format), r, i, (double)g, (double)w);
            }
        }
    }
    free(want);
    free(got);
}

static void every_decoder_gives_the_bits_of_blk_decode(void **state) {
    (void)state;
    cf_random random = {.state = 77};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const qn_format format = op_weight_formats[f];
        for (uint32_t turn = 0; turn < 12; turn++) {
            const uint64_t first = format == QN_FORMAT_TERNARY ? turn * 7 : 0;
            scratch memory = {NULL};
            op_weight weight = op_weight_make(test_context(), &memory, &random, format, DATA_REAL, first, (uint64_t)ROWS * columns_of(format));
            compare_with_blk_decode(format, weight.bytes, weight.n_bytes, first);
            scratch_free(&memory);
        }
    }
}

/* Random bytes everywhere: scales are denormal, huge, infinite and NaN as well. */
static void every_decoder_gives_the_bits_of_blk_decode_whatever_the_bytes_are(void **state) {
    (void)state;
    cf_random random = {.state = 78};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const qn_format format = op_weight_formats[f];
        const uint64_t n_bytes = qn_format_bytes(format, (uint64_t)ROWS * columns_of(format));
        uint8_t *bytes = malloc(n_bytes);
        assert_non_null(bytes);
        for (uint32_t turn = 0; turn < 40; turn++) {
            for (uint64_t i = 0; i < n_bytes; i++) {
                /* Digits in base 3 of a TERNARY byte are below 243. */
                bytes[i] = (uint8_t)(format == QN_FORMAT_TERNARY && i >= 4 ? cf_random_below(&random, 243) : cf_random_next(&random));
            }
            compare_with_blk_decode(format, bytes, n_bytes, 0);
        }
        free(bytes);
    }
}

/* Every value of each single byte of a block, which sweeps all scales and quants. */
static void every_decoder_gives_the_bits_of_blk_decode_for_each_value_of_each_byte(void **state) {
    (void)state;
    cf_random random = {.state = 79};
    for (uint32_t f = 0; f < op_n_weight_formats; f++) {
        const qn_format format = op_weight_formats[f];
        const uint32_t block = qn_format_find(format)->block_bytes;
        scratch memory = {NULL};
        op_weight weight = op_weight_make(test_context(), &memory, &random, format, DATA_REAL, 0, (uint64_t)ROWS * columns_of(format));
        uint8_t *bytes = weight.bytes;
        for (uint32_t at = 0; at < block && format != QN_FORMAT_TERNARY; at++) {
            /* Each block of the table gets another value, so that few launches see them all. */
            const uint32_t n_blocks = (uint32_t)(weight.n_bytes / block);
            for (uint32_t value = 0; value < 256; value += n_blocks) {
                for (uint32_t b = 0; b < n_blocks; b++) {
                    bytes[b * block + at] = (uint8_t)(value + b);
                }
                compare_with_blk_decode(format, bytes, weight.n_bytes, 0);
            }
        }
        scratch_free(&memory);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_decoder_gives_the_bits_of_blk_decode),
        cmocka_unit_test(every_decoder_gives_the_bits_of_blk_decode_whatever_the_bytes_are),
        cmocka_unit_test(every_decoder_gives_the_bits_of_blk_decode_for_each_value_of_each_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
