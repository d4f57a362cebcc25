/* private_file.h — small files that hold a secret: made for their owner alone, and refused when others can read them.
 *
 * Threading: reentrant.
 * Memory:    the caller's buffers; private_file_forget overwrites one.
 * Errors:    QN_IO, QN_DENIED or QN_NOT_FOUND with path and reason. After a failed create there is no file.
 */
#ifndef HOST_KEYS_PRIVATE_FILE_H
#define HOST_KEYS_PRIVATE_FILE_H
#include <stddef.h>

#include "base/error.h"

#define PRIVATE_FILE_SIZE 16384u

/* Writes a file of mode 0600 that was not there before, and syncs it and its folder. */
qn_status private_file_create(const char *path, const void *data, size_t size, error_context *err);

/* Reads a whole regular file. QN_DENIED when it belongs to another user (but root), or its mode gives group or others anything. */
qn_status private_file_read(const char *path, char out[PRIVATE_FILE_SIZE], size_t *out_size, error_context *err);

/* Overwrites a secret, so that it stays in no memory. */
void private_file_forget(void *data, size_t size);

/* The first line of a file or, for "-", of standard input: a passphrase. Regular files have to be as private as keys. QN_BAD_INPUT when it
 * is empty or longer than 1023 bytes. `out` is terminated. */
#define PASSPHRASE_SIZE 1024u
qn_status private_file_passphrase(const char *path, char out[PASSPHRASE_SIZE], error_context *err);

#endif
