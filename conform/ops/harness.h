/* harness.h — runs a program with its data on the plugin under test and compares every output with the oracle.
 *
 * A case runs on a team of one and, on a processor, on a team of three workers. Steps are run in the order given; one
 * that repeats an earlier one must give the same bits, and so must both teams. Every output element must have been
 * written and keep the bound of its op sheet.
 *
 *     harness h;
 *     harness_open(&h, ctx);
 *     if (cf_case(ctx, "n %u", n)) { …; harness_rows(&h, &model, t); … }
 *     harness_close(&h);
 *
 * A model that the plugin's verdict refuses is passed over. harness_close then says UNSUPPORTED, when no model was left
 * or when the test is one that decode-core-0 asks for: such a test holds nothing that may be refused.
 *
 * Threading: one thread at a time per object.
 */
#ifndef CONFORM_HARNESS_H
#define CONFORM_HARNESS_H
#include "oracle_run.h"
#include "rig.h"

typedef struct harness {
    cf_context *ctx;
    cf_backend one, many;   /* the same plugin with one and with three workers */
    bool has_many;
    uint32_t n_done, n_refused;
    rig_verdicts verdicts;  /* of the last model that was asked about */
    char refusal[320];      /* why the first was refused */
    uint64_t n_errors;      /* elements of real MATMULs */
    double sum_up,
        sum_outward; /* over them, of error / bound, and of the same with the sign that leads away from zero */
} harness;

void harness_open(harness *self, cf_context *ctx);
void harness_close(harness *self);

/* The team of three where there is one. */
const cf_backend *harness_widest(const harness *self);

/* True when the verdict on every op is yes; otherwise it is counted. Tells the coverage. */
bool harness_offers(harness *self, const op_model *m, uint32_t flags);
/* Tells that this model was run and compared. */
void harness_covered(harness *self, const op_model *m);

#define HARNESS_NEW UINT32_MAX

/* One step of a case: repeats is the number of the earlier step with the same data, or HARNESS_NEW. */
typedef struct harness_step {
    op_step step;
    uint32_t repeats;
} harness_step;

/* Runs the steps and compares. is_exact: the bits of want rounded to f32 are wanted, whatever the bound is. */
void harness_run(harness *self, const op_model *m, const qn_limits *limits, const harness_step *steps, uint32_t n_steps,
                 bool is_exact, uint32_t weight_flags);

/* For programs whose rows do not know of each other: `all` has n_tokens rows. Runs all of them, the last alone, all
 * again, and a few in the middle, in one session. */
void harness_rows(harness *self, const op_model *m, const op_step *all, bool is_exact, uint32_t weight_flags);

/* Compares n values with the oracle's and ends the test at the first that is outside its bound. A want that is not
 * finite comes from a NaN or an infinity that the plugin may treat as it likes: it is not compared. */
void harness_compare(cf_context *ctx, const char *what, const float *got, const double *want, const double *bound,
                     bool is_exact, uint64_t n);

#endif
