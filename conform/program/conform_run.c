/* conform_run.c — the parent: spawns one child a test, reads its lines until its deadline, and judges how it ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/clock.h"
#include "program/conform_child.h"
#include "program/conform_context.h"

#define ENDING_SECONDS 10.0 /* for a process that has told its result */

volatile sig_atomic_t conform_is_interrupted;

typedef struct child_lines {
    conform_result *result;
    conform_facts *facts;
    bool has_ended;     /* the end line came */
    bool is_garbled;
} child_lines;

/* Takes the whole lines that have come. */
static void take_lines(child_process *c, child_lines *lines) {
    size_t at = 0;
    while (at < c->answer.size) {
        const char *begin = c->answer.text + at;
        const char *end = memchr(begin, '\n', c->answer.size - at);
        if (end == NULL) {
            break;
        }
        if (!lines->has_ended && !conform_result_take(lines->result, lines->facts, begin, (size_t)(end - begin))) {
            lines->is_garbled = true;
        }
        lines->has_ended = lines->result->outcome != OUTCOME_NONE;
        at = (size_t)(end - c->answer.text) + 1;
    }
    if (at > 0) {
        child_process_take(c, at);
    }
}

/* Reads until the process is gone or its time is up; true when it is gone. */
static bool wait_for_end(child_process *c, child_lines *lines, double limit) {
    double until = clock_seconds() + limit;
    bool had_ended = false;
    for (;;) {
        const bool is_over = child_process_has_ended(c); /* asked before the pipes are read for the last time */
        const bool has_come = child_process_read(c, is_over ? 0 : 50);
        take_lines(c, lines);
        if (lines->has_ended && !had_ended) {
            had_ended = true;
            until = clock_seconds() + ENDING_SECONDS;
        }
        if (is_over && !has_come) {
            return true;
        }
        if (!is_over && (clock_seconds() >= until || conform_is_interrupted)) {
            return false;
        }
    }
}

static void fail_with(conform_result *out, conform_outcome outcome, const char *words) {
    char text[CF_LINE_SIZE];
    const bool is_labelled = out->label[0] != '\0' && outcome != OUTCOME_FAIL;
    snprintf(text, sizeof text, "%s%.511s%s%.3000s", is_labelled ? "in case " : "", is_labelled ? out->label : "",
             is_labelled ? ": " : "", words);
    snprintf(out->words, sizeof out->words, "%s", text);
    out->outcome = outcome;
}

static void name_signal(int number, char *text, size_t room) {
    const char *name = sigabbrev_np(number);
    snprintf(text, room, "SIG%s (%s)", name != NULL ? name : "?", strsignal(number));
}

/* The process is gone: does its end fit its result? */
static void judge_end(const child_process *c, const child_lines *lines, conform_result *out) {
    char words[300], name[80];
    if (WIFSIGNALED(c->exit_status)) {
        name_signal(WTERMSIG(c->exit_status), name, sizeof name);
        snprintf(words, sizeof words, "%s%s", name, lines->has_ended ? ", when the process ended after its result" : "");
        fail_with(out, OUTCOME_CRASH, words);
    } else if (!lines->has_ended) {
        snprintf(words, sizeof words, "the process ended with status %d and without a result", WEXITSTATUS(c->exit_status));
        fail_with(out, OUTCOME_CRASH, words);
    } else if (WEXITSTATUS(c->exit_status) != 0 && out->outcome == OUTCOME_PASS) {
        snprintf(words, sizeof words, "the test passed, but its process ended with status %d", WEXITSTATUS(c->exit_status));
        fail_with(out, OUTCOME_FAIL, words);
    }
}

static void keep_printed(const child_process *c, conform_result *out) {
    char words[CHILD_WORDS_SIZE];
    child_process_words(c, words);
    text_buffer_append(&out->printed, words, strlen(words));
}

static void run_child(conform_runner *runner, const conform_entry *entry, char *const *argv, double limit, conform_result *out) {
    child_process c;
    child_lines lines = {.result = out, .facts = &runner->facts};
    char words[256];
    const int failure = child_process_start(&c, "/proc/self/exe", argv);
    if (failure != 0) {
        snprintf(words, sizeof words, "no process could be started: %s", strerror(failure));
        fail_with(out, OUTCOME_FAIL, words);
        return;
    }
    const bool is_gone = wait_for_end(&c, &lines, limit);
    child_process_bury(&c);
    keep_printed(&c, out);
    if (!is_gone) {
        snprintf(words, sizeof words, lines.has_ended ? "told its result, but did not end within %g s" : "no result within %g s",
                 lines.has_ended ? ENDING_SECONDS : limit);
        fail_with(out, OUTCOME_TIMEOUT, words);
    } else {
        judge_end(&c, &lines, out);
    }
    if (lines.is_garbled && out->outcome == OUTCOME_PASS) {
        snprintf(words, sizeof words, "%s wrote something else on the pipe of results", entry->id);
        fail_with(out, OUTCOME_FAIL, words);
    }
    child_process_free(&c);
}

static void spawn_test(conform_runner *runner, const conform_entry *entry, conform_result *out) {
    const conform_request *r = runner->request;
    char parent[24], seed[24], only_case[24], id[CONFORM_ID_SIZE], program[] = "quoin-conform", command[] = CONFORM_CHILD;
    char **argv = calloc((size_t)runner->argc + 7, sizeof *argv);
    if (argv == NULL) {
        fail_with(out, OUTCOME_FAIL, "no memory to start a process");
        return;
    }
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->seed);
    snprintf(only_case, sizeof only_case, "%llu", (unsigned long long)r->repro_case);
    snprintf(id, sizeof id, "%s", entry->id);
    char *const head[] = {program, command, parent, id, seed, only_case};
    memcpy(argv, head, sizeof head);
    memcpy(argv + 6, runner->argv, (size_t)runner->argc * sizeof *argv);
    run_child(runner, entry, argv, r->timeout * (entry->test->patience == 0 ? 1 : entry->test->patience), out);
    free(argv);
}

typedef struct here_lines {
    conform_runner *runner;
    conform_result *result;
} here_lines;

static void take_line_here(void *arg, const char *line, size_t size) {
    here_lines *lines = arg;
    conform_result_take(lines->result, &lines->runner->facts, line, size > 0 ? size - 1 : 0);
}

void conform_run_one(conform_runner *runner, const conform_entry *entry, conform_result *out) {
    const double begin = clock_seconds();
    here_lines lines = {runner, out};
    memset(out, 0, sizeof *out);
    if (runner->request->in_process) {
        conform_context_run(runner->request, entry, take_line_here, &lines, runner->request->repro_case);
    } else {
        spawn_test(runner, entry, out);
    }
    out->seconds = clock_seconds() - begin;
}

void conform_run_opening(conform_runner *runner, conform_result *out) {
    const conform_entry entry = conform_opening_entry();
    conform_request request = *runner->request;
    const conform_request *theirs = runner->request;
    request.repro_case = 0;
    runner->request = &request;
    conform_run_one(runner, &entry, out);
    runner->request = theirs;
}
