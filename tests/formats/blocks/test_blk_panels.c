/* test_blk_panels.c — panels hold every bit of the standard blocks and no other. */
#include <quoin/panels.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "blocks/blk_pack.h"

/* A matrix of random bits in both arrangements. */
typedef struct matrix {
    blk_panels p;
    blk_type type;
    uint64_t bytes;
    uint8_t *standard, *whole;
} matrix;

static uint32_t random_state;

static uint8_t random_byte(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (uint8_t)(random_state >> 24);
}

/* Ternary bytes are five digits; those behind the last element are 0. */
static void make_ternary(matrix *m) {
    static const uint8_t power[5] = {1, 3, 9, 27, 81};
    const float scale = 0.75f;
    const uint64_t count = (uint64_t)m->p.n_rows * m->p.n_cols;
    memset(m->standard, 0, (size_t)m->bytes);
    memcpy(m->standard, &scale, sizeof scale);
    for (uint64_t i = 0; i < count; i++) {
        m->standard[4 + i / 5] = (uint8_t)(m->standard[4 + i / 5] + random_byte() % 3 * power[i % 5]);
    }
}

static void pack(matrix *m) {
    memset(m->whole, 0, (size_t)blk_panels_head(&m->p));
    memcpy(m->whole, m->standard, blk_panels_head(&m->p) != 0 ? sizeof(float) : 0);
    blk_panels_pack(&m->p, m->whole + blk_panels_head(&m->p), 0, m->p.n_panels, m->standard, 0);
    blk_panels_attach(&m->p, m->whole);
}

static matrix make(uint32_t kind, uint64_t n_rows, uint64_t n_cols) {
    matrix m = {.type = blk_panel_kinds[kind].type};
    const uint64_t dims[2] = {n_cols, n_rows};
    assert_true(blk_panels_init(&m.p, kind, n_rows, n_cols));
    assert_int_equal(blk_tensor_bytes(m.type, 2, dims, &m.bytes), FMT_OK);
    m.standard = malloc((size_t)m.bytes);
    m.whole = malloc((size_t)blk_panels_bytes(&m.p));
    memset(m.whole, 0xEE, (size_t)blk_panels_bytes(&m.p)); /* what packing leaves is not zero by chance */
    random_state = kind * 1000 + (uint32_t)n_rows;
    for (uint64_t i = 0; i < m.bytes; i++) {
        m.standard[i] = random_byte();
    }
    if (m.type == BLK_TERNARY) {
        make_ternary(&m);
    }
    pack(&m);
    return m;
}

static void free_matrix(matrix *m) {
    free(m->standard);
    free(m->whole);
}

/* Row lengths of every type's block, and ternary ones of no block; rows that fill no panel. */
static uint64_t columns_of(uint32_t kind, uint32_t i) {
    const uint32_t block = blk_get_info(blk_panel_kinds[kind].type)->block_elems;
    return block == 5 ? (const uint64_t[]){7, 64, 100}[i] : block * (uint64_t)(i + 1);
}

static const uint64_t row_counts[3] = {5, 16, 37};

static void the_way_back_gives_the_same_bytes(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        for (uint32_t i = 0; i < 3; i++) {
            matrix m = make(kind, row_counts[i], columns_of(kind, i));
            uint8_t *back = malloc((size_t)m.bytes);
            blk_panels_unpack(&m.p, 0, m.p.n_panels, back);
            assert_memory_equal(back, m.standard, (size_t)m.bytes);
            free(back);
            free_matrix(&m);
        }
    }
}

static void every_path_packs_the_same_bytes(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        for (uint32_t i = 0; i < 9; i++) {
            matrix m = make(kind, row_counts[i / 3], columns_of(kind, i % 3));
            const uint64_t bytes = m.p.n_panels * m.p.panel_bytes;
            uint8_t *first = malloc((size_t)bytes), *other = malloc((size_t)bytes);
            blk_pack_by(&blk_pack_paths[0], &m.p, first, 0, m.p.n_panels, m.standard, 0);
            for (const blk_pack_path *path = blk_pack_paths; path->name != NULL; path++) {
                memset(other, 0xEE, (size_t)bytes);
                if (path->is_usable()) {
                    blk_pack_by(path, &m.p, other, 0, m.p.n_panels, m.standard, 0);
                    assert_memory_equal(first, other, (size_t)bytes);
                }
            }
            free(first);
            free(other);
            free_matrix(&m);
        }
    }
}

static void panels_are_made_one_by_one_as_all_at_once(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        matrix m = make(kind, 37, columns_of(kind, 1));
        const uint64_t bytes = m.p.n_panels * m.p.panel_bytes;
        uint8_t *again = malloc((size_t)bytes);
        for (uint32_t i = m.p.n_panels; i-- > 0;) {
            blk_panels_pack(&m.p, again, i, i + 1, m.standard, 0);
        }
        assert_memory_equal(again, m.p.data, (size_t)bytes);
        free(again);
        free_matrix(&m);
    }
}

