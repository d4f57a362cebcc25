/* conform_context.c — loading the plugin under test and handing the user's options to the verbs that they are for. */
#include "program/conform_context.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "backends/builtin.h"

typedef struct loading {
    const conform_request *request;
    const conform_entry *entry;
} loading;

/* Options by the verb that takes them, as the plugin's own table says; one that it does not name goes to start, which has to refuse it. */
typedef struct divided_options {
    qn_option at[3][OPTION_LIST_MAX];
    uint32_t n[3];
} divided_options;

static uint32_t find_places(const qn_query_out *about, const char *key) {
    for (uint32_t i = 0; i < about->n_options; i++) {
        const qn_option_info *info =
            (const qn_option_info *)(const void *)((const char *)about->options + (uint64_t)i * about->option_stride);
        if (strcmp(info->key, key) == 0) {
            return info->applies;
        }
    }
    return QN_OPTION_AT_START;
}

static void divide_options(cf_context *ctx, const conform_request *r, divided_options *out) {
    static const uint32_t masks[3] = {QN_OPTION_AT_START, QN_OPTION_AT_OPEN, QN_OPTION_AT_COMPILE};
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    qn_query_out about = {.size = sizeof about};
    if (r->options.n_items == 0 || ctx->query == NULL || ctx->query(&in, &about) != QN_OK) {
        return;
    }
    for (uint32_t i = 0; i < r->options.n_items; i++) {
        const uint32_t places = find_places(&about, r->pairs[i].key);
        for (uint32_t p = 0; p < 3; p++) {
            if ((places & masks[p]) != 0) {
                out->at[p][out->n[p]++] = r->pairs[i];
            }
        }
    }
    for (uint32_t p = 0; p < 3; p++) {
        ctx->options[p] = out->at[p];
        ctx->n_options[p] = out->n[p];
    }
}

static void load_plugin(cf_context *ctx) {
    if (ctx->plugin_path == NULL) {
        ctx->query = quoin_reference_query;
        return;
    }
    cf_label(ctx, "loading the file");
    void *library = dlopen(ctx->plugin_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    CF_CHECK(ctx, library != NULL, "%s", dlerror());
    void *symbol = dlsym(library, QN_QUERY_SYMBOL);
    CF_CHECK(ctx, symbol != NULL, "the file does not export %s", QN_QUERY_SYMBOL);
    memcpy(&ctx->query, &symbol, sizeof symbol);
    cf_label(ctx, "");
}

static const conform_request *request_of_run; /* set once a process, before its test */
static const cf_test *test_of_run;

/* Stands before every test that wants the plugin loaded. */
static void run_loaded(cf_context *ctx) {
    static divided_options options;
    memset(&options, 0, sizeof options);
    load_plugin(ctx);
    divide_options(ctx, request_of_run, &options);
    test_of_run->run(ctx);
}

bool conform_context_run(const conform_request *r, const conform_entry *entry, cf_tell_fn *tell, void *tell_arg, uint64_t only_case) {
    cf_test loaded = *entry->test;
    cf_context ctx = {.plugin_path = r->path[0] != '\0' ? r->path : NULL, .features = r->features, .n_workers = r->workers,
                      .numeric = r->numeric_class, .seed = r->seed, .device_id = r->device, .is_quick = r->quick,
                      .suite = entry->suite, .test = entry->test};
    if (!entry->suite->is_unloaded) {
        request_of_run = r;
        test_of_run = entry->test;
        loaded.run = run_loaded;
        ctx.test = &loaded;
    }
    return cf_run_test(&ctx, tell, tell_arg, only_case);
}

/* --- The opening ------------------------------------------------------------------------------------------------------ */

static void opens(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    cf_close(ctx, &on);
}

conform_entry conform_opening_entry(void) {
    static const cf_test tests[] = {CF_TEST(opens, "", 0)};
    static const cf_suite suite = CF_SUITE(0, "frame", tests);
    return (conform_entry){&suite, &tests[0], "0.frame.opens"};
}
