/* harness.h — runs one case (a program, its data, what the oracle expects) on the backend under test.
 *
 * Each case runs on a team of one and on a team of three workers, twice on each: the bits must be the same everywhere, every
 * output element must have been written, nothing beside the outputs, and each element must keep the bound of its op sheet.
 *
 * A case test receives a `harness` as cmocka state. The seed is printed when a test fails; --seed repeats it.
 */
#ifndef TEST_HARNESS_H
#define TEST_HARNESS_H
#include "backend.h"
#include "op_data.h"

typedef struct harness {
    backend one, many;   /* the same plugin with one and with three workers */
    uint32_t numeric;    /* the class under test, one of QN_NUMERIC_* */
    uint64_t seed;
    bool is_quick;       /* fewer shapes: for emulators */
    uint64_t n_cases;    /* checked so far */
} harness;

/* One program with one output. */
typedef struct op_case {
    char label[128];         /* printed on failure */
    op_program *program;
    rig_memory data[OP_PROGRAM_ROOM]; /* .data of weights and inputs, owned by the case */
    uint64_t first_element[OP_PROGRAM_ROOM];
    uint32_t n_tokens, n_outputs;
    const int32_t *positions; /* borrowed; null: 0, 1, 2, … */
    uint32_t output;         /* buffer */
    uint64_t n;              /* its elements */
    double *want, *bound;    /* [n], owned by the case */
    bool is_exact;           /* compare bits with want rounded to f32 */
    uint32_t weight_flags;   /* 0: borrow */
} op_case;

/* An empty case of n output elements. */
op_case op_case_make(uint64_t n, const char *label_format, ...) __attribute__((format(printf, 2, 3)));
void op_case_free(op_case *self);
/* Copies the content of a weight or an input. */
void op_case_set(op_case *self, uint32_t buffer, const void *data, uint64_t bytes);

/* Runs the case everywhere and compares; false (nothing is run) when the plugin's verdict on it is no. */
bool harness_try(harness *self, op_case *c);
/* The same, and fails when the verdict is no. */
void harness_check(harness *self, op_case *c);

/* Compares n values with the oracle's; prints label and element and fails the test when one is outside its bound. */
void harness_compare(const harness *self, const char *label, const float *got, const double *want, const double *bound,
                     bool is_exact, uint64_t n);

/* A generator whose numbers depend on the seed and on `salt` only. */
op_random harness_random(const harness *self, uint64_t salt);

#endif
