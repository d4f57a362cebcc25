/* discover.c — finding plugin files: where to look, whom to trust, what was found twice. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/registry.h"
#include "base/log.h"
#include "base/mapped_file.h"

#define PLUGIN_SUFFIX ".quoin.so"

static void refuse(registry *reg, const char *path, const char *reason) {
    if (reg->n_refusals < REGISTRY_MAX_ENTRIES) {
        registry_refusal *refusal = &reg->refusals[reg->n_refusals++];
        snprintf(refusal->path, sizeof refusal->path, "%s", path);
        snprintf(refusal->reason, sizeof refusal->reason, "%s", reason);
    }
}

/* Null when `path` may be trusted, otherwise why not. */
static const char *find_distrust(const char *path, struct stat *out_info) {
    if (stat(path, out_info) != 0) {
        return strerror(errno);
    }
    if (out_info->st_uid != 0 && out_info->st_uid != geteuid()) {
        return "belongs neither to root nor to you";
    }
    return (out_info->st_mode & S_IWOTH) != 0 ? "is writable by everyone; chmod o-w it" : NULL;
}

int registry_find(const registry *reg, const char *name) {
    for (uint32_t i = 0; i < reg->n_entries; i++) {
        if (strcmp(reg->entries[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void read_note(registry_entry *entry) {
    mapped_file file;
    error_context err = {0};
    entry->note_status = mapped_file_open(entry->path, &file, &err);
    if (entry->note_status == QN_OK) {
        entry->note_status = elf_note_read(file.span, &entry->elf, &err);
        const qn_status still = mapped_file_check(&file, entry->note_status < 0 ? NULL : &err);
        entry->note_status = entry->note_status < 0 ? entry->note_status : still;
        mapped_file_close(&file);
    }
    if (entry->note_status < 0) {
        snprintf(entry->note_reason, sizeof entry->note_reason, "%.255s", error_text(&err));
    }
}

/* Is this the same plugin as one that is there already: name, file, or build? */
static const registry_entry *find_twin(const registry *reg, const registry_entry *entry, const char **out_how) {
    for (uint32_t i = 0; i < reg->n_entries; i++) {
        const registry_entry *other = &reg->entries[i];
        const bool is_same_file = entry->inode == other->inode && entry->device == other->device;
        const bool is_same_build = entry->elf.build_id[0] != '\0' && strcmp(entry->elf.build_id, other->elf.build_id) == 0;
        *out_how = strcmp(entry->name, other->name) == 0 ? "a backend of this name"
                   : is_same_file                        ? "the same file"
                   : is_same_build                       ? "the same build"
                                                         : NULL;
        if (*out_how != NULL) {
            return other;
        }
    }
    return NULL;
}

/* Does one of the globs in $QUOIN_BACKENDS_DISABLE match? */
static bool is_disabled(const char *name) {
    char glob[REGISTRY_NAME_SIZE];
    const char *at = getenv("QUOIN_BACKENDS_DISABLE");
    while (at != NULL && *at != '\0') {
        const size_t length = strcspn(at, ",");
        if (length > 0 && length < sizeof glob) {
            snprintf(glob, sizeof glob, "%.*s", (int)length, at);
            if (fnmatch(glob, name, 0) == 0) {
                return true;
            }
        }
        at += length + (at[length] == ',');
    }
    return false;
}

static void add_entry(registry *reg, const registry_entry *entry) {
    char reason[REGISTRY_REASON_SIZE];
    const char *how = NULL;
    const registry_entry *twin = find_twin(reg, entry, &how);
    if (twin != NULL) {
        snprintf(reason, sizeof reason, "%s was found before: %.60s at %.150s", how, twin->name, twin->path);
        refuse(reg, entry->path, reason);
    } else if (!reg->is_elevated && is_disabled(entry->name)) {
        refuse(reg, entry->path, "is disabled by QUOIN_BACKENDS_DISABLE");
    } else if (reg->n_entries == REGISTRY_MAX_ENTRIES) {
        refuse(reg, entry->path, "comes after as many backends as this program can list");
    } else {
        reg->entries[reg->n_entries++] = *entry;
    }
}

static void add_file(registry *reg, const char *path, registry_origin origin) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const size_t length = strlen(base), suffix = strlen(PLUGIN_SUFFIX);
    struct stat info;
    registry_entry entry = {.origin = origin};
    if (length <= suffix || length - suffix >= sizeof entry.name || strcmp(base + length - suffix, PLUGIN_SUFFIX) != 0) {
        refuse(reg, path, "is not named NAME" PLUGIN_SUFFIX);
        return;
    }
    const char *distrust = find_distrust(path, &info);
    if (distrust != NULL) {
        refuse(reg, path, distrust);
        return;
    }
    snprintf(entry.name, sizeof entry.name, "%.*s", (int)(length - suffix), base);
    snprintf(entry.path, sizeof entry.path, "%s", path);
    entry.device = (uint64_t)info.st_dev;
    entry.inode = (uint64_t)info.st_ino;
    entry.bytes = (uint64_t)info.st_size;
    entry.modified_ns = (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
    read_note(&entry);
    add_entry(reg, &entry);
}

static int is_plugin_name(const struct dirent *entry) {
    const size_t length = strlen(entry->d_name), suffix = strlen(PLUGIN_SUFFIX);
    return length > suffix && strcmp(entry->d_name + length - suffix, PLUGIN_SUFFIX) == 0;
}

static int compare_names(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_folder(registry *reg, const char *folder, registry_origin origin) {
    struct dirent **names = NULL;
    struct stat info;
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
    const char *distrust = find_distrust(folder, &info);
    const int n = distrust == NULL ? scandir(folder, &names, is_plugin_name, compare_names) : 0;
    if (distrust != NULL || n < 0) {
        refuse(reg, folder, distrust != NULL ? distrust : strerror(errno));
        return;
    }
    for (int i = 0; i < n; i++) {
        char path[REGISTRY_PATH_SIZE];
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < sizeof path) {
            add_file(reg, path, origin);
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
            add_folder(reg, folder, REGISTRY_ELSEWHERE);
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
        add_folder(reg, folder, REGISTRY_PROGRAM_FOLDER);
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
        add_folder(reg, folder, REGISTRY_ELSEWHERE);
    } else if (home != NULL && home[0] == '/') {
        snprintf(folder, sizeof folder, "%s/.local/share/quoin/plugins", home);
        add_folder(reg, folder, REGISTRY_ELSEWHERE);
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
    out->is_elevated = wanted->is_elevated || getauxval(AT_SECURE) != 0;
    if (out->is_elevated) { /* variables and options of the caller are not to be trusted */
        log_line(QN_LOG_INFO, "elevated privileges: only the program's own plugin folder is searched");
        add_program_folder(out);
        return;
    }
    for (uint32_t i = 0; i < wanted->n_plugin_files; i++) {
        char path[REGISTRY_PATH_SIZE + 1] = "";
        char *absolute = realpath(wanted->plugin_files[i], NULL);
        snprintf(path, sizeof path, "%s", absolute != NULL ? absolute : wanted->plugin_files[i]);
        free(absolute);
        add_file(out, path, REGISTRY_ELSEWHERE);
    }
    for (uint32_t i = 0; i < wanted->n_plugin_dirs; i++) {
        add_folder(out, wanted->plugin_dirs[i], REGISTRY_ELSEWHERE);
    }
    add_environment_folders(out);
}
