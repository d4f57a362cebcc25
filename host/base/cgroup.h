/* cgroup.h — what the control groups of this process allow: processor time and memory, versions 1 and 2.
 *
 * A limit holds for all groups below it, so the whole way up to the root is looked at and the tightest counts. Files that
 * are not there or say "max" limit nothing.
 *
 * Threading: thread-safe; the answer is a value.
 * Memory:    fixed buffers.
 */
#ifndef HOST_CGROUP_H
#define HOST_CGROUP_H
#include <stdint.h>

#define CGROUP_UNLIMITED UINT64_MAX

typedef struct cgroup_limits {
    uint64_t cores;        /* quota over period, rounded up; at least 1 */
    uint64_t memory_bytes; /* the tightest limit */
    uint64_t memory_free;  /* what is left below the limits; page cache counts as free, because it is given back */
} cgroup_limits;

/* Each CGROUP_UNLIMITED when nothing limits it.
 *
 *   list   the file that names the groups, normally /proc/self/cgroup
 *   root   where they are mounted, normally /sys/fs/cgroup */
cgroup_limits cgroup_read(const char *list, const char *root);

#endif
