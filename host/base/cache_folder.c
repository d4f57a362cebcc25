/* cache_folder.c — where the cache lies. */
#include "base/cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

void cache_folder_find(char *out, size_t room) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = 0;
    if (getauxval(AT_SECURE) != 0) {
        n = 0;
    } else if (cache != NULL && cache[0] == '/') {
        n = snprintf(out, room, "%s/quoin", cache);
    } else if (home != NULL && home[0] == '/' && access(home, F_OK) == 0) { /* a home is never made */
        n = snprintf(out, room, "%s/.cache/quoin", home);
    }
    if (n <= 0 || (size_t)n >= room) {
        out[0] = '\0';
    }
}

bool cache_folder_make(const char *folder) {
    char path[1024];
    if (snprintf(path, sizeof path, "%s", folder) >= (int)sizeof path) {
        return false;
    }
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* what exists already, or cannot be made, shows at the end */
        *slash = '/';
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}
