/* cf_blobs.h — a blob store in memory that keeps what it is given or answers as a damaged one would.
 *
 * Threading: one thread at a time.
 * Memory:    owned by the store until cf_blobs_free.
 */
#ifndef CF_BLOBS_H
#define CF_BLOBS_H
#include <stdint.h>

#include <quoin/abi.h>

typedef struct cf_blob cf_blob;

typedef struct cf_blobs {
    cf_blob *first;
    uint64_t n;
    uint32_t mode;  /* CF_BLOBS_* of cf_host.h */
} cf_blobs;

/* As blob_get and blob_put of abi.h. */
uint64_t cf_blobs_get(const cf_blobs *blobs, const char *key, void *data, uint64_t room);
qn_status cf_blobs_put(cf_blobs *blobs, const char *key, const void *data, uint64_t bytes);
void cf_blobs_free(cf_blobs *blobs);

#endif
