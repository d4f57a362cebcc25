/* child_process.c — spawning, reading two pipes, burying. */
#define _GNU_SOURCE
#include "base/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void close_descriptor(int *fd) {
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* Both ends closed on exec. dup2 onto its number opens the child's own again; a pipe that has that number already cannot be, since
 * 0, 1, 2 and CHILD_ANSWER_FD are passed over. */
static bool open_pipe(int ends[2]) {
    int raw[2];
    if (pipe2(raw, O_CLOEXEC) != 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(raw[i], F_DUPFD_CLOEXEC, CHILD_ANSWER_FD + 1);
        close(raw[i]);
    }
    return ends[0] >= 0 && ends[1] >= 0;
}

static int spawn_with(child_process *c, const char *program, char *const *argv, int answer_end, int words_end) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t defaults, mask;
    sigfillset(&defaults);
    sigemptyset(&mask);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, words_end, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, words_end, STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&actions, answer_end, CHILD_ANSWER_FD);
    /* A group of its own, so that what a driver starts is killed with it. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &mask);
    const int failure = posix_spawn(&c->pid, program, &actions, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return failure;
}

int child_process_start(child_process *out, const char *program, char *const *argv) {
    int answer[2] = {-1, -1}, words[2] = {-1, -1};
    memset(out, 0, sizeof *out);
    const int failure = open_pipe(answer) && open_pipe(words) ? spawn_with(out, program, argv, answer[1], words[1]) : errno;
    close_descriptor(&answer[1]);
    close_descriptor(&words[1]);
    out->answer_fd = answer[0];
    out->words_fd = words[0];
    if (failure != 0) {
        out->pid = 0;
        close_descriptor(&out->answer_fd);
        close_descriptor(&out->words_fd);
    }
    return failure;
}

static void read_answer(child_process *c) {
    char part[4096];
    const ssize_t n = read(c->answer_fd, part, sizeof part);
    if (n < 0 && errno == EINTR) {
        return;
    }
    if (n <= 0 || c->answer.size + (size_t)n > CHILD_MOST_ANSWER || !text_buffer_append(&c->answer, part, (size_t)n)) {
        close_descriptor(&c->answer_fd);
    }
}

static void read_words(child_process *c) {
    char part[4096];
    const ssize_t n = read(c->words_fd, part, sizeof part);
    if (n == 0 || (n < 0 && errno != EINTR)) {
        close_descriptor(&c->words_fd);
    }
    for (ssize_t i = 0; i < n; i++) {
        c->ring[c->n_printed++ % CHILD_WORDS_SIZE] = part[i];
    }
}

bool child_process_read(child_process *c, int milliseconds) {
    struct pollfd polled[2] = {{c->answer_fd, POLLIN, 0}, {c->words_fd, POLLIN, 0}};
    /* Both ends are closed a moment before the process can be waited for. */
    const bool is_ending = c->answer_fd < 0 && c->words_fd < 0;
    const int n = poll(polled, 2, is_ending && milliseconds > 1 ? 1 : milliseconds);
    if (n > 0 && polled[0].revents != 0) {
        read_answer(c);
    }
    if (n > 0 && polled[1].revents != 0) {
        read_words(c);
    }
    return n > 0;
}

bool child_process_has_ended(child_process *c) {
    if (c->pid > 0 && waitpid(c->pid, &c->exit_status, WNOHANG) == c->pid) {
        kill(-c->pid, SIGKILL); /* what it started and left behind */
        c->pid = 0;
    }
    return c->pid == 0;
}

void child_process_take(child_process *c, size_t size) {
    c->answer.size -= size;
    memmove(c->answer.text, c->answer.text + size, c->answer.size);
}

void child_process_bury(child_process *c) {
    if (c->pid > 0) {
        kill(-c->pid, SIGKILL);
        kill(c->pid, SIGKILL);
        while (waitpid(c->pid, &c->exit_status, 0) < 0 && errno == EINTR) {
        }
        c->pid = 0;
    }
    close_descriptor(&c->answer_fd);
    close_descriptor(&c->words_fd);
}

void child_process_free(child_process *c) {
    text_buffer_free(&c->answer);
}

void child_process_words(const child_process *c, char *out) {
    const size_t n = c->n_printed < CHILD_WORDS_SIZE - 1 ? c->n_printed : CHILD_WORDS_SIZE - 1;
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)c->ring[(c->n_printed - n + i) % CHILD_WORDS_SIZE];
        out[i] = byte < ' ' || byte == 0x7F ? ' ' : (char)byte;
    }
    size_t end = n;
    while (end > 0 && out[end - 1] == ' ') {
        end--;
    }
    out[end] = '\0';
}
