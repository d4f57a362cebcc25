/* cf_start.c — level 1: start and stop, and the options of every verb that has them. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/protocol.h"

#define N_STARTS 30

typedef struct starting {
    const qn_plugin *verbs;
    cf_host *host;
} starting;

/* The table of verbs and a host, with nothing started. */
static starting begin(cf_context *ctx) {
    const qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = "conform", .cpu_features = {ctx->features}};
    qn_query_out about = {.size = sizeof about};
    CF_CHECK(ctx, ctx->query(&in, &about) == QN_OK, "query refuses");
    const starting s = {about.plugin, cf_host_open(ctx->n_workers, ctx->features)};
    CF_CHECK(ctx, s.host != NULL, "this machine has no memory for the test itself");
    return s;
}

static void end(cf_context *ctx, starting *s) {
    const uint64_t left = cf_host_close(s->host);
    CF_CHECK(ctx, left == 0, "%llu bytes of mem_alloc are left after stop", (unsigned long long)left);
}

static qn_status try_start(cf_context *ctx, void *arg, const void *host, qn_error *error) {
    const starting *s = arg;
    qn_plugin_state *plugin = NULL;
    const qn_status status = s->verbs->start(host, ctx->options[CF_AT_START], ctx->n_options[CF_AT_START], &plugin, error);
    CF_CHECK(ctx, status != QN_OK || plugin != NULL, "start answers OK and gives no plugin");
    if (status == QN_OK) {
        s->verbs->stop(plugin);
    }
    return status;
}

static void start_obeys_the_size_of_the_host_table(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0); /* unsupported where the plugin cannot start at all */
    cf_close(ctx, &on);
    starting s = begin(ctx);
    require_sizes(ctx, "start with a host table", cf_host_services(s.host), sizeof(qn_host), QN_LEAST_qn_host, try_start, &s);
    end(ctx, &s);
}

static void start_copies_the_host_table(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    cf_close(ctx, &on);
    starting s = begin(ctx);
    qn_host *table = malloc(sizeof *table);
    qn_plugin_state *plugin = NULL;
    qn_error error;
    uint32_t count = 0;
    CF_CHECK(ctx, table != NULL, "this machine has no memory for the test itself");
    memcpy(table, cf_host_services(s.host), sizeof *table);
    cf_clear(&error);
    cf_done(ctx, "start", s.verbs->start(table, ctx->options[CF_AT_START], ctx->n_options[CF_AT_START], &plugin, &error), &error);
    memset(table, 0, sizeof *table); /* it was valid for the call only */
    free(table);
    cf_done(ctx, "devices", s.verbs->devices(plugin, NULL, 0, 0, &count, &error), &error);
    s.verbs->stop(plugin);
    end(ctx, &s);
}

static void each_start_is_a_plugin_of_its_own(cf_context *ctx) {
    cf_backend first, second;
    cf_open(ctx, &first, 1);
    cf_open(ctx, &second, 2);
    CF_CHECK(ctx, first.plugin != second.plugin && first.device != second.device, "two starts give the same handles");
    cf_close(ctx, &first);
    specimen s;
    specimen_choose(ctx, &second, &s); /* one is gone, the other works */
    second.verbs->prog_free(specimen_compiled(ctx, &second, &s, 0));
    specimen_deinit(&s);
    cf_close(ctx, &second);
}

/* --- Options ---------------------------------------------------------------------------------------------------------- */

static void require_named(cf_context *ctx, const char *verb, qn_status got, const qn_error *error, const char *name) {
    cf_refused_somehow(ctx, verb, got, error);
    CF_CHECK(ctx, got == QN_UNSUPPORTED || got == QN_BAD_ARG || got == QN_UNAVAILABLE, "%s answers %s to '%s'", verb, cf_status(got), name);
    CF_CHECK(ctx, strstr(error->text, name) != NULL, "%s does not name '%s' in: %.300s", verb, name, error->text);
}

