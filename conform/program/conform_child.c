/* conform_child.c — the child: loads the plugin, runs one test, tells its lines. */
#define _GNU_SOURCE
#include "program/conform_child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/decimal.h"
#include "program/conform_context.h"

static void write_line(void *arg, const char *line, size_t size) {
    const int fd = *(const int *)arg;
    for (size_t at = 0; at < size;) {
        const ssize_t n = write(fd, line + at, size - at);
        if (n <= 0) {
            return; /* nobody reads any more; the parent knows what that means */
        }
        at += (size_t)n;
    }
}

/* Dies with its parent, leaves no core, and gives the pipe to nobody. */
static bool settle(int fd, pid_t parent) {
    const struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

static bool find_entry(const char *id, conform_entry *out) {
    if (strcmp(id, CONFORM_OPENING) == 0) {
        *out = conform_opening_entry();
        return true;
    }
    return conform_plan_find(id, out);
}

int conform_child_main(int argc, char *const *argv) {
    static conform_request request; /* large */
    error_context err = {0};
    uint64_t parent, seed, only_case;
    conform_entry entry;
    int fd = CHILD_ANSWER_FD, status;
    if (argc < 5 || !decimal_read_whole(argv[0], INT32_MAX, &parent) || !decimal_read_whole(argv[2], UINT64_MAX, &seed) ||
        !decimal_read_whole(argv[3], UINT64_MAX, &only_case) || !settle(fd, (pid_t)parent) || !find_entry(argv[1], &entry) ||
        conform_request_read(&request, argc - 4, argv + 4, &status, &err) < 0) {
        return CONFORM_USAGE;
    }
    request.seed = seed;
    if (!conform_context_run(&request, &entry, write_line, &fd, only_case)) {
        _exit(CONFORM_PASSED); /* lint: what a failed test left behind is not to be tidied by the plugin's own code */
    }
    return CONFORM_PASSED;
}
