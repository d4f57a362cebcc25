/* conform.h — what a conformance test sees: how it is registered, what it runs on, how it fails.
 *
 * quoin-conform checks one plugin, test by test. Each test is one function, runs in a process of its own with a deadline, and ends
 * with one result. A test may hold many cases; the first one that fails ends it. Tests stand in explicit tables:
 *
 *     static void seal_wants_every_weight(cf_context *ctx) {
 *         cf_backend on;
 *         cf_open(ctx, &on, 2);
 *         for (uint32_t i = 0; i < n_weights; i++) {
 *             if (cf_case(ctx, "without weight %u", i)) {
 *                 CF_CHECK(ctx, status == QN_BAD_ARG, "seal answers %s", cf_status(status));
 *             }
 *         }
 *         cf_close(ctx, &on);
 *     }
 *     static const cf_test tests[] = {
 *         CF_TEST(seal_wants_every_weight, "S1", CF_MUST_DECODE),
 *     };
 *     const cf_suite cf_suite_order = CF_SUITE(1, "order", tests);
 *
 * The id of a test is LEVEL.SUITE.TEST; with a seed and, where one case is meant, its number, it repeats that case alone:
 * 1.order.seal_wants_every_weight:7/3. The same id and seed give the same cases on every machine.
 *
 * A test prints nothing: what appears on standard output and standard error is the plugin's, is kept, and shown with a failure.
 *
 * Threading: cf_case, cf_open, cf_close and cf_unsupported on the test's own thread; everything else from any thread that the test made
 *            (cf_fail then ends that thread, and the test when it joins with cf_join or returns).
 * Memory:    a test that fails is left at once; what it allocated is not given back.
 */
#ifndef QUOIN_CONFORM_H
#define QUOIN_CONFORM_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <quoin/glue.h>

#include "core/cf_host.h"

typedef struct cf_context cf_context;

/* --- Tables ----------------------------------------------------------------------------------------------------------- */

/* Which profiles a test must pass in; UNSUPPORTED counts as a failure there. 0: optional everywhere. */
enum {
    CF_MUST_PROTOCOL = 1u, /* "protocol-0": a plugin that may refuse every op; "decode-core-0" too */
    CF_MUST_DECODE = 2u    /* "decode-core-0" */
};

typedef struct cf_test {
    const char *name;        /* a sentence, words joined by '_' */
    const char *requirement; /* ids of abi/doc/requirements.md, "S1" or "S1 E1" */
    uint32_t must;           /* CF_MUST_* */
    uint32_t patience;       /* multiplies the deadline; 0 counts as 1 */
    void (*run)(cf_context *ctx);
} cf_test;

typedef struct cf_suite {
    uint32_t level;          /* 0 file, 1 protocol, 2 op vectors, 3 fuzz, 4 layer, 5 model, 6 robustness, 7 speed */
    const char *name;
    const cf_test *tests;
    size_t n_tests;
    bool is_unloaded;        /* the plugin's file is not loaded before: its tests do that themselves, and ctx->query is null */
} cf_suite;

/* What a folder of the suite gives: conform/ops has cf_op_suites. */
typedef struct cf_suite_list {
    const cf_suite *const *suites;
    size_t n_suites;
} cf_suite_list;

#define CF_TEST(function, requirement, must) {#function, requirement, must, 0, function}
#define CF_LONG_TEST(function, requirement, must, patience) {#function, requirement, must, patience, function}
#define CF_SUITE(level, name, tests) {level, name, tests, sizeof(tests) / sizeof((tests)[0]), false}
#define CF_SUITE_LIST(suites) {suites, sizeof(suites) / sizeof((suites)[0])}
#define CF_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* --- What a test runs on ---------------------------------------------------------------------------------------------- */

struct cf_run;

struct cf_context {
    const char *plugin_path;   /* null: linked in */
    qn_query_fn query;         /* null in a suite that is_unloaded */
    uint64_t features;         /* CPU features that the plugin is told of (--mask) */
    uint32_t n_workers;        /* of a team, where a test has no reason for another number (--workers) */
    uint32_t numeric;          /* class under test, one of QN_NUMERIC_* (--numeric) */
    uint64_t seed;
    const char *device_id;     /* null: the first device */
    const qn_option *options[3]; /* user's options at start, open, compile */
    uint32_t n_options[3];
    bool is_quick;             /* fewer shapes: for emulators and sanitizers */
    const cf_suite *suite;
    const cf_test *test;
    struct cf_run *run;        /* private */
};

