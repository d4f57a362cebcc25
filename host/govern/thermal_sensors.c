/* thermal_sensors.c — files of hwmon and of thermal zones, and the devices of NVML, read by name at run time: neither kernel headers nor a
 * driver is needed to build this. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/decimal.h"
#include "govern/thermal.h"

#define PATH_SIZE 4096
#define NAME_SIZE 64
#define NVML_SENSOR_GPU 0

typedef struct nvml {
    void *library;
    int (*end)(void);
    int (*count)(unsigned *out);
    int (*device)(unsigned index, void **out);
    int (*temperature)(void *device, int sensor, unsigned *out);
} nvml;

struct thermal_sensors {
    uint32_t n_files, n_devices;
    int files[THERMAL_MAX_SENSORS]; /* thousandths of a degree, in decimal */
    void *devices[THERMAL_MAX_SENSORS];
    nvml gpu;
};

/* ---------------------------------------------------------------- files */

/* The first line of a small file; false when there is none. */
static bool read_line(const char *path, char out[NAME_SIZE]) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, out, NAME_SIZE - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    return n > 0;
}

static void add_file(thermal_sensors *s, const char *path) {
    const int fd = s->n_files < THERMAL_MAX_SENSORS ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        s->files[s->n_files++] = fd;
    }
}

static bool is_wanted(const policy_words *names, const char *name) {
    return policy_words_have(names, name) || policy_words_have(names, "*");
}

/* FOLDER/ENTRY/name and FOLDER/ENTRY/temp*_input. */
static void add_hwmon(thermal_sensors *s, const char *folder, const policy_words *names) {
    char path[PATH_SIZE], name[NAME_SIZE];
    DIR *entries = NULL;
    const int size = snprintf(path, sizeof path, "%s/name", folder);
    if (size < 0 || (size_t)size >= sizeof path || !read_line(path, name) || !is_wanted(names, name) ||
        (entries = opendir(folder)) == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const char *end = strrchr(entry->d_name, '_');
        if (strncmp(entry->d_name, "temp", 4) == 0 && end != NULL && strcmp(end, "_input") == 0 &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_SIZE) {
            add_file(s, path);
        }
    }
    closedir(entries);
}

/* FOLDER/ENTRY/type and FOLDER/ENTRY/temp. */
static void add_zone(thermal_sensors *s, const char *folder, const policy_words *names) {
    char path[PATH_SIZE], name[NAME_SIZE];
    if (snprintf(path, sizeof path, "%s/type", folder) < PATH_SIZE && read_line(path, name) && is_wanted(names, name) &&
        snprintf(path, sizeof path, "%s/temp", folder) < PATH_SIZE) {
        add_file(s, path);
    }
}

static void add_folder(thermal_sensors *s, const char *folder, const char *prefix, const policy_words *names,
                       void (*add)(thermal_sensors *s, const char *folder, const policy_words *names)) {
    char path[PATH_SIZE];
    DIR *entries = folder != NULL && strcmp(folder, "none") != 0 ? opendir(folder) : NULL;
    if (entries == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < PATH_SIZE) {
            add(s, path, names);
        }
    }
    closedir(entries);
}

static bool read_file(int fd, double *out) {
    char text[NAME_SIZE];
    uint64_t number;
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    const char *at = text + (text[0] == '-');
    if (n <= 0 || !decimal_read(&at, 10000000, &number)) {
        return false;
    }
    *out = (text[0] == '-' ? -1.0 : 1.0) * (double)number / 1000.0;
    return true;
}

/* ---------------------------------------------------------------- NVML */

/* A pointer to a function out of one to an object, as POSIX has it. */
static bool find_function(void *library, const char *name, void *out_function) {
    void *const symbol = dlsym(library, name);
    memcpy(out_function, &symbol, sizeof symbol);
    return symbol != NULL;
}

static void add_devices(thermal_sensors *s) {
    unsigned n = 0, celsius;
    n = s->gpu.count(&n) == 0 ? n : 0;
    for (unsigned i = 0; i < n && s->n_devices < THERMAL_MAX_SENSORS; i++) {
        void *device = NULL;
        if (s->gpu.device(i, &device) == 0 && s->gpu.temperature(device, NVML_SENSOR_GPU, &celsius) == 0) {
            s->devices[s->n_devices++] = device;
        }
    }
}

static void add_nvml(thermal_sensors *s, const char *name) {
    int (*begin)(void);
    nvml *g = &s->gpu;
    g->library = name != NULL && strcmp(name, "none") != 0 ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (g->library == NULL) {
        return;
    }
    if (find_function(g->library, "nvmlInit_v2", &begin) && find_function(g->library, "nvmlShutdown", &g->end) &&
        find_function(g->library, "nvmlDeviceGetCount_v2", &g->count) &&
        find_function(g->library, "nvmlDeviceGetHandleByIndex_v2", &g->device) &&
        find_function(g->library, "nvmlDeviceGetTemperature", &g->temperature) && begin() == 0) {
        add_devices(s);
        return;
    }
    dlclose(g->library);
    g->library = NULL;
}

/* ---------------------------------------------------------------- all of them */

thermal_sensors *thermal_sensors_open(const char *hwmon, const char *zones, const char *nvml_name, const policy_words *names) {
    thermal_sensors *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    add_folder(s, hwmon, "hwmon", names, add_hwmon);
    add_folder(s, zones, "thermal_zone", names, add_zone);
    add_nvml(s, nvml_name);
    return s;
}

void thermal_sensors_close(thermal_sensors *sensors) {
    if (sensors == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sensors->n_files; i++) {
        close(sensors->files[i]);
    }
    if (sensors->gpu.library != NULL) {
        sensors->gpu.end();
        dlclose(sensors->gpu.library);
    }
    free(sensors);
}

uint32_t thermal_sensors_count(const thermal_sensors *sensors) {
    return sensors != NULL ? sensors->n_files + sensors->n_devices : 0;
}

bool thermal_sensors_read(void *ctx, double *out_celsius) {
    const thermal_sensors *s = ctx;
    bool is_known = false;
    double worst = 0.0, one;
    unsigned celsius;
    for (uint32_t i = 0; s != NULL && i < s->n_files; i++) {
        if (read_file(s->files[i], &one)) {
            worst = is_known && worst > one ? worst : one;
            is_known = true;
        }
    }
    for (uint32_t i = 0; s != NULL && i < s->n_devices; i++) {
        if (s->gpu.temperature(s->devices[i], NVML_SENSOR_GPU, &celsius) == 0) {
            worst = is_known && worst > celsius ? worst : celsius;
            is_known = true;
        }
    }
    if (is_known) {
        *out_celsius = worst;
    }
    return is_known;
}
