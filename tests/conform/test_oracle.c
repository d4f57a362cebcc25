/* test_oracle.c — is the oracle right? It gives what golden_<op>.bin holds: numbers that numpy made in double precision
 * by other formulas (golden/make_golden.py), the elements of every format and the rounding of states among them. Its
 * copying ops, EMBED and SELECT_ROWS, have nothing to compute. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "corpus.h"
#include "oracle.h"
#include "oracle_formats.h"

#define MOST 4096

typedef struct golden {
    uint8_t *bytes;
    size_t size, at;      /* at: first record behind the "case" record of the present case */
    double want[MOST], bound[MOST];
} golden;

typedef struct record {
    char name[24];
    uint32_t kind, count;
} record;

static void open_golden(golden *g, const char *op) {
    char name[128], path[CORPUS_PATH_SIZE];
    snprintf(name, sizeof name, "tests/conform/golden/golden_%s.bin", op);
    source_require(name, path);
    g->bytes = test_read_file(path, &g->size);
    g->at = 8;
    assert_true(g->size > 8 && memcmp(g->bytes, "QNGOLD00", 8) == 0);
}

static record read_record(const golden *g, size_t at) {
    record r;
    memcpy(&r, g->bytes + at, sizeof r);
    return r;
}

static size_t next_record(const record *r, size_t at) {
    const size_t bytes = (size_t)r->count * (r->kind == 1 ? 8 : r->kind == 3 ? 1 : 4);
    return at + sizeof *r + (bytes + 7) / 8 * 8;
}

/* Goes to the next case; false behind the last. */
static int next_case(golden *g) {
    while (g->at < g->size) {
        const record r = read_record(g, g->at);
        g->at = next_record(&r, g->at);
        if (strcmp(r.name, "case") == 0) {
            return 1;
        }
    }
    free(g->bytes);
    return 0;
}

/* The values of a record of the present case. */
static const void *find_values(const golden *g, const char *name, uint32_t *out_count) {
    for (size_t at = g->at; at < g->size;) {
        const record r = read_record(g, at);
        if (strcmp(r.name, "case") == 0) {
            break;
        }
        if (strcmp(r.name, name) == 0) {
            if (out_count != NULL) {
                *out_count = r.count;
            }
            return g->bytes + at + sizeof r;
        }
        at = next_record(&r, at);
    }
    fail_msg("the case has no record '%s'", name);
    return NULL;
}

static const float *floats(const golden *g, const char *name) {
    return find_values(g, name, NULL);
}

static const int32_t *numbers(const golden *g, const char *name) {
    return find_values(g, name, NULL);
}

/* want of the oracle against y of the file. */
static void require_same(const golden *file, const char *op, double tolerance) {
    uint32_t n = 0;
    const double *y = find_values(file, "y", &n);
    assert_in_range(n, 1, MOST);
    for (uint32_t i = 0; i < n; i++) {
        if (!(fabs(file->want[i] - y[i]) <= tolerance * (1 + fabs(y[i])))) {
            fail_msg("%s: element %u: the oracle says %.17g, the file %.17g", op, i, file->want[i], y[i]);
        }
        /* A bound that is absurdly wide would let anything through. */
        assert_true(file->bound[i] >= 0 && file->bound[i] < 0.1 * (1 + fabs(y[i])));
    }
}

static golden g; /* large: not on the stack */

static void matmul_agrees(void **state) {
    (void)state;
    for (open_golden(&g, "matmul"); next_case(&g);) {
        const int32_t *s = numbers(&g, "shape");
        oracle_matmul(floats(&g, "w"), floats(&g, "x"), s[3] != 0 ? floats(&g, "bias") : NULL, (uint32_t)s[0],
                      (uint32_t)s[1], (uint32_t)s[2], 0, g.want, g.bound);
        require_same(&g, "matmul", 1e-12);
    }
}

static void rms_norm_agrees(void **state) {
    (void)state;
    for (open_golden(&g, "rms_norm"); next_case(&g);) {
        const int32_t *s = numbers(&g, "shape");
        const qn_rms_norm_attrs attrs = {
            .size = sizeof attrs, .group = (uint32_t)s[2], .epsilon = floats(&g, "epsilon")[0]};
        oracle_rms_norm(floats(&g, "x"), floats(&g, "weight"), (uint32_t)s[0], (uint32_t)s[1], &attrs, g.want, g.bound);
        require_same(&g, "rms_norm", 1e-12);
    }
}

