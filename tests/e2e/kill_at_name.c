/* kill_at_name.c — kills the process before its N-th change of a name, N from KILL_AT_NAME. For LD_PRELOAD.
 *
 * A change is a call of rename, renameat, link, linkat, unlink or unlinkat. Without the variable nothing happens.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long n_changes;

static void count_change(void) {
    const char *last = getenv("KILL_AT_NAME");
    if (last != NULL && atomic_fetch_add(&n_changes, 1) + 1 == strtol(last, NULL, 10)) {
        raise(SIGKILL);
    }
}

/* The C library's function of this name, as a type that is called. */
#define REAL(type, name) ((type)(void *)dlsym(RTLD_NEXT, name))

int rename(const char *from, const char *to) {
    count_change();
    return REAL(int (*)(const char *, const char *), "rename")(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    count_change();
    return REAL(int (*)(int, const char *, int, const char *), "renameat")(from_folder, from, to_folder, to);
}

int link(const char *from, const char *to) {
    count_change();
    return REAL(int (*)(const char *, const char *), "link")(from, to);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    count_change();
    return REAL(int (*)(int, const char *, int, const char *, int), "linkat")(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
    count_change();
    return REAL(int (*)(const char *), "unlink")(path);
}

int unlinkat(int folder, const char *path, int flags) {
    count_change();
    return REAL(int (*)(int, const char *, int), "unlinkat")(folder, path, flags);
}
