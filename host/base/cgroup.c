/* cgroup.c — from the group of each controller up to the root. */
#include "base/cgroup.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1024
#define PATH_SIZE 2048
/* Version 1 says "none" with the largest number of pages; anything near it is no limit. */
#define NO_LIMIT_V1 (UINT64_C(1) << 60)

/* Numbers at the beginning of a small kernel file; returns how many of the two were there. -1 and "max" are none. */
static int read_numbers(const char *folder, const char *name, uint64_t out[2]) {
    char path[PATH_SIZE];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        return 0;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    char line[64] = "";
    int n = 0;
    if (fgets(line, sizeof line, file) != NULL && line[0] >= '0' && line[0] <= '9') {
        n = sscanf(line, "%" SCNu64 " %" SCNu64, &out[0], &out[1]); /* lint: numbers that the kernel writes */
    }
    fclose(file);
    return n > 0 ? n : 0;
}

/* The number behind `key` in a file of "key number" lines, 0 without it. */
static uint64_t read_statistic(const char *folder, const char *name, const char *key) {
    char path[PATH_SIZE], line[128];
    uint64_t value = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        return 0;
    }
    FILE *file = fopen(path, "re");
    const size_t length = strlen(key);
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, length) == 0 && line[length] == ' ') {
            sscanf(line + length, " %" SCNu64, &value); /* lint: a number that the kernel writes */
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

static void note_cores(cgroup_limits *limits, uint64_t quota, uint64_t period) {
    if (period > 0) {
        const uint64_t cores = quota / period + (quota % period != 0);
        limits->cores = cores < limits->cores ? cores : limits->cores;
        limits->cores = limits->cores > 0 ? limits->cores : 1;
    }
}

static void note_memory(cgroup_limits *limits, uint64_t limit, uint64_t used, uint64_t cache) {
    const uint64_t taken = used > cache ? used - cache : 0;
    const uint64_t left = limit > taken ? limit - taken : 0;
    limits->memory_bytes = limit < limits->memory_bytes ? limit : limits->memory_bytes;
    limits->memory_free = left < limits->memory_free ? left : limits->memory_free;
}

static void look_at_v2(const char *folder, cgroup_limits *limits) {
    uint64_t numbers[2] = {0}, used[2] = {0};
    if (read_numbers(folder, "cpu.max", numbers) == 2) {
        note_cores(limits, numbers[0], numbers[1]);
    }
    if (read_numbers(folder, "memory.max", numbers) >= 1) {
        read_numbers(folder, "memory.current", used);
        note_memory(limits, numbers[0], used[0], read_statistic(folder, "memory.stat", "file"));
    }
}

static void look_at_v1_cpu(const char *folder, cgroup_limits *limits) {
    uint64_t quota[2] = {0}, period[2] = {0};
    if (read_numbers(folder, "cpu.cfs_quota_us", quota) >= 1 && read_numbers(folder, "cpu.cfs_period_us", period) >= 1) {
        note_cores(limits, quota[0], period[0]);
    }
}

static void look_at_v1_memory(const char *folder, cgroup_limits *limits) {
    uint64_t limit[2] = {0}, used[2] = {0};
    if (read_numbers(folder, "memory.limit_in_bytes", limit) >= 1 && limit[0] < NO_LIMIT_V1) {
        read_numbers(folder, "memory.usage_in_bytes", used);
        note_memory(limits, limit[0], used[0], read_statistic(folder, "memory.stat", "total_cache"));
    }
}

/* Calls `look` for root/controller/group and every folder above it, down to root/controller itself. A group that is not
 * mounted here (another namespace's path) is passed over file by file. */
static void walk_up(const char *root, const char *controller, const char *group,
                    void (*look)(const char *folder, cgroup_limits *limits), cgroup_limits *limits) {
    char folder[PATH_SIZE];
    const int n_base = snprintf(folder, sizeof folder, "%s%s", root, controller);
    const int n_all = snprintf(folder, sizeof folder, "%s%s%s", root, controller, strcmp(group, "/") == 0 ? "" : group);
    if (n_base < 0 || n_all < 0 || (size_t)n_all >= sizeof folder) {
        return;
    }
    for (size_t length = (size_t)n_all; length >= (size_t)n_base; length--) {
        if (length == (size_t)n_base || folder[length] == '\0' || folder[length] == '/') {
            folder[length] = '\0';
            look(folder, limits);
        }
    }
}

/* Is `name` one of the controllers "a,b,c"? */
static bool has_controller(const char *list, size_t size, const char *name) {
    const size_t length = strlen(name);
    for (size_t at = 0; at + length <= size; at++) {
        const bool begins = at == 0 || list[at - 1] == ',';
        const bool ends = at + length == size || list[at + length] == ',';
        if (begins && ends && memcmp(list + at, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* A line is ID:CONTROLLERS:GROUP; version 2 has no controllers there. */
static void look_at_line(char *line, const char *root, cgroup_limits *limits) {
    line[strcspn(line, "\n")] = '\0';
    const char *first = strchr(line, ':');
    const char *second = first != NULL ? strchr(first + 1, ':') : NULL;
    if (second == NULL || second[1] != '/') {
        return;
    }
    const size_t size = (size_t)(second - first) - 1;
    if (size == 0) {
        walk_up(root, "", second + 1, look_at_v2, limits);
    }
    if (has_controller(first + 1, size, "cpu")) {
        walk_up(root, "/cpu", second + 1, look_at_v1_cpu, limits);
    }
    if (has_controller(first + 1, size, "memory")) {
        walk_up(root, "/memory", second + 1, look_at_v1_memory, limits);
    }
}

cgroup_limits cgroup_read(const char *list, const char *root) {
    cgroup_limits limits = {CGROUP_UNLIMITED, CGROUP_UNLIMITED, CGROUP_UNLIMITED};
    char line[LINE_SIZE];
    FILE *file = fopen(list, "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        look_at_line(line, root, &limits);
    }
    if (file != NULL) {
        fclose(file);
    }
    return limits;
}
