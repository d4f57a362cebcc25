/* cf_blob_files.h — blobs that outlive a process: one file each in the folder that the environment variable QUOIN_CONFORM_BLOBS names.
 * quoin-conform makes the folder for one run and takes it away, so that a driver's kernels are built once and not once a test.
 *
 *     KEY \0 bytes
 *
 * Threading: one thread at a time per folder and process; several processes at once.
 * Memory:    nothing is kept.
 * Errors:    none: what cannot be read is not there, and what cannot be written is not kept.
 */
#ifndef CF_BLOB_FILES_H
#define CF_BLOB_FILES_H
#include <stdint.h>

#define CF_BLOB_FOLDER "QUOIN_CONFORM_BLOBS"

/* The bytes that stand under this key, malloc'ed, or null; *out_bytes tells how many. */
unsigned char *cf_blob_file_read(const char *key, uint64_t *out_bytes);
void cf_blob_file_write(const char *key, const void *data, uint64_t bytes);

#endif
