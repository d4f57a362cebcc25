/* same_file.h — whether two paths lead to one file: what a command asks before it replaces something that it also reads.
 *
 * Threading: thread-safe.
 */
#ifndef HOST_SAME_FILE_H
#define HOST_SAME_FILE_H
#include <stdbool.h>

/* True when both are one file, under whatever names; of files that are not there yet, when both names mean one place in one folder.
 * "-" is no file. */
bool same_file(const char *a, const char *b);

#endif
