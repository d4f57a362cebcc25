/* cache_folder.h — the folder for what can be found out again: $XDG_CACHE_HOME/quoin, or ~/.cache/quoin.
 *
 * Threading: reads the environment; otherwise pure.
 * Memory:    the caller's.
 */
#ifndef HOST_CACHE_FOLDER_H
#define HOST_CACHE_FOLDER_H
#include <stdbool.h>
#include <stddef.h>

/* Writes its path. "" when there is none: with elevated privileges (the variables are then the caller's, who is not to be trusted),
 * without home, or when the path does not fit. The folder need not exist. */
void cache_folder_find(char *out, size_t room);

/* Makes the folder and all above it that are missing, for this user alone. Is it there? */
bool cache_folder_make(const char *folder);

#endif
