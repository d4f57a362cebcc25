/* cf_blobs.h — the blob store of all hosts of this process: it keeps what it is given, so that the second life of a plugin finds what
 * the first one left, in another process of the same run too (cf_blob_files.h); or it answers as a damaged one would.
 *
 * Threading: thread-safe.
 * Memory:    belongs to the process and lasts as long.
 */
#ifndef CF_BLOBS_H
#define CF_BLOBS_H
#include <stdint.h>

#include <quoin/abi.h>

/* As blob_get and blob_put of abi.h, for a store that behaves as `mode` says (CF_BLOBS_* of cf_host.h). */
uint64_t cf_blobs_get(uint32_t mode, const char *key, void *data, uint64_t room);
qn_status cf_blobs_put(uint32_t mode, const char *key, const void *data, uint64_t bytes);

/* How many there are. */
uint64_t cf_blobs_count(void);

#endif
