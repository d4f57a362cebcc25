/* same_file.c — by device and inode; a file that is yet to come by its folder and its name there. */
#include "base/same_file.h"

#include <string.h>
#include <sys/stat.h>

#define FOLDER_SIZE 4096u

static bool are_one(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* False when the folder is not there, or its path is longer than any can be. */
static bool find_folder(const char *path, struct stat *out_folder) {
    char folder[FOLDER_SIZE] = ".";
    const size_t size = (size_t)(name_of(path) - path);
    if (size >= sizeof folder) {
        return false;
    }
    if (size > 0) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    return stat(folder, out_folder) == 0;
}

bool same_file(const char *a, const char *b) {
    struct stat left, right;
    if (strcmp(a, "-") == 0 || strcmp(b, "-") == 0) {
        return false;
    }
    const bool has_left = stat(a, &left) == 0, has_right = stat(b, &right) == 0;
    if (has_left || has_right) {
        return has_left && has_right && are_one(&left, &right);
    }
    return strcmp(name_of(a), name_of(b)) == 0 && find_folder(a, &left) && find_folder(b, &right) && are_one(&left, &right);
}
