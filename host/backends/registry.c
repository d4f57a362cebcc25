/* registry.c — finding plugin files, and loading one. */
#define _GNU_SOURCE
#include "backends/registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <quoin/glue.h>

#include "backends/builtin.h"
#include "backends/host_services.h"
#include "backends/refusal.h"

#define PLUGIN_SUFFIX ".quoin.so"

static void refuse(registry *reg, const char *path, const char *reason) {
    if (reg->n_refusals < REGISTRY_MAX_ENTRIES) {
        registry_refusal *refusal = &reg->refusals[reg->n_refusals++];
        snprintf(refusal->path, sizeof refusal->path, "%s", path);
        snprintf(refusal->reason, sizeof refusal->reason, "%s", reason);
    }
}

/* Null when `path` may be trusted, otherwise why not. */
static const char *find_distrust(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) {
        return strerror(errno);
    }
    if (info.st_uid != 0 && info.st_uid != geteuid()) {
        return "belongs neither to root nor to you";
    }
    if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) {
        return "is writable by everyone; chmod o-w it";
    }
    return NULL;
}

int registry_find(const registry *reg, const char *name) {
    for (uint32_t i = 0; i < reg->n_entries; i++) {
        if (strcmp(reg->entries[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void add_file(registry *reg, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const size_t length = strlen(base), suffix = strlen(PLUGIN_SUFFIX);
    const char *distrust = find_distrust(path);
    char name[REGISTRY_NAME_SIZE];
    if (length <= suffix || length - suffix >= sizeof name || strcmp(base + length - suffix, PLUGIN_SUFFIX) != 0) {
        refuse(reg, path, "is not named NAME" PLUGIN_SUFFIX);
        return;
    }
    if (distrust != NULL) {
        refuse(reg, path, distrust);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(length - suffix), base);
    const int found = registry_find(reg, name);
    if (found >= 0) {
        char reason[256];
        snprintf(reason, sizeof reason, "a backend named %.60s was found before, at %.150s", name,
                 reg->entries[found].path);
        refuse(reg, path, reason);
    } else if (reg->n_entries == REGISTRY_MAX_ENTRIES) {
        refuse(reg, path, "comes after as many backends as this program can list");
    } else {
        registry_entry *entry = &reg->entries[reg->n_entries++];
        memset(entry, 0, sizeof *entry);
        memcpy(entry->name, name, sizeof name);
        snprintf(entry->path, sizeof entry->path, "%s", path);
    }
}

static int is_plugin_name(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name), suffix = strlen(PLUGIN_SUFFIX);
    return length > suffix && strcmp(entry->d_name + length - suffix, PLUGIN_SUFFIX) == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(registry *reg, const char *folder) {
    struct dirent **names = NULL;
    for (uint32_t i = 0; i < reg->n_searched; i++) {
        if (strcmp(reg->searched[i], folder) == 0) {
            return; /* named twice: the first look was enough */
        }
    }
    if (reg->n_searched < sizeof reg->searched / sizeof reg->searched[0]) {
        snprintf(reg->searched[reg->n_searched++], REGISTRY_PATH_SIZE, "%s", folder);
    }
    if (folder[0] != '/') {
        refuse(reg, folder, "is not an absolute path");
        return;
    }
    if (access(folder, F_OK) != 0) {
        return;
    }
    const char *distrust = find_distrust(folder);
    const int n = distrust == NULL ? scandir(folder, &names, is_plugin_name, compare_names) : 0;
    if (distrust != NULL || n < 0) {
        refuse(reg, folder, distrust != NULL ? distrust : strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        char path[REGISTRY_PATH_SIZE];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < sizeof path) {
            add_file(reg, path);
        }
        free(names[i]);
    }
    free(names);
}

/* Each folder of a colon-separated list. */
static void add_folder_list(registry *reg, const char *list) {
    char folder[REGISTRY_PATH_SIZE];
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ":");
        if (length > 0 && length < sizeof folder) {
            snprintf(folder, sizeof folder, "%.*s", (int)length, list);
            add_folder(reg, folder);
        }
        list += length + (list[length] == ':');
    }
}

/* An address inside whatever file this code was linked into. */
static const void *own_address(void) {
    static const char here;
    return &here;
}

/* Cuts the last `parts` components off a path; false when it has not so many. */
static bool cut_path(char *path, int parts) {
    for (int i = 0; i < parts; i++) {
        char *slash = strrchr(path, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
    }
    return true;
}

static void add_below(registry *reg, const char *base, const char *relative) {
    char folder[REGISTRY_PATH_SIZE];
    if ((size_t)snprintf(folder, sizeof folder, "%s/%s", base, relative) < sizeof folder) {
        add_folder(reg, folder);
    }
}

/* Where the build tree and an installation have them: below the folder over the program's, or, when this code is a
 * shared library in some other program, beside the library. */
static void add_program_folder(registry *reg) {
    char path[REGISTRY_PATH_SIZE];
    Dl_info library;
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0) {
        path[length] = '\0';
        if (cut_path(path, 2)) {
            add_below(reg, path, "lib/quoin/plugins");
            if (strcmp(QUOIN_PLUGIN_SUBDIR, "lib/quoin/plugins") != 0) {
                add_below(reg, path, QUOIN_PLUGIN_SUBDIR);
            }
        }
    }
    if (dladdr(own_address(), &library) != 0 && strstr(library.dli_fname, ".so") != NULL) {
        snprintf(path, sizeof path, "%s", library.dli_fname);
        if (path[0] == '/' && cut_path(path, 1)) {
            add_below(reg, path, "quoin/plugins");
        }
    }
}

static void add_environment_folders(registry *reg) {
    const char *instead = getenv("QUOIN_PLUGIN_DIR"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    char folder[REGISTRY_PATH_SIZE];
    if (instead != NULL && instead[0] != '\0') {
        add_folder_list(reg, instead);
        return;
    }
    add_folder_list(reg, getenv("QUOIN_PLUGIN_DIR_ADD"));
    if (data != NULL && data[0] == '/') {
        snprintf(folder, sizeof folder, "%s/quoin/plugins", data);
        add_folder(reg, folder);
    } else if (home != NULL && home[0] == '/') {
        snprintf(folder, sizeof folder, "%s/.local/share/quoin/plugins", home);
        add_folder(reg, folder);
    }
    add_program_folder(reg);
}

void registry_discover(const registry_options *options, registry *out) {
    static const registry_options none = {0};
    const registry_options *wanted = options == NULL ? &none : options;
    memset(out, 0, sizeof *out);
    registry_entry *reference = &out->entries[out->n_entries++];
    snprintf(reference->name, sizeof reference->name, "reference");
    snprintf(reference->path, sizeof reference->path, "built in");
    if (getauxval(AT_SECURE) != 0) { /* elevated: variables and options of the caller are not to be trusted */
        add_program_folder(out);
        return;
    }
    for (uint32_t i = 0; i < wanted->n_plugin_files; i++) {
        char path[REGISTRY_PATH_SIZE + 1] = "";
        char *absolute = realpath(wanted->plugin_files[i], NULL);
        snprintf(path, sizeof path, "%s", absolute != NULL ? absolute : wanted->plugin_files[i]);
        free(absolute);
        add_file(out, path);
    }
    for (uint32_t i = 0; i < wanted->n_plugin_dirs; i++) {
        add_folder(out, wanted->plugin_dirs[i]);
    }
    add_environment_folders(out);
}

static uint32_t own_sanitizer(void) {
#if defined(__SANITIZE_ADDRESS__)
    return QN_SANITIZER_ADDRESS;
#elif defined(__SANITIZE_THREAD__)
    return QN_SANITIZER_THREAD;
#else
    return QN_SANITIZER_NONE;
#endif
}

static qn_status find_query(registry_entry *entry, qn_query_fn *out_query, error_context *err) {
    if (strcmp(entry->path, "built in") == 0) {
        *out_query = quoin_reference_query;
        return QN_OK;
    }
    void *handle = dlopen(entry->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        return backend_refuse(err, entry->name, "load", QN_UNAVAILABLE, "%s", dlerror());
    }
    void *symbol = dlsym(handle, QN_QUERY_SYMBOL);
    if (symbol == NULL) {
        const bool is_later = dlsym(handle, "quoin_backend_query_1") != NULL;
        dlclose(handle);
        return backend_refuse(err, entry->name, "load", is_later ? QN_TOO_NEW : QN_UNSUPPORTED,
                              "%s has no %s (%s; this program speaks ABI %d)", entry->path, QN_QUERY_SYMBOL,
                              is_later ? "it offers ABI 1" : "it is no quoin plugin", QN_ABI_MAJOR);
    }
    memcpy(out_query, &symbol, sizeof symbol); /* ISO C has no cast from an object pointer to a function pointer */
    return QN_OK;
}

/* Name of a verb that the plugin's table must have and has not, or null. state_move, tap, trim, describe and get_ext may
 * be missing. */
static const char *find_missing_verb(const qn_plugin *plugin) {
    const struct {
        const char *name;
        bool is_there;
    } verbs[] = {{"start", QN_HAS(plugin, start)}, {"stop", QN_HAS(plugin, stop)}, {"devices", QN_HAS(plugin, devices)},
                 {"open", QN_HAS(plugin, open)}, {"close", QN_HAS(plugin, close)}, {"check", QN_HAS(plugin, check)},
                 {"plan", QN_HAS(plugin, plan)}, {"compile", QN_HAS(plugin, compile)},
                 {"prog_free", QN_HAS(plugin, prog_free)}, {"bind_weights", QN_HAS(plugin, bind_weights)},
                 {"seal", QN_HAS(plugin, seal)}, {"session_new", QN_HAS(plugin, session_new)},
                 {"session_free", QN_HAS(plugin, session_free)}, {"step", QN_HAS(plugin, step)}};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (!verbs[i].is_there) {
            return verbs[i].name;
        }
    }
    return NULL;
}

qn_status registry_check_facts(const char *name, qn_status status, const qn_query_out *facts, error_context *err) {
    if (status < 0) {
        return backend_refuse(err, name, "query", status, "%s", status_meaning(status));
    }
    if (facts->plugin == NULL || facts->name == NULL) {
        return backend_refuse(err, name, "query", QN_INTERNAL, "it gave no %s", facts->name == NULL ? "name" : "table of verbs");
    }
    if (facts->minor != QN_ABI_MINOR) {
        return backend_refuse(err, name, "query", facts->minor > QN_ABI_MINOR ? QN_TOO_NEW : QN_TOO_OLD,
                              "ABI 0.%u, this program speaks 0.%d and before 1.0 both must be equal", facts->minor,
                              QN_ABI_MINOR);
    }
    if (strcmp(facts->name, name) != 0) {
        return backend_refuse(err, name, "query", QN_BAD_ARG, "the file calls itself %s", facts->name);
    }
    const char *missing = find_missing_verb(facts->plugin);
    if (missing != NULL) {
        return backend_refuse(err, name, "query", QN_INTERNAL, "its table has no verb %s", missing);
    }
    return QN_OK;
}

qn_status registry_load(registry_entry *entry, const qn_machine *machine, error_context *err) {
    if (entry->query != NULL) {
        return QN_OK;
    }
    qn_query_fn query = NULL;
    QN_TRY(find_query(entry, &query, err), err, "opening %s", entry->path);
    qn_query_in in = {.size = sizeof in, .minor = QN_ABI_MINOR, .build_id = host_build_id(), .sanitizer = own_sanitizer()};
    memcpy(in.cpu_features, machine->cpu_features, sizeof in.cpu_features);
    qn_query_out facts = {.size = sizeof facts};
    const qn_status status = query(&in, &facts);
    QN_TRY(registry_check_facts(entry->name, status, &facts, err), err, "asking %s", entry->path);
    entry->facts = facts;
    entry->query = query;
    return QN_OK;
}