static void unknown_options_are_refused_by_name(cf_context *ctx) {
    const qn_option option = {"no_such_option", "1"};
    cf_backend on;
    qn_error error;
    qn_plugin_state *plugin = NULL;
    qn_device *device = NULL;
    cf_open(ctx, &on, 0);
    cf_clear(&error);
    if (cf_case(ctx, "at start")) {
        require_named(ctx, "start", on.verbs->start(cf_host_services(on.host), &option, 1, &plugin, &error), &error, option.key);
        CF_CHECK(ctx, plugin == NULL, "start refuses and gives a plugin all the same");
    }
    cf_clear(&error);
    if (cf_case(ctx, "at open")) {
        require_named(ctx, "open", on.verbs->open(on.plugin, on.info.id, &option, 1, &device, &error), &error, option.key);
        CF_CHECK(ctx, device == NULL, "open refuses and gives a device all the same");
    }
    cf_close(ctx, &on);
}

/* A value that no option of this type can have; null where every text is one. */
static const char *bad_value(const qn_option_info *info) {
    return info->type == QN_OPTION_STRING ? NULL : "certainly:not,a value";
}

static void try_bad_value(cf_context *ctx, const cf_backend *on, const qn_option_info *info) {
    const qn_option option = {info->key, bad_value(info)};
    qn_error error;
    cf_clear(&error);
    if ((info->applies & QN_OPTION_AT_START) != 0) {
        qn_plugin_state *plugin = NULL;
        require_named(ctx, "start", on->verbs->start(cf_host_services(on->host), &option, 1, &plugin, &error), &error, info->key);
    } else if ((info->applies & QN_OPTION_AT_OPEN) != 0) {
        qn_device *device = NULL;
        require_named(ctx, "open", on->verbs->open(on->plugin, on->info.id, &option, 1, &device, &error), &error, info->key);
    }
}

static void values_that_cannot_be_are_refused_with_the_key(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 0);
    for (uint32_t i = 0; i < on.about.n_options; i++) {
        const qn_option_info *info =
            (const qn_option_info *)(const void *)((const char *)on.about.options + (uint64_t)i * on.about.option_stride);
        if (cf_case(ctx, "option %s", info->key) && bad_value(info) != NULL) {
            try_bad_value(ctx, &on, info);
        }
    }
    cf_close(ctx, &on);
}

/* --- What is left ----------------------------------------------------------------------------------------------------- */

static uint32_t count_entries(const char *folder) {
    uint32_t n = 0;
    DIR *entries = opendir(folder);
    while (entries != NULL && readdir(entries) != NULL) {
        n++;
    }
    if (entries != NULL) {
        closedir(entries);
    }
    return n;
}

static void live_once(cf_context *ctx) {
    cf_backend on;
    cf_open(ctx, &on, 2);
    cf_close(ctx, &on);
}

static void start_and_stop_leave_no_thread_and_no_descriptor(cf_context *ctx) {
    const uint32_t fds_at_first = count_entries("/proc/self/fd"), threads_at_first = count_entries("/proc/self/task");
    live_once(ctx);
    const uint32_t fds = count_entries("/proc/self/fd"), threads = count_entries("/proc/self/task");
    if (fds > fds_at_first || threads > threads_at_first) {
        cf_note(ctx, "the first start to stop left %u descriptors and %u threads, which a driver may keep", fds - fds_at_first,
                threads - threads_at_first);
    }
    for (uint32_t i = 0; i < N_STARTS; i++) {
        live_once(ctx);
    }
    const uint32_t fds_then = count_entries("/proc/self/fd"), threads_then = count_entries("/proc/self/task");
    CF_CHECK(ctx, fds_then <= fds, "%u descriptors more after %u times start to stop", fds_then - fds, N_STARTS);
    CF_CHECK(ctx, threads_then <= threads, "%u threads more after %u times start to stop", threads_then - threads, N_STARTS);
}

static const cf_test tests[] = {
    CF_TEST(start_obeys_the_size_of_the_host_table, "Q4", CF_MUST_PROTOCOL),
    CF_TEST(start_copies_the_host_table, "S1", CF_MUST_PROTOCOL),
    CF_TEST(each_start_is_a_plugin_of_its_own, "S1", CF_MUST_DECODE),
    CF_TEST(unknown_options_are_refused_by_name, "E3", CF_MUST_PROTOCOL),
    CF_TEST(values_that_cannot_be_are_refused_with_the_key, "E3", CF_MUST_PROTOCOL),
    CF_LONG_TEST(start_and_stop_leave_no_thread_and_no_descriptor, "S3", CF_MUST_PROTOCOL, 3),
};
const cf_suite cf_suite_start = CF_SUITE(1, "start", tests);
