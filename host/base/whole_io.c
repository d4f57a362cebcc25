/* whole_io.c — loops around write, pwrite and pread. */
#include "base/whole_io.h"

#include <errno.h>
#include <unistd.h>

/* Linux moves at most 2 GiB at once; other systems refuse more. */
#define MOST_AT_ONCE (UINT64_C(1) << 30)

static size_t part_of(uint64_t size) {
    return (size_t)(size < MOST_AT_ONCE ? size : MOST_AT_ONCE);
}

/* Whether a call that moved n bytes may be followed by another; if not, errno says why. */
static bool may_go_on(ssize_t n, int reason_of_nothing) {
    if (n == 0) {
        errno = reason_of_nothing;
    }
    return n > 0 || (n < 0 && errno == EINTR);
}

bool io_write_all(int fd, const void *data, uint64_t size) {
    for (uint64_t done = 0; done < size;) {
        const ssize_t n = write(fd, (const uint8_t *)data + done, part_of(size - done));
        if (!may_go_on(n, ENOSPC)) {
            return false;
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

bool io_write_all_at(int fd, const void *data, uint64_t size, uint64_t offset) {
    for (uint64_t done = 0; done < size;) {
        const ssize_t n = pwrite(fd, (const uint8_t *)data + done, part_of(size - done), (off_t)(offset + done));
        if (!may_go_on(n, ENOSPC)) {
            return false;
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    return true;
}

bool io_read_all_at(int fd, void *room, uint64_t size, uint64_t offset) {
    for (uint64_t done = 0; done < size;) {
        const ssize_t n = pread(fd, (uint8_t *)room + done, part_of(size - done), (off_t)(offset + done));
        if (!may_go_on(n, EIO)) {
            return false;
        }
        done += n > 0 ? (uint64_t)n : 0;
    }
    return true;
}
