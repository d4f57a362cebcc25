/* blob_store.h — what plugins keep from run to run: compiled kernels, pipeline caches, repacked weights.
 *
 *     $XDG_CACHE_HOME/quoin/blobs/HASH     one file a blob, HASH made of scope and key
 *         "QNBLOB1\n"  8 bytes
 *         u32          bytes of the name
 *         u32          CRC-32C of all that follows behind the next field
 *         u64          bytes of the data
 *         name         scope, a zero byte, key: a blob is only given back under the name that it was put under
 *         data
 *
 * The scope says who put it, and for what: plugin, build, device and driver (plugin_host.h). The key is the plugin's.
 *
 * A file that is short, garbled, of another user or writable by others is none, and is taken away. Files appear whole. When all of
 * them are more than the bound, those that were not used for the longest time go. Whatever fails here, on a full or read-only
 * disk or without a folder for it, costs time later and nothing else: it is told once, at debug level.
 *
 * Threading: thread-safe; processes replace files as a whole.
 * Memory:    a value that owns nothing.
 */
#ifndef HOST_BLOB_STORE_H
#define HOST_BLOB_STORE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <quoin/abi.h>

#define BLOB_STORE_BYTES (UINT64_C(1) << 30) /* the bound of the user's store */
#define BLOB_NAME_SIZE 1024u                 /* scope and key, with both ends */

typedef struct blob_store {
    char folder[1024];    /* "" = there is none */
    uint64_t most_bytes;  /* of all files together */
    atomic_bool is_told;  /* that something cannot be kept */
} blob_store;

/* folder null: blobs/ in the folder of cache_folder.h. Nothing is made or read. */
void blob_store_open(blob_store *store, const char *folder, uint64_t most_bytes);

/* Size of the blob, 0 when there is none; at most `room` bytes of it are written. Without room only the file's form is looked at;
 * with room the checksum as well. [any-thread] */
uint64_t blob_store_get(blob_store *store, const char *scope, const char *key, void *data, uint64_t room);

/* Keeps it in place of any other of that name. QN_UNAVAILABLE when it cannot be kept, QN_BAD_ARG for a name that is too long.
 * [any-thread] */
qn_status blob_store_put(blob_store *store, const char *scope, const char *key, const void *data, uint64_t bytes);

/* Holds the bound, as each put does: for a folder of whole files that others write. Names of up to 31 characters count. */
void blob_store_trim(const blob_store *store);

/* Takes all blobs away. */
void blob_store_clear(const blob_store *store);

#endif
