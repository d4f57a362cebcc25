/* registry.h — which backends there are: the built-in reference and the plugin files found on disk.
 *
 * Discovery looks only at names, owners and permissions; a file is loaded when it becomes a candidate (registry_load),
 * so that
 * `--backend reference` runs no code of any other plugin.
 *
 * Search order (first of equal names wins, the second is reported): --plugin FILE, --plugin-dir DIR, then
 * $QUOIN_PLUGIN_DIR (instead of the rest) or $QUOIN_PLUGIN_DIR_ADD (before the rest), $XDG_DATA_HOME/quoin/plugins, and
 * the folder next to the program,
 * ../lib/quoin/plugins. Folders and files must belong to root or to the user and must not be writable by others.
 *
 * Threading: one thread at a time.
 * Memory:    entries are owned by the registry; a loaded plugin stays mapped until the process ends.
 */
#ifndef HOST_REGISTRY_H
#define HOST_REGISTRY_H
#include <stdbool.h>
#include <stdint.h>

#include <quoin/abi.h>

#include "base/error.h"

#define REGISTRY_MAX_ENTRIES 64
#define REGISTRY_NAME_SIZE 64
#define REGISTRY_PATH_SIZE 1024

typedef struct registry_entry {
    char name[REGISTRY_NAME_SIZE];
    char path[REGISTRY_PATH_SIZE]; /* "built in" for the reference */
    qn_query_fn query;             /* null until loaded */
    qn_query_out facts;            /* valid when query is not null */
} registry_entry;

/* A file or folder that was looked at and not taken, with the reason. */
typedef struct registry_refusal {
    char path[REGISTRY_PATH_SIZE];
    char reason[256];
} registry_refusal;

typedef struct registry {
    registry_entry entries[REGISTRY_MAX_ENTRIES];
    uint32_t n_entries;
    registry_refusal refusals[REGISTRY_MAX_ENTRIES];
    uint32_t n_refusals;
    char searched[16][REGISTRY_PATH_SIZE]; /* folders in search order, existing or not */
    uint32_t n_searched;
} registry;

typedef struct registry_options {
    const char *const *plugin_files; /* --plugin */
    uint32_t n_plugin_files;
    const char *const *plugin_dirs;  /* --plugin-dir */
    uint32_t n_plugin_dirs;
} registry_options;

/* Fills *out. Nothing is loaded. Never fails: what cannot be used stands in refusals. options may be null. */
void registry_discover(const registry_options *options, registry *out);

/* Index of the entry with this name, or -1. */
int registry_find(const registry *reg, const char *name);

/* What a query function answered, judged: status, ABI minor, name, and that no verb is missing. */
qn_status registry_check_facts(const char *name, qn_status status, const qn_query_out *facts, error_context *err);

/* Opens the file (RTLD_NOW | RTLD_LOCAL), asks its query function and judges the answer. Does nothing when that was done
 * before; after a refusal the entry stands as it stood. */
qn_status registry_load(registry_entry *entry, const qn_machine *machine, error_context *err);

#endif
