/* process_guard.c — taking the state apart and putting it back. */
#define _GNU_SOURCE
#include "backends/process_guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

#if defined(__x86_64__)
#define MXCSR_FLAGS 0x3Fu

static uint64_t read_float_control(void) {
    unsigned short x87 = 0;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    return (uint64_t)x87 << 32 | (__builtin_ia32_stmxcsr() & ~MXCSR_FLAGS);
}

static void write_float_control(uint64_t control) {
    const unsigned short x87 = (unsigned short)(control >> 32);
    __builtin_ia32_ldmxcsr((unsigned)control);
    __asm__ volatile("fldcw %0" : : "m"(x87));
}
#elif defined(__aarch64__)
static uint64_t read_float_control(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

static void write_float_control(uint64_t control) {
    __asm__ volatile("msr fpcr, %0" : : "r"(control));
}
#else
static uint64_t read_float_control(void) {
    return 0;
}

static void write_float_control(uint64_t control) {
    (void)control;
}
#endif

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

static void copy_environment(process_state *out) {
    size_t bytes = 0;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        bytes += strlen(*e) + 1;
    }
    out->environment = malloc(bytes + 1);
    for (char **e = environ; out->environment != NULL && e != NULL && *e != NULL; e++) {
        memcpy(out->environment + out->environment_bytes, *e, strlen(*e) + 1);
        out->environment_bytes += strlen(*e) + 1;
    }
}

static mode_t read_umask(void) {
    const mode_t mask = umask(077);
    umask(mask);
    return mask;
}

void process_state_take(process_state *out) {
    struct stat folder;
    memset(out, 0, sizeof *out);
    for (int number = 1; number < PROCESS_SIGNALS; number++) {
        out->has_action[number] = sigaction(number, NULL, &out->actions[number]) == 0;
    }
    out->float_control = read_float_control();
    const char *locale = setlocale(LC_ALL, NULL);
    snprintf(out->locale, sizeof out->locale, "%s", locale != NULL ? locale : "C");
    out->file_mask = read_umask();
    out->folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (out->folder >= 0 && fstat(out->folder, &folder) == 0) {
        out->folder_device = (uint64_t)folder.st_dev;
        out->folder_inode = (uint64_t)folder.st_ino;
    }
    copy_environment(out);
    out->n_descriptors = count_entries("/proc/self/fd");
    out->n_threads = count_entries("/proc/self/task");
}

static void say(char *text, size_t room, const char *what) {
    const size_t used = strlen(text);
    snprintf(text + used, room - used, "%s%s", used > 0 ? ", " : "", what);
}

static bool is_same_action(const struct sigaction *a, const struct sigaction *b) {
    return a->sa_handler == b->sa_handler && (a->sa_flags & SA_SIGINFO) == (b->sa_flags & SA_SIGINFO);
}

static void restore_signals(const process_state *before, char *text, size_t room) {
    for (int number = 1; number < PROCESS_SIGNALS; number++) {
        struct sigaction now;
        if (before->has_action[number] && sigaction(number, NULL, &now) == 0 &&
            !is_same_action(&before->actions[number], &now)) {
            char words[48];
            const char *name = sigabbrev_np(number);
            snprintf(words, sizeof words, "handler of SIG%s", name != NULL ? name : "RTMIN+");
            sigaction(number, &before->actions[number], NULL);
            say(text, room, words);
        }
    }
}

static bool is_environment_same(const process_state *before) {
    size_t at = 0;
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        const size_t length = strlen(*e) + 1;
        if (length > before->environment_bytes - at || memcmp(before->environment + at, *e, length) != 0) {
            return false;
        }
        at += length;
    }
    return at == before->environment_bytes;
}

static void restore_environment(const process_state *before, char *text, size_t room) {
    if (before->environment == NULL || is_environment_same(before)) {
        return;
    }
    clearenv();
    for (size_t at = 0; at < before->environment_bytes; at += strlen(before->environment + at) + 1) {
        char *entry = before->environment + at, *equals = strchr(entry, '=');
        if (equals != NULL) {
            *equals = '\0';
            setenv(entry, equals + 1, 1);
            *equals = '=';
        }
    }
    say(text, room, "environment");
}

static void restore_folder(const process_state *before, char *text, size_t room) {
    struct stat now;
    const bool is_known = before->folder >= 0 && stat(".", &now) == 0;
    if (is_known && ((uint64_t)now.st_ino != before->folder_inode || (uint64_t)now.st_dev != before->folder_device) &&
        fchdir(before->folder) == 0) {
        say(text, room, "working folder");
    }
}

static void say_growth(uint32_t before, uint32_t now, const char *what, char *text, size_t room) {
    if (now > before) {
        char words[64];
        snprintf(words, sizeof words, "%u %s%s", now - before, what, now - before > 1 ? "s" : "");
        say(text, room, words);
    }
}

bool process_state_restore(process_state *before, char *changed, size_t room, char *out_grown, size_t grown_room) {
    changed[0] = '\0';
    restore_signals(before, changed, room);
    if (read_float_control() != before->float_control) {
        write_float_control(before->float_control);
        say(changed, room, "floating-point control");
    }
    const char *locale = setlocale(LC_ALL, NULL);
    if (locale != NULL && strcmp(locale, before->locale) != 0) {
        setlocale(LC_ALL, before->locale);
        say(changed, room, "locale");
    }
    if (read_umask() != before->file_mask) {
        umask(before->file_mask);
        say(changed, room, "umask");
    }
    restore_folder(before, changed, room);
    restore_environment(before, changed, room);
    if (out_grown != NULL) {
        out_grown[0] = '\0';
        say_growth(before->n_descriptors, count_entries("/proc/self/fd"), "descriptor", out_grown, grown_room);
        say_growth(before->n_threads, count_entries("/proc/self/task"), "thread", out_grown, grown_room);
    }
    if (before->folder >= 0) {
        close(before->folder);
    }
    free(before->environment);
    before->environment = NULL;
    return changed[0] != '\0';
}
