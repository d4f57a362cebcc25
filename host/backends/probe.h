/* probe.h — asking a plugin in a process of its own, and what becomes of the answer.
 *
 *     host ──posix_spawn──► this program's own file, probe_child.h ──dlopen──► plugin
 *      ▲                      │ answer, a private pipe
 *      ├──────────────────────┘
 *      └── standard output and error of the child: the last 4 KiB are kept
 *
 * Only a complete answer counts, whatever the exit status. A child that is still silent at its deadline is killed.
 *
 * The program itself is the child: /proc/self/exe, once main has called probe_use_own_program. A program that merely links
 * libquoin uses bin/quoin of the installation that the library belongs to; where there is none, nothing is probed and plugins are
 * opened in the process at once.
 *
 * Threading: thread-safe, but for probe_use_own_program, which comes first.
 * Memory:    values; nothing is kept.
 * Errors:    what the plugin did wrong is a probe_end in the answer, not an error of the call.
 */
#ifndef HOST_PROBE_H
#define HOST_PROBE_H
#include <stdbool.h>

#include "backends/backend_spec.h"
#include "backends/probe_answer.h"
#include "backends/registry.h"
#include "base/child_process.h"

#define PROBE_WORDS_SIZE CHILD_WORDS_SIZE

typedef struct probe_request {
    const registry_entry *entry;
    const backend_spec *spec;      /* options and device of the user; a device "" means all that are no software */
    bool with_software;            /* also try software devices */
    uint32_t level;                /* 1 devices, 2 known answer, 3 timing */
    uint32_t threads;
    const qn_format *formats;      /* [n_formats] */
    uint32_t n_formats;
    double timeout;                /* seconds before a device is timed; 0 = 2 for a cpu class plugin, 20 for others */
    const volatile uint32_t *cancel; /* may be null */
} probe_request;

typedef struct probe_result {
    probe_answer answer;
    bool is_cacheable;             /* not for what may be otherwise in a moment: BUSY, DENIED, TIMEOUT, an interrupt */
    double seconds;
    char words[PROBE_WORDS_SIZE];  /* end of what the child printed; control characters are spaces */
} probe_result;

/* Says that /proc/self/exe understands PROBE_COMMAND. */
void probe_use_own_program(void);

/* The program to spawn, into path; false when there is none. */
bool probe_find_program(char *path, size_t room);

/* Spawns, waits, judges. *out is always filled: answer.end tells a death, a deadline or a refusal. */
void probe_run(const probe_request *request, probe_result *out);

/* Children that this process has spawned so far. */
uint32_t probe_count_children(void);

#endif
