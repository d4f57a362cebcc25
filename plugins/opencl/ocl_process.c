/* ocl_process.c — handlers and variables, saved and put back.
 *
 * Handlers are read and written by the system call itself, whole: what is put back is the very record that was there. The array of
 * variables is put back in place, which leaves the strings of the driver unused and breaks nothing that it points to.
 */
#define _GNU_SOURCE
#include "ocl_process.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

static int exchange_action(int number, const uint64_t *now, uint64_t *before) {
    return syscall(SYS_rt_sigaction, number, now, before, sizeof(uint64_t)) == 0;
}

static uint32_t count_variables(void) {
    uint32_t n = 0;
    while (environ != NULL && environ[n] != NULL && n < OCL_MOST_VARIABLES) {
        n++;
    }
    return n;
}

void ocl_process_take(ocl_process *process) {
    memset(process, 0, sizeof *process);
    for (int s = 1; s < OCL_SIGNALS; s++) {
        process->is_known[s] = (uint8_t)exchange_action(s, NULL, process->actions[s]);
    }
    process->n_variables = count_variables();
    memcpy(process->variables, environ, process->n_variables * sizeof *process->variables);
}

static void restore_actions(const ocl_process *process) {
    for (int s = 1; s < OCL_SIGNALS; s++) {
        uint64_t now[4] = {0};
        if (process->is_known[s] && exchange_action(s, NULL, now) && memcmp(now, process->actions[s], sizeof now) != 0) {
            (void)exchange_action(s, process->actions[s], NULL);
        }
    }
}

/* The array has room for as many as it holds. */
static void restore_variables(const ocl_process *process) {
    const uint32_t n = count_variables();
    if (n == OCL_MOST_VARIABLES || process->n_variables > n) {
        return;
    }
    memcpy(environ, process->variables, process->n_variables * sizeof *environ);
    environ[process->n_variables] = NULL;
}

void ocl_process_restore(const ocl_process *process) {
    restore_actions(process);
    restore_variables(process);
}
