/* file_limit.c — the soft limit of descriptors becomes the hard one. */
#include "base/file_limit.h"

#include <sys/resource.h>

void file_limit_raise(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}