static void rows_of_a_fused_tensor_begin_at_any_row(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        matrix m = make(kind, 37, columns_of(kind, 1));
        blk_panels part;
        assert_true(blk_panels_init(&part, kind, 20, m.p.n_cols));
        uint8_t *panels = malloc((size_t)(part.n_panels * part.panel_bytes));
        float *wanted = malloc(sizeof *wanted * m.p.n_cols), *got = malloc(sizeof *got * m.p.n_cols);
        blk_panels_pack(&part, panels, 0, part.n_panels, m.standard, 3ull * m.p.n_cols);
        part.data = panels;
        part.scale = m.p.scale;
        for (uint32_t row = 0; row < 20; row++) {
            blk_panels_decode_row(&m.p, row + 3, wanted);
            blk_panels_decode_row(&part, row, got);
            assert_memory_equal(got, wanted, sizeof *got * m.p.n_cols);
        }
        free(panels);
        free(wanted);
        free(got);
        free_matrix(&m);
    }
}

static void rows_decode_as_their_standard_blocks_do(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        matrix m = make(kind, 37, columns_of(kind, 2));
        const size_t n = m.p.n_cols;
        float *wanted = malloc(n * sizeof *wanted), *got = malloc(n * sizeof *got);
        for (uint32_t row = 0; row < m.p.n_rows; row++) {
            assert_int_equal(blk_decode(m.type, m.standard, (uint64_t)row * n, n, wanted), FMT_OK);
            blk_panels_decode_row(&m.p, row, got);
            for (size_t k = 0; k < n; k++) {
                assert_true(memcmp(&got[k], &wanted[k], sizeof *got) == 0 || (got[k] != got[k] && wanted[k] != wanted[k]));
            }
        }
        free(wanted);
        free(got);
        free_matrix(&m);
    }
}

/* Each bit of a panel either is one of the standard blocks' or may not be set. */
static void every_flipped_bit_changes_the_blocks_or_is_a_stray(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < BLK_N_PANEL_TYPES; kind++) {
        matrix m = make(kind, 5, columns_of(kind, 0));
        uint8_t *back = malloc((size_t)m.bytes);
        uint64_t at = 0;
        assert_false(blk_panels_find_stray(&m.p, 0, &at));
        uint8_t *panel = m.whole + blk_panels_head(&m.p);
        for (uint64_t i = 0; i < m.p.panel_bytes; i++) {
            for (unsigned bit = 0; bit < 8; bit++) {
                panel[i] ^= (uint8_t)(1u << bit);
                if (blk_panels_find_stray(&m.p, 0, &at)) {
                    assert_int_equal(at, i);
                } else {
                    blk_panels_unpack(&m.p, 0, 1, back);
                    assert_int_not_equal(memcmp(back, m.standard, (size_t)m.bytes), 0);
                }
                panel[i] ^= (uint8_t)(1u << bit);
            }
        }
        free(back);
        free_matrix(&m);
    }
}

static void a_scale_that_is_not_finite_is_found_with_its_element(void **state) {
    (void)state;
    matrix m = make(BLK_PANEL_Q4_1, 37, 64);
    uint64_t element = 0;
    for (uint64_t i = 0; i < m.bytes; i += 20) {
        m.standard[i + 1] = m.standard[i + 3] = 0x3c;
    }
    pack(&m);
    for (uint32_t i = 0; i < m.p.n_panels; i++) {
        assert_false(blk_panels_find_nonfinite(&m.p, i, &element));
    }
    m.standard[20 * (2 * 20 + 1) + 3] = 0xfc; /* the minimum of row 20, block 1 */
    pack(&m);
    assert_true(blk_panels_find_nonfinite(&m.p, 1, &element));
    assert_int_equal(element, 20 * 64 + 32);
    free_matrix(&m);
}

static void shapes_without_panels_are_refused(void **state) {
    blk_panels p;
    (void)state;
    assert_false(blk_panels_init(&p, BLK_PANEL_Q4_0, 4, 48));
    assert_false(blk_panels_init(&p, BLK_PANEL_Q6_K, 4, 128));
    assert_false(blk_panels_init(&p, BLK_PANEL_Q8_0, 0, 32));
    assert_false(blk_panels_init(&p, BLK_PANEL_Q8_0, UINT64_C(1) << 31, 32));
    assert_false(blk_panels_init(&p, BLK_PANEL_Q8_0, 1, UINT64_C(1) << 28)); /* a panel beyond 2^32 bytes */
    assert_true(blk_panels_init(&p, BLK_PANEL_TERNARY, 4, 3));
    assert_int_equal(blk_panels_bytes(&p), 64 + 128);
}

static void dtypes_of_panels_are_told_from_others(void **state) {
    (void)state;
    assert_int_equal(blk_panel_of_dtype(4096 + 1158), BLK_PANEL_TERNARY);
    assert_int_equal(blk_panel_of_dtype(4096 + 1), BLK_NO_PANELS);
    assert_int_equal(blk_panel_of_dtype(2), BLK_NO_PANELS);
    assert_int_equal(blk_panel_find(BLK_Q6_K), BLK_PANEL_Q6_K);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_way_back_gives_the_same_bytes),
        cmocka_unit_test(every_path_packs_the_same_bytes),
        cmocka_unit_test(panels_are_made_one_by_one_as_all_at_once),
        cmocka_unit_test(rows_of_a_fused_tensor_begin_at_any_row),
        cmocka_unit_test(rows_decode_as_their_standard_blocks_do),
        cmocka_unit_test(every_flipped_bit_changes_the_blocks_or_is_a_stray),
        cmocka_unit_test(a_scale_that_is_not_finite_is_found_with_its_element),
        cmocka_unit_test(shapes_without_panels_are_refused),
        cmocka_unit_test(dtypes_of_panels_are_told_from_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
