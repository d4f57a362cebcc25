/* cf_lives.c — level 6: hundreds of lives in one process, and what is left of them. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <quoin/note.h>

#include "robustness/robustness.h"

#define N_LIVES 200u
#define N_WARM 20u
#define MOST_GROWTH (UINT64_C(8) << 20) /* bytes of resident memory: what allocators keep is less */

typedef struct footprint {
    uint64_t resident;    /* bytes */
    uint32_t n_descriptors, n_threads;
} footprint;

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

static uint64_t read_resident(void) {
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    uint64_t pages = 0;
    if (file != NULL) {
        if (fgets(text, sizeof text, file) != NULL) {
            const char *at = strchr(text, ' ');
            for (at = at == NULL ? text : at + 1; *at >= '0' && *at <= '9'; at++) {
                pages = pages * 10 + (uint64_t)(*at - '0');
            }
        }
        fclose(file);
    }
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static footprint take_footprint(void) {
    return (footprint){read_resident(), count_entries("/proc/self/fd"), count_entries("/proc/self/task")};
}

/* A sanitizer keeps freed memory for a while. */
static void require_no_growth(cf_context *ctx, const footprint *before, const char *what) {
    const footprint now = take_footprint();
    CF_CHECK(ctx, now.n_descriptors <= before->n_descriptors, "%s leave %u descriptors open", what, now.n_descriptors - before->n_descriptors);
    CF_CHECK(ctx, now.n_threads <= before->n_threads, "%s leave %u threads", what, now.n_threads - before->n_threads);
    CF_CHECK(ctx, QN_NOTE_SANITIZER != QN_SANITIZER_NONE || now.resident <= before->resident + MOST_GROWTH,
             "%s leave %llu KiB more in memory", what, (unsigned long long)(now.resident - before->resident) >> 10);
}

static void starting_and_stopping_hundreds_of_times_leaves_nothing(cf_context *ctx) {
    footprint before = {0};
    const uint32_t n = ctx->is_quick ? N_WARM * 2 : N_LIVES;
    for (uint32_t i = 0; i < n; i++) {
        cf_backend on;
        if (i == N_WARM) {
            before = take_footprint();
        }
        cf_open(ctx, &on, 1);
        cf_close(ctx, &on);
    }
    require_no_growth(ctx, &before, "starts and stops");
}

static void opening_and_closing_hundreds_of_times_leaves_nothing(cf_context *ctx) {
    footprint before = {0};
    cf_backend on;
    qn_error error;
    const uint32_t n = ctx->is_quick ? N_WARM * 2 : N_LIVES;
    cf_open(ctx, &on, 1);
    for (uint32_t i = 0; i < n; i++) {
        qn_device *device = NULL;
        if (i == N_WARM) {
            before = take_footprint();
        }
        cf_clear(&error);
        cf_done(ctx, "open", on.verbs->open(on.plugin, on.info.id, ctx->options[CF_AT_OPEN], ctx->n_options[CF_AT_OPEN], &device, &error), &error);
        on.verbs->close(device);
    }
    require_no_growth(ctx, &before, "openings and closings");
    cf_close(ctx, &on);
}

static void whole_lives_leave_nothing(cf_context *ctx) {
    footprint before = {0};
    const uint32_t n = ctx->is_quick ? 10 : 40;
    for (uint32_t i = 0; i < n; i++) {
        robust_life l;
        if (i == n / 2) {
            before = take_footprint();
        }
        robust_begin(ctx, &l, false, 2);
        robust_step_done(ctx, &l, l.session, 0, 4, NULL);
        robust_end(ctx, &l);
    }
    require_no_growth(ctx, &before, "lives from start to stop");
}

static void hundreds_of_steps_leave_nothing(cf_context *ctx) {
    footprint before = {0};
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    for (uint32_t i = 0; i < 400; i++) {
        if (i == 100) {
            before = take_footprint();
        }
        robust_step_done(ctx, &l, l.session, i % 48, 1 + i % 8, NULL);
    }
    require_no_growth(ctx, &before, "steps");
    robust_end(ctx, &l);
}

static void sessions_come_and_go(cf_context *ctx) {
    robust_life l;
    robust_begin(ctx, &l, false, 2);
    const uint64_t bytes = cf_host_bytes(l.on.host, QN_MEM_KINDS);
    for (uint32_t i = 0; i < 50; i++) {
        qn_session *session = specimen_session(ctx, &l.on, l.prog);
        robust_step_done(ctx, &l, session, 0, 2, NULL);
        l.on.verbs->session_free(session);
        CF_CHECK(ctx, cf_host_bytes(l.on.host, QN_MEM_KINDS) == bytes, "session number %u leaves %lld bytes taken", i + 1,
                 (long long)(cf_host_bytes(l.on.host, QN_MEM_KINDS) - bytes));
    }
    robust_end(ctx, &l);
}

static const cf_test tests[] = {
    CF_LONG_TEST(starting_and_stopping_hundreds_of_times_leaves_nothing, "S3", CF_MUST_PROTOCOL, 3),
    CF_LONG_TEST(opening_and_closing_hundreds_of_times_leaves_nothing, "S3", CF_MUST_PROTOCOL, 3),
    CF_LONG_TEST(whole_lives_leave_nothing, "S3", CF_MUST_DECODE, 5),
    CF_TEST(hundreds_of_steps_leave_nothing, "S3", CF_MUST_DECODE),
    CF_TEST(sessions_come_and_go, "S3", CF_MUST_DECODE),
};
const cf_suite cf_suite_lives = CF_SUITE(6, "lives", tests);
