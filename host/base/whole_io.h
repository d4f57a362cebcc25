/* whole_io.h — all of it or an error: writes and reads that a signal or a full disk has cut are gone on with, or fail.
 *
 * Threading: as the file descriptor.
 * Errors:    false and errno; ENOSPC when the system takes nothing and says no reason, EIO when a file ends too early. What was written
 *            by then stays written.
 */
#ifndef HOST_WHOLE_IO_H
#define HOST_WHOLE_IO_H
#include <stdbool.h>
#include <stdint.h>

/* At the descriptor's own place. */
bool io_write_all(int fd, const void *data, uint64_t size);
/* At a place of the file; the descriptor's own does not move. */
bool io_write_all_at(int fd, const void *data, uint64_t size, uint64_t offset);
bool io_read_all_at(int fd, void *room, uint64_t size, uint64_t offset);

#endif
