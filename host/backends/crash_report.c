/* crash_report.c — what a signal handler may do: write, and let the signal take its course. */
#define _GNU_SOURCE
#include "backends/crash_report.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "backends/host_services.h"

#define STACK_BYTES 32768

static _Atomic(const char *) current_name, current_verb;
static char stack[STACK_BYTES];

void crash_report_enter(const char *name, const char *verb) {
    atomic_store_explicit(&current_verb, verb, memory_order_relaxed);
    atomic_store_explicit(&current_name, name, memory_order_relaxed);
}

void crash_report_leave(void) {
    atomic_store_explicit(&current_name, NULL, memory_order_relaxed);
}

static size_t append(char *line, size_t used, size_t room, const char *text) {
    while (text != NULL && *text != '\0' && used < room) {
        line[used++] = *text++;
    }
    return used;
}

static void on_death(int number) {
    const char *name = atomic_load(&current_name);
    if (name != NULL) {
        char line[256];
        size_t used = append(line, 0, sizeof line - 1, "error: backend ");
        used = append(line, used, sizeof line - 1, name);
        used = append(line, used, sizeof line - 1, " crashed in ");
        used = append(line, used, sizeof line - 1, atomic_load(&current_verb));
        used = append(line, used, sizeof line - 1, ": SIG");
        used = append(line, used, sizeof line - 1, sigabbrev_np(number));
        line[used++] = '\n';
        (void)!write(STDERR_FILENO, line, used);
    }
    signal(number, SIG_DFL); /* the faulting instruction runs again and now ends the process; abort sends its signal again */
}

void crash_report_install(void) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_death, .sa_flags = SA_ONSTACK};
    if (host_sanitizer() != QN_SANITIZER_NONE) {
        return;
    }
    sigemptyset(&action.sa_mask);
    sigaltstack(&own, NULL);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        sigaction(numbers[i], &action, NULL);
    }
}
