/* cf_query.c — level 0: the query is pure, honest about sizes, and complete. */
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>

#include "conform.h"
#include "file/file_suites.h"

#define N_THREADS 8

static qn_query_in make_in(const cf_context *ctx) {
    return (qn_query_in){.size = sizeof(qn_query_in), .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
}

static qn_query_out ask(cf_context *ctx) {
    const qn_query_in in = make_in(ctx);
    qn_query_out out = {.size = sizeof out};
    const qn_status status = ctx->query(&in, &out);
    CF_CHECK(ctx, status == QN_OK, "query answers %s", cf_status(status));
    return out;
}

static void query_is_pure(cf_context *ctx) {
    const qn_query_out first = ask(ctx);
    for (uint32_t i = 0; i < 1000; i++) {
        const qn_query_out again = ask(ctx);
        CF_CHECK(ctx, memcmp(&again, &first, sizeof first) == 0, "call %u answers otherwise than the first", i + 2);
    }
}

/* As on a machine without drivers, and with every device file hidden: nothing can be opened at all. */
static void query_opens_nothing(cf_context *ctx) {
    const qn_query_out first = ask(ctx);
    struct rlimit files;
    CF_CHECK(ctx, getrlimit(RLIMIT_NOFILE, &files) == 0, "the limit of open files cannot be read");
    const rlim_t as_before = files.rlim_cur;
    files.rlim_cur = 0;
    CF_CHECK(ctx, setrlimit(RLIMIT_NOFILE, &files) == 0, "the limit of open files cannot be set");
    const qn_query_in in = make_in(ctx);
    qn_query_out out = {.size = sizeof out};
    const qn_status status = ctx->query(&in, &out);
    files.rlim_cur = as_before;
    setrlimit(RLIMIT_NOFILE, &files);
    CF_CHECK(ctx, status == QN_OK, "query answers %s where no file can be opened: devices are looked for in start", cf_status(status));
    CF_CHECK(ctx, memcmp(&out, &first, sizeof out) == 0, "query answers otherwise where no file can be opened");
}

typedef struct asking {
    cf_context *ctx;
    qn_query_out first;
} asking;

static void *ask_often(void *arg) {
    const asking *a = arg;
    for (uint32_t i = 0; i < 1000; i++) {
        const qn_query_out again = ask(a->ctx);
        CF_CHECK(a->ctx, memcmp(&again, &a->first, sizeof again) == 0, "one of %d threads gets another answer", N_THREADS);
    }
    return NULL;
}

static void query_answers_eight_threads_at_once(cf_context *ctx) {
    asking a = {ctx, ask(ctx)};
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        CF_CHECK(ctx, pthread_create(&threads[i], NULL, ask_often, &a) == 0, "no thread could be started");
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    cf_join(ctx);
}

static void require_text(cf_context *ctx, const char *what, const char *text, bool may_be_empty) {
    CF_CHECK(ctx, text != NULL, "%s is null", what);
    CF_CHECK(ctx, cf_is_text(text, 4096), "%s is not UTF-8, or not terminated within 4096 bytes", what);
    CF_CHECK(ctx, may_be_empty || text[0] != '\0', "%s is empty", what);
}

static void query_says_who_it_is(cf_context *ctx) {
    const qn_query_out out = ask(ctx);
    require_text(ctx, "name", out.name, false);
    require_text(ctx, "version", out.version, false);
    require_text(ctx, "build_id", out.build_id, false);
    require_text(ctx, "licence", out.licence, false);
    CF_CHECK(ctx, strpbrk(out.name, "/:,;= \t\n") == NULL, "name '%s' cannot be written in a backend request: no blank and none of / : , ; =",
             out.name);
    CF_CHECK(ctx, out.size == sizeof out, "size of the answer is %u, not %zu", out.size, sizeof out);
    CF_CHECK(ctx, out.minor == QN_ABI_MINOR, "minor %u; before 1.0 it has to be %d", out.minor, QN_ABI_MINOR);
}

static void query_has_a_whole_table_of_verbs(cf_context *ctx) {
    const qn_query_out out = ask(ctx);
    const qn_plugin *v = out.plugin;
    CF_CHECK(ctx, v != NULL, "plugin is null");
    CF_CHECK(ctx, v->size >= offsetof(qn_plugin, step) + sizeof v->step, "the table has %u bytes and ends before step", v->size);
    const struct {
        const char *name;
        bool is_there;
    } verbs[] = {{"start", QN_HAS(v, start)}, {"stop", QN_HAS(v, stop)}, {"devices", QN_HAS(v, devices)}, {"open", QN_HAS(v, open)},
                 {"close", QN_HAS(v, close)}, {"check", QN_HAS(v, check)}, {"plan", QN_HAS(v, plan)}, {"compile", QN_HAS(v, compile)},
                 {"prog_free", QN_HAS(v, prog_free)}, {"bind_weights", QN_HAS(v, bind_weights)}, {"seal", QN_HAS(v, seal)},
                 {"session_new", QN_HAS(v, session_new)}, {"session_free", QN_HAS(v, session_free)}, {"step", QN_HAS(v, step)}};
    for (size_t i = 0; i < CF_COUNT_OF(verbs); i++) {
        CF_CHECK(ctx, verbs[i].is_there, "the table has no verb %s", verbs[i].name);
    }
    CF_CHECK(ctx, v->reserved == 0, "the reserved word of the table is %u", v->reserved);
}

static void require_option(cf_context *ctx, const qn_option_info *info) {
    CF_CHECK(ctx, info->size >= QN_LEAST_qn_option_info, "size %u of its record is below %u", info->size, QN_LEAST_qn_option_info);
    require_text(ctx, "key", info->key, false);
    require_text(ctx, "help", info->help, false);
    require_text(ctx, "default_value", info->default_value, true);
    require_text(ctx, "choices", info->choices, true);
    CF_CHECK(ctx, strpbrk(info->key, "=,; \t\n") == NULL, "key '%s' cannot be written in a backend request", info->key);
    CF_CHECK(ctx, info->type <= QN_OPTION_CHOICE, "'%s' has the unknown type %u", info->key, info->type);
    CF_CHECK(ctx, info->applies != 0 && info->applies < 8, "'%s' applies to 0x%x; some of start, open, compile is needed", info->key, info->applies);
    CF_CHECK(ctx, (info->type == QN_OPTION_CHOICE) == (info->choices[0] != '\0'), "'%s' has choices '%s' and type %u", info->key,
             info->choices, info->type);
    CF_CHECK(ctx, info->reserved == 0, "the reserved word of '%s' is %u", info->key, info->reserved);
}

static void query_describes_every_option(cf_context *ctx) {
    const qn_query_out out = ask(ctx);
    CF_CHECK(ctx, out.n_options == 0 || (out.options != NULL && out.option_stride >= QN_LEAST_qn_option_info),
             "%u options, %u bytes apart", out.n_options, out.option_stride);
    for (uint32_t i = 0; i < out.n_options; i++) {
        if (cf_case(ctx, "option %u", i)) {
            require_option(ctx, (const qn_option_info *)(const void *)((const char *)out.options + (uint64_t)i * out.option_stride));
        }
    }
}

/* --- Sizes and minors ------------------------------------------------------------------------------------------------- */

static void require_status(cf_context *ctx, const char *what, qn_status got, qn_status want) {
    CF_CHECK(ctx, got == want, "query with %s answers %s; %s was expected", what, cf_status(got), cf_status(want));
}

static void query_obeys_the_size_of_in(cf_context *ctx) {
    struct {
        qn_query_in in;
        unsigned char more[64];
    } grown = {.in = make_in(ctx)};
    qn_query_out out = {.size = sizeof out};
    grown.in.size = sizeof grown;
    require_status(ctx, "an in of 64 more bytes, all zero", ctx->query(&grown.in, &out), QN_OK);
    for (uint32_t i = 0; i < 64; i++) {
        memset(grown.more, 0, sizeof grown.more);
        grown.more[i] = 1;
        require_status(ctx, "an unknown bit set behind in", ctx->query(&grown.in, &out), QN_TOO_NEW);
    }
    qn_query_in in = make_in(ctx);
    for (uint32_t size = 0; size < QN_LEAST_qn_query_in; size++) {
        in.size = size;
        require_status(ctx, "an in that is too short", ctx->query(&in, &out), QN_BAD_ARG);
    }
    require_status(ctx, "in null", ctx->query(NULL, &out), QN_BAD_ARG);
}

static void query_obeys_the_size_of_out(cf_context *ctx) {
    const qn_query_in in = make_in(ctx);
    struct {
        qn_query_out out;
        unsigned char more[64];
    } grown;
    for (uint32_t size = 0; size < QN_LEAST_qn_query_out; size++) {
        memset(&grown, 0x5a, sizeof grown);
        grown.out.size = size;
        require_status(ctx, "an out that is too short", ctx->query(&in, &grown.out), QN_BAD_ARG);
        const unsigned char *bytes = (const unsigned char *)&grown;
        for (uint32_t i = size < 4 ? 4 : size; i < sizeof grown; i++) {
            CF_CHECK(ctx, bytes[i] == 0x5a, "query wrote byte %u of an out of %u bytes", i, size);
        }
    }
    memset(&grown, 0x5a, sizeof grown);
    grown.out.size = sizeof grown;
    require_status(ctx, "an out of 64 more bytes", ctx->query(&in, &grown.out), QN_OK);
}

static void query_answers_hosts_of_every_minor(cf_context *ctx) {
    static const uint32_t minors[] = {0, 1, 7, 1000, UINT32_MAX};
    for (size_t i = 0; i < CF_COUNT_OF(minors); i++) {
        qn_query_in in = make_in(ctx);
        qn_query_out out = {.size = sizeof out};
        in.minor = minors[i];
        if (cf_case(ctx, "a host of minor %u", minors[i])) {
            require_status(ctx, "that minor", ctx->query(&in, &out), QN_OK);
            CF_CHECK(ctx, out.minor == QN_ABI_MINOR, "the plugin then says minor %u; it says its own, whoever asks", out.minor);
        }
    }
}

static const cf_test tests[] = {
    CF_TEST(query_is_pure, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(query_opens_nothing, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(query_answers_eight_threads_at_once, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(query_says_who_it_is, "Q3", CF_MUST_PROTOCOL),
    CF_TEST(query_has_a_whole_table_of_verbs, "Q6", CF_MUST_PROTOCOL),
    CF_TEST(query_describes_every_option, "Q5", CF_MUST_PROTOCOL),
    CF_TEST(query_obeys_the_size_of_in, "Q4", CF_MUST_PROTOCOL),
    CF_TEST(query_obeys_the_size_of_out, "Q4", CF_MUST_PROTOCOL),
    CF_TEST(query_answers_hosts_of_every_minor, "Q4", CF_MUST_PROTOCOL),
};
const cf_suite cf_suite_query = CF_SUITE(0, "query", tests);