/* An angle of 70000 is rounded to 1e-11 of itself, whatever formula made it. */
static void rope_agrees(void **state) {
    (void)state;
    for (open_golden(&g, "rope"); next_case(&g);) {
        const int32_t *s = numbers(&g, "shape");
        const float *f = floats(&g, "numbers");
        const qn_rope_attrs attrs = {.size = sizeof attrs,
                                     .n_head = (uint32_t)s[1],
                                     .head_dim = (uint32_t)s[2],
                                     .n_rot = (uint32_t)s[3],
                                     .pairing = (uint32_t)s[4],
                                     .n_ctx_orig = (uint32_t)s[5],
                                     .base = f[0],
                                     .freq_scale = f[1],
                                     .ext_factor = f[2],
                                     .attn_factor = f[3],
                                     .beta_fast = f[4],
                                     .beta_slow = f[5]};
        oracle_rope(floats(&g, "x"), s[6] != 0 ? floats(&g, "factors") : NULL, numbers(&g, "positions"), (uint32_t)s[0],
                    &attrs, g.want, g.bound);
        require_same(&g, "rope", 1e-10);
    }
}

static void attention_agrees(void **state) {
    (void)state;
    for (open_golden(&g, "attention"); next_case(&g);) {
        const int32_t *s = numbers(&g, "shape");
        const float *f = floats(&g, "numbers");
        const qn_attention_attrs attrs = {.size = sizeof attrs,
                                          .n_head = (uint32_t)s[0],
                                          .n_kv_head = (uint32_t)s[1],
                                          .head_dim = (uint32_t)s[2],
                                          .value_dim = (uint32_t)s[3],
                                          .scale = f[0],
                                          .softcap = f[1]};
        oracle_attention(floats(&g, "q"), floats(&g, "k"), floats(&g, "v"), (uint32_t)s[4], &attrs, 0, 0, g.want, g.bound);
        require_same(&g, "attention", 1e-12);
    }
}

static void elementwise_ops_agree(void **state) {
    uint32_t n;
    (void)state;
    for (open_golden(&g, "add"); next_case(&g);) {
        const float *a = find_values(&g, "a", &n);
        oracle_add(a, floats(&g, "b"), n, (uint64_t)numbers(&g, "period")[0], g.want, g.bound);
        require_same(&g, "add", 1e-12);
    }
    for (open_golden(&g, "scale"); next_case(&g);) {
        const float *x = find_values(&g, "x", &n);
        memset(g.bound, 0, sizeof g.bound);
        oracle_scale(x, n, floats(&g, "factor")[0], g.want);
        require_same(&g, "scale", 1e-12);
    }
    for (open_golden(&g, "gated"); next_case(&g);) {
        const float *gate = find_values(&g, "gate", &n);
        oracle_gated(gate, floats(&g, "up"), n, (uint32_t)numbers(&g, "kind")[0], g.want, g.bound);
        require_same(&g, "gated", 1e-12);
    }
    for (open_golden(&g, "softcap"); next_case(&g);) {
        const float *x = find_values(&g, "x", &n);
        oracle_softcap(x, n, floats(&g, "cap")[0], g.want, g.bound);
        require_same(&g, "softcap", 1e-12);
    }
}

static void formats_agree(void **state) {
    uint32_t n_formats = 0;
    (void)state;
    for (open_golden(&g, "formats"); next_case(&g); n_formats++) {
        const uint32_t format = (uint32_t)numbers(&g, "format")[0];
        const uint8_t *const bytes = find_values(&g, "bytes", NULL);
        uint32_t n = 0;
        const double *const y = find_values(&g, "y", &n);
        for (uint32_t i = 0; i < n; i++) {
            const double got = oracle_element(format, bytes, i);
            if (got != y[i]) {
                fail_msg("format %u: element %u: the oracle says %.17g, the file %.17g", format, i, got, y[i]);
            }
        }
    }
#define QN_FORMAT(name, number, elems, bytes, kind, layout) +1
    const uint32_t n_known = 0
#include <quoin/formats.def>
        ;
#undef QN_FORMAT
    assert_int_equal(n_formats, n_known);
}

static void rounding_of_states_agrees(void **state) {
    uint32_t n = 0;
    (void)state;
    for (open_golden(&g, "states"); next_case(&g);) {
        const float *const x = find_values(&g, "x", &n);
        for (uint32_t i = 0; i < n; i++) {
            assert_int_equal(oracle_to_half(x[i]), numbers(&g, "half")[i]);
            assert_int_equal(oracle_to_bf16(x[i]), numbers(&g, "upper")[i]);
        }
    }
    assert_true(n > 300);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_agrees), cmocka_unit_test(rms_norm_agrees), cmocka_unit_test(rope_agrees),
        cmocka_unit_test(attention_agrees), cmocka_unit_test(elementwise_ops_agree),
        cmocka_unit_test(formats_agree), cmocka_unit_test(rounding_of_states_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
