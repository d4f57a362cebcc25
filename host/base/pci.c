/* pci.c — one folder a device, one small file a fact. */
#define _GNU_SOURCE
#include "base/pci.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DISPLAY_CLASS "0x03"

/* The first bytes of the file `fact` of a device; "" when it cannot be read. */
static void read_fact(int folder, const char *device, const char *fact, char text[16]) {
    char path[300];
    snprintf(path, sizeof path, "%.255s/%s", device, fact);
    const int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, 15) : 0;
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

static bool is_gpu(int folder, const char *device) {
    static const char *const vendors[] = {"0x10de", "0x1002", "0x8086"};
    char text[16];
    read_fact(folder, device, "class", text);
    if (strncmp(text, DISPLAY_CLASS, strlen(DISPLAY_CLASS)) != 0) {
        return false;
    }
    read_fact(folder, device, "vendor", text);
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++) {
        if (strncmp(text, vendors[i], strlen(vendors[i])) == 0) {
            return true;
        }
    }
    return false;
}

bool pci_has_gpu(const char *folder) {
    DIR *devices = opendir(folder != NULL ? folder : "/sys/bus/pci/devices");
    bool is_found = false;
    for (struct dirent *e; devices != NULL && !is_found && (e = readdir(devices)) != NULL;) {
        is_found = e->d_name[0] != '.' && is_gpu(dirfd(devices), e->d_name);
    }
    if (devices != NULL) {
        closedir(devices);
    }
    return is_found;
}
