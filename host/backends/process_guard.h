/* process_guard.h — what plugin code must leave as it found it: signal handlers, floating-point control, locale, umask, working
 * folder, environment; and what it may not take unseen: descriptors and threads.
 *
 *     process_state before;
 *     process_state_take(&before);
 *     … code of a plugin …
 *     if (process_state_restore(&before, changed, sizeof changed)) { log it with the plugin's name }
 *
 * Threading: the thread that calls the plugin; nothing else of the process may change these meanwhile.
 * Memory:    owns a copy of the environment between take and restore.
 */
#ifndef HOST_PROCESS_GUARD_H
#define HOST_PROCESS_GUARD_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_SIGNALS 65

typedef struct process_state {
    struct sigaction actions[PROCESS_SIGNALS];
    bool has_action[PROCESS_SIGNALS];
    uint64_t float_control;   /* rounding, traps, flush-to-zero: never the flags that arithmetic sets */
    char locale[256];
    unsigned file_mask;
    uint64_t folder_device, folder_inode;
    int folder;               /* descriptor of the working folder, or -1 */
    char *environment;        /* "A=1\0B=2\0", null when there was no memory for it */
    size_t environment_bytes;
    uint32_t n_descriptors, n_threads;
} process_state;

void process_state_take(process_state *out);

/* Puts back what was changed since and says it in words ("handler of SIGSEGV, umask"); false, with an empty text, when nothing was.
 * *out_grown (may be null) tells descriptors and threads that are new, "2 descriptors, 1 thread", which drivers may have reason for.
 * The state is spent afterwards. */
bool process_state_restore(process_state *before, char *changed, size_t room, char *out_grown, size_t grown_room);

#endif