enum { CF_AT_START = 0, CF_AT_OPEN = 1, CF_AT_COMPILE = 2 };

/* One plugin, started, with the device under test open, on a host of its own. */
typedef struct cf_backend {
    cf_host *host;
    const qn_plugin *verbs;
    qn_query_out about;
    qn_plugin_state *plugin;
    qn_device *device;
    qn_device_info info;
} cf_backend;

/* Opens it with a team of n_workers (0: ctx->n_workers). UNSUPPORTED when start or open answers UNAVAILABLE, DENIED or BUSY, when there
 * is no such device, or when the device does not offer ctx->numeric; any other refusal fails the test. */
void cf_open(cf_context *ctx, cf_backend *out, uint32_t n_workers);
/* The same with a blob store that behaves as CF_BLOBS_* says. */
void cf_open_with_blobs(cf_context *ctx, cf_backend *out, uint32_t n_workers, uint32_t blob_mode);
/* Closes, stops, and fails the test when the plugin still holds memory. A zeroed one is legal. */
void cf_close(cf_context *ctx, cf_backend *self);

/* Compile options for the class under test, with the user's options. */
qn_compile_options cf_compile_options(const cf_context *ctx, uint32_t flags);

/* --- Cases and results ------------------------------------------------------------------------------------------------ */

#define CF_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))

/* Begins the next case. False when only another one was asked for: pass over it, draws of random numbers included. Its words stand
 * before a failure, and say where a crash was. */
bool cf_case(cf_context *ctx, const char *format, ...) CF_PRINTF(2, 3);

/* Ends the test: FAIL with these words. From a thread that is not the test's own it ends that thread. */
_Noreturn void cf_fail(cf_context *ctx, const char *format, ...) CF_PRINTF(2, 3);

/* Ends the test: UNSUPPORTED, the plugin does not offer what this is about. */
_Noreturn void cf_unsupported(cf_context *ctx, const char *format, ...) CF_PRINTF(2, 3);

/* Adds a line to the result, whatever it will be. */
void cf_note(cf_context *ctx, const char *format, ...) CF_PRINTF(2, 3);

#define CF_CHECK(ctx, condition, ...)        \
    do {                                     \
        if (!(condition)) {                  \
            cf_fail((ctx), __VA_ARGS__);     \
        }                                    \
    } while (0)

/* True when a thread of this test has failed; cf_join then ends the test with its words. */
void cf_join(cf_context *ctx);

/* --- Verbs and their errors ------------------------------------------------------------------------------------------- */

/* A record to hand to a verb: empty, of full size. */
void cf_clear(qn_error *error);

/* Terminated within `room` bytes, and UTF-8. */
bool cf_is_text(const char *text, size_t room);

/* "BAD_ARG". Static. */
const char *cf_status(qn_status status);

/* Fails unless the verb succeeded. */
void cf_done(cf_context *ctx, const char *verb, qn_status got, const qn_error *error);

/* Fails unless the verb refused with `want`, told the same code, and gave a text: terminated, UTF-8, not empty. */
void cf_refused(cf_context *ctx, const char *verb, qn_status got, qn_status want, const qn_error *error);

/* The same for any refusal. */
void cf_refused_somehow(cf_context *ctx, const char *verb, qn_status got, const qn_error *error);

/* --- Random numbers --------------------------------------------------------------------------------------------------- */

typedef struct cf_random {
    uint64_t state;
} cf_random;

/* A generator whose numbers depend on the seed and on `salt` only. */
cf_random cf_random_make(const cf_context *ctx, uint64_t salt);
uint64_t cf_random_next(cf_random *random);
/* In [0, n). */
uint32_t cf_random_below(cf_random *random, uint32_t n);

/* --- What is told besides the result ---------------------------------------------------------------------------------- */

/* A row of --coverage: the verdict on this op with weights or states of this format (CF_NO_FORMAT: the op has none), and whether it
 * was run and compared. */
#define CF_NO_FORMAT UINT32_MAX
void cf_cover(cf_context *ctx, uint32_t op, uint32_t format, uint32_t verdict, bool is_tested);

/* A figure for the report: "matmul.Q4_K", 12.5, "GB/s". */
void cf_measure(cf_context *ctx, const char *name, double value, const char *unit);

#endif
