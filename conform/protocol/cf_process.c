/* cf_process.c — level 1: no verb changes the process or prints. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/elf_note.h"
#include "backends/process_guard.h"
#include "base/mapped_file.h"
#include "protocol/protocol.h"

/* One life of a plugin, verb by verb, with something done around each. */
typedef struct watched_life {
    cf_context *ctx;
    process_state before;
    const char *verb;
    bool has_driver;   /* a library of somebody else's below the plugin */
} watched_life;

/* By the note of the file: a backend of class cpu has no driver. */
static watched_life watch(cf_context *ctx) {
    mapped_file file;
    elf_facts facts;
    watched_life w = {.ctx = ctx};
    if (ctx->plugin_path != NULL && mapped_file_open(ctx->plugin_path, &file, NULL) >= 0) {
        w.has_driver = elf_note_read(file.span, &facts, NULL) >= 0 && facts.has_note && facts.note.device_class != QN_DEVICE_CPU;
        mapped_file_close(&file);
    }
    return w;
}

/* Takes "handler of SIGX" out of the words. The compiler inside a driver may install handlers when it is loaded, and a plugin, which
 * calls no signal function, cannot put them back; the host does. */
static void drop_handlers(char *changed) {
    static const char handler[] = "handler of ";
    char *to = changed;
    for (const char *at = changed; *at != '\0';) {
        const char *comma = strstr(at, ", ");
        const size_t n = comma == NULL ? strlen(at) : (size_t)(comma - at) + 2;
        if (strncmp(at, handler, sizeof handler - 1) != 0) {
            memmove(to, at, n);
            to += n;
        }
        at += n;
    }
    *to = '\0';
}

static void enter(watched_life *w, const char *verb) {
    w->verb = verb;
    process_state_take(&w->before);
}

static void leave(watched_life *w) {
    char changed[400];
    if (!process_state_restore(&w->before, changed, sizeof changed, NULL, 0)) {
        return;
    }
    if (w->has_driver) {
        cf_note(w->ctx, "%s changes the process: %s", w->verb, changed);
        drop_handlers(changed);
    }
    CF_CHECK(w->ctx, changed[0] == '\0', "%s changes the process: %s", w->verb, changed);
}

static void live_watched(watched_life *w, cf_backend *on, const specimen *s, qn_prog **prog, qn_session **session) {
    cf_context *ctx = w->ctx;
    specimen_turn turn;
    qn_error error;
    enter(w, "compile");
    *prog = specimen_compiled(ctx, on, s, 0);
    leave(w);
    enter(w, "bind_weights");
    specimen_bind(ctx, on, s, *prog, 0, s->n_weights);
    leave(w);
    enter(w, "seal");
    cf_clear(&error);
    cf_done(ctx, "seal", on->verbs->seal(*prog, &error), &error);
    leave(w);
    enter(w, "session_new");
    *session = specimen_session(ctx, on, *prog);
    leave(w);
    for (uint32_t i = 0; i < 3; i++) {
        specimen_turn_init(ctx, s, &turn, i * 3, 3);
        enter(w, "step");
        cf_done(ctx, "step", on->verbs->step(*session, &turn.step, &error), &error);
        leave(w);
        specimen_turn_deinit(&turn);
    }
}

static void no_verb_changes_the_process(cf_context *ctx) {
    watched_life w = watch(ctx);
    cf_backend on;
    specimen s;
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    enter(&w, "start, devices or open");
    cf_open(ctx, &on, 0);
    leave(&w);
    enter(&w, "check");
    specimen_choose(ctx, &on, &s);
    leave(&w);
    live_watched(&w, &on, &s, &prog, &session);
    enter(&w, "session_free");
    on.verbs->session_free(session);
    leave(&w);
    enter(&w, "prog_free");
    on.verbs->prog_free(prog);
    leave(&w);
    enter(&w, "close or stop");
    cf_close(ctx, &on);
    leave(&w);
    specimen_deinit(&s);
}

