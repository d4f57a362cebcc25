/* probe.c — a child with a deadline, and what its end means. */
#define _GNU_SOURCE
#include "backends/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "backends/host_services.h"
#include "backends/probe_child.h"
#include "base/child_process.h"
#include "base/clock.h"

#define CPU_TIMEOUT 2.0
#define DEVICE_TIMEOUT 20.0
#define MEASURE_TIMEOUT 10.0 /* more, for each device that is timed */
#define MEASURE_MARK "stage = measure\n"
#define MAX_ARGUMENTS (11 + BACKEND_MAX_OPTIONS)
#define ARGUMENT_SIZE 192

static bool is_own_program; /* written before any thread is there */
static atomic_uint n_children;

void probe_use_own_program(void) {
    is_own_program = true;
}

uint32_t probe_count_children(void) {
    return atomic_load(&n_children);
}

/* An address inside whatever file this code was linked into. */
static const void *own_address(void) {
    static const char here;
    return &here;
}

/* bin/quoin beside the folder (of up to two levels: lib, lib/TRIPLET) that this library lies in. */
static bool find_installed(char *path, size_t room) {
    Dl_info library;
    char folder[1024];
    if (dladdr(own_address(), &library) == 0 || library.dli_fname[0] != '/' ||
        (size_t)snprintf(folder, sizeof folder, "%s", library.dli_fname) >= sizeof folder) {
        return false;
    }
    for (int level = 0; level < 3; level++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
        if (level > 0 && (size_t)snprintf(path, room, "%s/bin/quoin", folder) < room && access(path, X_OK) == 0) {
            return true;
        }
    }
    return false;
}

bool probe_find_program(char *path, size_t room) {
    if (is_own_program) {
        snprintf(path, room, "/proc/self/exe");
        return true;
    }
    return find_installed(path, room);
}

/* --- The command line ------------------------------------------------------------------------------------------------- */

typedef struct command_line {
    char *argv[MAX_ARGUMENTS + 1];
    uint32_t n;
    char text[MAX_ARGUMENTS][ARGUMENT_SIZE];
    char path[REGISTRY_PATH_SIZE];
} command_line;

static char *add_argument(command_line *line) {
    char *text = line->text[line->n];
    line->argv[line->n++] = text;
    return text;
}

static void fill_command_line(const probe_request *r, command_line *line) {
    memset(line, 0, sizeof *line);
    snprintf(add_argument(line), ARGUMENT_SIZE, "quoin");
    snprintf(add_argument(line), ARGUMENT_SIZE, PROBE_COMMAND);
    snprintf(add_argument(line), ARGUMENT_SIZE, "%d", CHILD_ANSWER_FD);
    snprintf(add_argument(line), ARGUMENT_SIZE, "%ld", (long)getpid());
    snprintf(add_argument(line), ARGUMENT_SIZE, "%s", r->entry->name);
    snprintf(line->path, sizeof line->path, "%s", r->entry->path);
    line->argv[line->n++] = line->path;
    snprintf(add_argument(line), ARGUMENT_SIZE, "%u", r->threads);
    snprintf(add_argument(line), ARGUMENT_SIZE, "%u", r->level);
    snprintf(add_argument(line), ARGUMENT_SIZE, "%s", r->spec->device[0] != '\0' ? r->spec->device : r->with_software ? "all" : "");
    char *formats = add_argument(line);
    size_t used = 0;
    for (uint32_t i = 0; i < r->n_formats && i < PROBE_MAX_RATES; i++) {
        used += (size_t)snprintf(formats + used, ARGUMENT_SIZE - used, "%s%u", i > 0 ? "," : "", r->formats[i]);
    }
    for (uint32_t i = 0; i < r->spec->n_options; i++) {
        snprintf(add_argument(line), ARGUMENT_SIZE, "%s=%s", r->spec->keys[i], r->spec->values[i]);
    }
}

/* --- The child -------------------------------------------------------------------------------------------------------- */

/* 0, or errno. */
static int start_child(const probe_request *r, child_process *c) {
    char program[REGISTRY_PATH_SIZE];
    command_line line;
    if (!probe_find_program(program, sizeof program)) {
        return ENOENT;
    }
    fill_command_line(r, &line);
    const int failure = child_process_start(c, program, line.argv);
    atomic_fetch_add(&n_children, failure == 0);
    return failure;
}

static bool is_answered(const child_process *c) {
    static const char end[] = "\nend\n";
    const size_t size = sizeof end - 1;
    return c->answer.size >= size && memcmp(c->answer.text + c->answer.size - size, end, size) == 0;
}

typedef uint32_t wait_end;
enum { WAIT_ANSWERED, WAIT_DIED, WAIT_LATE, WAIT_CANCELLED };

