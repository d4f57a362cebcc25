/* run_suites.c — levels 2 to 5 of the suite in one process, for targets on which quoin-conform is not built.
 *
 *     run_suites (--backend reference | --plugin FILE) [--mask LEVEL] [--numeric f32acc|act8] [--quick] [--seed N]
 * [--filter GLOB]
 *
 * Exit status: 0 all passed, 1 some failed, 2 usage, 77 this machine lacks the level or the plugin the class.
 */
#include <dlfcn.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conform_suites.h"
#include "core/cf_run.h"

qn_status QN_CALL quoin_reference_query(const qn_query_in *in, qn_query_out *out);

typedef struct arguments {
    const char *plugin, *mask, *numeric, *filter;
    uint64_t seed;
    bool is_quick;
} arguments;

static bool read_arguments(int argc, char **argv, arguments *out) {
    *out = (arguments){.mask = "native", .numeric = "f32acc", .filter = "*", .seed = 1};
    for (int i = 1; i < argc; i++) {
        const char *const value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            out->is_quick = true;
            continue;
        }
        if (value == NULL) {
            return false;
        } else if (strcmp(argv[i], "--plugin") == 0) {
            out->plugin = value;
        } else if (strcmp(argv[i], "--mask") == 0) {
            out->mask = value;
        } else if (strcmp(argv[i], "--numeric") == 0) {
            out->numeric = value;
        } else if (strcmp(argv[i], "--filter") == 0) {
            out->filter = value;
        } else if (strcmp(argv[i], "--seed") == 0) {
            out->seed = strtoull(value, NULL, 0);
        } else if (strcmp(argv[i], "--backend") != 0 || strcmp(value, "reference") != 0) {
            return false;
        }
        i++;
    }
    return true;
}

static qn_query_fn load(const char *path) {
    qn_query_fn query = NULL;
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *const symbol = library == NULL ? NULL : dlsym(library, QN_QUERY_SYMBOL);
    if (symbol == NULL) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        exit(1);
    }
    memcpy(&query, &symbol, sizeof query);
    return query;
}

typedef struct totals {
    const char *name;
    uint32_t n_passed, n_failed, n_unsupported;
    double began;
} totals;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void take_line(void *arg, const char *line, size_t size) {
    totals *const t = arg;
    if (size > 4 && memcmp(line, "end ", 4) == 0) {
        const bool is_pass = memcmp(line, "end pass", 8) == 0,
                   is_unsupported = memcmp(line, "end unsupported", 15) == 0;
        t->n_passed += is_pass;
        t->n_unsupported += is_unsupported;
        t->n_failed += !is_pass && !is_unsupported;
        printf("%-70s %6.2f s  %.*s", t->name, now() - t->began, (int)size - 4, line + 4);
        fflush(stdout);
    }
}

static void run_suite(cf_context *ctx, const cf_suite *suite, const char *filter, totals *t) {
    for (size_t i = 0; i < suite->n_tests; i++) {
        char name[256];
        snprintf(name, sizeof name, "%u.%s.%s", suite->level, suite->name, suite->tests[i].name);
        ctx->suite = suite;
        ctx->test = &suite->tests[i];
        t->name = name;
        t->began = now();
        if (fnmatch(filter, name, 0) == 0) {
            cf_run_test(ctx, take_line, t, 0);
        }
    }
}

int main(int argc, char **argv) {
    arguments a;
    totals t = {.name = ""};
    bool is_known;
    cf_context ctx = {.n_workers = 2};
    if (!read_arguments(argc, argv, &a)) {
        fprintf(stderr, "usage: run_suites (--backend reference | --plugin FILE) [--mask LEVEL] [--numeric "
                        "f32acc|act8] [--quick] [--seed N]\n");
        return 2;
    }
    if (!cf_host_features(a.mask, &ctx.features, &is_known)) {
        printf("this machine has no level '%s': skipped\n", a.mask);
        return 77;
    }
    ctx.query = a.plugin == NULL ? quoin_reference_query : load(a.plugin);
    ctx.plugin_path = a.plugin;
    ctx.numeric = strcmp(a.numeric, "act8") == 0 ? QN_NUMERIC_ACT8 : QN_NUMERIC_F32ACC;
    ctx.seed = a.seed;
    ctx.is_quick = a.is_quick;
    for (size_t s = 0; s < cf_op_suites.n_suites; s++) {
        if (cf_op_suites.suites[s]->level < 7 || strcmp(a.filter, "*") != 0) {
            run_suite(&ctx, cf_op_suites.suites[s], a.filter, &t);
        }
    }
    printf("%u passed, %u failed, %u unsupported\n", t.n_passed, t.n_failed, t.n_unsupported);
    return t.n_failed > 0 ? 1 : t.n_passed == 0 ? 77 : 0;
}
