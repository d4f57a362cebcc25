/* probe_key.c — everything that counts, run through one hash. */
#define _GNU_SOURCE
#include "backends/probe_key.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "backends/host_services.h"
#include "backends/probe.h"
#include "common/fnv.h"

static const char *const driver_modules[] = {"nvidia", "amdgpu", "i915", "xe", "nouveau", "panfrost", "msm"};

static const char *const manifest_folders[] = {"/etc/OpenCL/vendors", "/etc/vulkan/icd.d", "/usr/share/vulkan/icd.d",
                                               "/usr/local/share/vulkan/icd.d", "/etc/vulkan/implicit_layer.d",
                                               "/usr/share/vulkan/implicit_layer.d"};

static const char *const driver_variables[] = {
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",     "GPU_DEVICE_ORDINAL", "OCL_ICD_VENDORS",       "OCL_ICD_FILENAMES",   "VK_ICD_FILENAMES",
    "VK_DRIVER_FILES",      "VK_ADD_DRIVER_FILES", "VK_LOADER_LAYERS_ENABLE", "VK_INSTANCE_LAYERS", "MESA_VK_DEVICE_SELECT",
    "POCL_DEVICES",         "LD_LIBRARY_PATH",     "LD_PRELOAD",            "QUOIN_CPU_MASK"};

/* Chains texts: the hash so far stands before the next one, and lengths keep "ab", "c" from being "a", "bc". */
static void add_bytes(uint64_t *hash, const void *data, size_t size) {
    const uint64_t parts[3] = {*hash, fnv1a64(data, size), size};
    *hash = fnv1a64(parts, sizeof parts);
}

static void add_text(uint64_t *hash, const char *text) {
    add_bytes(hash, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
}

static void add_number(uint64_t *hash, uint64_t number) {
    add_bytes(hash, &number, sizeof number);
}

static void add_file(uint64_t *hash, int folder, const char *path) {
    struct stat info;
    if (fstatat(folder, path, &info, 0) == 0) {
        add_number(hash, (uint64_t)info.st_ino);
        add_number(hash, (uint64_t)info.st_size);
        add_number(hash, (uint64_t)info.st_mtim.tv_sec);
        add_number(hash, (uint64_t)info.st_mtim.tv_nsec);
    } else {
        add_text(hash, "absent");
    }
}

static void add_module(uint64_t *hash, const char *module) {
    char path[128], version[128] = "";
    snprintf(path, sizeof path, "/sys/module/%s/version", module);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        const ssize_t n = read(fd, version, sizeof version - 1);
        version[n > 0 ? n : 0] = '\0';
        close(fd);
    } else {
        snprintf(path, sizeof path, "/sys/module/%s", module);
        snprintf(version, sizeof version, "%s", access(path, F_OK) == 0 ? "there" : "absent");
    }
    add_text(hash, version);
}

/* Names and times of all files, in whatever order the folder gives them. */
static void add_manifests(uint64_t *hash, const char *folder) {
    uint64_t sum = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *e; entries != NULL && (e = readdir(entries)) != NULL;) {
        uint64_t one = 0;
        if (e->d_name[0] != '.') {
            add_text(&one, e->d_name);
            add_file(&one, dirfd(entries), e->d_name);
            sum += one;
        }
    }
    if (entries != NULL) {
        closedir(entries);
    }
    add_number(hash, sum);
}

static void add_host(uint64_t *hash) {
    char program[REGISTRY_PATH_SIZE];
    struct utsname system;
    add_text(hash, host_version());
    add_text(hash, host_build_id());
    add_number(hash, QN_ABI_MINOR);
    add_file(hash, AT_FDCWD, probe_find_program(program, sizeof program) ? program : "/proc/self/exe");
    add_number(hash, (uint64_t)geteuid());
    if (uname(&system) == 0) {
        add_text(hash, system.nodename);
        add_text(hash, system.release);
    }
}

static void add_plugin(uint64_t *hash, const registry_entry *entry) {
    add_text(hash, entry->path);
    add_text(hash, entry->elf.build_id);
    add_number(hash, entry->device);
    add_number(hash, entry->inode);
    add_number(hash, entry->bytes);
    add_number(hash, (uint64_t)entry->modified_ns);
}

static void add_drivers(uint64_t *hash) {
    for (size_t i = 0; i < sizeof driver_modules / sizeof driver_modules[0]; i++) {
        add_module(hash, driver_modules[i]);
    }
    for (size_t i = 0; i < sizeof manifest_folders / sizeof manifest_folders[0]; i++) {
        add_manifests(hash, manifest_folders[i]);
    }
    for (size_t i = 0; i < sizeof driver_variables / sizeof driver_variables[0]; i++) {
        add_text(hash, getenv(driver_variables[i]));
    }
}

void probe_key_make(const registry_entry *entry, const backend_spec *spec, const qn_machine *machine, uint32_t threads,
                    char out[PROBE_KEY_SIZE]) {
    uint64_t hash = 0;
    add_host(&hash);
    add_plugin(&hash, entry);
    add_drivers(&hash);
    add_bytes(&hash, machine->cpu_features, sizeof machine->cpu_features);
    add_number(&hash, threads);
    for (uint32_t i = 0; i < spec->n_options; i++) {
        add_text(&hash, spec->keys[i]);
        add_text(&hash, spec->values[i]);
    }
    snprintf(out, PROBE_KEY_SIZE, "%016" PRIx64, hash);
}
