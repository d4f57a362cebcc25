/* count_instructions.c — how many instructions one decode step takes.
 *
 *     count_instructions MODEL PLUGIN-FOLDER          prints the number, for the cpu backend of that folder
 *     count_instructions MODEL PLUGIN-FOLDER run      only runs the step, in the function `counted_step`: for callgrind --toggle-collect
 *
 * A child opens the model on one thread, reads a few tokens, and marks the beginning and the end of one more step by a signal; this
 * process single-steps it between the two. That is slow (some ten thousand a second), but needs no counter of the processor and no
 * emulator: it works in a virtual machine and with every instruction set that the machine has, where valgrind knows none beyond AVX2.
 * What the kernel does is not counted. QUOIN_CPU_MASK chooses the level, as for quoin.
 */
#define _DEFAULT_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <quoin/engine.h>

enum { PROMPT = 8, NO_MEASURE = 77 };

static void fail(const quoin_error *err) {
    fprintf(stderr, "count_instructions: %s\n", err->text);
    _exit(1);
}

__attribute__((noinline)) int32_t counted_step(quoin_session *session, const uint32_t *id, quoin_error *err);
int32_t counted_step(quoin_session *session, const uint32_t *id, quoin_error *err) {
    return quoin_session_append(session, id, 1, err);
}

/* What is counted is the third step of one token: the first two make what is made once. */
static void run_steps(const char *path, const char *plugins, bool is_marked) {
    quoin_error err = {.size = sizeof err};
    const quoin_runtime_options where = {.size = sizeof where, .n_threads = 1, .backend = "cpu", .plugin_dir = plugins};
    quoin_runtime *runtime = NULL;
    quoin_model *model = NULL;
    quoin_session *session = NULL;
    uint32_t ids[PROMPT];
    for (uint32_t i = 0; i < PROMPT; i++) {
        ids[i] = 3 + i;
    }
    if (quoin_runtime_create(&where, &runtime, &err) < 0 || quoin_model_open(runtime, path, NULL, &model, &err) < 0 ||
        quoin_session_create(model, NULL, &session, &err) < 0 || quoin_session_append(session, ids, PROMPT, &err) < 0 ||
        quoin_session_append(session, ids, 1, &err) < 0 || quoin_session_append(session, ids, 1, &err) < 0) {
        fail(&err);
    }
    if (is_marked) {
        raise(SIGUSR1);
    }
    const int32_t status = counted_step(session, ids, &err);
    if (is_marked) {
        raise(SIGUSR1);
    }
    if (status < 0) {
        fail(&err);
    }
    _exit(0);
}

/* Lets the child run until it marks; false when it ended instead. */
static bool run_to_mark(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == SIGUSR1) {
            return true;
        }
        const int passed_on = WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
        ptrace(PTRACE_CONT, child, NULL, (void *)(intptr_t)passed_on);
    }
    fprintf(stderr, "count_instructions: the child ended before its mark\n");
    return false;
}

/* Where the child stands. A repeated string instruction traps after each round and is counted once; 0: no such machine. */
static uint64_t read_place(pid_t child) {
#if defined(__x86_64__)
    return (uint64_t)ptrace(PTRACE_PEEKUSER, child, (void *)offsetof(struct user_regs_struct, rip), NULL);
#else
    (void)child;
    return 0;
#endif
}

static bool count_to_mark(pid_t child, uint64_t *out_count) {
    int status = 0;
    uint64_t before = 0;
    *out_count = 0;
    while (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 && waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        if (WSTOPSIG(status) == SIGUSR1) {
            return true;
        }
        if (WSTOPSIG(status) != SIGTRAP) {
            break;
        }
        const uint64_t place = read_place(child);
        *out_count += place != before || place == 0;
        before = place;
    }
    fprintf(stderr, "count_instructions: the child ended or failed inside the step\n");
    return false;
}

int main(int argc, char **argv) {
    if (argc != 3 && argc != 4) {
        fprintf(stderr, "usage: count_instructions MODEL PLUGIN-FOLDER [run]\n");
        return 2;
    }
    if (argc == 4) {
        run_steps(argv[1], argv[2], false);
    }
    const pid_t child = fork();
    if (child < 0) {
        perror("count_instructions: fork");
        return 1;
    }
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
            perror("skipped: this process may not be traced");
            _exit(NO_MEASURE);
        }
        raise(SIGSTOP);
        run_steps(argv[1], argv[2], true);
    }
    uint64_t count = 0;
    int status = 0;
    if (waitpid(child, &status, 0) == child && WIFEXITED(status)) {
        return WEXITSTATUS(status);
    }
    ptrace(PTRACE_CONT, child, NULL, NULL);
    if (!run_to_mark(child) || !count_to_mark(child, &count)) {
        kill(child, SIGKILL);
        return 1;
    }
    kill(child, SIGKILL);
    printf("%" PRIu64 "\n", count);
    return 0;
}