/* Devices that are being timed, or have been: what is slow then is no sign of a driver that hangs. */
static uint32_t count_measured(const child_process *c) {
    uint32_t n = 0;
    size_t at = 0;
    while (c->answer.text != NULL && at < c->answer.size) {
        const char *found = memmem(c->answer.text + at, c->answer.size - at, MEASURE_MARK, sizeof MEASURE_MARK - 1);
        n += found != NULL;
        at = found != NULL ? (size_t)(found - c->answer.text) + 1 : c->answer.size;
    }
    return n < PROBE_MAX_DEVICES ? n : PROBE_MAX_DEVICES;
}

/* Reads until the answer is whole, the child is gone, or time is up. */
static wait_end wait_for(child_process *c, const probe_request *r, double until) {
    for (;;) {
        const double left = until + count_measured(c) * MEASURE_TIMEOUT - clock_seconds();
        if (is_answered(c)) {
            return WAIT_ANSWERED;
        }
        if (r->cancel != NULL && qn_flag_is_up(r->cancel)) {
            return WAIT_CANCELLED;
        }
        if (left <= 0.0) {
            return WAIT_LATE;
        }
        const bool is_over = child_process_has_ended(c); /* asked before the pipes are read for the last time */
        const bool has_come = child_process_read(c, is_over ? 0 : left > 0.05 ? 50 : (int)(left * 1000.0) + 1);
        if (is_over && !has_come) {
            return is_answered(c) ? WAIT_ANSWERED : WAIT_DIED;
        }
    }
}

/* --- What it means ---------------------------------------------------------------------------------------------------- */

static void describe_death(const child_process *c, double limit, wait_end how, char *text, size_t room) {
    if (how == WAIT_LATE) {
        snprintf(text, room, "no answer within %g s", limit);
    } else if (WIFSIGNALED(c->exit_status)) {
        snprintf(text, room, "child died, %s", strsignal(WTERMSIG(c->exit_status)));
    } else {
        snprintf(text, room, "child ended with exit status %d and without an answer", WEXITSTATUS(c->exit_status));
    }
}

static void tell_end(const child_process *c, wait_end how, double limit, probe_result *out) {
    probe_end *end = &out->answer.end;
    char death[160], stage[PROBE_STAGE_SIZE];
    probe_answer_last_stage(c->answer.text != NULL ? c->answer.text : "", c->answer.size, stage);
    describe_death(c, limit, how, death, sizeof death);
    memset(&out->answer, 0, sizeof out->answer);
    end->status = how == WAIT_LATE ? QN_TIMEOUT : how == WAIT_CANCELLED ? QN_CANCELLED : QN_INTERNAL;
    snprintf(end->stage, sizeof end->stage, "probe");
    const size_t n = strlen(out->words), shown = n < 160 ? n : 160;
    if (n > 0) {
        snprintf(end->reason, sizeof end->reason, "%s, in %s (last words: \"%s\")", death, stage[0] != '\0' ? stage : "its start",
                 out->words + n - shown);
    } else {
        snprintf(end->reason, sizeof end->reason, "%s, in %s", death, stage[0] != '\0' ? stage : "its start");
    }
}

static bool is_lasting(qn_status status) {
    return status != QN_BUSY && status != QN_DENIED && status != QN_TIMEOUT && status != QN_CANCELLED &&
           status != QN_NO_HOST_MEM && status != QN_NO_DEVICE_MEM;
}

static bool is_lasting_answer(const probe_answer *answer) {
    bool is_lasting_all = is_lasting(answer->end.status);
    for (uint32_t i = 0; i < answer->n_devices; i++) {
        is_lasting_all = is_lasting_all && is_lasting(answer->devices[i].end.status);
    }
    return is_lasting_all;
}

static double choose_timeout(const probe_request *r) {
    const bool is_cpu = r->entry->elf.has_note && r->entry->elf.note.device_class == QN_DEVICE_CPU &&
                        (r->entry->elf.note.flags & QN_NOTE_SLOW_DEVICES) == 0;
    return r->timeout > 0.0 ? r->timeout : is_cpu ? CPU_TIMEOUT : DEVICE_TIMEOUT;
}

void probe_run(const probe_request *request, probe_result *out) {
    child_process c = {.answer_fd = -1, .words_fd = -1};
    const double begin = clock_seconds(), limit = choose_timeout(request);
    memset(out, 0, sizeof *out);
    const int failure = start_child(request, &c);
    const wait_end how = failure == 0 ? wait_for(&c, request, begin + limit) : WAIT_DIED;
    child_process_bury(&c);
    out->seconds = clock_seconds() - begin;
    child_process_words(&c, out->words);
    if (failure != 0) {
        out->answer.end.status = QN_IO;
        snprintf(out->answer.end.stage, sizeof out->answer.end.stage, "probe");
        snprintf(out->answer.end.reason, sizeof out->answer.end.reason, "no child could be started: %s", strerror(failure));
    } else if (how != WAIT_ANSWERED || !probe_answer_read(c.answer.text, c.answer.size, &out->answer)) {
        tell_end(&c, how, limit, out);
    }
    out->is_cacheable = failure == 0 && is_lasting_answer(&out->answer);
    child_process_free(&c);
}