static void starting_and_stopping_changes_nothing(cf_context *ctx) {
    watched_life w = watch(ctx);
    cf_backend on;
    enter(&w, "start, devices or open");
    cf_open(ctx, &on, 0);
    leave(&w);
    enter(&w, "close or stop");
    cf_close(ctx, &on);
    leave(&w);
}

/* A driver that forks takes the host's memory and descriptors along. */
static void no_process_is_started(cf_context *ctx) {
    cf_backend on;
    siginfo_t child;
    cf_open(ctx, &on, 0);
    cf_close(ctx, &on);
    const int answer = waitid(P_ALL, 0, &child, WEXITED | WNOHANG | WNOWAIT);
    CF_CHECK(ctx, answer == -1 && errno == ECHILD, "a process was started and is still there after stop");
}

/* --- Printing --------------------------------------------------------------------------------------------------------- */

typedef struct diverted {
    int file, outputs[2];
} diverted;

static void divert(cf_context *ctx, diverted *d) {
    fflush(stdout); /* with --in-process the report's own lines */
    d->file = memfd_create("printed", MFD_CLOEXEC);
    CF_CHECK(ctx, d->file >= 0, "no memory file could be made");
    for (int fd = 1; fd <= 2; fd++) {
        d->outputs[fd - 1] = dup(fd);
        CF_CHECK(ctx, d->outputs[fd - 1] >= 0 && dup2(d->file, fd) == fd, "descriptor %d could not be diverted", fd);
    }
}

static void require_silence(cf_context *ctx, diverted *d) {
    char words[160] = "";
    fflush(stdout);
    for (int fd = 1; fd <= 2; fd++) {
        dup2(d->outputs[fd - 1], fd);
        close(d->outputs[fd - 1]);
    }
    const off_t size = lseek(d->file, 0, SEEK_END);
    const ssize_t n = pread(d->file, words, sizeof words - 1, 0);
    close(d->file);
    words[n > 0 ? n : 0] = '\0';
    CF_CHECK(ctx, size == 0, "the plugin prints %lld bytes, which begin: %s", (long long)size, words);
}

static void nothing_is_printed(cf_context *ctx) {
    watched_life w = watch(ctx);
    diverted d;
    cf_backend on;
    specimen s;
    qn_prog *prog = NULL;
    qn_session *session = NULL;
    cf_open(ctx, &on, 0);
    specimen_choose(ctx, &on, &s);
    cf_close(ctx, &on);
    divert(ctx, &d);
    cf_open(ctx, &on, 0);
    live_watched(&w, &on, &s, &prog, &session);
    on.verbs->session_free(session);
    on.verbs->prog_free(prog);
    cf_close(ctx, &on);
    require_silence(ctx, &d);
    specimen_deinit(&s);
}

static void nothing_is_printed_by_those_that_refuse(cf_context *ctx) {
    diverted d;
    cf_backend on;
    qn_error error;
    qn_device *device = NULL;
    divert(ctx, &d);
    cf_open(ctx, &on, 0);
    cf_clear(&error);
    (void)on.verbs->open(on.plugin, "no such device", NULL, 0, &device, &error);
    on.verbs->session_free(NULL);
    cf_close(ctx, &on);
    require_silence(ctx, &d);
}

static const cf_test tests[] = {
    CF_TEST(starting_and_stopping_changes_nothing, "E2", CF_MUST_PROTOCOL),
    CF_TEST(no_verb_changes_the_process, "E2", CF_MUST_DECODE),
    CF_TEST(no_process_is_started, "E2", CF_MUST_PROTOCOL),
    CF_TEST(nothing_is_printed_by_those_that_refuse, "E2", CF_MUST_PROTOCOL),
    CF_TEST(nothing_is_printed, "E2", CF_MUST_DECODE),
};
const cf_suite cf_suite_process = CF_SUITE(1, "process", tests);
