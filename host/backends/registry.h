/* registry.h — which backends there are: the built-in reference and the plugin files found on disk; loading one of them.
 *
 * Discovery (discover.c) looks at names, owners and permissions, and reads each file's note without loading it (elf_note.h). A
 * file is loaded when it becomes a candidate (registry_load), so that `--backend reference` runs no code of any other plugin.
 *
 * Search order (first of equal names, files or build ids wins, the second is reported): --plugin FILE, --plugin-dir DIR, then
 * $QUOIN_PLUGIN_DIR (instead of the rest) or $QUOIN_PLUGIN_DIR_ADD (before the rest), $XDG_DATA_HOME/quoin/plugins, and the folder
 * next to the program, ../lib/quoin/plugins. Folders are absolute; folders and files belong to root or to the user and are not
 * writable by others. With elevated privileges only the last folder counts. $QUOIN_BACKENDS_DISABLE (globs, joined by commas)
 * takes backends away again.
 *
 * Threading: one thread at a time.
 * Memory:    entries are owned by the registry; a loaded plugin stays mapped until the process ends.
 */
#ifndef HOST_REGISTRY_H
#define HOST_REGISTRY_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/abi.h>

#include "backends/elf_note.h"
#include "base/error.h"

#define REGISTRY_MAX_ENTRIES 64
#define REGISTRY_NAME_SIZE 64
#define REGISTRY_PATH_SIZE 1024
#define REGISTRY_REASON_SIZE 256

/* Where a backend comes from. What lies in the program's own folder was installed with it or by its owner. */
typedef uint32_t registry_origin;
enum { REGISTRY_BUILT_IN = 0, REGISTRY_PROGRAM_FOLDER = 1, REGISTRY_ELSEWHERE = 2 };

typedef struct registry_entry {
    char name[REGISTRY_NAME_SIZE];
    char path[REGISTRY_PATH_SIZE]; /* "built in" for the reference */
    registry_origin origin;
    uint64_t device, inode, bytes; /* of the file; 0 for the reference */
    int64_t modified_ns;
    qn_status note_status;         /* QN_OK, or why the file could not be read as a plugin, in note_reason */
    char note_reason[REGISTRY_REASON_SIZE];
    elf_facts elf;                 /* valid with QN_OK */
    qn_query_fn query;             /* null until loaded */
    qn_query_out facts;            /* valid when query is not null */
} registry_entry;

/* A file or folder that was looked at and not taken, with the reason. */
typedef struct registry_refusal {
    char path[REGISTRY_PATH_SIZE];
    char reason[REGISTRY_REASON_SIZE];
} registry_refusal;

typedef struct registry {
    registry_entry entries[REGISTRY_MAX_ENTRIES];
    uint32_t n_entries;
    registry_refusal refusals[REGISTRY_MAX_ENTRIES];
    uint32_t n_refusals;
    char searched[16][REGISTRY_PATH_SIZE]; /* folders in search order, existing or not */
    uint32_t n_searched;
    bool is_elevated;                      /* options and variables were not looked at */
} registry;

typedef struct registry_options {
    const char *const *plugin_files; /* --plugin */
    uint32_t n_plugin_files;
    const char *const *plugin_dirs;  /* --plugin-dir */
    uint32_t n_plugin_dirs;
    bool is_elevated;                /* as if the program ran with elevated privileges, whether it does or not */
} registry_options;

/* Fills *out. Nothing is loaded. Never fails: what cannot be used stands in refusals. options may be null. */
void registry_discover(const registry_options *options, registry *out);

/* Index of the entry with this name, or -1. */
int registry_find(const registry *reg, const char *name);

/* Was this file installed with the program, to run on the processor? Then it is opened in the process without a probe. */
bool registry_is_own(const registry_entry *entry);

/* May the file be loaded? Judged from its note alone: refused at stage "note" without one, or as elf_note_judge does. */
qn_status registry_judge_note(const registry_entry *entry, const qn_machine *machine, error_context *err);

/* What a query function answered, judged: status, ABI minor, name, and that no verb is missing. */
qn_status registry_check_facts(const char *name, qn_status status, const qn_query_out *facts, error_context *err);

/* Judges the note, opens the file (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE; it is never closed), asks its query function and judges the
 * answer. Does nothing when that was done before; after a refusal the entry stands as it stood. */
qn_status registry_load(registry_entry *entry, const qn_machine *machine, error_context *err);

/* The same for a file that carries no note: for a process that has nothing to lose. */
qn_status registry_load_unjudged(registry_entry *entry, const qn_machine *machine, error_context *err);

#endif
