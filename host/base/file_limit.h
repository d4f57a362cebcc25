/* file_limit.h — how many files this process may have open.
 *
 * Threading: thread-safe.
 */
#ifndef HOST_FILE_LIMIT_H
#define HOST_FILE_LIMIT_H

/* Raises the limit as far as the system lets everybody: for volume sets, whose files stay open. What still does not fit fails where it
 * is opened, with the system's words. */
void file_limit_raise(void);

#endif
