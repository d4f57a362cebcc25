/* test_ops.c — runs the case tables on one backend.
 *
 *     test_ops --backend reference
 *     test_ops --plugin build/lib/quoin/plugins/cpu.quoin.so --mask avx2 --numeric act8
 *
 *   --backend NAME   a backend that is linked in        --plugin FILE    a plugin file
 *   --mask LEVEL     c avx2 avxvnni avx512 avx512vnni neon dotprod native (the default)
 *   --numeric CLASS  f32acc (the default) or act8       --seed N         another draw of numbers
 *   --case GLOB      only tests whose name matches      --effort quick   fewer shapes, for emulators
 *
 * Exit status: 0 all passed, 1 some failed, 2 usage, 77 this machine lacks the level or the plugin the class.
 */
#include "cases.h"

static const op_suite *const suites[] = {
    &suite_embed, &suite_matmul, &suite_add, &suite_scale, &suite_rms_norm, &suite_rope, &suite_state_write,
    &suite_attention, &suite_gated, &suite_softcap, &suite_select_rows, &suite_programs,
};

typedef struct bound_test {
    const op_test *test;
    harness *harness;
} bound_test;

typedef struct arguments {
    const char *backend, *plugin, *mask, *numeric, *filter;
    uint64_t seed;
    bool is_quick;
} arguments;

static int print_usage(void) {
    fprintf(stderr, "usage: test_ops (--backend NAME | --plugin FILE) [--mask LEVEL] [--numeric f32acc|act8] [--case GLOB] "
                    "[--seed N] [--effort quick]\n");
    return 2;
}

static bool read_seed(const char *text, uint64_t *out_seed) {
    char *end;
    *out_seed = strtoull(text, &end, 0);
    return text[0] != '\0' && *end == '\0';
}

static bool read_arguments(int argc, char **argv, arguments *out) {
    *out = (arguments){.mask = "native", .numeric = "f32acc", .seed = 1};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--backend") == 0) {
            out->backend = argv[i + 1];
        } else if (strcmp(argv[i], "--plugin") == 0) {
            out->plugin = argv[i + 1];
        } else if (strcmp(argv[i], "--mask") == 0) {
            out->mask = argv[i + 1];
        } else if (strcmp(argv[i], "--numeric") == 0) {
            out->numeric = argv[i + 1];
        } else if (strcmp(argv[i], "--case") == 0) {
            out->filter = argv[i + 1];
        } else if (strcmp(argv[i], "--effort") == 0 && strcmp(argv[i + 1], "quick") == 0) {
            out->is_quick = true;
        } else if (strcmp(argv[i], "--seed") != 0 || !read_seed(argv[i + 1], &out->seed)) {
            return false;
        }
    }
    return argc % 2 == 1 && (out->backend == NULL) != (out->plugin == NULL)
           && (strcmp(out->numeric, "f32acc") == 0 || strcmp(out->numeric, "act8") == 0);
}

static void run_bound_test(void **state) {
    const bound_test *bound = *state;
    bound->test->run(bound->harness);
}

/* A new row of ops.def cannot come without cases. */
static void every_op_of_the_registry_has_cases(harness *h) {
    static const uint32_t ops[] = {
#define QN_OP(NAME, number, name, since, least, most, outputs, attrs, bound) number,
#include <quoin/ops.def>
#undef QN_OP
    };
    (void)h;
    for (size_t i = 0; i < COUNT_OF(ops); i++) {
        size_t n_found = 0;
        for (size_t s = 0; s < COUNT_OF(suites); s++) {
            n_found += suites[s]->op == ops[i] ? suites[s]->n_tests : 0;
        }
        if (n_found == 0) {
            fail_msg("op number %u has no cases", ops[i]);
        }
    }
}

static const op_test registry_test = OP_TEST(every_op_of_the_registry_has_cases);

static int run_all(harness *h, const char *filter) {
    struct CMUnitTest tests[64];
    bound_test bound[64];
    size_t n = 0;
    bound[n++] = (bound_test){&registry_test, h};
    for (size_t s = 0; s < COUNT_OF(suites); s++) {
        for (size_t i = 0; i < suites[s]->n_tests; i++) {
            if (n == COUNT_OF(tests)) {
                fprintf(stderr, "test_ops: more than %zu tests\n", n);
                return 1;
            }
            bound[n++] = (bound_test){&suites[s]->tests[i], h};
        }
    }
    for (size_t i = 0; i < n; i++) {
        tests[i] = (struct CMUnitTest){bound[i].test->name, run_bound_test, NULL, NULL, &bound[i]};
    }
    if (filter != NULL) {
        cmocka_set_test_filter(filter);
    }
    return _cmocka_run_group_tests("ops", tests, n, NULL, NULL);
}

int main(int argc, char **argv) {
    arguments args;
    harness h = {.n_cases = 0};
    uint64_t features = 0;
    if (!read_arguments(argc, argv, &args)) {
        return print_usage();
    }
    if (!test_host_features(args.mask, &features)) {
        printf("this machine has no level '%s': skipped\n", args.mask);
        return 77;
    }
    const qn_query_fn query = args.backend != NULL ? backend_find(args.backend) : backend_load(args.plugin);
    if (query == NULL || !backend_open(&h.one, query, features, 1) || !backend_open(&h.many, query, features, 3)) {
        return 1;
    }
    h.seed = args.seed;
    h.is_quick = args.is_quick;
    h.numeric = strcmp(args.numeric, "act8") == 0 ? QN_NUMERIC_ACT8 : QN_NUMERIC_F32ACC;
    printf("backend %s %s, driver %s, level %s, class %s, seed %llu\n", h.one.about.name, h.one.about.version,
           h.one.info.driver, args.mask, args.numeric, (unsigned long long)args.seed);
    if ((h.one.info.numeric & h.numeric) == 0) {
        printf("the device does not offer class %s: skipped\n", args.numeric);
        return 77;
    }
    const int n_failed = run_all(&h, args.filter);
    const uint64_t left = backend_close(&h.one) + backend_close(&h.many);
    printf("%llu cases; %llu bytes left behind by the plugin\n", (unsigned long long)h.n_cases, (unsigned long long)left);
    return n_failed > 0 || left > 0 ? 1 : 0;
}
